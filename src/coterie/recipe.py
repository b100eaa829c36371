"""A method: which rules, in which order; in its four shapes, and the loop that plays any of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.federation import Federation, View
from coterie.mixing import Among, Merge, Mixing, Partly, Taught, chain
from coterie.plan import Coalitions, Hears, Plan
from coterie.record import Record
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Aggregator, Backbone, Believer, Former, Listener, Reporter, Rule, Selector
from coterie.threads import one_thread

State = dict[str, Any]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Recipe(ABC):
    """Looks at the roster and writes plans; later says what replies become."""

    backbone: Backbone
    """How clients train."""
    aggregator: Aggregator
    """What replies become."""

    @property
    def believer(self) -> Believer | None:
        """Who says how far clients are believed: the field `trust` of each shape."""
        return getattr(self, "trust", None)

    def __post_init__(self) -> None:
        for name in ("use_first", "min_replies", "min_members"):
            count = getattr(self, name, None)
            if count is not None and count < 1:
                raise ValueError(f"{name}: must be a whole number from 1, not {count!r}")
        deadline = getattr(self, "deadline", None)
        if deadline is not None and not deadline > 0:
            raise ValueError(f"deadline: must be a number of seconds above 0, not {deadline!r}")

    @property
    @abstractmethod
    def rules(self) -> dict[str, Rule]:
        """The rules that keep state, by the name under which the recipe keeps it."""

    @abstractmethod
    def plan(self, view: View, state: State) -> Plan:
        """Decides before training."""

    def begin(self, roster: Roster) -> State:
        """The state before the first round."""
        return {name: rule.begin(roster) for name, rule in self.rules.items()}

    def mix(self, view: View, plan: Plan, replies: Replies, state: State) -> tuple[Merge, State]:
        """Weighs after training, and learns, from the replies that are believed."""
        if self.believer is None:
            return self.weighed(view, plan, replies, state)
        doubts, known = self.believer.heed(view.towards("trust"), plan, replies, state["trust"])
        state = {**state, "trust": known}
        believed = ~np.isin(replies.clients, list(doubts))
        if believed.all():
            return self.weighed(self.seen(view, state), plan, replies, state)
        merge, state = self.weighed(self.seen(view, state), plan, replies.only(believed), state)
        return Among(merge, believed, doubts), state

    def window(self, view: View, purpose: str, state: State) -> View:
        """What a rule that chooses sees: what is believed, and those only who are not suspected."""
        seen = self.seen(view, state).towards(purpose)
        if self.believer is None:
            return seen
        trust = seen.roster["trust"]
        if trust.ndim == 1:
            seen.note(view.present, trust=trust[view.present])
        return replace(seen, present=view.present[~self.suspected(seen)[view.present]])

    def seen(self, view: View, state: State) -> View:
        """The view with what is believed of the clients in its roster."""
        if self.believer is None:
            return view
        trust = np.asarray(self.believer.believe(view.towards("believe"), state["trust"]))
        return replace(view, roster=view.roster.with_columns(trust=trust))

    def suspected(self, view: View) -> NDArray[np.bool_]:
        """For each client of a `seen` view whether it is not to train for anybody."""
        return np.zeros(len(view.roster), bool) if self.believer is None else self.believer.suspects(view.roster["trust"])

    def weighed(self, view: View, plan: Plan, replies: Replies, state: State) -> tuple[Merge, State]:
        """Weighs after training, and learns. With fewer replies than the plan asks for, nothing changes."""
        if len(replies) < max(plan.min_replies, 1):
            return Mixing(sparse.csr_array((len(plan.keeps), len(replies)))), self.learned(view, plan, replies, state)
        merge = self.aggregator.weigh(view.towards("weigh"), plan, replies, state["aggregator"])
        return merge, self.learned(view, plan, replies, state)

    def learned(self, view: View, plan: Plan, replies: Replies, state: State, but: str = "") -> State:
        """The state after a round, `but` for a rule that learns otherwise."""
        rules = {name: rule for name, rule in self.rules.items() if name != but}
        return {**state, **{n: rule.learn(view.towards(f"learn {n}"), plan, replies, state[n]) for n, rule in rules.items()}}

    @property
    def wants(self) -> frozenset[str]:
        """Facts that the rules need of each reply."""
        return frozenset().union(*(rule.wants for rule in self.rules.values()))


@dataclass(frozen=True)
class Central(Recipe):
    """A server trains one global model with clients that a selector chooses."""

    selector: Selector
    use_first: int | None = None
    """Over-selection: only this many replies are used, the earliest."""
    min_replies: int = 1
    """With fewer usable replies the round changes nothing."""
    deadline: float | None = None
    """Virtual seconds (wall-clock seconds on Flower) after which a reply is late."""
    trust: Believer | None = None
    """Says how far clients are believed; None believes everybody."""

    @property
    def rules(self) -> dict[str, Rule]:
        return _given(selector=self.selector, aggregator=self.aggregator, trust=self.trust)

    def plan(self, view: View, state: State) -> Plan:
        window = self.window(view, "choose", state)
        trainers = self.selector.choose(window, state["selector"])
        trial = self.selector.try_out(window.towards("try out"), state["selector"])
        if len(trial):
            window.note(trial, trial=1)
        plan = Plan.star(
            trainers,
            self.backbone,
            wants=self.wants,
            use_first=self.use_first,
            min_replies=self.min_replies,
            deadline=self.deadline,
            why=window.why,
        )
        return plan.beside(trial, len(view.roster)) if len(trial) else plan


@dataclass(frozen=True)
class ByCoalition(Recipe):
    """Coalitions train side by side, each a model of its own; with `across`, one model that is theirs together."""

    former: Former
    selector: Selector | None = None
    """Who of the coalitions' members trains; None for all that are present."""
    chosen_first: bool = False
    """Whether who trains is chosen before coalitions are formed; then the former sees those only as present."""
    across: Aggregator | None = None
    """Averages the coalitions' models into one; None leaves each its own."""
    min_members: int = 1
    """Smaller coalitions do not train."""
    min_replies: int = 1
    """With fewer usable replies the round changes nothing."""
    deadline: float | None = None
    """Virtual seconds (wall-clock seconds on Flower) after which a reply is late."""
    trust: Believer | None = None
    """Says how far clients are believed; None believes everybody."""

    @property
    def rules(self) -> dict[str, Rule]:
        return _given(
            former=self.former, aggregator=self.aggregator, selector=self.selector, across=self.across, trust=self.trust
        )

    def plan(self, view: View, state: State) -> Plan:
        window = self.window(view, "form", state)
        if self.chosen_first:
            window = replace(window, present=self._chosen(window, window.present, state))
            coalitions = self.former.form(window, state["former"])
            trainers = self._training(window, coalitions)
        else:
            coalitions = self.former.form(replace(window, present=view.present), state["former"])
            trainers = self._chosen(window, self._training(window, coalitions), state)
        start, hears, keeps, follows = self._rows(view, coalitions, trainers)
        return Plan(
            trainers,
            start,
            hears,
            keeps,
            self.backbone,
            route="star" if coalitions.leaders is None else "leaders",
            follows=follows,
            coalitions=coalitions,
            wants=self.wants,
            min_replies=self.min_replies,
            deadline=self.deadline,
            why=window.why,
        )

    def _training(self, view: View, coalitions: Coalitions) -> Ids:
        """Who is present and in a coalition that is large enough."""
        large = coalitions.sizes >= self.min_members
        inside = view.present[coalitions.labels[view.present] >= 0]
        return inside[large[coalitions.labels[inside]]]

    def _chosen(self, view: View, among: Ids, state: State) -> Ids:
        if self.selector is None:
            return among
        return np.sort(self.selector.choose(replace(view, purpose="choose", present=among), state["selector"]))

    def _rows(self, view: View, coalitions: Coalitions, trainers: Ids) -> tuple[Rows, Hears, Rows, Rows]:
        """Start, hears, keeps and follows: one target in all with `across`, else one a coalition.

        A coalition goes on from the model that its former says, or else from the one that most of its members followed.
        Clients in no coalition keep the model that they followed.
        """
        if self.across is not None:
            everybody = sparse.csr_array(np.ones((1, len(trainers)), dtype=bool))
            zeros = np.zeros(len(view.roster), np.intp)
            return zeros[: len(trainers)], everybody, np.zeros(1, np.intp), zeros
        outside, rest = np.unique(view.follows[coalitions.labels < 0], return_inverse=True)
        most = [np.bincount(view.follows[coalitions.members(p)]).argmax() for p in range(len(coalitions))]
        inherited = np.array(most, np.intp) if coalitions.goes_on is None else coalitions.goes_on
        follows = coalitions.labels.copy()
        follows[coalitions.labels < 0] = len(coalitions) + rest
        keeps = np.concatenate([inherited, outside.astype(np.intp)])
        return keeps[follows[trainers]], _blocks(follows[trainers], len(keeps)), keeps, follows

    def weighed(self, view: View, plan: Plan, replies: Replies, state: State) -> tuple[Merge, State]:
        if self.across is None or plan.coalitions is None or len(replies) < max(plan.min_replies, 1):
            return super().weighed(view, plan, replies, state)
        groups, labels = np.unique(plan.coalitions.labels[replies.clients], return_inverse=True)
        none = np.zeros(len(groups), np.intp)
        within = Plan(replies.clients, none[labels], _blocks(labels, len(groups)), none, self.backbone)
        first = self.aggregator.weigh(view.towards("weigh"), within, replies, state["aggregator"])
        gathered = Replies(
            clients=np.arange(len(groups), dtype=np.intp),
            models=first.apply(replies.models, np.repeat(view.models[:1], len(groups), axis=0)),
            counts=np.bincount(labels, weights=replies.counts).astype(np.int64),
        )
        above = Plan.star(gathered.clients, self.backbone)
        second = self.across.weigh(view.towards("weigh across"), above, gathered, state["across"])
        learned = self.across.learn(view.towards("learn across"), above, gathered, state["across"])
        return chain(first, second, within.hears), {**self.learned(view, plan, replies, state, but="across"), "across": learned}


@dataclass(frozen=True)
class Peers(Recipe):
    """No server: each client has a model of its own and mixes it with those of the neighbors it listens to."""

    listener: Listener
    trains: Literal["own", "received"] = "own"
    """What a neighbor sends: the model that it trained for itself, or what it makes of the hearer's, a training a pair."""
    own: Literal["nothing", "head"] = "nothing"
    """What of a model is never mixed: nothing, or its last layer, so that each client has one of its own."""
    min_replies: int = 1
    """With fewer usable replies the round changes nothing."""
    deadline: float | None = None
    """Virtual seconds (wall-clock seconds on Flower) after which a reply is late."""
    trust: Believer | None = None
    """Says how far clients are believed; None believes everybody."""

    @property
    def rules(self) -> dict[str, Rule]:
        return _given(listener=self.listener, aggregator=self.aggregator, trust=self.trust)

    def plan(self, view: View, state: State) -> Plan:
        window = self.window(view, "listen", state)
        hears = self.listener.listen(replace(window, present=view.present), state["listener"])
        if len(window.present) < len(view.present):
            hears = _without(hears, self.suspected(window))
        return Plan(
            view.present,
            view.follows[view.present],
            sparse.csr_array(hears[:, view.present]),
            view.follows,
            self.backbone,
            route="peers",
            follows=view.roster.ids,
            wants=self.wants,
            min_replies=self.min_replies,
            deadline=self.deadline,
            why=window.why,
        )

    def weighed(self, view: View, plan: Plan, replies: Replies, state: State) -> tuple[Merge, State]:
        if len(replies) < max(plan.min_replies, 1):
            return super().weighed(view, plan, replies, state)
        heeds, listener = self.listener.heed(view.towards("heed"), plan, replies, state["listener"])
        start = plan.start[np.searchsorted(plan.trainers, replies.clients)]
        heeded = replace(plan, trainers=replies.clients, start=start, hears=sparse.csr_array(heeds > 0))
        merge, state = super().weighed(view, heeded, replies, {**state, "listener": listener})
        if isinstance(merge, Mixing):
            merge = merge.times(heeds)
            merge = self._taught(view, replies, merge) if self.trains == "received" else merge
        return (Partly(merge, view.layout.head, heeded.own(replies.clients)) if self.own == "head" else merge), state

    def _taught(self, view: View, replies: Replies, mixing: Mixing) -> Taught:
        """The same weights on what each neighbor makes of the hearer's model; who does not answer counts with its own."""
        weights = mixing.weights.astype(np.float32)
        made = np.zeros((weights.shape[0], view.models.shape[1]), np.float32)
        for i in np.flatnonzero(np.diff(weights.indptr)).tolist():
            heard = weights.indices[weights.indptr[i] : weights.indptr[i + 1]]
            models, others = replies.models[heard], replies.clients[heard] != i
            if others.any():
                told = view.ask.trained(replies.clients[heard[others]], self.backbone, about=view.follows[i])
                models[others] = np.where(np.isfinite(told).all(axis=1, keepdims=True), told, models[others])
            made[i] = weights.data[weights.indptr[i] : weights.indptr[i + 1]] @ models
        return Taught(mixing, made)


@dataclass(frozen=True)
class Personal(Recipe):
    """A server keeps a model for each client; those who train in a round form coalitions and mix within them.

    Behind the clients' models stands one more, the reference: the average, by samples, of all that was trained in the last
    round in which somebody was. New clients start from it, and so do those who have been away (the soft update).
    Who has never trained follows it.
    """

    selector: Selector
    former: Former
    """Groups those who train, who are the only ones present in its view."""
    reporter: Reporter
    """What the rules get to know of clients besides their models."""
    absent_after: int | None = 5
    """Rounds without training after which a client starts from the reference; None: everybody starts from its own model."""
    min_replies: int = 1
    """With fewer usable replies the round changes nothing."""
    deadline: float | None = None
    """Virtual seconds (wall-clock seconds on Flower) after which a reply is late."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.absent_after is not None and self.absent_after < 1:
            raise ValueError(f"absent_after: must be a whole number from 1, or None, not {self.absent_after!r}")
        if self.wants:
            raise ValueError(
                f"a recipe of personal models asks for reports; its rules cannot want '{min(self.wants)}' of replies"
            )

    @property
    def rules(self) -> dict[str, Rule]:
        return {"selector": self.selector, "former": self.former, "reporter": self.reporter, "aggregator": self.aggregator}

    def begin(self, roster: Roster) -> State:
        return {**super().begin(roster), "trained": np.zeros(len(roster), np.int64)}

    def plan(self, view: View, state: State) -> Plan:
        clients, start = len(view.roster), self._start(view, state)
        window = replace(self._known(view, state).towards("choose"), follows=start)
        trainers = np.sort(self.selector.choose(window, state["selector"]))
        coalitions = self.former.form(replace(window, purpose="form", present=trainers), state["former"])
        return Plan(
            trainers,
            start[trainers],
            _within(coalitions.labels, trainers),
            np.arange(clients + 1) if len(view.models) == clients + 1 else np.zeros(clients + 1, np.intp),
            self.backbone,
            follows=np.where(np.isin(view.roster.ids, trainers) | (state["trained"] > 0), view.roster.ids, clients),
            coalitions=coalitions,
            quiet=True,
            min_replies=self.min_replies,
            deadline=self.deadline,
            why=window.why,
        )

    def _known(self, view: View, state: State) -> View:
        roster = self.reporter.known(view.towards("report"), state["reporter"])
        return replace(view, roster=roster)

    def _start(self, view: View, state: State) -> Rows:
        """For each client the row that it would start from; the reference is the last, and in the first round the only one."""
        reference = len(view.models) - 1
        if reference < len(view.roster):
            return np.zeros(len(view.roster), np.intp)
        if self.absent_after is None:
            return view.roster.ids
        away = (state["trained"] == 0) | (view.round - state["trained"] > self.absent_after)
        return np.where(away, reference, view.roster.ids)

    def mix(self, view: View, plan: Plan, replies: Replies, state: State) -> tuple[Merge, State]:
        seen = self._known(view, state)
        told = self.reporter.report(view.towards("report"), plan, replies, state["reporter"])
        heard = _of_those(plan, told.clients)
        if len(told) < max(plan.min_replies, 1):
            merge, state = super().mix(seen, plan, told, state)
        else:
            merge = self.aggregator.weigh(seen.towards("weigh"), heard, told, state["aggregator"])
            merge = _with_reference(merge, told) if isinstance(merge, Mixing) else merge
            state = self.learned(seen, heard, told, state)
            state = {**state, "trained": _marked(state["trained"], told.clients, view.round)}
        return merge, state


def play(recipe: Recipe, federation: Federation, rounds: int, state: State | None = None) -> Iterator[Record]:
    """Plays a recipe on a federation, yielding one record a round.

    Goes on where the federation stands: to resume, restore the federation and pass the last record's state. Rules think
    on one thread, so that how many there are is not visible in what they choose.
    """
    federation.make_room(recipe.backbone)
    state = recipe.begin(federation.roster) if state is None else state
    for t in range(federation.round + 1, rounds + 1):
        with one_thread():
            started = perf_counter()
            view = federation.view(t)
            plan = recipe.plan(view, state)
            replies = federation.train(plan)
            merge, state = recipe.mix(view, plan, replies, state)
            merge.check(plan, replies)
            federation.adopt(merge, replies)
            trained = perf_counter()
            record = Record.of(view, plan, replies, merge, federation, state, trained - started)
        yield record


def _given(**rules: Rule | None) -> dict[str, Rule]:
    return {name: rule for name, rule in rules.items() if rule is not None}


def _without(hears: Hears, suspects: NDArray[np.bool_]) -> Hears:
    """The same, where nobody hears suspects but themselves."""
    edges = hears.tocoo()
    kept = ~suspects[edges.col] | (edges.row == edges.col)
    return sparse.csr_array((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=hears.shape)


def _blocks(labels: Rows, count: int) -> Hears:
    ones = np.ones(len(labels), dtype=bool)
    return sparse.csr_array((ones, (labels, np.arange(len(labels)))), shape=(count, len(labels)))


def _within(labels: NDArray[np.intp], trainers: Ids) -> Hears:
    """Each trainer's own row hears its coalition, or only itself where it is in none; the last row hears everybody."""
    groups = labels[trainers]
    together = (groups[:, np.newaxis] == groups) & (groups[:, np.newaxis] >= 0)
    np.fill_diagonal(together, True)
    rows, columns = np.nonzero(together)
    everybody = np.arange(len(trainers))
    where = np.concatenate([trainers[rows], np.full(len(trainers), len(labels))]), np.concatenate([columns, everybody])
    return sparse.csr_array((np.ones(len(where[0]), bool), where), shape=(len(labels) + 1, len(trainers)))


def _of_those(plan: Plan, clients: Ids) -> Plan:
    """The plan of those whose replies came: nobody else's model changes, but for the reference, which is the last."""
    rows = np.append(clients, len(plan.keeps) - 1)
    came = sparse.csr_array((np.ones(len(rows), bool), (rows, rows)), shape=(len(plan.keeps), len(plan.keeps)))
    start = plan.start[np.searchsorted(plan.trainers, clients)]
    return replace(plan, trainers=clients, start=start, hears=sparse.csr_array(came @ plan.support(clients), dtype=bool))


def _with_reference(merge: Mixing, replies: Replies) -> Mixing:
    """The last row averages all replies by their counts."""
    share = replies.counts / replies.counts.sum()
    return Mixing(sparse.csr_array(sparse.vstack([merge.weights[:-1], sparse.csr_array(share[np.newaxis])])))


def _marked(rounds: NDArray[np.int64], clients: Ids, round: int) -> NDArray[np.int64]:
    marked = rounds.copy()
    marked[clients] = round
    return marked

"""A federation over Flower: clients on many machines, or in Flower's own simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from flwr.server import Grid
from numpy.typing import ArrayLike, NDArray

from coterie.federation import Federation, Layout, Scores, View
from coterie.flower.keepsakes import PERSONAL, fetch, put
from coterie.flower.nodes import Nodes
from coterie.flower.post import Came, exchange, logger
from coterie.flower.questions import Line, Questions
from coterie.flower.words import OURS, Flat, backbone_text, flat_of, models_in, models_record, record_of
from coterie.mixing import Merge
from coterie.plan import Plan
from coterie.privacy.budget import Budget
from coterie.replies import Door, Meter, Replies, Reply
from coterie.roster import Ids, Roster
from coterie.simulation.closing import close
from coterie.simulation.happened import Happened
from coterie.simulation.models import Model, builder
from coterie.simulation.outing import check
from coterie.simulation.traffic import Round, Traffic, told_beside

Judge = Callable[["FlowerFederation"], Scores | None]


class FlowerFederation(Federation):
    """Clients behind a grid of Flower. Any recipe runs on it; models of peers are relayed by the server.

    The roster is who is there at the start, by key. Nodes that come later under a known key take their place again;
    others are passed over. Time is real here: deadlines and `Replies.seconds` are wall-clock seconds. The meter counts
    as the simulation's does: by the plan's route, and no model twice in a round to a client that holds it.

    What a backbone keeps stays with the client's node, so `state` holds the server's side only; unless the federation
    is `portable`, which nodes on one machine may be.
    """

    def __init__(
        self,
        grid: Grid,
        layout: Layout,
        model: Flat,
        *,
        clients: int | None = None,
        seed: int = 0,
        patience: float = 600.0,
        arrival: float = 300.0,
        evaluate_every: int = 1,
        judge: Judge | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        remember: bool = True,
        door: Door = Door(),
        portable: bool = False,
        closing: Callable[[], None] | None = None,
    ) -> None:
        """Waits for the clients.

        Args:
            grid: What a ServerApp is given.
            layout: What the coordinates of a model mean.
            model: The first model.
            clients: How many clients to wait for; if None, until nobody new has come for some seconds.
            seed: Everything random comes from it.
            patience: Seconds after which an answer, or a reply without a deadline, is given up. A round takes its
                deadline at most, and this for each question that somebody leaves unanswered.
            arrival: Seconds to wait for the clients.
            evaluate_every: Models are judged every so many rounds.
            judge: Says how good the models are; without one nobody does.
            columns: What else is known of the clients, in the order of their keys.
            remember: Whether clients hold on to the last model they trained, so that `ask.models` can be answered.
            door: What a reply must be to be let in.
            portable: Whether `state` holds what nodes keep, too; their apps must be portable as well.
            closing: What `close` does; nothing if None, since nodes belong to their owners.
        """
        if clients is not None and clients < 1:
            raise ValueError(f"clients: must be a whole number from 1, not {clients!r}")
        self.grid, self.layout, self.seed, self.patience = grid, layout, seed, patience
        self.evaluate_every, self.judge, self.remember, self.door = evaluate_every, judge, remember, door
        self.closing, self.portable = closing, portable
        self.nodes = Nodes(grid)
        found = self.nodes.wait_for(clients, arrival)
        said = [self.nodes.about(node) for node in found.values()]
        facts = {name: np.asarray(values) for name, values in (columns or {}).items()}
        self.roster = Roster(tuple(found), {"size": _numbers(said, "size"), **facts})
        self.classes = int(max(_numbers(said, "classes"), default=0))
        self.models: NDArray[np.float32] = _frozen(np.array(model, np.float32)[np.newaxis])
        self.follows: NDArray[np.intp] = _frozen(np.zeros(len(found), np.intp))
        self.round = 0
        self.trained: dict[int, Flat] = {}
        """Among peers what each client's training made, before any mixing, in the last round."""
        self._keepers: set[str] = set()
        """Clients that have trained, and so may keep something."""
        self._personal_at: set[str] = set()
        self.budget = Budget(len(found))
        """What the server was told under privacy, and what that spent in all."""
        self._happened = Happened(clients=len(found))
        self._view: View | None = None
        self._plan: Plan | None = None
        self._line: Line | None = None
        self._traffic = Traffic(layout.size, 1, self.follows)

    @classmethod
    def of(cls, grid: Grid, model: Model, shape: tuple[int, ...] = (), classes: int = 0, **settings: Any) -> FlowerFederation:
        """A federation whose first model is a fresh module, drawn from the seed as the simulation draws it.

        `shape` (of one sample) and `classes` are needed where the model is a name.
        """
        from coterie.simulation import dice
        from coterie.simulation.flat import flatten, layout_of, seeded

        module = seeded(builder(model, shape, classes or 1), dice.initial(settings.get("seed", 0)))
        return cls(grid, layout_of(module), flatten(module), **settings)

    def view(self, t: int) -> View:
        nodes = {self.roster.id_of(key): node for key, node in self.nodes.here().items() if key in self._keys}
        present = np.array(sorted(nodes), dtype=np.intp)
        self._traffic = Traffic(self.models.shape[1], len(self.models), self.follows)
        self.trained, self._plan = {}, None
        self.budget.forget(t)
        self._happened = self._happened.opened(len(present))
        self._line = Line(self.grid, nodes, self.roster.keys, self.roster["size"] > 0, self.patience, self.seed, t)
        questions = Questions(
            self._line,
            self.models,
            self._record,
            self._traffic,
            self.classes,
            self._each_its_own,
            self._questioned,
            self.budget,
        )
        self._view = View(t, self.roster, _frozen(present), self.models, self.follows, self.layout, questions, self.seed)
        return self._view

    def train(self, plan: Plan) -> Replies:
        view, line = self._opened()
        check(plan, len(self.roster), len(self.models))
        there = np.isin(plan.trainers, list(line.nodes))
        able = line.able[plan.trainers]
        reached = plan.trainers[there & able]
        lost = {int(k): "absent" for k in plan.trainers[~there]} | {
            int(k): "no training samples" for k in plan.trainers[there & ~able]
        }
        came = self._sent(plan, reached, view.round, line)
        replies = self._closed(plan, came, lost, reached, view.round)
        self._traffic.round = self._crossed(plan, reached, came, replies)
        replies = replace(replies, meter=self._traffic.meter())
        if plan.route == "peers":
            self.trained = dict(zip(replies.clients.tolist(), replies.models, strict=True))
        self._plan, self._traffic.replies = plan, replies
        self._happened = self._happened.after(plan, replies)
        return replies

    def adopt(self, merge: Merge, replies: Replies) -> None:
        view, _ = self._opened()
        plan = self._plan
        if plan is None:
            raise RuntimeError("adopt: nothing was trained this round; call train(plan) first")
        self.models = _frozen(merge.apply(replies.models, self.models[plan.keeps]))
        self.follows = _frozen(np.zeros(len(self.roster), np.intp) if plan.follows is None else np.array(plan.follows))
        self.round, self._view, self._plan = view.round, None, None

    def scores(self) -> Scores | None:
        if self.judge is None or self.round % self.evaluate_every:
            return None
        return self.judge(self)

    def meter(self) -> Meter:
        return self._traffic.meter()

    def happened(self) -> Happened:
        """What really happened so far."""
        return self._happened

    def state(self) -> dict[str, Any]:
        return {
            "round": self.round,
            "keys": list(self.roster.keys),
            "models": np.array(self.models),
            "follows": np.array(self.follows),
            "happened": self._happened.state(),
            "kept": fetch(self.grid, self._where(self._keepers), self.patience) if self.portable else {},
            "budget": self.budget.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        models, follows = np.array(state["models"], np.float32), np.array(state["follows"], np.intp)
        if tuple(state["keys"]) != self.roster.keys:
            raise ValueError("state: it is of other clients than those that are here")
        if models.ndim != 2 or models.shape[1] < self.layout.size:
            raise ValueError(f"state: models of shape {models.shape} do not fit a layout of {self.layout.size} numbers")
        self.round, self.models, self.follows = int(state["round"]), _frozen(models), _frozen(follows)
        self._happened = Happened(**state["happened"])
        self._keepers = set(state["kept"])
        self._personal_at = {key for key, drawers in state["kept"].items() if PERSONAL in drawers}
        if self._keepers:
            put(self.grid, self._where(self._keepers), state["kept"], self.patience)
        self.budget.restore(state["budget"])
        self._view, self._plan, self.trained = None, None, {}
        self._traffic = Traffic(self.models.shape[1], len(self.models), self.follows)

    def personal(self) -> dict[int, Flat]:
        """Models that clients have for themselves, beside the one that they follow: seen only where nodes are portable."""
        if not self.portable or not self._personal_at:
            return {}
        found = fetch(self.grid, self._where(self._personal_at), self.patience, [PERSONAL])
        held = {self.roster.id_of(key): drawers[PERSONAL][PERSONAL] for key, drawers in found.items() if drawers}
        return dict(sorted(held.items()))

    def close(self) -> None:
        """Says goodbye to the grid."""
        if self.closing is not None:
            self.closing()

    def _where(self, keys: Iterable[str]) -> dict[str, int]:
        """The nodes of some clients; TimeoutError if one is gone."""
        here = self.nodes.here()
        if gone := sorted(set(keys) - here.keys()):
            raise TimeoutError(f"state: client {gone[0]} is gone, and with it what it keeps")
        return {key: here[key] for key in sorted(keys)}

    @property
    def _keys(self) -> frozenset[str]:
        return frozenset(self.roster.keys)

    @property
    def _each_its_own(self) -> bool:
        return len(self.models) == len(self.roster) and np.array_equal(self.follows, self.roster.ids)

    def _opened(self) -> tuple[View, Line]:
        if self._view is None or self._line is None:
            raise RuntimeError("no round is open; call view(t) first")
        return self._view, self._line

    def _record(self, model: Flat) -> Any:
        return record_of(model, self.layout)

    def _questioned(self, asked: int, unanswered: int) -> None:
        self._happened = self._happened.questioned(asked, unanswered)

    def _sent(self, plan: Plan, reached: Ids, round: int, line: Line) -> list[tuple[int, Came]]:
        """Has trainers train; returns what came of whom by the deadline, or until the first so many are enough."""
        start = plan.start[np.searchsorted(plan.trainers, reached)]
        records = {row: self._record(self.models[row]) for row in np.unique(start).tolist()}
        told = {
            "backbone": backbone_text(plan.backbone),
            "wants": sorted(plan.wants),
            "round": round,
            "seed": self.seed,
            "quiet": plan.quiet,
            "remember": self.remember and plan.route != "peers",
        }
        client_of = {line.nodes[client]: client for client in reached.tolist()}
        self._keepers |= {self.roster.keys[client] for client in reached.tolist()}
        contents = {
            line.nodes[client]: models_record([records[row]], {**told, "key": self.roster.keys[client]})
            for client, row in zip(reached.tolist(), start.tolist(), strict=True)
        }

        def enough(came: Any) -> bool:
            good = [one for one in came if not one.failure]
            if plan.use_first is None or len(good) < plan.use_first:
                return False
            sent = [self._reply(client_of[one.node], one, round) for one in good if one.node in client_of]
            return len(close(plan, self.models, round, sent, {}, False, self.door)) >= plan.use_first

        seconds = self.patience if plan.deadline is None else plan.deadline
        came = exchange(self.grid, contents, "train", group=str(round), seconds=seconds, enough=enough)
        return [(client_of[one.node], one) for one in came]

    def _closed(self, plan: Plan, came: list[tuple[int, Came]], lost: dict[int, str], reached: Ids, round: int) -> Replies:
        """Lets in what is good, and says of everybody else what became of them."""
        sent = [self._reply(client, one, round) for client, one in came if not one.failure]
        answered = {reply.client for reply in sent}
        failed = {client: f"failed: {one.failure}" for client, one in came if one.failure and client not in answered}
        silent = [client for client in reached.tolist() if client not in answered | failed.keys()]
        over = plan.use_first is not None and len(sent) >= plan.use_first
        word = "surplus" if over else "no answer" if plan.deadline is None else "late"
        lost = {**lost, **failed, **dict.fromkeys(silent, word)}
        for client, reason in failed.items():
            logger.warning("client %s did not train: %s", self.roster.keys[client], reason)
        own = [client for client, one in came if not one.failure and one.message.content.get(OURS, {}).get("personal") is True]
        self._personal_at |= {self.roster.keys[client] for client in own}
        return close(plan, self.models, round, sent, lost, bool(silent), self.door)

    def _reply(self, client: int, one: Came, round: int) -> Reply:
        """What a client says, unchecked; whatever cannot be read is left for the door to refuse."""
        try:
            content = one.message.content
            said = dict(content.get(OURS, {}))
            facts = {name.removeprefix("fact."): value for name, value in said.items() if name.startswith("fact.")}
            models = models_in(content)
            model: Any = flat_of(models[0]) if len(models) == 1 else f"{len(models)} models"
            return Reply(client, model, said.get("count"), int(said.get("round", -1)), facts, one.seconds)
        except Exception as error:  # a stranger's bytes
            return Reply(client, f"unreadable: {error}", 1, round, {}, one.seconds)

    def _crossed(self, plan: Plan, reached: Ids, came: list[tuple[int, Came]], replies: Replies) -> Round:
        out = {client: one for client, one in came if not one.failure}
        answered = np.array(sorted(out), dtype=np.intp)
        late = [client for client in replies.lost if client in out]
        facts = [sum(name.startswith("fact.") for name in out[k].message.content.get(OURS, {})) for k in answered.tolist()]
        return Round(
            plan=plan,
            reached=reached,
            answered=answered,
            arrived=np.setdiff1d(answered, late),
            **told_beside(plan, np.array(facts, np.int64).reshape(-1) - plan.quiet),
        )


def _numbers(said: list[Mapping[str, Any]], name: str) -> NDArray[np.int64]:
    """What clients say of themselves; whoever does not say a whole number from 0 says 0."""
    values = [one.get(name, 0) for one in said]
    return np.array([value if isinstance(value, int) and 0 <= value < 2**48 else 0 for value in values], np.int64)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array

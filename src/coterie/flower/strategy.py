"""A selector for those who have Flower code already: it changes who takes part in a strategy of Flower, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from logging import INFO
from typing import Any

import numpy as np
from flwr.common import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.common.logger import log
from flwr.server import Grid
from flwr.serverapp.strategy import Strategy
from numpy.typing import NDArray

from coterie.backbones.sgd import SGD
from coterie.federation import Layout, View
from coterie.flower.nodes import Nodes
from coterie.flower.post import Came, logger
from coterie.flower.questions import Line, Questions
from coterie.flower.subgrid import SubGrid
from coterie.flower.words import OURS, SAMPLES, Flat, flat_of
from coterie.plan import Plan
from coterie.replies import Door, Replies, Reply, admit
from coterie.roster import Roster
from coterie.rules import Selector
from coterie.simulation.traffic import Traffic
from coterie.threads import one_thread

MINIMUMS = ("min_train_nodes", "min_available_nodes")


@dataclass(frozen=True, eq=False)
class Form:
    """How a strategy's arrays are one flat model: those of floats, in their order; others travel as they are."""

    layout: Layout
    types: tuple[np.dtype[Any], ...]
    arrays: ArrayRecord
    """All of them, where the others are taken from."""

    @classmethod
    def of(cls, arrays: ArrayRecord) -> Form:
        found = {name: array.numpy() for name, array in arrays.items()}
        floats = {name: array for name, array in found.items() if array.dtype.kind == "f"}
        layout = Layout(tuple(floats), tuple(array.shape for array in floats.values()))
        return cls(layout, tuple(array.dtype for array in floats.values()), arrays)

    def flat(self, arrays: ArrayRecord) -> NDArray[Any]:
        """The flat model; ValueError where there are other arrays."""
        if list(arrays) != list(self.arrays):
            raise ValueError(f"arrays named {', '.join(map(str, arrays))}")
        few = ArrayRecord({name: arrays[name] for name in self.layout.names})
        found = flat_of(few)
        return found.astype(np.float32) if found.dtype == np.result_type(*self.types) else found

    def record(self, model: Flat) -> ArrayRecord:
        """A flat model as the strategy's arrays."""
        parts = self.layout.split(model)
        typed = {name: parts[name].astype(kind) for name, kind in zip(self.layout.names, self.types, strict=True)}
        return ArrayRecord({name: Array(typed[name]) if name in typed else array for name, array in self.arrays.items()})


@dataclass(frozen=True, eq=False)
class Opened:
    """A round between its two moments."""

    view: View
    plan: Plan
    nodes: dict[int, int]
    """The node of each client that is there."""
    form: Form


@dataclass(eq=False)
class CoterieStrategy(Strategy):  # type: ignore[misc] # flwr is an extra
    """Any strategy of Flower in which a selector of Coterie chooses who trains.

    The strategy inside sees a grid on which only the chosen nodes are. It must take all of these, so its
    `fraction_train` has to be 1 and its minimums no larger than the cohort. Replies that are broken do not reach it, and
    those that do are in the order of the clients' keys, not of their arrival. A trial group that the selector
    asks for trains beside the chosen; the strategy inside does not see its replies.

    Clients answer questions through `coterie.flower.answering`. Who is there when training begins is the roster.
    """

    inner: Strategy
    """Averages, and everything else."""
    selector: Selector
    """Chooses."""
    clients: int | None = None
    """How many clients to wait for before the first round; if None, until nobody new has come for some seconds."""
    seed: int = 0
    """Everything random of the selector comes from it."""
    patience: float = 600.0
    """Seconds after which an answer is given up."""
    arrival: float = 300.0
    """Seconds to wait for the clients."""
    door: Door = Door()
    """What a reply must be to be let in."""
    roster: Roster | None = field(default=None, init=False)
    replies: Replies | None = field(default=None, init=False)
    """What came of the last round: who answered, who was rejected or lost and why."""
    state: Any = field(default=None, init=False)
    """The selector's."""
    _nodes: Nodes | None = field(default=None, init=False)
    _round: Opened | None = field(default=None, init=False)
    _trial: Flat | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        fraction = _setting(self.inner, "fraction_train", 1.0)
        if fraction != 1.0:
            raise ValueError(f"fraction_train: must be 1.0 inside CoterieStrategy, which chooses itself, not {fraction}")

    def configure_train(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid) -> Iterable[Message]:
        """Has the selector choose, and the strategy inside write the messages to the chosen."""
        form = Form.of(arrays)
        nodes = self._present(grid, arrays)
        view = self._view(server_round, form, arrays, nodes, grid)
        with one_thread():
            chosen = np.sort(self.selector.choose(view.towards("choose"), self.state))
            trial = self.selector.try_out(view.towards("try out"), self.state)
        plan = Plan.star(chosen, SGD(), wants=self.selector.wants)
        plan = plan.beside(trial, len(view.roster)) if len(trial) else plan
        self._round = Opened(view, plan, nodes, form)
        if not len(chosen):
            logger.warning("round %d: nobody is chosen", server_round)
            return []
        self._check_minimums(len(chosen))
        ids = [nodes[client] for client in plan.trainers.tolist()]
        messages = list(self.inner.configure_train(server_round, arrays, config, SubGrid(grid, ids)))
        told = sorted(message.metadata.dst_node_id for message in messages)
        if told != sorted(ids):
            raise RuntimeError(
                f"{type(self.inner).__name__} writes to {len(told)} nodes where {len(ids)} were chosen; it chooses itself"
            )
        for message in messages:
            said = {"round": server_round, "wants": sorted(self.selector.wants)}
            message.content = RecordDict({**message.content, OURS: ConfigRecord(said)})
        return messages

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Checks the replies, lets the strategy inside average those of the chosen, and the selector learn."""
        if self._round is None:
            raise RuntimeError("aggregate_train: no round is open; configure_train comes first")
        opened, messages = self._round, list(replies)
        client_of = {node: client for client, node in opened.nodes.items()}
        known = [one for one in messages if one.metadata.src_node_id in client_of]
        first: dict[int, Message] = {}
        for one in known:
            first.setdefault(client_of[one.metadata.src_node_id], one)
        self.replies = self._admitted(opened, server_round, [(client_of[m.metadata.src_node_id], m) for m in known])
        chosen = set(opened.plan.trainers[opened.plan.hears[[0]].indices].tolist())
        passed = [self._plain(first[client]) for client in self.replies.clients.tolist() if client in chosen]
        made: tuple[ArrayRecord | None, MetricRecord | None] = self.inner.aggregate_train(server_round, passed)
        self._trial = self._of_trial(opened.plan, self.replies)
        with one_thread():
            self.state = self.selector.learn(opened.view.towards("learn selector"), opened.plan, self.replies, self.state)
        self._round = None
        return made

    def configure_evaluate(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid) -> Iterable[Message]:
        """As the strategy inside does it, on all nodes."""
        messages: Iterable[Message] = self.inner.configure_evaluate(server_round, arrays, config, grid)
        return messages

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """As the strategy inside does it, in the order of the clients' keys."""
        place = {} if self._nodes is None else {node: n for n, node in enumerate(self._nodes.here().values())}
        ordered = sorted(replies, key=lambda one: place.get(one.metadata.src_node_id, len(place)))
        metrics: MetricRecord | None = self.inner.aggregate_evaluate(server_round, ordered)
        return metrics

    def summary(self) -> None:
        """Logs what it is."""
        log(INFO, "\t├──> Who trains is chosen by %s", self.selector)
        self.inner.summary()

    def _present(self, grid: Grid, arrays: ArrayRecord) -> dict[int, int]:
        """The nodes of the clients that are there; the first time it waits for them."""
        if self._nodes is None:
            self._nodes = Nodes(grid)
            found = self._nodes.wait_for(self.clients, self.arrival, arrays)
            sizes = [self._nodes.about(node).get("size", 1) for node in found.values()]
            self.roster = Roster(tuple(found), {"size": np.maximum(np.array(sizes, np.int64), 0)})
            self.state = self.selector.begin(self.roster)
        roster = self._known
        keys = set(roster.keys)
        return {roster.id_of(key): node for key, node in self._nodes.here(arrays).items() if key in keys}

    @property
    def _known(self) -> Roster:
        if self.roster is None:
            raise RuntimeError("no round was opened yet")
        return self.roster

    def _view(self, round: int, form: Form, arrays: ArrayRecord, nodes: dict[int, int], grid: Grid) -> View:
        roster, model = self._known, form.flat(arrays)
        models = np.stack([model] if self._trial is None else [model, self._trial])
        models.flags.writeable = False
        everybody = np.zeros(len(roster), np.intp)
        line = Line(grid, nodes, roster.keys, np.ones(len(roster), bool), self.patience, self.seed, round)
        ask = Questions(line, models, form.record, Traffic(form.layout.size, len(models), everybody), 0, False)
        present = np.array(sorted(nodes), dtype=np.intp)
        return View(round, roster, present, models, everybody, form.layout, ask, self.seed)

    def _check_minimums(self, cohort: int) -> None:
        for name in MINIMUMS:
            least = _setting(self.inner, name, 0)
            if least > cohort:
                raise ValueError(
                    f"{name}: {type(self.inner).__name__} would wait forever for {least} nodes where {cohort} were chosen;"
                    f" set {name}={cohort} or less"
                )

    def _admitted(self, opened: Opened, round: int, came: Sequence[tuple[int, Message]]) -> Replies:
        good = [(client, one) for client, one in came if Came(0, one, 0.0).failure is None]
        answered = {client for client, _ in good}
        failed = {client: f"failed: {Came(0, one, 0.0).failure}" for client, one in came if client not in answered}
        silent = [client for client in opened.plan.trainers.tolist() if client not in answered | failed.keys()]
        lost = {**failed, **dict.fromkeys(silent, "no answer")}
        sent = [self._reply(opened, round, client, one) for client, one in good]
        admitted = admit(opened.plan, opened.view.models, round, sent, door=self.door, lost=lost)
        for client, reason in {**admitted.rejected, **admitted.lost}.items():
            logger.warning("round %d: client %s: %s", round, opened.view.roster.keys[client], reason)
        return admitted

    def _reply(self, opened: Opened, round: int, client: int, message: Message) -> Reply:
        """What a client says, unchecked; one whose app does not know us says no round, and is taken at its word."""
        try:
            said = dict(message.content.get(OURS, {}))
            arrays = next((one for one in message.content.values() if isinstance(one, ArrayRecord)), ArrayRecord())
            metrics = next((one for one in message.content.values() if isinstance(one, MetricRecord)), MetricRecord())
            facts = {name.removeprefix("fact."): value for name, value in said.items() if name.startswith("fact.")}
            losses = [value for name, value in metrics.items() if "loss" in name]
            if losses:
                facts.setdefault("loss", losses[0])
            count = metrics.get(_setting(self.inner, "weighted_by_key", SAMPLES))
            return Reply(client, opened.form.flat(arrays), count, int(said.get("round", round)), facts)
        except Exception as error:  # a stranger's bytes
            return Reply(client, f"unreadable: {error}", 1, round)

    def _plain(self, message: Message) -> Message:
        """A reply without what is ours."""
        message.content = RecordDict({name: one for name, one in message.content.items() if name != OURS})
        return message

    def _of_trial(self, plan: Plan, replies: Replies) -> Flat | None:
        """The mean, by samples, of the replies of a trial group."""
        if len(plan.keeps) < 2:
            return None
        heard = plan.support(replies.clients)[[1]].indices
        if not len(heard):
            return None
        weights = replies.counts[heard] / replies.counts[heard].sum()
        return np.asarray(weights.astype(np.float32) @ replies.models[heard])


def _setting(strategy: Any, name: str, otherwise: Any) -> Any:
    """A setting of a strategy, or of the one that it wraps, as Flower's of differential privacy do."""
    while not hasattr(strategy, name) and hasattr(strategy, "strategy"):
        strategy = strategy.strategy
    return getattr(strategy, name, otherwise)

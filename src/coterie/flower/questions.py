"""The questions that rules ask of clients, as messages to their nodes, put on the meter when they are answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.common import ArrayRecord
from jaxtyping import Float, Float32
from numpy.typing import ArrayLike, NDArray

from coterie.federation import Ask, Split
from coterie.flower.post import exchange, logger
from coterie.flower.words import Flat, answers_in, models_record, report_text
from coterie.privacy.budget import Budget, address_of_report
from coterie.probe import Blur, Probe
from coterie.replies import Replies
from coterie.report import Report
from coterie.roster import Ids
from coterie.simulation.questions import Kind, ask_models, blurred, charge_probe, check_spread, runs_of
from coterie.simulation.traffic import NUMBER, Traffic

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Line:
    """How clients are reached in one round."""

    grid: Any
    nodes: Mapping[int, int]
    """The node of each client that is there."""
    keys: tuple[str, ...]
    able: NDArray[np.bool_]
    """For each client whether it holds any data."""
    patience: float
    """Seconds to wait for answers."""
    seed: int
    round: int

    def ask(
        self, action: str, models: Mapping[int, Sequence[ArrayRecord]], told: Mapping[int, Mapping[str, Any]]
    ) -> dict[int, Any]:
        """Puts a question to some clients; returns the contents of their replies, without those of whom none came."""
        client_of = {self.nodes[client]: client for client in models}
        common = {"seed": self.seed, "round": self.round}
        contents = {
            node: models_record(models[client], {**common, "key": self.keys[client], **told[client]})
            for node, client in client_of.items()
        }
        came = exchange(self.grid, contents, f"query.{action}", group=str(self.round), seconds=self.patience)
        for one in came:
            if one.failure:
                logger.warning("client %s gives no answer to '%s': %s", self.keys[client_of[one.node]], action, one.failure)
        return {client_of[one.node]: one.message.content for one in reversed(came) if not one.failure}


@dataclass(frozen=True, eq=False)
class Questions(Ask):
    """What can be asked in one round. Clients that are not there, hold no data or do not answer give NaN.

    All models that a client is asked about travel in one message. An answer that is not finite, or of another shape
    than was asked for, is none.
    """

    line: Line
    models_now: Float32[np.ndarray, "rows dim"]
    record: Callable[[Flat], ArrayRecord]
    """A flat model as it travels."""
    traffic: Traffic
    classes: int
    """0 for a regression."""
    personal: bool
    """Whether each client follows a model of its own, which the server relays and so knows."""
    counted: Callable[[int, int], None] = field(default=lambda asked, unanswered: None)
    """Hears of questions, and how many of them nobody answered."""
    budget: Budget = field(default_factory=lambda: Budget(0))
    """What the server was told under privacy, and what that spent; clients keep their own count beside it."""

    def losses(
        self,
        clients: ArrayLike,
        about: ArrayLike = 0,
        *,
        among: Replies | None = None,
        split: Split = "holdout",
        batch: int | None = None,
    ) -> Float[np.ndarray, " questions"]:
        told = {"split": split, "batch": batch or 0}
        return self._ask(Kind("loss", NUMBER, split, batch), "losses", clients, about, among, (), told).astype(np.float64)

    def gradients(
        self,
        clients: ArrayLike,
        about: ArrayLike = 0,
        *,
        among: Replies | None = None,
        part: slice | None = None,
        batch: int | None = None,
        blur: Blur | None = None,
    ) -> Float32[np.ndarray, "questions part"]:
        start, stop, step = (slice(None) if part is None else part).indices(self.traffic.dim)
        if step != 1:
            raise ValueError(f"ask: part must be a slice without a step, not {part}")
        blurs = {} if blur is None else {"clip": blur.clip, "noise": blur.noise}
        told = {"start": start, "stop": stop, "batch": batch or 0, **blurs}
        size = max(stop - start, 0)
        kind = Kind("gradient", 4 * size, "train", batch, epsilon=0.0 if blur is None else blurred(blur, batch))
        return self._ask(kind, "gradients", clients, about, among, (size,), told).astype(np.float32)

    def probe(
        self, clients: ArrayLike, probe: Probe, about: ArrayLike = 0, *, split: Split = "holdout"
    ) -> Float[np.ndarray, "questions directions"]:
        count = probe.directions
        kind = Kind("probe", NUMBER * count, split, None, count + 1)
        numbers = {"directions": count, "step": probe.step, "clip": probe.clip, "epsilon": probe.epsilon}
        told = {"split": split, "probe": str(probe.seed), **numbers}
        answers = self._ask(kind, "probe", clients, about, None, (count,), told).astype(np.float64)
        if probe.private and len(self.budget.spent):
            charge_probe(self.budget, self.traffic, probe, split, self.line.round, self._ids(clients), about, answers)
        return answers

    def reports(
        self, clients: ArrayLike, report: Report, about: ArrayLike = 0, *, among: Replies | None = None
    ) -> Float[np.ndarray, "questions numbers"]:
        ids, rows = np.broadcast_arrays(self._ids(clients), np.atleast_1d(np.asarray(about, dtype=np.intp)))
        models = self.models_now if among is None else among.models
        _check_within("ask: 'about' names a model", rows, len(models))
        check_spread(report, among)
        can = np.isin(ids, list(self.line.nodes)) & self.line.able[ids]
        addresses = [address_of_report(report, row, among is not None) for row in rows.tolist()]

        def tell(places: Rows) -> NDArray[np.float64]:
            return self._reported(report, ids[places], rows[places], models, [addresses[place] for place in places.tolist()])

        answers, fresh = self.budget.ask(report, ids, addresses, can, tell)
        ask_models(self.traffic, report, ids[fresh], rows[fresh], len(models), among)
        kind = Kind("report", NUMBER * len(report.numbers), "holdout", None, runs_of(report, len(models)), report.epsilon)
        self._costs(kind, len(ids), len(fresh))
        return answers

    def _reported(
        self, report: Report, ids: Ids, rows: Rows, models: Float32[np.ndarray, "rows dim"], addresses: list[str]
    ) -> NDArray[np.float64]:
        """What clients tell; a message to each, with the models that its answers are about, and all for a spread."""
        told = np.full((len(ids), len(report.numbers)), np.nan)
        places = {int(client): np.flatnonzero(ids == client) for client in np.unique(ids)}
        wide = "spread" in report.names
        sent: dict[int, list[ArrayRecord]] = {}
        extra: dict[int, dict[str, Any]] = {}
        records = {row: self.record(models[row]) for row in (range(len(models)) if wide else np.unique(rows).tolist())}
        for client, where in places.items():
            mine = rows[where].tolist()
            shown = [] if not report.about_models else list(range(len(models))) if wide else mine
            sent[client] = [records[row] for row in shown]
            said = {"report": report_text(report), "addresses": [addresses[place] for place in where.tolist()]}
            extra[client] = {**said, "rows": mine if wide else list(range(len(mine)))}
        for client, content in self.line.ask("reports", sent, extra).items():
            answer = self._read(client, content, (len(places[client]), len(report.numbers)))
            if answer is not None:
                told[places[client]] = answer
        return told

    def passes(self, kind: str, messages: int, numbers: int) -> None:
        self.traffic.answer(kind, messages, NUMBER * numbers)

    def models(self, clients: ArrayLike) -> Float32[np.ndarray, "clients dim"]:
        ids = self._ids(clients)
        answers = np.full((len(ids), self.traffic.dim), np.nan, np.float32)
        there = np.isin(ids, list(self.line.nodes))
        if self.personal:
            answers[there] = self.models_now[ids[there]]
        else:
            some = np.unique(ids[there]).tolist()
            replies = self.line.ask("models", dict.fromkeys(some, ()), {client: {} for client in some})
            held = {client: self._read(client, content, (1, self.traffic.dim)) for client, content in replies.items()}
            for place in np.flatnonzero(there):
                if (model := held.get(int(ids[place]))) is not None:
                    answers[place] = model[0]
        given = np.isfinite(answers).all(axis=1)
        self._costs(Kind("model", 4 * self.traffic.dim, "train", None, 0), len(ids), int(given.sum()))
        return answers

    def label_counts(self, clients: ArrayLike) -> NDArray[np.int64]:
        ids = self._ids(clients)
        if not self.classes:
            raise ValueError("ask: a regression has no labels to count")
        some = np.intersect1d(ids, list(self.line.nodes)).astype(int).tolist()
        replies = self.line.ask("label_counts", dict.fromkeys(some, ()), {client: {} for client in some})
        counts = {client: self._read(client, content, (1, self.classes)) for client, content in replies.items()}
        missing = [client for client in ids.tolist() if counts.get(client) is None]
        if missing:
            raise ValueError(f"ask: client {missing[0]} gives no label counts, and a count has no NaN; ask those present")
        self._costs(Kind("label counts", NUMBER * self.classes, "train", None, 0), len(ids), len(ids))
        return np.array([np.asarray(counts[client])[0] for client in ids.tolist()], np.int64).reshape(-1, self.classes)

    def _ask(
        self,
        kind: Kind,
        action: str,
        clients: ArrayLike,
        about: ArrayLike,
        among: Replies | None,
        shape: tuple[int, ...],
        told: Mapping[str, Any],
    ) -> NDArray[Any]:
        """Asks each question, all those to a client at once."""
        ids, rows = np.broadcast_arrays(self._ids(clients), np.atleast_1d(np.asarray(about, dtype=np.intp)))
        models = self.models_now if among is None else among.models
        _check_within("ask: 'about' names a model", rows, len(models))
        answers = np.full((len(ids), *shape), np.nan)
        can = np.flatnonzero(np.isin(ids, list(self.line.nodes)) & self.line.able[ids])
        self.traffic.asks(ids[can], rows[can], among)
        places = {int(client): can[ids[can] == client] for client in np.unique(ids[can])}
        records = {row: self.record(models[row]) for row in np.unique(rows[can]).tolist()}
        sent = {client: [records[row] for row in rows[where].tolist()] for client, where in places.items()}
        extra = {client: {**told, "rows": rows[where].tolist()} for client, where in places.items()}
        answered = 0
        for client, content in self.line.ask(action, sent, extra).items():
            told_back = self._read(client, content, (len(places[client]), *shape))
            if told_back is not None:
                answers[places[client]] = told_back
                answered += len(places[client])
        self._costs(kind, len(ids), answered)
        return answers

    def _read(self, client: int, content: Any, shape: tuple[int, ...]) -> NDArray[Any] | None:
        """The answers of a reply; None, and a line in the log, where it is not to be believed."""
        try:
            answers = answers_in(content, shape)
            if not np.isfinite(answers).all():
                raise ValueError("answer: it is not finite")
            return answers
        except Exception as error:  # whatever a stranger's bytes make of the reader
            logger.warning("client %s gives no answer that can be used: %s", self.line.keys[client], error)
            return None

    def _costs(self, kind: Kind, asked: int, answered: int) -> None:
        self.traffic.answer(kind.word, answered, kind.size, answered * kind.runs, answered * kind.epsilon)
        self.counted(asked, asked - answered)

    def _ids(self, clients: ArrayLike) -> Ids:
        ids = np.atleast_1d(np.asarray(clients, dtype=np.intp))
        _check_within("ask: it names a client", ids, len(self.line.keys))
        return ids


def _check_within(what: str, numbers: Rows, count: int) -> None:
    wrong = numbers[(numbers < 0) | (numbers >= count)]
    if len(wrong):
        raise ValueError(f"{what} that there is not: {wrong[0]}; there are {count}")

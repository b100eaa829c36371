"""The questions that rules ask of clients, answered by workers and put on the meter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import ArrayLike, DTypeLike, NDArray

from coterie.federation import Ask, Split
from coterie.privacy.budget import Budget, address_of, address_of_report
from coterie.privacy.mechanisms import release
from coterie.probe import Blur, Probe
from coterie.replies import Replies
from coterie.report import Report
from coterie.roster import Ids
from coterie.rules import Backbone
from coterie.simulation import dice
from coterie.simulation.answers import Gradients, Losses, Probes
from coterie.simulation.attacks import NOBODY, TOLD, Attack
from coterie.simulation.clients import Clients
from coterie.simulation.tellings import Tell
from coterie.simulation.traffic import NUMBER, Traffic
from coterie.simulation.training import Fit, Flat
from coterie.simulation.work import Crew, Task

TOGETHER = 16
"""Clients that one task asks about one model. It divides the work; answers do not depend on it."""


@dataclass(frozen=True)
class Kind:
    """A kind of question, and what an answer to it costs."""

    word: str
    size: int
    """Bytes of an answer."""
    split: Split
    batch: int | None = None
    runs: int = 1
    """Times that a model runs over the data."""
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        if self.split not in ("holdout", "train", "test"):
            raise ValueError(f"ask: split must be 'holdout', 'train' or 'test', not {self.split!r}")
        if self.batch is not None and self.batch < 1:
            raise ValueError(f"ask: batch must be a whole number from 1, or None for all samples, not {self.batch!r}")


Tasks = Callable[[Flat, int, tuple[int, ...]], Task[NDArray[Any]]]
"""Makes the task that asks some clients about a model, which stands in a row."""


@dataclass(frozen=True, eq=False)
class Questions(Ask):
    """What can be asked in one round. Clients that are not there, or hold no data, give NaN, and nothing crosses."""

    _crew: Crew
    _clients: Clients
    _models: Float32[np.ndarray, "rows dim"]
    _held: Callable[[int], Flat | None]
    """The model that a client holds."""
    _kept: Callable[[int], Mapping[str, Flat]]
    """What stayed at a client when it last trained."""
    _present: Ids
    _traffic: Traffic
    _round: int
    _took: Callable[[int, int, Ids, NDArray[np.int64], NDArray[np.int64]], None]
    """Hears of questions and answers, who gave them, how many samples each looked at, and how many bytes each exchanged."""
    _budget: Budget
    """What clients have let out under privacy, and what that has spent."""
    _attack: Attack = NOBODY
    """Some may not tell the truth."""

    def losses(
        self,
        clients: ArrayLike,
        about: ArrayLike = 0,
        *,
        among: Replies | None = None,
        split: Split = "holdout",
        batch: int | None = None,
    ) -> Float[np.ndarray, " questions"]:
        kind = Kind("loss", NUMBER, split, batch)
        truth = self._ask(
            kind, clients, about, among, (), np.float64, lambda model, _, few: Losses(model, few, split, batch, self._round)
        )
        return truth if self._attack.name != "false-loss" else truth * self._times("loss", self._ids(clients))

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
        cut = slice(None) if part is None else part
        size = len(range(self._traffic.dim)[cut])
        kind = Kind("gradient", 4 * size, "train", batch, epsilon=0.0 if blur is None else blurred(blur, batch))
        return self._ask(
            kind,
            clients,
            about,
            among,
            (size,),
            np.float32,
            lambda model, row, few: Gradients(model, few, cut, batch, self._round, blur, row),
        )

    def probe(
        self, clients: ArrayLike, probe: Probe, about: ArrayLike = 0, *, split: Split = "holdout"
    ) -> Float[np.ndarray, "questions directions"]:
        count = probe.directions
        told = self._ask(
            Kind("probe", NUMBER * count, split, None, count + 1),
            clients,
            about,
            None,
            (count,),
            np.float64,
            lambda model, row, few: Probes(model, row, few, probe, split, self._round),
        )
        if probe.private:
            charge_probe(self._budget, self._traffic, probe, split, self._round, self._ids(clients), about, told)
        return told

    def reports(
        self, clients: ArrayLike, report: Report, about: ArrayLike = 0, *, among: Replies | None = None
    ) -> Float[np.ndarray, "questions numbers"]:
        ids, rows = np.broadcast_arrays(self._ids(clients), np.atleast_1d(np.asarray(about, dtype=np.intp)))
        models = self._models if among is None else among.models
        _check_within("ask: 'about' names a model", rows, len(models))
        check_spread(report, among)
        can = np.isin(ids, self._present) & (self._clients.count("train")[ids] > 0)
        addresses = [address_of_report(report, row, among is not None) for row in rows.tolist()]

        def tell(places: NDArray[np.intp]) -> NDArray[np.float64]:
            truth = self._truth(report, ids[places], rows[places], models)
            keys = [self._clients.keys[client] for client in ids[places].tolist()]
            thrown = [
                dice.report(self._clients.seed, key, addresses[place], report.numbers)
                for key, place in zip(keys, places.tolist(), strict=True)
            ]
            return np.array([release(report, own, rng) for own, rng in zip(truth, thrown, strict=True)])

        answers, fresh = self._budget.ask(report, ids, addresses, can, tell)
        self._told(report, ids, rows, fresh, models, among)
        return answers

    def _truth(self, report: Report, ids: Ids, rows: NDArray[np.intp], models: NDArray[np.float32]) -> NDArray[np.float64]:
        """The true numbers, before anything is done to protect them."""
        truth = np.empty((len(ids), len(report.numbers)))
        beside = tuple(models) if "spread" in report.names else ()
        groups = list(_together(np.arange(len(ids)), rows if report.about_models else np.zeros_like(rows)))
        tasks = [
            Tell(models[row] if report.about_models else None, tuple(ids[few].tolist()), report.names, beside)
            for row, few in groups
        ]
        for (_, few), told in zip(groups, self._crew.run(tasks), strict=True):
            truth[few] = told
        lied = {name: self._times(what, ids) for what, names in TOLD.items() for name in names}
        return truth * np.stack([lied.get(name, np.ones(len(ids))) for name in report.names], axis=1)

    def _times(self, what: str, ids: Ids) -> NDArray[np.float64]:
        """By how much clients multiply what they say."""
        return self._attack.times(what, self._clients.seed, len(self._clients))[ids]

    def _told(
        self,
        report: Report,
        ids: Ids,
        rows: NDArray[np.intp],
        fresh: NDArray[np.intp],
        models: NDArray[np.float32],
        among: Replies | None,
    ) -> None:
        """Meters reports that were told for the first time."""
        received = ask_models(self._traffic, report, ids[fresh], rows[fresh], len(models), among)
        kind = Kind("report", NUMBER * len(report.numbers), "holdout", None, runs_of(report, len(models)), report.epsilon)
        self._costs(kind, ids[fresh], ids[fresh], received)

    def trained(self, clients: ArrayLike, backbone: Backbone, about: ArrayLike = 0) -> Float32[np.ndarray, "questions dim"]:
        ids, rows = np.broadcast_arrays(self._ids(clients), np.atleast_1d(np.asarray(about, dtype=np.intp)))
        _check_within("ask: 'about' names a model", rows, len(self._models))
        answers = np.full((len(ids), self._models.shape[1]), np.nan, np.float32)
        can = np.flatnonzero(np.isin(ids, self._present) & (self._clients.count("train")[ids] > 0))
        self._traffic.asks(ids[can], rows[can], None)
        pairs = zip(ids[can].tolist(), rows[can].tolist(), strict=True)
        fits = [Fit(backbone, client, self._models[row], self._kept(client), self._round, frozenset()) for client, row in pairs]
        fitted = self._crew.run(fits)
        for place, fit in zip(can, fitted, strict=True):
            answers[place] = fit.trained.share
        size = 4 * self._traffic.dim
        self._traffic.answer("model", len(can), size)
        busy, which = np.unique(ids[can], return_inverse=True)
        seen = np.bincount(which, weights=[fit.seen for fit in fitted], minlength=len(busy)).astype(np.int64)
        self._took(len(ids), len(can), busy, seen, 2 * size * np.bincount(which, minlength=len(busy)))
        return answers

    def passes(self, kind: str, messages: int, numbers: int) -> None:
        self._traffic.answer(kind, messages, NUMBER * numbers)

    def models(self, clients: ArrayLike) -> Float32[np.ndarray, "clients dim"]:
        ids = self._ids(clients)
        answers = np.full((len(ids), self._traffic.dim), np.nan, np.float32)
        there = np.isin(ids, self._present)
        held = {place: self._held(int(ids[place])) for place in np.flatnonzero(there)}
        given = [place for place, model in held.items() if model is not None]
        for place in given:
            answers[place] = held[place]
        self._costs(Kind("model", 4 * self._traffic.dim, "train", None, 0), ids, ids[given], 0)
        return answers

    def words(self, speakers: ArrayLike, about: ArrayLike, seen: ArrayLike) -> Float[np.ndarray, " words"]:
        return self._attack.words(
            self._clients.seed, len(self._clients), self._ids(speakers), self._ids(about), np.asarray(seen)
        )

    def label_counts(self, clients: ArrayLike) -> NDArray[np.int64]:
        ids = self._ids(clients)
        if not self._clients.classes:
            raise ValueError("ask: a regression has no labels to count")
        if len(absent := np.setdiff1d(ids, self._present)):
            raise ValueError(
                f"ask: client {absent[0]} cannot be reached, and a count has no NaN; ask for label counts of those present"
            )
        self._costs(Kind("label counts", NUMBER * self._clients.classes, "train", None, 0), ids, ids, 0)
        return self._clients.label_counts[ids]

    def _ask(
        self,
        kind: Kind,
        clients: ArrayLike,
        about: ArrayLike,
        among: Replies | None,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        task: Tasks,
    ) -> NDArray[Any]:
        """Asks each question: model after model, several clients to a task."""
        ids, rows = np.broadcast_arrays(self._ids(clients), np.atleast_1d(np.asarray(about, dtype=np.intp)))
        models = self._models if among is None else among.models
        _check_within("ask: 'about' names a model", rows, len(models))
        answers = np.full((len(ids), *shape), np.nan, dtype=dtype)
        can = np.flatnonzero(np.isin(ids, self._present) & (self._clients.count("train")[ids] > 0))
        self._traffic.asks(ids[can], rows[can], among)
        self._costs(kind, ids, ids[can], 4 * self._traffic.dim)
        groups = list(_together(can, rows))
        tasks = [task(models[row], row, tuple(ids[group].tolist())) for row, group in groups]
        for (_, group), answer in zip(groups, self._crew.run(tasks), strict=True):
            answers[group] = answer
        return answers

    def _costs(self, kind: Kind, asked: Ids, answering: Ids, received: int) -> None:
        """Meters questions, each of which sends a client so many bytes, and tells how long they took it."""
        self._traffic.answer(kind.word, len(answering), kind.size, len(answering) * kind.runs, len(answering) * kind.epsilon)
        clients, questions = np.unique(answering, return_counts=True)
        samples = self._clients.asked_count(kind.split)[clients] if kind.batch is None else np.full(len(clients), kind.batch)
        self._took(len(asked), len(answering), clients, questions * kind.runs * samples, questions * (received + kind.size))

    def _ids(self, clients: ArrayLike) -> Ids:
        ids = np.atleast_1d(np.asarray(clients, dtype=np.intp))
        _check_within("ask: it names a client", ids, len(self._clients))
        return ids


def blurred(blur: Blur, batch: int | None) -> float:
    """What a blurred gradient over a batch spends."""
    if batch is None and blur.noise:
        raise ValueError("ask: a gradient with noise needs a batch, whose size says how much noise")
    return blur.epsilon(batch or 1)


def charge_probe(
    budget: Budget,
    traffic: Traffic,
    probe: Probe,
    split: Split,
    round: int,
    clients: Ids,
    about: ArrayLike,
    told: NDArray[np.float64],
) -> None:
    """Puts what private probes spent on the meter; an answer that is repeated in a round is one release."""
    ids, rows = np.broadcast_arrays(clients, np.atleast_1d(np.asarray(about, dtype=np.intp)))
    for client, row, answer in zip(ids.tolist(), rows.tolist(), told, strict=True):
        address = address_of(f"a model, {probe}, {split}", round, row)
        if np.isfinite(answer).all() and budget.told(client, address) is None:
            budget.put(client, address, answer, probe.epsilon)
            traffic.answer("probe", 0, 0, epsilon=probe.epsilon)


def ask_models(
    traffic: Traffic, report: Report, clients: Ids, rows: NDArray[np.intp], models: int, among: Replies | None
) -> int:
    """Has the models that a report is about sent to clients; returns how many bytes each receives."""
    if not report.about_models:
        return 0
    if "spread" not in report.names:
        traffic.asks(clients, rows, among)
        return 4 * traffic.dim
    everybody, everything = np.repeat(clients, models), np.tile(np.arange(models), len(clients))
    traffic.asks(everybody, everything, among)
    return 4 * traffic.dim * models


def runs_of(report: Report, models: int) -> int:
    """How often some model runs over a client's data for a report."""
    return sum({"size": 0, "gap": 2, "spread": models}.get(number, 1) for number in report.names)


def check_spread(report: Report, among: Replies | None) -> None:
    """Refuses to ask for a spread of models that are not there."""
    if "spread" in report.names and among is None:
        raise ValueError("ask: 'spread' is of models that replies have brought; give 'among'")


def _together(questions: NDArray[np.intp], rows: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Groups questions about the same model, a few to a task."""
    order = questions[np.argsort(rows[questions], kind="stable")]
    for same in np.split(order, np.flatnonzero(np.diff(rows[order])) + 1):
        for start in range(0, len(same), TOGETHER):
            yield int(rows[same[0]]), same[start : start + TOGETHER]


def _check_within(what: str, numbers: NDArray[np.intp], count: int) -> None:
    wrong = numbers[(numbers < 0) | (numbers >= count)]
    if len(wrong):
        raise ValueError(f"{what} that there is not: {wrong[0]}; there are {count}")

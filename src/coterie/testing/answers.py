"""The questions that clients of a toy federation answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import ArrayLike, NDArray

from coterie import seeds
from coterie.federation import Ask, Split
from coterie.privacy.budget import Budget, address_of_report
from coterie.privacy.mechanisms import release
from coterie.probe import Blur, Probe
from coterie.replies import Meter, Replies
from coterie.report import Number, Report
from coterie.rules import Backbone
from coterie.testing.linear import Flat, Samples

if TYPE_CHECKING:
    from coterie.testing.toy import Toy


@dataclass(eq=False)
class ToyAsk(Ask):
    """Questions to the clients of a toy; those who are absent or silent this round give NaN."""

    toy: Toy
    meter: Meter = field(default_factory=Meter)
    answers: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = Budget(len(self.toy.roster))

    def open(self, t: int) -> None:
        """Starts a round."""
        self.meter = Meter()
        self.budget.forget(t)
        chances = self.toy.chances
        self.answers = self.toy.happens(chances.answering, "answering", t) & self.toy.happens(chances.present, "present", t)

    def spend(self, **crossed: Any) -> None:
        """Adds to what crossed."""
        self.meter = self.meter + Meter(**crossed)

    def _put(self, clients: ArrayLike, about: ArrayLike, among: Replies | None) -> list[tuple[int, Flat]]:
        models = self.toy.models if among is None else among.models
        asked, rows = np.broadcast_arrays(np.asarray(clients, np.intp).ravel(), np.asarray(about, np.intp))
        self.spend(down={"model": 4 * self.toy.models.shape[1] * len(asked)}, evaluations=len(asked), messages=len(asked))
        return [(client, models[row]) for client, row in zip(asked.tolist(), rows.tolist(), strict=True)]

    def _on(self, client: int, split: Split, batch: int | None) -> Samples:
        x, y = self.toy.samples[client][split]
        few = seeds.rng(self.toy.seed, self.toy.round, client, "batch").permutation(len(y))[:batch]
        return x[few], y[few]

    def losses(
        self,
        clients: ArrayLike,
        about: ArrayLike = 0,
        *,
        among: Replies | None = None,
        split: Split = "holdout",
        batch: int | None = None,
    ) -> Float[np.ndarray, " questions"]:
        questions = self._put(clients, about, among)
        self.spend(up={"loss": 8 * len(questions)})
        told = [
            self.toy.model.losses(model, self._on(k, split, batch)).mean() if self.answers[k] else np.nan
            for k, model in questions
        ]
        return np.array(told, dtype=np.float64)

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
        questions, where = self._put(clients, about, among), part or slice(None)
        told = np.full((len(questions), len(np.empty(self.toy.layout.size)[where])), np.nan, np.float32)
        for row, (client, model) in enumerate(questions):
            if self.answers[client]:
                samples = self._on(client, "train", batch)
                told[row] = self.toy.model.gradient(model, samples)[where]
                if blur is not None:
                    rng = seeds.rng(self.toy.seed, self.toy.round, client, "blur", row)
                    told[row] = blur.release(told[row], len(samples[1]), rng)
        self.spend(up={"gradient": 4 * told.size})
        return told

    def probe(
        self, clients: ArrayLike, probe: Probe, about: ArrayLike = 0, *, split: Split = "holdout"
    ) -> Float[np.ndarray, "questions directions"]:
        questions, head = self._put(clients, about, None), self.toy.layout.head
        moves = probe.moves(head.stop - head.start)
        told = np.full((len(questions), probe.directions), np.nan)
        for row, (client, model) in enumerate(questions):
            if self.answers[client]:
                loss = partial(self._loss_moved, model, self._on(client, split, None), head)
                rng = seeds.rng(self.toy.seed, self.toy.round, client, "probe")
                told[row] = probe.release(np.array([loss(move) for move in moves]) - loss(np.float32(0) * moves[0]), rng)
        self.spend(up={"probe": 8 * told.size}, evaluations=told.size)
        return told

    def _loss_moved(self, model: Flat, samples: Samples, head: slice, move: Flat) -> float:
        moved = model.copy()
        moved[head] += move
        return float(self.toy.model.losses(moved, samples).mean())

    def trained(self, clients: ArrayLike, backbone: Backbone, about: ArrayLike = 0) -> Float32[np.ndarray, "questions dim"]:
        asked, rows = np.broadcast_arrays(np.asarray(clients, np.intp).ravel(), np.asarray(about, np.intp))
        told = np.full((len(asked), self.toy.models.shape[1]), np.nan, np.float32)
        for place, (client, row) in enumerate(zip(asked.tolist(), rows.tolist(), strict=True)):
            if self.answers[client]:
                told[place] = backbone.train(self.toy.local(client, row, self.toy.round + 1)).share
        sent = {"model": 4 * told.size}
        self.spend(down=sent, up=sent, messages=len(asked))
        return told

    def reports(
        self, clients: ArrayLike, report: Report, about: ArrayLike = 0, *, among: Replies | None = None
    ) -> Float[np.ndarray, "questions numbers"]:
        models = self.toy.models if among is None else among.models
        asked, rows = np.broadcast_arrays(np.asarray(clients, np.intp).ravel(), np.asarray(about, np.intp))
        addresses = [address_of_report(report, row, among is not None) for row in rows.tolist()]

        def tell(places: NDArray[np.intp]) -> NDArray[np.float64]:
            told = []
            for place in places.tolist():
                client = int(asked[place])
                truth = np.array([self._number(client, models, int(rows[place]), number) for number in report.names])
                told.append(release(report, truth, seeds.rng(self.toy.seed, client, addresses[place])))
            return np.array(told)

        answers, fresh = self.budget.ask(report, asked, addresses, self.answers[asked], tell)
        sent = len(fresh) if report.about_models else 0
        self.spend(
            down={"model": 4 * self.toy.layout.size * sent},
            up={"report": 8 * len(fresh) * len(report.numbers)},
            evaluations=sent,
            messages=len(fresh),
            epsilon=len(fresh) * report.epsilon,
        )
        return answers

    def _number(self, client: int, models: Float32[np.ndarray, "rows dim"], row: int, number: Number) -> float:
        toy, samples = self.toy, self.toy.samples[client]
        match number:
            case "size":
                return float(toy.roster["size"][client])
            case "loss" | "training_loss":
                return float(toy.model.losses(models[row], samples["holdout" if number == "loss" else "train"]).mean())
            case "gradient":
                return float(np.linalg.norm(toy.model.gradient(models[row], samples["train"])))
            case "gap":
                return (self._brier(models[row], samples["holdout"]) - self._brier(models[row], samples["train"])) / 2
            case "spread":
                said = np.stack([np.exp(toy.model.outputs(model, samples["holdout"][0])) for model in models])
                return float(said.var(axis=0, ddof=1).sum(axis=1).mean()) if len(models) > 1 else 0.0

    def _brier(self, model: Flat, samples: Samples) -> float:
        wrong = np.exp(self.toy.model.outputs(model, samples[0]))
        wrong[np.arange(len(samples[1])), samples[1]] -= 1
        return float((wrong**2).sum(axis=1).mean())

    def models(self, clients: ArrayLike) -> Float32[np.ndarray, "clients dim"]:
        asked, toy = np.asarray(clients, np.intp).ravel().tolist(), self.toy
        personal = len(toy.models) == len(toy.roster) and np.array_equal(toy.follows, toy.roster.ids)
        rows = [toy.models[k] if personal or k not in toy.held else toy.held[k] for k in asked]
        self.spend(up={"model": 4 * toy.models.shape[1] * len(asked)}, messages=len(asked))
        return np.array(rows, dtype=np.float32).reshape(len(asked), toy.models.shape[1])

    def label_counts(self, clients: ArrayLike) -> NDArray[np.int64]:
        asked, classes = np.asarray(clients, np.intp).ravel().tolist(), self.toy.classes
        self.spend(up={"labels": 8 * classes * len(asked)}, messages=len(asked))
        rows = [np.bincount(self.toy.samples[k]["train"][1], minlength=classes) for k in asked]
        return np.array(rows, dtype=np.int64).reshape(len(asked), classes)

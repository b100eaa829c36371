"""How good models are, on data that no rule has seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.special import logsumexp

from coterie.backbones.sgd import SGD
from coterie.federation import Scores, Steps
from coterie.simulation.clients import Clients, Samples
from coterie.simulation.path import Path
from coterie.simulation.training import Flat, Home
from coterie.simulation.work import Crew, Task

CHUNK = 2500
"""Test samples that one task judges. Fixed, so that sums come out the same whoever does them."""


BLOCK = 64
"""Models whose verdicts are held at once."""

Both = Float[np.ndarray, "clients 2"]
"""Loss and accuracy."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """Sample by sample: the loss, and whether the label was found (NaN for regression)."""

    loss: Float[np.ndarray, " samples"]
    right: Float[np.ndarray, " samples"]


@dataclass(frozen=True, eq=False)
class Judge(Task[Verdict]):
    """Judges a model on a piece of the global test set."""

    model: Flat
    start: int
    usual: bool

    def run(self, path: Path, clients: Clients) -> Verdict:
        piece = slice(self.start, self.start + CHUNK)
        return verdict(path, self.model, (clients.x_test[piece], clients.y_test[piece]), self.usual)


@dataclass(frozen=True, eq=False)
class JudgeAt(Task[NDArray[np.float64]]):
    """Loss and accuracy of a model on one client's own tests and on those in common, perhaps after some local steps."""

    model: Flat
    client: int
    usual: bool
    round: int = 0
    steps: Steps | None = None

    def run(self, path: Path, clients: Clients) -> NDArray[np.float64]:
        model = self._tuned(path, clients)
        common = clients.x_test[clients.common], clients.y_test[clients.common]
        return np.stack([_mean(path, model, samples, self.usual) for samples in (clients.samples(self.client, "test"), common)])

    def _tuned(self, path: Path, clients: Clients) -> Flat:
        own = clients.samples(self.client, "train")
        if self.steps is None or not len(own[0]):
            return self.model
        home = Home(path, own, clients.seed, clients.keys[self.client], max(self.round, 1), purpose="tune")
        return home.train(SGD(self.steps), self.model, {}).share


def verdict(path: Path, model: Flat, samples: Samples, usual: bool) -> Verdict:
    """Judges in one pass where the loss is the `usual` one of labels, cross-entropy; else in two."""
    x, y = samples
    if not np.issubdtype(y.dtype, np.integer):
        return Verdict(path.losses(model, x, y).astype(np.float64), np.full(len(y), np.nan))
    outputs = path.outputs(model, x).astype(np.float64)
    right = (outputs.argmax(axis=1) == y).astype(np.float64)
    if not usual:
        return Verdict(path.losses(model, x, y).astype(np.float64), right)
    return Verdict(logsumexp(outputs, axis=1) - outputs[np.arange(len(y)), y], right)


def _mean(path: Path, model: Flat, samples: Samples, usual: bool) -> NDArray[np.float64]:
    """Mean loss and accuracy; NaN where there are no samples."""
    if not len(samples[0]):
        return np.full(2, np.nan)
    told = verdict(path, model, samples, usual)
    return np.array([told.loss.mean(), told.right.mean()])


def evaluate(
    crew: Crew,
    clients: Clients,
    models: NDArray[np.float32],
    follows: NDArray[np.intp],
    others: Mapping[str, Mapping[int, Flat]],
    *,
    usual: bool,
    round: int,
    tuned: Steps | None,
) -> Scores:
    """Judges the models that somebody follows.

    Accuracy and loss are the mean over clients of what the model that each follows has on the whole global test set;
    those per client are on its own test samples, NaN where it has none. `others` holds, by the word that is added to
    'accuracy', models that some clients have beside the one they follow; a client that has none counts with that one.
    Where there are others, or models are tuned, each is also judged on the test samples in common: 'accuracy_global'.
    """
    word, column = ("accuracy", 1) if clients.classes else ("loss", 0)
    overall, own, common = _followed(crew, clients, models, follows, usual)
    scores = {word: own[:, column]}
    if others or tuned is not None:
        scores[f"{word}_global"] = common[:, column]
    for extra, held in others.items():
        told = crew.run([JudgeAt(model, client, usual) for client, model in sorted(held.items())])
        for name, base, place in ((f"{word}_{extra}", own, 0), (f"{word}_global_{extra}", common, 1)):
            scores[name] = base[:, column].copy()
            scores[name][sorted(held)] = [both[place, column] for both in told]
    if tuned is not None:
        told = crew.run([JudgeAt(models[row], client, usual, round, tuned) for client, row in enumerate(follows.tolist())])
        scores[f"{word}_tuned"] = np.array([both[0, column] for both in told])
        scores[f"{word}_global_tuned"] = np.array([both[1, column] for both in told])
    return Scores(accuracy=float(overall[:, 1].mean()), loss=float(overall[:, 0].mean()), clients=scores)


def _followed(
    crew: Crew, clients: Clients, models: NDArray[np.float32], follows: NDArray[np.intp], usual: bool
) -> tuple[Both, Both, Both]:
    """Loss and accuracy, for each client, of the model it follows: on the whole test set, on its own, on those in common."""
    overall, common, own = np.empty((len(clients), 2)), np.empty((len(clients), 2)), np.full((len(clients), 2), np.nan)
    rows = np.unique(follows)
    for start in range(0, len(rows), BLOCK):
        some = rows[start : start + BLOCK]
        for row, told in zip(some, _on_all(crew, [models[row] for row in some], len(clients.x_test), usual), strict=True):
            followers = np.flatnonzero(follows == row)
            overall[followers] = told.loss.mean(), told.right.mean()
            common[followers] = told.loss[clients.common].mean(), told.right[clients.common].mean()
            if clients.drawn is not None:
                own[followers] = _means(told, [clients.drawn[k] for k in followers.tolist()])
    if clients.drawn is None:
        told_own = crew.run([JudgeAt(models[row], client, usual) for client, row in enumerate(follows.tolist())])
        own = np.array([both[0] for both in told_own])
    return overall, own, common


def _means(told: Verdict, tests: list[NDArray[np.int64]]) -> Both:
    """Mean loss and accuracy over each client's samples; NaN where there are none."""
    sizes = np.array([len(rows) for rows in tests])
    client, sample = np.repeat(np.arange(len(tests)), sizes), np.concatenate(tests)
    sums = [np.bincount(client, weights=values[sample], minlength=len(tests)) for values in (told.loss, told.right)]
    with np.errstate(invalid="ignore"):
        return np.asarray(np.stack(sums, axis=1) / sizes[:, np.newaxis])


def _on_all(crew: Crew, models: list[Flat], tests: int, usual: bool) -> list[Verdict]:
    """Each model's verdict on the whole global test set."""
    starts = range(0, tests, CHUNK)
    pieces = crew.run([Judge(model, start, usual) for model in models for start in starts])
    parts = [pieces[at : at + len(starts)] for at in range(0, len(pieces), len(starts))]
    return [Verdict(np.concatenate([p.loss for p in part]), np.concatenate([p.right for p in part])) for part in parts]

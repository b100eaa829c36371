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
class JudgeAt(Task[tuple[float, float]]):
    """Mean loss and accuracy of a model on one client's own test samples, after some local steps if there are any."""

    model: Flat
    client: int
    usual: bool
    round: int = 0
    steps: Steps | None = None

    def run(self, path: Path, clients: Clients) -> tuple[float, float]:
        samples = clients.samples(self.client, "test")
        if not len(samples[0]):
            return float("nan"), float("nan")
        told = verdict(path, self._tuned(path, clients), samples, self.usual)
        return float(told.loss.mean()), float(told.right.mean())

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

    `others` holds, by the word that is added to 'accuracy', models that some clients have beside the one they
    follow; a client that has none counts with the one that it follows.
    """
    rows, follower = np.unique(follows, return_inverse=True)
    verdicts = _on_all(crew, models[rows], len(clients.x_test), usual)
    followers = np.bincount(follower, minlength=len(rows)) / len(follows)
    word, column = ("accuracy", 1) if clients.classes else ("loss", 0)
    own = _own(crew, clients, models, follows, verdicts, follower, usual)[:, column]
    scores = {word: own}
    for extra, held in others.items():
        tasks = [JudgeAt(model, client, usual) for client, model in sorted(held.items())]
        scores[f"{word}_{extra}"] = _with(own, sorted(held), [told[column] for told in crew.run(tasks)])
    if tuned is not None:
        tasks = [JudgeAt(models[row], client, usual, round, tuned) for client, row in enumerate(follows.tolist())]
        scores[f"{word}_tuned"] = np.array([told[column] for told in crew.run(tasks)])
    return Scores(
        accuracy=float(followers @ [told.right.mean() for told in verdicts]),
        loss=float(followers @ [told.loss.mean() for told in verdicts]),
        clients=scores,
    )


def _on_all(crew: Crew, models: NDArray[np.float32], tests: int, usual: bool) -> list[Verdict]:
    """Each model's verdict on the whole global test set."""
    starts = range(0, tests, CHUNK)
    pieces = crew.run([Judge(model, start, usual) for model in models for start in starts])
    parts = [pieces[at : at + len(starts)] for at in range(0, len(pieces), len(starts))]
    return [Verdict(np.concatenate([p.loss for p in part]), np.concatenate([p.right for p in part])) for part in parts]


def _own(
    crew: Crew,
    clients: Clients,
    models: NDArray[np.float32],
    follows: NDArray[np.intp],
    verdicts: list[Verdict],
    follower: NDArray[np.intp],
    usual: bool,
) -> Float[np.ndarray, "clients 2"]:
    """Loss and accuracy on each client's own test samples; out of the global verdicts where they are drawn from there."""
    if clients.drawn is None:
        return np.array(crew.run([JudgeAt(models[row], client, usual) for client, row in enumerate(follows.tolist())]))
    values = np.full((len(clients), 2), np.nan)
    for client, row in enumerate(follower.tolist()):
        if len(tests := clients.drawn[client]):
            values[client] = verdicts[row].loss[tests].mean(), verdicts[row].right[tests].mean()
    return values


def _with(values: NDArray[np.float64], clients: list[int], others: list[float]) -> Float[np.ndarray, " clients"]:
    changed = values.copy()
    changed[clients] = others
    return changed

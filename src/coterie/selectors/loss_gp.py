"""A Gaussian process over the clients' loss changes, with one embedding a client: FedCor's model of a round.

The changes of all N clients' losses in a round are taken as N(0, X Xᵀ + ν² I), one row of X ∈ R^(N×d) a client. All that
is needed of that N×N matrix is had in O(N d²) from d×d ones. Changes that nobody told are left out of the likelihood,
which for a Gaussian is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy import linalg

from coterie.roster import Ids

Embeddings = Float[np.ndarray, "clients dims"]
Samples = Float[np.ndarray, "samples clients"]
"""One row a round that was watched, NaN where a client's change is not known."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Samples of loss changes, how much each counts, and the standard deviation ν of their noise."""

    changes: Samples
    weights: Float[np.ndarray, " samples"]
    noise: float

    @cached_property
    def blocks(self) -> list[tuple[slice | Ids, NDArray[np.float64], NDArray[np.float64]]]:
        """Samples by who is seen in them: these clients, their changes (clients × samples), the samples' weights."""
        patterns, which = np.unique(~np.isnan(self.changes), axis=0, return_inverse=True)
        blocks: list[tuple[slice | Ids, NDArray[np.float64], NDArray[np.float64]]] = []
        for number, pattern in enumerate(patterns):
            rows = which.ravel() == number
            clients = slice(None) if pattern.all() else np.flatnonzero(pattern)
            blocks.append((clients, np.ascontiguousarray(self.changes[rows][:, clients].T), self.weights[rows]))
        return blocks

    def likelihood(self, x: Embeddings) -> float:
        """Σ_m w_m log N(Δl_m; 0, X Xᵀ + ν² I), Eq. 15 and 17, by the matrix determinant lemma and Woodbury's identity."""
        total = 0.0
        for clients, y, weights in self.blocks:
            seen = x[clients]
            root = linalg.cholesky(self._small(seen), lower=True)
            inside = linalg.solve_triangular(root, seen.T @ y, lower=True)
            squares = ((y**2).sum(axis=0) - (inside**2).sum(axis=0)) / self.noise**2
            volume = 2 * np.log(np.diag(root)).sum() + (len(seen) - x.shape[1]) * np.log(self.noise**2)
            total -= 0.5 * float(weights @ (squares + volume + len(seen) * np.log(2 * np.pi)))
        return total

    def gradient(self, x: Embeddings) -> Embeddings:
        """The likelihood's gradient: with A = XᵀX + ν² I and z = A⁻¹ Xᵀ Δl it is Σ_m w_m (Δl − X z) zᵀ / ν² − w_m X A⁻¹."""
        slope = np.zeros_like(x)
        for clients, y, weights in self.blocks:
            seen = x[clients]
            inverse = linalg.inv(self._small(seen))
            z = inverse @ (seen.T @ y)
            pull = (z * weights) / self.noise**2
            slope[clients] += y @ pull.T - seen @ (pull @ z.T + weights.sum() * inverse)
        return slope

    def _small(self, x: Embeddings) -> NDArray[np.float64]:
        return np.asarray(x.T @ x + self.noise**2 * np.eye(x.shape[1]))


def fit(x: Embeddings, evidence: Evidence, iterations: int, rate: float = 0.01) -> Embeddings:
    """Climbs the likelihood from x by Adam (Kingma and Ba, 2015) with its usual constants, every fit with a fresh memory."""
    x, mean, square, room = x.copy(), np.zeros_like(x), np.zeros_like(x), np.empty_like(x)
    for t in range(1, iterations + 1):
        slope = evidence.gradient(x)
        mean *= 0.9
        mean += np.multiply(slope, 0.1, out=room)
        slope *= slope
        square *= 0.999
        square += np.multiply(slope, 0.001, out=room)
        np.sqrt(square, out=room)
        room /= np.sqrt(1 - 0.999**t)
        room += 1e-8
        np.divide(mean, room, out=room)
        room *= rate / (1 - 0.9**t)
        x += room
    return x


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is left to learn about each candidate once the changes of those already chosen are given."""

    embeddings: Embeddings
    metric: Float[np.ndarray, "dims dims"]
    """Q with Σ_ij = x_i Q x_j: the identity at first."""
    variance: Float[np.ndarray, " candidates"]
    """Σ_kk."""
    pull: Float[np.ndarray, " candidates"]
    """Σ_i p_i Σ_ik over all clients, candidates or not: how the federation's loss moves with this client's."""
    floor: Float[np.ndarray, " candidates"]
    """Variances up to this are rounding errors."""

    @classmethod
    def prior(cls, x: Embeddings, share: Float[np.ndarray, " clients"], candidates: Ids) -> Posterior:
        """Nobody is chosen yet."""
        own = np.ascontiguousarray(x[candidates])
        variance = np.einsum("kd,kd->k", own, own)
        return cls(own, np.eye(x.shape[1]), variance, own @ (share @ x), 1e-12 * variance)

    def scores(self, factors: Float[np.ndarray, " candidates"], noise: float) -> Float[np.ndarray, " candidates"]:
        """By how much training on each candidate is expected to lower the federation's loss: Eq. 12 and 13.

        That is a_k σ_k Σ_i p_i Σ_ik / (Σ_kk + ν²), and 0 for one about whom nothing is left to learn.
        """
        left = self.variance > self.floor
        worth = factors * np.sqrt(np.where(left, self.variance, 0)) * self.pull
        return np.asarray(np.divide(worth, self.variance + noise**2, out=np.zeros_like(worth), where=left))

    def given(self, k: int, noise: float) -> Posterior:
        """Conditions on candidate k's change: Σ ← Σ − Σ_·k Σ_k· / (Σ_kk + ν²)."""
        if self.variance[k] <= self.floor[k]:
            return self
        gain = 1 / (self.variance[k] + noise**2)
        towards = self.metric @ self.embeddings[k]
        with_k = self.embeddings @ towards
        return Posterior(
            self.embeddings,
            self.metric - gain * np.outer(towards, towards),
            self.variance - gain * with_k**2,
            self.pull - gain * self.pull[k] * with_k,
            self.floor,
        )


def most_telling(posterior: Posterior, factors: Float[np.ndarray, " candidates"], count: int, noise: float) -> NDArray[np.intp]:
    """Picks candidates (their positions) one after the other, each given those before it: Algorithm 1 in O(C N d)."""
    picked: list[int] = []
    for _ in range(min(count, len(posterior.variance))):
        scores = posterior.scores(factors, noise)
        scores[picked] = -np.inf
        picked.append(int(scores.argmax()))
        posterior = posterior.given(picked[-1], noise)
    return np.array(picked, dtype=np.intp)

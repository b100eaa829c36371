"""FedCor's Dirichlet: label shares per client with a total concentration, and the sizes that they imply."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from coterie.data.dataset import Dataset
from coterie.data.log_dirichlet import shares
from coterie.data.scheme import Holder, Scheme, labels_of, positive


@dataclass(frozen=True)
class DirichletTotal(Scheme):
    """Client k draws label shares q_k from Dir(α·prior), where the prior is the shares of all labels (FedCor's code).

    So α is the *total* concentration: 0.2 over ten classes is 0.02 per class, far more skewed than 0.2 per class.
    The sizes x are the smallest that use up every class: min ½‖x‖² with Qᵀx = class counts and x ≥ 0. Client k gets
    ⌊x_k q_kc⌋ samples of class c, and what rounding leaves goes to uniformly random clients.

    Where the source is silent: if few clients draw such shares that no sizes use up every class, the sizes come as
    near as they can, and the rest goes to random clients too. A client may get nothing.

    >>> import coterie.data as data
    >>> data.dirichlet_total(0.2).split(data.load("digits"), clients=50, seed=1).sizes.sum()
    np.int64(1438)
    """

    alpha: float = 0.2

    def __post_init__(self) -> None:
        positive(alpha=self.alpha)

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Draws shares, solves for sizes, deals class by class."""
        y = labels_of(dataset, self.name)
        room = np.bincount(y, minlength=dataset.classes)
        q = shares(np.tile(self.alpha * room / room.sum(), (clients, 1)), dice)
        x = smallest_sizes(q, room)
        used = q.T @ x
        counts = np.floor(x[:, None] * q * np.minimum(1, room / np.maximum(used, 1e-300)) + 1e-9).astype(np.int64)
        holder = dice.integers(clients, size=len(y))
        for c in range(dataset.classes):
            takers = np.repeat(np.arange(clients), counts[:, c])[: room[c]]
            holder[dice.permutation(np.flatnonzero(y == c))[: len(takers)]] = takers
        return holder


def smallest_sizes(
    q: Float[np.ndarray, "clients classes"], room: Float[np.ndarray, " classes"], slack: float = 1e-8
) -> Float[np.ndarray, " clients"]:
    """The sizes x ≥ 0 of least norm with Qᵀx = room, or nearly so where there are none.

    Through the dual: x = max(0, Qλ) with one multiplier a class, the minimum of ½‖max(0, Qλ)‖² − λ·room. `slack`
    keeps the multipliers finite where no sizes fit.
    """
    from scipy.optimize import minimize

    total = float(np.sum(room))
    wanted = np.asarray(room) / total

    def value(multipliers: Float[np.ndarray, " classes"]) -> tuple[float, Float[np.ndarray, " classes"]]:
        x = np.maximum(q @ multipliers, 0)
        cost = 0.5 * x @ x - multipliers @ wanted + 0.5 * slack * multipliers @ multipliers
        return float(cost), q.T @ x - wanted + slack * multipliers

    def curvature(multipliers: Float[np.ndarray, " classes"]) -> Float[np.ndarray, "classes classes"]:
        active = q[q @ multipliers > 0]
        return np.asarray(active.T @ active + slack * np.eye(q.shape[1]))

    start = np.full(q.shape[1], 1 / len(q))
    found = minimize(value, start, jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-10, "maxiter": 60})
    return np.asarray(np.maximum(q @ found.x, 0) * total)

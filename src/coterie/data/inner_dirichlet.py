"""Each client has label shares of its own, drawn from a Dirichlet, and a size that is given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from coterie.data.dataset import Dataset
from coterie.data.log_dirichlet import log_gamma_draws, normalized
from coterie.data.scheme import Holder, Scheme, labels_of, positive
from coterie.data.sizes import apportion


@dataclass(frozen=True)
class InnerDirichlet(Scheme):
    """Client k draws label shares from Dir(α, …, α) over the classes and takes samples one by one by them.

    Clients take turns at random; a class that is used up is drawn no more (FedDyn's code, Acar et al., 2021; also in
    flwr-datasets). Sizes are equal, or `sizes`.

    >>> import coterie.data as data
    >>> data.inner_dirichlet(0.1).split(data.load("digits"), clients=4).sizes.tolist()
    [360, 360, 359, 359]
    """

    alpha: float = 0.5
    sizes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        positive(alpha=self.alpha)
        if self.sizes is not None:
            object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Draws label shares, then classes, then samples."""
        y = labels_of(dataset, self.name)
        sizes = apportion(np.ones(clients), len(y)) if self.sizes is None else np.array(self.sizes)
        if len(sizes) != clients or sizes.min() < 0 or sizes.sum() > len(y):
            raise ValueError(f"sizes: must be {clients} whole numbers from 0 with a sum of {len(y)} at most")
        logs = log_gamma_draws(np.full((clients, dataset.classes), float(self.alpha)), dice)
        return take_turns(logs, sizes, y, dice)


def take_turns(
    logs: Float[np.ndarray, "clients classes"],
    sizes: Int64[np.ndarray, " clients"],
    y: Int64[np.ndarray, " samples"],
    dice: np.random.Generator,
) -> Holder:
    """Holders of samples when clients draw classes by their own shares (given as logarithms) until they are full.

    Each turn is a random client's that is not full: the first arrivals of clocks of equal rate. The first class to run
    out is drawn again, by whoever drew it later, among those that are left; then the second, and so on.
    """
    turns = _turns(sizes, dice)
    left = np.bincount(y, minlength=logs.shape[1])
    drawn = _draw(logs, turns, left > 0, dice)
    gone, since = left == 0, 0
    while True:
        ends = np.array([_end(drawn, c, left[c]) if not gone[c] else len(drawn) for c in range(len(left))])
        first, since = int(ends.argmin()), int(ends.min())
        if since >= len(drawn):
            break
        gone[first] = True
        late = since + np.flatnonzero(drawn[since:] == first)
        drawn[late] = _draw(logs, turns[late], ~gone, dice)
    return _hand_out(turns, drawn, y, dice)


def _turns(sizes: Int64[np.ndarray, " clients"], dice: np.random.Generator) -> NDArray[np.intp]:
    clients = np.repeat(np.arange(len(sizes)), sizes)
    arrivals = np.cumsum(dice.standard_exponential(len(clients)))
    started = np.repeat(np.concatenate([[0.0], arrivals])[np.cumsum(sizes) - sizes], sizes)
    return clients[np.argsort(arrivals - started, kind="stable")]


def _draw(
    logs: Float[np.ndarray, "clients classes"], clients: NDArray[np.intp], open_: NDArray[np.bool_], dice: np.random.Generator
) -> NDArray[np.intp]:
    """One class for each turn among those that are open; any of them where the client has none of its own left."""
    rows = np.where(open_, logs, -np.inf)
    rows[~np.isfinite(rows).any(axis=1)] = np.where(open_, 0.0, -np.inf)
    ladder = np.cumsum(normalized(rows), axis=1)
    last = int(np.flatnonzero(open_)[-1])
    return np.asarray(np.minimum((dice.random(len(clients))[:, None] >= ladder[clients]).sum(axis=1), last))


def _end(drawn: NDArray[np.intp], c: int, room: int) -> int:
    """The first turn that draws class c when its samples are used up."""
    times = np.flatnonzero(drawn == c)
    return int(times[room]) if len(times) > room else len(drawn)


def _hand_out(
    turns: NDArray[np.intp], drawn: NDArray[np.intp], y: Int64[np.ndarray, " samples"], dice: np.random.Generator
) -> Holder:
    holder = np.full(len(y), -1, dtype=np.intp)
    for c in np.unique(drawn):
        takers = turns[drawn == c]
        holder[dice.permutation(np.flatnonzero(y == c))[: len(takers)]] = takers
    return holder

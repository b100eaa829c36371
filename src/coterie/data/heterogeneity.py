"""How unlike the clients of a partition are, in labels, sizes and looks."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from coterie.data.dataset import Dataset
from coterie.data.partition import Partition


@dataclass(frozen=True)
class Heterogeneity:
    """Measures of one partition. Means are over clients that hold something; the others are counted."""

    clients: int
    empty_clients: int
    entropy: float
    """Mean entropy of a client's label shares, natural logarithm: 0 for one class, ln C for all alike."""
    sparsity: float
    """Mean number of classes of which a client holds nothing."""
    js: float
    """Mean over pairs of clients of the Jensen–Shannon distance (the square root of the divergence), natural
    logarithm, as scipy computes it. It is what the two-level thesis calls divergence."""
    size: float
    """Mean number of samples, over all clients."""
    size_min: int
    size_max: int
    size_gini: float
    """Gini coefficient of sizes over all clients, empty ones too: 0 for equal sizes, toward 1 if one holds everything."""

    def asdict(self) -> dict[str, float]:
        """The measures by name."""
        return asdict(self)


def measure(partition: Partition, dataset: Dataset, pairs: bool = True) -> Heterogeneity:
    """All measures of a partition; those of labels are NaN for a regression, and `js` without `pairs`.

    >>> import coterie.data as data
    >>> digits = data.load("digits")
    >>> found = data.measure(data.pathological(1).split(digits, clients=20, seed=1), digits)
    >>> found.entropy, found.sparsity
    (0.0, 9.0)
    """
    partition.check(dataset)
    sizes = partition.sizes
    shares = label_shares(partition.counts(dataset.y, dataset.classes)) if dataset.classes else np.empty((0, 0))
    some = len(shares) > 0
    return Heterogeneity(
        clients=len(partition),
        empty_clients=int((sizes == 0).sum()),
        entropy=float(entropy(shares).mean()) if some else float("nan"),
        sparsity=float((shares == 0).sum(axis=1).mean()) if some else float("nan"),
        js=mean_js_distance(shares) if some and pairs else float("nan"),
        size=float(sizes.mean()),
        size_min=int(sizes.min()),
        size_max=int(sizes.max()),
        size_gini=gini(sizes),
    )


def label_shares(counts: Int64[np.ndarray, "clients classes"]) -> Float[np.ndarray, "some classes"]:
    """Label shares of the clients that hold something."""
    held = counts[counts.sum(axis=1) > 0]
    return np.asarray(held / held.sum(axis=1, keepdims=True))


def entropy(shares: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, " rows"]:
    """Entropy of each row, natural logarithm.

    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).round(4).tolist()
    [0.0, 0.6931]
    """
    return np.asarray(-_plogp(shares).sum(axis=1)) + 0.0


def mean_js_distance(shares: Float[np.ndarray, "rows classes"], block: int = 128) -> float:
    """Mean over pairs of rows of the Jensen–Shannon distance, natural logarithm; 0 for a single row.

    The divergence is H((p + q)/2) − (H(p) + H(q))/2. Rows are taken in blocks, so memory does not grow with pairs.
    """
    rows, total = len(shares), 0.0
    own = entropy(shares)
    for start in range(0, rows, block):
        part = slice(start, min(start + block, rows))
        total += float(_js_rows(shares[part], shares[part], own[part], own[part]).sum()) / 2
        if part.stop < rows:
            total += float(_js_rows(shares[part], shares[part.stop :], own[part], own[part.stop :]).sum())
    return total / (rows * (rows - 1) / 2) if rows > 1 else 0.0


def gini(sizes: NDArray[np.int64]) -> float:
    """Gini coefficient: half the mean difference of two members over the mean.

    >>> gini(np.array([1, 1, 1, 1])), gini(np.array([0, 0, 0, 4]))
    (0.0, 0.75)
    """
    ranks = np.arange(1, len(sizes) + 1)
    total = float(sizes.sum())
    return float(((2 * ranks - len(sizes) - 1) * np.sort(sizes)).sum() / (len(sizes) * total)) if total else 0.0


def feature_skew(partition: Partition, dataset: Dataset, features: Float[np.ndarray, "samples d"] | None = None) -> float:
    """How far apart the looks of the same class are: mean distance of two clients' mean features within a class.

    In units of the class's spread (root mean square distance of its samples from their mean), so that 0 means alike
    and values well above √(2/n) are more than what n samples a client and class give by chance. Pairs of clients
    that hold the class count alike, within it and over classes. Features are PCA's if none are given.
    """
    from coterie.data.features import features_of

    rows = (features_of(dataset) if features is None else features).astype(np.float64)
    if not dataset.classes:
        raise ValueError(f"feature skew is measured within classes, and '{dataset.name}' is a regression")
    held, holder, y = rows[partition.order], partition.holder, dataset.y[partition.order]
    found = [_class_skew(held[y == c], holder[y == c]) for c in range(dataset.classes)]
    return float(np.nanmean(found)) if np.isfinite(found).any() else 0.0


def _class_skew(rows: Float[np.ndarray, "samples d"], holder: NDArray[np.intp]) -> float:
    from scipy.spatial.distance import pdist

    clients, group = np.unique(holder, return_inverse=True)
    if len(clients) < 2:
        return float("nan")
    means = np.zeros((len(clients), rows.shape[1]))
    np.add.at(means, group, rows)
    means /= np.bincount(group)[:, None]
    spread = np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean())
    return float(pdist(means).mean() / spread) if spread > 0 else 0.0


def _js_rows(
    p: Float[np.ndarray, "a classes"],
    q: Float[np.ndarray, "b classes"],
    own_p: Float[np.ndarray, " a"],
    own_q: Float[np.ndarray, " b"],
) -> Float[np.ndarray, "a b"]:
    middle = np.zeros((len(p), len(q)))
    for c in range(p.shape[1]):
        middle -= _plogp((p[:, c, None] + q[None, :, c]) / 2)
    return np.asarray(np.sqrt(np.maximum(middle - (own_p[:, None] + own_q) / 2, 0)))


def _plogp(p: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import xlogy

    return np.asarray(xlogy(p, p))

"""Dense chains: what they are, which modules are one, and how their weights lie in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np
from jaxtyping import Float32
from torch import nn

Flat = Float32[np.ndarray, " dim"]
Layer = tuple[Float32[np.ndarray, "rows columns"], Float32[np.ndarray, " outputs"]]


@dataclass(frozen=True)
class Chain:
    """Linear layers with ReLU between: widths from inputs to outputs, and what share each hidden layer drops."""

    widths: tuple[int, ...]
    dropout: tuple[float, ...]

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return sum((before + 1) * after for before, after in pairwise(self.widths))


class Weights:
    """A chain's weights in one buffer.

    Hidden layers lie (inputs × outputs) inside, so that the product forward needs no transposition. The last lies
    (outputs × inputs) as in PyTorch, because its outputs lie (outputs × samples), softmax along whole rows.
    """

    def __init__(self, chain: Chain) -> None:
        self.flat = np.zeros(chain.size, np.float32)
        self.hidden: list[Layer] = []
        shapes, at = list(pairwise(chain.widths)), 0
        for before, after in shapes:
            matrix, bias, at = at, at + before * after, at + (before + 1) * after
            shape = (before, after) if len(self.hidden) < len(shapes) - 1 else (after, before)
            self.hidden.append((self.flat[matrix:bias].reshape(shape), self.flat[bias:at]))
        self.last = self.hidden.pop()

    def load(self, model: Flat) -> None:
        """Takes the weights of a flat model; what may stand behind them is not the chain's."""
        self.flat[:] = model[: self.flat.size]
        for matrix, outer in self._turned(model):
            np.copyto(matrix, outer.T)

    def dump(self) -> Flat:
        """The weights as a flat model."""
        model = self.flat.copy()
        for matrix, outer in self._turned(model):
            np.copyto(outer, matrix.T)
        return model

    def _turned(self, model: Flat) -> Iterator[tuple[Float32[np.ndarray, "in out"], Float32[np.ndarray, "out in"]]]:
        at = 0
        for matrix, bias in self.hidden:
            yield matrix, model[at : at + matrix.size].reshape(matrix.shape[::-1])
            at += matrix.size + bias.size


def chain_of(module: nn.Module, shape: tuple[int, ...]) -> Chain | None:
    """The dense chain that a module is for samples of a shape, or None.

    A hidden layer is linear with a bias, then ReLU, with or without dropout on one side of it.

    >>> chain_of(nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), nn.ReLU(), nn.Linear(3, 2)), (4,))
    Chain(widths=(4, 3, 2), dropout=(0.5,))
    >>> chain_of(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), (4,)) is None
    True
    """
    parts = list(_unrolled(module))
    if not all(map(_plain, parts)) or len(set(map(id, parts))) < len(parts):
        return None
    if parts and isinstance(parts[0], nn.Flatten):
        parts = parts[1:] if (parts[0].start_dim, parts[0].end_dim) == (1, -1) else []
    elif len(shape) != 1:
        return None
    widths, dropout = [prod(shape)], list[float]()
    while parts:
        layer, *parts = parts
        if not isinstance(layer, nn.Linear) or layer.bias is None or layer.in_features != widths[-1]:
            return None
        widths.append(layer.out_features)
        if not parts:
            return Chain(tuple(widths), tuple(dropout))
        count = next((i for i, part in enumerate(parts) if isinstance(part, nn.Linear)), len(parts))
        between, parts = parts[:count], parts[count:]
        drops = [part.p for part in between if isinstance(part, nn.Dropout) and part.p < 1]
        if sum(isinstance(part, nn.ReLU) for part in between) != 1 or len(drops) != count - 1 or count > 2:
            return None
        dropout.append(sum(drops))
    return None


def _unrolled(module: nn.Module) -> Iterator[nn.Module]:
    if type(module) is nn.Sequential and not _hooked(module):
        for part in module:
            yield from _unrolled(part)
    elif type(module) is not nn.Identity:
        yield module


def _plain(part: nn.Module) -> bool:
    """Whether a part is just what its class says: trained as a whole, nothing hooked into it."""
    known = type(part) in (nn.Linear, nn.ReLU, nn.Dropout, nn.Flatten)
    return known and not _hooked(part) and all(array.requires_grad for array in part.parameters())


def _hooked(part: nn.Module) -> bool:
    return any(
        (part._forward_hooks, part._forward_pre_hooks, part._backward_hooks, part._backward_pre_hooks)  # no public way to ask
    )

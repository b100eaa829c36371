"""A PyTorch module as one flat vector, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor, nn

from coterie.federation import Layout

Build = Callable[[], nn.Module]
"""Makes a fresh module, its weights drawn from PyTorch's global dice."""


def arrays(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yields parameters and float buffers by name, a layer's side by side; one that is used twice only once.

    Left out is what a state dict leaves out, and counters such as BatchNorm's number of batches.
    """
    state, seen = set(module.state_dict()), set()
    for place, part in module.named_modules():
        for name, tensor in (*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)):
            full = f"{place}.{name}" if place else name
            if full in state and tensor.is_floating_point() and id(tensor) not in seen:
                seen.add(id(tensor))
                yield full, tensor


def layout_of(module: nn.Module) -> Layout:
    """What the coordinates of a module's flat model mean.

    >>> layout_of(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))).slices["1.running_mean"]
    slice(15, 18, None)
    """
    named = list(arrays(module))
    return Layout(
        names=tuple(name for name, _ in named),
        shapes=tuple(tuple(tensor.shape) for _, tensor in named),
        buffers=frozenset(name for name, tensor in named if not isinstance(tensor, nn.Parameter)),
    )


def flatten(module: nn.Module) -> Float32[np.ndarray, " dim"]:
    """A module's parameters and float buffers as one vector."""
    parts = [tensor.detach().to("cpu", torch.float32).reshape(-1) for _, tensor in arrays(module)]
    return np.asarray(torch.cat(parts).numpy())


def seeded(build: Build, seed: int) -> nn.Module:
    """Builds a module from a seed; PyTorch's global dice are as before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed % 2**63)
        return build()

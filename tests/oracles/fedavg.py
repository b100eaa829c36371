"""One round of federated averaging as anybody would write it in PyTorch."""

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn


def train(
    module: nn.Module,
    x: np.ndarray,
    y: np.ndarray,
    epochs: Sequence[np.ndarray],
    batch_size: int,
    lr: float,
    momentum: float = 0.0,
) -> nn.Module:
    """Trains a copy of a module with torch.optim.SGD over the samples in the given orders."""
    module = copy.deepcopy(module)
    optimizer = torch.optim.SGD(module.parameters(), lr=lr, momentum=momentum)
    module.train()
    for order in epochs:
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(torch.tensor(x[rows])), torch.tensor(y[rows])).backward()
            optimizer.step()
    return module


def average(modules: Sequence[nn.Module], weights: Sequence[float]) -> np.ndarray:
    """The weighted mean of the modules' parameters as one vector."""
    flat = [np.concatenate([p.detach().numpy().ravel() for p in module.parameters()]) for module in modules]
    return np.average(np.stack(flat), axis=0, weights=weights)

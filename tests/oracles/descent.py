"""Mini-batch descent as anybody would write it in PyTorch: the twin of every path."""

import copy
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn


def descend(
    module: nn.Module,
    x: np.ndarray,
    y: np.ndarray,
    order: Sequence[np.ndarray],
    batch_size: int,
    lr: float,
    *,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
    max_steps: int | None = None,
    toward: nn.Module | None = None,
    pull: float = 0.0,
    only: Callable[[str], bool] = lambda name: True,
    criterion: Callable[[Tensor, Tensor], Tensor] = nn.functional.cross_entropy,
) -> tuple[nn.Module, list[float]]:
    """Trains a copy of a module with torch.optim.SGD; returns it and each sample's loss at its step."""
    module, losses, steps = copy.deepcopy(module), [], 0
    trained = [array for name, array in module.named_parameters() if only(name)]
    optimizer = torch.optim.SGD(trained, lr=lr, momentum=momentum, weight_decay=weight_decay)
    module.train()
    for epoch in order:
        for start in range(0, len(epoch), batch_size):
            if steps == max_steps:
                return module, losses
            rows, steps = epoch[start : start + batch_size], steps + 1
            inputs, targets = torch.tensor(x[rows]), torch.tensor(y[rows])
            optimizer.zero_grad()
            outputs = module(inputs)
            loss = criterion(outputs, targets)
            if toward is not None:
                pairs = zip(module.parameters(), toward.parameters(), strict=True)
                loss = loss + pull / 2 * sum((one - other.detach()).square().sum() for one, other in pairs)
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                losses += [float(criterion(outputs[i : i + 1], targets[i : i + 1])) for i in range(len(rows))]
    return module, losses


def gradient(
    module: nn.Module,
    x: np.ndarray,
    y: np.ndarray,
    criterion: Callable[[Tensor, Tensor], Tensor] = nn.functional.cross_entropy,
) -> np.ndarray:
    """The gradient of the mean loss in evaluation mode, parameters in order."""
    module = copy.deepcopy(module).eval()
    module.zero_grad()
    criterion(module(torch.tensor(x)), torch.tensor(y)).backward()
    return np.concatenate([array.grad.numpy().ravel() for array in module.parameters()])

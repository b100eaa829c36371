"""Architectures by name, and the path that each takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from re import fullmatch

from torch import Tensor, nn
from torch.nn import functional

from coterie.simulation.chain import chain_of
from coterie.simulation.dense import DensePath
from coterie.simulation.flat import Build, seeded
from coterie.simulation.general import GeneralPath, Loss, cross_entropy, squared_error
from coterie.simulation.path import Path

Model = str | nn.Module | Callable[[], nn.Module]
"""A name, a function that returns a fresh module (a module's class is one), or a module to start from as it is."""

NAMES = {
    "linear": "one linear layer: softmax regression, or linear regression",
    "line": "the same without a bias, for data that bring a constant where one is wanted",
    "mlp": "hidden layers of 64 and 30 with ReLU; `mlp:128-64` has others, `mlp:dropout=0.5` drops out before each ReLU",
    "mlp-200": "hidden layers of 200 and 200 with ReLU",
    "cnn": "5×5 convolutions of 10 and 20, each pooled, then 50 and ReLU",
    "cnn-cifar": "3×3 convolutions of 32, 64 and 64, the first two pooled, then 64 and ReLU",
    "mlp-bn": "hidden layers of 64 and 30, each batch-normalized before ReLU",
    "cnn-bn": "3×3 convolutions of 16 and 32, each batch-normalized, through ReLU and pooled, then 64 and ReLU",
}


def path_for(
    model: Model, shape: Sequence[int], classes: int, *, targets: int = 1, loss: Loss | None = None, device: str = "cpu"
) -> Path:
    """The fastest path that runs a model: by hand for dense chains on a CPU, through autograd for the rest.

    `shape` is that of one sample. With no classes it is regression on `targets` numbers. Both paths agree.
    """
    build = builder(model, shape, classes or targets)
    chain = chain_of(seeded(build, 0), tuple(shape)) if loss is None and device == "cpu" else None
    if chain is not None and chain.widths[-1] == (classes or targets):
        return DensePath(build, chain, classes > 0)
    return GeneralPath(build, loss or (cross_entropy if classes else squared_error), device)


def builder(model: Model, shape: Sequence[int], outputs: int) -> Build:
    """What makes a model's module for samples of a shape."""
    if isinstance(model, nn.Module):
        return _Same(model)
    if not isinstance(model, str):
        return model
    name, _, rest = model.partition(":")
    if name not in NAMES or (rest and name != "mlp"):
        raise ValueError(
            f"model: must be one of {', '.join(NAMES)}, or such as mlp:128-64 or mlp:64-30:dropout=0.5, not {model!r}"
        )
    widths, dropout = _settings(rest)
    match name:
        case "mlp":
            return lambda: mlp(prod(shape), widths, outputs, dropout)
        case "mlp-200":
            return lambda: mlp(prod(shape), (200, 200), outputs)
        case "linear":
            return lambda: mlp(prod(shape), (), outputs)
        case "line":
            return lambda: nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), outputs, bias=False))
        case "mlp-bn":
            return lambda: mlp_bn(prod(shape), widths, outputs)
        case "cnn-bn":
            small = _image(model, shape, 4)
            return lambda: cnn_bn(small, outputs)
        case "cnn":
            image = _image(model, shape, 16)
            return lambda: cnn(image, outputs)
        case _:
            picture = _image(model, shape, 18)
            return lambda: cnn_cifar(picture, outputs)


def mlp(inputs: int, hidden: Sequence[int], outputs: int, dropout: float = 0.0) -> nn.Sequential:
    """Linear layers with ReLU between; dropout, if any, stands before each ReLU, as in FedCor's code."""
    layers: list[nn.Module] = [nn.Flatten()]
    for before, after in pairwise((inputs, *hidden)):
        layers += [nn.Linear(before, after), *([nn.Dropout(dropout)] if dropout else []), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear((inputs, *hidden)[-1], outputs))


def cnn(image: Sequence[int], outputs: int) -> nn.Sequential:
    """5×5 convolutions of 10 and 20, each pooled and through ReLU, then a hidden layer of 50."""
    channels, height, width = image
    left = [((side - 4) // 2 - 4) // 2 for side in (height, width)]
    return nn.Sequential(
        Images(channels, height, width),
        *(nn.Conv2d(channels, 10, 5), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(20 * prod(left), 50), nn.ReLU(), nn.Linear(50, outputs)),
    )


def cnn_cifar(image: Sequence[int], outputs: int) -> nn.Sequential:
    """The network of FedCor's experiments on CIFAR-10: three 3×3 convolutions, then a hidden layer of 64."""
    channels, height, width = image
    left = [((side - 2) // 2 - 2) // 2 - 2 for side in (height, width)]
    return nn.Sequential(
        Images(channels, height, width),
        *(nn.Conv2d(channels, 32, 3), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Conv2d(32, 64, 3), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Conv2d(64, 64, 3), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(64 * prod(left), 64), nn.ReLU(), nn.Linear(64, outputs)),
    )


def mlp_bn(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """Linear layers, each but the last batch-normalized and through ReLU."""
    layers: list[nn.Module] = [nn.Flatten()]
    for before, after in pairwise((inputs, *hidden)):
        layers += [nn.Linear(before, after), BatchNorm(after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear((inputs, *hidden)[-1], outputs))


def cnn_bn(image: Sequence[int], outputs: int) -> nn.Sequential:
    """3×3 convolutions of 16 and 32, each batch-normalized, through ReLU and pooled, then a hidden layer of 64."""
    channels, height, width = image
    return nn.Sequential(
        Images(channels, height, width),
        *(nn.Conv2d(channels, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * (height // 4) * (width // 4), 64), nn.ReLU(), nn.Linear(64, outputs)),
    )


class BatchNorm(nn.BatchNorm1d):
    """Batch normalization that takes the running statistics where a batch is a single sample, which has none of its own."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training and len(x) > 1:
            return super().forward(x)
        return functional.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)


class Images(nn.Module):
    """Gives gray images the channel that their arrays may lack."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, x: Tensor) -> Tensor:
        return x if x.ndim == 4 else x.reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False)
class _Same:
    """A user's own module, copied each time, whatever the seed."""

    module: nn.Module

    def __call__(self) -> nn.Module:
        return deepcopy(self.module)


def _image(model: str, shape: Sequence[int], least: int) -> tuple[int, ...]:
    full = (1, *shape) if len(shape) == 2 else tuple(shape)
    if len(full) != 3 or min(full[1:]) < least:
        raise ValueError(
            f"model: {model} needs images of at least {least}×{least}, channels first, not samples of shape {tuple(shape)}"
        )
    return full


def _settings(text: str) -> tuple[tuple[int, ...], float]:
    """Widths and dropout of `128-64:dropout=0.5`, either of which may be missing."""
    widths: tuple[int, ...] = (64, 30)
    dropout = 0.0
    for part in filter(None, text.split(":")):
        if fullmatch(r"[1-9]\d*(-[1-9]\d*)*", part):
            widths = tuple(map(int, part.split("-")))
        elif fullmatch(r"dropout=0?\.\d+|dropout=0", part):
            dropout = float(part.removeprefix("dropout="))
        else:
            raise ValueError(
                f"model: {part!r} is neither widths such as 128-64 nor dropout from 0 to below 1, such as dropout=0.5"
            )
    return widths, dropout

"""The path for any module and any loss, through PyTorch's autograd."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float32, Int
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from coterie.federation import Descent, Inputs, Layout, Steps
from coterie.simulation.flat import Build, arrays, flatten, layout_of, seeded
from coterie.simulation.path import Path, batches, ended

Loss = Callable[[Tensor, Tensor], Tensor]
"""Outputs and targets to one loss a sample."""

CHUNK = 250
"""Samples that go through a module at once where nothing is trained."""

with warnings.catch_warnings():  # said once a process; this path never writes into data
    warnings.simplefilter("ignore")
    torch.from_numpy(np.broadcast_to(np.float32(0), 1))


def cross_entropy(outputs: Tensor, y: Tensor) -> Tensor:
    """Softmax cross-entropy of class labels, one value a sample."""
    return functional.cross_entropy(outputs, y, reduction="none")


def squared_error(outputs: Tensor, y: Tensor) -> Tensor:
    """Squared error, one value a sample: the mean over the outputs where there are several."""
    errors = outputs.reshape(len(y), -1) - y.reshape(len(y), -1)
    return errors.square().mean(dim=1)


class GeneralPath(Path):
    """Runs any module. Its arrays are views of one flat buffer, so that a step is a few operations on vectors.

    Weights of convolutions, and images, lie channels-last inside: on a CPU that halves their time.
    """

    def __init__(self, build: Build, loss: Loss = cross_entropy, device: str = "cpu") -> None:
        self.build, self.loss, self.device = build, loss, torch.device(device)
        self.module = seeded(build, 0).to(self.device, torch.float32)
        self.layout = layout_of(self.module)
        self.inside = _channels_last(self.layout)
        self.flat = torch.zeros(self.layout.size, device=self.device)
        self.slope = torch.zeros_like(self.flat)
        self.trained = self._bind()

    def initial(self, seed: int) -> Float32[np.ndarray, " dim"]:
        return flatten(seeded(self.build, seed))

    def descend(
        self,
        start: Float32[np.ndarray, " dim"],
        x: Float32[np.ndarray, "samples ..."],
        y: NDArray[np.generic],
        order: Int[np.ndarray, "epochs samples"],
        steps: Steps,
        rate: float,
        *,
        toward: Float32[np.ndarray, " dim"] | None = None,
        pull: float = 0.0,
        only: NDArray[np.bool_] | None = None,
        seed: int = 0,
    ) -> Descent:
        anchor = None if toward is None or pull == 0 else self._pack(toward)
        moves = self.trained if only is None else self.trained * self._pack(only.astype(np.float32))
        masked = not bool(moves.all())
        velocity = torch.zeros_like(self.flat)
        inputs, targets = self._images(x), self._tensor(y)
        self.flat.copy_(self._pack(start))
        self.module.train()
        seen = []
        with _dice(seed):
            for rows in map(self._tensor, batches(order, steps)):
                seen.append(self._differentiate(inputs[rows], targets[rows]))
                change = self.slope
                if steps.weight_decay:
                    change.add_(self.flat, alpha=steps.weight_decay)
                if anchor is not None:
                    change.add_(self.flat, alpha=pull).sub_(anchor, alpha=pull)
                if masked:
                    change.mul_(moves)
                if steps.momentum:
                    change = velocity.mul_(steps.momentum).add_(change)
                self.flat.add_(change, alpha=-rate)
        end = self._unpack(self.flat)
        return ended(end if only is None else np.where(only, end, start), torch.cat(seen).cpu().numpy())

    def losses(
        self, model: Float32[np.ndarray, " dim"], x: Float32[np.ndarray, "samples ..."], y: NDArray[np.generic]
    ) -> Float32[np.ndarray, " samples"]:
        parts = zip(self._forward(model, x), torch.split(self._tensor(y), CHUNK), strict=True)
        return np.asarray(torch.cat([self.loss(out, target) for out, target in parts]).cpu().numpy())

    def outputs(
        self, model: Float32[np.ndarray, " dim"], x: Float32[np.ndarray, "samples ..."]
    ) -> Float32[np.ndarray, "samples outputs"]:
        return np.asarray(torch.cat([out.reshape(len(out), -1) for out in self._forward(model, x)]).cpu().numpy())

    def gradient(
        self, model: Float32[np.ndarray, " dim"], x: Float32[np.ndarray, "samples ..."], y: NDArray[np.generic]
    ) -> Float32[np.ndarray, " dim"]:
        self.flat.copy_(self._pack(model))
        self.module.eval()
        total = torch.zeros_like(self.slope)
        for inputs, targets in zip(torch.split(self._images(x), CHUNK), torch.split(self._tensor(y), CHUNK), strict=True):
            self._differentiate(inputs, targets)
            total.add_(self.slope, alpha=len(targets) / len(x))
        return self._unpack(total)

    @torch.no_grad()
    def inputs(self, model: Float32[np.ndarray, " dim"], x: Float32[np.ndarray, "samples ..."]) -> Mapping[str, Inputs]:
        moments = {name: _Moments() for name in self.layout.layers}
        parts = {name: self.module.get_submodule(name) for name in moments}
        hooks = [part.register_forward_pre_hook(moments[name].look) for name, part in parts.items()]
        try:
            self._forward(model, x)
        finally:
            for hook in hooks:
                hook.remove()
        return {name: found.inputs() for name, found in moments.items() if found.count}

    def _bind(self) -> Tensor:
        """Makes the module's arrays and gradients views of the flat buffers; returns 1 where a coordinate is trained."""
        trained = torch.zeros_like(self.flat)
        self.flat.copy_(self._pack(flatten(self.module)))
        for name, array in arrays(self.module):
            where, shape = self.layout.slices[name], array.shape
            array.data = _view(self.flat[where], shape)
            if array.requires_grad:
                array.grad = _view(self.slope[where], shape)
                trained[where] = 1
        return trained

    def _differentiate(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Leaves the gradient of the mean loss in `slope` and returns the losses."""
        self.slope.zero_()
        losses = self.loss(self.module(inputs), targets)
        torch.autograd.backward(losses.mean())
        return losses.detach()

    @torch.no_grad()
    def _forward(self, model: Float32[np.ndarray, " dim"], x: Float32[np.ndarray, "samples ..."]) -> list[Tensor]:
        self.flat.copy_(self._pack(model))
        self.module.eval()
        return [self.module(part) for part in torch.split(self._images(x), CHUNK)]

    def _tensor(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def _images(self, x: Float32[np.ndarray, "samples ..."]) -> Tensor:
        tensor = self._tensor(x)
        return tensor.contiguous(memory_format=torch.channels_last) if tensor.ndim == 4 else tensor

    def _pack(self, model: Float32[np.ndarray, " dim"]) -> Tensor:
        return self._tensor(model[: self.layout.size] if self.inside is None else model[self.inside])

    def _unpack(self, flat: Tensor) -> Float32[np.ndarray, " dim"]:
        inner = flat.detach().cpu().numpy()
        model = np.empty_like(inner)
        model[slice(None) if self.inside is None else self.inside] = inner
        return model


class _Moments:
    """Sums over what enters a layer: a channel is the second axis, as layers of PyTorch have it."""

    def __init__(self) -> None:
        self.count, self.sums, self.squares = 0, torch.zeros(1), torch.zeros(1)

    def look(self, _: nn.Module, given: tuple[Tensor, ...]) -> None:
        """Adds a batch."""
        rows = given[0].detach().to("cpu", torch.float64).flatten(2) if given[0].ndim > 2 else given[0].detach().cpu().double()
        rows = rows.transpose(1, 2).flatten(0, 1) if rows.ndim == 3 else rows.reshape(len(rows), -1)
        self.count += len(rows)
        self.sums, self.squares = self.sums + rows.sum(dim=0), self.squares + rows.square().sum(dim=0)

    def inputs(self) -> Inputs:
        """Mean and variance so far."""
        mean = self.sums / self.count
        return Inputs(mean.numpy(), (self.squares / self.count - mean.square()).clamp(min=0).numpy())


def _channels_last(layout: Layout) -> NDArray[np.intp] | None:
    """Which coordinate of the flat model stands at each place of the inner buffer; None where they are the same."""
    index = np.arange(layout.size)
    for (_, where), shape in zip(layout.slices.items(), layout.shapes, strict=True):
        if len(shape) == 4:
            index[where] = index[where].reshape(shape).transpose(0, 2, 3, 1).ravel()
    return None if np.array_equal(index, np.arange(layout.size)) else index


def _view(part: Tensor, shape: torch.Size) -> Tensor:
    if len(shape) != 4:
        return part.view(shape)
    out, channels, height, width = shape
    return part.view(out, height, width, channels).permute(0, 3, 1, 2)


@contextmanager
def _dice(seed: int) -> Iterator[None]:
    """PyTorch's global dice thrown from a seed, and as before afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed % 2**63)
        yield

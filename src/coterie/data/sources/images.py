"""The image sets that are known by name: how they are read, checked and scaled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from coterie.data.dataset import Dataset, fingerprint
from coterie.data.sources import cifar, idx, leaf, libsvm
from coterie.data.sources.hashes import CIFAR_10, FASHION_MNIST, MNIST
from coterie.data.sources.raw import MalformedError, Raw
from coterie.data.sources.scaled import scaled

Files = Callable[[Raw], Iterable[tuple[str, Sequence[bytes | memoryview]]]]


@dataclass(frozen=True)
class Images:
    """What is known of one set of images."""

    title: str
    classes: int
    read: Callable[[Path], Raw | None]
    """Reads the set from a folder, whichever of its layouts stands there; None where it does not."""
    folders: tuple[str, ...]
    """Its names under a place to search: the cache's and Debian's first, then torchvision's."""
    hub: str = ""
    """Its repository on the Hugging Face Hub."""
    files: Files | None = None
    """Its standard files, for the cache and for the hashes."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the content of its standard files; empty where no trusted copy was at hand."""
    mean: float = 0.1307
    spread: float = 0.3081
    """Pixels become (pixel / 255 − mean) / spread. Gray sets use MNIST's numbers, as FedCor does for FashionMNIST;
    CIFAR and FEMNIST use 0.5 and 0.5."""

    def check(self, raw: Raw) -> str:
        """The fingerprint of a set, or an error if it is not the set that it should be."""
        for x, y in [(raw.x, raw.y), (raw.x_test, raw.y_test)]:
            if not x.size or len(x) != len(y):
                raise MalformedError(f"there are {len(x)} images of shape {x.shape[1:]} and {len(y)} labels")
        if raw.y.min() < 0 or raw.y.max() >= self.classes or raw.y_test.min() < 0 or raw.y_test.max() >= self.classes:
            raise MalformedError(f"labels must be 0 … {self.classes - 1}, found {raw.y.min()} … {raw.y.max()}")
        if not self.hashes or self.files is None:
            return fingerprint(raw.x, raw.y, raw.x_test, raw.y_test)
        found = digests(self.files(raw))
        wrong = [name for name, digest in self.hashes.items() if found[name] != digest]
        if wrong:
            raise MalformedError(f"the content of {', '.join(wrong)} is not that of {self.title} (SHA-256 differs)")
        return hashlib.sha256("".join(found.values()).encode()).hexdigest()

    def scale(self, name: str, raw: Raw, mark: str) -> Dataset:
        """The set as a dataset."""
        x, x_test = scaled(raw.x, self.mean, self.spread), scaled(raw.x_test, self.mean, self.spread)
        return Dataset(name, x, raw.y, x_test, raw.y_test, self.classes, mark, raw.owners, raw.owners_test)


def digests(files: Iterable[tuple[str, Sequence[bytes | memoryview]]]) -> dict[str, str]:
    """SHA-256 of each file."""
    found = {}
    for name, pieces in files:
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
        found[name] = digest.hexdigest()
    return found


def _read_emnist(folder: Path, split: str) -> Raw | None:
    """EMNIST's pictures lie on their side, and the labels of its letters start at 1."""
    raw = idx.read(folder, f"emnist-{split}-")
    if raw is None:
        return None
    first = int(split == "letters")
    return Raw(raw.x.swapaxes(2, 3), raw.y - first, raw.x_test.swapaxes(2, 3), raw.y_test - first)


def _emnist(split: str, classes: int) -> Images:
    return Images(f"EMNIST {split}", classes, partial(_read_emnist, split=split), ("emnist", "EMNIST/raw"))


KNOWN: dict[str, Images] = {
    "fashion-mnist": Images(
        "Fashion-MNIST",
        10,
        idx.read,
        ("fashion-mnist", "FashionMNIST/raw"),
        hub="zalando-datasets/fashion_mnist",
        files=idx.files,
        hashes=FASHION_MNIST,
    ),
    "mnist": Images("MNIST", 10, idx.read, ("mnist", "MNIST/raw"), hub="ylecun/mnist", files=idx.files, hashes=MNIST),
    "k-mnist": Images("Kuzushiji-MNIST", 10, idx.read, ("k-mnist", "KMNIST/raw"), hub="tanganke/kmnist", files=idx.files),
    "emnist-balanced": _emnist("balanced", 47),
    "emnist-letters": _emnist("letters", 26),
    "emnist-digits": _emnist("digits", 10),
    "emnist-byclass": _emnist("byclass", 62),
    "femnist": Images("FEMNIST", 62, leaf.read, ("femnist", "femnist/data"), hub="flwrlabs/femnist", mean=0.5, spread=0.5),
    "usps": Images("USPS", 10, libsvm.read, ("usps", "USPS"), hub="flwrlabs/usps"),
    "cifar-10": Images(
        "CIFAR-10",
        10,
        partial(cifar.read, classes=10),
        ("cifar-10", "cifar-10-batches-bin", "cifar-10-batches-py"),
        hub="uoft-cs/cifar10",
        files=cifar.files,
        hashes=CIFAR_10,
        mean=0.5,
        spread=0.5,
    ),
    "cifar-100": Images(
        "CIFAR-100",
        100,
        partial(cifar.read, classes=100),
        ("cifar-100", "cifar-100-binary", "cifar-100-python"),
        hub="uoft-cs/cifar100",
        mean=0.5,
        spread=0.5,
    ),
}

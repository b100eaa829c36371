"""Coterie decides who trains next in federated learning, and with whom."""

from importlib import import_module
from importlib.metadata import version
from typing import Any

from coterie.recipe import play

__version__ = version("coterie")

_ROOMS = {"data", "selectors", "aggregators", "backbones", "coalitions", "neighbors", "catalog", "testing"}
_NAMES = {"simulate": "simulation", "World": "simulation", "results": "experiments", "compare": "experiments"}


def __getattr__(name: str) -> Any:
    """Rooms, methods and engines are imported when they are first used, so that `import coterie` stays light."""
    if name in _ROOMS:
        return import_module(f"coterie.{name}")
    if name in _NAMES:
        return getattr(import_module(f"coterie.{_NAMES[name]}"), name)
    catalog = import_module("coterie.catalog")
    if name in catalog.__all__:
        return getattr(catalog, name)
    raise AttributeError(f"module 'coterie' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS, *_NAMES, *import_module("coterie.catalog").__all__})


__all__ = ["__version__", "play"]

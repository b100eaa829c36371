"""Flower as an engine: the same recipes on many machines. Needs the extra `coterie[flower]`.

On a server `FlowerFederation` plays any recipe over a grid, and `CoterieStrategy` lets a selector choose for any strategy
of Flower. On a client `client_app` makes an app of data and a model, and `answering` wraps an app that there is already.
Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.flower.client import client_app
    from coterie.flower.federation import FlowerFederation
    from coterie.flower.holding import Holding
    from coterie.flower.judging import on_test
    from coterie.flower.strategy import CoterieStrategy
    from coterie.flower.wrapper import answering

__all__ = ["CoterieStrategy", "FlowerFederation", "Holding", "answering", "client_app", "on_test"]

_HOMES = {
    "CoterieStrategy": "strategy",
    "FlowerFederation": "federation",
    "Holding": "holding",
    "answering": "wrapper",
    "client_app": "client",
    "on_test": "judging",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'coterie.flower' has no attribute '{name}'")
    try:
        return getattr(import_module(f"coterie.flower.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "flwr":
            raise
        raise ImportError("coterie.flower needs flwr: pip install 'coterie[flower]'") from error

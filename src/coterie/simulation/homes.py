"""What stays at the clients between rounds: what a backbone keeps, personal models, and the last trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coterie.rules import Trained
from coterie.simulation.training import Flat


class Homes:
    """Models that lie at clients, by drawer and client.

    Where `remember` is off the last trained models are thrown away: cheaper checkpoints, but nobody can ask for them.
    """

    def __init__(self, remember: bool) -> None:
        self.remember = remember
        self.kept: dict[int, dict[str, Flat]] = {}
        self.personal: dict[int, Flat] = {}
        self.last: dict[int, Flat] = {}

    def put(self, client: int, trained: Trained, shared: bool) -> None:
        """Puts away what one client's training left; the trained model only if it is not the client's own already."""
        if trained.keep or client in self.kept:
            self.kept[client] = dict(trained.keep)
        if trained.personal is not None:
            self.personal[client] = trained.personal
        if self.remember and shared:
            self.last[client] = np.array(trained.share)

    def state(self) -> dict[str, Any]:
        """All drawers as arrays."""
        names = sorted({name for drawers in self.kept.values() for name in drawers})
        kept = {name: {k: drawers[name] for k, drawers in self.kept.items() if name in drawers} for name in names}
        return {
            "kept": {name: _packed(models) for name, models in kept.items()},
            "personal": _packed(self.personal),
            "last": _packed(self.last),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self.kept.clear()
        for name, packed in state["kept"].items():
            for client, model in _unpacked(packed).items():
                self.kept.setdefault(client, {})[name] = model
        self.personal = _unpacked(state["personal"])
        self.last = _unpacked(state["last"])


def _packed(models: Mapping[int, Flat]) -> dict[str, Any]:
    clients = sorted(models)
    rows = np.stack([models[k] for k in clients]) if clients else np.empty((0, 0), np.float32)
    return {"clients": np.array(clients, dtype=np.intp), "models": rows}


def _unpacked(packed: Mapping[str, Any]) -> dict[int, Flat]:
    rows = np.array(packed["models"], dtype=np.float32)
    return {int(client): row.copy() for client, row in zip(packed["clients"], rows, strict=True)}

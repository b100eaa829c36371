"""The side of a client: an app that trains and answers for Coterie."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from flwr.client import ClientApp
from flwr.common import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict

from coterie.federation import Split
from coterie.flower.holding import Hold, Holding
from coterie.flower.keepsakes import BEGIN, FETCH, KEPT, LAST, PERSONAL, PUT, anew, give, take
from coterie.flower.nodes import key_of
from coterie.flower.words import (
    ARRAYS,
    OURS,
    SAMPLES,
    Flat,
    answers_record,
    backbone_of,
    flat_of,
    models_in,
    record_of,
    told,
)
from coterie.probe import Blur, Probe
from coterie.simulation.answers import Gradients, Losses, Probes
from coterie.simulation.clients import Clients
from coterie.simulation.training import Fit
from coterie.simulation.worker import torch_on_one_thread

Answer = Callable[[Holding, Clients, list[Flat], Mapping[str, Any]], np.ndarray]


def client_app(hold: Hold, *, portable: bool = False) -> ClientApp:
    """An app that trains by any backbone and answers every question, made of what a node holds.

    It serves `FlowerFederation`. Training and answers throw the dice of `coterie.simulation.dice`, so that the same
    experiment gives the same models as the simulation.

    Args:
        hold: Says what a node holds.
        portable: Whether the server may fetch what a node keeps between rounds and put it back, so that a run can be
            resumed in another simulation. Never where nodes are somebody's own.
    """
    app = ClientApp()
    if portable:
        app.query(FETCH)(give)
        app.query(PUT)(take)
        app.query(BEGIN)(anew)
    app.train()(partial(_train, hold))
    app.query("coterie_hello")(partial(_hello, hold))
    app.query("models")(_models)
    for action, answer in ANSWERING.items():
        app.query(action)(partial(_answer, hold, answer))
    return app


def _train(hold: Hold, message: Message, context: Context) -> Message:
    with torch_on_one_thread():
        return Message(_trained(hold(context), message.content, context), reply_to=message)


def _hello(hold: Hold, message: Message, context: Context) -> Message:
    holding = hold(context)
    said = {"key": key_of(context), "size": holding.count("train"), "classes": holding.clients.classes}
    return Message(RecordDict({OURS: ConfigRecord(said)}), reply_to=message)


def _models(message: Message, context: Context) -> Message:
    """The last model that it trained, or nothing."""
    last = context.state.get(LAST)
    held = last[LAST].numpy() if isinstance(last, ArrayRecord) else np.empty(0, np.float32)
    return Message(answers_record(held[np.newaxis], round=told(message.content)["round"]), reply_to=message)


def _answer(hold: Hold, answer: Answer, message: Message, context: Context) -> Message:
    holding, asked = hold(context), told(message.content)
    clients = holding.known_as(asked["key"], asked["seed"])
    models = [flat_of(record) for record in models_in(message.content)]
    with torch_on_one_thread():
        return Message(answers_record(answer(holding, clients, models, asked), round=asked["round"]), reply_to=message)


def _losses(holding: Holding, clients: Clients, models: list[Flat], asked: Mapping[str, Any]) -> np.ndarray:
    split, batch = _split(asked), asked["batch"] or None
    tasks = [Losses(model, (holding.client,), split, batch, asked["round"]) for model in models]
    return np.concatenate([task.run(holding.path, clients) for task in tasks])


def _gradients(holding: Holding, clients: Clients, models: list[Flat], asked: Mapping[str, Any]) -> np.ndarray:
    """A blur's noise is thrown from the client's own secret."""
    part, batch = slice(asked["start"], asked["stop"]), asked["batch"] or None
    blur = Blur(asked["clip"], asked["noise"]) if "clip" in asked else None
    own = clients if blur is None else holding.known_as(asked["key"], holding.secret)
    rows = zip(models, asked["rows"], strict=True)
    tasks = [Gradients(model, (holding.client,), part, batch, asked["round"], blur, row) for model, row in rows]
    return np.concatenate([task.run(holding.path, own) for task in tasks])


def _probes(holding: Holding, clients: Clients, models: list[Flat], asked: Mapping[str, Any]) -> np.ndarray:
    """Noise is thrown from the client's own secret: who knows it could take it off again."""
    probe = Probe(int(asked["probe"]), asked["directions"], asked["step"], asked["clip"], asked["epsilon"])
    own = holding.known_as(asked["key"], holding.secret)
    rows = zip(models, asked["rows"], strict=True)
    tasks = [Probes(model, row, (holding.client,), probe, _split(asked), asked["round"]) for model, row in rows]
    return np.concatenate([task.run(holding.path, own) for task in tasks])


def _label_counts(holding: Holding, clients: Clients, models: list[Flat], asked: Mapping[str, Any]) -> np.ndarray:
    if not clients.classes:
        raise ValueError("ask: a regression has no labels to count")
    return clients.label_counts[[holding.client]]


ANSWERING: dict[str, Answer] = {
    "losses": _losses,
    "gradients": _gradients,
    "probe": _probes,
    "label_counts": _label_counts,
}
"""The questions that a client answers, as actions of `query`."""


def _split(asked: Mapping[str, Any]) -> Split:
    split: Split = asked["split"]
    return split


def _trained(holding: Holding, content: RecordDict, context: Context) -> RecordDict:
    """Trains as the message says; what the backbone keeps is put into the node's own state."""
    asked = told(content)
    clients = holding.known_as(asked["key"], asked["seed"])
    (record,) = models_in(content)
    kept = context.state.get(KEPT)
    drawers = {name: array.numpy() for name, array in kept.items()} if isinstance(kept, ArrayRecord) else {}
    backbone, wants = backbone_of(asked["backbone"]), frozenset(asked["wants"])
    fit = Fit(backbone, holding.client, flat_of(record), drawers, asked["round"], wants).run(holding.path, clients)
    trained = fit.trained
    if trained.keep or drawers:
        context.state[KEPT] = ArrayRecord({name: Array(model) for name, model in trained.keep.items()})
    if trained.personal is not None:
        context.state[PERSONAL] = ArrayRecord({PERSONAL: Array(trained.personal)})
    if asked["remember"]:
        context.state[LAST] = ArrayRecord({LAST: Array(trained.share)})
    facts = {f"fact.{name}": float(value) for name, value in trained.facts.items()}
    return RecordDict(
        {
            ARRAYS: record_of(trained.share, holding.path.layout),
            "metrics": MetricRecord({SAMPLES: fit.count}),
            OURS: ConfigRecord({"round": asked["round"], "count": fit.count, "personal": PERSONAL in context.state, **facts}),
        }
    )

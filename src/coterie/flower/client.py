"""The side of a client: an app that trains and answers for Coterie."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from flwr.client import ClientApp
from flwr.common import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict

from coterie.federation import Split
from coterie.flower.gauge import Gauge
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
    report_of,
    told,
)
from coterie.plan import USE
from coterie.privacy.budget import Budget, address_of
from coterie.privacy.durable import durable
from coterie.privacy.mechanisms import release
from coterie.probe import Blur, Probe
from coterie.simulation import dice
from coterie.simulation.answers import Gradients, Losses, Probes
from coterie.simulation.clients import Clients
from coterie.simulation.dice import fingerprint
from coterie.simulation.tellings import Tell
from coterie.simulation.training import Fit
from coterie.simulation.worker import torch_on_one_thread

Answer = Callable[[Holding, Clients, list[Flat], Mapping[str, Any]], np.ndarray]
TOLD = "coterie.told"
"""What a client has told in private, and what that spent, in the state that Flower keeps for its node."""


def client_app(
    hold: Hold,
    *,
    portable: bool = False,
    discreet: bool = False,
    cap: float = math.inf,
    account: str | Path | None = None,
) -> ClientApp:
    """An app that trains by any backbone and answers every question, made of what a node holds.

    It serves `FlowerFederation`. Training and answers throw the dice of `coterie.simulation.dice`, so that the same
    experiment gives the same models as the simulation. Noise on private answers is thrown from a secret.

    Args:
        hold: Says what a node holds.
        portable: Whether the server may fetch what a node keeps between rounds and put it back, so that a run can be
            resumed in another simulation. Never where nodes are somebody's own.
        discreet: Tells no more than that it has data, and numbers only by private reports and probes, with the noise of
            OpenDP on the former: for methods that keep clients' numbers private. Other questions are not answered.
        cap: The privacy that reports and private probes may spend in all at this client, whatever the server allows.
        account: A file of this client's own, in which it keeps what these have told and spent, so that neither is
            forgotten when its process is killed; None for the state of its node, which lasts as long as the node runs.
    """
    file = None if account is None else Path(account)
    app = ClientApp()
    if portable:
        app.query(FETCH)(give)
        app.query(PUT)(take)
        app.query(BEGIN)(anew)
    app.train()(partial(_train, hold))
    app.query("coterie_hello")(partial(_hello, hold, discreet))
    app.query("reports")(partial(_reports, hold, discreet, cap, file))
    app.query("probe")(partial(_probes, hold, discreet, cap, file))
    if discreet:
        return app
    app.query("models")(_models)
    for action, answer in ANSWERING.items():
        app.query(action)(partial(_answer, hold, answer))
    return app


def _train(hold: Hold, message: Message, context: Context) -> Message:
    with torch_on_one_thread():
        return Message(_trained(hold(context), message.content, context), reply_to=message)


def _hello(hold: Hold, discreet: bool, message: Message, context: Context) -> Message:
    holding = hold(context)
    size = holding.count("train")
    said = {"key": key_of(context), "size": min(size, 1) if discreet else size, "classes": holding.clients.classes}
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


def _probes(hold: Hold, discreet: bool, cap: float, file: Path | None, message: Message, context: Context) -> Message:
    """Noise is thrown from the client's own secret: who knows it could take it off again. Private answers are accounted for."""
    holding, asked = hold(context), told(message.content)
    probe = Probe(int(asked["probe"]), asked["directions"], asked["step"], asked["clip"], asked["epsilon"])
    if discreet and not probe.private:
        raise ValueError("probe: this client answers private ones only")
    own, split = holding.known_as(asked["key"], holding.secret), _split(asked)
    models = [flat_of(record) for record in models_in(message.content)]

    def tell(place: int) -> np.ndarray:
        task = Probes(models[place], asked["rows"][place], (holding.client,), probe, split, asked["round"])
        return np.asarray(task.run(holding.path, own)[0])

    with torch_on_one_thread():
        if not probe.private:
            return Message(
                answers_record(np.array([tell(i) for i in range(len(models))]), round=asked["round"]), reply_to=message
            )
        answers = np.full((len(models), probe.directions), np.nan)
        with durable(file) if file else _account(context) as budget:
            for place, model in enumerate(models):
                address = address_of(f"{probe}, {split}, {fingerprint(model)}", asked["round"], asked["rows"][place])
                answer = budget.told(0, address)
                if answer is None and budget.allows(0, probe.epsilon, cap):
                    answer = tell(place)
                    budget.put(0, address, answer, probe.epsilon)
                answers[place] = np.nan if answer is None else answer
            budget.forget(asked["round"])
    return Message(answers_record(answers, round=asked["round"]), reply_to=message)


def _reports(hold: Hold, discreet: bool, cap: float, file: Path | None, message: Message, context: Context) -> Message:
    """Numbers under noise from the client's own secret; what was told once is told again, from what it remembers.

    The client keeps its own account: a server that forgets cannot make it spend more.
    """
    holding, asked = hold(context), told(message.content)
    report, addresses = report_of(asked["report"]), list(asked["addresses"])
    report = replace(report, cap=min(report.cap, cap), noise="vetted" if discreet else report.noise)
    if discreet and not all(np.isfinite(one.epsilon) for one in report.numbers):
        raise ValueError("report: this client tells numbers under noise only")
    own = holding.known_as(asked["key"], holding.secret)
    models = [flat_of(record) for record in models_in(message.content)]

    def tell(places: np.ndarray) -> np.ndarray:
        answers = []
        for place in places.tolist():
            model = models[asked["rows"][place]] if report.about_models else None
            beside = tuple(models) if "spread" in report.names else ()
            truth = Tell(model, (holding.client,), report.names, beside).run(holding.path, own)[0]
            answers.append(release(report, truth, dice.report(holding.secret, asked["key"], addresses[place], report.numbers)))
        return np.array(answers)

    with torch_on_one_thread(), durable(file) if file else _account(context) as budget:
        answers, _ = budget.ask(report, np.zeros(len(addresses), np.intp), addresses, np.ones(len(addresses), bool), tell)
        budget.forget(asked["round"])
    return Message(answers_record(answers, round=asked["round"]), reply_to=message)


@contextmanager
def _account(context: Context) -> Iterator[Budget]:
    """What this node has let out so far, in the state that Flower keeps for it."""
    budget, kept = Budget(1), context.state.get(TOLD)
    if isinstance(kept, ArrayRecord):
        arrays = {name: array.numpy() for name, array in kept.items()}
        budget.spent = np.array(arrays.pop("spent"))
        budget.answers = {address: {0: answer} for address, answer in arrays.items()}
    yield budget
    told = {address: Array(answers[0]) for address, answers in budget.answers.items()}
    context.state[TOLD] = ArrayRecord({"spent": Array(budget.spent), **told})


def _label_counts(holding: Holding, clients: Clients, models: list[Flat], asked: Mapping[str, Any]) -> np.ndarray:
    if not clients.classes:
        raise ValueError("ask: a regression has no labels to count")
    return clients.label_counts[[holding.client]]


ANSWERING: dict[str, Answer] = {
    "losses": _losses,
    "gradients": _gradients,
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
    gauge = Gauge()
    fit = Fit(backbone, holding.client, flat_of(record), drawers, asked["round"], wants).run(holding.path, clients)
    trained = replace(fit.trained, facts={**fit.trained.facts, **gauge.use(wants.intersection(USE))})
    if trained.keep or drawers:
        context.state[KEPT] = ArrayRecord({name: Array(model) for name, model in trained.keep.items()})
    if trained.personal is not None:
        context.state[PERSONAL] = ArrayRecord({PERSONAL: Array(trained.personal)})
    if asked["remember"]:
        context.state[LAST] = ArrayRecord({LAST: Array(trained.share)})
    quiet = bool(asked.get("quiet", False))
    facts = {} if quiet else {f"fact.{name}": float(value) for name, value in trained.facts.items()}
    count = 1 if quiet else fit.count
    return RecordDict(
        {
            ARRAYS: record_of(trained.share, holding.path.layout),
            "metrics": MetricRecord({SAMPLES: count}),
            OURS: ConfigRecord({"round": asked["round"], "count": count, "personal": PERSONAL in context.state, **facts}),
        }
    )

"""What crosses in a round, and who pays: the meter behind the questions and the training.

A client that holds a model this round is not sent it again. Questions that come before the plan wait for its route.
By the route 'peers' a client holds the model that it follows, which it mixed itself, and those that it hears;
by 'star' and 'leaders' it holds at first nothing but what it trained, and questions go straight to and from the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.plan import LOSSES, Plan, Route
from coterie.replies import Meter, Replies
from coterie.roster import Ids
from coterie.simulation.training import Fitted

Pairs = NDArray[np.int64]
"""Clients and rows of models as one number each: client · rows + row."""

NUMBER = 8
"""Bytes of a number that is sent by itself."""
NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Round:
    """What was trained: the plan, who got a model, and what each of those who answered sent."""

    plan: Plan
    reached: Ids
    """Trainers that received the model to start from."""
    answered: Ids
    """Trainers whose reply was sent, whether or not it was used."""
    arrived: Ids
    """Of those the ones whose reply came in time."""
    numbers: Mapping[str, NDArray[np.int64]]
    """For each kind how many numbers each of those who answered sent besides the model."""
    evaluations: int


@dataclass(eq=False)
class Traffic:
    """Everything that crosses between server and clients, and between clients, in one round."""

    dim: int
    rows: int
    follows: NDArray[np.intp]
    needs: Pairs = field(default_factory=lambda: NONE)
    """Which client was sent which of today's models for a question."""
    strange: list[tuple[Replies, Pairs]] = field(default_factory=list)
    """The same for models among replies."""
    answers: dict[str, int] = field(default_factory=dict)
    """Bytes of answers by kind."""
    sent: int = 0
    """Answers."""
    evaluations: int = 0
    epsilon: float = 0.0
    """Privacy that answers spent."""
    round: Round | None = None
    replies: Replies | None = None
    """What came of the round's training: who trained a model holds it."""

    def asks(self, clients: Ids, rows: NDArray[np.intp], among: Replies | None) -> None:
        """Has each client receive a row of today's models, or of those among replies, unless it holds it."""
        if among is None:
            self.needs = np.union1d(self.needs, clients * np.int64(self.rows) + rows)
            return
        pairs = clients * np.int64(len(among.models)) + rows
        known = next((i for i, (replies, _) in enumerate(self.strange) if replies is among), None)
        if known is None:
            self.strange.append((among, np.unique(pairs)))
        else:
            self.strange[known] = (among, np.union1d(self.strange[known][1], pairs))

    def answer(self, kind: str, count: int, size: int, evaluations: int = 0, epsilon: float = 0.0) -> None:
        """Has so many answers of so many bytes leave their clients."""
        if count:
            self.answers[kind] = self.answers.get(kind, 0) + count * size
        self.sent += count
        self.evaluations += evaluations
        self.epsilon += epsilon

    def meter(self) -> Meter:
        """All of it, on account of who pays by the plan's route ('star' before there is a plan)."""
        route: Route = "star" if self.round is None else self.round.plan.route
        asked = _peers_asked(self) if route == "peers" else _server_asked(self)
        if self.round is None:
            return asked
        trained = {"star": _star, "peers": _peers, "leaders": _leaders}[route](self, self.round)
        return asked + trained + Meter(evaluations=self.round.evaluations)

    def models(self, count: int) -> dict[str, int]:
        """The bytes of so many models."""
        return {"model": 4 * self.dim * int(count)} if count else {}

    def own(self, among: Replies, pairs: Pairs) -> NDArray[np.bool_]:
        """Which questions are about a model that the client made: trained just now or, among peers, mixed of what it heard."""
        peers = self.round is not None and self.round.plan.route == "peers"
        if among is not self.replies and not peers:
            return np.zeros(len(pairs), dtype=bool)
        client, row = np.divmod(pairs, len(among.models))
        return np.asarray(among.clients[row] == client)


def trained(plan: Plan, reached: Ids, out: Mapping[int, Fitted], replies: Replies) -> Round:
    """What a training has cross: the model, the count and the facts of each reply that left its client."""
    answered = np.array(list(out), dtype=np.intp)
    late = [client for client in replies.lost if client in out]
    facts = np.array([-1 if plan.quiet else len(fit.trained.facts) for fit in out.values()], dtype=np.int64)
    return Round(
        plan=plan,
        reached=reached,
        answered=answered,
        arrived=np.setdiff1d(answered, late),
        **told_beside(plan, facts),
    )


def told_beside(plan: Plan, facts: NDArray[np.int64]) -> dict[str, Any]:
    """What replies told besides the model, by how many facts each brought (−1: not even a count), and what it took."""
    losses = len(plan.wants.intersection(LOSSES))
    return {
        "numbers": {"loss": np.full(len(facts), losses, dtype=np.int64), "telemetry": 1 + facts - losses},
        "evaluations": len(facts) * losses,
    }


def _server_asked(traffic: Traffic) -> Meter:
    strange = sum(int((~traffic.own(among, pairs)).sum()) for among, pairs in traffic.strange)
    return Meter(
        down=traffic.models(len(traffic.needs) + strange),
        up=dict(traffic.answers),
        evaluations=traffic.evaluations,
        messages=traffic.sent,
        epsilon=traffic.epsilon,
    )


def _peers_asked(traffic: Traffic) -> Meter:
    client, row = np.divmod(traffic.needs, traffic.rows)
    away = int((traffic.follows[client] != row).sum())
    away += sum(int((~(traffic.own(among, pairs) | _heard(traffic, among, pairs))).sum()) for among, pairs in traffic.strange)
    return Meter(between=_sum(traffic.answers, traffic.models(away)), evaluations=traffic.evaluations, epsilon=traffic.epsilon)


def _heard(traffic: Traffic, among: Replies, pairs: Pairs) -> NDArray[np.bool_]:
    """Which models among the replies a client hears anyway."""
    if traffic.round is None or among is not traffic.replies or not len(pairs):
        return np.zeros(len(pairs), dtype=bool)
    plan = traffic.round.plan
    client, row = np.divmod(pairs, len(among.models))
    heard = plan.support(among.clients).tocoo()
    width = np.int64(len(among.models))
    return np.isin(_targets(traffic, plan)[client] * width + row, heard.row * width + heard.col)


def _star(traffic: Traffic, round: Round) -> Meter:
    down = len(np.setdiff1d(_starts(traffic, round, round.reached), traffic.needs))
    return Meter(
        traffic.models(down), _sent(traffic, round, np.ones(len(round.answered), np.int64)), messages=len(round.arrived)
    )


def _peers(traffic: Traffic, round: Round) -> Meter:
    """A client hears a neighbor when the neighbor's model, and what it tells with it, reach it."""
    starts = np.setdiff1d(_starts(traffic, round, round.reached), traffic.needs)
    client, row = np.divmod(starts, traffic.rows)
    received = int((traffic.follows[client] != row).sum())
    hears = round.plan.support(round.answered)[_targets(traffic, round.plan)].tocoo()
    away = round.answered[hears.col] != hears.row
    hearers = np.bincount(hears.col[away], minlength=len(round.answered))
    return Meter(between=_sum(traffic.models(received), _sent(traffic, round, hearers)))


def _leaders(traffic: Traffic, round: Round) -> Meter:
    """Server to leader to members and back; a client in no coalition is its own leader. One message a coalition."""
    coalitions = round.plan.coalitions
    assert coalitions is not None and coalitions.leaders is not None
    leaders = np.arange(len(coalitions.labels))
    inside = coalitions.labels >= 0
    leaders[inside] = coalitions.leaders[coalitions.labels[inside]]
    starts = np.setdiff1d(_starts(traffic, round, round.reached), traffic.needs)
    client, row = np.divmod(starts, traffic.rows)
    to_leaders = np.setdiff1d(leaders[client] * np.int64(traffic.rows) + row, traffic.needs)
    gatherers = _gatherers(round, leaders)
    member = (gatherers[round.answered] != round.answered).astype(np.int64)
    groups = len(np.unique(gatherers[round.arrived]))
    told = _sent(traffic, round, np.ones(len(member), np.int64))
    return Meter(
        down=traffic.models(len(to_leaders)),
        up={**told, **traffic.models(len(np.unique(gatherers[round.answered])))},
        between=_sum(traffic.models(int((leaders[client] != client).sum())), _sent(traffic, round, member)),
        messages=groups,
    )


def _gatherers(round: Round, leaders: NDArray[np.intp]) -> NDArray[np.intp]:
    """To whom each client sends what it trained: its leader, or the stand-in of one that was asked and did not answer."""
    coalitions = round.plan.coalitions
    assert coalitions is not None
    if coalitions.stand_ins is None or coalitions.leaders is None:
        return leaders
    failed = np.isin(coalitions.leaders, round.plan.trainers) & ~np.isin(coalitions.leaders, round.answered)
    instead = np.where(failed & np.isin(coalitions.stand_ins, round.answered), coalitions.stand_ins, coalitions.leaders)
    gatherers, inside = leaders.copy(), coalitions.labels >= 0
    gatherers[inside] = instead[coalitions.labels[inside]]
    return gatherers


def _starts(traffic: Traffic, round: Round, clients: Ids) -> Pairs:
    """Which of today's models these trainers start from."""
    start = round.plan.start[np.searchsorted(round.plan.trainers, clients)]
    return np.asarray(clients * np.int64(traffic.rows) + start, dtype=np.int64)


def _targets(traffic: Traffic, plan: Plan) -> NDArray[np.intp]:
    """For each client which of tomorrow's models it follows."""
    return np.zeros(len(traffic.follows), np.intp) if plan.follows is None else plan.follows


def _sent(traffic: Traffic, round: Round, times: NDArray[np.int64]) -> dict[str, int]:
    """The bytes of replies, each sent so many times."""
    told = {kind: NUMBER * int(numbers @ times) for kind, numbers in round.numbers.items()}
    return {**traffic.models(int(times.sum())), **{kind: size for kind, size in told.items() if size}}


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {kind: one.get(kind, 0) + other.get(kind, 0) for kind in sorted({*one, *other})}

"""The simulation: a federation in one process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.federation import Federation, Layout, Scores, Steps, View
from coterie.mixing import Merge
from coterie.plan import USE, Plan
from coterie.privacy.budget import Budget
from coterie.replies import Meter, Replies, Reply
from coterie.roster import Ids, Roster
from coterie.simulation import evaluation
from coterie.simulation.attacks import Memories
from coterie.simulation.clients import Clients
from coterie.simulation.closing import close
from coterie.simulation.happened import Happened
from coterie.simulation.homes import Homes
from coterie.simulation.outing import check, set_out
from coterie.simulation.questions import Questions
from coterie.simulation.traffic import Traffic, trained
from coterie.simulation.training import Fit, Fitted, Flat
from coterie.simulation.work import Crew
from coterie.simulation.world import Reality, World


class Simulation(Federation):
    """Clients, their data and a world in one process. `coterie.simulate` makes one.

    Results depend on the seed only: not on workers, on how the work is divided, or on order.
    """

    def __init__(
        self,
        clients: Clients,
        crew: Crew,
        layout: Layout,
        model: Flat,
        *,
        world: World = World(),
        evaluate_every: int = 1,
        tuned: Steps | None = None,
        tune_shared: bool = True,
        remember: bool = True,
        usual_loss: bool = True,
    ) -> None:
        self.clients, self.crew, self.layout = clients, crew, layout
        self.seed = clients.seed
        self.evaluate_every, self.usual_loss = evaluate_every, usual_loss
        self.tuned, self.tune_shared = tuned, tune_shared
        self.reality = Reality(world, clients.keys, clients.count("train"), self.seed)
        facts = {"size": clients.count("train"), **self.reality.devices.columns}
        self.roster = Roster(clients.keys, self.reality.claimed(facts))
        self.homes = Homes(remember)
        self.memories = Memories()
        """What attackers remember."""
        self.budget = Budget(len(clients))
        """What each client has let out under privacy, and what that has spent in all."""
        self.models: NDArray[np.float32] = _frozen(np.array(model)[np.newaxis])
        self.follows: NDArray[np.intp] = _frozen(np.zeros(len(clients), np.intp))
        self.round = 0
        self.clock = 0.0
        """Virtual seconds since the first round began."""
        self.evaluation_seconds = 0.0
        """Real seconds that went into `scores`, in all."""
        self._happened = Happened(clients=len(clients))
        self._view: View | None = None
        self._plan: Plan | None = None
        self._traffic = Traffic(layout.size, 1, self.follows)
        self._trained: dict[int, Flat] = {}
        """What each client had after training, in the round that was trained last, before any mixing."""
        self._waited = 0.0
        """Virtual seconds that questions took since the last training; they count with the next."""

    def view(self, t: int) -> View:
        present = self.reality.present(t)
        self._traffic, self._trained, self._plan = self._fresh_traffic(), {}, None
        self._happened = self._happened.opened(len(present))
        self.budget.forget(t)
        questions = Questions(
            self.crew,
            self.clients,
            self.models,
            self._held,
            self._kept,
            present,
            self._traffic,
            t,
            self._took,
            self.budget,
            self.reality.attack,
        )
        self._view = View(t, self.roster, _frozen(present), self.models, self.follows, self.layout, questions, self.seed)
        return self._view

    def train(self, plan: Plan) -> Replies:
        view = self._opened()
        check(plan, len(self.clients), len(self.models))
        outing = set_out(plan, view.present, self.roster["size"], self.reality.failing(view.round, plan.trainers))
        fitted = dict(zip(outing.training.tolist(), self._fit(plan, outing.training, view.round), strict=True))
        out = {client: fit for client, fit in fitted.items() if client not in outing.lost}
        replies = close(plan, self.models, view.round, self._sent(plan, out, view.round), outing.lost, outing.waits)
        self._put_away(plan, fitted, replies)
        self._traffic.round = trained(plan, outing.reached, out, replies)
        replies = replace(replies, meter=self._traffic.meter(), duration=self._waited + replies.duration)
        self._plan, self._traffic.replies, self._waited = plan, replies, 0.0
        self.clock += replies.duration
        self._happened = self._happened.after(plan, replies)
        return replies

    def adopt(self, merge: Merge, replies: Replies) -> None:
        view, plan = self._opened(), self._plan
        if plan is None:
            raise RuntimeError("adopt: nothing was trained this round; call train(plan) first")
        kept = self.models if np.array_equal(plan.keeps, np.arange(len(self.models))) else self.models[plan.keeps]
        self.models = _frozen(merge.apply(replies.models, kept))
        self.follows = _frozen(np.zeros(len(self.clients), np.intp) if plan.follows is None else np.array(plan.follows))
        self.round, self._view, self._plan = view.round, None, None

    def scores(self) -> Scores | None:
        """How good the models are now, in every `evaluate_every`th round and before the first."""
        if self.round % self.evaluate_every:
            return None
        started = perf_counter()
        scores = evaluation.evaluate(
            self.crew,
            self.clients,
            self.models,
            self.follows,
            {name: models for name, models in (("trained", self._trained), ("personal", self.homes.personal)) if models},
            usual=self.usual_loss,
            round=self.round,
            tuned=self.tuning(bool(self._trained)),
        )
        self.evaluation_seconds += perf_counter() - started
        return scores

    def tuning(self, personal: bool) -> Steps | None:
        """The steps after which models are judged too, if they are: models that clients share only where that was asked for."""
        return self.tuned if personal or self.tune_shared else None

    def meter(self) -> Meter:
        return self._traffic.meter()

    def happened(self) -> Happened:
        """What the world really did so far."""
        return self._happened

    def state(self) -> dict[str, Any]:
        return {
            "round": self.round,
            "clock": self.clock,
            "models": np.array(self.models),
            "follows": np.array(self.follows),
            "waited": self._waited,
            "homes": self.homes.state(),
            "memories": self.memories.state(),
            "budget": self.budget.state(),
            "happened": self._happened.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        models, follows = np.array(state["models"], np.float32), np.array(state["follows"], np.intp)
        if models.ndim != 2 or models.shape[1] < self.layout.size or len(follows) != len(self.clients):
            raise ValueError(
                f"state: {len(follows)} clients and models {models.shape} do not fit a federation of {len(self.clients)}"
                f" clients and models of {self.layout.size} numbers"
            )
        self.round, self.clock, self._waited = int(state["round"]), float(state["clock"]), float(state["waited"])
        self.models, self.follows = _frozen(models), _frozen(follows)
        self.homes.restore(state["homes"])
        self.memories.restore(state["memories"])
        self.budget.restore(state["budget"])
        self._happened = Happened(**state["happened"])
        self._view, self._plan, self._trained = None, None, {}
        self._traffic = self._fresh_traffic()

    def close(self) -> None:
        """Sends the workers home."""
        self.crew.close()

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _personal(self) -> bool:
        """Whether each client follows a model of its own."""
        return len(self.models) == len(self.clients) and np.array_equal(self.follows, self.roster.ids)

    def _fresh_traffic(self) -> Traffic:
        return Traffic(self.models.shape[1], len(self.models), self.follows)

    def _opened(self) -> View:
        if self._view is None:
            raise RuntimeError("no round is open; call view(t) first")
        return self._view

    def _fit(self, plan: Plan, clients: Ids, round: int) -> list[Fitted]:
        """Has clients train, each in the model that the plan starts it from."""
        models = {row: self.models[row] for row in set(plan.start.tolist())}
        starts = plan.start[np.searchsorted(plan.trainers, clients)].tolist()
        efforts = self.reality.efforts(round)[clients].tolist()
        fitted = self.crew.run(
            [
                Fit(plan.backbone, client, models[row], self.homes.kept.get(client, {}), round, plan.wants, effort)
                for client, row, effort in zip(clients.tolist(), starts, efforts, strict=True)
            ]
        )
        wanted = [name for name in USE if name in plan.wants]
        if not wanted:
            return fitted
        use = self.reality.use(round)[clients][:, [USE.index(name) for name in wanted]].tolist()
        return [_telling(fit, dict(zip(wanted, row, strict=True))) for fit, row in zip(fitted, use, strict=True)]

    def _sent(self, plan: Plan, fitted: Mapping[int, Fitted], round: int) -> list[Reply]:
        """What leaves those who trained, and when, as the world has it."""
        clients = np.array(list(fitted), dtype=np.intp)
        start = plan.start[np.searchsorted(plan.trainers, clients)]
        at_home = (plan.route == "peers") & (self.follows[clients] == start)
        crossed = 4 * self.models.shape[1] * np.where(at_home, 1, 2)
        seen = np.array([fit.seen for fit in fitted.values()], dtype=np.int64)
        seconds = self.reality.seconds(round, clients, seen, crossed)
        replies = [
            Reply(
                client,
                fit.trained.share,
                1 if plan.quiet else fit.count,
                round,
                {} if plan.quiet else fit.trained.facts,
                float(arrives),
            )
            for (client, fit), arrives in zip(fitted.items(), seconds, strict=True)
        ]
        starts = {client: self.models[row] for client, row in zip(fitted, start, strict=True)}
        return self.reality.sends(replies, starts, round, self.memories)

    def _put_away(self, plan: Plan, fitted: Mapping[int, Fitted], replies: Replies) -> None:
        """Leaves at each client what its training left there."""
        own = plan.route == "peers"
        for client, fit in fitted.items():
            self.homes.put(client, fit.trained, shared=not own)
        if own:
            accepted = {} if self.reality.behaviors else dict(zip(replies.clients.tolist(), replies.models, strict=True))
            self._trained = {client: accepted.get(client, fit.trained.share) for client, fit in fitted.items()}

    def _held(self, client: int) -> Flat | None:
        return self.models[client] if self._personal else self.homes.last.get(client)

    def _kept(self, client: int) -> Mapping[str, Flat]:
        return self.homes.kept.get(client, {})

    def _took(self, asked: int, answers: int, clients: Ids, seen: NDArray[np.int64], crossed: NDArray[np.int64]) -> None:
        """Counts questions, and the time that the slowest took to answer."""
        self._happened = self._happened.questioned(asked, asked - answers)
        self._waited += self.reality.answering(clients, seen, crossed)


def _telling(fit: Fitted, use: Mapping[str, float]) -> Fitted:
    return replace(fit, trained=replace(fit.trained, facts={**fit.trained.facts, **use}))


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = array.size == 0  # there is nothing to lock, and NumPy's dice refuse a locked empty array
    return array

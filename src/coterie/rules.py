"""Every plug on one page: what a rule may decide, before training or after it.

A rule is a frozen dataclass whose fields are the source's symbols spelled out. It decides through a `View`,
keeps nothing (its state is passed in and returned), throws only `view.rng`, and never trains or loops.
State is a tree of arrays, plain values, tuples, lists, dicts and frozen dataclasses of these, so that a
checkpoint can hold it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray
from scipy import sparse

from coterie.federation import Layout, Local, View
from coterie.mixing import Merge
from coterie.plan import Coalitions, Hears, Plan
from coterie.replies import Replies
from coterie.roster import Column, Ids, Roster

State = Any


class Rule:
    """What all rules have in common."""

    wants: ClassVar[frozenset[str]] = frozenset()
    """Facts about training that replies must bring for `learn`: some of `coterie.plan.LOSSES` and `USE`."""

    needs: ClassVar[frozenset[str]] = frozenset()
    """Columns of the roster that it cannot do without, or 'labels' where it needs a classification.

    An experiment in which they are not known is refused before it runs.
    """

    def begin(self, roster: Roster) -> State:
        """The state before the first round."""
        return None

    def learn(self, view: View, plan: Plan, replies: Replies, state: State) -> State:
        """The state after a round, from what its replies told."""
        return state


class Selector(Rule, ABC):
    """Chooses who trains the one global model."""

    @abstractmethod
    def choose(self, view: View, state: State) -> Ids:
        """Returns distinct clients of `view.present`."""

    def try_out(self, view: View, state: State) -> Ids:
        """Returns clients who train a trial model beside the chosen ones; usually nobody.

        The trial model stands in the next round's `view.models` behind the global one, to be asked about; nobody
        follows it, and the round after it is gone.
        """
        return np.empty(0, dtype=np.intp)


class Former(Rule, ABC):
    """Groups clients into coalitions."""

    @abstractmethod
    def form(self, view: View, state: State) -> Coalitions:
        """Returns a partition of the clients (label −1: in no coalition this round)."""


class Listener(Rule, ABC):
    """Says which neighbors each client listens to, where there is no server."""

    @abstractmethod
    def listen(self, view: View, state: State) -> Hears:
        """Returns clients × clients, true where the row's client hears the column's; the diagonal is oneself."""

    def heed(self, view: View, plan: Plan, replies: Replies, state: State) -> tuple[sparse.csr_array, State]:
        """After training: what each client makes of the replies that it hears, and the state with what it found out.

        Clients × replies, not negative, nothing outside the plan. Only replies above zero are weighed by the
        aggregator, whose weights are multiplied by these. `learn` comes later, with a plan of these replies only.
        Usually a client heeds all that it hears alike.
        """
        return plan.support(replies.clients), state


class Aggregator(Rule, ABC):
    """Says what replies become."""

    @abstractmethod
    def weigh(self, view: View, plan: Plan, replies: Replies, state: State) -> Merge:
        """Returns a mixing on the plan's support, or another map from the replies to tomorrow's models."""


class Believer(Rule, ABC):
    """Says how far each client is believed, from what it sent, what its device used, and what its peers say of it.

    A recipe that has one writes its beliefs into the roster's column 'trust', where every other rule finds them.
    """

    @abstractmethod
    def believe(self, view: View, state: State) -> Column:
        """Before training and after: trust in [0, 1], one value a client, or one for each viewer and client."""

    def suspects(self, trust: Column) -> NDArray[np.bool_]:
        """Who is not to train for anybody, by what was believed; nobody if not said otherwise."""
        return np.zeros(len(trust), dtype=bool)

    def heed(self, view: View, plan: Plan, replies: Replies, state: State) -> tuple[Mapping[int, str], State]:
        """After training, before anything is averaged: whose replies are not believed, with the reason, and the new state.

        The other rules of the recipe see the remaining replies only. `learn` comes later, with these too.
        """
        return {}, state


class Reporter(Rule, ABC):
    """Says what the server gets to know of clients besides their models, and in what form.

    Other rules see the roster and the replies that it makes, not the true ones.
    """

    @abstractmethod
    def known(self, view: View, state: State) -> Roster:
        """The roster as the server knows it: the same clients, with the sizes that they told."""

    @abstractmethod
    def report(self, view: View, plan: Plan, replies: Replies, state: State) -> Replies:
        """The replies as the server sees them: the models as they came, numbers as far as clients tell them."""


class Backbone(ABC):
    """Says how a client trains, what it shares and what stays with it."""

    @abstractmethod
    def train(self, local: Local) -> Trained:
        """Returns what one client's training made of the model it received."""

    def beside(self, layout: Layout, seed: int) -> Float32[np.ndarray, " beside"]:
        """The first of the numbers that clients share beside the model; usually there are none.

        They stand behind the model's own in all that is sent and mixed, so `train` receives and shares them too.
        """
        return np.empty(0, np.float32)


@dataclass(frozen=True, eq=False)
class Trained:
    """The result of local training."""

    share: Float32[np.ndarray, " dim"]
    """What leaves the client: a model, and what the backbone shares `beside` it."""
    keep: Mapping[str, Float32[np.ndarray, " dim"]] = field(default_factory=dict)
    """What stays: given back as `local.kept` the next time."""
    facts: Mapping[str, float] = field(default_factory=dict)
    """Numbers that leave the client with the model."""
    personal: Float32[np.ndarray, " dim"] | None = None
    """The model that the client itself would use now, where it is not the shared one."""

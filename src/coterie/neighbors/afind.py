"""Listening to friends: how many, and whom, by the likeness of gradients (AFIND and AFIND+)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from coterie.aggregators.boltzmann import at_receiver
from coterie.federation import View
from coterie.neighbors.beliefs import AT_ONCE, Beliefs, blocks, cosines, cosines_within
from coterie.neighbors.edges import Edges
from coterie.neighbors.gossip import with_oneself
from coterie.neighbors.topologies import Topology, check, graph
from coterie.plan import Hears, Plan, Why
from coterie.probe import Blur
from coterie.replies import Replies
from coterie.roster import Ids
from coterie.rules import Listener

Chosen = Bool[np.ndarray, " edges"]


@dataclass(frozen=True)
class Afind(Listener):
    """Listens to neighbors whose gradients point where one's own does, to fewer the surer it is (AFIND+, Algorithm 1).

    1. Coreset: i contacts its available neighbors j with p_ij ≥ θ_i ("printed"), or p_ij · |B_i| ≥ θ_i ("relative", ours).
    2. Each sends its proxy φ_j, the gradient of its loss in the last layer before the classifier, and its trained model.
    3. s_ij = cos(φ_i, φ_j), then p (Eq. 9), the confidence and the threshold θ_i (Eqs. 10–13).

    The defaults are a repair of ours. As printed, on a full graph of 100, h sums over 99 neighbors, θ is about 1e-14 and
    everybody hears everybody; with the mean and the printed threshold nobody hears anybody from the second round on.
    `troubles` says when either happens.

    Where the source is silent: ν is not given. θ and p of a client whose neighbors were all away stay as they are.
    Remark 3.3 contradicts Eq. 13 on the threshold's sign; the equation is followed. Neighbors train their own model, not
    the one they are sent.
    """

    threshold: Literal["relative", "printed", "none"] = "relative"
    """What p is compared with; "none" contacts the `max_neighbors` with the highest p."""
    tau: float = 2.0
    """τ, the scale of the threshold; 0.5 in the paper."""
    nu: float = 0.5
    """ν, the temperature of p."""
    entropy: Literal["mean", "sum"] = "mean"
    """Whether the uncertainty h is a mean over the coreset or, as in the paper, a sum."""
    probe: Literal["sender", "receiver", "auto"] = "sender"
    """Where φ_j is taken: once, at j's own model; or at the model of each who asks. "auto": as the paper up to 200 clients."""
    proxy: Literal["gradient", "weights"] = "gradient"
    """φ: the layer's gradient, or the layer itself as it was sent after training."""
    batch: int | None = 64
    """Samples on which a gradient is taken; None for all."""
    memory: float = 0.2
    """How much a new similarity counts against earlier ones; 0 forgets them, as the paper does."""
    explore: float = 0.0
    """The chance that a neighbor outside the coreset is asked for its proxy, without being mixed."""
    clip: float | None = None
    """C₂: proxies are clipped to this length before they leave their clients; None for as they are."""
    noise: float = 0.0
    """σ₂: clipped proxies get Gaussian noise of this many C₂ / `batch`; see `coterie.probe.Blur`."""
    restart: bool = True
    """Whether a client that contacts nobody starts anew."""
    max_neighbors: int | None = None
    """The most that are contacted: those with the highest p, ties drawn."""
    topology: Topology = "full"
    """Who could hear whom: see `coterie.neighbors.topologies`."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("tau", "a number from 0", 0 <= self.tau < np.inf),
            ("nu", "a number above 0", 0 < self.nu < np.inf),
            ("batch", "a whole number from 1, or none for all samples", self.batch is None or self.batch >= 1),
            ("memory", "in [0, 1]", 0 <= self.memory <= 1),
            ("explore", "in [0, 1]", 0 <= self.explore <= 1),
            ("explore", "0 with the proxy 'weights'", self.explore == 0 or self.proxy == "gradient"),
            ("clip", "a number above 0, or none", self.clip is None or 0 < self.clip < np.inf),
            ("clip", "none with the proxy 'weights'", self.clip is None or self.proxy == "gradient"),
            ("noise", "a number from 0", 0 <= self.noise < np.inf),
            ("noise", "0 without a clip and a batch", not self.noise or None not in (self.clip, self.batch)),
            ("max_neighbors", "a whole number from 1, or none", self.max_neighbors is None or self.max_neighbors >= 1),
            ("max_neighbors", "given without a threshold", self.max_neighbors is not None or self.threshold != "none"),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")
        check(self.topology)

    def listen(self, view: View, state: Beliefs | None) -> Hears:
        edges, beliefs = self._opened(view, state)
        near = edges.among(view.present)
        core = near & self.passes(edges, beliefs)
        if self.max_neighbors is not None:
            few, p = edges.only(core), beliefs.p[core]
            core[core] = few.first(self.max_neighbors, -p, view.rng.random(len(few)))
        self._note(view, edges, beliefs, near, core)
        return with_oneself(edges.only(core), view.present)

    def passes(self, edges: Edges, beliefs: Beliefs) -> Chosen:
        """Which neighbors pass their client's threshold, were they there."""
        if self.threshold == "none":
            return np.ones(len(edges), dtype=bool)
        scale = edges.sums(np.ones(len(edges)))[edges.rows] if self.threshold == "relative" else 1.0
        return np.asarray(beliefs.p * scale >= beliefs.threshold[edges.rows])

    def learn(self, view: View, plan: Plan, replies: Replies, state: Beliefs | None) -> Beliefs:
        edges, beliefs = self._opened(view, state)
        near = edges.among(view.present)
        heard = Edges.of(plan.support(replies.clients))
        others = heard.only(replies.clients[heard.cols] != heard.rows)
        contacted = np.zeros(len(edges), dtype=bool)
        contacted[edges.find(others.rows, replies.clients[others.cols])] = True
        asked = contacted | (near & (view.rng.random(len(edges)) < self.explore)) if self.explore else contacted
        found = self._similarities(view, replies, edges, asked)
        measured = ~np.isnan(found)
        after = beliefs.ranked(edges, measured, found, self.nu, self.memory)
        after = after.confident(edges, contacted & measured, self.tau, self.entropy)
        return after.restarted(edges, stranded(edges, near, self.passes(edges, beliefs))) if self.restart else after

    def _similarities(self, view: View, replies: Replies, edges: Edges, asked: Chosen) -> Float[np.ndarray, " edges"]:
        """s_ij where it was asked for and answered, NaN elsewhere."""
        found, places = np.full(len(edges), np.nan), np.flatnonzero(asked)
        asking = self.proxy == "gradient" and at_receiver(self.probe, len(view.roster))
        own, row = self._own(view, replies, edges, places, asking)
        ours, theirs = row[edges.rows[places]], edges.cols[places]
        if not asking:
            found[places] = cosines_within(own, ours, row[theirs])
            return found
        for some in blocks(len(places), AT_ONCE // max(own.shape[1], 1)):
            told = self._told(view, theirs[some], view.follows[edges.rows[places[some]]])
            found[places[some]] = cosines(own[ours[some]], told)
        return found

    def _told(self, view: View, clients: Ids, about: NDArray[np.intp]) -> NDArray[np.float32]:
        """The gradients that clients tell of, in the layer that is compared."""
        blur = None if self.clip is None else Blur(self.clip, self.noise)
        return view.ask.gradients(clients, about, part=view.layout.featurizer, batch=self.batch, blur=blur)

    def _own(
        self, view: View, replies: Replies, edges: Edges, asked: NDArray[np.intp], asking: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """Clients' proxies at their own models, behind them a row of NaN, and for each client its row."""
        part = view.layout.featurizer
        if self.proxy == "weights":
            clients, told = replies.clients, replies.models[:, part]
        else:
            clients = np.unique(np.concatenate([edges.rows[asked], edges.rows[:0] if asking else edges.cols[asked]]))
            told = self._told(view, clients, view.follows[clients])
        row = np.full(edges.clients, len(clients))
        row[clients] = np.arange(len(clients))
        return np.vstack([told, np.full((1, told.shape[1]), np.nan, np.float32)]), row

    def _note(self, view: View, edges: Edges, beliefs: Beliefs, near: Chosen, core: Chosen) -> None:
        """Writes down each client's coreset and whether its threshold does anything."""
        there = view.present
        size, available = edges.sums(core)[there], edges.sums(near)[there]
        passing = edges.sums(near & self.passes(edges, beliefs))[there]
        view.note(
            there,
            coreset=size,
            available=available,
            threshold=beliefs.threshold[there],
            stranded=(available > 0) & (passing == 0),
            inactive=(available > 1) & (passing == available) & (view.round > 1) & (self.threshold != "none"),
            receiver=at_receiver(self.probe, len(view.roster)),
        )

    def _opened(self, view: View, state: Beliefs | None) -> tuple[Edges, Beliefs]:
        edges = graph(self.topology, len(view.roster), view.seed)
        return edges, Beliefs.first(edges) if state is None else state


def stranded(edges: Edges, near: Chosen, passing: Chosen) -> Bool[np.ndarray, " clients"]:
    """Who has neighbors, none of whom passes its threshold."""
    return np.asarray((edges.sums(near) > 0) & (edges.sums(near & passing) == 0))


def troubles(why: Why) -> list[str]:
    """What is wrong with a round of AFIND by its notes (`record.why`): a threshold that does nothing, or strands clients.

    >>> troubles(Why(np.arange(2), {"stranded": np.array([1.0, 0.0]), "inactive": np.zeros(2)}))
    ['1 of 2 clients are stranded: no neighbor passes their threshold']
    """
    said = []
    count = len(why.candidates)
    lost, idle = (int(np.nansum(why.columns.get(name, np.zeros(0)))) for name in ("stranded", "inactive"))
    if lost:
        said.append(f"{lost} of {count} clients are stranded: no neighbor passes their threshold")
    if idle and idle == count:
        said.append("the threshold is inactive: everybody contacts every neighbor that is there")
    return said

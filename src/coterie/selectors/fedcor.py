"""A group whose losses fall together with everybody's: FedCor (Tang et al., CVPR 2022)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from coterie import seeds
from coterie.federation import View
from coterie.plan import Plan
from coterie.probe import Probe
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Selector
from coterie.selectors.draw import draw
from coterie.selectors.loss_gp import Embeddings, Evidence, Posterior, Samples, fit, most_telling


@dataclass(frozen=True, eq=False)
class Watched:
    """What FedCor remembers."""

    embeddings: Embeddings
    """X, one row a client; no rows before the first fit."""
    factors: Float[np.ndarray, " clients"]
    """The annealing factor of each client."""
    losses: Float[np.ndarray, " clients"]
    """Losses when they were last asked for, NaN where unknown."""
    asked: int
    """The round whose model those losses are of; 0 before."""
    samples: Samples
    rounds: NDArray[np.int64]
    """For each sample the round whose training it shows."""
    on_trial: bool = False
    """Whether today's models hold a trial model behind the global one."""


@dataclass(frozen=True)
class FedCor(Selector):
    """Trains the group from which the federation's loss is expected to fall most (Tang et al., 2022).

    1. Warm-up: groups are random, and every client's loss is watched. Each round's changes are one sample.
    2. The samples are fitted by a Gaussian process, N(0, XᵀX + ν²I), with one embedding a client (Eq. 8, 14–17).
    3. Clients are picked one after the other by Σ_i p_i Σ_ik a_k σ_k / (Σ_kk + ν²), each pick conditioning Σ (Algorithm 1,
       Eq. 12 and 13). a_k is 1 and is multiplied by β when k is chosen, until the next refit (Eq. 9).
    4. Every Δt rounds a random group trains beside the chosen one. All clients tell their losses before and after, its
       model is thrown away, and the process is fitted again (Algorithm 2).

    `observe="probe"` is ours, not the paper's: instead of watching rounds, all clients are asked once, at the end of the
    warm-up, how their loss changes along random directions of the last layer. Those changes are the samples. It costs
    one broadcast, and it tells the server roughly who holds which labels; `epsilon` bounds that.

    Where the source is silent or its code differs: losses are of the hold-out, p_i of the training samples; a round's
    changes are known in the round after it, so `warmup` samples take one random round more, as in the authors' code; a
    trial group starts from the model of its own round, and the refit counts from the second round after it; every sample
    of the last `window` rounds is kept; who is absent is no candidate but counts in Σ_i p_i; changes that nobody told are
    left out of the likelihood; a round that changed nothing is no sample.
    """

    per_round: int
    """C, how many train in a round."""
    warmup: int = 15
    """Samples gathered (`losses`) or rounds waited (`probe`) before the first choice."""
    refit_every: int | None = 10
    """Δt, rounds between trials; None never refits."""
    beta: float = 0.95
    """β, by which the factor of a chosen client falls."""
    count: Literal["samples", "clients"] = "samples"
    """What p_i counts: every sample alike, as in the paper, or every client alike."""
    lean: float = 0.0
    """Ours: a client's score counts (n_k / mean n) to this power; above 0 leans to clients that take more steps."""
    dims: int = 15
    """d, the length of an embedding."""
    noise: float = 0.01
    """ν, the standard deviation of what the embeddings do not explain; held fixed."""
    discount: float = 0.95
    """γ, by which a sample counts less for every round of age."""
    window: int = 100
    """Rounds after which a sample is forgotten."""
    iterations: int = 150
    """Steps of Adam after every round of the warm-up."""
    iterations_at_end: int | None = None
    """If given, one fit of so many steps at the end of the warm-up instead."""
    refit_iterations: int = 100
    """Steps of Adam after every trial."""
    learning_rate: float = 0.01
    """Adam's."""
    normalize: float | None = None
    """The root mean square to which each sample is scaled; None takes changes as they are."""
    observe: Literal["losses", "probe"] = "losses"
    """What the samples are: watched rounds, or one probe of a model's surroundings."""
    directions: int = 60
    """Of a probe: how many directions."""
    step: float = 0.05
    """Of a probe: how far each coordinate of the last layer moves."""
    epsilon: float = np.inf
    """Of a probe: the local differential privacy of a client's answer; infinite for exact answers."""
    clip: float = 10.0
    """Of a private probe: the largest sum of sizes of a client's changes."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("per_round", "a whole number from 1", self.per_round >= 1),
            ("warmup", "a whole number from 1", self.warmup >= 1),
            ("refit_every", "None or a whole number from 1", self.refit_every is None or self.refit_every >= 1),
            ("beta", "in [0, 1]", 0 <= self.beta <= 1),
            ("count", "'samples' or 'clients'", self.count in ("samples", "clients")),
            ("lean", "a finite number", np.isfinite(self.lean)),
            ("dims", "a whole number from 1", self.dims >= 1),
            ("noise", "a number above 0", 0 < self.noise < np.inf),
            ("discount", "in (0, 1]", 0 < self.discount <= 1),
            ("window", "a whole number from 1", self.window >= 1),
            ("iterations", "a whole number from 1", self.iterations >= 1),
            (
                "iterations_at_end",
                "None or a whole number from 1",
                self.iterations_at_end is None or self.iterations_at_end >= 1,
            ),
            ("refit_iterations", "a whole number from 1", self.refit_iterations >= 1),
            ("learning_rate", "a number above 0", 0 < self.learning_rate < np.inf),
            ("normalize", "None or a number above 0", self.normalize is None or 0 < self.normalize < np.inf),
            ("observe", "'losses' or 'probe'", self.observe in ("losses", "probe")),
            ("epsilon", "infinite where losses are watched", self.observe == "probe" or self.epsilon == np.inf),
            ("refit_every", "None with observe='probe', which asks once", self.observe == "losses" or self.refit_every is None),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")
        Probe(0, self.directions, self.step, self.clip, self.epsilon)

    def begin(self, roster: Roster) -> Watched:
        n = len(roster)
        none = np.empty((0, n))
        return Watched(np.empty((0, self.dims)), np.ones(n), np.full(n, np.nan), 0, none, np.empty(0, np.int64))

    def choose(self, view: View, state: Watched) -> Ids:
        if view.round <= self._random_rounds or not len(state.embeddings):
            return np.sort(draw(view.rng, view.present, self.per_round))
        n = len(view.roster)
        share = view.roster.share() if self.count == "samples" else np.full(n, 1 / n)
        prior = Posterior.prior(state.embeddings, share, view.present)
        factors = state.factors[view.present] * self._leaning(view.roster["size"])[view.present]
        view.note(view.present, score=prior.scores(factors, self.noise), factor=factors)
        return np.sort(view.present[most_telling(prior, factors, self.per_round, self.noise)])

    def try_out(self, view: View, state: Watched) -> Ids:
        if self.refit_every is None or view.round <= self._random_rounds or view.round % self.refit_every:
            return np.empty(0, dtype=np.intp)
        return np.sort(draw(view.rng, view.present, self.per_round))

    def learn(self, view: View, plan: Plan, replies: Replies, state: Watched) -> Watched:
        if view.round > self._random_rounds:
            chosen = plan.trainers[plan.hears[[0]].indices]
            factors = state.factors.copy()
            factors[chosen] *= self.beta
            state = replace(state, factors=factors)
        return self._probe(view, state) if self.observe == "probe" else self._watch(view, plan, replies, state)

    def _leaning(self, size: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray((np.maximum(size, 1) / max(size.mean(), 1)) ** self.lean)

    @property
    def _random_rounds(self) -> int:
        """A watched round's changes are known in the next one, which is random too."""
        return self.warmup + (self.observe == "losses")

    def _watch(self, view: View, plan: Plan, replies: Replies, state: Watched) -> Watched:
        """Asks for losses in the warm-up, and before and after a trial."""
        warming = view.round <= self._random_rounds
        trial = len(plan.keeps) > 1 and plan.support(replies.clients)[[1]].nnz > 0
        now = self._losses(view, about=0) if warming or trial else state.losses
        if warming and state.asked:
            state = self._sampled(view, state, now - state.losses)
            state = self._fitted(view, state, self._warmup_steps(view.round))
        elif state.on_trial and len(view.models) > 1:
            state = self._sampled(view, state, self._losses(view, about=1) - state.losses)
            state = replace(self._fitted(view, state, self.refit_iterations), factors=np.ones_like(state.factors))
        return replace(state, losses=now, asked=view.round if warming or trial else state.asked, on_trial=trial)

    def _warmup_steps(self, t: int) -> int:
        if self.iterations_at_end is None:
            return self.iterations
        return self.iterations_at_end if t == self._random_rounds else 0

    def _losses(self, view: View, about: int) -> NDArray[np.float64]:
        losses = np.full(len(view.roster), np.nan)
        losses[view.present] = view.ask.losses(view.present, about)
        return np.where(np.isfinite(losses), losses, np.nan)

    def _sampled(self, view: View, state: Watched, change: NDArray[np.float64]) -> Watched:
        """Adds the changes of the round before, and forgets old ones."""
        if not np.any(np.nan_to_num(change)):
            return state
        rounds = np.append(state.rounds, view.round - 1)
        kept = rounds > rounds[-1] - self.window
        return replace(state, samples=np.vstack([state.samples, change])[kept], rounds=rounds[kept])

    def _probe(self, view: View, state: Watched) -> Watched:
        """Asks once; who was absent is asked when it comes."""
        known = ~np.isnan(state.samples).all(axis=0) if len(state.samples) else np.zeros(len(view.roster), dtype=bool)
        fresh = view.present[~known[view.present]]
        if view.round < self.warmup or not len(fresh):
            return state
        probe = Probe(seeds.derive(view.seed, "fedcor"), self.directions, self.step, self.clip, self.epsilon)
        samples = state.samples.copy() if len(state.samples) else np.full((self.directions, len(view.roster)), np.nan)
        answers = view.ask.probe(fresh, probe).T
        samples[:, fresh] = np.where(np.isfinite(answers), answers, np.nan)
        state = replace(state, samples=samples, rounds=np.full(self.directions, self.warmup), asked=view.round)
        first = self.iterations if self.iterations_at_end is None else self.iterations_at_end
        return self._fitted(view, state, self.refit_iterations if len(state.embeddings) else first)

    def _fitted(self, view: View, state: Watched, steps: int) -> Watched:
        """Climbs from the embeddings that there are, or from N(0, 1/d) (Eq. 16)."""
        if not steps or not len(state.samples):
            return state
        x = state.embeddings
        if not len(x):
            x = view.rng.standard_normal((len(view.roster), self.dims)) / np.sqrt(self.dims)
        samples = state.samples if self.normalize is None else self.normalize * state.samples / _rms(state.samples)
        evidence = Evidence(samples, self.discount ** (state.rounds.max() - state.rounds), self.noise)
        return replace(state, embeddings=fit(x, evidence, steps, self.learning_rate))


def _rms(samples: Samples) -> Float[np.ndarray, "samples 1"]:
    """The root mean square of each sample, over the clients that are seen in it."""
    mean = np.nanmean(np.square(samples), axis=1, keepdims=True)
    return np.asarray(np.sqrt(np.where(mean > 0, mean, 1.0)))

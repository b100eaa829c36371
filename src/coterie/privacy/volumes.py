"""How much data clients have, told under local differential privacy: the data volume module of PrivShare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from coterie.federation import View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.report import Bounded, Noise, Report
from coterie.roster import Roster
from coterie.rules import Reporter


@dataclass(frozen=True, eq=False)
class Heard:
    """What clients have told of their volumes."""

    smooth: Float[np.ndarray, " clients"]
    """s, the exponential average of the reports."""
    reports: NDArray[np.int64]
    """t, how many reports each has made."""


@dataclass(frozen=True)
class Volumes(Reporter):
    """The server knows clients' sizes as they report them: at most c_d, with Laplace noise of scale c_d/ε_d.

    From the source (its Eq. 29–36): reports are smoothed, s ← γ₁ s + (1 − γ₁) report, beginning with s = 0, and n' = s. The
    expectation of s after t reports is (1 − γ₁ᵗ) n. A client spends ε_d a report, and t reports cost t ε_d.

    Ours: `debias` divides by 1 − γ₁ᵗ; a client reports once, with the whole budget, instead of every round (t reports
    of ε/t averaged carry √t times the noise, and the exponential average forgets). Smoothing what has left a client
    changes nothing about privacy, so it is done where the reports arrive. Sizes are clipped at c_d, where the source has
    c_d − 1 for the same noise. Volumes are at least 1; who has not reported counts as the median of those who have. Replies
    bring models and no numbers.

    c_d must be public: a bound that is read off the clients' data is itself a release.
    """

    epsilon: float = 1.0
    """ε_d, what one report spends; infinite for exact volumes within their bound."""
    most: float = 1000.0
    """c_d, public: who has more tells this much."""
    report_every: Literal["once", "round"] = "once"
    """'round': everybody present reports in every round."""
    gamma: float = 0.9
    """γ₁, how much the past counts."""
    debias: bool = True
    """Divides by what the average lacks while it is young."""
    noise: Noise = "simple"
    """'vetted' draws it by OpenDP, with dice that do not repeat; 'simple' is for simulations."""
    cap: float = np.inf
    """What a client may spend in all, on whatever it tells."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("epsilon", "a number above 0", self.epsilon > 0),
            ("most", "a finite number from 1", 1 <= self.most < np.inf),
            ("report_every", "'once' or 'round'", self.report_every in ("once", "round")),
            ("gamma", "in [0, 1)", 0 <= self.gamma < 1),
            ("cap", "a number above 0", self.cap > 0),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def begin(self, roster: Roster) -> Heard:
        return Heard(np.zeros(len(roster)), np.zeros(len(roster), np.int64))

    def known(self, view: View, state: Heard) -> Roster:
        return view.roster.with_columns(size=self.volumes(self.heard(view, state)))

    def report(self, view: View, plan: Plan, replies: Replies, state: Heard) -> Replies:
        volumes = self.volumes(self.heard(view, state))[replies.clients]
        return replace(replies, counts=np.rint(volumes).astype(np.int64), facts={})

    def learn(self, view: View, plan: Plan, replies: Replies, state: Heard) -> Heard:
        return self.heard(view, state)

    def heard(self, view: View, state: Heard) -> Heard:
        """What is known once those asked today have reported. Asked again today, they repeat themselves."""
        due = view.present if self.report_every == "round" else view.present[state.reports[view.present] == 0]
        if not len(due):
            return state
        occasion = view.round if self.report_every == "round" else 0
        told = view.ask.reports(due, self.question(occasion))[:, 0]
        came = due[np.isfinite(told)]
        smooth, reports = state.smooth.copy(), state.reports.copy()
        smooth[came] = self.gamma * smooth[came] + (1 - self.gamma) * told[np.isfinite(told)]
        reports[came] += 1
        return Heard(smooth, reports)

    def question(self, occasion: int) -> Report:
        """What is asked of a client."""
        return Report((Bounded("size", 0, self.most, self.epsilon),), occasion, self.noise, self.cap)

    def volumes(self, heard: Heard) -> Float[np.ndarray, " clients"]:
        """n', what the server takes for everybody's volume."""
        known = heard.reports > 0
        if not known.any():
            return np.ones(len(known))
        young = 1 - self.gamma ** heard.reports[known] if self.debias else 1.0
        volumes = np.empty(len(known))
        volumes[known] = np.maximum(heard.smooth[known] / young, 1)
        volumes[~known] = np.median(volumes[known])
        return volumes

"""Who has much data and much to learn, as far as clients tell in private: the selection of PrivShare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.stats import rankdata

from coterie.federation import View
from coterie.report import Bounded, Noise, Report
from coterie.roster import Ids
from coterie.rules import Selector
from coterie.selectors.draw import draw, draw_exp

Select = Literal["score", "top", "uniform"]


@dataclass(frozen=True)
class VolumeContribution(Selector):
    """Favors clients with much data, high loss and steep gradients, told under local privacy (after PrivShare's E.1 and E.2).

    Score = λ · rank of the volume + (1 − λ) · rank of the contribution v, ranks between 0 and 1. The volume is the
    roster's `size`: what clients report where the recipe has a reporter, else what the server knows anyway. v = η_l · loss +
    η_g · length of the gradient, both of the model that the client would start from, at most c_l and c_g and with Laplace
    noise of scale c_l/ε_l and c_g/ε_g; a report costs a client ε_l + ε_g, every round.

    `score` draws from those present with odds exp(score / temperature), so that noise starves nobody; `top` takes the
    highest; `uniform` asks nothing and costs no privacy. At λ = 1 no contribution is asked for. Below ε = 2 a round the
    contribution is next to random.

    Where the source is silent: its scores are only said to be combined; ranks, λ, the draw and the clips are ours. Who
    does not answer, or may not spend more, counts as the median.
    """

    per_round: int
    """P, how many train in a round."""
    select: Select = "score"
    """How scores choose: a draw, the highest, or not at all."""
    lam: float = 0.5
    """λ, what the volume counts beside the contribution."""
    temperature: float = 0.25
    """Of the draw: the lower, the closer to the highest scores."""
    eta_loss: float = 1.0
    """η_l, what the loss counts."""
    eta_gradient: float = 1.0
    """η_g, what the length of the gradient counts."""
    clip_loss: float = 5.0
    """c_l, public."""
    clip_gradient: float = 5.0
    """c_g, public."""
    epsilon_loss: float = np.inf
    """ε_l, a report."""
    epsilon_gradient: float = np.inf
    """ε_g, a report."""
    noise: Noise = "simple"
    """'vetted' draws it by OpenDP, with dice that do not repeat; 'simple' is for simulations."""
    cap: float = np.inf
    """What a client may spend in all, on whatever it tells."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("per_round", "a whole number from 1", self.per_round >= 1),
            ("select", "'score', 'top' or 'uniform'", self.select in get_args(Select)),
            ("lam", "in [0, 1]", 0 <= self.lam <= 1),
            ("temperature", "a number above 0", 0 < self.temperature < np.inf),
            ("eta_loss", "a number from 0", 0 <= self.eta_loss < np.inf),
            ("eta_gradient", "a number from 0", 0 <= self.eta_gradient < np.inf),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")
        self.question(1)

    def choose(self, view: View, state: Any) -> Ids:
        if self.select == "uniform" or not len(view.present):
            return np.sort(draw(view.rng, view.present, self.per_round))
        volume = ranks(view.roster["size"][view.present].astype(np.float64))
        score = self.lam * volume
        view.note(view.present, volume=volume)
        if self.lam < 1:
            told = view.ask.reports(view.present, self.question(view.round), view.follows[view.present])
            contribution = ranks(told @ np.array([self.eta_loss, self.eta_gradient]))
            view.note(view.present, contribution=contribution)
            score = score + (1 - self.lam) * contribution
        view.note(view.present, score=score)
        if self.select == "top":
            return np.sort(view.present[np.argsort(-score, kind="stable")[: self.per_round]])
        return np.sort(draw_exp(view.rng, view.present, self.per_round, score / self.temperature))

    def question(self, round: int) -> Report:
        """What is asked of those present."""
        loss = Bounded("loss", 0, self.clip_loss, self.epsilon_loss)
        return Report((loss, Bounded("gradient", 0, self.clip_gradient, self.epsilon_gradient)), round, self.noise, self.cap)


def ranks(values: Float[np.ndarray, " clients"]) -> NDArray[np.float64]:
    """Ranks between 0 and 1, ties in the middle; a half where there is no number.

    >>> ranks(np.array([3.0, 1.0, np.nan, 2.0])).tolist()
    [1.0, 0.0, 0.5, 0.5]
    """
    made, there = np.full(len(values), 0.5), np.isfinite(values)
    if there.sum() > 1:
        made[there] = (rankdata(values[there]) - 1) / (there.sum() - 1)
    return made

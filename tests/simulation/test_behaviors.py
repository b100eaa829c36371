from dataclasses import dataclass

import numpy as np
import pytest

from coterie.aggregators import BySize, Mean
from coterie.backbones import SGD
from coterie.coalitions import Fixed
from coterie.federation import Steps
from coterie.neighbors import Alone
from coterie.recipe import ByCoalition, Central, Peers
from coterie.replies import Reply
from coterie.simulation import World
from coterie.simulation.behaviors import FAMILIES, Behavior, Broken
from tests.simulation.small import These, played, small

STEPS = Steps(epochs=2, batch_size=8, lr=0.1)


@dataclass(frozen=True)
class Only(Behavior):
    """One client breaks its reply in one way, always."""

    client: int
    family: str

    def acts(self, seed, round, clients):
        return np.arange(clients) == self.client

    def sends(self, reply: Reply, start, dice):
        return FAMILIES[self.family](reply, start)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_broken_reply_is_rejected_whole_and_the_model_is_as_without_that_client(family):
    broken, without = small(world=World(behaviors=(Only(3, family),))), small()
    records = played(Central(SGD(STEPS), BySize(), These((0, 1, 3, 4))), broken, 3)
    played(Central(SGD(STEPS), BySize(), These((0, 1, 3, 4) if family == "twice" else (0, 1, 4))), without, 3)
    assert broken.models.tobytes() == without.models.tobytes()
    for record in records:
        assert set(record.rejected) == {3}
        assert record.rejected[3]
        assert (3 in record.answered) == (family == "twice")
        assert np.isfinite(record.loss)


@pytest.mark.parametrize(
    "recipe", [ByCoalition(SGD(STEPS), Mean(), Fixed((0, 0, 0, 1, 1, 1))), Peers(SGD(STEPS), Mean(), Alone())]
)
@pytest.mark.parametrize("family", ["nan", "shape", "count-huge"])
def test_nor_do_other_models_suffer(recipe, family):
    federation = small(world=World(behaviors=(Only(3, family),)))
    (record,) = played(recipe, federation, 1)
    assert record.used.tolist() == [0, 1, 2, 4, 5]
    assert np.isfinite(federation.models).all()


def test_replies_break_at_their_rate_in_all_families():
    broken = Broken(0.3)
    acts = np.concatenate([broken.acts(1, t, 100) for t in range(1, 101)])
    assert acts.mean() == pytest.approx(0.3, abs=0.02)
    federation = small(world=World(broken_rate=1.0))
    records = played(Central(SGD(STEPS), BySize(), These(tuple(range(6)))), federation, 20)
    reasons = {reason.split(":")[0] for record in records for reason in record.rejected.values()}
    assert {"model", "count", "loss", "stale", "second reply in one round"} <= reasons
    assert all(len(record.rejected) == 6 for record in records)

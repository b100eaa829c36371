from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from coterie import seeds
from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.plan import USE, Coalitions, Plan
from coterie.recipe import Central
from coterie.replies import Replies
from coterie.roster import Roster
from coterie.rules import Believer
from coterie.selectors import Uniform
from coterie.simulation import World
from coterie.testing import check_believer
from coterie.trust import Audit, Evidence
from coterie.trust.evidence import too_short, watching
from tests.oracles import evidence as oracle
from tests.simulation.small import played, small


@dataclass(frozen=True)
class Tells(Believer):
    """Doubts those whom the count of their samples gives away."""

    count: int = 13

    def believe(self, view: Any, state: Any) -> Any:
        return np.ones(len(view.roster))

    def heed(self, view: Any, plan: Any, replies: Any, state: Any) -> Any:
        return {int(k): "because" for k, n in zip(replies.clients, replies.counts, strict=True) if n == self.count}, state


class Honest:
    def words(self, speakers, about, seen):
        return seen


def rounds_of(dice, devices, count):
    """Made-up rounds: coalitions, who of them answered what."""
    made = []
    for _ in range(count):
        raw = dice.integers(0, 3, devices)
        labels = np.unique(raw, return_inverse=True)[1]
        trainers = np.flatnonzero(dice.random(devices) < 0.8)
        answered = trainers[dice.random(len(trainers)) < 0.8]
        replies = {
            int(k): {
                "use": [float(x) for x in np.where(dice.random(3) < 0.2, -1, dice.random(3).astype(np.float32))],
                "count": int(dice.integers(10, 15)),
                "length": float(dice.integers(1, 6)),
            }
            for k in answered
        }
        doubted = [k for k, one in replies.items() if one["count"] == 13]
        made.append({"labels": labels.tolist(), "trainers": trainers.tolist(), "replies": replies, "doubted": doubted})
    return made


def heard(rule, rounds, devices, seed):
    view = SimpleNamespace(models=np.zeros((1, 4), np.float32), seed=seed, ask=Honest())
    state = rule.begin(Roster.of(map(str, range(devices)), size=np.ones(devices)))
    for turn, one in enumerate(rounds, 1):
        view.round = turn
        trainers, clients = np.array(one["trainers"], np.intp), np.array(sorted(one["replies"]), np.intp)
        told = [one["replies"][k] for k in clients.tolist()]
        everybody = sparse.csr_array(np.ones((1, len(trainers)), bool))
        zeros = np.zeros(len(trainers), np.intp)
        groups = Coalitions(np.array(one["labels"]))
        plan = Plan(trainers, zeros, everybody, np.zeros(1, np.intp), SGD(), coalitions=groups, wants=rule.wants)
        replies = Replies(
            clients,
            np.array([[each["length"], 0, 0, 0] for each in told], np.float32).reshape(-1, 4),
            np.array([each["count"] for each in told], np.int64),
            {name: np.array([each["use"][r] for each in told], np.float64) for r, name in enumerate(USE)},
        )
        doubts, state = rule.heed(view, plan, replies, state)
        assert sorted(doubts) == sorted(one["doubted"])
    return state


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 7),
    st.integers(0, 6),
    st.sampled_from(["reference", "printed"]),
    st.sampled_from(["mean", "median"]),
    st.integers(0, 2),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 2),
)
def test_it_believes_what_a_plain_account_of_the_rounds_says(
    seed, devices, count, rule, how, reference, slots, witnesses, forgive
):
    rounds = rounds_of(np.random.Generator(np.random.PCG64(seed)), devices, count)
    kept = reference if rule == "reference" else 0
    said = Evidence(0.5, rule, how, kept, slots, 0.7, witnesses, forgive, Tells())
    state = heard(said, rounds, devices, seed)
    order = seeds.rng(seed, "witnesses").permutation(devices)
    settings = {"rule": rule, "how": how, "reference": kept, "slots": slots, "short": 0.7, "witnesses": witnesses}
    plain = oracle.believed(devices, rounds, order, forgive=forgive, **settings)
    np.testing.assert_allclose(said.believe(None, state), plain, atol=2e-6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-1, 3), max_size=12), st.integers(0, 99), st.integers(0, 5))
def test_everybody_is_watched_by_as_many_as_there_are_or_may_be(groups, seed, most):
    labels = np.array(groups, np.intp)
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(labels))
    who, whom = watching(labels, order, most)
    assert (labels[who] == labels[whom]).all()
    assert (who != whom).all()
    assert len({*zip(who.tolist(), whom.tolist(), strict=True)}) == len(who)
    for place, label in enumerate(groups):
        assert (whom == place).sum() == min(most, groups.count(label) - 1)


def test_who_watches_stays_the_same_while_it_is_there():
    order = np.array([3, 0, 2, 1, 4])
    before, after = (watching(np.zeros(len(some), np.intp), order[some], 1) for some in (np.arange(5), np.array([0, 1, 2, 3])))
    pairs = [set(zip(who.tolist(), whom.tolist(), strict=True)) for who, whom in (before, after)]
    assert len(pairs[0] & pairs[1]) == 3


def test_the_lazy_are_found_and_the_honest_are_not():
    sizes = (25, 20, 30, 25, 20, 25, 25, 28, 22, 20)
    recipe = Central(SGD(Steps(epochs=2, batch_size=5)), Mean(), Uniform(10), trust=Evidence())
    for use in (0.1, 0.2):
        federation = small(sizes, world=World(attack="selfish", attackers=0.3, lazy_use=use))
        records = played(recipe, federation, 4)
        lazy = federation.reality.efforts(1) < 1
        trust = records[-1].state["trust"].trust
        assert (trust[lazy] < 0.5).all()
        assert (trust[~lazy] > 0.8).all()
        assert set(records[-1].asked) == set(np.flatnonzero(~lazy))


def test_a_suspect_has_a_way_back_where_it_is_told_to_forgive():
    sizes, world = (25, 20, 30, 25, 20, 25), World(attack="selfish", attackers=0.17, lazy_use=0.1)
    for forgive, times in ((0, 1), (3, 3)):
        recipe = Central(SGD(Steps(epochs=1, batch_size=5)), Mean(), Uniform(6), trust=Evidence(forgive=forgive))
        federation = small(sizes, world=world)
        (lazy,) = np.flatnonzero(federation.reality.efforts(1) < 1)
        assert sum(lazy in record.asked for record in played(recipe, federation, 10)) == times


def test_where_all_work_all_are_trusted():
    recipe = Central(SGD(Steps(epochs=1, batch_size=5)), Mean(), Uniform(6), trust=Evidence(audit=Audit()))
    record = played(recipe, small(), 5)[-1]
    assert (record.state["trust"].trust > 0.85).all()


def test_short_updates_are_short_for_their_coalition():
    lengths = np.array([1.0, 1.1, 0.9, 0.6, 0.1, 0.1, 0.1])
    groups = np.array([0, 0, 0, 0, 1, 1, 1])
    assert too_short(lengths, groups, 0.7).tolist() == [False, False, False, True, False, False, False]
    assert not too_short(lengths[:2], groups[:2], 0.7).any()
    assert not too_short(lengths, groups, 0.0).any()


def test_each_of_its_settings_keeps_the_contract():
    check_believer(
        Evidence(rule="printed", recommendations="median", reference=2, slots=2, witnesses=1, audit=Tells()), rounds=3
    )


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"threshold": 1.2}, r"threshold: must be in \[0, 1\]"),
        ({"rule": "exact"}, "rule: must be 'reference' or 'printed'"),
        ({"recommendations": "mode"}, "recommendations: must be"),
        ({"reference": -1}, "reference: must be"),
        ({"slots": 0}, "slots: must be"),
        ({"short": 2}, "short: must be"),
        ({"witnesses": -1}, "witnesses: must be"),
        ({"forgive": -1}, "forgive: must be"),
        ({"audit": Evidence()}, "audit: must be a rule that wants no readings"),
    ],
)
def test_impossible_settings_are_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        Evidence(**wrong)

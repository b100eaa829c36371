from dataclasses import replace

import numpy as np
from scipy.stats import chisquare

from coterie import play
from coterie.catalog import clusters_only
from coterie.selectors import ClustersOnly
from coterie.testing import Toy


def test_one_of_each_coalition_all_members_with_the_same_chance():
    toy, rule = Toy(clients=9, seed=1), ClustersOnly(per_round=3, warmup=0)
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    state = replace(rule.begin(toy.roster), labels=labels)
    rounds = 3_000
    chosen = np.array([rule.choose(toy.view(t).towards("choose"), state) for t in range(2, rounds + 2)])
    assert (np.sort(labels[chosen], axis=1) == [0, 1, 2]).all()
    for coalition in range(3):
        counts = np.bincount(chosen.ravel(), minlength=9)[labels == coalition]
        assert chisquare(counts).pvalue > 0.001


def test_after_the_warmup_coalitions_are_as_many_as_are_chosen():
    records = list(play(clusters_only(per_round=3, warmup=2), Toy(clients=12, seed=2), 6))
    assert all(len(record.asked) == 3 for record in records)
    assert set(records[-1].state["selector"].labels.tolist()) == {0, 1, 2}

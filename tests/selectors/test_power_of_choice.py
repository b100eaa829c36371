import numpy as np
import pytest
from scipy.stats import chisquare

from coterie import play
from coterie.catalog import power_of_choice
from coterie.selectors import PowerOfChoice
from coterie.testing import Chances, Toy


def test_the_worst_served_of_all_when_all_are_candidates():
    toy = Toy(clients=8, seed=2)
    losses = toy.view(1).ask.losses(np.arange(8))
    chosen = PowerOfChoice(3, candidates=8).choose(toy.view(1), None)
    assert chosen.tolist() == sorted(np.argsort(-losses)[:3].tolist())


def test_candidates_are_drawn_by_size_and_asked_once_each():
    toy, rounds = Toy(clients=5, seed=4), 3_000
    asked = []
    for t in range(1, rounds + 1):
        view = toy.view(t)
        PowerOfChoice(1, candidates=1).choose(view.towards("choose"), None)
        assert toy.meter().evaluations == 1
    for t in range(1, rounds + 1):
        asked.extend(PowerOfChoice(1, candidates=1).choose(toy.view(t).towards("choose"), None).tolist())
    assert chisquare(np.bincount(asked, minlength=5), rounds * toy.roster.share()).pvalue > 0.001


def test_twice_the_round_is_looked_at_by_default_and_written_down():
    toy = Toy(clients=12, seed=1)
    view = toy.view(1)
    chosen = PowerOfChoice(3).choose(view, None)
    assert len(view.why.candidates) == 6
    worst = view.why.candidates[np.argsort(-view.why.columns["loss"])[:3]]
    assert sorted(worst.tolist()) == chosen.tolist()


def test_who_gives_no_answer_is_not_chosen():
    toy = Toy(clients=12, seed=1, chances=Chances(answering=0.5))
    view = toy.view(1)
    answers = ~np.isnan(view.ask.losses(np.arange(12)))
    chosen = PowerOfChoice(12, candidates=12).choose(view, None)
    assert chosen.tolist() == np.flatnonzero(answers).tolist()


def test_a_mini_batch_costs_the_same_bytes_and_gives_another_loss():
    toy = Toy(clients=8, seed=2)
    whole, batch = toy.view(1), toy.view(1)
    PowerOfChoice(2, candidates=8).choose(whole, None)
    PowerOfChoice(2, candidates=8, variant="cpow-d", batch_size=1).choose(batch, None)
    assert not np.allclose(whole.why.columns["loss"], batch.why.columns["loss"])


def test_rpow_d_asks_nobody_and_takes_those_never_seen_first():
    toy = Toy(clients=6, seed=3)
    records = list(play(power_of_choice(2, candidates=6, variant="rpow-d"), toy, 4))
    assert all(record.meter.evaluations == 0 for record in records)
    seen = np.concatenate([record.asked for record in records[:3]])
    assert sorted(seen.tolist()) == [0, 1, 2, 3, 4, 5]
    last = records[2].state["selector"]
    assert records[3].asked.tolist() == sorted(np.argsort(-last)[:2].tolist())


def test_the_last_training_is_what_rpow_d_remembers():
    toy = Toy(clients=4, seed=3)
    record = next(play(power_of_choice(2, variant="rpow-d"), toy, 1))
    np.testing.assert_array_equal(record.state["selector"][record.answered], record.facts["loss"])
    assert np.isinf(np.delete(record.state["selector"], record.answered)).all()


def test_refuses_fewer_candidates_than_are_chosen():
    with pytest.raises(ValueError, match=r"candidates: must be at least per_round \(5\), not 4"):
        PowerOfChoice(5, candidates=4)

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.backbones import SGD
from coterie.plan import Plan
from coterie.probe import Probe
from coterie.testing import Chances, Toy


def test_answers_are_on_the_client_s_own_data():
    toy = Toy(clients=4, seed=1)
    ask = toy.view(1).ask
    for split in ("train", "holdout", "test"):
        expected = [toy.model.losses(toy.models[0], toy.samples[k][split]).mean() for k in (2, 0)]
        np.testing.assert_allclose(ask.losses([2, 0], split=split), expected)
    expected = toy.model.gradient(toy.models[0], toy.samples[3]["train"])
    np.testing.assert_array_equal(ask.gradients([3])[0], expected)
    np.testing.assert_array_equal(ask.gradients([3], part=slice(2, 5))[0], expected[2:5])
    assert ask.label_counts([1]).sum() == toy.roster["size"][1]


def test_one_answer_an_edge_about_models_that_just_came():
    toy = Toy(clients=4, seed=1)
    ask = toy.view(1).ask
    replies = toy.train(Plan.star([1, 3], SGD()))
    told = ask.losses([0, 2, 2], about=[1, 0, 1], among=replies)
    expected = [toy.model.losses(replies.models[r], toy.samples[k]["holdout"]).mean() for k, r in [(0, 1), (2, 0), (2, 1)]]
    np.testing.assert_allclose(told, expected)


def test_a_probe_is_the_change_of_the_loss():
    toy = Toy(clients=3, seed=1)
    probe = Probe(seed=5, directions=3)
    told = toy.view(1).ask.probe([1], probe)[0]
    samples = toy.samples[1]["holdout"]
    before = toy.model.losses(toy.models[0], samples).mean()
    expected = [toy.model.losses(toy.models[0] + move, samples).mean() - before for move in probe.moves(toy.layout.size)]
    np.testing.assert_allclose(told, expected, atol=1e-7)


@given(st.integers(0, 200))
def test_silence_is_nan_and_is_paid_for_by_nobody_else(seed):
    toy = Toy(clients=5, seed=seed, chances=Chances(present=0.7, answering=0.7))
    view = toy.view(1)
    told = view.ask.losses(np.arange(5))
    assert np.isnan(np.delete(told, view.present)).all()
    assert np.array_equal(np.isnan(told), np.isnan(view.ask.gradients(np.arange(5)).sum(axis=1)))
    assert toy.meter().evaluations == 10

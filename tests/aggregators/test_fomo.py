import numpy as np

from coterie import play
from coterie.aggregators import Fomo
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.neighbors import Gossip
from coterie.recipe import Peers
from coterie.testing import Toy
from tests.oracles.round import merged


def test_models_count_by_how_much_they_help_for_how_far_they_lie():
    toy = Toy(5, seed=4)
    recipe = Peers(SGD(Steps(epochs=2, lr=0.3)), Fomo(), Gossip(3))
    for _ in range(2):
        view = toy.view(toy.round + 1)
        state = recipe.begin(toy.roster)
        plan = recipe.plan(view, state)
        replies = toy.train(plan)
        merge, _ = recipe.mix(view, plan, replies, state)
        loss = lambda model, i: toy.model.losses(model, toy.samples[i]["holdout"]).mean()  # noqa: E731
        for i, row in enumerate(merge.weights.toarray()):
            before, expected = toy.models[toy.follows[i]], np.zeros(5)
            for j in np.flatnonzero(plan.hears.toarray()[i]):
                step = np.linalg.norm(replies.models[j].astype(float) - before)
                expected[j] = max(0.0, (loss(before, i) - loss(replies.models[j], i)) / step)
            np.testing.assert_allclose(row, expected / max(expected.sum(), 1e-300), atol=1e-5)
        toy.adopt(merge, replies)


def test_who_finds_no_better_model_keeps_its_own():
    toy = Toy(4, seed=1)
    worse = Peers(SGD(Steps(epochs=20, batch_size=1, lr=500.0)), Fomo(), Gossip(3))
    before = toy.models[0].copy()
    record = list(play(worse, toy, 1))[-1]
    kept = np.diff(record.merge.weights.indptr) == 0
    assert kept.any() and (toy.models[kept] == before).all()


def test_a_server_averages_alike():
    assert merged(Fomo(), [[1.0], [5.0]]) == 3.0

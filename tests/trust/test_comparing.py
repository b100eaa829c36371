import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.trust.comparing import FEWEST, Seen, sketched
from coterie.trust.past import Past
from tests.oracles import audit as plain


def rounds(seed, clients, dim, count, per_round):
    """Made-up rounds: updates with much in common, as training makes them."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(size=(2, dim)), rng.normal(size=(clients, dim))
    model = rng.normal(size=dim)
    for _ in range(count):
        ids = np.sort(rng.permutation(clients)[:per_round])
        mixed = rng.normal(size=(per_round, 2)) @ common
        updates = mixed + 0.5 * own[ids] + 0.3 * rng.normal(size=(per_round, dim))
        before = np.repeat(model[np.newaxis], per_round, axis=0).astype(np.float32)
        yield ids, before, (before + updates).astype(np.float32), rng.random(per_round)
        model = model + updates.mean(axis=0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), clients=st.integers(4, 16), dim=st.integers(60, 120), count=st.integers(1, 4))
def test_parts_and_chances_are_those_of_plain_regressions(seed, clients, dim, count):
    per_round = max(2, clients // 2)
    past, starts, sent = Past.none(clients), {}, {}
    last, steps, model = {}, [], None
    for ids, before, after, arrival in rounds(seed, clients, dim, count, per_round):
        seen = Seen.of(ids, before, after, arrival, past, 2048, 0)
        found = seen.nearest(past, 64)
        updates = after.astype(np.float64) - before
        if model is not None:
            steps = [before[0].astype(np.float64) - model, *steps][:3]
        own = [[last[k], sent[k] - before[0], starts[k] - before[0]] if k in last else [] for k in ids]
        known = [v for k, v in last.items() if k not in ids]
        expected = []
        for i in range(len(ids)):  # an own last update counts once as own, and stands among the others for all the rest
            elsewhere = [last[k] for k in ids if k in last and k != ids[i]]
            few = plain.nearest(updates, [*known, *elsewhere], steps, own, arrival)
            expected.append(few[i])
        np.testing.assert_allclose(found.part, [part for part, _ in expected], atol=1e-5)
        if count == 1 and per_round > 3:
            np.testing.assert_allclose(found.chance, [chance for _, chance in expected], rtol=0.02, atol=1e-9)
        for k, start, one, update in zip(ids, before, after, updates, strict=True):
            last[k], sent[k], starts[k] = update, one.astype(np.float64), start.astype(np.float64)
        model = before[0].astype(np.float64)
        past = seen.remembered(past, np.ones(len(ids), bool), found.leaning)


def test_noise_passes_as_often_as_it_should():
    """The chance of noise is uniform: what the question rests on."""
    rng = np.random.default_rng(3)
    chances = []
    for _ in range(60):
        updates = np.concatenate([rng.normal(size=(1, 300)) + rng.normal(size=(10, 300)), rng.normal(size=(10, 300))])
        before = np.zeros((20, 300), np.float32)
        seen = Seen.of(np.arange(20), before, updates.astype(np.float32), np.zeros(20), Past.none(20), 2048, 0)
        chances.extend(seen.nearest(Past.none(20), 64).chance[10:])
    chances = np.array(chances)
    assert (chances < 0.05).mean() < 0.09
    assert (chances < 1e-3).mean() < 0.01
    assert chances.mean() > 0.4


def test_leaning_is_the_plain_sum():
    rng = np.random.default_rng(5)
    updates = rng.normal(size=(FEWEST + 2, 50)) + rng.normal(size=50)
    before = np.zeros(updates.shape, np.float32)
    seen = Seen.of(np.arange(len(updates)), before, updates.astype(np.float32), np.zeros(len(updates)), Past.none(20), 64, 0)
    found = seen.nearest(Past.none(20), 64).leaning
    expected = [plain.leaning(updates[i], np.delete(updates, i, axis=0)) for i in range(len(updates))]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("dim", [2048, 2410, 26000])
def test_sketches_keep_angles_and_lengths(dim):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2, dim)) * np.exp(rng.normal(size=dim))
    rows[1] += rows[0]
    few = sketched(rows, 2048, 7)
    assert few.shape[1] <= 2048
    length, short = np.linalg.norm(rows, axis=1), np.linalg.norm(few, axis=1)
    np.testing.assert_allclose(short, length, rtol=0.1)
    assert plain.cosine(*few) == pytest.approx(plain.cosine(*rows), abs=0.07)


def test_many_replies_are_compared_in_little_memory():
    rng = np.random.default_rng(2)
    updates = (rng.normal(size=400) + rng.normal(size=(600, 400))).astype(np.float32)
    updates[599] = rng.normal(size=400)
    seen = Seen.of(np.arange(600), np.zeros_like(updates), updates, np.zeros(600), Past.none(600), 2048, 0)
    chance = seen.nearest(Past.none(600), 64).chance
    assert chance[599] > 1e-3
    assert (chance[:599] < 1e-3).all()

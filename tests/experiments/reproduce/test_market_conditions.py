import json

import numpy as np
import pytest

import coterie.data as data
from coterie.experiments.problems import BadInputError
from coterie.experiments.reproduce import Options, _hired, market_conditions
from coterie.experiments.reproduce._hired import Blurs, People, Shirks, train
from coterie.replies import Reply


@pytest.fixture(scope="module")
def people():
    return People.of(data.load("digits"), 0.5, 0.5, seed=1, clients=40)


def test_a_cohort_of_shirkers_learns_less_and_the_audit_sees_why(people):
    order = np.argsort(people.reliability)
    required = np.ones(10, dtype=bool)
    good, bad = (train(people, some, required, 30, every=30) for some in (order[-12:], order[:12]))
    assert good.everything[-1] > bad.everything[-1] + 0.05
    assert good.everything == good.required
    judged = train(people, order[14:26], required, 6, audited=True).judged
    found = {client: dishonest / (honest + dishonest) for client, (honest, dishonest) in judged.items()}
    reliable = np.array([people.reliability[client] for client in found])
    assert np.mean(np.array([*found.values()])[reliable < 0.5]) > np.mean(np.array([*found.values()])[reliable > 0.9]) + 0.3


def test_noise_is_as_long_as_the_update_or_as_epsilon_says():
    start, dice = np.zeros(10_000, np.float32), np.random.default_rng(0)
    model = start + 0.01
    sent = Shirks(np.zeros(1)).sends(Reply(0, model, 50, 1), start, dice)[0]
    assert np.linalg.norm(sent.model) == pytest.approx(np.linalg.norm(model), rel=1e-4)
    assert abs(np.corrcoef(sent.model, np.arange(10_000))[0, 1]) < 0.1
    blurred = Blurs(epsilon=20, clip=0.5).sends(Reply(0, model, 50, 1), start, dice)[0]
    assert np.std(blurred.model) == pytest.approx(np.sqrt(2 * np.log(1250)) * 2 * 0.5 / (50 * 20), rel=0.05)
    assert np.mean(blurred.model) == pytest.approx(0.5 / 100, rel=0.1)


def test_reputations_move_by_what_the_audit_found(people):
    asked = market_conditions.Task(quotas=np.full(10, 20), budget=40_000, reserve_price=4000)
    before = _hired.History.newcomers(40)
    after = before.after_task(people, asked, 1)
    assert (after.reputations[after.last] > 0).any()
    assert (np.delete(after.reputations, after.last) == 0).all()
    assert after.reputations.max() == pytest.approx(_hired.BEFORE * _hired.PIPP.reward)


def test_the_gap_is_played_and_printed(capsys):
    found = market_conditions.run(Options(setting="gap", seeds="4", rounds=5, jobs=1))
    rows = found["settings"]["gap"]
    assert rows["exhaustive"]["utility"]["mean"] == 1 >= rows["greedy"]["utility"]["mean"] > 0.5
    assert "91.25 %" in capsys.readouterr().out
    json.dumps(found)


@pytest.mark.parametrize(("setting", "seeds", "methods"), [("5.2", None, None), ("gap", "0", None), ("gap", None, "ours")])
def test_bad_options_are_refused(setting, seeds, methods):
    with pytest.raises(BadInputError):
        market_conditions.run(Options(setting=setting, seeds=seeds, methods=methods))

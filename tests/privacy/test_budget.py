import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.experiments.tree import flatten, rebuild
from coterie.privacy.budget import Budget, address_of_report
from coterie.report import Bounded, Report

ASKED = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.25, 0.5, 2.0]), st.integers(0, 2)), max_size=30)


def asking(budget, report, clients, row=0, tell=None):
    clients = np.array(clients, np.intp)
    thrown = tell or (lambda places: np.arange(len(places) * len(report.numbers), dtype=float).reshape(len(places), -1))
    addresses = [address_of_report(report, row, False)] * len(clients)
    return budget.ask(report, clients, addresses, np.ones(len(clients), bool), thrown)


def sized(epsilon, occasion=0, cap=np.inf):
    return Report((Bounded("size", epsilon=epsilon),), occasion, cap=cap)


@settings(max_examples=60, deadline=None)
@given(ASKED, st.sampled_from([0.6, 2.5, np.inf]))
def test_the_running_total_is_that_of_a_list_of_releases(asked, cap):
    budget, releases = Budget(4), {}
    for client, epsilon, occasion in asked:
        asking(budget, sized(epsilon, occasion, cap), [client])
        spent = sum(e for (k, _), e in releases.items() if k == client)
        if (client, occasion) not in releases and spent + epsilon <= cap + 1e-9:
            releases[client, occasion] = epsilon
    for client in range(4):
        assert budget.spent[client] == pytest.approx(sum(e for (k, _), e in releases.items() if k == client))
    assert (budget.spent <= cap + 1e-9).all()


def test_a_retried_report_repeats_its_noise_and_costs_nothing():
    budget, dice = Budget(1), np.random.default_rng(0)
    answers = [asking(budget, sized(0.5), [0], tell=lambda places: dice.laplace(size=(len(places), 1)))[0] for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert budget.spent.tolist() == [0.5]


def test_who_is_asked_twice_at_once_answers_once():
    budget = Budget(2)
    answers, fresh = asking(budget, sized(0.5), [1, 1, 0])
    assert answers[0] == answers[1]
    assert fresh.tolist() == [0, 2]
    assert budget.spent.tolist() == [0.5, 0.5]


def test_past_its_cap_a_client_does_not_answer():
    budget = Budget(1)
    told = [asking(budget, sized(0.4, occasion, cap=1.0), [0])[0][0, 0] for occasion in (1, 2, 3)]
    assert np.isfinite(told).tolist() == [True, True, False]
    assert budget.spent[0] == pytest.approx(0.8)
    assert np.isfinite(asking(budget, sized(0.4, 1, cap=1.0), [0])[0]), "what was told can be told again"


def test_whom_no_answer_came_from_has_spent_nothing():
    budget = Budget(2)
    answers, fresh = asking(budget, sized(0.5), [0, 1], tell=lambda places: np.array([[np.nan], [3.0]]))
    assert np.isnan(answers[0]).all()
    assert fresh.tolist() == [1]
    assert budget.spent.tolist() == [0.0, 0.5]


def test_other_models_and_occasions_are_other_releases():
    budget, report = Budget(1), Report((Bounded("loss", epsilon=0.5),), occasion=2)
    for row in (0, 1, 0):
        asking(budget, report, [0], row)
    assert budget.spent[0] == pytest.approx(1.0)
    asking(budget, sized(0.5), [0], row=1)
    asking(budget, sized(0.5), [0], row=2)
    assert budget.spent[0] == pytest.approx(1.5), "a size is about no model"


def test_the_total_survives_a_checkpoint():
    budget = Budget(3)
    before, _ = asking(budget, sized(0.5), [0, 2])
    other = Budget(3)
    other.restore(rebuild(*flatten(budget.state())))
    np.testing.assert_array_equal(other.spent, [0.5, 0, 0.5])
    again, fresh = asking(other, sized(0.5), [0, 2], tell=lambda places: np.full((len(places), 1), 99.0))
    np.testing.assert_array_equal(again, before)
    assert not len(fresh)


def test_rounds_that_are_over_are_forgotten_but_not_what_is_told_once_nor_what_was_spent():
    budget = Budget(1)
    for occasion in (0, 1, 2):
        asking(budget, sized(0.5, occasion), [0])
    budget.forget(2)
    assert len(budget.answers) == 2
    assert budget.spent[0] == pytest.approx(1.5)


def test_the_sum_is_the_composition_that_dp_accounting_finds():
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting import pld, rdp

    budget, accountant, budgets = Budget(1), pld.PLDAccountant(), (0.5, 0.5, 1.0, 0.25)
    for occasion, epsilon in enumerate(budgets):
        asking(budget, sized(epsilon, occasion), [0])
        accountant.compose(accounting.LaplaceDpEvent(sized(epsilon).numbers[0].scale))
    assert budget.spent[0] == pytest.approx(accountant.get_epsilon(1e-9), rel=1e-3)
    many = rdp.RdpAccountant().compose(accounting.LaplaceDpEvent(1 / 0.5), 100)
    assert many.get_epsilon(1e-5) < 100 * 0.5, "the sum is the pure composition, above what a small delta would buy"

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.market.reputation import Event, Pipp, Standing

kinds = st.sampled_from(["joined", "honest", "dishonest", "missed"])
histories = st.lists(st.tuples(kinds, st.integers(0, 5)), max_size=15)


def events_of(history):
    """Events at times that never go back."""
    at, events = 0, []
    for number, (kind, wait) in enumerate(history):
        at += wait
        events.append(Event(number, kind, at, "audit"))
    return events


@given(histories, st.integers(0, 9))
def test_a_fold_equals_a_clock_that_ticks(history, later):
    """Decay by the clock, tick by tick, is what lazy decay works out at once."""
    rules, events = Pipp(decay=0.3, welcome=0.1), events_of(history)
    end = (events[-1].at if events else 0) + later
    value, begun = rules.welcome, False
    for tick in range(end + 1):
        value *= math.exp(-rules.decay) if begun else 1
        for event in events:
            if event.at == tick:
                begun = True
                value += rules.reward * (event.kind == "honest")
                value = max(0, value - rules.penalty * (event.kind == "dishonest"))
    assert rules.read(events, end) == pytest.approx(value, abs=1e-12)


@given(histories)
def test_reputation_is_never_below_zero_and_a_stored_standing_goes_on(history):
    rules, events = Pipp(decay=0.1), events_of(history)
    standing = rules.fold([])
    for event in events:
        standing = rules.after(standing, event)
        assert standing.value >= 0
    assert standing == rules.fold(reversed(events)) == rules.fold(events)


def test_ten_honest_rounds_are_lost_in_one():
    events = [Event(n, "honest", n, "audit") for n in range(10)]
    assert Pipp().read(events, 9) == pytest.approx(0.2)
    assert Pipp().read([*events, Event(10, "dishonest", 10, "copied an update")], 10) == pytest.approx(0)


def test_a_missed_upload_costs_only_time():
    rules = Pipp(decay=0.5)
    events = [Event(1, "honest", 0, "audit"), Event(2, "missed", 2, "no upload")]
    assert rules.read(events, 4) == pytest.approx(0.02 * math.exp(-2))


def test_an_overturned_penalty_is_as_if_it_had_never_been():
    before = [Event(1, "honest", 1, "audit"), Event(2, "honest", 2, "audit")]
    penalty, after = Event(3, "dishonest", 3, "looked like a copy"), Event(4, "honest", 4, "audit")
    appeal = Event(5, "overturned", 5, "the data proves it", overturns=3)
    rules = Pipp(decay=0.1)
    assert rules.read([*before, penalty, after], 5) < rules.read([*before, after], 5)
    assert rules.read([*before, penalty, after, appeal], 5) == rules.read([*before, after], 5)
    assert rules.read([*before, penalty, after, appeal], 4) == rules.read([*before, penalty, after], 4)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Event(1, "bad", 0, "x"), "'bad', none of joined"),
        (lambda: Event(1, "honest", math.nan, "x"), "has no time"),
        (lambda: Event(1, "honest", 0, ""), "has no reason"),
        (lambda: Event(1, "honest", 0, "x", overturns=0), "if, and only if"),
        (lambda: Event(1, "overturned", 0, "x"), "if, and only if"),
        (lambda: Pipp(reward=-1), "reward must be"),
        (lambda: Pipp(reward=0.2, penalty=0.2), "must be above the reward"),
        (lambda: Pipp(decay=math.inf), "decay must be"),
        (lambda: Pipp().fold([Event(1, "honest", 0, "x"), Event(1, "honest", 1, "x")]), "two events have the number 1"),
        (lambda: Pipp().fold([Event(1, "overturned", 0, "x", overturns=7)]), "no earlier judgment"),
        (lambda: Pipp().fold([Event(0, "joined", 0, "x"), Event(1, "overturned", 0, "x", overturns=0)]), "no earlier"),
        (lambda: Pipp().faded(Standing(1, 5), 4), "says nothing of the earlier time"),
    ],
)
def test_bad_input_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()

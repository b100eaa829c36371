from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.backbones import SGD
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.selectors import RoundRobin
from coterie.testing import Toy
from tests.oracles.queue import Queue

NOBODY = Replies(np.empty(0, np.intp), np.empty((0, 12), np.float32), np.empty(0, np.int64))


def turns(selector, clients, presents):
    toy, result = Toy(clients=clients), []
    state = selector.begin(toy.roster)
    for t, present in enumerate(presents, 1):
        view = replace(toy.view(t), present=np.array(sorted(present), dtype=np.intp))
        chosen = selector.choose(view, state)
        state = selector.learn(view, Plan.star(chosen, SGD()), NOBODY, state)
        result.append(chosen.tolist())
    return result


def test_walks_around_the_table_even_if_nobody_replies():
    assert turns(RoundRobin(2), 5, [range(5)] * 5) == [[0, 1], [2, 3], [0, 4], [1, 2], [3, 4]]


def test_who_was_absent_comes_first_when_it_is_back():
    assert turns(RoundRobin(2), 4, [{1, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}]) == [[1, 2], [1, 3], [0, 2]]


@given(
    clients=st.integers(1, 8),
    per_round=st.integers(1, 4),
    absences=st.lists(st.sets(st.integers(0, 7)), min_size=1, max_size=12),
)
def test_is_a_queue(clients, per_round, absences):
    presents = [set(range(clients)) - absent for absent in absences]
    queue = Queue(clients)
    assert turns(RoundRobin(per_round), clients, presents) == [queue.next(per_round, present) for present in presents]

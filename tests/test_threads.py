import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

import coterie as ct
from coterie.threads import one_thread


def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_one_thread_as_long_as_it_lasts():
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(2):
        with one_thread():
            assert threads() == {1}
            with one_thread():
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == {2}


def test_what_rules_choose_does_not_show_how_many_threads_there_are():
    """FedCor climbs a likelihood for 150 steps, by products that several threads would sum in another order."""
    ends = []
    for count in (1, 2):
        with threadpool_limits(count), ct.simulate("digits", partition=ct.data.shards(1), clients=50, seed=1, workers=1) as fed:
            *_, last = ct.play(ct.fedcor(per_round=5, warmup=2), fed, 5)
            ends.append((last.state["selector"].embeddings.tobytes(), fed.models.tobytes()))
    assert ends[0] == ends[1]

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from coterie.experiments import clients_figures


def table(labels):
    return pd.DataFrame({"round": np.arange(1, len(labels) + 1), "coalitions": [np.array(one) for one in labels]})


def test_holdings_are_drawn_with_their_data():
    counts = np.array([[3, 0, 1], [0, 4, 0], [0, 0, 0]])
    picture = clients_figures.holdings(counts, 1)
    rows = picture.data.itertuples(index=False)
    assert {tuple(row) for row in rows} == {(0, 0, 3), (0, 2, 1), (1, 1, 4)}
    assert "<svg" in picture.svg and "Seed 1, all clients" in picture.caption


def test_of_many_clients_some_are_shown_and_all_are_in_the_data():
    picture = clients_figures.holdings(np.full((250, 62), 2), 3)
    assert "100 of 250 clients" in picture.caption
    assert picture.data["client"].nunique() == 250


def test_coalitions_that_only_change_their_number_keep_their_color():
    picture = clients_figures.coalitions("cluster-fl", table([[0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 2]]), 1)
    last = picture.data[picture.data["round"] == 3]["coalition"].tolist()
    assert last == [0, 0, 1, 2]
    assert "3 in the last round" in picture.caption
    assert picture.name == "coalitions-cluster-fl"


def test_where_all_are_together_there_is_nothing_to_show():
    assert clients_figures.coalitions("fedavg", table([[0, 0], [0, 0]]), 1) is None
    assert clients_figures.coalitions("fedavg", pd.DataFrame({"round": [1]}), 1) is None
    assert clients_figures.coalitions("fedavg", pd.DataFrame({"round": [1], "coalitions": [None]}), 1) is None


@given(st.lists(st.lists(st.integers(-1, 3), min_size=5, max_size=5), min_size=1, max_size=6))
def test_renumbering_keeps_every_round_s_partition(labels):
    before = np.array(labels)
    after = clients_figures.followed(before)
    for one, other in zip(before, after, strict=True):
        assert ((one < 0) == (other < 0)).all()
        assert ((one[:, None] == one) == (other[:, None] == other)).all()

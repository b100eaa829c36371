import pytest

import coterie.data as data
from coterie.data import pictures


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def test_a_picture_shows_what_is_held(digits, tmp_path):
    partition = data.two_level(4, alpha=0.1, beta=0.01).split(digits, 60, 1)
    figure = data.picture(partition, digits)
    figure.savefig(tmp_path / "one.png", dpi=50)
    figure.savefig(tmp_path / "one.svg")
    labels, looks, sizes = figure.subfigs[0].axes + figure.subfigs[1].axes
    found = data.measure(partition, digits)
    assert f"{found.empty_clients} clients hold nothing" in figure.get_suptitle()
    clients = [int(tick.get_text()) for tick in labels.get_xticklabels()]
    held = sum(patch.get_height() for patch in labels.patches)
    assert held == partition.sizes[clients].sum() and len(clients) == min(20, (partition.sizes > 0).sum())
    assert len(looks.get_legend().get_texts()) == 6
    assert sizes.get_ylim()[1] >= partition.sizes.max()


def test_the_same_seed_shows_the_same_clients(digits):
    partition = data.shards().split(digits, 100, 1)
    one, two, three = ([t.get_text() for t in _labels(partition, digits, seed).get_xticklabels()] for seed in (1, 1, 2))
    assert one == two != three


def _labels(partition, digits, seed):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    pictures.labels(axes, partition, digits, seed=seed)
    return axes


def test_schemes_stand_side_by_side(digits, tmp_path):
    parted = {name: data.SCHEMES[name]().split(digits, 30, 1) for name in ("iid", "shards", "dirichlet")}
    figure = data.side_by_side(parted, digits)
    figure.savefig(tmp_path / "side.png", dpi=50)
    entropy = [patch.get_width() for patch in figure.axes[0].patches]
    assert entropy == [data.measure(one, digits).entropy for one in parted.values()]


def test_few_clients_and_regressions_have_pictures_too(digits, tmp_path):
    data.picture(data.iid().split(digits, 2, 1), digits).savefig(tmp_path / "two.png", dpi=40)
    task = data.regression(clients=3)
    parted = {"natural": data.natural().split(task, 3, 1), "iid": data.iid().split(task, 3, 1)}
    data.picture(parted["natural"], task).savefig(tmp_path / "lines.png", dpi=40)
    figure = data.side_by_side(parted, task)
    figure.savefig(tmp_path / "side.png", dpi=40)
    assert [text.get_text() for text in figure.axes[0].texts] == ["no labels"] * 2

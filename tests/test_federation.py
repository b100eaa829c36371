import numpy as np
import pytest

from coterie.federation import Layout, Steps

LAYOUT = Layout(("body.0.weight", "body.0.bias", "head.weight", "head.bias"), ((4, 3), (4,), (2, 4), (2,)))


def test_a_layout_names_every_coordinate_once():
    flat = np.arange(LAYOUT.size, dtype=np.float32)
    parts = LAYOUT.split(flat)
    np.testing.assert_array_equal(np.concatenate([part.ravel() for part in parts.values()]), flat)
    assert parts["head.weight"].shape == (2, 4)
    assert parts["body.0.bias"].base is not None


def test_a_layout_knows_the_classifier_and_the_layer_before():
    assert LAYOUT.head == slice(16, 26)
    assert LAYOUT.featurizer == slice(0, 16)
    one = Layout(("0.weight", "0.bias"), ((1, 2), (1,)))
    assert one.head == one.featurizer == slice(0, 3)


def test_the_learning_rate_follows_its_schedule():
    steps = Steps(lr=0.4, halve_at=(2, 3))
    assert [steps.rate(t) for t in (1, 2, 3, 4)] == [0.4, 0.4, 0.2, 0.1]
    assert Steps(lr=1.0, decay=0.5).rate(3) == 0.25


@pytest.mark.parametrize(
    "wrong",
    [{"epochs": 0}, {"batch_size": 0}, {"lr": 0}, {"lr": float("nan")}, {"momentum": 1}, {"weight_decay": -1}, {"decay": 0}],
)
def test_impossible_steps_are_refused_by_name(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Steps(**wrong)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.backbones.meta_net import MetaNet


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 999))
@settings(max_examples=30, deadline=None)
def test_slopes_are_those_of_short_steps(inputs, outputs, seed):
    dice = np.random.default_rng(seed)
    net = MetaNet(inputs, outputs, hidden=5, most=1e9, gain=1.0, bias=0.3)
    parameters, given_, outward = net.first(dice), dice.normal(size=inputs), dice.normal(size=outputs)
    if net.told(parameters, given_).min() <= 1e-3:
        return  # at the clamp the slope is meant to be another
    along = dice.normal(size=net.size) * 1e-6
    there, here = (outward @ net.told(parameters + sign * along, given_) for sign in (1, -1))
    assert net.slope(parameters, given_, outward) @ along == pytest.approx((there - here) / 2, rel=1e-3, abs=1e-9)


def test_outputs_are_clamped_and_slopes_pass_the_clamp():
    net = MetaNet(1, 2, hidden=3, bias=2.0)
    parameters = net.first(np.random.default_rng(0))
    assert net.told(parameters, np.zeros(1)).tolist() == [1.0, 1.0]
    assert np.abs(net.slope(parameters, np.zeros(1), np.ones(2))).sum() > 0


def test_first_outputs_are_near_the_bias():
    net = MetaNet(4, 6, bias=0.5)
    told = net.told(net.first(np.random.default_rng(1)), np.ones(4))
    assert len(net.first(np.random.default_rng(1))) == net.size and np.abs(told - 0.5).max() < 0.5

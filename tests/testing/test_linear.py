import numpy as np
from scipy.optimize import check_grad

from coterie.federation import Steps
from coterie.testing.linear import Linear

rng = np.random.default_rng(0)
SAMPLES = (rng.normal(size=(20, 3)).astype(np.float32), rng.integers(0, 4, 20))
MODEL = Linear(3, 4)


def test_the_gradient_is_the_loss_s():
    start = rng.normal(size=MODEL.layout.size)
    error = check_grad(lambda w: MODEL.losses(w, SAMPLES).mean(), lambda w: MODEL.gradient(w, SAMPLES).astype(float), start)
    assert error < 1e-5


def test_every_epoch_sees_every_sample_once_and_steps_can_end_it():
    start = np.zeros(MODEL.layout.size, np.float32)
    whole = MODEL.descend(start, SAMPLES, np.random.default_rng(1), Steps(epochs=1, batch_size=7), 0.1)
    one = MODEL.descend(start, SAMPLES, np.random.default_rng(1), Steps(epochs=9, batch_size=7, max_steps=3), 0.1)
    np.testing.assert_array_equal(whole.model, one.model)
    two = MODEL.descend(start, SAMPLES, np.random.default_rng(1), Steps(epochs=9, batch_size=7, max_steps=2), 0.1)
    assert not np.array_equal(one.model, two.model)


def test_only_what_may_move_moves():
    start = np.zeros(MODEL.layout.size, np.float32)
    moved = MODEL.descend(start, SAMPLES, np.random.default_rng(1), Steps(momentum=0.5), 0.1, only=slice(12, 16)).model
    assert not moved[:12].any()
    assert moved[12:].all()

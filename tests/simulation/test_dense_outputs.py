import numpy as np

from coterie.simulation.models import path_for


def test_outputs_and_losses_do_not_depend_on_how_many_samples_go_through_together():
    path, dice = path_for("mlp:6-5", (8,), 3), np.random.default_rng(0)
    model, x, y = path.initial(1), dice.normal(size=(1250, 8)).astype(np.float32), dice.integers(3, size=1250)
    parts = np.array_split(np.arange(1250), 9)
    np.testing.assert_allclose(path.outputs(model, x), np.concatenate([path.outputs(model, x[p]) for p in parts]), atol=1e-6)
    np.testing.assert_allclose(
        path.losses(model, x, y), np.concatenate([path.losses(model, x[p], y[p]) for p in parts]), atol=1e-6
    )

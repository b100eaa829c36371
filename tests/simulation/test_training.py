import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.backbones import SGD
from coterie.federation import Local, Steps
from coterie.rules import Backbone, Trained
from coterie.simulation import dice
from coterie.simulation.path import batches
from coterie.simulation.training import Fit, Home, samples_seen
from tests.simulation.small import small

STEPS = Steps(epochs=2, batch_size=8, lr=0.1)


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 50), st.none() | st.integers(1, 30))
def test_the_dice_bring_just_the_epochs_that_are_begun(samples, epochs, batch_size, max_steps):
    steps = Steps(epochs=epochs, batch_size=batch_size, max_steps=max_steps)
    order = dice.epochs(1, 2, "3", "train", 0, samples, steps)
    assert (np.sort(order, axis=1) == np.arange(samples)).all()
    whole = dice.epochs(1, 2, "3", "train", 0, samples, Steps(epochs=epochs, batch_size=batch_size))
    used = np.concatenate(list(batches(order, steps)))
    np.testing.assert_array_equal(used, np.concatenate(list(batches(whole, steps))))
    assert len(used) == samples_seen(samples, steps)
    assert (len(order) - 1) * samples < len(used)


def test_every_descent_round_client_and_purpose_has_dice_of_its_own():
    addresses = [(1, 1, "0", "train", 0), (2, 1, "0", "train", 0), (1, 2, "0", "train", 0), (1, 1, "1", "train", 0)]
    addresses += [(1, 1, "0", "tune", 0), (1, 1, "0", "train", 1)]
    orders = {dice.epochs(*address, 50, Steps(epochs=1)).tobytes() for address in addresses}
    assert len(orders) == len({dice.dropout(*address) for address in addresses}) == len(addresses)


def test_a_slice_moves_its_coordinates_only():
    federation = small()
    path = federation.crew.path
    start, head = federation.models[0], federation.layout.head
    home = Home(path, federation.clients.samples(0, "train"), 1, "0", 1)
    end = home.descend(start, STEPS, only=head).model
    assert (end[: head.start] == start[: head.start]).all()
    assert (end[head] != start[head]).all()
    mask = np.zeros(len(start), bool)
    mask[head] = True
    again = Home(path, federation.clients.samples(0, "train"), 1, "0", 1).descend(start, STEPS, only=mask).model
    np.testing.assert_array_equal(end, again)


class Twice(Backbone):
    def train(self, local: Local) -> Trained:
        first = local.descend(local.model, STEPS)
        return Trained(
            local.descend(first.model, Steps(epochs=1, batch_size=5, max_steps=2)).model, facts={"first": first.loss}
        )


def test_what_comes_of_a_training_is_told():
    federation = small()
    fitted = Fit(Twice(), 0, federation.models[0], {}, 1, frozenset({"loss_after"})).run(
        federation.crew.path, federation.clients
    )
    x, y = federation.clients.samples(0, "holdout")
    assert (fitted.count, fitted.seen) == (24, 2 * 24 + 2 * 5)
    assert set(fitted.trained.facts) == {"first", "loss_after"}
    losses = federation.crew.path.losses(fitted.trained.share, x, y)
    assert fitted.trained.facts["loss_after"] == pytest.approx(losses.mean(), rel=1e-6)


def test_a_fact_that_nobody_can_tell_is_refused():
    federation = small()
    with pytest.raises(ValueError, match="nobody can tell 'mood'"):
        Fit(SGD(STEPS), 0, federation.models[0], {}, 1, frozenset({"mood"})).run(federation.crew.path, federation.clients)

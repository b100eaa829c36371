from dataclasses import dataclass

import numpy as np
import pytest

from coterie.backbones import SGD, FineTune, Prox
from coterie.rules import Backbone, Trained
from coterie.testing import ContractError, check_backbone


@dataclass(frozen=True)
class Broken(Backbone):
    """Trains as plain descent does, but for one thing."""

    how: str

    def train(self, local):
        trained = SGD().train(local)
        share, dice = trained.share, np.random.default_rng()
        return {
            "bare": share,
            "double": Trained(share.astype(np.float64)),
            "short": Trained(share[:-1]),
            "nan": Trained(share * np.float32("nan")),
            "personal": Trained(share, personal=share[None, :]),
            "facts": Trained(share, facts={"loss": float("inf")}),
            "keep": Trained(share, keep={"note": "hello"}),
            "dice": Trained(share + dice.random(len(share), dtype=np.float32)),
        }[self.how]


@dataclass(frozen=True)
class Overwrites(Backbone):
    """Trains in place."""

    def train(self, local):
        local.model[:] = SGD().train(local).share
        return Trained(local.model)


@dataclass(frozen=True)
class OverwritesKept(Backbone):
    """Changes in place what it had kept."""

    def train(self, local):
        share = SGD().train(local).share
        if "last" in local.kept:
            local.kept["last"][:] = share
        return Trained(share, keep={"last": share})


@dataclass(frozen=True)
class GlobalDice(Backbone):
    """Throws dice of everybody's."""

    def train(self, local):
        np.random.random()  # noqa: NPY002 - the defect
        return SGD().train(local)


@pytest.mark.parametrize(
    ("backbone", "message"),
    [
        (Broken("bare"), "train returned a ndarray, not Trained"),
        (Broken("double"), "share: values are float64, not float32"),
        (Broken("short"), "share is not a model of 12 values"),
        (Broken("nan"), "share: values are not finite"),
        (Broken("personal"), "personal is not a model of 12 values"),
        (Broken("facts"), r"facts\['loss'\] is no finite number"),
        (Broken("keep"), r"keep\['note'\] is no array"),
        (Broken("dice"), "the same client, model and round gave another result"),
        (Overwrites(), "first training: ValueError: assignment destination is read-only"),
        (OverwritesKept(), "second training: ValueError: assignment destination is read-only"),
        (GlobalDice(), "threw the global dice of numpy.random"),
    ],
)
def test_a_planted_defect_is_found_and_named(backbone, message):
    with pytest.raises(ContractError, match=message):
        check_backbone(backbone)


def test_sound_ones_pass():
    check_backbone(FineTune(Prox()))

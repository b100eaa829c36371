"""What an experiment is: frozen, checked, and all that a run depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from coterie.data import Scheme
from coterie.experiments import methods
from coterie.federation import Steps
from coterie.recipe import Recipe
from coterie.simulation import World

DEFAULT_METHODS = ("uniform", "round-robin", "power-of-choice", "active-fl", "oort")


@dataclass(frozen=True)
class Entry:
    """A method as it takes part: under a label, with settings as a file gives them."""

    label: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: Recipe | None = None
    """The method itself, where it was given in Python and no file can say it."""


@dataclass(frozen=True)
class Experiment:
    """Methods × seeds on one federation. Fields that are tables in the file come first."""

    partition: Scheme
    """Who holds which data."""
    world: World
    """Who can be reached, how fast, and what goes wrong."""
    entries: tuple[Entry, ...]
    """The methods that are compared, with all their settings."""
    training: Steps = Steps()
    """How far and how fast a client descends."""
    backbone: str | Mapping[str, Any] = "sgd"
    """How a client trains: the name of a backbone, or a table with its name and settings."""
    dataset: str = "digits"
    """What is learned: a name that `coterie data` lists, or a file."""
    data_dir: str | None = None
    """A folder in which datasets are looked for first."""
    engine: Literal["simulation", "flower"] = "simulation"
    """What trains: the simulation, in this process, or Flower's simulation."""
    model: str = "mlp"
    """The architecture: linear, mlp, mlp:128-64, mlp-200, cnn, cnn-cifar, mlp-bn, cnn-bn."""
    clients: int = 100
    """How many clients there are."""
    per_round: int = 5
    """How many clients a selector chooses in a round."""
    rounds: int = 50
    """How many rounds are played."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """A number n for the seeds 1 to n, or a list. Everything random derives from it; methods with the same seed are a pair."""
    baseline: str = "uniform"
    """The method that others are compared to, seed by seed; the first one where it does not take part."""
    target: float | None = None
    """The accuracy whose first crossing is reported, in rounds, bytes and simulated seconds."""
    enough_rounds: int | None = None
    """Rounds after which a method ends with a seed as soon as it has reached the target; it plays all if not given."""
    byte_budget: float | None = None
    """The bytes for which accuracy is reported; what the thriftiest method and seed spent in all if not given."""
    holdout: float = 0.2
    """The share of its samples that a client keeps back for questions about losses."""
    test: Literal["auto", "shares", "own", "owners", "same"] = "auto"
    """Where a client's own test samples come from; see `coterie.data.split_clients`."""
    client_test_size: int = 200
    """How many test samples a client has at most, where they are drawn from the global test set."""
    evaluate_every: int = 1
    """Every so many rounds the models are evaluated."""
    fine_tuned: Literal["auto", "always", "never"] = "auto"
    """Whether models are also judged after one more epoch on the client's samples; "auto": those that are a client's own."""
    device: str = "cpu"
    """Where models that need autograd run: cpu, or such as cuda."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The methods by the names under which they take part."""
        return tuple(entry.label for entry in self.entries)

    def recipe(self, label: str) -> Recipe:
        """A method, ready to play."""
        entry = next(entry for entry in self.entries if entry.label == label)
        if entry.recipe is not None:
            return entry.recipe
        backbone = methods.backbone(self.backbone, self.training)
        return methods.recipe(entry.method, entry.settings, self.per_round, backbone)

import inspect
from dataclasses import dataclass

import pytest

import coterie
from coterie import catalog
from coterie.aggregators import BySize, Krum, Mean
from coterie.backbones import SGD, FineTune, Prox
from coterie.catalog import METHODS, central, method, parameters
from coterie.federation import Steps
from coterie.neighbors import Alone, Gossip
from coterie.recipe import Central, Peers, Recipe
from coterie.rooms import rules
from coterie.rules import Selector
from coterie.selectors import Oort, PowerOfChoice, Uniform

STEPS = SGD(Steps(epochs=2, lr=0.3))


@dataclass(frozen=True)
class First(Selector):
    """Trains the first few (Nobody, 1999).

    That is all.
    """

    count: int = 2
    """How many."""

    def choose(self, view, state):
        return view.present[: self.count]


def test_every_selector_is_a_method():
    for name, selector in rules("selectors").items():
        recipe = METHODS[name].build()
        assert isinstance(recipe, Recipe)
        assert isinstance(recipe.selector, selector)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_it_does_and_what_can_be_set(name):
    entry = METHODS[name]
    assert entry.summary.endswith(".")
    assert "(" not in entry.summary[-30:]
    for parameter in parameters(name).values():
        assert parameter.meaning, f"{name}.{parameter.name} has no docstring"
        assert parameter.allowed
        assert not parameter.required
    assert method(name) == entry.build()


@pytest.mark.parametrize("name", METHODS)
def test_defaults_given_back_change_nothing(name):
    given = {p.name: p.default for p in parameters(name).values()}
    assert method(name, settings=given) == METHODS[name].build()


def test_methods_are_what_their_papers_say():
    assert coterie.uniform(5) == Central(SGD(), Mean(), Uniform(5))
    assert coterie.fedavg(5) == Central(SGD(), BySize(), Uniform(5))
    assert coterie.fedprox(5, mu=0.3, backbone=STEPS) == Central(Prox(0.3, STEPS.steps), Mean(), Uniform(5))
    tune = FineTune(STEPS, Steps(epochs=1, lr=0.3))
    assert coterie.fedavg_ft(5, backbone=STEPS) == Central(tune, BySize(), Uniform(5))
    assert coterie.local() == Peers(SGD(), Mean(), Alone())
    assert coterie.gossip(peers=3) == Peers(SGD(), BySize(), Gossip(3))
    assert coterie.power_of_choice(per_round=4, candidates=9) == Central(SGD(), Mean(), PowerOfChoice(4, 9))


def test_functions_made_of_selectors_look_like_functions():
    assert coterie.oort.__name__ == "oort"
    assert coterie.oort.__doc__ == Oort.__doc__
    assert list(inspect.signature(coterie.oort).parameters)[:2] == ["per_round", "exploration"]
    assert coterie.oort(3, decay=0.9).selector == Oort(3, decay=0.9)
    with pytest.raises(TypeError, match="unexpected keyword argument 'decays'"):
        coterie.oort(3, decays=0.9)
    with pytest.raises(AttributeError, match="no method 'nothing'"):
        _ = catalog.nothing


def test_a_selector_without_a_cohort_is_a_method_too():
    first = central(First, count=4)
    assert first().selector == First(4)
    assert first(count=1, backbone=STEPS) == Central(STEPS, Mean(), First(1))
    entry = catalog.Method("first", first)
    assert (entry.summary, entry.source) == ("Trains the first few.", "Nobody, 1999")


def test_the_experiment_s_cohort_and_backbone_go_to_those_that_have_one():
    assert method("oort", per_round=7, backbone=STEPS) == Central(STEPS, Mean(), Oort(7))
    assert method("local", per_round=7, backbone=STEPS) == Peers(STEPS, Mean(), Alone())
    assert method("uniform", per_round=7, settings={"per_round": 3}).selector == Uniform(3)


def test_what_every_recipe_lets_set():
    recipe = method("gossip", settings={"aggregator": {"name": "krum", "keep": 2}, "deadline": 3, "min_replies": 2})
    assert recipe == Peers(SGD(), Krum(keep=2), Gossip(), min_replies=2, deadline=3.0)


def test_a_backbone_by_name_goes_by_the_experiment_s_steps():
    assert method("uniform", backbone=STEPS, settings={"backbone": "prox"}).backbone == Prox(steps=STEPS.steps)
    own = {"name": "prox", "mu": 0.5, "steps": {"epochs": 9}}
    assert method("uniform", backbone=STEPS, settings={"backbone": own}).backbone == Prox(0.5, Steps(epochs=9))
    assert method("uniform", backbone=STEPS, settings={"backbone": Prox()}).backbone == Prox()


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("unifrom", {}, r"method 'unifrom' is unknown \(did you mean uniform\?\); there are active-fl, "),
        ("oort", {"decoy": 1}, r"oort: decoy: no such parameter \(did you mean decay\?\); there are per_round, "),
        ("oort", {"decay": "fast"}, "oort: decay: must be a number, not 'fast'"),
        ("oort", {"decay": 2}, r"oort: decay: must be in \(0, 1\], not 2"),
        ("uniform", {"aggregator": "krumm"}, r"uniform: aggregator: 'krumm' is none of .* \(did you mean krum\?\)"),
        ("uniform", {"min_replies": 0}, "uniform: min_replies: must be a whole number from 1, not 0"),
        ("uniform", {"deadline": -1}, "uniform: deadline: must be a number of seconds above 0, not -1"),
        ("local", {"peers": 3}, "local: peers: no such parameter"),
        ("fedprox", {"backbone": "fine-tune"}, "fedprox: backbone: 'fine-tune' is none of sgd"),
        ("power-of-choice", {"candidates": 3, "per_round": 4}, r"candidates: must be at least per_round \(4\), not 3"),
    ],
)
def test_says_what_is_wrong_and_what_is_allowed(name, given, message):
    with pytest.raises(ValueError, match=message):
        method(name, settings=given)


def test_packages_add_methods(monkeypatch):
    monkeypatch.setattr(catalog, "added", lambda room, fits: {"whole": coterie.fedavg, "uniform": len})
    found = catalog.collect()
    assert found["whole"].build is coterie.fedavg
    assert isinstance(found["uniform"].build(), Central)

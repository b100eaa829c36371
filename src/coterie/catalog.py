"""The page of methods: which rules make which, and how to get one by its name.

A selector needs nothing here: each that `coterie.selectors` exports, or that a package adds by an entry point of the
group `coterie.selectors`, is a method whose parameters are the selector's fields, with replies averaged alike. A method
that is more than a selector is a function here, or an entry point of the group `coterie.recipes`.

Averaging replies alike (`Mean`) is the default because it is what the papers on selection do, and because a comparison
of selectors should differ in the selector only; `aggregator="by-size"` is FedAvg's.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from types import FunctionType, MappingProxyType
from typing import Any, Literal, get_type_hints

from coterie.aggregators import Boltzmann, BySize, Coarse, Fine, Fomo, MaskedMean, Mean, OwnShare, ServerSteps
from coterie.backbones import SGD, DisPfl, Ditto, FedBN, FedL2P, FineTune, Prox
from coterie.coalitions import ClusterFL, Ifca, LeaderFollower, SharedError, TrustHedonic
from coterie.coalitions.leader_follower import Choice
from coterie.coalitions.leaders import Masters
from coterie.coalitions.shared_error import Structure
from coterie.coalitions.threshold import Reading
from coterie.neighbors import Afind, Alone, Federico, Gossip, Pens, Wary
from coterie.neighbors.topologies import Topology
from coterie.privacy import Volumes
from coterie.recipe import ByCoalition, Central, Peers, Personal, Recipe
from coterie.report import Noise
from coterie.rooms import ROOMS, added, kebab, rules
from coterie.rules import Aggregator, Backbone, Listener, Selector
from coterie.selectors import ClustersOnly, FedCor, FedCVRBolt, Uniform, VolumeContribution
from coterie.selectors.volume_contribution import Select
from coterie.settings import Parameter, meanings, nearest, parameters_of, refuse_unknown
from coterie.trust import Evidence

PER_ROUND = 10
"""How many train in a round if nothing is said."""

ALIKE = Mean()
"""Every reply counts the same."""


def central(selector: type[Selector], aggregator: Aggregator = ALIKE, **defaults: Any) -> Callable[..., Central]:
    """The method that a selector makes: its fields, some with defaults of their own, and a backbone.

    >>> from coterie.selectors import PowerOfChoice
    >>> central(PowerOfChoice, candidates=30)(per_round=5).selector.candidates
    30
    """
    defaults = {"per_round": PER_ROUND, **defaults}
    own = {
        name: field.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name, field.default))
        for name, field in inspect.signature(selector).parameters.items()
    }
    if "per_round" in own:
        own["per_round"] = own["per_round"].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
        own = {"per_round": own["per_round"], **own}
    backbone = inspect.Parameter("backbone", inspect.Parameter.KEYWORD_ONLY, default=SGD(), annotation=Backbone)
    signature = inspect.Signature([*own.values(), backbone], return_annotation=Central)

    def method(*args: Any, **settings: Any) -> Central:
        bound = signature.bind(*args, **settings)
        bound.apply_defaults()
        trained = bound.arguments.pop("backbone")
        return Central(trained, aggregator, selector(**bound.arguments))

    method.__name__ = method.__qualname__ = kebab(selector.__module__).replace("-", "_")
    method.__doc__ = selector.__doc__
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__annotations__ = {**get_type_hints(selector), "backbone": Backbone, "return": Central}
    return method


def peers(listener: type[Listener], what: str, aggregator: Aggregator = ALIKE, **defaults: Any) -> Callable[..., Peers]:
    """The method that a rule of listening makes: its fields, some with defaults of their own, and a backbone.

    >>> from coterie.neighbors import Pens
    >>> peers(Pens, "PENS for few rounds.", search=5)(keep=1).listener.search
    5
    """
    own = {
        name: field.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name, field.default))
        for name, field in inspect.signature(listener).parameters.items()
    }
    backbone = inspect.Parameter("backbone", inspect.Parameter.KEYWORD_ONLY, default=SGD(), annotation=Backbone)
    signature = inspect.Signature([*own.values(), backbone], return_annotation=Peers)

    def method(**settings: Any) -> Peers:
        bound = signature.bind(**settings)
        bound.apply_defaults()
        trained = bound.arguments.pop("backbone")
        return Peers(trained, aggregator, listener(**bound.arguments))

    method.__doc__ = what
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__annotations__ = {**get_type_hints(listener), "backbone": Backbone, "return": Peers}
    return method


def fedavg(per_round: int = PER_ROUND, *, backbone: Backbone = SGD()) -> Central:
    """Averages by samples what a few clients drawn at random have trained (McMahan et al., 2017)."""
    return Central(backbone, BySize(), Uniform(per_round))


def fedprox(per_round: int = PER_ROUND, *, mu: float = 0.01, backbone: SGD = SGD()) -> Central:
    """Random choice whose clients are pulled back to the model they received while they train (Li et al., 2020)."""
    return Central(Prox(mu, backbone.steps), Mean(), Uniform(per_round))


def fedavg_ft(per_round: int = PER_ROUND, *, head_only: bool = False, backbone: SGD = SGD()) -> Central:
    """FedAvg whose clients use the model after one more epoch on their own data (Cheng, Chadha and Duchi, 2021)."""
    tune = replace(backbone.steps, epochs=1)
    return Central(FineTune(backbone, tune, head_only), BySize(), Uniform(per_round))


def fedavgm(
    per_round: int = PER_ROUND, *, server_lr: float = 1.0, server_momentum: float = 0.9, backbone: Backbone = SGD()
) -> Central:
    """FedAvg whose server keeps up its direction by momentum (Hsu, Qi and Brown, 2019).

    Args:
        per_round: How many train in a round.
        server_lr: How far the server goes, times its momentum.
        server_momentum: How much of its direction it keeps.
        backbone: How clients train.
    """
    return Central(backbone, ServerSteps("momentum", server_lr, server_momentum), Uniform(per_round))


def fedadam(per_round: int = PER_ROUND, *, server_lr: float = 0.01, tau: float = 0.001, backbone: Backbone = SGD()) -> Central:
    """FedAvg whose server takes what replies bring for a gradient, and Adam's steps (Reddi et al., 2021).

    Args:
        per_round: How many train in a round.
        server_lr: About how far the server goes in every coordinate.
        tau: How much the steps adapt: the smaller the more.
        backbone: How clients train.
    """
    return Central(backbone, ServerSteps("adam", server_lr, tau=tau), Uniform(per_round))


def fedyogi(per_round: int = PER_ROUND, *, server_lr: float = 0.01, tau: float = 0.001, backbone: Backbone = SGD()) -> Central:
    """FedAvg whose server takes what replies bring for a gradient, and Yogi's steps (Reddi et al., 2021).

    Args:
        per_round: How many train in a round.
        server_lr: About how far the server goes in every coordinate.
        tau: How much the steps adapt: the smaller the more.
        backbone: How clients train.
    """
    return Central(backbone, ServerSteps("yogi", server_lr, tau=tau), Uniform(per_round))


def fed_bn(per_round: int = PER_ROUND, *, backbone: Backbone = SGD()) -> Central:
    """FedAvg whose clients keep batch normalization to themselves (Li et al., 2021)."""
    return Central(FedBN(backbone), BySize(), Uniform(per_round))


def fedl2p(
    per_round: int = PER_ROUND,
    *,
    pretrain: int = 50,
    epochs: int = 15,
    meta_epochs: int = 3,
    rate: float = 0.001,
    meta_rate: float = 0.001,
    base_rate: float = 0.0001,
    backbone: Backbone = SGD(),
) -> Central:
    """FedAvg first, then clients learn together how each should tune the model to itself (Lee et al., 2023)."""
    tuned = FedL2P(pretrain, epochs, meta_epochs, rate=rate, meta_rate=meta_rate, base_rate=base_rate, inner=backbone)
    return Central(tuned, BySize(), Uniform(per_round))


def cluster_fl(
    per_round: int = PER_ROUND, *, groups: int = 5, recluster_every: int = 3, mu: float = 0.001, backbone: SGD = SGD()
) -> ByCoalition:
    """Clusters of clients by k-means of their models, each with a model of its own (Ouyang et al., 2021)."""
    former = ClusterFL(groups, recluster_every)
    return ByCoalition(Prox(mu, backbone.steps), BySize(), former, selector=Uniform(per_round))


def ifca(per_round: int = PER_ROUND, *, groups: int = 4, backbone: Backbone = SGD()) -> ByCoalition:
    """Several models, and each participant trains the one with the lowest loss on its data (Ghosh et al., 2020)."""
    return ByCoalition(backbone, BySize(), Ifca(groups), selector=Uniform(per_round), chosen_first=True)


def stackfed(
    *,
    quota: int = 4,
    shortlist: int = 10,
    leaders: int | None = None,
    equilibrium: Literal["nash", "one-shot"] = "nash",
    cap: float | None = None,
    choice: Choice = "weighted",
    gain_weight: float = 1.0,
    payment_weight: float = 1.0,
    backbone: Backbone = SGD(),
) -> ByCoalition:
    """Strong devices lead coalitions into which weaker ones pay their way, for the whole task (thesis, chapter 4)."""
    former = LeaderFollower(quota, shortlist, leaders, equilibrium, cap, choice, gain_weight, payment_weight)
    return ByCoalition(backbone, BySize(), former, across=BySize())


def only_leaders(*, leaders: int | None = None, backbone: Backbone = SGD()) -> ByCoalition:
    """StackFed's leaders train, and nobody with them: what its followers have to beat (thesis, chapter 4)."""
    return ByCoalition(backbone, BySize(), LeaderFollower(quota=0, leaders=leaders), across=BySize())


def fedtrust(
    *,
    threshold: float = 0.5,
    max_size: int | None = None,
    rule: Literal["reference", "printed"] = "reference",
    recommendations: Literal["mean", "median"] = "mean",
    reference: int = 0,
    forgive: int = 0,
    reading: Literal["veto", "printed"] = "veto",
    max_sweeps: int = 100,
    backbone: Backbone = SGD(),
) -> ByCoalition:
    """Who trust each other train together under a master, and who is found selfish trains with nobody (thesis, chapter 3)."""
    former = TrustHedonic(threshold, max_size, reading, Masters(), max_sweeps)
    trust = Evidence(threshold, rule, recommendations, reference, forgive=forgive)
    return ByCoalition(backbone, BySize(), former, across=BySize(), min_members=2, trust=trust)


def fedtrust_printed(*, threshold: float = 0.25, max_sweeps: int = 20, backbone: Backbone = SGD()) -> ByCoalition:
    """FedTrust as printed: blind to those who are always lazy, in coalitions that never settle (thesis, chapter 3)."""
    return fedtrust(threshold=threshold, rule="printed", reading="printed", max_sweeps=max_sweeps, backbone=backbone)


def fedcor_probe(
    per_round: int = PER_ROUND,
    *,
    warmup: int = 15,
    beta: float = 0.99,
    directions: int = 60,
    step: float = 0.05,
    epsilon: float = float("inf"),
    clip: float = 10.0,
    count: Literal["samples", "clients"] = "samples",
    lean: float = 0.0,
    dims: int = 15,
    noise: float = 0.01,
    iterations: int = 1000,
    backbone: Backbone = SGD(),
) -> Central:
    """FedCor that asks once: after the warm-up clients tell how their loss changes around one model (ours).

    One broadcast instead of one a round. The answers tell the server roughly who holds which labels; `epsilon` bounds that.
    """
    selector = FedCor(
        per_round,
        warmup=warmup,
        refit_every=None,
        beta=beta,
        count=count,
        lean=lean,
        dims=dims,
        noise=noise,
        iterations=iterations,
        normalize=0.3,
        observe="probe",
        directions=directions,
        step=step,
        epsilon=epsilon,
        clip=clip,
    )
    return Central(backbone, Mean(), selector)


def local(*, backbone: Backbone = SGD()) -> Peers:
    """Every client learns alone, from its own data: what any cooperation has to beat."""
    return Peers(backbone, Mean(), Alone())


def gossip(*, peers: int = 10, topology: Topology = "full", backbone: Backbone = SGD()) -> Peers:
    """No server: clients average their models, by samples, with a few others drawn at random (Ormándi et al., 2013)."""
    return Peers(backbone, BySize(), Gossip(peers, topology))


def fomo(*, peers: int = 10, topology: Topology = "full", backbone: Backbone = SGD()) -> Peers:
    """Clients mix a few others' models by how much each lowers their own loss (Zhang et al., 2021)."""
    return Peers(backbone, Fomo(), Gossip(peers, topology))


def dis_pfl(
    *,
    peers: int = 10,
    topology: Topology = "full",
    density: float = 0.5,
    anneal: float = 0.5,
    rounds: int = 500,
    backbone: SGD = SGD(),
) -> Peers:
    """Clients with sparse models of their own average with a few others what both use (Dai et al., 2022)."""
    return Peers(DisPfl(density, anneal, rounds, backbone.steps), MaskedMean(), Gossip(peers, topology))


def ditto(per_round: int = PER_ROUND, *, pull: float = 1.0, backbone: SGD = SGD()) -> Central:
    """FedAvg whose clients also train a model of their own that is pulled to the shared one (Li et al., 2021)."""
    return Central(Ditto(pull, backbone, backbone.steps), BySize(), Uniform(per_round))


def privshare(
    per_round: int = PER_ROUND,
    *,
    epsilon: float = float("inf"),
    most: float = 1000.0,
    select: Select = "uniform",
    lam: float = 0.5,
    epsilon_contribution: float = float("inf"),
    structure: Structure = "game",
    stability: Literal["nash", "individual"] = "nash",
    variance: Reading = "function",
    warmup: int = 5,
    observe: Literal["once", "round"] = "once",
    noise: Noise = "simple",
    backbone: Backbone = SGD(),
) -> Personal:
    """Personal models, mixed in coalitions of shared error by clients who tell numbers in private (after PrivShare).

    The theory of sharing is Donahue and Kleinberg's (2021). What privacy covers is the numbers that clients tell, not
    the models that they send. The aggregator says how models are mixed: `coarse` (by default with `fine` before there
    are estimates), `fine` or `by-size`.

    Args:
        per_round: P, how many train in a round.
        epsilon: What a client spends in all: half on its volume, half on one report for the estimates behind coalitions.
        most: The largest volume that is told, c_d: a public constant.
        select: How participants are chosen: by a draw that favors high scores, the highest scores, or not by score.
        lam: What the volume counts in the score beside the contribution.
        epsilon_contribution: What each round's report of loss and slope costs more, unless `select` is uniform.
        structure: Coalitions by the game, or everybody together, or everybody alone.
        stability: Whether a coalition lets in only whom no member loses by.
        variance: How the threshold behind the coalitions is read off what participants report.
        warmup: Rounds of reports that are averaged before the exponential average begins.
        observe: Whether a client reports once in its life, or (for another half of `epsilon`) whenever it takes part.
        noise: 'vetted' draws it by OpenDP, with dice that do not repeat; 'simple' is for simulations.
        backbone: How clients train.
    """
    each, half = epsilon_contribution / 2, epsilon / 2
    return Personal(
        backbone,
        Coarse(otherwise=Fine()),
        VolumeContribution(per_round, select, lam, epsilon_loss=each, epsilon_gradient=each, noise=noise),
        SharedError(
            variance, warmup=warmup, observe=observe, epsilon=half, structure=structure, stability=stability, noise=noise
        ),
        Volumes(half, most, noise=noise),
    )


PRINTED: Mapping[str, Any] = MappingProxyType(
    {"threshold": "printed", "tau": 0.5, "entropy": "sum", "probe": "auto", "memory": 0.0, "restart": False}
)
"""AFIND as its paper prints it."""
pens = peers(Pens, "Clients find those whose models suit their data, then gossip with these (Onoszko et al., 2021).", BySize())
federico = peers(Federico, "Clients mix by how well others' models explain their own data (Sui et al., 2022).")
wary = peers(Wary, "Clients listen to proven friends only, as far as their hold-out samples bear out (ours).")
afind = peers(Afind, "Clients listen to those with like gradients, all alike; our threshold (after AFIND).", OwnShare())
afind_plus = peers(
    Afind,
    "Clients listen to those with like gradients, by their losses; our threshold (after AFIND+).",
    OwnShare(0.5, Boltzmann()),
)
afind_printed = peers(Afind, "AFIND as printed: its threshold is inactive on large graphs (AFIND).", **PRINTED)
afind_plus_printed = peers(
    Afind,
    "AFIND+ as printed: its threshold is inactive on large graphs (AFIND+).",
    Boltzmann(probe="auto"),
    **PRINTED,
)
fedcvr_bolt, clusters_only = central(FedCVRBolt, BySize()), central(ClustersOnly, BySize())


@dataclass(frozen=True)
class Method:
    """An entry of the catalog."""

    name: str
    build: Callable[..., Recipe]

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return _SOURCE.sub(r"\2", self._sentence)

    @property
    def source(self) -> str:
        """Where it comes from; empty if it does not say."""
        found = _SOURCE.search(self._sentence)
        return found[1] if found else ""

    @property
    def _sentence(self) -> str:
        return inspect.cleandoc(self.build.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


_SOURCE = re.compile(r"\s*\(([^()]*)\)(\.?)$")


def collect() -> Mapping[str, Method]:
    """All methods by name: written here, made of selectors, and added by other packages."""
    found: dict[str, Callable[..., Recipe]] = {**added("recipes", callable)}
    found |= {name: central(selector) for name, selector in rules("selectors").items()}
    found |= {kebab(name): function for name, function in _written()}
    return MappingProxyType({name: Method(name, found[name]) for name in sorted(found)})


def _written() -> Iterator[tuple[str, Callable[..., Recipe]]]:
    for name, thing in list(globals().items()):
        if isinstance(thing, FunctionType) and thing.__module__ == __name__ and not name.startswith("_"):
            made = get_type_hints(thing).get("return")
            if inspect.isclass(made) and issubclass(made, Recipe) and made is not Recipe:
                yield name, thing


METHODS = collect()
"""Every method by its name."""


def find(name: str) -> Method:
    """The entry of a method; ValueError with the nearest name if there is none."""
    if name not in METHODS:
        raise ValueError(f"method '{name}' is unknown{nearest(name, METHODS)}; there are {', '.join(METHODS)}")
    return METHODS[name]


@cache
def parameters(name: str) -> Mapping[str, Parameter]:
    """What can be set of a method: its own parameters, then what every recipe of its shape lets set.

    >>> [str(p.default) for p in parameters("gossip").values() if p.name in ("peers", "aggregator")]
    ['10', 'BySize()']
    """
    known = parameters_of(find(name).build)
    recipe = find(name).build(**{p.name: PER_ROUND for p in known.values() if p.required and p.name == "per_round"})
    shape = {p.name: p for p in parameters_of(type(recipe)).values() if p.name not in known and p.name in _settable(recipe)}
    known |= {field: replace(parameter, default=getattr(recipe, field)) for field, parameter in shape.items()}
    kinds: list[type] = [type(recipe), *(type(getattr(recipe, field.name)) for field in fields(recipe))]
    documented = {name: text for kind in kinds for name, text in meanings(kind).items()}
    return MappingProxyType({p.name: replace(p, meaning=p.meaning or documented.get(p.name, "")) for p in known.values()})


def _settable(recipe: Recipe) -> list[str]:
    """The recipe's fields but for those that say which method it is."""
    fixed = (ROOMS["selectors"], ROOMS["coalitions"], ROOMS["neighbors"], ROOMS["privacy"])
    names = [field.name for field in fields(recipe) if not isinstance(getattr(recipe, field.name), fixed)]
    return [name for name in names if name not in ("backbone", "selector", "across")]


def method(
    name: str,
    *,
    per_round: int | None = None,
    backbone: Backbone | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Recipe:
    """The recipe of a method, by its name and settings as a file or a command line gives them.

    `per_round` and `backbone` are an experiment's; methods without a cohort ignore the first. A backbone in the
    settings goes by the experiment's steps unless it brings its own. ValueError says what is wrong and what is allowed.

    >>> method("fedavg", per_round=5, settings={"aggregator": {"name": "krum", "keep": 3}}).aggregator
    Krum(broken=0.2, keep=3)
    """
    known, given = parameters(name), dict(settings or {})
    try:
        refuse_unknown(given, known)
        if "backbone" in given:
            given["backbone"] = _with_steps(given["backbone"], backbone)
        for common, value in [("per_round", per_round), ("backbone", backbone)]:
            if value is not None and common in known:
                given.setdefault(common, value)
        values = {field: known[field].read(value) for field, value in given.items()}
        own = parameters_of(METHODS[name].build)
        recipe = METHODS[name].build(**{field: value for field, value in values.items() if field in own})
        return replace(recipe, **{field: value for field, value in values.items() if field not in own})
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _with_steps(given: Any, experiment: Backbone | None) -> Any:
    """A backbone by name, or as a table, that takes its steps from the experiment's."""
    table = {"name": given} if isinstance(given, str) else given
    steps = getattr(experiment, "steps", None)
    if not isinstance(table, Mapping) or steps is None or "steps" in table:
        return given
    kind = rules("backbones").get(str(table.get("name")))
    if kind is None or "steps" not in parameters_of(kind):
        return given
    return {**table, "steps": steps}


def __getattr__(name: str) -> Any:
    """Methods made of selectors are functions of this page too."""
    entry = METHODS.get(name.replace("_", "-"))
    if entry is None or "-" in name:
        raise AttributeError(f"the catalog has no method '{name}'")
    return entry.build


__all__ = ["METHODS", "Method", "central", "method", "parameters", *(name.replace("-", "_") for name in METHODS)]

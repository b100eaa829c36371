import pytest

from coterie.experiments import config
from coterie.experiments.problems import BadInputError
from coterie.federation import Steps
from tests.experiments import tiny


def parse(text="", **flags):
    changes = {tuple(name.split("__")): (f"--{name}", value) for name, value in flags.items()}
    return config.parse(text, changes)[0]


def test_an_empty_file_is_an_experiment_with_defaults():
    found = parse()
    assert found.seeds == (1, 2, 3)
    assert found.labels == ("uniform", "round-robin", "power-of-choice", "active-fl", "oort")
    assert found.training == Steps()


@pytest.mark.parametrize(
    "text",
    [
        "",
        tiny.text("data.npz"),
        'aggregator = "krum"\nbackbone = "prox"\nmethods = ["oort", "fedavg", "gossip"]\n[set.gossip]\npeers = 3',
        '[partition]\nscheme = "two-level"\nclusters = 3\nalpha = [0.1, 0.2, 0.3]',
        '[world]\npresence = "markov"\navailability = 0.7\nbroken = ["nan", "stale"]\nbroken_rate = 0.1',
        '[training]\nhalve_at = [10, 20]\nmax_steps = 7\n[set.uniform]\naggregator = {name = "krum", keep = 2}',
        'methods = ["greedy", "careful"]\n[set.greedy]\nmethod = "oort"\nexploration = 0.1\n[set.careful]\nmethod = "oort"',
        'backbone = {name = "prox", mu = 0.5}\ndeadline = 3\nuse_first = 4\nmin_replies = 2',
    ],
)
def test_the_resolved_file_reads_back_as_itself(text):
    once = config.text(parse(text))
    again = parse(once)
    assert config.text(again) == once
    assert all(again.recipe(label) == parse(text).recipe(label) for label in again.labels)


def test_what_a_flag_says_counts_more():
    found = parse("rounds = 3\n[training]\nlr = 0.5", rounds=7, training__lr=0.1)
    assert (found.rounds, found.training.lr) == (7, 0.1)


def test_another_scheme_by_flag_drops_the_settings_of_the_files_scheme():
    found = parse('[partition]\nscheme = "shards"\nper_client = 3', partition__scheme="iid")
    assert type(found.partition).__name__ == "Iid"


def test_other_methods_by_flag_drop_the_settings_of_those_that_left():
    found = parse('methods = ["oort"]\n[set.oort]\npenalty = 1.0', methods=["uniform"])
    assert found.labels == ("uniform",)


def test_settings_at_the_top_stand_for_those_of_every_method_that_has_them():
    found = parse('aggregator = "by-size"\nmethods = ["uniform", "oort"]\n[set.oort]\naggregator = "median"')
    assert type(found.recipe("uniform").aggregator).__name__ == "BySize"
    assert type(found.recipe("oort").aggregator).__name__ == "Median"


def test_training_and_cohort_reach_every_method():
    found = parse('per_round = 3\nmethods = ["oort", "fedprox"]\n[training]\nlr = 0.25\n[set.oort]\npenalty = 0.5')
    assert found.recipe("oort").selector.per_round == 3
    assert found.recipe("oort").selector.penalty == 0.5
    assert found.recipe("oort").backbone.steps.lr == 0.25
    assert found.recipe("fedprox").backbone.steps.lr == 0.25


def test_the_baseline_is_uniform_or_else_the_first():
    assert parse('methods = ["oort", "uniform"]').baseline == "uniform"
    assert parse('methods = ["oort", "gossip"]').baseline == "oort"


def test_a_selector_of_ones_own_by_module_and_class():
    found = parse('methods = ["uniform", "coterie.selectors.oort:Oort"]\n[set.oort]\npenalty = 1.0')
    assert found.labels == ("uniform", "oort")
    assert found.recipe("oort").selector.penalty == 1.0


def test_settings_that_do_not_go_together_are_found_before_anything_runs():
    with pytest.raises(BadInputError, match="candidates") as caught:
        parse('per_round = 5\nmethods = ["power-of-choice"]\n[set.power-of-choice]\ncandidates = 2')
    assert caught.value.problems[0].where == "line 4"


def test_infinities_are_refused_but_where_they_are_the_default():
    with pytest.raises(BadInputError, match="finite"):
        parse("[training]\nlr = inf")

from dataclasses import replace

import numpy as np
import pytest

from coterie import play, uniform
from coterie.aggregators import Boltzmann, Mean
from coterie.backbones import SGD, HeadFirst
from coterie.catalog import afind, afind_plus_printed, afind_printed, gossip, local, pens
from coterie.federation import Steps
from coterie.neighbors import Afind
from coterie.neighbors.afind import troubles
from coterie.recipe import Peers
from coterie.testing import CALM, ROUGH, Toy
from tests.neighbors import groups
from tests.oracles import afind as plain

STEPS = Steps(epochs=1, batch_size=8, lr=0.1)
PRINTED = Afind(threshold="printed", tau=0.5, entropy="sum", memory=0.0, restart=False, batch=None, probe="receiver")
FORMS = {
    "printed": PRINTED,
    "printed, on a ring": replace(PRINTED, probe="sender", topology="ring"),
    "relative": Afind(batch=None, restart=False),
    "relative, at the receiver": Afind(batch=None, restart=False, probe="receiver"),
    "weights": Afind(batch=None, restart=False, proxy="weights"),
}


@pytest.mark.parametrize("chances", [CALM, ROUGH], ids=["calm", "rough"])
@pytest.mark.parametrize("form", FORMS)
def test_mixes_as_one_client_after_another_would(form, chances):
    rule = FORMS[form]
    toy, recipe = Toy(clients=8, seed=6, chances=chances), Peers(SGD(STEPS), Mean(), rule)
    fields = {"tau": rule.tau, "nu": rule.nu, "entropy": rule.entropy, "memory": rule.memory}
    near = [{(i - 1) % 8, (i + 1) % 8} if rule.topology == "ring" else set(range(8)) - {i} for i in range(8)]
    clients = [plain.Client(sorted(near[i]), relative=rule.threshold == "relative", **fields) for i in range(8)]
    state = recipe.begin(toy.roster)
    for t in range(1, 7):
        view = toy.view(t)
        plan = recipe.plan(view, state)
        replies = toy.train(plan)
        merge, state = recipe.mix(view, plan, replies, state)
        merge.check(plan, replies)
        weights = np.zeros((8, 8))
        weights[:, replies.clients] = merge.weights.toarray()
        models, there, came = view.models[view.follows], set(view.present.tolist()), set(replies.clients.tolist())
        trained = dict(zip(replies.clients.tolist(), replies.models, strict=True))

        def proxy(j, i, toy=toy, rule=rule, models=models, trained=trained):
            if rule.proxy == "weights":
                return trained.get(j)
            at = models[i if rule.probe == "receiver" else j]
            return toy.model.gradient(at, toy.samples[j]["train"]) if toy.ask.answers[j] else None

        for i in sorted(there):
            coreset = clients[i].coreset(there - {i})
            heard = [j for j in [*coreset, i] if j in came]
            expected = np.zeros(8)
            expected[heard] = 1 / max(len(heard), 1)
            np.testing.assert_allclose(weights[i], expected, atol=1e-6)
            told = {j: proxy(j, i) for j in heard if j != i}
            own = proxy(i, i)
            known = {j: one for j, one in told.items() if one is not None}
            if own is not None:
                clients[i].learn(own, known)
        toy.adopt(merge, replies)
    learned = state["listener"]
    np.testing.assert_allclose(learned.p, [p for one in clients for _, p in sorted(one.p.items())], rtol=1e-5)
    np.testing.assert_allclose(learned.threshold, [one.threshold for one in clients], rtol=1e-5)


def played(recipe, clients, rounds, seed=3, chances=CALM):
    toy = Toy(clients=clients, seed=seed, chances=chances)
    return toy, list(play(recipe, toy, rounds))


def test_as_printed_on_a_full_graph_everybody_hears_everybody_which_is_federated_averaging():
    toy, records = played(afind_printed(batch=None, backbone=SGD(STEPS)), 100, 2)
    central = Toy(clients=100, seed=3)
    list(play(uniform(per_round=100, backbone=SGD(STEPS)), central, 2))
    assert all((record.why.columns["coreset"] == 99).all() for record in records)
    assert troubles(records[1].why) == ["the threshold is inactive: everybody contacts every neighbor that is there"]
    np.testing.assert_allclose(toy.models, np.tile(central.models, (100, 1)), atol=1e-5)


def test_as_printed_on_a_full_graph_it_does_not_matter_where_one_probes():
    found = [
        played(afind_plus_printed(probe=probe, batch=None, backbone=SGD(STEPS)), 30, 3)[0].models
        for probe in ("sender", "receiver")
    ]
    np.testing.assert_allclose(*found, atol=1e-5)


def test_the_mean_entropy_with_the_printed_threshold_strands_everybody_and_says_so():
    recipe = afind_printed(entropy="mean", batch=None, backbone=SGD(STEPS))
    _, records = played(recipe, 100, 3)
    assert troubles(records[1].why) == ["100 of 100 clients are stranded: no neighbor passes their threshold"]
    assert all(record.merge.weights.nnz == 100 for record in records[1:])


def test_a_client_that_contacts_nobody_starts_anew_with_restart():
    recipe = afind_printed(entropy="mean", restart=True, backbone=SGD(STEPS))
    _, records = played(recipe, 60, 4)
    assert [int(record.why.columns["coreset"].sum()) for record in records] == [60 * 59, 0, 60 * 59, 0]


def test_at_most_so_many_neighbors_are_contacted():
    _, records = played(afind(max_neighbors=3, backbone=SGD(STEPS)), 12, 3)
    assert all(0 < record.why.columns["coreset"].max() <= 3 for record in records)
    _, few = played(afind(threshold="none", max_neighbors=3, backbone=SGD(STEPS)), 12, 3)
    assert all((record.why.columns["coreset"] == 3).all() for record in few)


def test_who_is_explored_is_asked_but_not_mixed():
    def asks(explore):
        return played(afind(explore=explore, tau=3.0, batch=None, probe="receiver", backbone=SGD(STEPS)), 10, 4)[1]

    without, everybody = asks(0.0), asks(1.0)
    learned = everybody[-1].state["listener"]
    assert not np.isnan(learned.similarity).any()
    for record in everybody[1:]:
        core = record.why.columns["coreset"]
        assert (np.diff(record.merge.weights.indptr) == core + 1).all()
    assert sum(r.meter.evaluations for r in without) < sum(r.meter.evaluations for r in everybody)


def test_no_more_leaves_a_client_than_models_proxies_and_losses():
    with groups.federation(8) as fed:
        record = next(play(afind(backbone=groups.BACKBONE), fed, 1))
        size, part = fed.layout.size, fed.layout.featurizer
    meter = record.meter
    hearings = 8 * 7
    assert meter.between["model"] == 4 * size * hearings
    assert meter.between["gradient"] >= 4 * (part.stop - part.start) * 8
    assert set(meter.between) <= {"model", "gradient", "telemetry"} and not meter.up and not meter.down


def test_weights_as_proxy_from_a_common_start_see_no_difference_before_training():
    toy = Toy(clients=6, seed=2)
    recipe = Peers(SGD(STEPS), Mean(), Afind(proxy="weights"))
    record = next(play(recipe, toy, 1))
    assert record.meter.evaluations == 0
    assert not np.isnan(record.state["listener"].similarity).any()


@pytest.fixture(scope="module")
def planted():
    """What each rule came to on two planted groups: accuracy after fine-tuning, and the weight inside the groups."""
    search = pens(search=4, sampled=12, keep=2, backbone=groups.BACKBONE)
    recipes = {"afind": afind(backbone=groups.BACKBONE), "pens": search}
    recipes |= {"local": local(backbone=groups.BACKBONE), "gossip": gossip(backbone=groups.BACKBONE)}
    return {name: [groups.last(recipe, 10, samples=16, seed=seed) for seed in (1, 2, 3)] for name, recipe in recipes.items()}


def test_on_planted_groups_all_weight_falls_inside_and_it_beats_being_alone_and_gossip(planted):
    assert all(min(inside[4:]) >= 0.95 for _, inside in planted["afind"])
    score = {name: np.mean([groups.tuned(record) for record, _ in runs]) for name, runs in planted.items()}
    assert score["afind"] > score["local"] + 0.01
    assert score["afind"] > score["gossip"] + 0.1
    assert score["afind"] > score["pens"] - 0.02


@pytest.mark.parametrize(
    "wrong",
    [{"tau": -1}, {"nu": 0}, {"batch": 0}, {"memory": 2}, {"explore": -1}, {"max_neighbors": 0}, {"threshold": "none"}],
)
def test_refuses_impossible_settings(wrong):
    with pytest.raises(ValueError, match="max_neighbors" if wrong == {"threshold": "none"} else next(iter(wrong))):
        Afind(**wrong)


def test_weights_as_proxy_cannot_be_explored():
    with pytest.raises(ValueError, match="explore: must be 0 with the proxy 'weights'"):
        Afind(proxy="weights", explore=0.1)


def test_noise_on_proxies_is_metered_and_much_of_it_hides_who_is_like_whom():
    def similarities(**settings):
        with groups.federation(8) as fed:
            record = next(play(afind(backbone=groups.BACKBONE, **settings), fed, 1))
        return record.state["listener"].similarity, record.meter.epsilon

    exact, clipped, noised = (similarities(**given) for given in ({}, {"clip": 0.1}, {"clip": 0.1, "noise": 1000.0}))
    np.testing.assert_allclose(exact[0], clipped[0], atol=1e-4)
    assert exact[1] == clipped[1] == 0 < noised[1]
    assert abs(noised[0]).mean() < 0.3 < abs(exact[0]).mean()


@pytest.mark.parametrize(
    "wrong", [{"clip": 0}, {"clip": 1, "proxy": "weights"}, {"noise": 1}, {"noise": 1, "clip": 1, "batch": None}]
)
def test_refuses_noise_that_makes_no_sense(wrong):
    with pytest.raises(ValueError, match="noise" if "noise" in wrong else "clip"):
        Afind(**wrong)


def test_neighbors_may_train_the_model_that_they_are_sent():
    """Row by row: what j makes of i's model, by the weights that j's own model would have had."""
    toy, recipe = Toy(clients=5, seed=6), replace(afind(batch=None, tau=3.0, backbone=SGD(STEPS)), trains="received")
    state = recipe.begin(toy.roster)
    for t in (1, 2, 3):
        view = toy.view(t)
        plan = recipe.plan(view, state)
        replies = toy.train(plan)
        merge, state = recipe.mix(view, plan, replies, state)
        merge.check(plan, replies)
        made = merge.apply(replies.models, view.models[plan.keeps])
        for i, row in enumerate(merge.mixing.weights.toarray()):
            taught = [recipe.backbone.train(toy.local(j, view.follows[i], t)).share for j in range(5)]
            np.testing.assert_allclose(made[i], row @ np.stack(taught), atol=1e-6)
        toy.adopt(merge, replies)


def test_from_a_common_model_it_is_the_same_who_trains_what_but_dearer():
    received, own = (
        played(replace(gossip(peers=2, backbone=SGD(STEPS)), trains=trains), 6, 2) for trains in ("received", "own")
    )
    first = [
        played(replace(gossip(peers=2, backbone=SGD(STEPS)), trains=trains), 6, 1)[0].models for trains in ("received", "own")
    ]
    np.testing.assert_allclose(*first, atol=1e-6)
    assert not np.allclose(received[0].models, own[0].models, atol=1e-6)
    with groups.federation(6) as fed:
        records = list(play(replace(gossip(peers=2, backbone=groups.BACKBONE), trains="received"), fed, 2))
        size = 4 * fed.layout.size
    crossed = [record.meter.between["model"] // (6 * 2) for record in records]
    assert crossed == [2 * size, 3 * size], "the neighbor's own, what it made, and from the second round the hearer's"


@pytest.mark.parametrize("method", [afind, pens])
def test_heads_may_be_each_clients_own(method):
    """Below the head it is the mixing of any other round; the head is what the client itself trained."""
    with groups.federation(6) as fed:
        recipe = replace(method(backbone=HeadFirst(groups.BACKBONE.steps, groups.BACKBONE.steps)), own="head")
        state = recipe.begin(fed.roster)
        for t in (1, 2):
            view = fed.view(t)
            plan = recipe.plan(view, state)
            replies = fed.train(plan)
            merge, state = recipe.mix(view, plan, replies, state)
            merge.check(plan, replies)
            fed.adopt(merge, replies)
            head = fed.layout.head
            np.testing.assert_array_equal(fed.models[:, head], replies.models[:, head])
            weights = merge.shares.toarray()
            np.testing.assert_allclose(fed.models[:, : head.start], weights @ replies.models[:, : head.start], atol=1e-5)
            assert (weights > 0).sum() > 6


def test_the_boltzmann_weights_of_friends_stay_inside_the_coreset():
    _, records = played(Peers(SGD(STEPS), Boltzmann(), Afind(tau=3.0)), 10, 4)
    assert all((np.diff(r.merge.weights.indptr) == r.why.columns["coreset"] + 1).all() for r in records)

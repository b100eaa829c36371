from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.neighbors import Alone
from coterie.plan import Plan
from coterie.probe import Blur, Probe
from coterie.recipe import Peers
from coterie.report import Bounded, Report
from coterie.simulation import World, dice, questions
from tests.simulation.small import line, played, small

ONCE = SGD(Steps(epochs=1, batch_size=8, lr=0.1))


@pytest.fixture
def personal():
    """Six clients, each with a model of its own."""
    with small() as federation:
        played(Peers(ONCE, Mean(), Alone()), federation, 1)
        yield federation


def path_of(federation):
    return federation.crew.path


def test_no_two_questions_have_the_same_noise():
    """Whoever asks the same at two levels, or about two models, could otherwise take the noise off both answers."""
    with small() as federation:
        ask = federation.view(1).ask
        exact = ask.probe([2], Probe(4, directions=5))[0]

        def taken_off(one, other):
            """The changes, were the noise of both answers the same but for its scale."""
            a, b = (ask.probe([2], probe)[0] for probe in (one, other))
            s, t = (probe.clip / probe.epsilon for probe in (one, other))
            return (a * t - b * s) / (t - s)

        base = Probe(4, directions=5, epsilon=1.0)
        for other in (replace(base, epsilon=2.0), replace(base, clip=5.0)):
            assert np.abs(taken_off(base, other) - exact).max() > 0.1
        spent = federation.budget.spent[2]
        assert spent == 1.0 + 2.0 + 1.0, "each is a release of its own; what is asked again is not"
        model = federation.models[0]
        moved = (model + np.float32(1e-3)).astype(np.float32)
        thrown = [dice.noise(1, 1, "2", base, 0, one).laplace(size=5) for one in (model, moved)]
        assert np.abs(thrown[0] - thrown[1]).min() > 0
        assert dice.report(1, "2", "size", ("ε = 1",)).random() != dice.report(1, "2", "size", ("ε = 2",)).random()


def test_losses_are_mean_losses_on_the_hold_out_split(personal):
    view = personal.view(2)
    clients, about = np.array([3, 0, 5, 0]), np.array([1, 0, 1, 2])
    answers = view.ask.losses(clients, about)
    for client, row, answer in zip(clients, about, answers, strict=True):
        x, y = personal.clients.samples(int(client), "holdout")
        assert answer == pytest.approx(path_of(personal).losses(view.models[row], x, y).mean(), rel=1e-6)
    train = view.ask.losses(2, 2, split="train")
    x, y = personal.clients.samples(2, "train")
    assert train[0] == pytest.approx(path_of(personal).losses(view.models[2], x, y).mean(), rel=1e-6)


def test_a_client_without_hold_out_answers_on_its_training_samples():
    view = (federation := small((1, 30))).view(1)
    assert federation.clients.count("holdout").tolist() == [0, 6]
    np.testing.assert_array_equal(view.ask.losses([0]), view.ask.losses([0], split="train"))


def test_an_answer_does_not_depend_on_how_questions_are_put_together(personal, monkeypatch):
    ask = personal.view(2).ask
    clients, about = np.divmod(np.arange(36), 6)
    together = ask.losses(clients, about), ask.gradients(clients, about)
    monkeypatch.setattr(questions, "TOGETHER", 1)
    shuffled = np.random.default_rng(0).permutation(36)
    apart = ask.losses(clients[shuffled], about[shuffled]), ask.gradients(clients[shuffled], about[shuffled])
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_array_equal(one[shuffled], other)


def test_a_blurred_gradient_is_the_same_whenever_it_is_asked_for_in_a_round(personal):
    view = personal.view(1)
    blur = Blur(clip=0.5, noise=2.0)
    told = view.ask.gradients([1, 4], [4, 1], batch=5, blur=blur)
    exact = view.ask.gradients([1, 4], [4, 1], batch=5, blur=Blur(clip=0.5))
    np.testing.assert_array_equal(told, view.ask.gradients([1, 4], [4, 1], batch=5, blur=blur))
    np.testing.assert_allclose((told - exact).std(), 2 * 0.5 / 5, rtol=0.3)
    assert personal.meter().epsilon == pytest.approx(4 * blur.epsilon(5))
    with pytest.raises(ValueError, match="needs a batch"):
        view.ask.gradients([1], blur=blur)


def test_gradients_are_those_of_the_mean_training_loss(personal):
    view = personal.view(2)
    whole = view.ask.gradients([1, 4], [4, 1])
    for client, row, answer in [(1, 4, whole[0]), (4, 1, whole[1])]:
        x, y = personal.clients.samples(client, "train")
        np.testing.assert_allclose(answer, path_of(personal).gradient(view.models[row], x, y), rtol=1e-6)
    part = view.ask.gradients([1, 4], [4, 1], part=personal.layout.head)
    np.testing.assert_array_equal(part, whole[:, personal.layout.head])


def test_a_mini_batch_is_the_same_for_all_models_of_a_round_and_another_the_next(personal):
    view = personal.view(2)
    x, y = personal.clients.samples(2, "holdout")
    few = dice.batch(1, 2, "2", len(x), 3)
    answers = view.ask.losses([2, 2], [0, 1], batch=3)
    expected = [path_of(personal).losses(view.models[row], x[few], y[few]).mean() for row in (0, 1)]
    np.testing.assert_allclose(answers, expected, rtol=1e-6)
    assert personal.view(3).ask.losses(2, 0, batch=3)[0] != answers[0]
    np.testing.assert_array_equal(view.ask.losses(2, batch=1000), view.ask.losses(2))


def test_models_among_replies_can_be_asked_about(personal):
    view = personal.view(2)
    replies = personal.train(Plan.star([1, 3], ONCE))
    answers = view.ask.losses([0, 0], [0, 1], among=replies)
    x, y = personal.clients.samples(0, "holdout")
    np.testing.assert_allclose(answers, [path_of(personal).losses(model, x, y).mean() for model in replies.models], rtol=1e-6)


def test_a_probe_tells_how_the_loss_changes_along_its_directions(personal):
    view, probe = personal.view(2), Probe(seed=4, directions=5, step=0.3)
    answers = view.ask.probe([2, 5], probe, about=1)
    head = personal.layout.head
    for answer, client in zip(answers, (2, 5), strict=True):
        x, y = personal.clients.samples(client, "holdout")
        still = path_of(personal).losses(view.models[1], x, y).mean()
        for change, move in zip(answer, probe.moves(head.stop - head.start), strict=True):
            moved = view.models[1].copy()
            moved[head] += move
            assert change == pytest.approx(path_of(personal).losses(moved, x, y).mean() - still, abs=1e-6)


def test_a_private_probe_repeats_its_noise_when_it_is_asked_again():
    view = small().view(1)
    private = Probe(seed=4, directions=5, epsilon=1.0)
    one, other = view.ask.probe([2], private), view.ask.probe([2], private)
    np.testing.assert_array_equal(one, other)
    assert np.abs(one - view.ask.probe([2], Probe(seed=4, directions=5))).max() > 0.1


NUMBERS = ("size", "loss", "training_loss", "gradient", "gap", "spread")


def everything(epsilon=np.inf, **settings):
    return Report(tuple(Bounded(name, -1000, 1000, epsilon) for name in NUMBERS), **settings)


def test_a_report_tells_the_numbers_as_they_are(personal):
    view = personal.view(2)
    replies = personal.train(Plan.star([0, 2, 4], ONCE))
    told = view.ask.reports(replies.clients, everything(occasion=2), np.arange(3), among=replies)
    path = path_of(personal)
    for row, client in enumerate((0, 2, 4)):
        model, (held, trained) = (
            replies.models[row],
            (personal.clients.samples(client, split) for split in ("holdout", "train")),
        )
        said = [softmax(path.outputs(other, held[0]).astype(float), axis=1) for other in replies.models]
        brier = [
            np.mean(
                [
                    ((p - np.eye(3)[y]) ** 2).sum()
                    for p, y in zip(softmax(path.outputs(model, x).astype(float), axis=1), ys, strict=True)
                ]
            )
            for x, ys in (held, trained)
        ]
        expected = {
            "size": personal.roster["size"][client],
            "loss": path.losses(model, *held).mean(),
            "training_loss": path.losses(model, *trained).mean(),
            "gradient": np.linalg.norm(path.gradient(model, *trained)),
            "gap": (brier[0] - brier[1]) / 2,
            "spread": np.mean([sum(np.var([s[i, c] for s in said], ddof=1) for c in range(3)) for i in range(len(held[1]))]),
        }
        np.testing.assert_allclose(told[row], [expected[name] for name in NUMBERS], rtol=1e-5)


def test_squared_errors_of_a_regression_are_of_its_predictions():
    with small(dataset=line(), model="line", sizes=(30, 20, 40)) as federation:
        view = federation.view(1)
        replies = federation.train(Plan.star([0, 1, 2], ONCE))
        report = Report((Bounded("gap", -1000, 1000), Bounded("spread", 0, 1000)))
        told = view.ask.reports([1], report, 1, among=replies)[0]
        (xh, yh), (xt, yt) = (federation.clients.samples(1, split) for split in ("holdout", "train"))
        say = [lambda x, m=m: path_of(federation).outputs(m, x).ravel() for m in replies.models]
        gap = (np.mean((say[1](xh) - yh) ** 2) - np.mean((say[1](xt) - yt) ** 2)) / 2
        spread = np.var([s(xh) for s in say], axis=0, ddof=1).mean()
        np.testing.assert_allclose(told, [gap, spread], rtol=1e-4)


def test_a_report_costs_its_bytes_models_runs_and_epsilon_once():
    with small() as federation:
        ask = federation.view(1).ask
        size = Report((Bounded("size", 0, 40, 0.5),), occasion=1)
        one, other = ask.reports([2, 3], size), ask.reports([2, 3], size)
        np.testing.assert_array_equal(one, other)
        meter = federation.meter()
        assert (meter.up, meter.down, meter.evaluations, meter.epsilon) == ({"report": 16}, {}, 0, 1.0)
        ask.reports([2], Report((Bounded("loss", 0, 9, 0.25), Bounded("gap", -1, 1, 0.25)), occasion=1))
        meter = federation.meter()
        assert meter.down == {"model": 4 * federation.layout.size}
        assert (meter.up["report"], meter.evaluations, meter.epsilon) == (32, 3, 1.5)
        np.testing.assert_array_equal(federation.budget.spent, [0, 0, 1.0, 0.5, 0, 0])


def test_for_a_spread_every_model_goes_to_everybody():
    with small() as federation:
        view = federation.view(1)
        replies = federation.train(Plan.star([0, 1, 2], ONCE))
        before = federation.meter()
        view.ask.reports(replies.clients, Report((Bounded("spread"),), 1), np.arange(3), among=replies)
        after = federation.meter()
        assert after.bytes_down - before.bytes_down == 4 * federation.layout.size * 6, "all but their own, which they hold"
        assert after.evaluations - before.evaluations == 9
        with pytest.raises(ValueError, match="'spread' is of models that replies have brought"):
            view.ask.reports([0], Report((Bounded("spread"),)))


def test_noise_is_the_client_s_own_and_another_on_another_occasion():
    with small() as federation:
        ask = federation.view(1).ask
        told = [ask.reports([1, 1, 4], Report((Bounded("size", 0, 40, 0.5),), occasion)) for occasion in (1, 2)]
        assert told[0][0] == told[0][1]
        assert len(np.unique(np.concatenate(told))) == 4


def test_a_client_that_has_spent_its_cap_or_is_away_gives_no_report():
    with small(world=World(availability=0.5, presence="random")) as federation:
        view = federation.view(1)
        away = np.setdiff1d(view.roster.ids, view.present)
        for occasion in (1, 2, 3):
            told = view.ask.reports(view.roster.ids, Report((Bounded("size", 0, 40, 0.4),), occasion, cap=1.0))
            assert np.isnan(told[away]).all()
            assert np.isfinite(told[view.present]).all() == (occasion < 3)
        assert federation.budget.spent.max() == pytest.approx(0.8)


def test_private_probes_are_on_the_same_account():
    with small() as federation:
        ask, private = federation.view(1).ask, Probe(seed=4, directions=5, epsilon=1.5)
        ask.probe([2], private)
        ask.probe([2, 3], private)
        assert federation.budget.spent.tolist() == [0, 0, 1.5, 1.5, 0, 0]
        assert federation.meter().epsilon == 3.0, "an answer that is repeated is one release"


def test_who_is_away_answers_nan():
    federation = small(world=World(availability=0.5, presence="random"))
    view = federation.view(1)
    away = np.setdiff1d(view.roster.ids, view.present)
    assert 0 < len(away) < 6
    assert np.flatnonzero(np.isnan(view.ask.losses(view.roster.ids))).tolist() == away.tolist()
    assert np.flatnonzero(np.isnan(view.ask.gradients(view.roster.ids)).all(axis=1)).tolist() == away.tolist()
    assert np.isnan(view.ask.models(view.roster.ids)).all()
    with pytest.raises(ValueError, match=f"client {away[0]} cannot be reached"):
        view.ask.label_counts(view.roster.ids)
    told = federation.happened()
    assert (told.questions, told.unanswered_questions) == (18, 2 * len(away) + 6)


def test_clients_hold_the_last_model_they_trained_or_their_own(personal):
    np.testing.assert_array_equal(personal.view(2).ask.models([4, 1]), personal.models[[4, 1]])
    star = small()
    star.view(1)
    replies = star.train(Plan.star([1, 3], ONCE))
    held = star.view(2).ask.models([3, 0, 1])
    np.testing.assert_array_equal(held[[2, 0]], replies.models)
    assert np.isnan(held[1]).all()
    forgetful = small(remember=False)
    forgetful.view(1)
    forgetful.train(Plan.star([1, 3], ONCE))
    assert np.isnan(forgetful.view(2).ask.models([1])).all()


def test_label_counts_are_those_of_the_training_samples():
    federation = small()
    counts = federation.view(1).ask.label_counts([3, 0])
    for row, client in zip(counts, (3, 0), strict=True):
        np.testing.assert_array_equal(row, np.bincount(federation.clients.samples(client, "train")[1], minlength=3))
    with pytest.raises(ValueError, match="no labels"):
        small((40, 40), line(), model="linear").view(1).ask.label_counts([0])


def test_questions_to_nobody_have_no_answers():
    ask = small().view(1).ask
    assert ask.losses([]).shape == (0,)
    assert ask.gradients([], part=slice(0, 4)).shape == (0, 4)
    assert ask.models([]).shape == (0, 43)
    assert ask.probe([], Probe(seed=1, directions=3)).shape == (0, 3)


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (lambda ask: ask.losses([6]), "a client that there is not: 6; there are 6"),
        (lambda ask: ask.losses([-1]), "a client that there is not: -1"),
        (lambda ask: ask.losses([0], 1), "a model that there is not: 1; there are 1"),
        (lambda ask: ask.losses([0], batch=0), "batch must be"),
        (lambda ask: ask.losses([0], split="validation"), "split must be"),
    ],
)
def test_questions_that_make_no_sense_are_refused(question, says):
    with pytest.raises(ValueError, match=says):
        question(small().view(1).ask)

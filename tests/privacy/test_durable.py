"""What a client has spent survives kill -9: whatever left it is in its account, at every moment of dying."""

import itertools
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from coterie.privacy.budget import Budget, address_of_report
from coterie.privacy.durable import durable
from coterie.report import Bounded, Report

CAP = 2.0


def telling(occasion):
    return Report((Bounded("size", epsilon=0.5),), occasion, cap=CAP)


def answer(budget, occasion, dice):
    """What leaves the client, once its account is closed."""
    report = telling(occasion)
    addresses, can = [address_of_report(report, 0, False)], np.ones(1, bool)
    told, _ = budget.ask(report, np.zeros(1, np.intp), addresses, can, lambda places: dice.laplace(size=(len(places), 1)))
    return float(told[0, 0])


def client(path, out, dies_at, account=durable):
    """Answers five occasions twice each, writing what leaves it into a pipe, and dies at a step of writing."""
    steps = itertools.count()

    def tick():
        if next(steps) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    for owner, name in ((os, "fsync"), (Path, "replace"), (os, "write")):
        plain = getattr(owner, name)

        def stepped(*args, plain=plain, **kwargs):
            tick()
            done = plain(*args, **kwargs)
            tick()
            return done

        setattr(owner, name, stepped)
    dice = np.random.default_rng(os.getpid())
    for occasion in (1, 1, 2, 2, 3, 3, 4, 5):
        with account(path) as budget:
            told = answer(budget, occasion, dice)
        os.write(out, f"{occasion} {told!r}\n".encode())


def life(path, dies_at, account=durable):
    """What left a client until it died, and how it died."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            client(path, write, dies_at, account)
            os._exit(0)
        except BaseException:
            os._exit(3)
    os.close(write)
    with os.fdopen(read) as lines:
        left = [line.split() for line in lines if line.endswith("\n")]
    return [(int(occasion), float(told)) for occasion, told in left], os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def lives(folder, account=durable):
    """All that ever left clients who were killed at every step of writing and started again each time."""
    killed, every = 0, []
    for step in (*range(40), 10**9):
        left, ended = life(folder / "account.json", step, account)
        assert ended in (-9, 0)
        killed += ended == -9
        every += [one for one in left if np.isfinite(one[1])]
    return killed, every


def test_killed_at_every_step_of_writing_it_has_spent_what_left_it_and_repeats_it(tmp_path):
    killed, left = lives(tmp_path)
    assert killed >= 30
    occasions = {occasion for occasion, _ in left}
    assert len(set(left)) == len(occasions), "each occasion was told once, whoever asked again"
    with durable(tmp_path / "account.json") as budget:
        assert budget.spent[0] >= 0.5 * len(occasions) - 1e-9
        assert budget.spent[0] <= CAP + 1e-9
        assert len(occasions) == 4, "the fifth is past the cap, in every life"


def test_an_account_that_dies_with_its_process_is_caught(tmp_path):
    from contextlib import contextmanager

    forgotten = Budget(1)

    @contextmanager
    def in_memory(path):
        yield forgotten

    _, left = lives(tmp_path, in_memory)
    assert len(set(left)) * 0.5 > CAP, "it told the same things under new noise"


def test_each_of_two_processes_sees_what_the_other_spent(tmp_path):
    path = tmp_path / "account.json"
    for _ in range(5):
        life(path, 10**9)
    with durable(path) as budget:
        assert budget.spent[0] == pytest.approx(CAP)


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '{"spent": 1}', '{"spent": "x", "answers": {}}', '{"spent": -1, "answers": {}}']
)
def test_an_account_that_cannot_be_read_is_no_new_one(tmp_path, text):
    path = tmp_path / "account.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="nothing is told until"), durable(path):
        raise AssertionError("it opened")
    assert path.read_text() == text


def test_an_error_inside_leaves_the_account_as_it_was(tmp_path):
    path = tmp_path / "account.json"
    with pytest.raises(RuntimeError), durable(path) as budget:
        budget.put(0, "size of 0 @0", np.array([1.0]), 0.5)
        raise RuntimeError
    with durable(path) as budget:
        assert budget.spent.tolist() == [0.0]

"""Plays a run with live progress, then prints its table and writes its report."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from coterie.cli import said, tables
from coterie.experiments import cell, grid, on_superlink, run, summary
from coterie.experiments.locks import BusyError
from coterie.experiments.material import write_report
from coterie.experiments.problems import BadInputError, Problem
from coterie.experiments.store import Store, results

if TYPE_CHECKING:
    from coterie.experiments.cell import Outcome
    from coterie.experiments.experiment import Experiment

LINE_EVERY = 5.0
"""Seconds between lines of progress where there is no terminal."""


def play(
    store: Store,
    experiment: Experiment,
    *,
    jobs: int | None,
    on: str,
    every: float = 2.0,
    json: str | None = None,
    workers: int | None = None,
    superlink: str | None = None,
) -> None:
    """Plays what is left of a run, if so wished on a SuperLink. Exits with 1 if it failed or was stopped."""
    screen = said.console(progress=True)
    try:
        with watched(store):
            if superlink is None:
                outcomes = list(grid.play(store, experiment, jobs=jobs, on=on, every=every, workers=workers))
            else:
                outcomes = list(on_superlink.play(store, superlink, clients=experiment.clients, every=every))
    except BusyError as busy:
        raise BadInputError([Problem("", str(busy))]) from None
    failed = [one for one in outcomes if one.state == "failed"]
    for one in failed:
        screen.print(f"[red]failed[/red]: {one.cell.method}, seed {one.cell.seed}: {one.reason}", markup=True)
    complete = run.finish(store)
    show(store, json)
    if not complete:
        screen.print(_what_next(store, failed), soft_wrap=True)
        raise typer.Exit(1)


def show(store: Store, json: str | None) -> None:
    """Prints the table of a run, writes its JSON and its report."""
    rounds = results(store.folder)
    document = summary.document(store.outline, rounds, store.sizes())
    said.write_json(json, document)
    console = said.console(json)
    if len(rounds):
        console.print(tables.of_run(document, console.width))
        console.print(tables.happened(document))
        console.print(f"report: {write_report(store.folder)}", soft_wrap=True)
    console.print(f"run:    {store.folder}", soft_wrap=True)


def _what_next(store: Store, failed: list[Outcome]) -> str:
    if failed:
        return f"what went wrong in full: {store.cell(failed[0].cell) / 'error.txt'}"
    return f"stopped; to go on: coterie resume {store.folder}"


@contextmanager
def watched(store: Store) -> Iterator[None]:
    """Shows progress while the block runs: a live table on a terminal, a line now and then elsewhere."""
    watch, screen = Watch(store), said.console(progress=True)
    if screen.is_terminal:
        with Live(get_renderable=watch.table, console=screen, refresh_per_second=4, transient=True):
            yield
        return
    done = threading.Event()
    lines = threading.Thread(target=_print_lines, args=(watch, screen, done), daemon=True)
    lines.start()
    try:
        yield
    finally:
        done.set()
        lines.join()


def _print_lines(watch: Watch, screen: Console, done: threading.Event) -> None:
    shown = ""
    while not done.wait(LINE_EVERY):
        if watch.line() != shown:
            shown = watch.line()
            screen.print(shown, soft_wrap=True)
    screen.print(watch.line(), soft_wrap=True)


class Watch:
    """How far the cells of a run are, from the notes that they leave."""

    def __init__(self, store: Store) -> None:
        self.store, self.started = store, time.monotonic()
        self.before = self._rounds()

    def line(self) -> str:
        """All methods in one line."""
        parts = [f"{label} {accuracy}" for label, _, accuracy in self._methods()]
        return f"{self._share():.0%} of the rounds, {self._left()}: {', '.join(parts)}"

    def table(self) -> Group:
        """A row a method."""
        table = Table(box=None, pad_edge=False)
        for name in ("method", "round", "accuracy"):
            table.add_column(name, justify="left" if name == "method" else "right")
        for label, rounds, accuracy in self._methods():
            table.add_row(label, rounds, accuracy)
        stopping = "  stopping after this round" if self.store.stop.exists() else ""
        return Group(table, Text(f"{self._share():.0%}, {self._left()}{stopping}"))

    def _methods(self) -> Iterator[tuple[str, str, str]]:
        """Each method's rounds over all seeds, and the mean of the seeds' accuracies."""
        outline = self.store.outline
        for label in outline.labels:
            found = [cell.progress(self.store, one) for one in outline.cells if one.method == label]
            known = [accuracy for _, accuracy in found if not math.isnan(accuracy)]
            mean = f"{100 * sum(known) / len(known):.1f} %" if known else "–"
            yield label, f"{sum(done for done, _ in found)}/{outline.rounds * len(found)}", mean

    def _rounds(self) -> int:
        return sum(cell.progress(self.store, one)[0] for one in self.store.outline.cells)

    def _total(self) -> int:
        return self.store.outline.rounds * len(self.store.outline.cells)

    def _share(self) -> float:
        return self._rounds() / self._total()

    def _left(self) -> str:
        """The time that is left, from the pace since the start."""
        done, elapsed = self._rounds() - self.before, time.monotonic() - self.started
        if done <= 0:
            return "starting"
        seconds = round(elapsed * (self._total() - self._rounds()) / done)
        return f"{seconds // 60}:{seconds % 60:02d} left"

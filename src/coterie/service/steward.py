"""The one who sees to tasks when nobody asks: closes bidding on time, runs auctions, trains cohorts, settles.

All that it does is written like anything else, so after a crash it goes on where the database stands: a training that was
cut off is played again from the federation's seed, and rounds that are written down are not written twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from threading import Event, Thread
from typing import Any

from sqlalchemy import Connection, select

from coterie.federation import Federation
from coterie.service import auctioning, lifecycle
from coterie.service.lifecycle import SERVICE, Published, Status
from coterie.service.parties import ground_settings
from coterie.service.refusals import Conflict, Refused
from coterie.service.store import Store
from coterie.service.tables import profiles

MakeFederation = Callable[[Mapping[str, Any]], Federation]
SPOKEN = logging.getLogger("coterie.service")


class Steward:
    """Looks after a market's tasks."""

    def __init__(self, store: Store, federation_of: MakeFederation | None = None, *, automatic: bool = True) -> None:
        self.store, self.automatic = store, automatic
        self._make = federation_of
        self._due, self._over = Event(), Event()
        self._thread: Thread | None = None

    def start(self, every: float = 0.5) -> None:
        """Looks after them from now on, in a thread of its own."""
        self._thread = Thread(target=self._run, args=(every,), name="steward", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends after the round that is under way."""
        self._over.set()
        self._due.set()
        if self._thread is not None:
            self._thread.join()

    def wake(self) -> None:
        """Something may be due."""
        self._due.set()

    def once(self) -> None:
        """Does all that is due now."""
        self._each("open", self._close)
        if self.automatic:
            self._each("closed", self._auction)
            self._each("auctioned", self._begin)
        self._each("training", self._train)

    def _run(self, every: float) -> None:
        while not self._over.is_set():
            self._due.clear()
            try:
                self.once()
            except Exception:  # the database may be away for a while; what is due stays due
                SPOKEN.exception("the steward could not do its work")
            self._due.wait(every)

    def _each(self, status: Status, do: Callable[[Published], None]) -> None:
        with self.store.read() as connection:
            waiting = lifecycle.listed(connection, status)
        for task in reversed(waiting):
            if self._over.is_set():
                return
            try:
                do(task)
            except Refused as refused:  # somebody else was faster
                SPOKEN.info("task %s: %s", task.id, refused.reason)

    def _close(self, task: Published) -> None:
        if task.terms.closes_at is not None and task.terms.closes_at <= self.store.clock():
            self.store.write(0, lifecycle.close, SERVICE, task.id, "the time for bids is over")

    def _auction(self, task: Published) -> None:
        self.store.write(0, auctioning.auction, SERVICE, task.id)

    def _begin(self, task: Published) -> None:
        self.store.write(0, lifecycle.begin_training, SERVICE, task.id)

    def _train(self, task: Published) -> None:
        from coterie.service import training

        with self.store.read() as connection:
            settings = ground_settings(connection, task.terms.ground)
            members = _members(connection, task.id)
        make = self._make or training.federation_of
        try:
            for over in training.train(make(settings or {}), list(members), task.terms.rounds):
                if self._over.is_set():
                    return
                judged = {members[member]: conduct for member, conduct in over.judged.items()}
                row = {name: getattr(over, name) for name in ("round", "asked", "answered", "used", "accuracy", "loss")}
                self.store.write(0, lifecycle.round_over, task.id, row, judged)
        except Refused as refused:
            raise Conflict(f"training stopped: {refused.reason}") from refused
        except Exception as error:
            SPOKEN.exception("training for task %s failed", task.id)
            self.store.write(0, lifecycle.fail, SERVICE, task.id, f"training failed: {type(error).__name__}: {error}"[:400])
            return
        self.store.write(0, lifecycle.settle, SERVICE, task.id)


def _members(connection: Connection, task: int) -> dict[str, int]:
    """The cohort's members of the ground, and which party each is."""
    won = {row["profile"]: row["party"] for row in auctioning.cohort(connection, task)}
    rows = connection.execute(select(profiles.c.id, profiles.c.member).where(profiles.c.id.in_(won)))
    return {row.member: won[row.id] for row in rows}

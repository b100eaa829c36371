"""The end of a round: which of the replies that were sent are let in, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float32

from coterie.plan import Plan
from coterie.replies import Door, Replies, Reply, admit

LATE = "late"
SURPLUS = "surplus"


def close(
    plan: Plan,
    models: Float32[np.ndarray, "rows dim"],
    round: int,
    sent: Sequence[Reply],
    lost: Mapping[int, str],
    waits: bool,
    door: Door = Door(),
) -> Replies:
    """Lets in what came by the deadline, and of that, with over-selection, the earliest `plan.use_first` that are good.

    The round ends when the last reply that it waits for is there. Where one never comes (`waits`), or comes after
    the deadline, it ends at the deadline; without a deadline a client that broke off is not waited for.
    """
    deadline = float("inf") if plan.deadline is None else plan.deadline
    arriving = sorted(sent, key=lambda reply: (reply.seconds, reply.client))
    in_time = [reply for reply in arriving if reply.seconds <= deadline]
    late = {reply.client: LATE for reply in arriving if reply.seconds > deadline}
    replies = admit(plan, models, round, in_time, door=door, lost={**late, **lost})
    if plan.use_first is not None and len(replies) >= plan.use_first:
        return _first(replies, in_time, plan.use_first)
    missing = plan.deadline is not None and (waits or bool(late))
    last = max((reply.seconds for reply in in_time), default=0.0)
    return replace(replies, duration=deadline if missing else last)


def _first(replies: Replies, in_time: Sequence[Reply], count: int) -> Replies:
    """The earliest replies only; what arrived after the last of them is surplus, good or not, and not waited for."""
    order = np.lexsort((replies.clients, replies.seconds))[:count]
    used = np.sort(order)
    last = (float(replies.seconds[order[-1]]), int(replies.clients[order[-1]])) if count else (0.0, -1)
    over = {reply.client for reply in in_time if (reply.seconds, reply.client) > last}
    over -= set(replies.clients[used].tolist())
    return Replies(
        clients=replies.clients[used],
        models=replies.models[used],
        counts=replies.counts[used],
        facts={name: values[used] for name, values in replies.facts.items()},
        seconds=replies.seconds[used],
        rejected={client: reason for client, reason in replies.rejected.items() if client not in over},
        lost=dict(sorted({**dict.fromkeys(over, SURPLUS), **replies.lost}.items())),
        duration=last[0],
    )

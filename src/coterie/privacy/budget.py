"""What each client has let out, and what that has spent: the meter of privacy, kept where the clients are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from coterie.report import Report
from coterie.roster import Ids

Answer = Float[np.ndarray, " numbers"]
Places = NDArray[np.intp]

SLACK = 1 + 1e-9
"""Sums of ε may be off by rounding."""


class Budget:
    """Every private answer goes through here: repeated for nothing, or charged, or refused.

    Releases from the same data add up (sequential composition): a client that told something at ε₁ and something at ε₂
    has spent ε₁ + ε₂. The same bytes told twice are one release.

    >>> budget = Budget(clients=2)
    >>> budget.allows(0, epsilon=0.6, cap=1.0), budget.allows(0, epsilon=1.2, cap=1.0)
    (True, False)
    >>> budget.put(0, "size@0", np.array([41.3]), epsilon=0.6)
    >>> budget.told(0, "size@0").tolist(), budget.allows(0, epsilon=0.6, cap=1.0), budget.spent.tolist()
    ([41.3], False, [0.6, 0.0])
    """

    def __init__(self, clients: int) -> None:
        self.spent: NDArray[np.float64] = np.zeros(clients)
        """The privacy that each client has spent in all."""
        self.answers: dict[str, dict[int, Answer]] = {}
        """What was told under an address, by client."""

    def told(self, client: int, address: str) -> Answer | None:
        """What a client has told under an address, if it has."""
        return self.answers.get(address, {}).get(client)

    def allows(self, client: int, epsilon: float, cap: float = np.inf) -> bool:
        """Whether so much more stays within what a client may spend in all."""
        return bool(self.spent[client] + epsilon <= cap * SLACK)

    def put(self, client: int, address: str, answer: Answer, epsilon: float) -> None:
        """Charges a release and remembers it."""
        self.answers.setdefault(address, {})[client] = np.array(answer, np.float64)
        self.spent[client] += epsilon

    def ask(
        self,
        report: Report,
        clients: Ids,
        addresses: list[str],
        can: NDArray[np.bool_],
        tell: Callable[[Places], Float[np.ndarray, "places numbers"]],
    ) -> tuple[Float[np.ndarray, "questions numbers"], Places]:
        """What clients answer to a report, and at which places for the first time.

        `tell` says what leaves clients who have not told it yet and may; NaN rows where nothing came.
        """
        answers = np.full((len(clients), len(report.numbers)), np.nan)
        first: dict[tuple[int, str], int] = {}
        for place in np.flatnonzero(can).tolist():
            client = int(clients[place])
            if self.told(client, addresses[place]) is None and self.allows(client, report.epsilon, report.cap):
                first.setdefault((client, addresses[place]), place)
        fresh = np.array(list(first.values()), dtype=np.intp)
        if len(fresh):
            for place, answer in zip(fresh.tolist(), tell(fresh), strict=True):
                if np.isfinite(answer).all():
                    self.put(int(clients[place]), addresses[place], answer, report.epsilon)
        for place in np.flatnonzero(can).tolist():
            told = self.told(int(clients[place]), addresses[place])
            if told is not None:
                answers[place] = told
        return answers, fresh[np.isfinite(answers[fresh]).all(axis=1)]

    def forget(self, round: int) -> None:
        """Drops answers of rounds before this one: those are not asked for again. Those of occasion 0 stay."""
        self.answers = {address: told for address, told in self.answers.items() if occasion_of(address) in (0, round)}

    def state(self) -> dict[str, Any]:
        """All of it as arrays."""
        packed = {}
        for address, told in sorted(self.answers.items()):
            clients = sorted(told)
            packed[address] = {"clients": np.array(clients, np.intp), "answers": np.stack([told[k] for k in clients])}
        return {"spent": self.spent.copy(), "answers": packed}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self.spent = np.array(state["spent"], np.float64)
        self.answers = {
            address: {int(k): np.array(row) for k, row in zip(told["clients"], told["answers"], strict=True)}
            for address, told in state["answers"].items()
        }


def address_of(what: str, occasion: int, row: int = 0) -> str:
    """Where an answer is remembered.

    >>> address_of("size", 0), occasion_of(address_of("loss+gradient", 7, row=2))
    ('size of 0 @0', 7)
    """
    return f"{what} of {row} @{occasion}"


def address_of_report(report: Report, row: int, among: bool) -> str:
    """Where the answer to a report is remembered; sizes are about no model."""
    about = f"{'a reply' if among else 'a model'}, {'+'.join(report.names)}" if report.about_models else "size"
    return address_of(about, report.occasion, row if report.about_models else 0)


def occasion_of(address: str) -> int:
    """The occasion in an address."""
    return int(address.rpartition("@")[2])

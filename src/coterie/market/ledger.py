"""Money as double entries: every transfer takes from some accounts exactly what it gives to others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from coterie.market.task import is_whole

OUTSIDE = "outside"
"""Where money comes from when it is paid in, and goes when it is paid out: the one account that may be below 0."""


class LedgerError(ValueError):
    """A transfer that must not be made; the balances are as they were."""


@dataclass(frozen=True)
class Transfer:
    """Money that moves between accounts, all of it or none, for a reason.

    >>> Transfer("t1", {"outside": -5, "party:ann": 4}, "deposit")
    Traceback (most recent call last):
    coterie.market.ledger.LedgerError: transfer t1: entries sum to -1, not to 0
    """

    key: str
    """Idempotency key: the same transfer under the same key is made once, however often it is tried."""
    entries: Mapping[str, int]
    """For each account what it gains, below 0 what it gives, in minor units."""
    reason: str

    def __post_init__(self) -> None:
        if not self.key or not self.reason:
            raise LedgerError(f"transfer {self.key}: a key and a reason are needed")
        for account, amount in self.entries.items():
            if not account or not is_whole(amount) or amount == 0:
                raise LedgerError(f"transfer {self.key}: {amount!r} for '{account}' is no whole amount other than 0")
        if sum(self.entries.values()):
            raise LedgerError(f"transfer {self.key}: entries sum to {sum(self.entries.values())}, not to 0")
        entries = {account: int(amount) for account, amount in sorted(self.entries.items())}
        object.__setattr__(self, "entries", MappingProxyType(entries))


def apply(balances: Mapping[str, int], transfer: Transfer) -> dict[str, int]:
    """Returns the balances of a transfer's accounts after it; no account but the outside may end below 0.

    >>> apply({"outside": -10, "party:ann": 10}, Transfer("t2", {"party:ann": -4, "party:bob": 4}, "gift"))
    {'party:ann': 6, 'party:bob': 4}
    """
    after = {account: balances.get(account, 0) + amount for account, amount in transfer.entries.items()}
    for account, amount in after.items():
        if amount < 0 and account != OUTSIDE and transfer.entries[account] < 0:
            has = balances.get(account, 0)
            raise LedgerError(f"transfer {transfer.key}: '{account}' has {has} and cannot give {-transfer.entries[account]}")
    return after


def replay(transfers: Iterable[Transfer]) -> dict[str, int]:
    """Works out all balances from nothing but the transfers, in order, refusing a key that comes twice."""
    balances: dict[str, int] = {}
    keys: set[str] = set()
    for transfer in transfers:
        if transfer.key in keys:
            raise LedgerError(f"transfer {transfer.key}: made twice")
        keys.add(transfer.key)
        balances.update(apply(balances, transfer))
    return balances


@dataclass(frozen=True)
class Ledger:
    """All transfers ever made, and the balances that follow from them.

    >>> ledger = Ledger().post(Transfer("t1", {"outside": -10, "party:ann": 10}, "deposit"))
    >>> ledger.post(ledger.transfers["t1"]) is ledger, ledger.balance("party:ann")
    (True, 10)
    """

    transfers: Mapping[str, Transfer] = field(default_factory=dict)
    """By key, in the order in which they were made."""
    balances: Mapping[str, int] = field(default_factory=dict)

    def balance(self, account: str) -> int:
        """What an account holds."""
        return self.balances.get(account, 0)

    def post(self, transfer: Transfer) -> Ledger:
        """Makes a transfer: once for each key. The same key with other entries is refused."""
        known = self.transfers.get(transfer.key)
        if known == transfer:
            return self
        if known is not None:
            raise LedgerError(f"transfer {transfer.key}: this key stands for another transfer ('{known.reason}')")
        balances = {**self.balances, **apply(self.balances, transfer)}
        return Ledger({**self.transfers, transfer.key: transfer}, balances)

    def check(self) -> None:
        """Refuses a ledger whose balances are not what its transfers make them, or do not sum to 0."""
        if replay(self.transfers.values()) != dict(self.balances):
            raise LedgerError("ledger: the balances are not what the transfers make them")
        if sum(self.balances.values()):
            raise LedgerError(f"ledger: the balances sum to {sum(self.balances.values())}, not to 0")

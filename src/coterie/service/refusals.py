"""What the market refuses, and why. A refused request has changed nothing."""

from __future__ import annotations


class Refused(ValueError):  # noqa: N818 - it is said to people, who do not call it an error
    """Something that must not be done; the market is as it was."""

    status = 409

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Conflict(Refused):
    """It does not fit how things stand now."""


class NotAllowed(Refused):
    """Somebody else may do it."""

    status = 403


class NotThere(Refused):
    """There is no such thing, or none that this party may know of."""

    status = 404


class Unknown(Refused):
    """Nobody knows who asks."""

    status = 401


class Unfit(Refused):
    """What was sent cannot be meant."""

    status = 422

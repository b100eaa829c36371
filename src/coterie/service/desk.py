"""Who is at the desk: what routes need of a request: the market, and the party whose key it carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Concatenate, ParamSpec, TypeVar

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from coterie.service import keys
from coterie.service.keys import Party
from coterie.service.refusals import Unknown
from coterie.service.steward import Steward
from coterie.service.store import Store, Write

Given = ParamSpec("Given")
Result = TypeVar("Result")
COOKIE = "coterie_key"
BEARER = HTTPBearer(auto_error=False, scheme_name="key", description="A party's key.")


@dataclass(frozen=True)
class Desk:
    """A market, and who asks something of it."""

    store: Store
    steward: Steward
    who: Party

    def write(
        self, action: Callable[Concatenate[Write, Party, Given], Result], *given: Given.args, **named: Given.kwargs
    ) -> Result:
        """Does something in the party's name."""
        return self.store.write(self.who.id, action, self.who, *given, **named)


def desk(request: Request, bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]) -> Desk:
    """Lets in who has a key."""
    if bearer is None:
        raise Unknown("a key is needed: 'Authorization: Bearer KEY'")
    store: Store = request.app.state.store
    with store.read() as connection:
        return Desk(store, request.app.state.steward, keys.whose(connection, bearer.credentials))


AtDesk = Annotated[Desk, Depends(desk)]

"""The service as an ASGI application: the API under /api, its contract at /openapi.json, and the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from coterie import __version__
from coterie.service import screens
from coterie.service.migrations import migrate
from coterie.service.refusals import Refused
from coterie.service.routes import money, oversight, parties, tasks
from coterie.service.shapes import Health, Problem
from coterie.service.steward import Steward
from coterie.service.store import Store

ABOUT = """\
A market for federated training. Task owners buy, clients sell, the network owner runs auctions, training and the money.

Amounts are whole minor units (cents, say). Times are seconds since 1970. Send a key as `Authorization: Bearer KEY`.
A request that is refused (4xx) has changed nothing.
"""
REFUSED: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "This is no request that can be read."},
    401: {"model": Problem, "description": "No key, or one that is not known."},
    403: {"model": Problem, "description": "Somebody else may do this."},
    404: {"model": Problem, "description": "It is not there, or not for you."},
    409: {"model": Problem, "description": "It does not fit how things stand."},
    422: {"model": Problem, "description": "What was sent cannot be meant."},
    503: {"model": Problem, "description": "The database is away; try again."},
}


def create_app(store: Store, steward: Steward | None = None, *, entrances: dict[str, str] | None = None) -> FastAPI:
    """Makes the service over a database, which is brought to this version's tables first.

    Args:
        store: The database.
        steward: Who closes, trains and settles; started and stopped with the service. None: a usual one.
        entrances: Keys by role that the page offers to enter with, for demonstrations.
    """
    migrate(store)
    steward = steward or Steward(store)

    @asynccontextmanager
    async def alive(_: FastAPI) -> AsyncIterator[None]:
        steward.start()
        yield
        steward.stop()
        store.close()

    app = FastAPI(title="Coterie market", version=__version__, description=ABOUT, lifespan=alive, docs_url=None, redoc_url=None)
    app.state.store, app.state.steward, app.state.entrances = store, steward, entrances or {}
    api = APIRouter(prefix="/api", responses=REFUSED)
    for part in (parties, money, tasks, oversight):
        api.include_router(part.router)
    app.include_router(api)
    app.include_router(screens.router)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(SQLAlchemyError, _away)
    app.add_exception_handler(HTTPException, _plain)

    @app.get("/health", response_model=Health, tags=["health"])
    def health() -> Any:
        """Says that the service answers and its database is there."""
        with store.read() as connection:
            connection.exec_driver_sql("SELECT 1")
        return {"status": "ready", "version": __version__}

    return app


def _refused(request: Request, refused: Exception) -> Response:
    assert isinstance(refused, Refused)
    if not request.url.path.startswith("/api/"):
        return screens.refused_page(request, refused)
    headers = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else None
    return JSONResponse({"detail": refused.reason}, refused.status, headers)


def _away(request: Request, error: Exception) -> Response:
    if isinstance(error, DBAPIError):
        return JSONResponse({"detail": "the database cannot be reached or is busy; try again"}, 503, {"Retry-After": "1"})
    raise error


def _plain(request: Request, error: Exception) -> Response:
    """As FastAPI answers, but that 405 names every method that the path knows, not only those of its first route."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(sorted(_methods(request))) or headers.get("Allow", "")
    return JSONResponse({"detail": error.detail}, error.status_code, headers)


def _methods(request: Request) -> set[str]:
    """The methods that the contract has for a path."""
    known: set[str] = set()
    for path, operations in request.app.openapi()["paths"].items():
        if compile_path(path)[0].match(request.url.path):
            known |= {method.upper() for method in operations}
    return known

"""Help as plain text, in any window: what Typer prints without Rich, and without the backslashes that it leaves in there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand


class Plain(TyperCommand):
    """A command whose help is plain text."""

    def get_help(self, ctx: Any) -> str:  # a context of Click, which newer Typers bring along under another name
        """Typer escapes brackets for Rich even where Rich is not asked to print them."""
        return super().get_help(ctx).replace("\\[", "[")


class App(typer.Typer):
    """A group of such commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"rich_markup_mode": None, "add_completion": False, "pretty_exceptions_enable": False, **settings})

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        return super().command(name, **{"cls": Plain, **settings})

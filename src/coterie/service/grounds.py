"""Grounds: the federations in which cohorts train, as settings that the network owner names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coterie.service.refusals import Unfit


def check_scheme(partition: Mapping[str, Any]) -> None:
    """Refuses settings of a partition that no scheme takes.

    >>> check_scheme({"scheme": "dirichlet", "alpha": 0.5})
    """
    from coterie.data import SCHEMES

    given = dict(partition)
    scheme = given.pop("scheme", None)
    if scheme not in SCHEMES:
        raise Unfit(f"partition: scheme must be one of {', '.join(sorted(SCHEMES))}, not {scheme!r}")
    try:
        SCHEMES[str(scheme)](**given)
    except (TypeError, ValueError) as error:
        raise Unfit(f"partition: {str(error).replace('__init__() ', '')}"[:400]) from None

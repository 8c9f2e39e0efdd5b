"""Core counts without a measured goodput: the nearest count answers, with a wider interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from icmodel.arrays import Bools, Floats, if_else
from icmodel.tables import HIGH, LOW, VALUE, Look

OF_CHANGE = 0.5
"""Half-width in log: this share of log(requested count / nearest measured one); assumed, as for other
hosts."""


def unmeasured(look: Look) -> Bools:
    """Where the goodput was not measured at the requested core count, (n,); others are refused unless tables extend."""
    if not look.tables.extend:
        return np.zeros(len(look.q), dtype=bool)
    asked, axes = look.q.cores_count, look.tables.axes
    beyond = np.array(axes.cores or (0,), dtype=float).take(look.q.cores) != asked
    for protocol, cores in look.tables.without_goodput:
        if protocol in axes.protocols:
            beyond |= (look.q.protocol == axes.protocols.index(protocol)) & (asked == cores)
    return np.asarray((asked > 0) & beyond)


def answering_cores(look: Look, tables: Sequence[str]) -> Floats:
    """The core count whose rows answer for the requested one, (tables, n)."""
    measured = look.cores(tables)
    return if_else(unmeasured(look) & (measured > 0), measured, look.q.cores_count)


def other_cores(look: Look, tables: Sequence[str]) -> Bools:
    """Where rows at another core count answer for the requested one, (tables, n)."""
    return np.asarray(answering_cores(look, tables) != look.q.cores_count)


def widened(look: Look, tables: Sequence[str], found: Floats, of: Sequence[str] = ()) -> Floats:
    """Numbers (tables, ends, n), with wider ends where another core count answers.

    They stay within the limits that the source states.  ``of`` are the tables whose rows give the core count, if
    not the tables themselves.
    """
    if look.ends == 1 or not (beyond := unmeasured(look)).any():
        return found
    asked, nearest = look.q.cores_count, answering_cores(look, of or tables)
    known = (asked > 0) & (nearest > 0)
    ratio = np.divide(asked, nearest, out=np.ones_like(nearest), where=known)
    wider = if_else(beyond, np.exp(OF_CHANGE * np.abs(np.log(ratio))), 1.0)
    least, most = look.limits(tables)
    low, high = found[:, LOW], found[:, HIGH]
    low = np.minimum(low, np.maximum(low / wider, least))
    high = np.maximum(high, np.minimum(high * wider, most))
    return np.stack([found[:, VALUE], low, high], axis=1)

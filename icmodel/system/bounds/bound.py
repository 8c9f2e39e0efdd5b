"""Worst-case bounds of a network without cycles, by every analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from icmodel.errors import BoundsError
from icmodel.system.bounds.linear_programme import linear_programme
from icmodel.system.bounds.methods import Path, paths, pay_once, separate_flow, total_flow
from icmodel.system.bounds.propagation import Propagation

_ANALYSES: Mapping[str, Callable[[Path], dict[str, float]]] = {
    "total flow": total_flow,
    "separate flow": separate_flow,
    "pay multiplexing once": pay_once,
    "linear programme": linear_programme,
}
METHODS = tuple(_ANALYSES)


@dataclass(frozen=True)
class Bound:
    """No packet of a flow needs longer, from its first queue to the end of its path.

    Attributes
    ----------
    value_s
        The bound in s; inf where more may come than is served.
    method
        The analysis that gave it, one of `METHODS`.
    covers
        Features of the network that the bound accounts for. Bounds are compared only where these
        are the same.
    """

    value_s: float
    method: str
    covers: tuple[str, ...]


def analysed(
    propagation: Propagation, methods: Sequence[str] = METHODS
) -> dict[str, dict[str, float]]:
    """By analysis the delay bound of each flow in s, given what comes at each server.

    Raises
    ------
    BoundsError
        A method has an unknown name, or none is named.
    """
    for method in methods or ("",):
        if method not in _ANALYSES:
            raise BoundsError(f"{method!r} is no analysis; take some of {', '.join(METHODS)}")
    found: dict[str, dict[str, float]] = {method: {} for method in methods}
    for path in paths(propagation):
        for method, delays_s in found.items():
            delays_s |= _ANALYSES[method](path)
    return found

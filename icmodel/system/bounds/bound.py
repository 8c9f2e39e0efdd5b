"""Worst-case bounds of a network: the best of each flow, and what every analysis gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from icmodel.errors import BoundsError
from icmodel.system.bounds.linear_programme import linear_programme
from icmodel.system.bounds.network import Network
from icmodel.system.bounds.pay_once import pay_once
from icmodel.system.bounds.propagation import Propagation, propagate
from icmodel.system.bounds.separate_flow import separate_flow
from icmodel.system.bounds.total_flow import total_flow

_ANALYSES: Mapping[str, Callable[[Propagation], dict[str, float]]] = {
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


def bounds(network: Network, methods: Sequence[str] = METHODS) -> dict[str, Bound]:
    """The least bound of each flow over some analyses of the same network.

    Raises
    ------
    BoundsError
        A method has an unknown name, or none is named.
    """
    every = bounds_by_method(network, methods)
    return {
        name: min((found[name] for found in every.values()), key=lambda bound: bound.value_s)
        for name in network.flows
    }


def bounds_by_method(
    network: Network, methods: Sequence[str] = METHODS
) -> dict[str, dict[str, Bound]]:
    """By analysis the bound of each flow, all of them of the network as it is."""
    return analysed(propagate(network), methods)


def analysed(
    propagation: Propagation, methods: Sequence[str] = METHODS
) -> dict[str, dict[str, Bound]]:
    """By analysis the bound of each flow, given what comes at each server.

    Raises
    ------
    BoundsError
        A method has an unknown name, or none is named.
    """
    for method in methods or ("",):
        if method not in _ANALYSES:
            raise BoundsError(f"{method!r} is no analysis; take some of {', '.join(METHODS)}")
    covers = propagation.network.features
    return {
        method: {
            name: Bound(value, method, covers)
            for name, value in _ANALYSES[method](propagation).items()
        }
        for method in methods
    }


def backlogs_bits(network: Network) -> dict[str, float]:
    """Of each server the greatest backlog in bits, over all its queues.

    A packet counts from the moment when it is there as a whole until its last bit has been sent.
    """
    propagation = propagate(network)
    return {name: propagation.backlog_bits(name) for name in network.servers}

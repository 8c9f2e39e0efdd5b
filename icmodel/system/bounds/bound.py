"""Bounds of a whole network: least delay bound of each flow over all analyses, and backlog bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from icmodel.errors import BoundsError
from icmodel.system.bounds.analyses import (
    PathAggregate,
    path_aggregates,
    pay_multiplexing_once,
    separate_flow,
    total_flow,
)
from icmodel.system.bounds.linear_programme import linear_programme
from icmodel.system.bounds.network import Network
from icmodel.system.bounds.propagation import Propagation, propagate

_ANALYSES: Mapping[str, Callable[[PathAggregate], dict[str, float]]] = {
    "total flow": total_flow,
    "separate flow": separate_flow,
    "pay multiplexing once": pay_multiplexing_once,
    "linear programme": linear_programme,
}
METHODS = tuple(_ANALYSES)
CYCLES_CUT = "cycles by a fixed point"
"""Name of the feature that marks bounds of a network whose cycles were cut and solved by a fixed point."""


def bounds(network: Network, methods: Sequence[str] = METHODS) -> dict[str, Bound]:
    """Least delay bound of each flow of a network over the given analyses.

    Parameters
    ----------
    methods
        Analyses to use, a selection of `METHODS`.

    Raises
    ------
    BoundsError
        If a method is unknown, or ``methods`` is empty.

    Examples
    --------
    At a rate-latency server, the delay bound of a token-bucket flow is ``T + b/R``:

    >>> from icmodel.system.bounds import Flow, Server, network, rate_latency, token_bucket
    >>> server = Server("switch", rate_latency(1e9, latency_s=2e-6))
    >>> flow = Flow("video", ("switch",), token_bucket(8e3, 1e8))
    >>> bound = bounds(network([server], [flow]))["video"]
    >>> round(bound.value_s * 1e6, 6), bound.method
    (10.0, 'total flow')
    """
    return feed_forward(network).bounds(methods)


def backlogs_bits(network: Network) -> dict[str, float]:
    """Backlog bound of each server of a network [b]; a buffer of that size loses nothing."""
    return feed_forward(network).backlogs_bits()


@dataclass(frozen=True)
class Bound:
    """Delay bound of a flow: no packet takes longer from its first queue to the end of its path.

    Attributes
    ----------
    value_s
        The bound [s]; inf if more may arrive than is served.
    method
        Analysis that gave the bound, one of `METHODS`.
    covers
        Features of the network that the bound accounts for. Bounds are comparable only if these are equal.
    """

    value_s: float
    method: str
    covers: tuple[str, ...]


@dataclass(frozen=True)
class FeedForward:
    """Feed-forward network made from a network that may have cycles, by cutting flows into parts.

    Attributes
    ----------
    propagation
        Arrival and service curves at each server of the network.
    parts
        Name of a flow -> its consecutive parts in this network; the flow itself if it was not cut.
    """

    propagation: Propagation
    parts: Mapping[str, tuple[str, ...]]

    @property
    def network(self) -> Network:
        """The feed-forward network: servers and (cut) flows, without cycles."""
        return self.propagation.network

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the network features that bounds account for, including the fixed point if flows were cut."""
        cut = any(len(parts) > 1 for parts in self.parts.values())
        return (*self.network.features, *((CYCLES_CUT,) if cut else ()))

    def bounds(self, methods: Sequence[str] = METHODS) -> dict[str, Bound]:
        """Least delay bound of each flow over the given analyses; see the function `bounds`.

        The bound of a flow that was cut is the sum over its parts.
        """
        delays_s, covers = delays_by_method(self.propagation, methods), self.features
        least = {}
        for name, parts in self.parts.items():
            sums = {
                method: math.fsum(each[part] for part in parts) for method, each in delays_s.items()
            }
            method = min(sums, key=lambda name: sums[name])
            least[name] = Bound(sums[method], method, covers)
        return least

    def backlogs_bits(self) -> dict[str, float]:
        """Backlog bound of each server [b], by name: the most bits that wait in all its queues together.

        A packet counts from its complete arrival until its last bit has been sent.
        """
        return {name: self.propagation.backlog_bits(name) for name in self.network.servers}


def feed_forward(network: Network) -> FeedForward:
    """Compute the arrival and service curves of a network that has no cycle, so that no flow is cut."""
    return FeedForward(propagate(network), {name: (name,) for name in network.flows})


def delays_by_method(
    propagation: Propagation, methods: Sequence[str] = METHODS
) -> dict[str, dict[str, float]]:
    """Delay bound of each flow [s] by each analysis: a mapping of analysis to flow to bound.

    Raises
    ------
    BoundsError
        If a method is unknown, or ``methods`` is empty.
    """
    for method in methods or ("",):
        if method not in _ANALYSES:
            raise BoundsError(
                f"the analysis {method!r} is unknown; use one of {', '.join(METHODS)}"
            )
    delays_s: dict[str, dict[str, float]] = {method: {} for method in methods}
    for path in path_aggregates(propagation):
        for method, by_flow in delays_s.items():
            by_flow |= _ANALYSES[method](path)
    return delays_s

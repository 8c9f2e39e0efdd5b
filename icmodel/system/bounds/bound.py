"""Bounds for a whole network, also with cycles: delay of each flow, and backlog of each server.

Each analysis gives a delay bound for each flow; the least of these bounds counts.

In a network with cycles, links are cut until no cycle is left. Behind a cut, each flow continues as a
separate flow, whose packets come with varying delay. This release jitter is at most the sum of the longest waits
before the cut. But these waits depend on the jitters. So the search starts with jitters of 0. Each round computes
waits from the jitters, and new jitters from the waits. The search ends when the new jitters do not exceed the
jitters of the round: then the jitters of the round are valid bounds.

This is proved for a network that is empty at the beginning, if every packet needs some time to pass a cut. At the
beginning, no flow exceeds its jitter bound. Later, a flow can exceed its bound only if some flow did so before. So
no flow ever does. The proof does not assume that waits are a linear function of jitters.

References
----------
R. L. Cruz, *A calculus for network delay, part II* (IEEE Trans. Information Theory 37, 1991), §IV:
bursts in a ring as a fixed point. L. Thomas, J.-Y. Le Boudec, A. Mifdaoui, *On cyclic dependencies and
regulators in time-sensitive networks* (RTSS 2019), §V: total flow analysis with cuts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from icmodel.errors import BoundsError
from icmodel.system.bounds.analyses import (
    PathAggregate,
    path_aggregates,
    pay_multiplexing_once,
    separate_flow,
    total_flow,
)
from icmodel.system.bounds.linear_programme import linear_programme
from icmodel.system.bounds.network import Flow, Network, Server, network, senders
from icmodel.system.bounds.propagation import Propagation, propagate

MOST_ROUNDS = 300
"""Greatest number of rounds in the search for the fixed point of the jitters."""
CONVERGED = 1e-7
"""Convergence limit: the jitters have converged if a round changes them by a smaller fraction."""
SLOWER = 0.999
"""Greatest allowed ratio of the jitters' growth in one round to the growth in the previous round.

Above this ratio, the jitters count as diverging.
"""
MARGIN = 1e-5
"""Relative margin added to converged jitters.

The next round starts from the jitters with this margin. If it computes no greater jitters, they are valid
bounds.
"""

Cuts = frozenset[tuple[str, str]]


def cyclic_fixed_point(servers: Iterable[Server], flows: Iterable[Flow]) -> FeedForward:
    """Cut the cycles of a network, so that its delays and backlogs can be bounded.

    Behind a cut, a flow continues as a separate flow, with the sum of its waits before the cut as release jitter.
    Waits and jitters depend on each other. They are computed in rounds, until no jitter grows (a fixed point). The
    methods `bounds` and `backlogs_bits` of the result give the bounds of the whole network.

    Raises
    ------
    BoundsError
        If servers and flows contradict each other (see `network`), if jitters diverge, or if a packet needs no time to
        pass a cut.

    Examples
    --------
    >>> from icmodel.system.bounds import Flow, port, token_bucket
    >>> ring = [port(name, 1e9, delay_s=2e-6) for name in "ab"]
    >>> curve = token_bucket(12304.0, 1e8)
    >>> flows = [Flow(path, tuple(path), curve, 0, 12304.0, 12304.0) for path in ("ab", "ba")]

    The two flows form a cycle, so `network` refuses them. With the cycle cut, their delays have bounds.

    >>> network(ring, flows)
    Traceback (most recent call last):
        ...
    icmodel.errors.BoundsError: flows form a cycle of servers, ...
    >>> 2e-5 < cyclic_fixed_point(ring, flows).bounds()["ab"].value_s < 6e-5
    True
    """
    by_name, every = {server.name: server for server in servers}, list(flows)
    cuts = _cuts(senders(by_name, every))
    parts = {flow.name: tuple(_parts(flow, cuts, by_name)) for flow in every}

    jitter_s = {part.name: 0.0 for each in parts.values() for part in each}
    growth = math.inf
    for _ in range(MOST_ROUNDS):
        released = [
            replace(part, arrival=part.arrival.deconvolve_delay(jitter_s[part.name]))
            for each in parts.values()
            for part in each
        ]
        propagation = propagate(network(by_name.values(), released))
        found = _waits_before(propagation, parts)
        if all(found[name] <= assumed for name, assumed in jitter_s.items()):
            names = {name: tuple(part.name for part in each) for name, each in parts.items()}
            return FeedForward(propagation, names)
        # Greatest relative growth of a finite jitter; this growth must shrink from round to round.
        grown = (
            found[name] / assumed - 1.0 if assumed else math.inf
            for name, assumed in jitter_s.items()
            if 0.0 < found[name] < math.inf
        )
        before, growth = growth, max(grown, default=0.0)
        if growth > SLOWER * before:
            break
        margin = 1.0 + MARGIN if growth < CONVERGED else 1.0
        jitter_s = {name: jitter * margin for name, jitter in found.items()}

    worst = max(jitter_s, key=lambda name: jitter_s[name])
    links = ", ".join(f"{sender} -> {receiver}" for sender, receiver in sorted(cuts))
    raise BoundsError(
        f"the delays of flows in cycles, cut at {links}, do not converge: the jitter of {worst}, "
        f"{jitter_s[worst]:.3g} s, still grows by {100 * growth:.2g} % an iteration; "
        "reduce the load, or give a flow another route"
    )


def _cuts(before: Mapping[str, set[str]]) -> Cuts:
    """Choose the links to cut so that the network has no cycle.

    ``before`` maps each server to the servers that send to it. As long as a cycle is left, the server with the fewest
    senders is taken, and all links to it are cut.
    """
    left, cuts = dict(before), set()
    while left:
        waiting = {name: froms & left.keys() for name, froms in left.items()}
        free = [name for name, froms in waiting.items() if not froms]
        if not free:
            free = [min(waiting, key=lambda name: len(waiting[name]))]
            cuts |= {(sender, free[0]) for sender in waiting[free[0]]}
        for name in free:
            del left[name]
    return frozenset(cuts)


def _parts(flow: Flow, cuts: Cuts, servers: Mapping[str, Server]) -> Iterator[Flow]:
    """Cut a flow at the cut links into consecutive flows (parts); each part has the arrival curve of the source."""
    at = [hop for hop, link in enumerate(pairwise(flow.path), 1) if link in cuts]
    for hop in at:
        server, following = servers[flow.path[hop - 1]], servers[flow.path[hop]]
        sent_s = server.packet_s(server.forwarding_bits(flow.min_packet_bits, following))
        if sent_s + server.forwarding_s(following) <= 0.0:
            raise BoundsError(
                f"flow {flow.name!r} is in a cycle through {server.name!r}, and the least delay of this server is "
                "0 s; give the server a delay, or give its line a rate and the flow a minimum packet size"
            )
    for begin, end in pairwise((0, *at, len(flow.path))):
        path = flow.path[begin:end]
        if begin == 0:
            yield replace(flow, path=path)
            continue
        before = " ".join(flow.path[: begin + 1])
        copies = None if flow.multicast is None else f"{flow.multicast} behind {before}"
        yield replace(flow, name=f"{flow.name} from {path[0]} on", path=path, multicast=copies)


def _waits_before(
    propagation: Propagation, parts: Mapping[str, Iterable[Flow]]
) -> dict[str, float]:
    """Release jitter [s] of each part of each flow, by the name of the part.

    The analysis cuts flows into parts, so that the network has no cycles. The jitter of a part is the sum of the longest
    waits of a packet in the parts before it; 0 for the first part.
    """
    waits: dict[str, float] = {}
    for each in parts.values():
        total = 0.0
        for part in each:
            waits[part.name] = total
            queues = (propagation.queue(part, server) for server in part.path)
            total += math.fsum(
                propagation.arrivals.wait_s(queue, part.min_packet_bits) for queue in queues
            )
    return waits


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
    """Delay bound of each flow in a network: the least bound that the given analyses find.

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
        Features of the network that the bound accounts for. Two bounds are comparable only if they cover the
        same features.
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
        Name of a flow -> names of the consecutive flows into which it was cut; only its own name if it was not cut.
    """

    propagation: Propagation
    parts: Mapping[str, tuple[str, ...]]

    @property
    def network(self) -> Network:
        """The feed-forward network: servers and (cut) flows, without cycles."""
        return self.propagation.network

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the network features that the bounds account for, such as schedulers.

        If the network has cycles, so that flows were cut, the fixed-point method for cycles is named too.
        """
        cut = any(len(parts) > 1 for parts in self.parts.values())
        return (*self.network.features, *((CYCLES_CUT,) if cut else ()))

    def bounds(self, methods: Sequence[str] = METHODS) -> dict[str, Bound]:
        """Delay bound of each flow: the least bound that the given analyses find; see the function `bounds`.

        If flows were cut into parts, to break cycles, the bound of such a flow is the sum of the bounds of its parts.
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
        """Map the name of each server to its backlog bound [b]: the most bits that wait in all its queues together.

        A whole packet counts from its complete arrival until its last bit has been sent.
        """
        return {name: self.propagation.backlog_bits(name) for name in self.network.servers}


def feed_forward(network: Network) -> FeedForward:
    """Compute the arrival and service curves of a network that has no cycle, so that no flow is cut."""
    return FeedForward(propagate(network), {name: (name,) for name in network.flows})


def delays_by_method(
    propagation: Propagation, methods: Sequence[str] = METHODS
) -> dict[str, dict[str, float]]:
    """Delay bound of each flow [s] by each analysis, as a nested mapping: analysis -> flow -> bound.

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

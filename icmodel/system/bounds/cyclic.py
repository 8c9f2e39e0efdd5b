"""Networks with cycles of flows that wait for each other: bounded by a fixed point, if there is one.

Links are cut so that no cycle is left, and each flow goes on behind a cut as a flow of its own: later
than at its source by up to the waits before it, its *delay so far*. What delays are assumed makes waits, and
so delays again. Assumed delays that are no less than those they make are bounds: as long as flows keep to
them, they go on to, since a packet on a line needs time for what has come before to get behind a cut.
No linearity is needed, only that a network begins empty.

References
----------
R. L. Cruz, *A calculus for network delay, part II* (IEEE Trans. Information Theory 37, 1991), §IV:
bursts in a ring as a fixed point. L. Thomas, J.-Y. Le Boudec, A. Mifdaoui, *On cyclic dependencies and
regulators in time-sensitive networks* (RTSS 2019), §V: total flow analysis with cuts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from icmodel.errors import BoundsError
from icmodel.system.bounds.bound import METHODS, Bound, analysed
from icmodel.system.bounds.curves import Arrival
from icmodel.system.bounds.network import Flow, Network, Server, network, senders
from icmodel.system.bounds.propagation import Propagation, propagate

FEATURE = "cycles by a fixed point"
MOST_ROUNDS = 300
"""Rounds in which assumed delays have to come to rest."""
REST = 1e-7
"""Relative: change of delays in a round below which they rest."""
SLOWER = 0.999
"""Part of the growth of a round that the next one must stay below: else delays are taken to grow for ever."""
RAISED = 1e-5
"""Relative: what is put on delays at rest, so that they are no less than those that they make."""

Cuts = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Opened:
    """A network without cycles whose flows, part by part, are those of one that may have some.

    Attributes
    ----------
    propagation
        What comes at each server of the network, and what each class gets there.
    parts
        By flow its parts in the network, one after the other; where nothing was cut, itself.
    """

    propagation: Propagation
    parts: Mapping[str, tuple[str, ...]]

    @property
    def network(self) -> Network:
        """The network without cycles."""
        return self.propagation.network

    @property
    def features(self) -> tuple[str, ...]:
        """What bounds account for, the fixed point if one was needed."""
        cut = any(len(parts) > 1 for parts in self.parts.values())
        return (*self.network.features, *((FEATURE,) if cut else ()))

    def bounds(self, methods: Sequence[str] = METHODS) -> dict[str, Bound]:
        """The least bound of each flow over some analyses: the sum over its parts."""
        every, covers = analysed(self.propagation, methods), self.features
        found = {}
        for name, parts in self.parts.items():
            sums = {
                method: math.fsum(each[part] for part in parts) for method, each in every.items()
            }
            method = min(sums, key=lambda one: sums[one])
            found[name] = Bound(sums[method], method, covers)
        return found

    def backlogs_bits(self) -> dict[str, float]:
        """Of each server the greatest backlog in bits, over all its queues.

        A packet counts from the moment when it is there as a whole until its last bit has been sent.
        """
        return {name: self.propagation.backlog_bits(name) for name in self.network.servers}


def uncut(whole: Network) -> Opened:
    """A network as it is, which has no cycle."""
    return Opened(propagate(whole), {name: (name,) for name in whole.flows})


def bounds(whole: Network, methods: Sequence[str] = METHODS) -> dict[str, Bound]:
    """The least bound of each flow of a network, over some analyses."""
    return uncut(whole).bounds(methods)


def backlogs_bits(whole: Network) -> dict[str, float]:
    """Of each server of a network the greatest backlog in bits."""
    return uncut(whole).backlogs_bits()


def opened(servers: Iterable[Server], flows: Iterable[Flow]) -> Opened:
    """The network of these servers and flows, its cycles cut.

    Raises
    ------
    BoundsError
        As `network` does; delays do not come to rest, or a packet needs no time behind a cut.
    """
    by_name, every = {server.name: server for server in servers}, list(flows)
    cuts = _cuts(senders(by_name, every))
    parts = {flow.name: tuple(_parts(flow, cuts, by_name)) for flow in every}
    late_s = {part.name: 0.0 for each in parts.values() for part in each}
    growth = math.inf
    for _ in range(MOST_ROUNDS):
        made, found = _round(by_name.values(), parts, late_s)
        if all(found[name] <= late for name, late in late_s.items()):
            return Opened(
                made, {name: tuple(part.name for part in each) for name, each in parts.items()}
            )
        before, growth = growth, _growth(late_s, found)
        if growth > SLOWER * before:
            break
        raised = 1.0 + RAISED if growth < REST else 1.0
        late_s = {name: late * raised for name, late in found.items()}
    raise BoundsError(_not_at_rest(cuts, late_s, growth))


def _growth(late_s: Mapping[str, float], found: Mapping[str, float]) -> float:
    """Relative growth of the finite delay that grows most."""
    grown = ((found[name], late) for name, late in late_s.items() if 0.0 < found[name] < math.inf)
    return max((now / late - 1.0 if late else math.inf for now, late in grown), default=0.0)


def _not_at_rest(cuts: Cuts, late_s: Mapping[str, float], growth: float) -> str:
    worst = max(late_s, key=lambda name: late_s[name])
    links = ", ".join(f"{sender} -> {receiver}" for sender, receiver in sorted(cuts))
    return (
        f"flows go round in cycles of servers, cut at {links}, and delays do not come to rest: {worst} "
        f"comes {late_s[worst]:.3g} s late, which still grows by {100 * growth:.2g} % a round; ask for less, "
        "or route a flow otherwise"
    )


def _round(
    servers: Iterable[Server], parts: Mapping[str, Sequence[Flow]], late_s: Mapping[str, float]
) -> tuple[Propagation, dict[str, float]]:
    """The network in which parts come so late, and how late they come in it."""
    flows = [_late(part, late_s[part.name]) for each in parts.values() for part in each]
    made = propagate(network(servers, flows))
    found: dict[str, float] = {}
    for each in parts.values():
        late = 0.0
        for part in each:
            found[part.name] = late
            queues = (made.queue(part, server) for server in part.path)
            waits = (made.arrivals.wait_s(queue, part.min_packet_bits) for queue in queues)
            late += math.fsum(waits)
    return made, found


def _late(part: Flow, late_s: float) -> Flow:
    """The part as it comes when it is late by up to so much; without limit, anything may come."""
    known = late_s < math.inf
    return replace(part, arrival=part.arrival.advanced(late_s) if known else Arrival(()))


def _parts(flow: Flow, cuts: Cuts, servers: Mapping[str, Server]) -> Iterator[Flow]:
    """The flow from cut to cut, each part as it comes from the source."""
    begin = 0
    for hop, link in enumerate(pairwise(flow.path), 1):
        if link in cuts:
            _check_time(flow, *(servers[name] for name in link))
            yield _part(flow, begin, hop)
            begin = hop
    yield _part(flow, begin, len(flow.path))


def _part(flow: Flow, begin: int, end: int) -> Flow:
    if begin == 0:
        return replace(flow, path=flow.path[:end])
    before = " ".join(flow.path[: begin + 1])
    copies = None if flow.multicast is None else f"{flow.multicast} behind {before}"
    name = f"{flow.name} from {flow.path[begin]} on"
    return replace(flow, name=name, path=flow.path[begin:end], multicast=copies)


def _check_time(flow: Flow, server: Server, following: Server) -> None:
    sent_s = server.packet_s(server.onward_bits(flow.min_packet_bits, following))
    if sent_s + server.onward_s(following) <= 0.0:
        raise BoundsError(
            f"flow {flow.name!r} goes round in a cycle by {server.name!r}, which it may pass in no time; "
            "give the server a delay, or its line a rate and the flow a shortest packet"
        )


def _cuts(before: Mapping[str, set[str]]) -> Cuts:
    """Links without which no cycle is left: all that go to the server of fewest, while one is left."""
    left, found = dict(before), set()
    while left:
        waiting = {name: froms & left.keys() for name, froms in left.items()}
        free = [name for name, froms in waiting.items() if not froms]
        if not free:
            free = [min(waiting, key=lambda name: len(waiting[name]))]
            found |= {(sender, free[0]) for sender in waiting[free[0]]}
        for name in free:
            del left[name]
    return frozenset(found)

"""The greatest delay on a path as a linear programme, first come, first served.

Variables are dates, and the bits that have come by each; the constraints hold of every run, so the
greatest delay that they allow is a bound. They are the order in queues, arrival and service curves
between dates, and the delay of each queue by total flow analysis (Bouillard and Stea 2015, Bouillard
2022; see `unfolded`). What comes across is bounded from the sources on, as in the other analyses.

With packets, what left by a date are whole packets: of one more the line may have sent all but the last
bit. The packet that is looked at has left to its last bit, and had the line for itself while it left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from typing import Any

import numpy as np

from icmodel.arrays import Floats
from icmodel.system.bounds.curves import NEVER, Service
from icmodel.system.bounds.methods import Path, choices, total_flow
from icmodel.system.bounds.network import Flow
from icmodel.system.bounds.propagation import Numbers, Queue

END = 0
"""The date when the packet that is looked at has left the last queue."""
MOST_DATES = 8
"""Dates at the input of a queue up to which each date at its output has a start."""


@dataclass(frozen=True)
class Node:
    """A queue of a path, and the dates at its input.

    Attributes
    ----------
    outputs
        Dates at its output; the first is that of the packet that is looked at, the last the earliest.
    fifo, starts
        By date at the output its two dates at the input; `starts` of some only.
    order
        Pairs of dates at the input, the first of which is never before the second.
    parts
        Stages by the hop behind which they leave the path.
    before
        The node before it on the path; None at the first.
    """

    hop: int
    queue: Queue
    outputs: Sequence[int]
    fifo: Mapping[int, int]
    starts: Mapping[int, int]
    order: Sequence[tuple[int, int]]
    parts: Mapping[int, Numbers]
    before: Node | None

    @cached_property
    def passing(self) -> Numbers:
        """Stages that come from the node before."""
        there = frozenset() if self.before is None else frozenset(self.before.queue.stages)
        stages = self.queue.stages.values()
        return frozenset(stage.number for stage in stages if stage.before in there)

    @cached_property
    def entering(self) -> Mapping[str | None, Mapping[int, Numbers]]:
        """Stages that come across, by the link they come over and the hop behind which they leave."""
        return {
            link: {
                hop: here
                for hop, part in self.parts.items()
                if (here := part & numbers - self.passing)
            }
            for link, numbers in self.queue.links.items()
        }

    def back(self) -> Iterator[Node]:
        """The node itself, and those before it."""
        yield self
        if self.before is not None:
            yield from self.before.back()


def unfolded(path: Path) -> Node:
    """The last queue of a path, behind it those before; dates are numbers, `END` the first."""
    dates = count(END + 1)
    last = len(path.hops) - 1
    parts = {last: frozenset(path.hops[last].stages)}
    return _node(path, last, [END], [], parts, dates)


def _node(
    path: Path,
    hop: int,
    outputs: Sequence[int],
    order: Sequence[tuple[int, int]],
    parts: Mapping[int, Numbers],
    dates: Iterator[int],
) -> Node:
    fifo = {date: next(dates) for date in outputs}
    some = outputs if 2 * len(outputs) <= MOST_DATES else (outputs[0], outputs[-1])
    starts = {date: next(dates) for date in some}
    inputs = [*fifo.values(), *starts.values()]
    ordered = [(fifo[date], starts[date]) for date in starts]
    ordered += (
        _pairs(order, fifo, fifo) + _pairs(order, fifo, starts) + _pairs(order, starts, starts)
    )
    before = None
    if hop > 0:
        earlier = _parts_before(path, hop, parts)
        before = _node(path, hop - 1, inputs, ordered, earlier, dates)
    return Node(hop, path.hops[hop], outputs, fifo, starts, ordered, parts, before)


def _pairs(
    order: Sequence[tuple[int, int]], later: Mapping[int, int], earlier: Mapping[int, int]
) -> list[tuple[int, int]]:
    """Dates of dates that are ordered, which are ordered alike."""
    return [
        (later[one], earlier[other]) for one, other in order if one in later and other in earlier
    ]


def _parts_before(path: Path, hop: int, parts: Mapping[int, Numbers]) -> dict[int, Numbers]:
    """Stages at the hop before, by the hop behind which they leave the path."""
    stages, there = path.hops[hop].stages, frozenset(path.hops[hop - 1].stages)
    found = {
        leaving: there & {stages[number].before for number in numbers}
        for leaving, numbers in parts.items()
    }
    found[hop - 1] = there - frozenset().union(*found.values())
    return {leaving: numbers for leaving, numbers in found.items() if numbers}


MOST_STAGES = 128
"""Stages of a network up to which programmes are solved; flows of greater ones have none."""
MOST_PROGRAMMES = 4
"""Choices of a service at each hop up to which each has a programme of its own."""
TOLERANCE = 1e-6
"""Relative: a bound is raised by this, as the solver keeps constraints to 1e-7 of their scale."""

Came = tuple[int, str | None, int, int]
"""Bits that have come at a hop, over a link, to leave behind a hop, by a date."""
Terms = list[tuple[int | Came, float]]
"""Variables and their factors: a date's age, which is how long before the end it is in s, or bits."""


@dataclass(frozen=True)
class Row:
    """The sum of the terms is at most ``most``."""

    terms: Terms
    most: float


def linear_programme(path: Path) -> dict[str, float]:
    """Delay bound in s of each flow; inf where no order is known, and in a large network."""
    by_total_flow = total_flow(path)
    if path.propagation.arrivals.stage_count > MOST_STAGES:
        return dict.fromkeys(by_total_flow, NEVER)
    like = {flow.min_packet_bits: flow for flow in path.flows}
    delays = {
        bits: min(
            Programme(path, flow, services).delay_s(by_total_flow[flow.name])
            for services in choices([hop.services for hop in path.hops], MOST_PROGRAMMES)
        )
        for bits, flow in like.items()
    }
    return {flow.name: delays[flow.min_packet_bits] for flow in path.flows}


@dataclass(frozen=True)
class Programme:
    """The linear programme of a flow on its path, given what each of its hops serves."""

    path: Path
    flow: Flow
    services: Sequence[Service]

    @cached_property
    def last(self) -> Node:
        """The last queue, behind it those before."""
        return unfolded(self.path)

    def delay_s(self, within_s: float) -> float:
        """Delay bound in s; ``within_s``, another bound, gives the scale; inf if that is."""
        if within_s == NEVER or not all(hop.in_order for hop in self.path.hops):
            return NEVER
        *_, first = self.last.back()
        rate = max(each.rate_bps for each in self.services)
        rows = [row for node in self.last.back() for row in self._rows(node)]
        greatest = solved(rows, first.fifo[first.outputs[0]], within_s, rate * within_s)
        return greatest * (1.0 + TOLERANCE)

    def _rows(self, node: Node) -> Iterator[Row]:
        yield from self._delays(node)
        yield from self._served(node)
        yield from self._came(node)

    def _own(self, node: Node, date: int) -> bool:
        """Whether a date at the output is when the packet that is looked at leaves."""
        return date == node.outputs[0]

    def _delays(self, node: Node) -> Iterator[Row]:
        """What leaves has come before, and no longer ago than total flow analysis says."""
        server, waits = node.queue.server, self.path.propagation.arrivals
        for out, came in node.fifo.items():
            own = self._own(node, out)
            bits = self.flow.min_packet_bits if own else node.queue.traffic.min_packet_bits
            passing = server.packet_s(self.path.onward_bits(node.hop, bits))
            longest = waits.wait_s(node.queue, bits) + passing + self.path.onward_s(node.hop)
            yield Row([(out, 1.0), (came, -1.0)], -server.delay_s)
            yield Row([(came, 1.0), (out, -1.0)], longest)
        for out, start in node.starts.items():
            yield Row([(out, 1.0), (start, -1.0)], -server.delay_s)
        for later, earlier in node.order:
            yield Row([(later, 1.0), (earlier, -1.0)], 0.0)

    def _served(self, node: Node) -> Iterator[Row]:
        """What left since the start of a busy period: at least the service curve."""
        queue, server = node.queue, node.queue.server
        for out, start in node.starts.items():
            if self._own(node, out):
                own = self.flow.min_packet_bits if server.line_rate_bps else 0.0
                more, late = -own, server.packet_s(self.path.onward_bits(node.hop, own))
            else:
                more, late = self.path.onward_bits(node.hop, queue.traffic.max_packet_bits), 0.0
            bits = come(node, node.parts, start, 1.0) + come(node, node.parts, node.fifo[out], -1.0)
            for piece in self.services[node.hop].pieces:
                idle = self.path.onward_s(node.hop) + late + piece.latency_s
                ages: Terms = [(start, piece.rate_bps), (out, -piece.rate_bps)]
                yield Row([*ages, *bits], piece.rate_bps * idle + more)

    def _came(self, node: Node) -> Iterator[Row]:
        """What came between two dates: no less than nothing, and no more than the arrival curves."""
        arrivals, spared = self.path.propagation.arrivals, self.path.spared
        for stages, bits in self._together(node):
            buckets = arrivals.of(stages, spared).buckets
            for later, earlier in node.order:
                rise = [*bits(later, 1.0), *bits(earlier, -1.0)]
                yield Row([(name, -factor) for name, factor in rise], 0.0)
                for bucket in buckets:
                    ages: Terms = [(later, bucket.rate_bps), (earlier, -bucket.rate_bps)]
                    yield Row([*rise, *ages], bucket.burst_bits)

    def _together(self, node: Node) -> Iterator[tuple[Numbers, Callable[[int, float], Terms]]]:
        """Stages whose arrival curve is known as one, and the bits that have come of them."""
        for link, parts in node.entering.items():
            for hop, numbers in parts.items():
                yield numbers, partial(entered, node, link, (hop,))
            passing = node.queue.links[link] & node.passing
            if passing or (link is not None and len(parts) > 1):
                yield node.queue.links[link], partial(over, node, link)


def entered(
    node: Node, link: str | None, leaving: Collection[int], date: int, sign: float
) -> Terms:
    """What has come across over a link by a date, to leave behind some hops."""
    hops = (hop for hop in node.entering[link] if hop in leaving)
    return [((node.hop, link, hop, date), sign) for hop in hops]


def passed(node: Node, leaving: Collection[int], date: int, sign: float) -> Terms:
    """What has come from the node before by a date: what had come there by its FIFO date."""
    before = node.before
    return [] if before is None else come(before, leaving, before.fifo[date], sign)


def come(node: Node, leaving: Collection[int], date: int, sign: float) -> Terms:
    """All that has come at a node by a date, to leave behind some hops."""
    across = [term for link in node.entering for term in entered(node, link, leaving, date, sign)]
    return across + passed(node, leaving, date, sign)


def over(node: Node, link: str | None, date: int, sign: float) -> Terms:
    """All that has come over a link by a date."""
    along = node.queue.links[link] & node.passing
    across = entered(node, link, node.parts, date, sign)
    return across + (passed(node, node.parts, date, sign) if along else [])


def solved(rows: Sequence[Row], aim: int, second: float, bit: float) -> float:
    """The greatest age of a date that rows allow, in s; inf if there is none; date 0 is the end.

    Parameters
    ----------
    second, bit
        Units that ages and bits are counted in, so that the solver sees numbers about 1.
    """
    from scipy.optimize import linprog  # half a second that only these bounds pay

    names = dict.fromkeys(name for row in rows for name, _ in row.terms if name != END)
    columns = {name: column for column, name in enumerate(names)}
    units = {name: second if isinstance(name, int) else bit for name in columns}
    scaled = [
        [(columns[name], factor * units[name]) for name, factor in row.terms if name != END]
        for row in rows
    ]
    matrix, most = _matrix(scaled, [row.most for row in rows], len(columns))
    cost = np.zeros(len(columns))
    cost[columns[aim]] = -1.0
    found = linprog(cost, A_ub=matrix, b_ub=most, method="highs")
    return NEVER if found.fun is None else -float(found.fun) * second


def _matrix(
    rows: Sequence[Sequence[tuple[int, float]]], limits: Sequence[float], width: int
) -> tuple[Any, Floats]:
    """Rows as a sparse matrix, and their limits; each row over its greatest factor."""
    from scipy.sparse import csr_array

    entries: list[float] = []
    places: list[int] = []
    ends, most = [0], []
    for terms, limit in zip(rows, limits, strict=True):
        scale = max(abs(factor) for _, factor in terms) or 1.0
        entries += [factor / scale for _, factor in terms]
        places += [place for place, _ in terms]
        ends.append(len(entries))
        most.append(limit / scale)
    return csr_array((entries, places, ends), shape=(len(rows), width)), np.array(most)

"""Delay bound of a path as a linear programme, for queues that are served first come, first served.

Variables are dates (points in time), and the bits that have arrived by each date. The constraints hold in
every run, so the greatest delay that they allow is a bound. The constraints are the order in queues, arrival and
service curves between dates, and the delay of each queue by total flow analysis (A. Bouillard, G. Stea,
*Exact worst-case delay in FIFO-multiplexing feed-forward networks*, IEEE/ACM Trans. Networking 23, 2015;
A. Bouillard, *Trade-off between accuracy and tractability of network calculus in FIFO networks*,
Performance Evaluation 153, 2022). The arrival curves of cross traffic are propagated from its sources, as in
the other analyses.

The service curve bounds all bits that the line has sent by a date. The variables count only complete packets. But
the line may also have sent part of one more packet, up to all but its last bit. So the counted bits may be one
packet below the service curve. This does not hold at the departure of the packet of interest (the packet whose
delay is maximised): the line has just sent this packet completely, and no part of another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count

import numpy as np

from icmodel.system.bounds.analyses import PathAggregate, service_choices, total_flow
from icmodel.system.bounds.curves import ServiceCurve
from icmodel.system.bounds.network import Flow
from icmodel.system.bounds.propagation import Queue, StageNumbers

MOST_STAGES = 128
"""Size of the largest network, in stages, for which the linear programme is solved.

A stage is the packets of some flows at one server.
"""
MOST_PROGRAMMES = 4
"""Greatest number of linear programmes per flow.

Each programme is for one combination of service curves, one per hop.
"""
MOST_DATES = 8
"""Greatest number of dates (points in time that are variables) at a queue's input.

Each output date has two input dates: an arrival, and the start of a busy period. If there would be more input
dates than this limit, only the first and the last output date have a busy period's start.
"""
TOLERANCE = 1e-6
"""Relative margin added to the bound of a linear programme.

The solver may violate constraints by 1e-7 of their scale.
"""
END = 0
"""Index of the date (point in time) at which the packet of interest has left the last queue."""


def linear_programme(path: PathAggregate) -> dict[str, float]:
    """Delay bound of each flow [s] by a linear programme.

    The bound is inf if the order of service in a queue is unknown, or the network is too large.
    """
    by_total_flow = total_flow(path)
    if path.propagation.arrivals.stage_count > MOST_STAGES:
        return dict.fromkeys(by_total_flow, math.inf)
    # The flows of a path differ only in their shortest packets.
    by_packet = {flow.min_packet_bits: flow for flow in path.flows}
    delays_s = {
        bits: min(
            Programme(path, flow, services).delay_s(by_total_flow[flow.name])
            for services in service_choices(
                [queue.services for queue in path.queues], MOST_PROGRAMMES
            )
        )
        for bits, flow in by_packet.items()
    }
    return {flow.name: delays_s[flow.min_packet_bits] for flow in path.flows}


# --- constraints ------------------------------------------------------------------------------

Arrived = tuple[int, str | None, int, int]
"""Key of a variable of the linear programme: the bits of some traffic that have arrived at a queue by a date.

The parts of the key are the hop of the queue, the link of arrival, the hop after which the bits leave the
path, and the date.
"""
Terms = list[tuple[int | Arrived, float]]
"""Linear expression of a constraint, as pairs of a variable and its factor.

The variable of a date is its age: the time from the date to the end [s].
"""


@dataclass(frozen=True)
class Constraint:
    """Constraint of a linear programme: the sum of the terms (variable times factor) is at most ``most``."""

    terms: Terms
    most: float


@dataclass(frozen=True)
class Programme:
    """Linear programme for the delay bound of one flow on its path, with one service curve at each hop."""

    path: PathAggregate
    flow: Flow
    services: Sequence[ServiceCurve]

    @cached_property
    def last(self) -> QueueDates:
        """Variables of the linear programme for the last queue of the path: its dates (points in time).

        Its attribute ``before`` leads to the dates of the previous queue.
        """
        return lp_dates(self.path)

    def delay_s(self, scale_s: float) -> float:
        """Solve the linear programme: delay bound of the flow [s]; inf if a queue of its path is not known to be FIFO.

        Parameters
        ----------
        scale_s
            Delay bound of another analysis [s]. The solver uses it only as unit of time, so that its numbers are
            near 1. If this bound is inf, the result is inf.
        """
        if scale_s == math.inf or not all(queue.is_fifo for queue in self.path.queues):
            return math.inf
        *_, first = self.last.upstream()
        rate = max(each.rate_bps for each in self.services)
        constraints = [
            constraint
            for dates in self.last.upstream()
            for rule in (self.order_and_delay, self.service, self.arrivals)
            for constraint in rule(dates)
        ]
        aim = first.fifo[first.outputs[0]]
        return maximise_age_s(constraints, aim, scale_s, rate * scale_s) * (1.0 + TOLERANCE)

    def order_and_delay(self, dates: QueueDates) -> Iterator[Constraint]:
        """Constraints of one queue: bits depart after they arrive, and at most the delay bound later.

        The delay bound is the longest wait of a packet in this queue alone (total flow analysis), plus the time to
        forward the packet.
        """
        queue, hop, waits = dates.queue, dates.hop, self.path.propagation.arrivals
        server = queue.server
        for output, date in dates.fifo.items():
            of_interest = output == dates.outputs[0]
            bits = self.flow.min_packet_bits if of_interest else queue.traffic.min_packet_bits
            sending = server.packet_s(self.path.forwarding_bits(hop, bits))
            longest = waits.wait_s(queue, bits) + sending + self.path.forwarding_s(hop)
            yield Constraint([(output, 1.0), (date, -1.0)], -server.delay_s)
            yield Constraint([(date, 1.0), (output, -1.0)], longest)
        for output, start in dates.starts.items():
            yield Constraint([(output, 1.0), (start, -1.0)], -server.delay_s)
        for later, earlier in dates.order:
            yield Constraint([(later, 1.0), (earlier, -1.0)], 0.0)

    def service(self, dates: QueueDates) -> Iterator[Constraint]:
        """Constraints of one queue: departures since the start of a busy period are at least the service curve."""
        queue, hop, parts = dates.queue, dates.hop, dates.parts
        server = queue.server
        for output, start in dates.starts.items():
            if output == dates.outputs[0]:
                own = self.flow.min_packet_bits if server.line_rate_bps else 0.0
                more = -own
                late = server.packet_s(self.path.forwarding_bits(hop, own))
            else:
                more, late = self.path.forwarding_bits(hop, queue.traffic.max_packet_bits), 0.0
            bits = dates.arrived(parts, start, 1.0)
            bits = bits + dates.arrived(parts, dates.fifo[output], -1.0)
            for piece in self.services[hop].pieces:
                idle = self.path.forwarding_s(hop) + late + piece.latency_s
                ages: Terms = [(start, piece.rate_bps), (output, -piece.rate_bps)]
                yield Constraint([*ages, *bits], piece.rate_bps * idle + more)

    def arrivals(self, dates: QueueDates) -> Iterator[Constraint]:
        """Constraints on the arrivals at one queue between any two dates (points in time).

        At least 0 bits arrive, and at most as many as the arrival curves allow.
        """
        arrivals, of_interest = self.path.propagation.arrivals, self.path.stages_of_interest
        for stages, bits in dates.aggregates():
            buckets = arrivals.of_stages(stages, of_interest).buckets
            for later, earlier in dates.order:
                rise = [*bits(later, 1.0), *bits(earlier, -1.0)]
                yield Constraint([(name, -factor) for name, factor in rise], 0.0)
                for bucket in buckets:
                    ages: Terms = [(later, bucket.rate_bps), (earlier, -bucket.rate_bps)]
                    yield Constraint([*rise, *ages], bucket.burst_bits)


# --- dates ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QueueDates:
    """Dates (points in time that are variables) at the input and output of one queue of a path.

    Attributes
    ----------
    outputs
        Dates at the output. The first date belongs to the packet of interest; the last date is the
        earliest.
    fifo, starts
        Two mappings: output date -> input date. In ``fifo``, the input date is the arrival of the bits that depart
        at the output date. In ``starts``, it is the start of the busy period in which these bits depart. If the
        linear programme would become too large, ``starts`` has only the first and the last output date; see
        `MOST_DATES`.
    order
        Pairs of dates at the input; the first date of a pair is never before the second.
    parts
        Hop (server of the path) -> numbers of the stages at this queue that leave the path after that hop. A stage
        is the packets of some flows at one server.
    before
        Dates of the previous queue on the path; None for the first queue.
    """

    hop: int
    queue: Queue
    outputs: Sequence[int]
    fifo: Mapping[int, int]
    starts: Mapping[int, int]
    order: Sequence[tuple[int, int]]
    parts: Mapping[int, StageNumbers]
    before: QueueDates | None

    @cached_property
    def along(self) -> StageNumbers:
        """Numbers that identify the stages at this queue whose packets come from the previous queue of the path.

        A stage is the packets of some flows at one server.
        """
        there = frozenset() if self.before is None else frozenset(self.before.queue.stages)
        stages = self.queue.stages.values()
        return frozenset(stage.number for stage in stages if stage.before in there)

    @cached_property
    def entering(self) -> Mapping[str | None, Mapping[int, StageNumbers]]:
        """Stages that enter the path at this queue, as nested mappings: link -> last hop -> stage numbers.

        A stage is the packets of some flows at one server; numbers identify the stages. The link is the one over which
        a stage arrives. The last hop is the server of the path after which the stage's packets leave the path.
        """
        return {
            link: {
                hop: here
                for hop, part in self.parts.items()
                if (here := part & numbers - self.along)
            }
            for link, numbers in self.queue.links.items()
        }

    def upstream(self) -> Iterator[QueueDates]:
        """Yield the `QueueDates` of this queue, of the queue before it, and so on to the first queue of the path."""
        yield self
        if self.before is not None:
            yield from self.before.upstream()

    def aggregates(self) -> Iterator[tuple[StageNumbers, Callable[[int, float], Terms]]]:
        """Yield the sets of stages that joint arrival curves limit in the linear programme, each with a function.

        A stage is the packets of some flows at one server. A joint arrival curve limits the arrivals of all stages of
        its set together. To write this limit as a constraint, call the function with a date (point in time) and a
        factor, 1 or -1. It returns terms; their sum is the number of bits of the set that arrived by the date, times
        the factor.
        """
        for link, parts in self.entering.items():
            for hop, numbers in parts.items():
                yield numbers, partial(self.entered, link, (hop,))
            along = self.queue.links[link] & self.along
            if along or (link is not None and len(parts) > 1):
                yield self.queue.links[link], partial(self.over_link, link)

    def entered(self, link: str | None, leaving: Collection[int], date: int, sign: float) -> Terms:
        """Terms (variable and factor) of a constraint: their sum is the bits that joined the path here by a date.

        A date is a point in time. Only bits over ``link`` that leave the path after one of the hops ``leaving`` count.
        Bits from the previous queue of the path do not count, since they joined the path earlier. All terms have the
        factor ``sign``, 1 or -1.
        """
        hops = (hop for hop in self.entering[link] if hop in leaving)
        return [((self.hop, link, hop, date), sign) for hop in hops]

    def forwarded(self, leaving: Collection[int], date: int, sign: float) -> Terms:
        """Constraint terms for the bits that the previous queue of the path has sent to this queue by a date.

        A date is a point in time. Queues keep the order of bits. So the bits sent by ``date`` are those that had
        arrived at the previous queue by the earlier date ``before.fifo[date]``. Only bits that leave the path after
        one of the hops ``leaving`` count. ``sign`` is the factor of the terms, 1 or -1. The first queue of the path has
        no previous queue, so it has no terms.
        """
        before = self.before
        return [] if before is None else before.arrived(leaving, before.fifo[date], sign)

    def arrived(self, leaving: Collection[int], date: int, sign: float) -> Terms:
        """Terms (variable and factor) of a constraint: their sum is the bits that arrived at this queue by a date.

        A date is a point in time. Bits over all links count, but only those that leave the path after one of the hops
        ``leaving``. All terms have the factor ``sign``, 1 or -1.
        """
        entered = [
            term for link in self.entering for term in self.entered(link, leaving, date, sign)
        ]
        return entered + self.forwarded(leaving, date, sign)

    def over_link(self, link: str | None, date: int, sign: float) -> Terms:
        """Terms of a linear constraint: all bits that arrived at this queue over ``link`` up to ``date``.

        A date is the number of a point in time. The terms are multiplied by ``sign``, 1 or -1.
        """
        entered = self.entered(link, self.parts, date, sign)
        if not self.queue.links[link] & self.along:
            return entered
        return entered + self.forwarded(self.parts, date, sign)


def lp_dates(path: PathAggregate) -> QueueDates:
    """Make the dates of all queues of a path: points in time that are variables of the linear programme.

    The dates are made from the last queue back to the first. The result is the dates of the last queue. Its attribute
    ``before`` holds the dates of the previous queue, and so on back to the first.
    """
    last = len(path.queues) - 1
    parts = {last: frozenset(path.queues[last].stages)}
    return _queue_dates(path, last, [END], [], parts, count(END + 1))


def _queue_dates(
    path: PathAggregate,
    hop: int,
    outputs: Sequence[int],
    output_order: Sequence[tuple[int, int]],
    parts: Mapping[int, StageNumbers],
    dates: Iterator[int],
) -> QueueDates:
    fifo = {date: next(dates) for date in outputs}
    some = outputs if 2 * len(outputs) <= MOST_DATES else (outputs[0], outputs[-1])
    starts = {date: next(dates) for date in some}

    # Input dates have the order of output dates. A busy period starts before the arrival of the bits that depart in it.
    order = [(fifo[date], starts[date]) for date in starts]
    for later_of, earlier_of in ((fifo, fifo), (fifo, starts), (starts, starts)):
        order += [
            (later_of[later], earlier_of[earlier])
            for later, earlier in output_order
            if later in later_of and earlier in earlier_of
        ]

    before = None
    if hop > 0:
        stages, there = path.queues[hop].stages, frozenset(path.queues[hop - 1].stages)
        upstream = {
            leaving: there & {stages[number].before for number in numbers}
            for leaving, numbers in parts.items()
        }
        upstream[hop - 1] = there - frozenset().union(*upstream.values())
        parts_before = {leaving: numbers for leaving, numbers in upstream.items() if numbers}
        inputs = [*fifo.values(), *starts.values()]
        before = _queue_dates(path, hop - 1, inputs, order, parts_before, dates)
    return QueueDates(hop, path.queues[hop], outputs, fifo, starts, order, parts, before)


# --- solver -----------------------------------------------------------------------------------


def maximise_age_s(
    constraints: Sequence[Constraint], date: int, unit_s: float, unit_bits: float
) -> float:
    """Solve the linear programme: greatest age of ``date`` that the constraints allow [s]; inf if they set no limit.

    A date is a point in time. Its age is the time until the packet of interest has left the last queue (date `END`).

    Parameters
    ----------
    unit_s, unit_bits
        Units in which the solver counts ages [s] and bits [b], chosen so that its numbers are near 1.
    """
    import highspy  # imported here: only this analysis needs the solver

    names = dict.fromkeys(
        name for constraint in constraints for name, _ in constraint.terms if name != END
    )
    columns = {name: column for column, name in enumerate(names)}
    units = {name: unit_s if isinstance(name, int) else unit_bits for name in columns}

    # Sparse matrix: one row per constraint, divided by the greatest factor of the row.
    factors: list[float] = []
    places: list[int] = []
    starts, most = [0], []
    for constraint in constraints:
        row = [
            (columns[name], factor * units[name])
            for name, factor in constraint.terms
            if name != END
        ]
        scale = max(abs(factor) for _, factor in row) or 1.0
        factors += [factor / scale for _, factor in row]
        places += [place for place, _ in row]
        starts.append(len(factors))
        most.append(constraint.most / scale)

    programme = highspy.HighsLp()
    programme.num_col_, programme.num_row_ = len(columns), len(constraints)
    programme.sense_ = highspy.ObjSense.kMaximize
    programme.col_cost_ = np.array([float(name == date) for name in columns])
    programme.col_lower_ = np.zeros(len(columns))
    programme.col_upper_ = np.full(len(columns), np.inf)
    programme.row_lower_ = np.full(len(constraints), -np.inf)
    programme.row_upper_ = np.array(most)
    programme.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    programme.a_matrix_.start_ = np.array(starts)
    programme.a_matrix_.index_ = np.array(places)
    programme.a_matrix_.value_ = np.array(factors)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    solver.setOptionValue("threads", 1)
    solver.passModel(programme)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return math.inf
    return solver.getInfo().objective_function_value * unit_s

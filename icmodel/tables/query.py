"""Query of look-up tables for a block of prediction requests.

A look-up gives value, low, high, basis (kind of evidence) and dataset rows of each metric, at any load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from icmodel.arrays import Bools, Codes, Floats, Ints
from icmodel.tables.curves import HIGH, LOW, VALUE
from icmodel.tables.tables import Tables

Number = TypeVar("Number", np.float64, np.int64)
ENDS = np.arange(3)
"""Indices of value, low and high on the `ends` axis."""
TOGETHER = 16_384
"""Greatest number of results (metrics × ends × requests) in one look-up.

With this limit, the coefficients stay in the processor's cache.  For a few requests, one step looks up all metrics.
"""


class Load(NamedTuple):
    """Offered load of n requests, in the form in which look-up tables need it.

    All arrays have the shape (n,), or (ends, n) if value, low and high of a result are looked up at different loads.
    ``slot`` is the index of the load interval in the tables.  ``above_bps`` is the load minus the lower end of this
    interval; ``None`` if all loads are unlimited.  ``limited`` marks the loads that are not unlimited.
    """

    slot: Ints
    above_bps: Floats | None
    limited: Bools

    def at_value(self) -> Load:
        """Copy for looking up the value only: it keeps the first row of the arrays (3, n): value, low and high."""
        above = None if self.above_bps is None else self.above_bps[:1]
        return Load(self.slot[:1], above, self.limited[:1])

    def of_values(self) -> Load:
        """Return only the loads at which the value of each result is looked up, arrays (n,).

        The loads for the low and high ends are dropped.  If all three use the same load, the arrays have the
        shape (n,) already, and the object itself is returned.
        """
        if self.slot.ndim == 1:
            return self
        above = None if self.above_bps is None else self.above_bps[VALUE]
        return Load(self.slot[VALUE], above, self.limited[VALUE])

    def take(self, where: Ints) -> Load:
        """Select the loads of the requests at the given indices."""
        above = None if self.above_bps is None else self.above_bps.take(where, axis=-1)
        return Load(self.slot.take(where, axis=-1), above, self.limited.take(where, axis=-1))


class TableQuery:
    """Query of look-up tables for a block of n prediction requests (``questions``).

    Numbers have the shape (ends, n) or (metrics, ends, n).  The `ends` axis holds value, low and high, or only the
    value.  Core and switch counts have the shape (metrics, n).  NaN marks requests for which the tables have no value.

    Parameters
    ----------
    tables : Tables
        Compiled curves.
    questions : Questions
        Block of requests, converted to indices into the tables.
    intervals : bool
        Whether results contain low and high too.
    """

    def __init__(self, tables: Tables, questions: Questions, *, intervals: bool) -> None:
        self.tables, self.q = tables, questions
        self.ends = 3 if intervals else 1
        axes = tables.axes
        self.cell = tables.cells(questions.payload_bytes)
        self.above_knot = questions.payload_bytes - tables.left.take(self.cell)
        _, cores, switch_counts = axes.shape
        switches = np.minimum(questions.switches, switch_counts - 1)
        self.config = (questions.protocol * cores + questions.core_index) * switch_counts + switches
        self._starts: dict[tuple[str, ...], Ints] = {}

    def take(self, where: Ints) -> TableQuery:
        """Make a query of the same tables for the requests at the given indices."""
        return TableQuery(self.tables, self.q.take(where), intervals=self.ends == 3)

    @cached_property
    def same_configuration(self) -> bool:
        """Whether all requests have the same protocol, core count and switch count; false if there are no requests."""
        return len(self.q) > 0 and bool((self.config == self.config[0]).all())

    @cached_property
    def extra_distance_m(self) -> Floats:
        """Length of each requested cable minus that of the dataset's cable [m], (n,); 0 for the dataset's own cable."""
        extra = self.q.distance_m - (self.tables.link.cable_length_m or 0.0)
        np.copyto(extra, 0.0, where=np.isnan(extra))
        return extra

    # --- loads --------------------------------------------------------------------------------

    @cached_property
    def requested(self) -> Load:
        """Requested load of each request, (n,); an unlimited rate counts as a load above every measured load."""
        request = self.q.requested_goodput_bps
        loads = self.tables.axes.loads
        passed = np.zeros(len(request), dtype=np.min_scalar_type(len(loads)))
        for level in loads:
            passed += (request >= level).view(np.uint8)
        slot = passed.astype(np.int64)
        above = request - self.tables.floors.take(slot)
        above[np.isinf(above)] = 0.0
        return Load(slot, above, np.ones(len(request), dtype=bool))

    @cached_property
    def unlimited(self) -> Load:
        """Unlimited load for all requests, to look up their values as if they stated no load."""
        size = len(self.q)
        slot = np.full(size, len(self.tables.axes.loads) + 1)
        return Load(slot, None, np.zeros(size, dtype=bool))

    def load(self, unlimited: Bools) -> Load:
        """Make the load at which each request is looked up.

        ``unlimited`` (..., n) is true for a look-up at the unlimited load, and false for one at the requested load.
        """
        requested = self.requested
        assert requested.above_bps is not None
        slot = unlimited * np.int64(len(self.tables.axes.loads) + 1)  # the last slot
        np.maximum(slot, requested.slot, out=slot)
        return Load(slot, np.broadcast_to(requested.above_bps, slot.shape), ~unlimited)

    # --- numbers ------------------------------------------------------------------------------

    def __call__(self, metric: str, load: Load) -> Floats:
        """Look up a metric for n requests; the result is an array (ends, n).

        The axis ``ends`` holds value, low and high, or only the value.  The loads have the shape (n,), or (ends, n) if
        value, low and high are looked up at different loads.
        """
        found: Floats = self.all((metric,), load)[0]
        return found

    def all(self, metrics: Sequence[str], load: Load) -> Floats:
        """Look up several metrics for n requests; the result has the shape (metrics, ends, n).

        The `ends` axis holds value, low and high, or only the value.  Low and high are clipped to the limits stated by
        the source.  The loads have the shape (n,), or (ends, n) if value, low and high are looked up at different
        loads.
        """
        found = self._polynomial(metrics, load, ENDS[: self.ends])
        if self.ends == 3:
            least, most = self.limits(metrics)
            np.maximum(found[:, LOW], least, out=found[:, LOW])
            np.minimum(found[:, HIGH], most, out=found[:, HIGH])
        return found

    def values(self, metrics: Sequence[str], load: Load) -> Floats:
        """Look up the values of several metrics at some loads, without low and high, (metrics, n)."""
        found: Floats = self._polynomial(metrics, load.of_values(), ENDS[:1])[:, 0]
        return found

    def unlimited_highs(self, metrics: Sequence[str]) -> Floats:
        """Look up the high ends of several metrics' 90 % intervals for senders without a rate limit, (metrics, n)."""
        found: Floats = self._polynomial(metrics, self.unlimited, ENDS[HIGH:])[:, 0]
        np.minimum(found, self.limits(metrics)[1], out=found)
        return found

    def _polynomial(self, metrics: Sequence[str], load: Load, ends: Ints) -> Floats:
        """Evaluate the table polynomials of metrics at the loads of n requests.

        The result is an array (metrics, ends, n).  The argument ``ends`` has the indices of the wanted numbers: 0 for
        the value, 1 for low, 2 for high.
        """
        packed, chosen = self.tables.packed, self.tables.chosen(tuple(metrics))
        start, above = self._start(tuple(metrics)), load.above_bps
        if above is None:
            values, planes, squares = packed.cells, packed.unlimited, packed.unlimited_squares
        else:
            values, planes, squares = packed.places, packed.coefficients, packed.squares
            start = start + load.slot * packed.cells
        offset = chosen.offset + ends[:, None] * values
        found = np.empty((len(metrics), len(ends), len(self.q)))
        if found.size <= TOGETHER:
            self._sum(planes, squares, start[chosen.pattern] + offset, above, found)
            return found
        places = np.broadcast_to(start, (len(start), *found.shape[1:]))
        loads = None if above is None else np.broadcast_to(above, found.shape[1:])
        for metric, end in np.ndindex(found.shape[:2]):
            first = int(offset[metric, end, 0])  # slices of the planes shift the indices
            self._sum(
                planes[:, first:],
                squares[:, first:] if ends[end] != VALUE else squares[:, :0],
                places[chosen.pattern[metric], end],
                None if loads is None else loads[end],
                found[metric, end],
            )
        return found

    def _sum(
        self, planes: Floats, squares: Floats, place: Ints, above: Floats | None, found: Floats
    ) -> None:
        """Evaluate polynomials of payload and load, and write the numbers to ``found``.

        `Packed` has the formula, with the coefficients c0 to c5.  Each row of coefficients is read only when its term
        is added, so that few arrays are in the processor's cache.

        Parameters
        ----------
        planes : array
            Rows of the coefficients c0, c1, c3 and c4 of all polynomials; only c0 and c1 for unlimited loads.
        squares : array
            Rows of the coefficients c2 and c5; only c2 for unlimited loads.  Empty if all are 0.
        place : array of int
            Index of each polynomial within the rows.
        above : array or None
            Load minus the load at which its interval begins [b/s]; ``None`` for unlimited loads.
        found : array
            Array for the result.
        """
        constant, slope, *of_load = planes
        total = self._payload_terms(slope, squares[:1], place)
        if above is not None:
            step, twist = of_load
            of_load_terms = self._payload_terms(twist, squares[1:], place)
            of_load_terms += step.take(place)
            of_load_terms *= above
            total += of_load_terms
        np.add(total, constant.take(place), out=found)

    def _payload_terms(self, slope: Floats, square: Floats, place: Ints) -> Floats:
        """Sum of the linear and the quadratic payload term of the polynomials that are looked up.

        The payload counts from the lower end of the payload interval (``above_knot``).
        """
        terms = slope.take(place)
        if square.size:
            terms += square[0].take(place) * self.above_knot
        terms *= self.above_knot
        return terms

    # --- basis and rows -----------------------------------------------------------------------

    def basis(self, metrics: Sequence[str], load: Load) -> Codes:
        """Look up the basis (kind of evidence) of each value, as an index into ``BASES``, (metrics, n).

        If there is no value, the index is 0, the strongest basis.
        """
        place = self._places(metrics, load)
        on_knot = (self.above_knot == 0) & (self.cell > 0)
        known = load.of_values()
        on_level = (
            np.ones(len(self.q), dtype=bool)
            if known.above_bps is None
            else ~known.limited | (known.above_bps == 0)
        )
        packed = self.tables.packed
        place += (on_knot * 2 + on_level) * packed.places
        found: Codes = packed.basis.reshape(-1).take(place)
        return found

    def rows(self, metrics: Sequence[str], load: Load) -> list[list[int]]:
        """Indices of the dataset rows from which each metric is interpolated, for a single request.

        At a measured payload, only rows with that payload are used.  At a measured load, only the curve of that load is
        used.
        """
        payload = float(self.q.payload_bytes[0])
        request = float(self.q.requested_goodput_bps[0])
        found = []
        for near in self.tables.packed.rows[:, self._places(metrics, load)[:, 0]].T.tolist():
            left, right, upper_left, upper_right = near
            rows = set()
            if left >= 0:
                own = self.tables.data.points[left]
                at_payload = own.payload_bytes in (None, payload)
                at_load = own.load_bps in (None, np.inf, request)
                rows = {left} if at_payload else {left, right}
                if not at_load:
                    rows |= {upper_left} if at_payload else {upper_left, upper_right}
            found.append(sorted(row for row in rows if row >= 0))
        return found

    # --- configurations -----------------------------------------------------------------------

    def known(self, metric: str) -> Bools:
        """Mask (n,): true if the metric has rows for the protocol, core count and switch count of the request."""
        return np.asarray(self.tables.group[self.tables.index[metric]].take(self.config) > 0)

    def cores(self, metrics: Sequence[str]) -> Floats:
        """Core count of the dataset rows from which each metric of each request is computed, (metrics, n).

        It is 0 if the rows state no core count. If the numbers are equal along an axis, its length is 1.
        """
        return self._of_configuration(self.tables.chosen(tuple(metrics)).cores)

    def switches(self, metrics: Sequence[str]) -> Floats:
        """Switch count of the dataset rows from which each metric of each request is computed, (metrics, n).

        An axis along which all numbers are equal has the length 1.
        """
        return self._of_configuration(self.tables.chosen(tuple(metrics)).switches)

    def core_ratio(self, metrics: Sequence[str]) -> Floats:
        """Core count of the rows behind each metric, divided by the requested core count: array (metrics, n).

        The ratio is 1 if one of the counts is unknown.  An axis along which all numbers are equal has the length 1.
        """
        return self._of_configuration(self.tables.chosen(tuple(metrics)).core_ratio)

    def limits(self, metrics: Sequence[str]) -> Floats:
        """Limits of the possible values of each metric for each request, (2, metrics, n); axis 0: least, greatest.

        The shape is (2, metrics, 1) if the limits are equal for all requests.
        """
        limits = self.tables.chosen(tuple(metrics)).limits
        return limits if limits.shape[2] == 1 else limits.take(self.q.protocol, axis=2)

    def top_load(self, metrics: Sequence[str]) -> Floats:
        """Highest limited load at which each metric was measured [b/s], for each request: (metrics, n).

        It is 0 if the metric was measured only at the unlimited load.  It is infinite if the metric's rows state no
        load, so that no request counts as above the measured loads.
        """
        return self.tables.packed.top_load.take(self._cells(metrics))

    def payloads(self, metric: str) -> Floats:
        """Least and greatest measured payload [B] of a metric for each request, (2, n).

        If there are no rows, the least exceeds the greatest.
        """
        return self.tables.metrics[metric].payloads.take(self.config, axis=1)

    def _of_configuration(self, numbers: NDArray[Number]) -> NDArray[Number]:
        """Select from ``numbers`` the column of each request's configuration (protocol, core and switch count), (m, n).

        ``numbers`` (m, configurations) has m numbers for each configuration, or one column that holds for all of them.
        If all n requests need the same column, the result has only this column: (m, 1).
        """
        if numbers.shape[1] == 1:
            return numbers
        if self.same_configuration:
            return numbers[:, self.config[:1]]
        return numbers.take(self.config, axis=1)

    # --- places -------------------------------------------------------------------------------

    def _start(self, metrics: tuple[str, ...]) -> Ints:
        """Index of each request's payload interval (cell), counted within a table: an array (patterns, 1, n).

        The cells of all tables lie one after another in joint arrays.  A cell's index there is the index in the result
        plus ``Chosen.offset`` of its table.  Tables with equal indices share one row of the result (a pattern);
        ``Chosen.pattern`` gives the row of each table.
        """
        if metrics not in self._starts:
            first = self._of_configuration(self.tables.chosen(metrics).first_cell)
            self._starts[metrics] = (first + self.cell)[:, None]
        return self._starts[metrics]

    def _cells(self, metrics: Sequence[str]) -> Ints:
        """Index of each request's payload interval (cell) in the joint arrays of all tables, (metrics, n)."""
        names = tuple(metrics)
        chosen = self.tables.chosen(names)
        return (self._start(names)[chosen.pattern] + chosen.offset)[:, 0]

    def _places(self, metrics: Sequence[str], load: Load) -> Ints:
        """Index of each metric's polynomial for each request in the joint arrays of all tables, (metrics, n).

        It follows from the request's configuration, payload interval and load interval.  `Packed` describes the arrays.
        """
        return self._cells(metrics) + load.of_values().slot * self.tables.packed.cells


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Columns of n questions (prediction requests), named like the fields of a Scenario.

    ``protocol`` and ``core_index`` are indices into the protocols and core counts on the axes of the tables.
    ``cores`` is the requested core count (0 if the dataset states none).  ``requested_goodput_bps`` is infinite for
    unlimited requests.  ``distance_m`` is NaN for the dataset's own cable.  ``lossy`` marks protocols whose losses
    reach the application.  ``work`` is ``None`` if no question has work of the application.
    """

    protocol: Ints
    payload_bytes: Floats
    requested_goodput_bps: Floats
    core_index: Ints
    cores: Floats
    switches: Ints
    endpoints: Floats
    other_goodput_bps: Floats
    distance_m: Floats
    frames: Frames
    lossy: Bools
    work: Work | None = None

    def __len__(self) -> int:
        return len(self.payload_bytes)

    def take(self, where: Ints) -> Questions:
        """Select the questions (prediction requests) at the given indices."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        taken: dict[str, Any] = {
            name: None if part is None else part.take(where) for name, part in parts.items()
        }
        return Questions(**taken)


@dataclass(frozen=True, eq=False)
class Frames:
    """Theoretical properties of each question's frame on the wire, such as its number of packets.

    ``columns`` (5, m) hold five properties of m frames, in the order of the attributes below.  ``place`` (n,) is the
    index of each question's frame; ``None`` means that frame i belongs to question i.
    """

    columns: Floats
    place: Ints | None = None

    @cached_property
    def wire_s(self) -> Floats:
        """Time for which each question's frame occupies the wire [s], (n,), with the gaps between packets."""
        return self._column(0)

    @cached_property
    def greatest_bps(self) -> Floats:
        """Greatest goodput [b/s] that the wire allows if the frames of a question follow without pauses, (n,)."""
        return self._column(1)

    @cached_property
    def packets(self) -> Floats:
        """Number of packets of each question's frame, if the frame is sent alone, (n,)."""
        return self._column(2)

    @cached_property
    def least_packets(self) -> Floats:
        """Number of packets per frame, if the stream merges frames into full packets, (n,)."""
        return self._column(3)

    @cached_property
    def lone_s(self) -> Floats:
        """Least time on the wire for each question's frame, if it is sent alone [s], (n,).

        The time runs from the first to the last bit of the frame.
        """
        return self._column(4)

    def take(self, where: Ints) -> Frames:
        """Return the `Frames` of a part of the questions, given by their indices."""
        return Frames(self.columns, where if self.place is None else self.place.take(where))

    def _column(self, index: int) -> Floats:
        numbers: Floats = self.columns[index]
        return numbers if self.place is None else numbers.take(self.place)


class Work(NamedTuple):
    """Time that the application adds to each frame at the sender and at the receiver [s], (n,).

    ``pace`` holds the goodput limits that follow from these times; ``None`` until they are computed.
    """

    send_s: Floats
    recv_s: Floats
    pace: Pace | None = None

    def take(self, where: Ints) -> Work:
        """Return the application's work for the questions at the given indices alone."""
        pace = None if self.pace is None else self.pace.take(where)
        return Work(self.send_s.take(where), self.recv_s.take(where), pace)


class Pace(NamedTuple):
    """Limits that the application's own work sets to the goodput of each question's stream [b/s].

    ``requested_goodput_bps`` (n,) is the request before the work limits it.  ``without_bps`` (ends, n) is the goodput
    without any work.  ``sender_bps`` and ``receiver_bps`` (ends, n) are the greatest goodputs that the cores of sender
    and receiver can process; infinite if the application adds no work at that host.  The axis ``ends`` holds value, low
    and high end of the interval, or only the value.

    ``by_sender`` and ``by_receiver`` (n,) mark the streams whose bottleneck is the work at the sender or at the
    receiver.  ``known`` (2, n) marks whether rows state the utilisation of sender and receiver.
    """

    requested_goodput_bps: Floats
    sender_bps: Floats
    receiver_bps: Floats
    without_bps: Floats
    by_sender: Bools
    by_receiver: Bools
    known: Bools

    def take(self, where: Ints) -> Pace:
        """Select the rate limits of the questions at the given indices."""
        return Pace._make(part[..., where] for part in self)

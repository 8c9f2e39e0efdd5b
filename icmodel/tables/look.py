"""Look metrics up for a block of questions: at any load, with value, ends, basis and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from icmodel.arrays import Bools, Codes, Floats, Ints, if_else
from icmodel.tables.curves import HIGH, LOW, VALUE
from icmodel.tables.tables import Tables


@dataclass(frozen=True, eq=False)
class Frames:
    """Theory's numbers for each question's frame, each looked up when first needed.

    ``columns`` (5, m) are the time for which a frame occupies the wire [s], the greatest goodput [b/s], the packets
    of a frame by itself, its packets within a stream of full ones, and the least delay of a lone frame [s]; ``place`` (n,) is each question's column, ``None`` for all.
    """

    columns: Floats
    place: Ints | None = None

    @cached_property
    def wire_s(self) -> Floats:
        """Time for which the frame occupies the wire, gap included [s], (n,)."""
        return self._of(0)

    @cached_property
    def greatest_bps(self) -> Floats:
        """Greatest goodput of such frames [b/s], (n,)."""
        return self._of(1)

    @cached_property
    def packets(self) -> Floats:
        """Packets of a frame by itself, (n,)."""
        return self._of(2)

    @cached_property
    def least_packets(self) -> Floats:
        """Packets of a frame within a stream of full packets, (n,)."""
        return self._of(3)

    @cached_property
    def lone_s(self) -> Floats:
        """Least time from the first to the last bit of a lone frame [s], (n,)."""
        return self._of(4)

    def take(self, where: Ints) -> Frames:
        """Frames of some of the questions."""
        return Frames(self.columns, where if self.place is None else self.place.take(where))

    def _of(self, column: int) -> Floats:
        numbers: Floats = self.columns[column]
        return numbers if self.place is None else numbers.take(self.place)


class Pace(NamedTuple):
    """Limits that the application's work sets to each question's stream; goodputs in b/s.

    ``asked_bps`` (n,) is the request before the work is considered.  ``sender_bps`` and ``receiver_bps`` (ends, n)
    are the most that the cores of either end can process, infinite where the application adds no work there;
    ``without_bps`` (ends, n) is the capacity without any.  ``by_sender`` and ``by_receiver`` (n,) tell whether
    that end's work is the bottleneck; ``known`` (2, n) whether rows state the utilisation of sender and receiver.
    """

    asked_bps: Floats
    sender_bps: Floats
    receiver_bps: Floats
    without_bps: Floats
    by_sender: Bools
    by_receiver: Bools
    known: Bools

    def take(self, where: Ints) -> Pace:
        """Pace of some of the questions."""
        return Pace._make(part[..., where] for part in self)


class Work(NamedTuple):
    """Time that the application adds to each frame at the sender and at the receiver [s], (n,).

    ``pace`` is the resulting limit of the stream, once it is computed.
    """

    send_s: Floats
    recv_s: Floats
    pace: Pace | None = None

    def take(self, where: Ints) -> Work:
        """Work of some of the questions."""
        pace = None if self.pace is None else self.pace.take(where)
        return Work(self.send_s.take(where), self.recv_s.take(where), pace)


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Columns of equal length n.

    ``protocol`` and ``cores`` are indices into the axes' protocols and core counts, ``cores_count`` the requested
    count (0: not stated).  ``request_bps`` is infinite for unlimited; ``extra_distance_m`` is the distance beyond the
    dataset's cable.  ``lossy`` tells whether the protocol loses frames that the application sees.
    ``work`` is the application's, ``None`` where no question has any.
    """

    protocol: Ints
    payload_bytes: Floats
    request_bps: Floats
    cores: Ints
    cores_count: Floats
    switches: Ints
    endpoints: Floats
    others_bps: Floats
    extra_distance_m: Floats
    frames: Frames
    lossy: Bools
    work: Work | None = None

    def __len__(self) -> int:
        return len(self.payload_bytes)

    def take(self, where: Ints) -> Questions:
        """Some of the questions."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        taken: dict[str, Any] = {
            name: None if part is None else part.take(where) for name, part in parts.items()
        }
        return Questions(**taken)


Number = TypeVar("Number", np.float64, np.int64)
ENDS = np.arange(3)
"""Value, low and high."""


class Load(NamedTuple):
    """Load slot of each question; arrays of one shape (..., n).

    ``above_bps`` is the distance from the level below, ``None`` where all loads are unlimited.  ``limited`` is false
    for the unlimited load.
    """

    slot: Ints
    above_bps: Floats | None
    limited: Bools

    def at_value(self) -> Load:
        """The loads of the values alone, (1, n), from those of value, low and high (3, n)."""
        above = None if self.above_bps is None else self.above_bps[:1]
        return Load(self.slot[:1], above, self.limited[:1])

    def take(self, where: Ints) -> Load:
        """The loads of some of the questions."""
        above = None if self.above_bps is None else self.above_bps.take(where, axis=-1)
        return Load(self.slot.take(where, axis=-1), above, self.limited.take(where, axis=-1))

    def of_values(self) -> Load:
        """The loads of the values alone, (n,)."""
        if self.slot.ndim == 1:
            return self
        above = None if self.above_bps is None else self.above_bps[VALUE]
        return Load(self.slot[VALUE], above, self.limited[VALUE])


class Look:
    """Tables bound to a block of n questions; answers with value and ends, or the value alone.

    Arrays of numbers have the shape (ends, n), or (metrics, ends, n); those of a configuration (metrics, n).
    NaN marks questions without an answer.
    """

    def __init__(self, tables: Tables, questions: Questions, *, intervals: bool) -> None:
        self.tables, self.q = tables, questions
        self.ends = 3 if intervals else 1
        axes = tables.axes
        self.cell = tables.cells(questions.payload_bytes)
        self.above_knot = questions.payload_bytes - tables.left.take(self.cell)
        _, cores, switch_counts = axes.shape
        switches = np.minimum(questions.switches, switch_counts - 1)
        self._answering: dict[tuple[str, ...], Ints] = {}
        self.config = (questions.protocol * cores + questions.cores) * switch_counts + switches

    def take(self, where: Ints) -> Look:
        """The same look for some of the questions."""
        return Look(self.tables, self.q.take(where), intervals=self.ends == 3)

    # --- loads --------------------------------------------------------------------------------

    @cached_property
    def alike(self) -> bool:
        """Whether all questions have the same configuration; false if there are none."""
        return len(self.q) > 0 and bool((self.config == self.config[0]).all())

    @cached_property
    def requested(self) -> Load:
        """The requested loads, (n,); the unlimited load is above every level."""
        request = self.q.request_bps
        above = np.zeros(len(request), dtype=np.uint16)
        for level in self.tables.axes.loads:
            above += request >= level
        slot = above.astype(np.int64)
        above = request - self.tables.floors.take(slot)
        above[np.isinf(above)] = 0.0
        return Load(slot, above, np.ones(len(request), dtype=bool))

    @cached_property
    def unlimited(self) -> Load:
        """The unlimited load of every question, (n,)."""
        size = len(self.q)
        slot = np.full(size, len(self.tables.axes.loads) + 1)
        return Load(slot, None, np.zeros(size, dtype=bool))

    def load(self, unlimited: Bools) -> Load:
        """The requested load, or the unlimited one where a request is not achieved; shape (..., n)."""
        asked = self.requested
        slot = if_else(unlimited, len(self.tables.axes.loads) + 1, asked.slot)
        above = np.empty(slot.shape)
        above[:] = asked.above_bps
        return Load(slot, above, ~unlimited)

    # --- numbers ------------------------------------------------------------------------------

    def __call__(self, metric: str, load: Load) -> Floats:
        """A metric at some loads, (n,) or (ends, n): shape (ends, n)."""
        found: Floats = self.all((metric,), load)[0]
        return found

    def all(self, metrics: Sequence[str], load: Load) -> Floats:
        """Several metrics at some loads, (n,) or (ends, n): shape (metrics, ends, n).

        No end crosses the limits that the source states.
        """
        found = self._polynomial(metrics, load, ENDS[: self.ends])
        if self.ends == 3:
            least, most = self.limits(metrics)
            np.maximum(found[:, LOW], least, out=found[:, LOW])
            np.minimum(found[:, HIGH], most, out=found[:, HIGH])
        return found

    def values(self, metrics: Sequence[str], load: Load) -> Floats:
        """The values of several metrics at some loads, (metrics, n)."""
        found: Floats = self._polynomial(metrics, load.of_values(), ENDS[:1])[:, 0]
        return found

    def unlimited_highs(self, metrics: Sequence[str]) -> Floats:
        """The upper ends of several metrics at the unlimited load, (metrics, n)."""
        found: Floats = self._at_unlimited(metrics, ENDS[HIGH:])[:, 0]
        np.minimum(found, self.limits(metrics)[1], out=found)
        return found

    def _at_unlimited(self, metrics: Sequence[str], ends: Ints) -> Floats:
        """Evaluate them at the unlimited load, (metrics, ends, n); without load terms."""
        packed = self.tables.packed
        place = self._cells(metrics)[:, None] + ends[:, None] * packed.cells
        found, slope = packed.unlimited.take(place, axis=1)
        (square,) = _squares(packed.unlimited_squares, place, ends, packed.cells)
        found += self._of_payload(slope, square)
        return np.asarray(found)

    def _polynomial(self, metrics: Sequence[str], load: Load, ends: Ints) -> Floats:
        """Evaluate the polynomials of some ends of metrics at some loads, (metrics, ends, n)."""
        if load.above_bps is None:
            return self._at_unlimited(metrics, ends)
        packed = self.tables.packed
        slots = load.slot * packed.cells
        place = self._cells(metrics)[:, None] + (slots + ends[:, None] * packed.places)
        constant, slope, found, slope_of_load = packed.coefficients.take(place, axis=1)
        square, square_of_load = _squares(packed.squares, place, ends, packed.places)
        found += self._of_payload(slope_of_load, square_of_load)
        found *= load.above_bps
        found += self._of_payload(slope, square)
        found += constant
        return np.asarray(found)

    def _of_payload(self, slope: Floats, square: Floats) -> Floats:
        """Linear payload term, written over its slope, plus the quadratic term for the last ends."""
        if square.size:
            slope[:, -square.shape[1] :] += square * self.above_knot
        slope *= self.above_knot
        return slope

    # --- what numbers rest on -----------------------------------------------------------------

    def basis(self, metrics: Sequence[str], load: Load) -> Codes:
        """The basis of each value, (metrics, n), as index into ``BASES``; the strongest where there is no value."""
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
        """For a block of one question: the dataset rows used for each metric.

        At a point of a curve only its own row counts, and at the load of a curve only that curve.
        """
        payload, request = float(self.q.payload_bytes[0]), float(self.q.request_bps[0])
        found = self.tables.packed.rows[:, self._places(metrics, load)[:, 0]]
        return [self._rows(near, payload, request) for near in found.T.tolist()]

    def _rows(self, near: list[int], payload: float, request: float) -> list[int]:
        left, right, upper_left, upper_right = near
        if left < 0:
            return []
        own = self.tables.data.points[left]
        at_payload = own.payload_bytes in (None, payload)
        at_load = own.load_bps in (None, np.inf, request)
        rows = {left}
        if not at_payload:
            rows.add(right)
        if not at_load:
            rows.add(upper_left)
        if not at_payload and not at_load:
            rows.add(upper_right)
        return sorted([row for row in rows if row >= 0])

    # --- configurations -----------------------------------------------------------------------

    def known(self, metric: str) -> Bools:
        """Whether a metric has rows at each question's protocol and counts."""
        return np.asarray(self.tables.group[self.tables.index[metric]].take(self.config) > 0)

    def cores(self, metrics: Sequence[str]) -> Floats:
        """Core counts of the rows used, (metrics, n), or (metrics, 1) for all questions; 0 where not stated."""
        return self._of_configuration(self.tables.cores, metrics)

    def switches(self, metrics: Sequence[str]) -> Floats:
        """Switch counts of the rows used, (metrics, n), or (metrics, 1) for all questions."""
        return self._of_configuration(self.tables.switches, metrics)

    def limits(self, metrics: Sequence[str]) -> Floats:
        """Least and greatest possible value of metrics, (2, metrics, n), or (2, metrics, 1) for all questions."""
        limits = self.tables.chosen(tuple(metrics)).limits
        return limits if limits.shape[2] == 1 else limits.take(self.q.protocol, axis=2)

    def core_ratio(self, metrics: Sequence[str]) -> Floats:
        """Cores of the rows used over requested cores; 1 where either is not stated; shapes as of :meth:`cores`."""
        return self._of_configuration(self.tables.core_ratio, metrics)

    def top_load(self, metrics: Sequence[str]) -> Floats:
        """Highest limited load with a curve [b/s]; 0: only the unlimited curve answers; inf: no limited load exists."""
        return self.tables.packed.top_load.take(self._cells(metrics))

    def payloads(self, metric: str) -> Floats:
        """Least and greatest payload with rows [B], (2, n); the first is the greater one where there is none."""
        return self.tables.metrics[metric].payloads.take(self.config, axis=1)

    def _of_configuration(
        self, numbers: NDArray[Number], metrics: Sequence[str]
    ) -> NDArray[Number]:
        """Numbers of each question's configuration, (metrics, n), or (metrics, 1) if all have the same one."""
        index = self.tables.chosen(tuple(metrics)).indices
        if self.alike:
            return numbers[index, self.config[0], None]
        return numbers[index].take(self.config, axis=1)

    # --- places -------------------------------------------------------------------------------

    def _cells(self, metrics: Sequence[str]) -> Ints:
        """Payload cell of each question among those of all surfaces, (metrics, n)."""
        key = tuple(metrics)
        if key not in self._answering:
            first = self._of_configuration(self.tables.first_cell, metrics)
            self._answering[key] = first + self.cell
        return self._answering[key]

    def _places(self, metrics: Sequence[str], load: Load) -> Ints:
        """Index of each value's coefficients, (metrics, n)."""
        return self._cells(metrics) + load.of_values().slot * self.tables.packed.cells


def _squares(squares: Floats, place: Ints, ends: Ints, values: int) -> Floats:
    """Quadratic payload terms of the ends of intervals, (terms, metrics, ends, n); empty if all are 0.

    ``ends`` ascend; ``values`` is the number of places of values, which have none.
    """
    if not squares.size:
        return squares
    return squares.take(place[:, int(ends[0] == VALUE) :] - values, axis=1)

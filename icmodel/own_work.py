"""What a program adds to a frame, learned from its results on hosts of which there is a dataset.

A program that reaches less than the dataset's measuring tool between the same hosts needs longer for a
frame.  How much longer is fitted by a time a frame and a time a byte, least squares of the relative error,
neither below 0, over the runs that the program limits: those that the wire limits say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Floats
from icmodel.dataset import Dataset, Point
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import Estimate
from icmodel.model import Model
from icmodel.scenario import ApplicationWork, Scenario
from icmodel.statistics import NORMAL, student

SENDER, RECEIVER = "send", "recv"
ENDS = (SENDER, RECEIVER)
BY_WIRE = 0.9
"""From this part of theory's bound on the wire may limit, and a run says nothing of the program."""
METRICS = ("goodput_bps", "sent_bps")
"""What a run reached; of a tool that tells of no arrival what it sent."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One payload: what a core of either has for a frame at full speed [s], the hosts' own with its interval."""

    payload_bytes: int
    program_s: float
    host: Estimate


@dataclass(frozen=True, slots=True)
class OwnWork:
    """What a program adds at one end of a protocol's streams, and the payloads that say so.

    ``frame_s`` and ``byte_s`` are a time a frame and a byte with 90 % intervals.
    """

    protocol: str
    end: str
    frame_s: Estimate
    byte_s: Estimate
    compared: tuple[Compared, ...]

    @property
    def work(self) -> ApplicationWork:
        """The same as a question takes it."""
        if self.end == SENDER:
            return ApplicationWork(send_s=self.frame_s.value, send_s_per_byte=self.byte_s.value)
        return ApplicationWork(recv_s=self.frame_s.value, recv_s_per_byte=self.byte_s.value)

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "protocol": self.protocol,
            "end": self.end,
            f"app_{self.end}_s": self.frame_s.to_dict(),
            f"app_{self.end}_s_per_byte": self.byte_s.to_dict(),
            "payloads": [
                {
                    "payload_bytes": one.payload_bytes,
                    "program_s": one.program_s,
                    "host_s": one.host.value,
                }
                for one in self.compared
            ],
        }


def own_work(over: Model, results: Dataset, end: str = SENDER) -> tuple[OwnWork, ...]:
    """What the program that made some results adds to a frame, by protocol.

    Parameters
    ----------
    over : Model
        Of a dataset of the same hosts, with a variant that knows an application's work.
    results : Dataset
        The program's: its goodput as fast as it goes.
    end : "send" or "recv"
        The end that the work is taken to be done at: a goodput does not tell.

    Raises
    ------
    OutOfDomain
        If the variant knows no such work.
    ScenarioError
        If no run says anything of the program: all are limited by the wire, or of other protocols.
    """
    if end not in ENDS:
        raise ScenarioError(f"end={end!r} is not one of {', '.join(ENDS)}")
    if problem := over.work_problem():
        raise OutOfDomain(problem)
    shared = [name for name in results.protocols if name in over.data.protocols]
    found = [one for one in (_of_protocol(over, results, name, end) for name in shared) if one]
    if not found:
        raise ScenarioError(
            f"no result of {results.id} says what its program adds over {over.data.id}: it takes runs as "
            "fast as they go, of the same protocols, that do not fill the wire"
        )
    return tuple(found)


def _of_protocol(over: Model, results: Dataset, protocol: str, end: str) -> OwnWork | None:
    compared = tuple(_compared(over, results, protocol, end))
    if not compared:
        return None
    frame_s, byte_s = fitted(compared)
    return OwnWork(protocol, end, frame_s, byte_s, compared)


def _compared(over: Model, results: Dataset, protocol: str, end: str) -> Iterator[Compared]:
    """Each payload whose runs say something of the program."""
    for point in _fastest(results, protocol):
        assert point.payload_bytes is not None  # none without is among the fastest
        asked = Scenario(protocol, point.payload_bytes, cores=_cores(over, protocol, point))
        most = over.greatest_goodput_bps(asked)
        if most is not None and point.value >= BY_WIRE * most:
            continue
        try:
            host = over.host_times_s(asked)[ENDS.index(end)]
        except OutOfDomain:
            continue  # this payload or these cores were not measured, others may
        cores = point.cores or 1
        yield Compared(point.payload_bytes, cores * 8 * point.payload_bytes / point.value, host)


def _fastest(results: Dataset, protocol: str) -> list[Point]:
    """The runs as fast as they go of one sender, at the default options, by payload."""
    points = [
        point
        for point in results.select(protocol, {})
        if point.payload_bytes
        and point.load_bps == math.inf
        and (point.endpoints or 1) == 1
        and not point.switches
    ]
    for metric in METRICS:
        if own := [point for point in points if point.metric == metric and point.value > 0]:
            return sorted(own, key=lambda point: point.payload_bytes or 0)
    return []


def _cores(over: Model, protocol: str, point: Point) -> int | None:
    """The core count to ask for: that of the results, where the dataset says any."""
    says = any(p.cores for p in over.data.points if p.protocol == protocol)
    return (point.cores or 1) if says else None


def fitted(compared: Sequence[Compared]) -> tuple[Estimate, Estimate]:
    """A time a frame [s] and a time a byte [s/B], with intervals.

    The interval of both comes from how far payloads are off the fit, or from how well the hosts' own time
    is known if that is less: by Student's t for the payloads there are beyond what is fitted.
    """
    payload = np.array([float(one.payload_bytes) for one in compared])
    program = np.array([one.program_s for one in compared])
    more = (program - np.array([one.host.value for one in compared])) / program
    unsure = np.array([(one.host.high - one.host.low) / 2 / NORMAL for one in compared]) / program
    terms = np.stack([1 / program, payload / program], axis=1)
    kept = _not_below_zero(terms, more)
    values, halves = np.zeros(2), np.zeros(2)
    if kept:
        own = terms[:, kept]
        values[kept] = np.linalg.lstsq(own, more, rcond=None)[0]
        halves[kept] = _half_widths(own, more - own @ values[kept], unsure)
    frame, byte = (
        Estimate(value, max(value - half, 0.0), value + half, "derived", "", ("derived",))
        for value, half in zip(values.tolist(), halves.tolist(), strict=True)
    )
    return frame, byte


def _not_below_zero(terms: Floats, more: Floats) -> list[int]:
    """Which of the two terms a fit takes that leaves neither below 0."""
    choices: tuple[list[int], ...] = ([0, 1], [0], [1])
    best: tuple[float, list[int]] = (float(more @ more), [])
    for kept in choices:
        if len(more) < len(kept):
            continue
        found, *_ = np.linalg.lstsq(terms[:, kept], more, rcond=None)
        left = more - terms[:, kept] @ found
        if (found >= 0).all() and float(left @ left) < best[0]:
            best = float(left @ left), kept
    return best[1]


def _half_widths(terms: Floats, left: Floats, unsure: Floats) -> Floats:
    """Half of the 90 % interval of each fitted time."""
    degrees = len(left) - terms.shape[1]
    known = NORMAL * math.sqrt(float(np.mean(unsure**2)))
    seen = student(degrees) * math.sqrt(float(left @ left) / degrees) if degrees else 0.0
    spread = np.linalg.pinv(terms.T @ terms)
    return np.asarray(max(known, seen) * np.sqrt(np.diag(spread)))

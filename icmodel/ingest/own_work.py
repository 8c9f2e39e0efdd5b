"""Fit the time that a program adds to each frame, from the program's results on the hosts of a dataset.

If a program reaches less goodput than the dataset's measuring tool on the same hosts, it needs more time per frame.
The additional time has two terms: a time per frame and a time per byte, both at least 0.  Both terms are fitted by
least squares of the relative error.  Runs limited by the wire contain no information on the program and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Floats
from icmodel.dataset import Dataset
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import Estimate
from icmodel.estimate.statistics import NORMAL, student
from icmodel.model import Model
from icmodel.scenario import ApplicationWork, Scenario

SENDER, RECEIVER = "send", "recv"
ENDS = (SENDER, RECEIVER)
BY_WIRE = 0.9
"""Fraction of the theoretical greatest goodput; a run above this fraction may be limited by the wire."""
METRICS = ("goodput_bps", "sent_bps")
"""Metrics that give the goodput of a run of the program, in order of preference.

The sent rate is used if the tool reports no received rate.
"""


@dataclass(frozen=True, slots=True)
class Compared:
    """Times per frame of two programs at one payload, on the same hosts and without a rate limit [s].

    Both are times that one core spends on a frame. ``program_s`` is the measured time of the user's program. ``host`` is
    the predicted time of a program without work of its own: the tool with which the dataset was measured.
    """

    payload_bytes: int
    program_s: float
    host: Estimate


@dataclass(frozen=True, slots=True)
class OwnWork:
    """Time per frame that a program adds at the sender or the receiver of a protocol's streams.

    The time is ``frame_s + byte_s * payload`` [s]. Both terms, ``frame_s`` [s] and ``byte_s`` [s/B], have 90 % intervals.
    """

    protocol: str
    end: str
    frame_s: Estimate
    byte_s: Estimate
    compared: tuple[Compared, ...]

    @property
    def work(self) -> ApplicationWork:
        """Return the fitted times as an `ApplicationWork`, a parameter of a `Scenario`."""
        if self.end == SENDER:
            return ApplicationWork(send_s=self.frame_s.value, send_s_per_byte=self.byte_s.value)
        return ApplicationWork(recv_s=self.frame_s.value, recv_s_per_byte=self.byte_s.value)

    def to_dict(self) -> dict[str, object]:
        """Convert to a JSON document: the fitted times that the program adds, and the times from which they follow.

        The latter are two times per frame at each payload: measured for the program, and predicted for the dataset's
        tool.
        """
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
    """Fit the time that a program adds to a frame, for each protocol.

    Parameters
    ----------
    over : Model
        Model of a dataset of the same hosts, with a variant that supports an application's work.
    results : Dataset
        The program's results: its goodput at the unlimited load.
    end : "send" or "recv"
        End that is assumed to do the work; the goodput does not show which end does it.

    Raises
    ------
    OutOfDomain
        If the variant does not support an application's work.
    ScenarioError
        If ``end`` is unknown, or no result can be compared.  No result can be compared if all are limited by the wire,
        or have other protocols than the dataset.
    """
    if end not in ENDS:
        raise ScenarioError(f"end={end!r} is unknown: use one of {', '.join(ENDS)}")
    if problem := over.work_problem():
        raise OutOfDomain(problem)
    fits = []
    for protocol in results.protocols:
        if protocol in over.data.protocols:
            compared = tuple(_compared(over, results, protocol, end))
            if compared:
                fits.append(OwnWork(protocol, end, *fit_costs(compared), compared))
    if not fits:
        raise ScenarioError(
            f"no result of {results.id} can be compared with {over.data.id}: measure the same protocols at "
            "an unlimited load, with payloads that do not fill the wire"
        )
    return tuple(fits)


def _compared(over: Model, results: Dataset, protocol: str, end: str) -> Iterator[Compared]:
    """Yield two times per frame for each payload: the program's, and that of the dataset's measuring tool.

    The program's time follows from its goodput in ``results``, and the tool's time is predicted by the model ``over``
    for the host ``end`` (``send`` or ``recv``). A payload is left out if the wire limits the program's goodput, or if
    the model cannot predict it.
    """
    # Runs of the program with one sender, at an unlimited load and default options.
    rows = [
        (point.payload_bytes, point)
        for point in results.select(protocol, {})
        if point.payload_bytes
        and point.load_bps == math.inf
        and (point.endpoints or 1) == 1
        and not point.switches
        and point.value > 0
    ]
    measured = {point.metric for _, point in rows}
    metric = next((name for name in METRICS if name in measured), "")
    fastest = [(payload_bytes, point) for payload_bytes, point in rows if point.metric == metric]

    has_cores = any(row.cores for row in over.data.points if row.protocol == protocol)
    for payload_bytes, point in sorted(fastest, key=lambda row: row[0]):
        cores = point.cores or 1
        scenario = Scenario(protocol, payload_bytes, cores=cores if has_cores else None)
        bound_bps = over.greatest_goodput_bps(scenario)
        if bound_bps is not None and point.value >= BY_WIRE * bound_bps:
            continue
        try:
            host = over.host_times_s(scenario)[ENDS.index(end)]
        except OutOfDomain:
            continue  # this payload or number of cores was not measured; try the next one
        yield Compared(payload_bytes, cores * 8 * payload_bytes / point.value, host)


def fit_costs(compared: Sequence[Compared]) -> tuple[Estimate, Estimate]:
    """Fit the program's time per frame [s] and time per byte [s/B], with 90 % intervals.

    The program adds ``frame + byte * payload`` to the hosts' time per frame.  Four fits are compared: both terms, only
    ``frame``, only ``byte``, none.  Among those without a negative term, the fit with the least error is used.  A term
    that this fit leaves out is 0, and its upper limit comes from a fit of this term alone to the residuals.

    Intervals use the larger of two errors: the uncertainty of the hosts' own time, and the deviation of the measured
    times from the fit.  The deviation is scaled by Student's t, whose degrees of freedom are the number of payloads
    minus the number of fitted terms.
    """
    payload = np.array([float(one.payload_bytes) for one in compared])
    program = np.array([one.program_s for one in compared])
    added = (program - np.array([one.host.value for one in compared])) / program
    host_stds = (
        np.array([(one.host.high - one.host.low) / 2 / NORMAL for one in compared]) / program
    )
    terms = np.stack([1 / program, payload / program], axis=1)

    least_error, kept = float(added @ added), list[int]()
    for choice in ([0, 1], [0], [1]):
        if len(added) < len(choice):
            continue
        fit, *_ = np.linalg.lstsq(terms[:, choice], added, rcond=None)
        left = added - terms[:, choice] @ fit
        if (fit >= 0).all() and float(left @ left) < least_error:
            least_error, kept = float(left @ left), choice

    values, halves = np.zeros(2), np.zeros(2)
    if kept:
        values[kept] = np.linalg.lstsq(terms[:, kept], added, rcond=None)[0]
        halves[kept] = _half_widths(terms[:, kept], added - terms @ values, host_stds)
    highs = values + halves
    left = added - terms @ values
    for term in {0, 1} - {*kept}:  # upper limit of this term, fitted alone to the residuals
        own = terms[:, [term]]
        (more,) = np.linalg.lstsq(own, left, rcond=None)[0]
        (half,) = _half_widths(own, left - own @ [more], host_stds)
        highs[term] = max(more + half, 0.0)
    frame, byte = (
        Estimate(value, max(value - half, 0.0), high, "derived", "", ("derived",))
        for value, half, high in zip(values.tolist(), halves.tolist(), highs.tolist(), strict=True)
    )
    return frame, byte


def _half_widths(terms: Floats, residuals: Floats, host_stds: Floats) -> Floats:
    """Return half the width of the 90 % interval of each fitted time (per frame, per byte).

    Parameters
    ----------
    terms
        Matrix of the least-squares fit: one row for each payload, one column for each fitted time.
    residuals
        Residual of the fit at each payload, divided by the program's time.
    host_stds
        Standard deviation of the hosts' own time at each payload, divided by the program's time.
    """
    degrees = len(residuals) - terms.shape[1]
    of_host = NORMAL * math.sqrt(float(np.mean(host_stds**2)))
    of_fit = (
        student(degrees) * math.sqrt(float(residuals @ residuals) / degrees) if degrees else 0.0
    )
    spread = np.linalg.pinv(terms.T @ terms)
    return np.asarray(max(of_host, of_fit) * np.sqrt(np.diag(spread)))

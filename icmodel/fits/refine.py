"""Draw curves (compute their points) from fits, at more payloads than the measured ones."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import RATIOS, Dataset, Point
from icmodel.estimate.statistics import NORMAL
from icmodel.fits.fits import Fits, one_thread
from icmodel.fits.hosts import (
    ON_WIRE,
    SENDERS,
    FrameTimes,
    Saturated,
    frame_times,
    memory_by_rows,
    saturated,
    scale_to_hosts,
    widening,
)
from icmodel.fits.observations import (
    OVERLOAD,
    UNLIMITED,
    Carrier,
    Label,
    Sites,
    curve_sites,
    flowing,
    label,
    regime_of,
    rows_in_overload,
)
from icmodel.fits.store import KEY_BYTES
from icmodel.scenario import Hosts, Where
from icmodel.tables.bilinear import EXTRAPOLATED, INTERPOLATED
from icmodel.tables.curves import Curve
from icmodel.tables.wire import wire

if TYPE_CHECKING:
    from icmodel.fits.fit import FittedMetric

Floats = NDArray[np.float64]
Configuration = tuple[object, ...]
"""Key of a row's configuration: metric, protocol, options and counts, not payload and load."""

PER_OCTAVE = 4
"""Number of knots (payloads at which every drawn curve gets a point) per octave of payload."""
BEYOND = 2.0**6
"""Factor in payload by which a curve extends below its first and above its last payload."""
BUSY = ("cpu_send", "cpu_recv")
"""Metrics of processor utilisation at sender and receiver."""
BREAKS = 4
"""Number of packet breaks that get a knot on either side.

At a packet break, a greater payload needs one more packet.  At later breaks, one packet changes little.
"""
LAST_BREAK_BYTES = 2**16
"""Greatest payload at which packet breaks get knots [B]."""


class Refiner:
    """Computation of curves from a dataset's fits, with a cache.

    By default, curves are for the dataset's own hosts and link.  If ``other`` is given, these curves are
    scaled to other hosts or another link.  ``other`` is a pair: the properties of these hosts, and the
    function that computes packet counts and wire times of frames on their link.
    """

    def __init__(self, fits: Fits, other: tuple[Hosts, Carrier] | None = None) -> None:
        self.data, self.carrier = fits.data, fits.carrier
        self.fits = fits
        self.hosts: Hosts | None = None
        self.other_carrier = fits.carrier
        if other is not None:
            self.hosts, self.other_carrier = other
        self._drawn = fits.kept.curves
        self._payloads = lru_cache(maxsize=None)(partial(_payloads, fits.data))
        self._cached_times: dict[tuple[Label, bytes], FrameTimes] = {}
        self._cached_sites: dict[tuple[Label, float, bytes], Sites] = {}

    def for_hosts(self, hosts: Hosts, carrier: Carrier) -> Refiner:
        """Make a `Refiner` (which computes curves from fits) for other hosts or another link, with the same fits."""
        return Refiner(self.fits, (hosts, carrier))

    @cached_property
    def on_own_link(self) -> Refiner:
        """Refiner (it computes curves from fits) for the same CPU clock, but the dataset's own line rate."""
        if self.hosts is None or self.hosts.line_rate_bps is None:
            return self
        if self.hosts.cpu_clock_ratio == 1.0:
            return Refiner(self.fits)
        return self.for_hosts(replace(self.hosts, line_rate_bps=None), self.carrier)

    def knots(self, protocols: Sequence[str], options: Mapping[str, str]) -> Floats:
        """Payloads [B] at which every drawn curve gets a point (knots), ascending.

        There are `PER_OCTAVE` knots per octave.  At a packet break, a greater payload needs one more
        packet.  The first `BREAKS` packet breaks have a knot on either side.
        """
        payloads = [p.payload_bytes for p in self.data.points if p.payload_bytes is not None]
        if not payloads:
            return np.empty(0)
        top = math.log2(max(payloads) * BEYOND)
        grid = np.round(2 ** np.arange(0, top, 1 / PER_OCTAVE))
        found = set(grid.tolist())
        for protocol in protocols:
            path = wire(self.data, protocol, options, with_headers=True)
            breaks = path.packet_breaks(LAST_BREAK_BYTES)[:BREAKS]
            found |= {*breaks.tolist(), *(breaks + 1).tolist()}
        return np.array(sorted(found))

    def overloaded(self, points: Sequence[Point]) -> list[bool]:
        """Mark the rows measured in overload, and up to two neighbours on each curve with such rows.

        One neighbour is at the next payload below the rows in overload, one at the next payload above
        them.  If a payload has several rows, the row whose load is closest to capacity is marked.
        """
        return rows_in_overload(self.data, points)

    def draws_all(self, metric: str) -> bool:
        """Whether all curves of a metric are computed from its fit: it has a fit, and all its rows have a payload."""
        have_payload = all(p.payload_bytes is not None for p in self.data.of_metric(metric))
        return have_payload and self.fits.is_fitted(metric)

    def refined(self, metric: str, curve: Curve, payload_bytes: Floats, where: Where) -> Curve:
        """Redraw a measured curve from the metric's fit.

        The measured curve is returned unchanged if the metric has no fit.  A curve of a single row
        without a payload holds at every payload.  It is redrawn only if ``where`` states other options
        than those of the row.

        Parameters
        ----------
        metric : str
            Name of the metric.
        curve : Curve
            Measured curve.
        payload_bytes : array
            Knots [B]; knots within the payload range of the drawn curve become its points.
        where : Where
            Payload range, load state and options of the drawn curve.
        """
        if (curve.anywhere and where.options is None) or not self.fits.is_fitted(metric):
            return curve
        # The key identifies a drawn curve among all curves of the same fits.
        options = None if where.options is None else sorted(where.options.items())
        question = (metric, curve.load_bps, where.extend, where.overloaded, options)
        knots = b"" if curve.anywhere else payload_bytes.tobytes()
        parts = (repr(question).encode(), curve.rows.tobytes(), knots)
        key = hashlib.blake2b(b"|".join(parts), digest_size=KEY_BYTES).digest()
        payload = self._payloads_of(curve, payload_bytes, where)
        if key not in self._drawn:
            with one_thread():
                self._drawn[key] = self._ends(metric, curve, payload, where)
        ends = self._drawn[key]
        if self.hosts is not None:
            with one_thread():
                ends = self._on_other_hosts(metric, curve, payload, ends, where)
        return self._drawn_curve(curve, payload, ends, where)

    def _payloads_of(self, curve: Curve, knots: Floats, where: Where) -> Floats:
        """Payloads [B] at which a curve is drawn: the measured ones, the ``knots``, and both ends of its range.

        A curve at a limited load covers the range of all payloads that were measured at any load, with
        the same protocol, options and counts.  Outside the payloads measured at this load, the fitted
        goodput then decides whether the load is achieved.
        """
        least, most = curve.payload_bytes[[0, -1]]
        if math.isfinite(curve.load_bps) and not curve.anywhere:
            point = self.data.points[int(curve.rows[0])]
            ends = self._payloads(point.metric)
            least, most = ends.get(_configuration(point), (least, most))
        found = {least, *curve.payload_bytes.tolist(), most}
        if not curve.anywhere:
            reach = BEYOND if where.extend else 1.0
            found.update(knots[(knots >= least / reach) & (knots <= most * reach)].tolist())
        return np.array(sorted(found))

    def _drawn_curve(self, curve: Curve, payload: Floats, ends: Floats, where: Where) -> Curve:
        """Make a curve of n points that were computed from a fit.

        ``payload`` (n,) has the payloads of the points [B].  ``ends`` (3, n) has the metric at the
        points; axis 0: value, low, high.  Each point gets its dataset rows and its basis (kind of
        evidence, such as ``interpolated``) from the neighbouring points of the measured ``curve``.
        """
        first, last = curve.payload_bytes[[0, -1]]
        top = len(curve.payload_bytes) - 1
        before = np.clip(np.searchsorted(curve.payload_bytes, payload, side="right") - 1, 0, top)
        behind = np.clip(np.searchsorted(curve.payload_bytes, payload, side="left"), 0, top)
        basis = np.maximum(np.maximum(curve.basis[before], curve.basis[behind]), INTERPOLATED)
        beyond = (payload < first) | (payload > last)
        elsewhere = self.hosts is not None or where.options is not None
        return Curve(
            curve.load_bps,
            payload,
            ends,
            np.where(beyond | elsewhere, EXTRAPOLATED, basis).astype(np.int8),
            curve.rows[before],
            anywhere=curve.anywhere,
            next_rows=curve.rows[np.minimum(before + 1, top)],
            domain=None if curve.anywhere else (float(first), float(last)),
        )

    def _ends(self, metric: str, curve: Curve, payload: Floats, where: Where) -> Floats:
        """Evaluate a metric's fit at n payloads of a curve: value, low and high, (3, n).

        If a payload was measured, its interval is extended to contain the measured value.
        """
        fitted = self.fits.fitted_metric(metric)
        assert fitted is not None  # only fitted metrics are drawn
        regime = _regime(metric, curve, where)
        there = self.fits.flowing(metric, self._sites(metric, curve, payload, where))
        log_time, half = fitted.at(there)
        own = where.options is None
        if not own:
            half = np.hypot(half, fitted.unmeasured_half_width())
        if metric == "goodput_bps" and own:
            log_time = log_time + self._correction_to_rows(
                fitted, curve, payload, log_time, half, where
            )
        ends = self._interval(fitted, metric, curve, payload, (log_time, half))
        if fitted.packets is not None and regime in (UNLIMITED, OVERLOAD):
            # An extrapolated fit may fall below the packet rate of full packets.
            first, last = curve.payload_bytes[[0, -1]]
            beyond = (payload < first) | (payload > last)
            ends[0] = np.where(beyond, np.maximum(ends[0], 1.0), ends[0])
            ends[2] = np.maximum(ends[2], ends[0])
        if own:
            at = np.searchsorted(payload, curve.payload_bytes)
            theory = 1.0 if fitted.packets is None else fitted.packets.per_s(there)[at]
            known = curve.ends[0] / theory
            ends[1, at] = np.minimum(ends[1, at], known)
            ends[2, at] = np.maximum(ends[2, at], known)
        return ends

    def _sites(self, metric: str, curve: Curve, payload: Floats, where: Where) -> Sites:
        """Make the sites of a curve on the dataset's link: its payloads, with load, labels and wire times.

        The sites are cached, since all metrics of a configuration share them.
        """
        own = self._label(curve, _regime(metric, curve, where), where)
        load_bps = curve.load_bps
        if where.overloaded:  # use the greatest limited load of the rows
            loads = [self.data.points[row].load_bps for row in curve.rows.tolist()]
            load_bps = max((load for load in loads if load and math.isfinite(load)), default=1.0)
        key = own, load_bps, payload.tobytes()
        if key not in self._cached_sites:
            found = curve_sites(self.data, self.carrier, payload, load_bps, own)
            self._cached_sites[key] = found
        return self._cached_sites[key]

    def _label(self, curve: Curve, regime: str, where: Where) -> Label:
        """Make the label that all points of a curve share: protocol, options, counts, and regime of the load."""
        first = self.data.points[int(curve.rows[0])]
        return label(self.data, first, regime, where.options)

    def _interval(
        self,
        fitted: FittedMetric,
        metric: str,
        curve: Curve,
        payload: Floats,
        log_times: tuple[Floats, Floats],
    ) -> Floats:
        """Convert the logarithms that a fit predicts to value, low and high of the metric, (3, n).

        ``log_times`` has two arrays (n,): the predicted natural logarithm, and the half-width of its
        interval.  For a rate, it is the log of the time per frame; for other metrics, that of the value.
        The result's interval is wider than that of the fit: it covers the low and high that the rows
        state, and the deviation between measurement sessions.
        """
        log_time, half = log_times
        measure = fitted.quantity
        value, one, other = (
            measure.value(log_time + sign * half, payload) for sign in (0.0, -1.0, 1.0)
        )
        if metric in RATIOS:  # an extrapolated fit can exceed 1
            value, one, other = (np.minimum(number, 1.0) for number in (value, one, other))
        low, high = (other, one) if measure.falls else (one, other)
        below, above = self._own_range(curve, payload)
        between_sessions = self.data.between_sessions.get(metric, 0.0)
        spread = np.full_like(value, between_sessions)
        session = NORMAL * (spread if metric in RATIOS else between_sessions * value)
        low = value - np.hypot(np.hypot(value - low, value * below), session)
        high = value + np.hypot(np.hypot(high - value, value * above), session)
        return np.stack([value, np.clip(low, 0.0, value), np.maximum(high, value)])

    def _on_other_hosts(
        self, metric: str, curve: Curve, payload: Floats, ends: Floats, where: Where
    ) -> Floats:
        """Scale a curve, fitted on the dataset's hosts, to the requested other hosts (`hosts`).

        ``ends`` (3, n) holds value, low and high of the curve at n payloads; so does the result.
        """
        assert self.hosts is not None
        times = self._frame_times(self._label(curve, UNLIMITED, where), payload)
        rate = self.data.interconnect.line_rate_bps
        if self.fits.is_packet_multiple(metric):
            same = np.ones_like(payload)
            wider = np.exp(widening(same, self.hosts, rate, uncertain=same.astype(np.bool_)))
            return np.stack([ends[0], ends[1] / wider, ends[2] * wider])
        found = scale_to_hosts(metric, _regime(metric, curve, where), ends, times, rate)
        if metric == "goodput_bps":
            found[2] *= times.there_s / times.fastest_s
        return found

    def _frame_times(self, own: Label, payload: Floats) -> FrameTimes:
        """Times per frame at unlimited rate, on the dataset's hosts and on the requested other hosts.

        They are the same for all metrics of a configuration, so they are computed once and cached.
        """
        assert self.hosts is not None
        key = own, payload.tobytes()
        if key not in self._cached_times:
            here, there = (
                curve_sites(self.data, carrier, payload, math.inf, own)
                for carrier in (self.carrier, self.other_carrier)
            )
            goodput = self.fits.value("goodput_bps", here)
            full = flowing(here, goodput)
            busy = np.fmax(*(self.fits.value(name, full) for name in BUSY))
            here_s = np.where(np.isnan(goodput), here.least_s, 8 * payload / goodput)
            found = frame_times(here_s, busy, here, there, self.hosts)
            self._cached_times[key] = replace(found, saturated=self._saturated(found))
        return self._cached_times[key]

    @property
    def _rate_ratio(self) -> float:
        """Ratio of the requested line rate to the dataset's; 1 if either rate is unknown."""
        own_bps = self.data.interconnect.line_rate_bps
        rate_bps = None if self.hosts is None else self.hosts.line_rate_bps
        return 1.0 if own_bps is None or rate_bps is None else rate_bps / own_bps

    @property
    def knows_buffers(self) -> bool:
        """Whether the content of send buffers can be predicted.

        It can if the dataset's link is Ethernet and the requested line rate is lower than the dataset's.
        A sender at full speed then fills its buffers, since the line cannot carry its frames as fast.
        """
        return self.data.interconnect.kind == "ethernet" and self._rate_ratio < 1

    def _saturated(self, times: FrameTimes) -> Saturated | None:
        """Estimate how full the send buffers of a saturated stream are on the requested link.

        The result is ``None`` if the link is not a slower Ethernet than the dataset's, or if the send
        buffers of the protocol are unknown.
        """
        protocol = str(times.new.labels[0, 0])
        if not self.knows_buffers or protocol not in SENDERS:
            return None
        payload = times.new.payload_bytes
        packet = payload / times.new.least_packets
        memory = memory_by_rows(self.data, protocol, float(packet.max()))
        ahead = np.maximum(times.there_s / times.here_s, 1.0)
        at_sender = times.here_s <= ON_WIRE * times.old.least_s
        sender, ratio = SENDERS[protocol], self._rate_ratio
        return saturated(sender, payload, packet, memory, ahead, ratio, at_sender)

    def _own_range(self, curve: Curve, payload: Floats) -> tuple[Floats, Floats]:
        """Relative uncertainty that the rows of a curve state, interpolated at n payloads.

        The result is two arrays (n,): (value − low) / value and (high − value) / value.  Low and high
        show how far assumptions and rounding of the source may shift a row.  Neighbouring rows shift
        in the same way, so a fit to many rows has this uncertainty too.
        """
        points = [self.data.points[row] for row in curve.rows.tolist()]
        ranges = [
            (1 - p.low / p.value, p.high / p.value - 1)
            if p.value and p.low is not None and p.high is not None
            else (0.0, 0.0)
            for p in points
        ]
        at, own = np.log(payload), np.log(curve.payload_bytes)
        below, above = np.array(ranges).T
        return np.interp(at, own, below), np.interp(at, own, above)

    def _correction_to_rows(
        self,
        fitted: FittedMetric,
        curve: Curve,
        payload: Floats,
        log_time: Floats,
        half: Floats,
        where: Where,
    ) -> Floats:
        """Correction that moves a fitted goodput curve onto certain measured rows, (n,).

        It is added to the natural logarithm of the time per frame at each of n payloads.  Which rows
        count depends on the curve:

        - curve at unlimited load: rows of runs with a rate limit, if their goodput is above the interval
          of the fit
        - curve in overload: rows of runs without a rate limit, at the payloads next to overload

        At all other rows, the correction is 0.  Between two rows, it is linear in log payload.
        """
        own = np.searchsorted(payload, curve.payload_bytes)
        loads = [self.data.points[row].load_bps for row in curve.rows.tolist()]
        limited = np.array([load is not None and math.isfinite(load) for load in loads])
        reached = fitted.quantity.log_time(curve.ends[0], curve.payload_bytes)
        change = reached - log_time[own]
        other = ~limited if where.overloaded else limited & (change < -half[own])
        change = np.where(other, change, 0.0)
        return np.interp(np.log(payload), np.log(curve.payload_bytes), change)


def _regime(metric: str, curve: Curve, where: Where) -> str:
    """State of load (regime), such as ``unlimited`` or ``overload``, for which a curve is drawn from its fit.

    Outside overload, goodput is always drawn as ``unlimited``, since its fit describes the
    capacity.
    """
    if where.overloaded:
        return OVERLOAD
    return UNLIMITED if metric == "goodput_bps" else regime_of(curve.load_bps)


def _payloads(data: Dataset, metric: str) -> dict[Configuration, tuple[float, float]]:
    """Least and greatest measured payload [B] of each configuration of a metric, over all loads."""
    found: dict[Configuration, list[float]] = {}
    for point in data.of_metric(metric):
        if point.payload_bytes is not None:
            found.setdefault(_configuration(point), []).append(point.payload_bytes)
    return {key: (min(sizes), max(sizes)) for key, sizes in found.items()}


def _configuration(point: Point) -> Configuration:
    """Key of a row's configuration: metric, protocol, options and counts."""
    counts = point.cores, point.switches, point.endpoints, point.other_goodput_bps
    return point.metric, point.protocol, point.options, *counts

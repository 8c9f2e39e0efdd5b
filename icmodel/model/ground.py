"""What a model stands on: a dataset's rows at some options, compiled into look-up tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset, Interconnect, Point
from icmodel.hybrid.carried import carried_shares
from icmodel.interpolation import Below, Curve, left_knots, payload_knots
from icmodel.model.lookup import GROWING, Lookup, Press, crossings, most_measured
from icmodel.model.multiples import PACKETS, as_multiples
from icmodel.model.physics import Wire, wire
from icmodel.model.rows import rows_at
from icmodel.model.shelf import (
    Curves,
    Numbered,
    Shelf,
    by_load,
    fair_shares,
    place_of,
    without_switched,
)
from icmodel.scenario import Where

Floats = NDArray[np.float64]

BY_FLOW = ("goodput_bps", "sent_bps", "shortfall_bps", "loss_rate")
"""Metrics that follow from how the frames fare, not from a curve of their own."""
ANY_CORES = ("latency_", "rtt_", "cpu_")
"""Metrics that rows at another core count answer: latency as it is, CPU scaled (E6, E11)."""


class Refiner(Protocol):
    """What draws curves anew from fits of a dataset's metrics."""

    def carried(self, protocols: Sequence[str]) -> Floats:
        """Goodput over request while it is carried: value, low and high, (3, protocols)."""

    def knots(self, protocols: Sequence[str], options: Mapping[str, str]) -> Sequence[float]:
        """The payloads [B] that curves are drawn at."""

    def overloaded(self, points: Sequence[Point]) -> Sequence[bool]:
        """Which rows were asked for more than could be had."""

    def is_packet_multiple(self, metric: str) -> bool:
        """Whether a metric's curves are multiples of theory's packets."""

    def refined(
        self, metric: str, curve: Curve, payload_bytes: Sequence[float], where: Where
    ) -> Curve:
        """A benchmarked curve, drawn at some payloads."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """How the curves of one ground are drawn: as benchmarked where there is no refiner."""

    refiner: Refiner | None
    payload_bytes: Sequence[float]
    where: Where
    options: Mapping[str, str]
    borrowed: Mapping[str, str]

    def curves(self, metric: str, curves: Curves) -> Curves:
        """All curves of a metric as they are drawn."""
        refiner = self.refiner
        if refiner is None:
            return curves
        return {
            place: [
                refiner.refined(metric, curve, self.payload_bytes, self._where(place[0]))
                for curve in found
            ]
            for place, found in curves.items()
        }

    def _where(self, protocol: str) -> Where:
        """What the curves of a protocol are drawn for."""
        return replace(self.where, options=self.options) if self.borrowed[protocol] else self.where


@dataclass(frozen=True, slots=True)
class Ground:
    """Everything a variant of the model looks up, for one dataset and one set of options.

    ``carried`` (3, protocols) is what arrives of a carried request, value, low and high; ``None`` is
    all of it.  ``fitted`` curves were drawn from fits (``hybrid``).  ``borrowed`` says of each protocol why rows of other options stand in, empty where
    none do.  ``overloaded`` grounds know only runs that were asked for more than could be had.
    ``lent`` are core counts of protocols at which the goodput was not measured, but other metrics were.
    The tables of ``packet_multiples`` hold multiples of theory's packets (`icmodel.model.packets`).
    """

    data: Dataset
    options: Mapping[str, str]
    link: Interconnect
    protocols: tuple[str, ...]
    wires: tuple[Wire, ...]
    cores: tuple[int, ...]
    switch_counts: int
    knots: Floats
    left: Floats
    loads: Floats
    floors: Floats
    capacity: Lookup
    unlimited: Lookup
    fair: Mapping[int, Lookup]
    loss_unlimited: Lookup
    loss_limited: Lookup
    loss_table: Lookup
    loss_gaps: bool
    metrics: Mapping[str, Lookup]
    families: Mapping[str, int]
    limits: Mapping[str, tuple[Floats, Floats]]
    points: tuple[Point, ...]
    extended: bool
    changes: tuple[str, ...] = ()
    carried: Floats | None = None
    borrowed: Mapping[str, str] = field(default_factory=dict)
    overloaded: bool = False
    only: frozenset[str] | None = None
    known: frozenset[str] = frozenset()
    lent: frozenset[tuple[str, int]] = frozenset()
    packet_multiples: frozenset[str] = frozenset()
    fitted: bool = False

    def lookup_of(self, metric: str) -> Lookup | None:
        """The table a metric of a prediction comes from; that of the goodput for all that flows."""
        if metric in (*BY_FLOW, "frames_per_s"):
            return self.capacity
        return self.metrics.get(metric) or self.metrics.get(metric.removesuffix("_cores"))

    @property
    def same_places(self) -> bool:
        """Whether capacity and unlimited goodput lie at the same places of their tables."""
        return bool(np.array_equal(self.capacity.group, self.unlimited.group))


def lay_ground(
    data: Dataset,
    options: Mapping[str, str],
    variant: str,
    *,
    protocols: Sequence[str] | None = None,
    extend: bool = False,
    refiner: Refiner | None = None,
    changes: tuple[str, ...] = (),
    overloaded: bool = False,
    only: frozenset[str] | None = None,
) -> Ground:
    """Compile a dataset's rows at some options for one variant of the model.

    Parameters
    ----------
    protocols : sequence of str, optional
        Only these (a single prediction needs one); all of the dataset by default.
    extend : bool
        Answer beyond the benchmarked payloads, marked ``extrapolated``.
    refiner : Refiner, optional
        Draws every curve anew from what it fitted (``hybrid``).
    changes : tuple of str
        In which ways hosts and link are not the dataset's.
    overloaded : bool
        From runs alone whose limit was above what could be had, for requests of that kind
        (``hybrid``).
    only : frozenset of str, optional
        The metrics wanted beside what flows; all of the dataset by default.
    """
    chosen = tuple(protocols or data.protocols)
    borrow = refiner is not None
    found = {name: rows_at(data, name, options, borrow=borrow) for name in data.protocols}
    borrowed = {name: rows.borrowed for name, rows in found.items()}
    drawing = Drawing(refiner, (), Where(extend, overloaded), options, borrowed)
    if refiner is not None:
        drawing = replace(drawing, payload_bytes=refiner.knots(data.protocols, options))
    rows = _numbered(data, variant, [found[name].points for name in data.protocols])
    every = [(index, point) for index, point in rows if point.protocol in chosen]
    numbered = _overloaded(every, refiner) if overloaded and refiner else every
    alone = [(i, p) for i, p in numbered if p.endpoints in (None, 1) and not p.other_goodput_bps]
    shelf = Shelf(data, chosen, tuple(alone))
    drawn = drawing.curves
    unlimited = drawn("goodput_bps", shelf.goodput(limited=False))
    capacity = unlimited
    if variant != "appendix-h":
        capacity = drawn("goodput_bps", shelf.goodput(limited=True))
    loss = drawn("loss_rate", shelf.curves("loss_rate"))
    others = {
        metric: drawn(metric, shelf.curves(metric))
        for metric in sorted({p.metric for _, p in alone} - set(BY_FLOW))
        if only is None or metric in only
    }
    shares = fair_shares(data, chosen, numbered)
    fair = {count: drawn("goodput_bps", curves) for count, curves in shares.items()}
    knots, loads = _grid(data, rows, variant, replace(drawing, where=Where(extend)))
    everyone = Shelf(data, chosen, tuple(every))
    lent = _lent([p for _, p in every])
    press = Press(
        data,
        chosen,
        everyone.cores,
        everyone.switch_counts,
        knots,
        loads,
        extend,
        lent,
        fitted=refiner is not None,
    )
    carried = None if variant == "appendix-h" else capacity
    wires = tuple(wire(data, protocol, options) for protocol in chosen)
    if refiner is not None:
        multiples = frozenset(name for name in others if refiner.is_packet_multiple(name))
    elif variant != "appendix-h":
        told = {
            name: Shelf(relative, chosen, tuple((i, relative.points[i]) for i, _ in alone))
            for name in others
            if name.startswith(PACKETS) and (relative := as_multiples(data, name)) is not None
        }
        multiples = frozenset(told)
        others |= {name: counted.curves(name) for name, counted in told.items()}
    else:
        multiples = frozenset()
    metrics = {
        metric: press.lookup(
            metric,
            without_switched(curves, "udp") if _e7(variant, metric) else curves,
            nearest_cores=metric.startswith(ANY_CORES),
            below=_below(metric, multiples),
            carried=carried,
        )
        for metric, curves in others.items()
    }
    return Ground(
        data=data,
        options=options,
        link=data.link(options),
        protocols=chosen,
        wires=wires,
        cores=everyone.cores,
        switch_counts=everyone.switch_counts,
        knots=knots,
        left=left_knots(knots),
        loads=loads,
        floors=np.concatenate([[0.0], loads, [0.0]]),
        capacity=(best := press.lookup("goodput_bps", capacity)),
        unlimited=best if capacity is unlimited else press.lookup("goodput_bps", unlimited),
        fair={count: press.lookup("goodput_bps", curves) for count, curves in fair.items()},
        loss_unlimited=(lost := press.lookup("loss_rate", by_load(loss, finite=False))),
        loss_limited=press.lookup("loss_rate", by_load(loss, finite=True), below="nothing"),
        loss_table=lost.zero_filled(),
        loss_gaps=_gaps(lost, best),
        metrics=metrics,
        families=_families(metrics),
        limits={metric: press.limits(metric) for metric in metrics},
        points=data.points,
        extended=extend,
        changes=changes,
        carried=_carried(data, variant, chosen, refiner),
        borrowed=borrowed,
        overloaded=overloaded,
        only=only,
        known=frozenset(p.metric for _, p in alone) - set(BY_FLOW),
        lent=lent,
        packet_multiples=multiples,
        fitted=refiner is not None,
    )


def _carried(
    data: Dataset, variant: str, protocols: Sequence[str], refiner: Refiner | None
) -> Floats | None:
    """What arrives of a carried request; of ``corrected`` all of it, give or take what runs did."""
    if variant == "appendix-h":
        return None
    if refiner is not None:
        return refiner.carried(protocols)
    _, low, high = carried_shares(data, protocols)
    return np.stack([np.ones_like(low), low, np.maximum(high, 1.0)])


def _below(metric: str, multiples: frozenset[str]) -> Below:
    """What stands below a metric's lowest load."""
    if metric in multiples:
        return "one"
    return "proportion" if metric.startswith(GROWING) else "held"


def _lent(points: Sequence[Point]) -> frozenset[tuple[str, int]]:
    """Protocols and core counts with rows, but none of a goodput that was measured at others."""
    every = {(p.protocol, p.cores) for p in points if p.cores is not None}
    carried = {(p.protocol, p.cores) for p in points if p.metric == "goodput_bps"}
    protocols = {protocol for protocol, cores in carried if cores is not None}
    return frozenset((name, cores) for name, cores in every - carried if name in protocols)


def _overloaded(numbered: Sequence[Numbered], refiner: Refiner) -> list[Numbered]:
    """The rows that were asked for more than could be had, as unlimited ones.

    Of several loads at a payload the greatest: how far beyond its capacity it is asked changes
    little for a sender.
    """
    over = refiner.overloaded([point for _, point in numbered])
    rows = [row for row, is_over in zip(numbered, over, strict=True) if is_over]
    greatest: dict[tuple[object, ...], Numbered] = {}
    for index, point in sorted(rows, key=lambda row: row[1].load_bps or 0.0):
        beside = (point.options, point.endpoints, point.other_goodput_bps)
        key = (place_of(point), *beside, point.metric, point.payload_bytes)
        greatest[key] = (index, point._replace(load_bps=np.inf))
    return sorted(greatest.values(), key=lambda row: row[0])


def _grid(
    data: Dataset, rows: Sequence[Numbered], variant: str, drawing: Drawing
) -> tuple[Floats, Floats]:
    """Payload knots and load levels of the rows of all protocols.

    One grid whichever protocols are asked, so that the same question gives the same bits.
    """
    loads = np.array(sorted({p.load_bps for _, p in rows if p.load_bps is not None} - {np.inf}))
    curves: dict[tuple[object, ...], list[float]] = {}
    for _, point in rows:
        if point.payload_bytes is not None:
            curve = (place_of(point), point.metric, point.load_bps, point.endpoints)
            curves.setdefault(curve, []).append(float(point.payload_bytes))
    beside: tuple[float, ...] = ()
    if variant != "appendix-h":
        alone = tuple((i, p) for i, p in rows if p.endpoints in (None, 1))
        capacity = Shelf(data, data.protocols, alone).goodput(limited=True)
        capacity = drawing.curves("goodput_bps", capacity)
        places = {most_measured(capacity, protocol) for protocol in data.protocols}
        beside = crossings([capacity[place] for place in places if place in capacity], loads)
    return payload_knots(curves.values(), (*beside, *drawing.payload_bytes)), loads


def _gaps(lost: Lookup, reached: Lookup) -> bool:
    """Whether some payload with a goodput has no loss though its protocol and counts have one."""
    here = np.flatnonzero((lost.group > 0) & (reached.group > 0))
    loss = lost.stack.unlimited_values()[lost.group[here]]
    goodput = reached.stack.unlimited_values()[reached.group[here]]
    only_limited = bool(((lost.group == 0) & (reached.group > 0)).any())
    return only_limited or bool((np.isnan(loss) & ~np.isnan(goodput)).any())


def _families(metrics: Mapping[str, Lookup]) -> dict[str, int]:
    """Metrics looked up at the same places get the same number."""
    keys = {name: (m.group.tobytes(), m.switches.tobytes()) for name, m in metrics.items()}
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys.values()))}
    return {name: numbers[key] for name, key in keys.items()}


def _numbered(data: Dataset, variant: str, selected: Sequence[tuple[Point, ...]]) -> list[Numbered]:
    """The selected rows that a variant reads, with their index in the dataset."""
    rank = {id(point): index for index, point in enumerate(data.points)}
    return [
        (rank[id(point)], point)
        for points in selected
        for point in points
        if _in_variant(data, variant, point)
    ]


def _in_variant(data: Dataset, variant: str, point: Point) -> bool:
    """Whether a variant reads a row: ``appendix-h`` keeps to the original's payloads (§7.1.1)."""
    payloads = data.variants.get(variant, {}).get("payload_bytes")
    if not isinstance(payloads, list) or point.payload_bytes is None:
        return True
    return point.payload_bytes in payloads


def _e7(variant: str, metric: str) -> bool:
    """E7: a switch changes UDP's sending CPU only (IC2012 §7.1.3); the receiver's is equal."""
    return variant != "appendix-h" and metric == "cpu_recv"

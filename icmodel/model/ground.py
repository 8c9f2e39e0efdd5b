"""What a model stands on: a dataset's rows at some options, compiled into look-up tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset, Interconnect, Point
from icmodel.interpolation import Curve, left_knots, payload_knots
from icmodel.model.lookup import Lookup, Press, crossings, most_measured
from icmodel.model.physics import Wire, wire
from icmodel.model.shelf import (
    RATIOS,
    Curves,
    Numbered,
    Shelf,
    by_load,
    fair_shares,
    place_of,
    without_switched,
)

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

    def refined(
        self, metric: str, curve: Curve, payload_bytes: Sequence[float], *, extend: bool
    ) -> Curve:
        """A benchmarked curve, drawn at some payloads."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """How the curves of one ground are drawn: as benchmarked where there is no refiner."""

    refiner: Refiner | None
    payload_bytes: Sequence[float]
    extend: bool

    def curves(self, metric: str, curves: Curves) -> Curves:
        """All curves of a metric as they are drawn."""
        refiner = self.refiner
        if refiner is None:
            return curves
        return {
            place: [
                refiner.refined(metric, curve, self.payload_bytes, extend=self.extend)
                for curve in found
            ]
            for place, found in curves.items()
        }


@dataclass(frozen=True, slots=True)
class Ground:
    """Everything a variant of the model looks up, for one dataset and one set of options.

    ``carried`` (3, protocols) is what arrives of a carried request, value, low and high; ``None`` is
    all of it.
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
    """
    drawing = Drawing(refiner, (), extend)
    if refiner is not None:
        drawing = replace(drawing, payload_bytes=refiner.knots(data.protocols, options))
    chosen = tuple(protocols or data.protocols)
    numbered = [
        (index, point)
        for protocol in chosen
        for index, point in _numbered(data, protocol, options)
        if _in_variant(data, variant, point)
    ]
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
    }
    shares = fair_shares(data, chosen, numbered)
    fair = {count: drawn("goodput_bps", curves) for count, curves in shares.items()}
    knots, loads = _grid(data, options, variant, drawing)
    everyone = Shelf(data, chosen, tuple(numbered))
    press = Press(data, chosen, everyone.cores, everyone.switch_counts, knots, loads, extend)
    carried = None if variant == "appendix-h" else capacity
    metrics = {
        metric: press.lookup(
            metric,
            without_switched(curves, "udp") if _e7(variant, metric) else curves,
            nearest_cores=metric.startswith(ANY_CORES),
            below="proportion" if metric.startswith("cpu_") else "held",
            carried=carried,
        )
        for metric, curves in others.items()
    }
    return Ground(
        data=data,
        options=options,
        link=data.link(options),
        protocols=chosen,
        wires=tuple(wire(data, protocol, options) for protocol in chosen),
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
        limits={m: press.limits(m) for m in metrics if extend or _is_limited(data, m)},
        points=data.points,
        extended=extend,
        changes=changes,
        carried=None if refiner is None else refiner.carried(chosen),
    )


def _grid(
    data: Dataset, options: Mapping[str, str], variant: str, drawing: Drawing
) -> tuple[Floats, Floats]:
    """Payload knots and load levels of all protocols at some options.

    One grid whichever protocols are asked, so that the same question gives the same bits.
    """
    rows = [
        (index, point)
        for protocol in data.protocols
        for index, point in _numbered(data, protocol, options)
        if _in_variant(data, variant, point)
    ]
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


def _is_limited(data: Dataset, metric: str) -> bool:
    return metric in RATIOS or any(limit.metric == metric for limit in data.stated_limits)


def _families(metrics: Mapping[str, Lookup]) -> dict[str, int]:
    """Metrics looked up at the same places get the same number."""
    keys = {name: (m.group.tobytes(), m.switches.tobytes()) for name, m in metrics.items()}
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys.values()))}
    return {name: numbers[key] for name, key in keys.items()}


def _numbered(data: Dataset, protocol: str, options: Mapping[str, str]) -> list[Numbered]:
    """The selected points with their index in the dataset; a named option beats an empty cell."""
    rank = {id(point): index for index, point in enumerate(data.points)}
    return [(rank[id(point)], point) for point in data.select(protocol, options)]


def _in_variant(data: Dataset, variant: str, point: Point) -> bool:
    """Whether a variant reads a row: ``appendix-h`` keeps to the original's payloads (§7.1.1)."""
    payloads = data.variants.get(variant, {}).get("payload_bytes")
    if not isinstance(payloads, list) or point.payload_bytes is None:
        return True
    return point.payload_bytes in payloads


def _e7(variant: str, metric: str) -> bool:
    """E7: a switch changes UDP's sending CPU only (IC2012 §7.1.3); the receiver's is equal."""
    return variant != "appendix-h" and metric == "cpu_recv"

"""Predicted and measured numbers side by side, for the page docs/background/verified.md."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.verified.systems import Asked, Campaign
from icmodel import units
from icmodel.dataset import load
from icmodel.estimate import quantity
from icmodel.fits.observations import run_shares
from icmodel.verify import comparing
from icmodel.verify.comparing import Bounded, Compared
from icmodel.verify.folder import LEAST_OVERLAP, Pass
from icmodel.verify.lab_system import lab_system

WIDEST = 10.0
"""Ratio of upper to lower end of an interval, above which the interval says little."""
NAMES = {
    "goodput_bps": "goodput",
    "latency_mean_s": "mean latency",
    "latency_p99_s": "99 % latency",
    "loss_rate": "loss",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one stream, predicted and measured."""

    system: str
    stream: str
    metric: str
    compared: Compared

    @property
    def off(self) -> float:
        """Relative error of the median; for a loss rate the absolute error."""
        if self.metric == "loss_rate":
            return abs(self.compared.median - self.compared.value)
        return abs(self.compared.ratio - 1)


def rows(campaign: Campaign) -> tuple[list[Row], list[Bounded]]:
    """Return every metric and every bound of all measured systems."""
    found: list[Row] = []
    bounds: list[Bounded] = []
    shares = run_shares(load(campaign.dataset))
    for one in campaign.asked():
        if (campaign.measured / f"{one.name}.json").exists():
            said, passes = _read(one, campaign)
            system = lab_system(one.system, slower=campaign.slower, members=None, dataset="").system
            for stream, metrics in comparing.streams(system, said, passes, shares).items():
                found += [Row(one.name, stream, name, value) for name, value in metrics.items()]
            bounds += comparing.bounds(system, said, passes).values()
    return found, bounds


def _read(one: Asked, campaign: Campaign) -> tuple[Mapping[str, Any], list[Pass]]:
    """Return the stored prediction of a system, and its passes that count."""
    body = (campaign.predicted / f"{one.name}.json").read_bytes()
    measured = json.loads((campaign.measured / f"{one.name}.json").read_bytes())
    assert measured["prediction_sha256"] == hashlib.sha256(body).hexdigest(), one.name
    passes = [
        Pass(
            number,
            {
                name: {"result": _known(result), "flags": result["flags"]}
                for name, result in each["streams"].items()
            },
            1.0,
        )
        for number, each in enumerate(measured["passes"], start=1)
        if each["overlap_ratio"] >= LEAST_OVERLAP
    ]
    return json.loads(body)["prediction"], passes


def _known(result: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in result.items() if value is not None}


# --- text -------------------------------------------------------------------------------------


def text(campaign: Campaign) -> str:
    """Return summary and table as Markdown."""
    found, bounds = rows(campaign)
    if not found:
        return "Not measured yet.\n"
    return "\n".join([*_summary(campaign, found, bounds), "", *_table(found)]) + "\n"


def _summary(campaign: Campaign, found: Sequence[Row], bounds: Sequence[Bounded]) -> Iterator[str]:
    yield (
        "| metric | numbers | inside their 90 % intervals | median of high / low | high / low at most 10 | median error | "
        "95th percentile | within the aim |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for metric, name in NAMES.items():
        some = [row for row in found if row.metric == metric and row.compared.judged]
        if some:
            yield _line(name, some, campaign.aims.get(metric))
    judged = [row for row in found if row.compared.judged]
    yield _line("all", judged, None)
    held = [one.held for one in bounds if one.held is not None]
    if not held:
        return
    yield ""
    stolen = [one for one in bounds if one.held is not None and one.stolen]
    late = sum(one.stolen_s > (one.bound_s or math.inf) for one in stolen)
    counts = f"Bounds that cover the hosts: {len(held)}. Exceeded in passes without stolen cores: {held.count(False)}."
    if stolen:
        counts += (
            f" Of {len(stolen)} streams, the hypervisor took a core in at least one pass; in such a pass {late} of them "
            "exceeded the bound."
        )
    yield counts


def _line(name: str, some: Sequence[Row], aim: float | None) -> str:
    off = sorted(row.off for row in some)
    inside = sum(row.compared.inside for row in some)
    within = "–" if aim is None else f"{sum(one <= aim for one in off)} within {100 * aim:g} %"
    middle = "–" if name == "all" else units.format_ratio(median(off), 3)
    most = "–" if name == "all" else units.format_ratio(off[int(0.95 * (len(off) - 1))], 3)
    widths = [_width(row) for row in some]
    width, narrow = f"{median(widths):.3g}", str(sum(one <= WIDEST for one in widths))
    if name in ("all", "loss"):
        width, narrow = "–", "–"
    share = units.format_ratio(inside / len(some), 3)
    return f"| {name} | {len(some)} | {inside} ({share}) | {width} | {narrow} | {middle} | {most} | {within} |"


def _width(row: Row) -> float:
    """Return the ratio of upper to lower end of an interval."""
    one = row.compared
    return one.high / one.low if one.low > 0 else math.inf


def _table(found: Sequence[Row]) -> Iterator[str]:
    yield "| system, requests | stream | metric | predicted | from | to | measured | ratio | inside |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in found:
        one = row.compared
        cells = [_number(row.metric, value) for value in (one.value, one.low, one.high, one.median)]
        ratio = f"{one.ratio:.3f}" if one.ratio == one.ratio else "–"
        inside = ("yes" if one.inside else "**no**") if one.judged else "–"
        yield (
            f"| {row.system} | {row.stream} | {NAMES[row.metric]} | {' | '.join(cells)} | {ratio} | "
            f"{inside} |"
        )


def _number(metric: str, value: float) -> str:
    return quantity(metric, value, 4) if abs(value) < float("inf") else "–"

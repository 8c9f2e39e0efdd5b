"""Repeats in a dataset: noise by metric and protocol, and the held-out runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from icmodel import units
from icmodel.cli.output import Section, Table, fixed
from icmodel.dataset import RATIOS, Dataset
from icmodel.dataset.repeats import noise
from icmodel.dataset.rows import POINT

WATCHED = (
    "goodput_bps",
    "frames_per_s",
    "latency_mean_s",
    "latency_p50_s",
    "rtt_mean_s",
    "rtt_half_mean_s",
    "cpu_send",
    "cpu_recv",
    "loss_rate",
)
"""Metrics whose noise is shown; ``--json`` has all."""
Noises = Mapping[str, Mapping[str, Mapping[str, float]]]


def repeat_noise(data: Dataset) -> dict[str, dict[str, dict[str, float]]]:
    """Protocol -> metric -> the standard deviation of one run, and the number of rows of which it is the median.

    Of rows with at least two runs; relative, for ratios absolute.
    """
    by_protocol = {
        protocol: noise(point for point in data.points if point.protocol == protocol)
        for protocol in data.protocols
    }
    return {
        protocol: {metric: {"rows": one.rows, "run": one.run} for metric, one in found.items()}
        for protocol, found in by_protocol.items()
        if found
    }


def repeat_sections(data: Dataset) -> Iterator[Section]:
    """Noise of one run, and the held-out runs; empty for a dataset without either."""
    found = repeat_noise(data)
    if found:
        yield Section(
            "noise of one run: median over so many rows with two runs or more", _noise(found)
        )
    if data.held_out_runs:
        yield Section("held out from every fit", (held_out_text(data),))


def held_out_text(data: Dataset) -> str:
    """How many runs were held out, and at how many points."""
    places = {point[POINT] for point in data.held_out}
    return f"{len(data.held_out_runs)} runs at {len(places)} points"


def _noise(found: Noises) -> Table:
    metrics = [name for name in WATCHED if any(name in of for of in found.values())]
    rows = tuple(
        (metric, *(_cell(metric, of.get(metric)) for of in found.values())) for metric in metrics
    )
    return Table(("metric", *(f"#{name}" for name in found)), rows)


def _cell(metric: str, one: Mapping[str, float] | None) -> str:
    """A relative noise in per cent, that of a ratio unchanged; and the number of rows."""
    if one is None:
        return "–"
    run = fixed(one["run"], 4) if metric in RATIOS else units.format_ratio(one["run"], 2)
    return f"{run} ({one['rows']:.0f})"

"""Convert the streams of a drawn system to JSON: numbers, latency terms, and path through the drawing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from icmodel import units
from icmodel.estimate import estimated, interval, limit_name, metric_name, quantity
from icmodel.report.systems import tables
from icmodel.report.systems.summary import Summary, outcomes
from icmodel.requirement import OUTCOMES
from icmodel.system import SystemPrediction
from icmodel.system.prediction.result import StreamPrediction

MOST_STREAMS = 400
"""Maximum number of streams listed beside the drawing of a system, the worst first."""


def stream_paths(found: SystemPrediction, summary: Summary) -> Iterator[dict[str, Any]]:
    """Yield the streams of a system as JSON, the worst first.

    Each has its numbers, its latency terms, and the indices of its cables and boxes in the drawing.
    """
    drawn = [one.cable for one in summary.cables if not one.cable.inside]
    cable_of = {
        port: at
        for at, cable in enumerate(drawn)
        for link in cable.links
        for port in found.links[link.name].ports
    }
    box_of, of = summary.shape.box_of, outcomes(found)
    rank = {outcome: at for at, outcome in enumerate(OUTCOMES)}
    for name in sorted(found.streams, key=lambda name: -rank.get(of[name], -1))[:MOST_STREAMS]:
        one = found.streams[name]
        nodes = (
            one.stream.source,
            one.stream.sink,
            *(found.system.ports[p].node for p in one.stream.path),
        )
        longest = max(one.terms.values(), default=0.0) or 1.0
        yield {
            "name": name,
            "outcome": of[name],
            "goodput": _metric_text(one, "goodput_bps"),
            "latency": _metric_text(one, "latency_mean_s"),
            "path": list(one.stream.path),
            "cables": sorted({cable_of[port] for port in one.stream.path if port in cable_of}),
            "boxes": sorted({box_of[node] for node in nodes}),
            "facts": list(stream_facts(one)),
            "terms": [
                {
                    "name": cause,
                    "text": quantity("latency_mean_s", time),
                    "share": max(time / longest, 0.0),
                    "decides": time == longest,
                }
                for cause, time in one.terms.items()
            ],
            "notes": list(one.notes),
        }


def stream_facts(one: StreamPrediction) -> Iterator[tuple[str, str]]:
    """Yield the numbers of a stream as pairs of name and text."""
    stream = one.stream
    yield "sends", f"{stream.protocol}, {units.format_bytes(stream.payload_bytes)} a frame"
    for metric in (
        "goodput_bps",
        "latency_mean_s",
        "latency_max_s",
        "message_latency_s",
        "loss_rate",
    ):
        if metric in one.metrics:
            estimate = one.metrics[metric]
            span = interval(metric, estimate)
            notes = ", ".join(filter(None, (span, estimate.basis))) or estimate.why
            yield metric_name(metric), f"{_metric_text(one, metric)} ({notes})"
    yield "worst case", tables.bound_text([one]) if one.latency_bound else one.no_bound
    where = f" at {one.bottleneck_at}" if one.bottleneck_at else ""
    yield "limited by", f"{limit_name(one.bottleneck) or 'unknown'}{where}"
    if one.arrival.why:
        yield "arrival", one.arrival.why


def _metric_text(one: StreamPrediction, metric: str) -> str:
    if tables.grows(metric, [one]):
        return "grows"
    return estimated(metric, one.metrics[metric]) if metric in one.metrics else "unknown"

"""The short answer of ``icmodel predict``: the metrics that decide, on one screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from icmodel.cli.output import Section
from icmodel.cli.question import question_text
from icmodel.documents import group_by_key
from icmodel.estimate import (
    Estimate,
    Prediction,
    estimated,
    interval,
    limit_name,
    metric_name,
    quantity,
    wrapped,
)

LINES = 20
"""Most lines of an answer on a terminal."""
TIMES = ("latency", "rtt_half", "rtt")
SLOTS: tuple[tuple[str, ...], ...] = (
    ("goodput_bps", "frames_per_s"),
    tuple(f"{time}_{statistic}_s" for statistic in ("mean", "p50") for time in TIMES),
    tuple(f"{time}_{statistic}_s" for statistic in ("p99", "max") for time in TIMES),
    ("message_latency_s",),
    ("message_latency_paced_s",),
    ("cpu_send", "cpu_send_cores", "cpu_send_process_cores"),
    ("cpu_recv", "cpu_recv_cores", "cpu_recv_process_cores"),
    ("loss_rate",),
)
"""Metrics to show: of each slot the first with a value."""
MORE = "every metric: --all; terms, bounds and rows: --why"


def short(prediction: Prediction, *, more: bool = True) -> Iterator[Section]:
    """The question, the metrics that decide, the bottleneck, and as many notes as fit.

    ``more``: with a last line that says how to get more.
    """
    shown = shown_metrics(prediction)
    asked = wrapped(question_text(prediction.scenario))
    head = (*asked, f"{prediction.dataset}, variant {prediction.variant}")
    body = (*_metrics(shown), *_limited(prediction))
    room = LINES - len(head) - len(body) - len((MORE, "between head and body", "and notes"))
    notes = tuple(fitting(_notes(prediction, shown), room))
    yield Section("", head)
    yield Section("", body)
    last = (*notes, MORE) if more else notes
    if last:
        yield Section("", last)


def candidates(metrics: Iterable[str]) -> tuple[str, ...]:
    """Those of some metrics that may be shown."""
    return tuple(name for name in metrics if any(name in slot for slot in SLOTS))


def shown_metrics(prediction: Prediction) -> dict[str, Estimate]:
    """Of each slot the first metric that has a value."""
    known = {name: one for name, one in prediction.metrics.items() if not one.absent}
    chosen = (next((name for name in slot if name in known), None) for slot in SLOTS)
    return {name: known[name] for name in chosen if name is not None}


def _metrics(shown: Mapping[str, Estimate]) -> Iterator[str]:
    """A line for each metric: aligned name, value, interval and basis."""
    rows = [
        (metric_name(name), estimated(name, one), interval(name, one), one.basis)
        for name, one in shown.items()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _limited(prediction: Prediction) -> Iterator[str]:
    """The bottleneck of the goodput, and the next bound if it is the request."""
    by = limit_name(prediction.bottleneck)
    if not by:
        return
    others = {name: bound for name, bound in prediction.bounds.items() if name != "request"}
    if prediction.bottleneck == "request" and others:
        least = min(others, key=lambda name: others[name])
        yield f"limited by {by}; at most {quantity('goodput_bps', others[least], 4)} ({least})"
    else:
        yield f"limited by {by}"


def _notes(prediction: Prediction, shown: Mapping[str, Estimate]) -> Iterator[str]:
    """The notes of the answer, then the reasons of shown metrics, equal ones group_by_key."""
    yield from prediction.notes
    reasons = ((one.why, metric_name(name)) for name, one in shown.items() if one.why)
    for why, names in group_by_key(reasons).items():
        yield f"{', '.join(names)}: {why}"


def fitting(notes: Iterable[str], room: float) -> Iterator[str]:
    """Notes as wrapped items; those that do not fit are counted in the last line."""
    items = [wrapped(note, "- ", "  ") for note in notes]
    taken = 0
    for place, item in enumerate(items):
        last = place == len(items) - 1
        if taken + len(item) > room - (0 if last else 1):
            yield f"- and {len(items) - place} more: --all"
            return
        taken += len(item)
        yield from item

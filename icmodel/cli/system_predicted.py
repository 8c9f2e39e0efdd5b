"""A prediction as ``icmodel system FILE`` prints it: the verdict, streams by group, the busiest links and devices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from icmodel import units
from icmodel.cli.output import Section, Table, hanging
from icmodel.report.systems.conclusion import about, value_text
from icmodel.report.systems.worst import by_group, limits, queue_texts, worst_bound, worst_of
from icmodel.requirement import SIGNS
from icmodel.system.prediction.result import by_requirement
from icmodel.wording import percent, quantity

if TYPE_CHECKING:
    from icmodel.system import SystemPrediction
    from icmodel.system.prediction.result import (
        DevicePrediction,
        Judged,
        PortPrediction,
        StreamPrediction,
    )

BUSIEST = 3
"""Links and devices that are shown without ``--all``."""
REQUIREMENTS = 8
"""Requirements that are shown without ``--all``, the worst first."""
NOTES = 3
"""Notes that are shown without ``--all``."""
MORE = "each stream, link and device: --all; all numbers: --json"
SHOWN = ("goodput_bps", "latency_mean_s", "latency_max_s", "message_latency_s", "loss_rate")
"""Metrics of a group, each of its worst stream."""


def sections(found: SystemPrediction, *, everything: bool) -> Iterator[Section]:
    """The verdict, the requirements, the streams, the busiest links and devices."""
    named = ", ".join(found.datasets) or "theory alone"
    variant = f", variant {', '.join(found.variants)}" if found.variants else ""
    title = f"{SIGNS[found.verdict]} {found.system.name}: {found.verdict}"
    yield Section("", (f"{title} ({found.system.title})", f"{named}{variant}"))
    yield Section("requirements", _requirements(found.judged, everything=everything))
    yield Section(
        "streams" if everything else "streams, the worst of each group",
        _streams(found, everything=everything),
    )
    yield from _busiest(found, everything=everything)
    if found.notes:
        shown = found.notes if everything else found.notes[:NOTES]
        yield Section("notes", hanging(shown))
    if not everything:
        yield Section("", (MORE,))


# --- requirements -----------------------------------------------------------------------------


def _requirements(judged: Sequence[Judged], *, everything: bool) -> Table | tuple[str, ...]:
    """A line for each requirement: how many streams meet it, and the one that does so least."""
    if not judged:
        return ("none, and every stream sends as fast as it goes",)
    groups = by_requirement(judged)
    ordered = list(groups)
    shown = ordered if everything else ordered[:REQUIREMENTS]
    rows = [_requirement(groups[name]) for name in shown]
    if len(shown) < len(ordered):
        rows.append((f"and {len(ordered) - len(shown)} more", "", "", ""))
    return Table(("requirement", "verdict", "worst", "limit"), tuple(rows))


def _requirement(some: Sequence[Judged]) -> tuple[str, str, str, str]:
    worst = some[0]
    verdict, limit = worst.verdict, worst.verdict.requirement
    count = sum(one.verdict.outcome == verdict.outcome for one in some)
    of = f" ({count} of {len(some)})" if len(some) > 1 else ""
    return (
        limit.name,
        f"{SIGNS[verdict.outcome]} {verdict.outcome}{of}",
        f"{value_text(worst)}, {about(worst)}",
        f"{limit.sign} {quantity(limit.metric, limit.limit)}",
    )


# --- streams ----------------------------------------------------------------------------------


def _streams(found: SystemPrediction, *, everything: bool) -> Table:
    groups = {name: [one] for name, one in found.streams.items()} if everything else by_group(found)
    times = ("#mean latency", "#greatest", "#bound", "#message")
    rows = tuple(_group(name, some) for name, some in groups.items())
    return Table(("stream", "#n", "#goodput", *times, "#loss", "limited by"), rows)


def _group(name: str, some: Sequence[StreamPrediction]) -> tuple[str, ...]:
    goodput, mean, greatest, message, loss = (_worst(metric, some) for metric in SHOWN)
    bounded = worst_bound(some)
    found = None if bounded is None else bounded.latency_bound
    bound = "none" if found is None else units.format_seconds(found.value_s, 3)
    by = " ".join(limits(some)).rstrip()
    return (name, str(len(some)), goodput, mean, greatest, bound, message, loss, by)


def _worst(metric: str, some: Iterable[StreamPrediction]) -> str:
    """The least goodput, or the greatest of other metrics; the known end if there is no value."""
    worst = worst_of(metric, some)
    if worst is None:
        return "unknown"
    text = quantity(metric, worst.value, 4 if metric == "goodput_bps" else 3)
    return f"from {text}" if math.isinf(worst.high) else text


# --- links and devices ------------------------------------------------------------------------


def _busiest(found: SystemPrediction, *, everything: bool) -> Iterator[Section]:
    """The ports with the greatest load, and the devices with the busiest cores."""
    most = None if everything else BUSIEST
    ports = [
        (name, port)
        for link in found.links.values()
        for name, port in link.ports.items()
        if port.load_ratio > 0
    ]
    ports.sort(key=lambda one: (-one[1].asked_ratio, one[0]))
    rows = tuple(_port(name, port) for name, port in ports[:most])
    if rows:
        columns = ("port", "#load", "#mean queue", "#greatest queue")
        heading = f"ports, {len(rows)} of {len(ports)} that carry something"
        yield Section(heading, Table(columns, rows))
    devices = [(name, one) for name, one in found.devices.items() if not one.cpu_cores.absent]
    devices.sort(key=lambda one: (-one[1].cpu_cores.value, one[0]))
    told = tuple(_device(name, one) for name, one in devices[:most])
    if told:
        columns = ("device", "#CPU", "#busy cores", "#busiest core")
        heading = f"devices, {len(told)} of {len(found.devices)}"
        yield Section(heading, Table(columns, told))


def _port(name: str, port: PortPrediction) -> tuple[str, str, str, str]:
    return (name, percent(port.load_ratio), *queue_texts(port))


def _device(name: str, one: DevicePrediction) -> tuple[str, str, str, str]:
    return (
        name,
        "unknown" if one.cpu.absent else percent(one.cpu.value),
        f"{one.cpu_cores.value:.3g}",
        percent(one.by_core[0]) if one.by_core else "unknown",
    )

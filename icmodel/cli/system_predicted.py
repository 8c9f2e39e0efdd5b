"""A prediction as ``icmodel system FILE`` prints it: the verdict, streams by group, the busiest links and devices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from icmodel.cli.output import Section, Table, hanging
from icmodel.estimate import interval, percent, quantity
from icmodel.report.systems.tables import (
    about,
    bound_text,
    by_group,
    grows,
    limits,
    queue_texts,
    value_text,
    worst_estimate,
)
from icmodel.requirement import MET, OUTCOMES, SIGNS
from icmodel.system.prediction.result import by_requirement

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
    if why := tuple(_reasons(found, everything=everything)):
        yield Section("why it does not, or may not, all arrive", hanging(why))
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


def _reasons(found: SystemPrediction, *, everything: bool) -> Iterator[str]:
    """What lets less pass than is produced, or may, for each group: of its worst stream."""
    for name, some in by_group(found).items():
        open_ones = [one for one in some if one.arrival.outcome != MET]
        if open_ones:
            worst = max(open_ones, key=lambda one: OUTCOMES.index(one.arrival.outcome))
            more = f" (and {len(open_ones) - 1} more)" if open_ones[1:] else ""
            yield f"{worst.stream.name if everything else name}: {worst.arrival.why}{more}"
        elif late := [one for one in some if one.arrival.late]:
            yield f"{name}: {late[0].arrival.late}"
        elif short := [one for one in some if one.stream.allowed_shortfall_ratio > 0]:
            share = percent(max(one.stream.allowed_shortfall_ratio for one in short))
            yield f"{name}: {share} of what is produced need not arrive; times are of what arrives"


# --- streams ----------------------------------------------------------------------------------


def _streams(found: SystemPrediction, *, everything: bool) -> Table:
    groups = {name: [one] for name, one in found.streams.items()} if everything else by_group(found)
    times = ("#mean latency", "#greatest", "#bound", "#message")
    rows = tuple(_group(name, some) for name, some in groups.items())
    return Table(("stream", "#n", "#goodput", *times, "#loss", "limited by"), rows)


def _group(name: str, some: Sequence[StreamPrediction]) -> tuple[str, ...]:
    goodput, mean, greatest, message, loss = (_worst(metric, some) for metric in SHOWN)
    by = " ".join(limits(some)).rstrip()
    return (name, str(len(some)), goodput, mean, greatest, bound_text(some), message, loss, by)


def _worst(metric: str, some: Sequence[StreamPrediction]) -> str:
    """The least goodput, or the greatest of other metrics; the known end if there is no value."""
    if grows(metric, some):
        return "grows"
    worst = worst_estimate(metric, some)
    if worst is None:
        return "unknown"
    if metric == "loss_rate" and worst.high > worst.low:
        return interval(metric, worst)
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
        heading = f"ports, {len(rows)} of {len(ports)} that carry something"
        names = ("port", "#passing", "#asked", "#mean queue", "#queue bound")
        yield Section(heading, Table(names, rows))
    devices = [(name, one) for name, one in found.devices.items() if not one.cpu_cores.absent]
    devices.sort(key=lambda one: (-one[1].cpu_cores.value, one[0]))
    told = tuple(_device(name, one) for name, one in devices[:most])
    if told:
        heading = f"devices, {len(told)} of {len(found.devices)}"
        yield Section(heading, Table(("device", "#CPU", "#busy cores", "#busiest core"), told))


def _port(name: str, port: PortPrediction) -> tuple[str, ...]:
    return (name, percent(port.load_ratio), percent(port.asked_ratio), *queue_texts(port))


def _device(name: str, one: DevicePrediction) -> tuple[str, str, str, str]:
    return (
        name,
        "unknown" if one.cpu.absent else percent(one.cpu.value),
        f"{one.cpu_cores.value:.3g}",
        percent(one.by_core[0]) if one.by_core else "unknown",
    )

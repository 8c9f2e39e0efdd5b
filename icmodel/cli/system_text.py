"""Printed texts of ``icmodel system show`` (a system) and ``icmodel system`` (its prediction)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from icmodel import units
from icmodel.cli.output import Hanging, Section, Table, bullets
from icmodel.estimate import interval, percent, quantity
from icmodel.report.system_tables import (
    about,
    bottleneck_texts,
    bound_text,
    by_group,
    grows,
    parts_rows,
    queue_texts,
    value_text,
    worst_estimate,
)
from icmodel.report.verdicts import ground_text
from icmodel.requirement import MET, OUTCOMES, SIGNS
from icmodel.system.prediction.result import by_requirement

if TYPE_CHECKING:
    from icmodel.system import System, SystemPrediction
    from icmodel.system.prediction.result import Judged, StreamPrediction
    from icmodel.system.traffic import PortLoad


# --- a system ---------------------------------------------------------------------------------

MOST_LINES = 20
"""Maximum number of ports, and of streams, in ``icmodel system show``. JSON has all."""


def system_sections(system: System, port_loads: tuple[PortLoad, ...]) -> Iterator[Section]:
    """Yield the tables of ``icmodel system show``: groups, streams with their routes, and busiest ports."""
    yield Section(f"{system.name}: {system.title}", (f"source: {system.source}",))

    ends = Counter(end for link in system.links.values() for end in link.ends)
    members: Counter[tuple[str, str]] = Counter()
    links: Counter[tuple[str, str]] = Counter()
    for name in (*system.devices, *system.switches):
        group = (system.node(name).group, "device" if name in system.devices else "switch")
        members[group] += 1
        links[group] += ends[name]
    groups = tuple((*group, str(count), str(links[group])) for group, count in members.items())
    yield Section("groups", Table(("group", "kind", "#count", "#links"), groups))

    if system.streams:
        streams = tuple(
            (
                stream.name,
                " → ".join(system.nodes_of(stream)),
                stream.protocol,
                units.format_bytes(stream.payload_bytes),
                units.format_bps(stream.requested_goodput_bps),
                str(stream.priority),
                stream.kind,
            )
            for stream in list(system.streams.values())[:MOST_LINES]
        )
        columns = ("stream", "path", "protocol", "#payload", "#requested", "#priority", "kind")
        yield Section(_counted("streams", len(system.streams)), Table(columns, streams))
    if port_loads:
        ports = tuple(
            (
                load.port.name,
                str(len(load.streams)),
                units.format_bps(load.mean_bps, 4),
                units.format_bps(load.port.rate_bps),
                units.format_ratio(load.ratio, 3),
            )
            for load in sorted(port_loads, key=lambda load: -load.ratio)[:MOST_LINES]
        )
        table = Table(("port", "#streams", "#on the wire", "#of", "#load"), ports)
        yield Section(_counted("busiest ports", len(port_loads)), table)
    if system.known_limits:
        yield Section("known limits", bullets(system.known_limits))


def _counted(noun: str, count: int) -> str:
    return noun if count <= MOST_LINES else f"{noun}, {MOST_LINES} of {count}"


# --- a prediction -----------------------------------------------------------------------------

BUSIEST = 3
"""Maximum number of ports, and of devices, in ``icmodel system`` without ``--all``."""
REQUIREMENTS = 8
"""Maximum number of requirements in ``icmodel system`` without ``--all``, the worst first."""
NOTES = 3
"""Maximum number of notes in ``icmodel system`` without ``--all``."""
MORE = "each stream, link and device: --all; all numbers: --json"


def prediction_sections(prediction: SystemPrediction, *, everything: bool) -> Iterator[Section]:
    """Yield the sections to print: verdict, requirements, streams, busiest ports and busiest devices of a system."""
    variants = f", variant {', '.join(prediction.variants)}" if prediction.variants else ""
    system, verdict = prediction.system, prediction.verdict
    title = f"{SIGNS[verdict]} {system.name}: {verdict} ({system.title})"
    yield Section(
        "", (title, f"{ground_text(prediction.datasets, system.states_devices)}{variants}")
    )

    yield Section("requirements", requirements_body(prediction.judged, everything=everything))
    if shortfalls := tuple(shortfall_lines(prediction, everything=everything)):
        yield Section("data that does not arrive, or may not", Hanging(shortfalls))
    if everything and (rows := tuple(parts_rows(prediction))):
        columns = ("requirement", "worst", "#network", "#hosts", "#application", "#bound")
        yield Section("worst-case latencies by part", Table(columns, rows))
    groups = by_group(prediction)
    if everything:
        groups = {name: [one] for name, one in prediction.streams.items()}
    heading = "streams" if everything else "streams, the worst of each group"
    yield Section(heading, streams_table(groups))
    yield from ports_section(prediction, None if everything else BUSIEST)
    yield from devices_section(prediction, None if everything else BUSIEST)
    if prediction.notes:
        yield Section("notes", Hanging(prediction.notes[: None if everything else NOTES]))
    if not everything:
        yield Section("", (MORE,))


def requirements_body(
    judged: Sequence[Judged], *, everything: bool
) -> Table[str] | tuple[str, ...]:
    """Return a table of verdicts, with a row for each requirement of a system.

    A row shows the worst stream (or device) with its verdict, and how many have the same verdict: ``3 of 8``.
    """
    if not judged:
        return ("none; every stream sends at unlimited rate",)
    rows = []
    groups = by_requirement(judged)
    for name in list(groups)[: None if everything else REQUIREMENTS]:
        worst, *others = groups[name]
        verdict, limit = worst.verdict, worst.verdict.requirement
        same = sum(one.verdict.outcome == verdict.outcome for one in groups[name])
        share = f" ({same} of {len(groups[name])})" if others else ""
        rows.append(
            (
                limit.name,
                f"{SIGNS[verdict.outcome]} {verdict.outcome}{share}",
                f"{value_text(worst)}, {about(worst)}{parts_text(worst)}",
                f"{limit.sign} {quantity(limit.metric, limit.limit)}",
            )
        )
    if len(rows) < len(groups):
        rows.append((f"and {len(groups) - len(rows)} more", "", "", ""))
    return Table(("requirement", "verdict", "worst", "limit"), tuple(rows))


def parts_text(judged: Judged) -> str:
    """Return the parts of a latency bound as text: ``: network 6 µs, hosts 450 µs``.

    If no bound decided the verdict, the text is empty.
    """
    if not judged.by_bound:
        return ""
    parts = {name.removesuffix("_s"): part for name, part in judged.parts.items()}
    texts = (f"{name} {units.format_seconds(part, 3)}" for name, part in parts.items() if part)
    return f": {', '.join(texts)}"


def shortfall_lines(prediction: SystemPrediction, *, everything: bool) -> Iterator[str]:
    """Yield a line for each group of streams that loses data or may lose data, or whose data may arrive late.

    The line states the reason for the worst stream of the group.
    """
    for name, streams in by_group(prediction).items():
        failing = [one for one in streams if one.arrival.outcome != MET]
        late = [one.arrival.late for one in streams if one.arrival.late]
        allowed = max(one.stream.allowed_shortfall_ratio for one in streams)
        if failing:
            worst = max(failing, key=lambda one: OUTCOMES.index(one.arrival.outcome))
            more = f" (and {len(failing) - 1} more)" if failing[1:] else ""
            yield f"{worst.stream.name if everything else name}: {worst.arrival.why}{more}"
        elif late:
            yield f"{name}: {late[0]}"
        elif allowed > 0:
            share = percent(allowed)
            yield f"{name}: up to {share} of the data may be lost; times are those of received data"


def streams_table(groups: dict[str, list[StreamPrediction]]) -> Table[str]:
    """Return a table with a row for each group of streams. A cell has the worst value among the group's streams."""
    rows = []
    for name, streams in groups.items():
        metrics = ("goodput_bps", "latency_mean_s", "latency_max_s", "message_latency_s")
        goodput, mean, greatest, message = (_worst_text(metric, streams) for metric in metrics)
        times = (mean, greatest, bound_text(streams), message)
        loss = _worst_text("loss_rate", streams)
        limit = " ".join(bottleneck_texts(streams)).rstrip()
        rows.append((name, str(len(streams)), goodput, *times, loss, limit))
    times = ("#mean latency", "#greatest", "#bound", "#message")
    columns = ("stream", "#n", "#goodput", *times, "#loss", "limited by")
    return Table(columns, tuple(rows))


def _worst_text(metric: str, streams: Sequence[StreamPrediction]) -> str:
    """Return the worst value of a metric among streams as text: the least goodput, the greatest for other metrics."""
    if grows(metric, streams):
        return "grows"
    worst = worst_estimate(metric, streams)
    if worst is None:
        return "unknown"
    if metric == "loss_rate" and worst.high > worst.low:
        return interval(metric, worst)
    text = quantity(metric, worst.value, 4 if metric == "goodput_bps" else 3)
    return f"from {text}" if math.isinf(worst.high) else text


def ports_section(prediction: SystemPrediction, most: int | None) -> Iterator[Section]:
    """Yield a table of the ports with the greatest requested loads. If no port has a load, yield nothing.

    The table has at most ``most`` ports; None means all.
    """
    ports = [
        (name, port)
        for link in prediction.links.values()
        for name, port in link.ports.items()
        if port.load_ratio > 0
    ]
    ports.sort(key=lambda item: (-item[1].asked_ratio, item[0]))
    rows = tuple(
        (name, percent(port.load_ratio), percent(port.asked_ratio), *queue_texts(port))
        for name, port in ports[:most]
    )
    if rows:
        heading = f"busiest ports, {len(rows)} of {len(ports)} with a load"
        columns = ("port", "#passing", "#requested", "#mean queue", "#queue bound")
        yield Section(heading, Table(columns, rows))


def devices_section(prediction: SystemPrediction, most: int | None) -> Iterator[Section]:
    """Yield a table of the devices with the most busy cores. If no CPU load is known, yield nothing.

    The table has at most ``most`` devices; None means all.
    """
    devices = [item for item in prediction.devices.items() if not item[1].cpu_cores.absent]
    devices.sort(key=lambda item: (-item[1].cpu_cores.value, item[0]))
    rows = tuple(
        (
            name,
            "unknown" if one.cpu.absent else percent(one.cpu.value),
            f"{one.cpu_cores.value:.3g}",
            percent(one.by_core[0]) if one.by_core else "unknown",
        )
        for name, one in devices[:most]
    )
    if rows:
        heading = f"devices, {len(rows)} of {len(prediction.devices)}"
        columns = ("device", "#CPU", "#busy cores", "#busiest core")
        yield Section(heading, Table(columns, rows))

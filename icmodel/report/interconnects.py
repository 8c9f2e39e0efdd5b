"""A comparison of interconnects as text and Markdown: one row per link, deciding measurements, and reasons."""

from __future__ import annotations

import math
from collections.abc import Iterator

from icmodel import units
from icmodel.documents import group_by_key
from icmodel.estimate import metric_name, quantity
from icmodel.interconnects import Comparison, Row, Source
from icmodel.interconnects.result import EXTRAPOLATED, THEORY
from icmodel.report.blocks import Cell, Table
from icmodel.report.markdown import escape, show
from icmodel.report.verdicts import finding_text
from icmodel.requirement import OUTCOMES, SIGNS, UNDECIDED, outcome_text
from icmodel.usecase import Finding

COLUMNS = ("link", "Gb/s", "protocol", "verdict", "stands on", "decided by (required)")
NUMBERS = ("Gb/s",)
NAMES = {"ethernet": "Ethernet", "roce": "RoCE", "infiniband": "InfiniBand", "rapidio": "RapidIO"}
NOT_STATED = "?"
RULES = (
    "Each stream is predicted on each link. Samples are sent in frames of one connection's payload. A stated "
    "goodput is sent in frames of the default candidate's payload. Pictures are sent in up to four measured "
    "payloads: the largest, the largest aligned, one packet, and the fastest. Each is tried on the fewest, the "
    "fastest and the most cores measured, with the distance and switches of the use case. The best answer is "
    "shown.",
    "A link is met if one dataset meets the use case. It is not met if all datasets with an answer fail, or if "
    "theory refutes it (wire: no host can). Theory alone never proves a link, since hosts add time. +3 means that "
    "three more requirements are undecided. ? is a rate that no source states.",
)
"""Rules by which the table was made, as printed below the table."""


def rate_text(row: Row) -> str:
    """Return the line rate of a link [Gb/s] as text."""
    rate = row.link.line_rate_bps
    return NOT_STATED if rate is None else f"{rate / 1e9:.3g}"


def protocol_text(row: Row) -> str:
    """Return the protocol of a link, or the first of its protocols with the number of others."""
    if row.link.protocol:
        return row.link.protocol
    first, *more = row.source.protocols
    return f"{first} +{len(more)}" if more else first


def decided_text(row: Row) -> str:
    """Return the value that decides a row, its requirement, and the number of other undecided ones.

    If the value is unknown, a finite limit of its interval is shown instead.
    """
    verdict = row.decisive.verdict
    requirement, estimate = verdict.requirement, verdict.estimate
    metric = requirement.metric
    if not estimate.absent:
        value = quantity(metric, estimate.value, 3)
    elif estimate.high < math.inf:
        value = f"≤ {quantity(metric, estimate.high, 3)}"
    elif estimate.low > 0:
        value = f"≥ {quantity(metric, estimate.low, 3)}"
    else:
        value = "unknown"
    by = "wire: " if row.refuted else ""
    required = f"({requirement.sign} {quantity(metric, requirement.limit, 3)})"
    more = sum(finding.outcome == UNDECIDED for finding in row.source.result.findings) - 1
    counted = f", +{more}" if row.outcome == UNDECIDED and more else ""
    return f"{by}{metric_name(metric)} {value} {required}{counted}"


def row_cells(row: Row) -> tuple[str, ...]:
    """Return the cells of one row, in the order of `COLUMNS`."""
    return (
        NAMES[row.link.kind],
        rate_text(row),
        protocol_text(row),
        outcome_text(row.outcome),
        row.source.ground,
        decided_text(row),
    )


def headline(comparison: Comparison) -> tuple[str, ...]:
    """Return the question of the use case, and the number of links by verdict."""
    case = comparison.usecase
    counts = [f"{sum(row.outcome == one for row in comparison.rows)} {one}" for one in OUTCOMES]
    return (
        f"{case.title}: {case.question}",
        f"{len(comparison.rows)} links: {', '.join(counts)}",
    )


def measurements(comparison: Comparison) -> tuple[str, ...]:
    """Return the measurements that would decide undecided links, one line for each set."""
    undecided = group_by_key((row.measurements, row) for row in comparison.rows if row.measurements)
    lines = []
    for needed, rows in undecided.items():
        rates = group_by_key((_kind(row), rate_text(row)) for row in rows)
        links = "; ".join(f"{kind} {', '.join(some)} Gb/s" for kind, some in rates.items())
        lines.append(f"{links}: {'; '.join(needed)}")
    return tuple(lines)


def _kind(row: Row) -> str:
    """``Ethernet tcp``."""
    return " ".join(part for part in (NAMES[row.link.kind], row.link.protocol) if part)


def link_name(row: Row) -> str:
    """Return the name of a link: ``Ethernet tcp 10 Gb/s``."""
    rate = "of a rate not stated" if row.link.line_rate_bps is None else f"{rate_text(row)} Gb/s"
    return f"{_kind(row)} {rate}"


# --- why --------------------------------------------------------------------------------------


def reasons(row: Row) -> Iterator[str]:
    """Yield the reasons for a link's verdict.

    First comes the source of the verdict with each requirement, then the other sources, then the
    datasets without an answer.
    """
    yield f"answered by {source_name(row.source)}: {row.source.result.description}"
    for finding in row.source.result.findings:
        yield f"{SIGNS[finding.outcome]} {_finding(finding)}"
    for one in row.source.result.derivations:
        if one.quantity == "interfaces":
            yield f"{one.name} = {one.text}: {one.formula}"
    for source in row.others:
        decided = _finding(source.decisive)
        yield f"not taken: {source_name(source)}, {source.outcome}: {decided}"
    for name, why in row.silent:
        yield f"silent: {name}: {why}"
    yield from (f"note: {note}" for note in row.source.notes)


def source_name(source: Source) -> str:
    """Return a source's name: ``ethernet-10g-2012 (published, corrected)`` or ``theory alone``."""
    if source.ground == THEORY:
        return "theory alone"
    notes = [source.ground, source.variant]
    if source.ground == EXTRAPOLATED and source.measured_bps is not None:
        notes.append(f"measured at {units.format_bps(source.measured_bps, 3)}")
    return f"{source.dataset} ({', '.join(notes)})"


def _finding(finding: Finding) -> str:
    """Return a requirement as text: value, limit and reason."""
    return "; ".join(part for part in (finding_text(finding), finding.verdict.why) if part)


# --- Markdown ---------------------------------------------------------------------------------


def comparison_markdown(comparison: Comparison) -> str:
    """Render the comparison as Markdown: the table, deciding measurements, and the reasons of each link."""
    case, (question, counts) = comparison.usecase, headline(comparison)
    rows = tuple(tuple(Cell(text) for text in row_cells(row)) for row in comparison.rows)
    parts = [
        f"# {escape(case.title)}: interconnects compared",
        escape(question),
        *show(Table(counts, COLUMNS, rows, NUMBERS)),
        *map(escape, RULES),
        "## What would decide",
        "\n".join(f"- {escape(one)}" for one in measurements(comparison)) or "Nothing is open.",
        "## Why",
    ]
    for row in comparison.rows:
        parts.append(f"### {escape(link_name(row))}: {row.outcome}")
        parts.append("\n".join(f"- {escape(one)}" for one in reasons(row)))
    return "\n\n".join(parts) + "\n"

"""The table of interconnects as text: a row a link, what would decide, and the reasons."""

from __future__ import annotations

import math
from collections.abc import Iterator

from icmodel import units
from icmodel.estimate import Estimate, metric_name, quantity
from icmodel.interconnects import Comparison, Row, Source
from icmodel.interconnects.result import EXTRAPOLATED, THEORY
from icmodel.report.blocks import Cell, Table
from icmodel.report.markdown import escape, show
from icmodel.report.verdicts import finding_text
from icmodel.requirement import OUTCOMES, SIGNS, UNDECIDED
from icmodel.usecase import Finding

COLUMNS = ("link", "#Gb/s", "protocol", "verdict", "stands on", "decided by (required)")
NAMES = {"ethernet": "Ethernet", "roce": "RoCE", "infiniband": "InfiniBand", "rapidio": "RapidIO"}
NOT_STATED = "?"
RULES = (
    "Each link is asked what each stream needs: samples in frames of one connection's payload, a stated "
    "goodput in those of the default candidate, pictures in up to four measured sizes (the largest, the "
    "largest aligned, one packet, the fastest); on the fewest, the fastest and the most cores measured, "
    "as far apart and through as many switches as the use case says. The best answer stands here.",
    "A link is met if one dataset meets it, and not met if all that answer fail or theory refutes it "
    "(wire: no host can); theory alone never proves what hosts add. +3: three more are open. A rate of "
    "? is one that no source states.",
)
"""Rules by which the table was made."""


def rate_text(row: Row) -> str:
    """The line rate of a link [Gb/s]."""
    rate = row.link.line_rate_bps
    return NOT_STATED if rate is None else f"{rate / 1e9:.3g}"


def protocol_text(row: Row) -> str:
    """The protocol of a link, or the first of several with their count."""
    if row.link.protocol:
        return row.link.protocol
    first, *more = row.source.protocols
    return f"{first} +{len(more)}" if more else first


def decided_text(row: Row) -> str:
    """The value that decides a row, the requirement, and the number of other undecided requirements."""
    finding = row.decisive
    verdict = finding.verdict
    metric, wanted = verdict.requirement.metric, verdict.requirement
    required = f"({wanted.sign} {quantity(metric, wanted.limit, 3)})"
    by = "wire: " if row.refuted else ""
    told = f"{by}{metric_name(metric)} {_known(metric, verdict.estimate)} {required}"
    more = sum(one.outcome == UNDECIDED for one in row.source.result.findings) - 1
    return f"{told}, +{more}" if row.outcome == UNDECIDED and more else told


def _known(metric: str, estimate: Estimate) -> str:
    """A value, or its known end if there is no value."""
    if not estimate.absent:
        return quantity(metric, estimate.value, 3)
    if estimate.high < math.inf:
        return f"≤ {quantity(metric, estimate.high, 3)}"
    return f"≥ {quantity(metric, estimate.low, 3)}" if estimate.low > 0 else "unknown"


def row_cells(row: Row) -> tuple[str, ...]:
    """The cells of one row, as in `COLUMNS`."""
    return (
        NAMES[row.link.kind],
        rate_text(row),
        protocol_text(row),
        f"{SIGNS[row.outcome]} {row.outcome}",
        row.source.ground,
        decided_text(row),
    )


def headline(comparison: Comparison) -> tuple[str, ...]:
    """The question, and the number of links by verdict."""
    case = comparison.usecase
    counts = [f"{sum(row.outcome == one for row in comparison.rows)} {one}" for one in OUTCOMES]
    return (
        f"{case.title}: {case.question}",
        f"{len(comparison.rows)} links: {', '.join(counts)}",
    )


def measurements(comparison: Comparison) -> tuple[str, ...]:
    """Measurements that would decide undecided links, those of the same measurement in one line."""
    links: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for row in comparison.rows:
        if row.measurements:
            of = links.setdefault(row.measurements, {})
            of.setdefault(_kind(row), []).append(rate_text(row))
    return tuple(
        f"{'; '.join(' '.join((kind, ', '.join(rates), 'Gb/s')) for kind, rates in of.items())}: "
        f"{'; '.join(needed)}"
        for needed, of in links.items()
    )


def _kind(row: Row) -> str:
    return " ".join(part for part in (NAMES[row.link.kind], row.link.protocol) if part)


def link_name(row: Row) -> str:
    """``Ethernet tcp 10 Gb/s``."""
    rate = "of a rate not stated" if row.link.line_rate_bps is None else f"{rate_text(row)} Gb/s"
    return f"{_kind(row)} {rate}"


# --- why --------------------------------------------------------------------------------------


def reasons(row: Row) -> Iterator[str]:
    """The source of a link and its numbers by requirement; the other sources, and datasets without an answer."""
    yield f"answered by {source_name(row.source)}: {row.source.result.description}"
    for finding in row.source.result.findings:
        yield f"{SIGNS[finding.outcome]} {_found(finding)}"
    derived = (one for one in row.source.result.derivations if one.quantity == "interfaces")
    for one in derived:
        yield f"{one.name} = {one.text}: {one.formula}"
    for source in row.others:
        decided = _found(source.decisive)
        yield f"not taken: {source_name(source)}, {source.outcome}: {decided}"
    for name, why in row.silent:
        yield f"silent: {name}: {why}"
    yield from (f"note: {note}" for note in row.source.notes)


def source_name(source: Source) -> str:
    """``ethernet-10g-2012 (published, corrected)``; of theory its name."""
    if source.ground == THEORY:
        return "theory alone"
    told = [source.ground, source.variant]
    if source.ground == EXTRAPOLATED and source.measured_bps is not None:
        told.append(f"measured at {units.format_bps(source.measured_bps, 3)}")
    return f"{source.dataset} ({', '.join(told)})"


def _found(finding: Finding) -> str:
    return "; ".join(part for part in (finding_text(finding), finding.verdict.why) if part)


# --- Markdown ---------------------------------------------------------------------------------


def comparison_markdown(comparison: Comparison) -> str:
    """The comparison as Markdown: the table, deciding measurements, and the reasons of each link."""
    case, (question, counts) = comparison.usecase, headline(comparison)
    rows = tuple(tuple(Cell(text) for text in row_cells(row)) for row in comparison.rows)
    parts = [
        f"# {escape(case.title)}: interconnects compared",
        escape(question),
        *show(Table(counts, COLUMNS, rows)),
        *map(escape, RULES),
        "## What would decide",
        "\n".join(f"- {escape(one)}" for one in measurements(comparison)) or "Nothing is open.",
        "## Why",
    ]
    for row in comparison.rows:
        parts.append(f"### {escape(link_name(row))}: {row.outcome}")
        parts.append("\n".join(f"- {escape(one)}" for one in reasons(row)))
    return "\n\n".join(parts) + "\n"

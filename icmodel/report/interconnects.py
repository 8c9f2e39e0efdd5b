"""Comparison of interconnects as text and as a report: a row for each link, reasons, and deciding measurements."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from icmodel import __version__, units
from icmodel.documents import group_by_key
from icmodel.estimate import interval, metric_name, plural, quantity, shortened
from icmodel.interconnects import Comparison, Ranked, Row, Source
from icmodel.interconnects.result import EXTRAPOLATED, MEASURED_HERE, THEORY
from icmodel.report.blocks import (
    MOST_CHANGES,
    MOST_DOUBTS,
    MOST_NUMBERS,
    Block,
    Cell,
    Conclusion,
    Figure,
    Front,
    Heading,
    Items,
    Page,
    Table,
    Text,
    filled_sections,
)
from icmodel.report.front import (
    COST,
    MOST_SENTENCE,
    basis_text,
    command,
    interfaces_text,
    name_cell,
    parts,
    repeat,
    sentences,
)
from icmodel.report.masthead import PLAIN, Masthead
from icmodel.report.vega import nominal_channels, point_plot
from icmodel.report.verdicts import finding_text, limit_text, margin_clause, margin_text
from icmodel.requirement import MET, NOT_MET, OUTCOMES, SIGNS, UNDECIDED, outcome_text
from icmodel.usecase import Finding
from icmodel.usecase.files import USECASES

COLUMNS = ("link", "Gb/s", "protocol", "verdict", "based on", "decided by (required)")
NUMBERS = ("Gb/s",)
NAMES = {"ethernet": "Ethernet", "roce": "RoCE", "infiniband": "InfiniBand", "rapidio": "RapidIO"}
NOT_STATED = "?"
TONES = {MET: "#0a6b58", UNDECIDED: "#7a5200", NOT_MET: "#a3201a"}
SHAPES = {MET: "circle", UNDECIDED: "triangle-up", NOT_MET: "cross"}
"""Shape of a link in the plot of all links, by verdict."""
RULES = (
    "Each stream is predicted on each link. For samples, the payload is the one that the use case derives for a "
    "connection. For a stated goodput, it is the payload of the default candidate. For pictures, up to four measured "
    "payloads are tried: the largest, the largest aligned, one packet, and the one with the greatest goodput. Each "
    "payload is tried with three measured numbers of cores: the fewest, the most, and the one with the greatest "
    "goodput. Distance and switches are those of the use case. The best answer is shown.",
    "A link is met if one dataset meets the use case. It is not met if all datasets with an answer fail, or if "
    "theory refutes it (marked wire: no host can meet it). Theory alone never proves a link, since hosts add time. "
    "The mark +3 means three more undecided requirements. The mark ? is a line rate that no source states.",
)
"""Explanation of the comparison, printed below the table of links."""


def page(comparison: Comparison, masthead: Masthead = PLAIN, file: str = "") -> Page:
    """Make the report of a comparison: a first page with the best links, then every link with its reasons.

    Parameters
    ----------
    file : str
        Name of the report's file, printed in the command line that makes the report again.
    """
    case = comparison.usecase
    words = ["compare", "--usecase", USECASES.argument(case.name, comparison.file)]
    words += [word for data in comparison.datasets or () for word in ("--dataset", data)]
    line = command(words, masthead, file or f"{case.name}-compared.html")

    ranked = sorted(comparison.rows, key=lambda row: row.source.order)
    ranked.sort(key=lambda row: OUTCOMES.index(row.outcome))
    needed = measurements(comparison)
    rows = tuple(tuple(map(Cell, row_cells(row))) for row in comparison.rows)
    why = [
        block
        for row in comparison.rows
        for block in (Heading(link_name(row), row.outcome), Items("", tuple(reasons(row))))
    ]
    sections: tuple[tuple[str, str, Sequence[Block]], ...] = (
        ("links", "All links", (Table(headline(comparison)[1], COLUMNS, rows, NUMBERS),)),
        ("rules", "Rules of the comparison", tuple(map(Text, RULES))),
        (
            "decide",
            "Measurements that would decide",
            (Items("", needed or ("No verdict is open.",)),),
        ),
        ("why", "Why", why),
    )
    used = ("the bundled datasets",) if comparison.datasets is None else comparison.datasets
    return Page(
        title=f"{case.title}: interconnects compared",
        question=case.question,
        basis=f"{', '.join(used)} and theory" if used else "theory alone",
        answer=conclude(comparison, ranked),
        sections=filled_sections(*sections),
        made_by=f"icmodel {__version__}",
        front=_front(comparison, ranked, line),
        masthead=masthead,
    )


def conclude(comparison: Comparison, ranked: Sequence[Row]) -> Conclusion:
    """Return the conclusion of a comparison: its verdict, its best link, and the number of links by verdict."""
    _, counts = headline(comparison)
    best = ranked[0]
    verdict = {
        MET: f"{link_name(best)} carries the use case, by {best.source.ground} numbers",
        UNDECIDED: f"no link surely carries the use case; {link_name(best)} may",
    }.get(comparison.verdict, "no link carries the use case")
    sentence = f"{comparison.verdict.capitalize()}: {verdict}; {decided_text(best)}. {counts}."
    return Conclusion(comparison.verdict, sentence, (("Links", counts),))


def _front(comparison: Comparison, ranked: Sequence[Row], line: str) -> Front:
    """Make the first page of a comparison: the best links, parts to buy, changes and doubts."""
    case, best = comparison.usecase, ranked[0]
    rows = []
    for row in ranked[:MOST_NUMBERS]:
        verdict = row.decisive.verdict
        estimate, requirement = verdict.estimate, verdict.requirement
        rows.append(
            (
                name_cell(link_name(row), verdict.requirement.name),
                Cell(
                    decided_text(row).partition(" (")[0],
                    note=interval(requirement.metric, estimate),
                ),
                Cell(limit_text(verdict)),
                Cell(margin_text(verdict) or "unknown"),
                Cell(basis_text(row.source.basis), note=row.source.ground),
                Cell("", outcome=row.outcome),
            )
        )
    columns = ("link, decided by", "value", "limit", "margin", "based on", "verdict")
    caption = "The best links first, each with its deciding requirement. Below each value is its 90 % interval"
    more = max(len(ranked) - MOST_NUMBERS, 0)

    answers = best.source.result.answers
    deciding = [one for one in answers if one.stream == best.decisive.stream]
    cores = ", ".join(f"{one.stream} {one.scenario.cores or 'as benchmarked'}" for one in answers)
    buy = [("link", f"{link_name(best)}, the first in the list")]
    buy.append(("interfaces", interfaces_text(case, best.source.result, link_name(best))))
    buy += [("cores at each end", shortened(cores, MOST_SENTENCE)), ("cost", COST)]

    grounds = Counter(row.source.ground for row in ranked)
    doubts = []
    if best.source.ground != MEASURED_HERE:
        doubts.append(
            f"{link_name(best)} is based on {best.source.ground} numbers: {source_name(best.source)}."
        )
    if weak := grounds[EXTRAPOLATED]:
        doubts.append(
            f"Extrapolated from another line rate: {plural(weak, 'link')} of {len(ranked)}."
        )
    if alone := grounds[THEORY]:
        doubts.append(f"By theory alone, without hosts: {plural(alone, 'link')} of {len(ranked)}.")
    doubts += [f"{link_name(best)}: {note}" for note in best.source.notes]
    doubts += [f"The use case: {one}" for one in case.known_limits]
    doubts.append("Other hosts than those of the datasets may behave differently.")
    change = [f"A measurement: {one}." for one in measurements(comparison)]
    if comparison.verdict == MET:
        clause = margin_clause(best.decisive.title, margin_text(best.decisive.verdict))
        change.insert(0, f"{clause} on {link_name(best)}.")
    change.append(f"“{best.decisive.title}” decides {link_name(best)}: {decided_text(best)}.")
    return Front(
        numbers=Table(caption, columns, tuple(rows), numbers=("value", "limit")),
        more=f"{plural(more, 'more link')} under All links." if more else "",
        parts=parts(deciding[0]) if deciding else None,
        picture=_map(comparison),
        change=sentences(change, MOST_CHANGES),
        buy=tuple(buy),
        doubts=sentences(doubts, MOST_DOUBTS),
        repeat=repeat(line, {}, "", comparison.file),
    )


def _map(comparison: Comparison) -> Figure:
    """Plot all links by protocol and line rate; colour and shape show the verdict."""
    points = [
        {
            "link": _kind(row),
            "rate": rate_text(row),
            "verdict": row.outcome,
            "said": f"{link_name(row)}: {outcome_text(row.outcome)}, {row.source.ground}",
        }
        for row in comparison.rows
        if row.link.line_rate_bps is not None
    ]
    rates = sorted({str(point["rate"]) for point in points}, key=float)
    used = [outcome for outcome in OUTCOMES if any(p["verdict"] == outcome for p in points)]
    rate_axis = {"title": "line rate [Gb/s]", "labelAngle": 0, "grid": True}
    axes = {
        "x": {"field": "rate", "type": "ordinal", "sort": rates, "axis": rate_axis},
        "y": {
            "field": "link",
            "type": "nominal",
            "sort": None,
            "axis": {"title": None, "grid": True},
        },
    }
    spec = point_plot(
        points,
        axes,
        nominal_channels("verdict", used, color=TONES, shape=SHAPES),
        padding={"left": 24, "right": 5, "top": 5, "bottom": 8},
        height={"step": 15},
    )
    cells = tuple((Cell(str(p["said"])),) for p in points)
    numbers = Table("Verdicts of the plot", ("link",), cells)
    title = "Verdict of each link"
    return Figure(
        title,
        f"{title}, by protocol and line rate.",
        f"{title}: {headline(comparison)[1]}",
        spec,
        numbers,
    )


# --- links as text ----------------------------------------------------------------------------


def rate_text(row: Row) -> str:
    """Return the line rate of a link [Gb/s] as text."""
    rate = row.link.line_rate_bps
    return NOT_STATED if rate is None else f"{rate / 1e9:.3g}"


def protocol_text(row: Row) -> str:
    """Return the protocol of a link as text: ``tcp``, or ``tcp +2`` if its dataset has two other protocols."""
    if row.link.protocol:
        return row.link.protocol
    first, *more = row.source.protocols
    return f"{first} +{len(more)}" if more else first


def decided_text(row: Row) -> str:
    """Return the requirement that decides the verdict on a link as text: metric, predicted value and required limit.

    If the value is unknown, the text shows a finite end of its interval: ``≤ 20 ms``. The text of an undecided link
    ends with the number of other undecided requirements: ``+2``.
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
    """Return the texts of one link in the comparison table, in the order of `COLUMNS`."""
    return (
        NAMES[row.link.kind],
        rate_text(row),
        protocol_text(row),
        outcome_text(row.outcome),
        row.source.ground,
        decided_text(row),
    )


def link_table(best_first: Sequence[Ranked]) -> Table:
    """Return a table of the ranked links: verdict, class, deciding value and interval.

    The class is ``carries``, ``hosts open``, ``hosts fail`` or ``impossible``; see `icmodel.interconnects.result`.
    """
    verdict, decided, rows = COLUMNS.index("verdict"), len(COLUMNS) - 1, []
    for one in best_first:
        texts, decisive = row_cells(one.row), one.row.decisive.verdict
        span = interval(decisive.requirement.metric, decisive.estimate)
        cells = list(map(Cell, texts))
        cells[verdict] = Cell("", outcome=one.row.outcome, note=one.kind)
        cells[decided] = Cell(texts[decided], note=span)
        rows.append(tuple(cells))
    caption = "The best interconnects first. Below each value is its 90 % interval"
    return Table(caption, COLUMNS, tuple(rows), NUMBERS)


def why(one: Ranked) -> Iterator[str]:
    """Yield a sentence that explains the class of a ranked link (such as ``hosts open``), then the verdict's reasons."""
    yield f"{one.sentence}."
    yield from reasons(one.row)


def headline(comparison: Comparison) -> tuple[str, ...]:
    """Return two lines: the question of the use case, and the number of links by verdict."""
    case = comparison.usecase
    counts = [f"{sum(row.outcome == one for row in comparison.rows)} {one}" for one in OUTCOMES]
    return (
        f"{case.title}: {case.question}",
        f"{len(comparison.rows)} links: {', '.join(counts)}",
    )


def measurements(comparison: Comparison) -> tuple[str, ...]:
    """Return the measurements that would decide the undecided links.

    Links with equal measurements share one line.
    """
    undecided = group_by_key((row.measurements, row) for row in comparison.rows if row.measurements)
    lines = []
    for needed, rows in undecided.items():
        rates = group_by_key((_kind(row), rate_text(row)) for row in rows)
        links = "; ".join(f"{kind} {', '.join(some)} Gb/s" for kind, some in rates.items())
        lines.append(f"{links}: {'; '.join(needed)}")
    return tuple(lines)


def _kind(row: Row) -> str:
    """Return the kind and the protocol of a link: ``Ethernet tcp``."""
    return " ".join(part for part in (NAMES[row.link.kind], row.link.protocol) if part)


def link_name(row: Row) -> str:
    """Return the name of a link: ``Ethernet tcp 10 Gb/s``."""
    rate = "of unknown rate" if row.link.line_rate_bps is None else f"{rate_text(row)} Gb/s"
    return f"{_kind(row)} {rate}"


# --- why --------------------------------------------------------------------------------------


def reasons(row: Row) -> Iterator[str]:
    """Yield the reasons for the verdict on a link, as sentences.

    The first sentences are on the source (a dataset, or theory alone) that decides the verdict: the outcome of each
    requirement. The other sources, the datasets without an answer and the notes follow.
    """
    yield f"answered by {source_name(row.source)}: {row.source.result.description}"
    for finding in row.source.result.findings:
        yield f"{SIGNS[finding.outcome]} {_finding(finding)}"
    for one in row.source.result.derivations:
        if one.quantity == "interfaces":
            yield f"{one.name} = {one.text}: {one.formula}"
    for source in row.others:
        decided = _finding(source.decisive)
        yield f"not used: {source_name(source)}, {source.outcome}: {decided}"
    for name, why in row.silent:
        yield f"no answer: {name}: {why}"
    yield from (f"note: {note}" for note in row.source.notes)


def source_name(source: Source) -> str:
    """Return the name of a source as text: ``ethernet-10g-2012 (published, corrected)`` or ``theory alone``.

    In parentheses are the kind of evidence (such as published measurements) and the variant of the model.
    """
    if source.ground == THEORY:
        return "theory alone"
    notes = [source.ground, source.variant]
    if source.ground == EXTRAPOLATED and source.measured_bps is not None:
        notes.append(f"measured at {units.format_bps(source.measured_bps, 3)}")
    return f"{source.dataset} ({', '.join(notes)})"


def _finding(finding: Finding) -> str:
    """Return a judged requirement as text: value, limit and reason."""
    return "; ".join(part for part in (finding_text(finding), finding.verdict.why) if part)

"""Render reports as plain text for a terminal; make the text that ``icmodel evaluate`` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import singledispatch

from icmodel import __version__
from icmodel.estimate import (
    WIDTH,
    estimated,
    interval,
    limit_name,
    metric_name,
    plural,
    quantity,
    wrapped,
)
from icmodel.report.blocks import (
    Bars,
    Block,
    Cell,
    Facts,
    Figures,
    Fold,
    Heading,
    Items,
    Page,
    Picture,
    Section,
    Table,
    Text,
)
from icmodel.report.verdicts import (
    conclude,
    finding_basis,
    finding_text,
    headroom_text,
    limit_text,
    margin_text,
)
from icmodel.requirement import MET, NOT_MET, SIGNS, outcome_text
from icmodel.table import GAP, padded
from icmodel.usecase import Answer, Evaluation, Finding

READINGS = "alternative readings, not counted"
STRICT = "Judged strictly: a requirement counts as undecided if it is met on assumed or extrapolated rows."


def evaluation_text(evaluation: Evaluation, *, why: bool = False, width: int = WIDTH) -> str:
    """Return an evaluation as text: the verdict, and a line for each requirement.

    The line of a failed requirement names a sufficient change. The line of an undecided requirement names a
    measurement that would decide it.

    Parameters
    ----------
    why : bool
        Also print the basis of each verdict, derivations, predictions, reasons and known limits.
    width : int
        Maximum number of characters in a line.

    Examples
    --------
    >>> import icmodel
    >>> text = evaluation_text(icmodel.evaluate("imaging", "ethernet-10g-2012"))
    >>> print(text.splitlines()[2])
    Based on ethernet-10g-2012, variant corrected, candidate original.
    """
    case, data, name = evaluation.usecase, evaluation.data, evaluation.chosen.name
    limits = {data.id: data.known_limits, case.name: case.known_limits}
    limits = {whose: sentences for whose, sentences in limits.items() if sentences}
    page = Page(
        title=case.title,
        question=case.question,
        basis=f"{data.id}, variant {evaluation.variant}, candidate {name}",
        answer=conclude(evaluation),
        sections=tuple(_why(evaluation, limits) if why else _short(evaluation, limits)),
        made_by=f"icmodel {__version__}",
    )
    return page_text(page, width)


Limits = dict[str, tuple[str, ...]]
"""Name of a dataset or use case -> its known limits."""


def _short(evaluation: Evaluation, limits: Limits) -> Iterator[Section]:
    """Yield the short text of an evaluation as one section: a line for each requirement, then notes."""
    chosen = evaluation.chosen
    blocks: list[Block] = [Text(STRICT)] if evaluation.strict else []
    blocks.append(_findings("", chosen.findings, _judged))
    if chosen.readings:
        blocks.append(_findings(READINGS, chosen.readings, _judged))
    facts = [
        ("refused", f"{answer.stream}: {answer.why}")
        for answer in chosen.answers
        if answer.prediction is None
    ]
    beyond = Counter(one.others_beyond for one in chosen.findings if one.others_beyond)
    for text, count in beyond.items():
        facts.append(("note", f"{text} of {plural(count, 'requirement')}"))
    facts += [("note", note) for note in evaluation.notes]
    questions = []
    for answer in chosen.answers:
        asked = answer.scenario
        rate = (
            quantity("rate_fps", asked.rate_fps) if asked.rate_fps is not None else "unlimited rate"
        )
        cores = plural(asked.cores, "core") if asked.cores is not None else "cores as benchmarked"
        size = f"{asked.payload_bytes} B a frame"
        questions.append(f"{answer.stream}: {asked.protocol}, {size}, {rate}, {cores}")
    facts.append(("asked", "; ".join(questions)))
    if len(evaluation.candidates) > 1:
        others = (f"{SIGNS[one.outcome]} {one.name}" for one in evaluation.candidates)
        facts.append(("candidates", ", ".join(others)))
    counted = ", ".join(f"{len(sentences)} of {whose}" for whose, sentences in limits.items())
    more = "--why shows them, and the basis of each verdict"
    facts.append(("known limits", f"{counted}: {more}"))
    yield Section("", "", (*blocks, Facts(tuple(facts))))


def _why(evaluation: Evaluation, limits: Limits) -> Iterator[Section]:
    """Yield the sections of the full text of an evaluation (option ``--why``).

    They are requirements, derived numbers, predictions, notes and known limits.
    """
    chosen = evaluation.chosen
    if evaluation.strict:
        yield Section("", "", (Text(STRICT),))
    yield Section("", "Requirements", (_findings("", chosen.findings, _explained),))
    if chosen.readings:
        yield Section("", READINGS, (_findings("", chosen.readings, _explained),))
    derived = tuple(
        (Cell(one.name), Cell(one.text), Cell(one.formula))
        for one in (*evaluation.derivations, *chosen.derivations)
    )
    yield Section("", "Derived", (Table("", ("", "", ""), derived),))
    for answer in chosen.answers:
        yield Section("", f"Predicted: {answer.stream}", tuple(_predicted(answer)))
    if len(evaluation.candidates) > 1:
        rows = tuple(
            (Cell("", outcome=one.outcome), Cell(one.name)) for one in evaluation.candidates
        )
        yield Section("", "Candidates", (Table("", ("", ""), rows),))
    if evaluation.notes:
        yield Section("", "Notes", (Items("", evaluation.notes),))
    for whose, sentences in limits.items():
        yield Section("", f"Known limits of {whose}", (Items("", sentences),))


def _findings(
    caption: str, findings: Iterable[Finding], parts_of: Callable[[Finding], Iterable[str]]
) -> Table:
    """Return a table with a row for each judged requirement: its verdict, and a text.

    The text consists of the parts that ``parts_of`` returns, with semicolons between them; equal parts appear once.
    """
    rows = tuple(
        (
            Cell("", outcome=finding.outcome),
            Cell("; ".join(dict.fromkeys(part for part in parts_of(finding) if part))),
        )
        for finding in findings
    )
    return Table(caption, ("", ""), rows)


def _judged(finding: Finding) -> Iterator[str]:
    """Yield the parts of the short text on a judged requirement: its value and its limit.

    If the requirement is undecided or not met, its margin follows. The last part is then a measurement that would
    decide, or a sufficient change.
    """
    yield finding_text(finding)
    if finding.outcome != MET:
        ground = finding.rests_on
        yield margin_text(finding.verdict)
        if finding.outcome == NOT_MET:
            yield finding.remedy
        elif ground.weak:  # a stream without a prediction is explained once, below the requirements
            yield ground.settle


def _explained(finding: Finding) -> Iterator[str]:
    """Yield the parts of the long text on a judged requirement: value, basis, limit, margins, remedy and reasons."""
    verdict = finding.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    span, value = interval(metric, estimate), estimated(metric, estimate)
    shown = span if finding.grows else f"{value} ({span})" if span else value
    yield f"{finding.title}: {metric_name(metric)} {shown}"
    yield finding_basis(finding)
    yield limit_text(verdict)
    yield headroom_text(finding)
    yield margin_text(verdict)
    yield f"limited by {by}" if (by := limit_name(verdict.limiting)) else ""
    yield finding.remedy
    yield finding.others_beyond
    yield verdict.why
    yield finding.rests_on.settle


def _predicted(answer: Answer) -> Iterator[Block]:
    """Yield blocks on the prediction of a stream: metrics, goodput bounds, latency terms, and notes."""
    prediction = answer.prediction
    if prediction is None:
        yield Text(f"no prediction: {answer.why}")
        return
    rows = tuple(
        (
            Cell(metric_name(name)),
            Cell(estimated(name, estimate)),
            Cell(interval(name, estimate)),
            Cell(estimate.basis),
        )
        for name, estimate in prediction.metrics.items()
        if not estimate.absent
    )
    yield Table("", ("", "", "", ""), rows)
    bounds = ", ".join(f"{k} {quantity('goodput_bps', v)}" for k, v in prediction.bounds.items())
    terms = " + ".join(f"{k} {quantity('latency_mean_s', v)}" for k, v in prediction.terms.items())
    reasons = (("goodput is the least of", bounds), ("mean latency is", terms))
    notes = (("note", note) for note in answer.notes)
    yield Facts((*(pair for pair in reasons if pair[1]), *notes))


# --- rendering of a page ----------------------------------------------------------------------

LEAST_ROOM = 20
"""Least width for the text after the start of a line [characters]. If less width is left, the line is not wrapped."""

Line = tuple[str, str]
"""Line of a text page: its start (such as ``- ``) and its text. A wrapped text has a hanging indent."""


def page_text(content: Page, width: int = WIDTH) -> str:
    """Render a report page as text: question, answer, and sections, each indented below its title.

    Parameters
    ----------
    width : int
        Maximum number of characters in a line.
    """
    answer = content.answer
    lines = [
        ("", f"{content.title}: {content.question}"),
        ("", f"Based on {content.basis}."),
        ("", ""),
        (f"{outcome_text(answer.outcome)}{GAP}", answer.sentence),
    ]
    for section in content.sections:
        indent = GAP if section.title else ""
        lines += [("", ""), (section.title, "")] if section.title else [("", "")]
        lines += [
            (f"{indent}{start}", text) for block in section.blocks for start, text in show(block)
        ]
    return _printed(lines, width)


def blocks_text(blocks: Iterable[Block], width: int = WIDTH) -> str:
    """Render blocks of a report as text, one below the other.

    Examples
    --------
    >>> from icmodel.report.blocks import Cell, Facts, Table
    >>> rows = ((Cell("goodput"), Cell("9.4 Gb/s")), (Cell("mean latency"), Cell("113 µs")))
    >>> table = Table("Predicted", ("metric", "value"), rows, numbers=("value",))
    >>> print(blocks_text([table, Facts((("limited by", "the request"),))]), end="")
    Predicted
    metric           value
    goodput       9.4 Gb/s
    mean latency    113 µs
    limited by: the request
    """
    return _printed([line for block in blocks for line in show(block)], width)


def _printed(lines: Iterable[Line], width: int) -> str:
    """Wrap lines to a width. Each control character becomes ``�``, so no text can control the terminal."""
    printed = []
    for start, text in lines:
        parts = [f"{start}{text}"]
        if len(start) <= width - LEAST_ROOM:
            parts = wrapped(text, start, " " * len(start), width) or [start]
        for part in parts:
            printed.append("".join(char if char.isprintable() else "�" for char in part.rstrip()))
    return "\n".join(printed) + "\n"


@singledispatch
def show(block: Block) -> Iterator[Line]:
    """Render one block of a report as lines of text."""
    raise TypeError(f"a page cannot contain a block of type {type(block).__name__}")


@show.register
def _text(block: Text) -> Iterator[Line]:
    yield "", block.text


@show.register
def _heading(block: Heading) -> Iterator[Line]:
    outcome = f"{outcome_text(block.outcome)}{GAP}" if block.outcome else ""
    yield outcome, f"{block.text}{f' ({block.note})' if block.note else ''}"


@show.register
def _items(block: Items) -> Iterator[Line]:
    if block.title:
        yield "", f"{block.title}:"
    for item in block.items:
        yield "- ", item


@show.register
def _facts(block: Facts) -> Iterator[Line]:
    for name, text in block.pairs:
        yield f"{name}: ", text


@show.register
def _fold(block: Fold) -> Iterator[Line]:
    yield from show(Heading(block.title, block.outcome))
    for inside in block.blocks:
        for start, text in show(inside):
            yield f"{GAP}{start}", text


@show.register
def _table(block: Table) -> Iterator[Line]:
    """Render a table as text. Spaces align the columns; the last column is wrapped."""

    def cell_text(cell: Cell) -> str:
        outcome = outcome_text(cell.outcome) if cell.outcome else ""
        note = f"({cell.note})" if cell.note else ""
        return " ".join(part for part in (cell.text, cell.name, outcome, note) if part)

    grid = [tuple(map(cell_text, row)) for row in block.rows]
    if any(block.columns):
        grid.insert(0, block.columns)
    if block.caption:
        yield block.caption, ""
    for row, cells in zip(grid, padded(grid, block.numeric), strict=True):
        last = cells[-1] if block.numeric[-1] else row[-1]
        yield "".join(f"{cell}{GAP}" for cell in cells[:-1]), last


@show.register
def _bars(block: Bars) -> Iterator[Line]:
    rows = tuple((Cell(bar.name), Cell(bar.text), Cell(bar.mark)) for bar in block.bars)
    yield from show(Table(block.caption, ("", "", ""), rows))


@show.register
def _figures(block: Figures) -> Iterator[Line]:
    for figure in block.figures:
        yield "", figure.caption
        yield from show(figure.numbers)


@show.register
def _picture(block: Picture) -> Iterator[Line]:
    yield "", block.alt
    yield "", block.caption

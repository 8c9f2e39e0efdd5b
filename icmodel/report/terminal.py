"""Text that ``icmodel evaluate`` prints: a short page, or a full page with ``--why``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from icmodel import __version__
from icmodel.estimate import (
    WIDTH,
    estimated,
    interval,
    limit_name,
    metric_name,
    plural,
    quantity,
)
from icmodel.report.blocks import Block, Cell, Facts, Items, Page, Section, Table, Text
from icmodel.report.text import page_text
from icmodel.report.verdicts import (
    conclude,
    finding_rests,
    finding_text,
    headroom_text,
    limit_text,
    margin_text,
)
from icmodel.requirement import MET, NOT_MET, SIGNS
from icmodel.usecase import Answer, Evaluation, Finding

READINGS = "read another way, which decides nothing"
STRICT = "Judged strictly: what is met on assumed or extrapolated rows is undecided."


def evaluation_text(evaluation: Evaluation, *, why: bool = False, width: int = WIDTH) -> str:
    """Return an evaluation as text: the verdict, and a line for each requirement.

    For a requirement that is not met, the line names a change that would meet it. For an undecided one, it names a
    measurement that would decide it.

    Parameters
    ----------
    why : bool
        Also print the basis of each verdict, derivations, predictions, reasons and known limits.
    width : int
        Greatest number of characters of a line.

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
    """Yield the short page as one section: a line for each requirement, then notes."""
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
    """Yield the sections of the full page: requirements, derived numbers, predictions, notes and known limits."""
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
    caption: str, findings: Iterable[Finding], told: Callable[[Finding], Iterable[str]]
) -> Table:
    """Return a table of judged requirements: the verdict, and the joined texts that ``told`` yields."""
    rows = tuple(
        (
            Cell("", outcome=finding.outcome),
            Cell("; ".join(dict.fromkeys(part for part in told(finding) if part))),
        )
        for finding in findings
    )
    return Table(caption, ("", ""), rows)


def _judged(finding: Finding) -> Iterator[str]:
    """Yield the parts of the short text on a judged requirement.

    The value and its limit come first. The margin follows if the requirement is undecided or not met. The last part is
    a change that would meet the requirement, or a measurement that would decide it.
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
    """Yield the parts of the long text on a judged requirement, from its value to remedies and reasons."""
    verdict = finding.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    span, value = interval(metric, estimate), estimated(metric, estimate)
    shown = span if finding.grows else f"{value} ({span})" if span else value
    yield f"{finding.title}: {metric_name(metric)} {shown}"
    yield finding_rests(finding)
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

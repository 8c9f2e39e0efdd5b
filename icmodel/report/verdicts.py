"""The verdicts of a report: the candidates side by side, then each by itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from icmodel.grouping import together
from icmodel.report.blocks import Block, Cell, Facts, Fold, Gauge, Heading, Items, Table, Text
from icmodel.report.conclusion import (
    finding_rests,
    headroom_text,
    limit_text,
    margin_text,
)
from icmodel.report.required import about, derivation_table
from icmodel.requirement import OUTCOMES, Verdict
from icmodel.usecase import CandidateResult, Evaluation, Finding, Wish
from icmodel.wording import estimated, interval, limit_name, metric_name, quantity

JUDGED = "judged here"


def verdicts(evaluation: Evaluation) -> Iterator[Block]:
    """The candidates side by side, the judged one in full, the others folded."""
    if len(evaluation.candidates) > 1:
        yield _overview(evaluation)
    chosen = evaluation.chosen
    yield Heading(chosen.name, chosen.outcome, note=JUDGED)
    yield from _judged(chosen)
    for candidate in evaluation.candidates:
        if candidate is not chosen:
            yield Fold(candidate.name, tuple(_judged(candidate)), outcome=candidate.outcome)


def _judged(candidate: CandidateResult) -> Iterator[Block]:
    if candidate.description:
        yield Text(candidate.description)
    yield Table(
        f"Requirements of {candidate.name}",
        ("requirement", "#predicted", "#limit", "margin", "verdict"),
        tuple(_finding(finding) for finding in candidate.findings),
    )
    if candidate.readings:
        yield Table(
            f"{candidate.name} read another way, which decides nothing",
            ("reading", "#predicted", "#limit", "margin", "verdict"),
            tuple(_finding(reading) for reading in candidate.readings),
        )
    if reasons := tuple(_whys(candidate)):
        yield Items("How these were judged", reasons)
    if changes := tuple(_remedies(candidate)):
        yield Items("What would do", changes)
    if needed := tuple(_settling(candidate)):
        yield Items("What would settle these", needed)
    if candidate.derivations:
        yield derivation_table(f"What {candidate.name} needs", candidate.derivations)
    if candidate.wishes:
        yield Text("Wanted as small as possible, without a limit:")
        yield Facts(tuple(_wish(wish) for wish in candidate.wishes))


def _overview(evaluation: Evaluation) -> Table:
    rows = []
    for one in evaluation.candidates:
        counts = Counter(finding.outcome for finding in one.findings)
        said = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
        verdict = one.decisive.verdict
        margin = margin_text(verdict) or "margin unknown"
        rows.append(
            (
                Cell(one.name, note=JUDGED if one is evaluation.chosen else ""),
                Cell(one.decisive.title, note=margin),
                Cell(said),
                Cell("", outcome=one.outcome),
            )
        )
    columns = ("candidate", "decided by", "requirements", "verdict")
    return Table("The candidates", columns, tuple(rows))


def _finding(finding: Finding) -> tuple[Cell, ...]:
    verdict = finding.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    span = interval(metric, estimate)
    value = estimated(metric, estimate)
    by = limit_name(verdict.limiting)
    parts = (headroom_text(finding), f"limited by {by}" if by else "")
    limiting = "; ".join(part for part in parts if part)
    return (
        Cell(verdict.requirement.name, note=f"{metric_name(metric)} of {about(finding)}"),
        Cell(span) if finding.grows else Cell(value, note=span),
        Cell(limit_text(verdict)),
        Cell(margin_text(verdict) or "unknown", note=limiting, gauge=gauge(verdict)),
        Cell("", note=finding_rests(finding), outcome=verdict.outcome),
    )


def gauge(verdict: Verdict) -> Gauge | None:
    """The interval and the limit as shares of a width; none if no interval is known.

    An interval without an upper end extends to the edge.
    """
    requirement, estimate = verdict.requirement, verdict.estimate
    ends = (estimate.low, estimate.high)
    if any(math.isnan(end) for end in ends) or not requirement.limit:
        return None
    finite = [end for end in (*ends, requirement.limit) if math.isfinite(end)]
    width = (1.15 if math.isfinite(estimate.high) else 1.6) * max(finite)
    return Gauge(
        limit=requirement.limit / width,
        low=estimate.low / width,
        high=min(estimate.high / width, 1.0),
        value=None if estimate.absent else estimate.value / width,
        at_least=requirement.at_least is not None,
    )


def _whys(candidate: CandidateResult) -> Iterator[str]:
    """Reasons of the judged estimates, requirements with the same reason together."""
    reasons = (
        (why, finding.title)
        for finding in (*candidate.findings, *candidate.readings)
        for why in (finding.verdict.why, finding.others_beyond)
        if why
    )
    for why, names in together(reasons).items():
        yield f"{'; '.join(names)}: {why}"


def _remedies(candidate: CandidateResult) -> Iterator[str]:
    for finding in candidate.findings:
        if finding.remedy:
            yield f"{finding.title}: {finding.remedy}"


def _settling(candidate: CandidateResult) -> Iterator[str]:
    """Measurements that would replace assumptions, requirements with the same measurement together."""
    needs = (
        (finding.rests_on.settle, finding.title)
        for finding in candidate.findings
        if finding.rests_on.settle
    )
    for settle, names in together(needs).items():
        yield f"{settle}: {'; '.join(names)}"


def _wish(wish: Wish) -> tuple[str, str]:
    value = "unknown" if math.isnan(wish.value) else quantity(wish.metric, wish.value)
    return f"{metric_name(wish.metric)}: {wish.stream}", value

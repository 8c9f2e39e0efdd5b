"""The verdicts of a report: the candidates side by side, then each by itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from icmodel.documents import group_by_key
from icmodel.estimate import (
    GROWS,
    estimated,
    interval,
    limit_name,
    metric_name,
    percent,
    plural,
    quantity,
    weakest,
)
from icmodel.report.blocks import (
    Block,
    Cell,
    Conclusion,
    Facts,
    Fold,
    Gauge,
    Heading,
    Items,
    Table,
    Text,
)
from icmodel.requirement import MET, NOT_MET, OUTCOMES, Verdict
from icmodel.usecase import CandidateResult, Derivation, Evaluation, Finding, Objective

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
    if candidate.objectives:
        yield Text("Wanted as small as possible, without a limit:")
        yield Facts(tuple(_wish(wish) for wish in candidate.objectives))


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
    """Reasons of the judged estimates, requirements with the same reason group_by_key."""
    reasons = (
        (why, finding.title)
        for finding in (*candidate.findings, *candidate.readings)
        for why in (finding.verdict.why, finding.others_beyond)
        if why
    )
    for why, names in group_by_key(reasons).items():
        yield f"{'; '.join(names)}: {why}"


def _remedies(candidate: CandidateResult) -> Iterator[str]:
    for finding in candidate.findings:
        if finding.remedy:
            yield f"{finding.title}: {finding.remedy}"


def _settling(candidate: CandidateResult) -> Iterator[str]:
    """Measurements that would replace assumptions, requirements with the same measurement group_by_key."""
    needs = (
        (finding.rests_on.settle, finding.title)
        for finding in candidate.findings
        if finding.rests_on.settle
    )
    for settle, names in group_by_key(needs).items():
        yield f"{settle}: {'; '.join(names)}"


def _wish(wish: Objective) -> tuple[str, str]:
    value = "unknown" if math.isnan(wish.value) else quantity(wish.metric, wish.value)
    return f"{metric_name(wish.metric)}: {wish.stream}", value


def conclude(evaluation: Evaluation) -> Conclusion:
    """The answer to the use case's question on a dataset."""
    chosen = evaluation.chosen
    decided = chosen.decisive
    verdict = decided.verdict
    change = least_change(evaluation)
    parts = (
        ("Candidate", chosen.name),
        ("Decided by", decided.title),
        ("Margin", margin_text(verdict)),
        ("Limited by", limit_name(verdict.limiting)),
        ("Rests on", rests_text(chosen)),
        ("To settle it", settling(chosen)),
        ("What would do", change),
    )
    reason = f"{_count(chosen)} “{decided.title}”: {_reason(decided)}"
    on = f", {rested}" if (rested := rests_text(chosen)) else ""
    sentence = f"{chosen.outcome.capitalize()}{on}: {reason}{f'; {change}' if change else ''}."
    return Conclusion(chosen.outcome, sentence, tuple(part for part in parts if part[1]))


def _count(candidate: CandidateResult) -> str:
    number = sum(one.outcome == candidate.outcome for one in candidate.findings)
    of = f"{number} of {plural(len(candidate.findings), 'requirement')}"
    if candidate.outcome == MET:
        said, which = f"meets its {plural(number, 'requirement')}", "most narrowly"
    elif candidate.outcome == NOT_MET:
        said, which = f"misses {of}", "worst"
    else:
        said, which = f"leaves {of} open", "first"
    return f"{candidate.name} {said},{f' {which}' if number > 1 else ''}"


def _weakest(candidate: CandidateResult) -> list[Finding]:
    """Those findings with the outcome that have the weakest basis; none if nothing was predicted.

    Latencies that grow without limit follow from the goodput, which stands for them.
    """
    decided = [
        one for one in candidate.findings if one.outcome == candidate.outcome and not one.grows
    ]
    bases = [one.rests_on.basis for one in decided if one.rests_on.basis]
    return [one for one in decided if bases and one.rests_on.basis == weakest(bases)]


def rests_text(candidate: CandidateResult) -> str:
    """The basis of the requirements that decide the outcome: ``on assumed receiving CPU (R19)``.

    It is the weakest basis among those with that outcome, with the metrics that have it.
    """
    weak = _weakest(candidate)
    if not weak:
        return ""
    names = dict.fromkeys(metric_name(one.verdict.requirement.metric) for one in weak)
    rules = ", ".join(dict.fromkeys(one.rests_on.rule for one in weak if one.rests_on.rule))
    told = f"on {weak[0].rests_on.basis} {' and '.join(names)}"
    return f"{told} ({rules})" if rules else told


def finding_text(finding: Finding) -> str:
    """``it arrives in time: 113 µs (85 – 141 µs, assumed), at most 17 ms``."""
    wanted, estimate = finding.verdict.requirement, finding.verdict.estimate
    rests = (interval(wanted.metric, estimate), finding.rests_on.basis)
    known = ", ".join(part for part in rests if part)
    if finding.grows:
        return f"{finding.title}: {GROWS}, {limit_text(finding.verdict)}"
    value = f"{estimated(wanted.metric, estimate)}{f' ({known})' if known else ''}"
    return f"{finding.title}: {value}, {limit_text(finding.verdict)}"


def finding_rests(finding: Finding) -> str:
    """``on assumed rows (R19)``; empty where nothing was predicted."""
    ground = finding.rests_on
    if not ground.basis:
        return ""
    return f"on {ground.basis} rows{f' ({ground.rule})' if ground.rule else ''}"


def settling(candidate: CandidateResult) -> str:
    """The measurement that would decide the weakest of the deciding requirements; the first of several."""
    return next((one.rests_on.settle for one in _weakest(candidate)), "")


def headroom_text(finding: Finding) -> str:
    """By how much the capacity exceeds what is needed, if the margin is one of capacity."""
    if finding.asked_margin is None:
        return ""
    if not finding.asked_margin:
        return "just what is needed is asked for"
    return f"{percent(finding.asked_margin)} more than needed is asked for"


def _reason(finding: Finding) -> str:
    """Why the deciding requirement came out as it did."""
    verdict = finding.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    name, needed = metric_name(metric), f"where {limit_text(verdict)} is needed"
    span = interval(metric, estimate)
    if verdict.outcome in (MET, NOT_MET) and not estimate.absent:
        by = f", limited by {by}" if (by := limit_name(verdict.limiting)) else ""
        value = estimated(metric, estimate)
        asked = f", {more}" if (more := headroom_text(finding)) else ""
        return f"{name} is {value} {needed}{asked}, {margin_text(verdict)}{by}"
    if span:
        within = "" if span.startswith(("at least", "about")) else "within "
        by = (
            f", {margin}" if verdict.outcome == NOT_MET and (margin := margin_text(verdict)) else ""
        )
        return f"{name} is {within}{span} {needed}{by}"
    return verdict.why or f"no {name} is known"


def margin_text(verdict: Verdict) -> str:
    """The margin as text: ``0.74 % short``, ``5.1 % to spare``; empty if unknown."""
    margin, requirement = verdict.margin, verdict.requirement
    if math.isnan(margin):
        return ""
    if not margin:
        return "just met"
    size = percent(abs(margin))
    if not requirement.limit:
        size = quantity(requirement.metric, abs(margin), 2)
    if margin > 0:
        return f"{size} to spare"
    if requirement.at_least is not None:
        return f"{size} short"
    return (
        f"{1 - margin:.3g} times the limit" if requirement.limit and margin < -1 else f"{size} over"
    )


def limit_text(verdict: Verdict) -> str:
    """``at least 3.538944 Gb/s``."""
    requirement = verdict.requirement
    side = "at least" if requirement.at_least is not None else "at most"
    return f"{side} {quantity(requirement.metric, requirement.limit)}"


def least_change(evaluation: Evaluation) -> str:
    """The least known change that meets the deciding requirement, and that for all."""
    chosen = evaluation.chosen
    if chosen.outcome == MET:
        return ""
    others = [one.name for one in evaluation.candidates if one.outcome == MET]
    found = f"the candidate {others[0]} meets every requirement" if others else ""
    return "; ".join(part for part in (chosen.decisive.remedy, found) if part)


def required(evaluation: Evaluation) -> Iterator[Block]:
    """The requirements, and every number that follows from the use case alone."""
    findings = evaluation.chosen.findings
    yield Table(
        "What must hold",
        ("requirement", "of", "limit", "kind", "source"),
        tuple(_requirement(finding) for finding in findings),
    )
    yield derivation_table("How the limits follow from the use case", evaluation.derivations)


def _requirement(finding: Finding) -> tuple[Cell, ...]:
    wanted = finding.verdict.requirement
    return (
        Cell(wanted.name),
        Cell(metric_name(wanted.metric), note=about(finding)),
        Cell(limit_text(finding.verdict)),
        Cell(wanted.kind),
        Cell(wanted.source),
    )


def about(finding: Finding) -> str:
    """The stream or device of a requirement."""
    if finding.device:
        return f"{finding.device}, {plural(finding.streams, 'stream')} {finding.stream}"
    return finding.stream


def derivation_table(caption: str, derivations: Iterable[Derivation]) -> Table:
    """Derived numbers with their formulas."""
    rows = tuple(
        (Cell(one.meaning, name=one.name), Cell(one.formula), Cell(one.text)) for one in derivations
    )
    return Table(caption, ("number", "formula", "#value"), rows)

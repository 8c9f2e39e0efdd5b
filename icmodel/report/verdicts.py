"""Verdicts in the report of an evaluation: conclusion, tables of candidates and requirements, texts on requirements."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from icmodel import units
from icmodel.documents import group_by_key
from icmodel.estimate import (
    EXTRAPOLATED,
    GROWS,
    Estimate,
    UsedRow,
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
JUST_MET = "just met"
MULTIPLE_ABOVE = 10.0
"""Relative margin above which a report shows a multiple of the limit in place of a percentage."""


# --- the conclusion ---------------------------------------------------------------------------


def conclude(evaluation: Evaluation) -> Conclusion:
    """Return the conclusion of an evaluation: a sentence, and the same facts as pairs of name and text.

    The facts are, for example, the candidate, the deciding requirement, its margin, the bottleneck and the basis.
    """
    chosen = evaluation.chosen
    decided = chosen.decisive
    rested, change = weakest_basis_text(chosen), least_change(evaluation)
    alike = sum(finding.outcome == chosen.outcome for finding in chosen.findings)
    of = f"{alike} of {plural(len(chosen.findings), 'requirement')}"
    counted, rank = {
        MET: (f"meets its {plural(alike, 'requirement')}", "most narrowly"),
        NOT_MET: (f"misses {of}", "worst"),
    }.get(chosen.outcome, (f"leaves {of} open", "first"))
    sentence = (
        f"{chosen.outcome.capitalize()}{f', {rested}' if rested else ''}: "
        f"{chosen.name} {counted},{f' {rank}' if alike > 1 else ''} “{decided.title}”: "
        f"{_reason(decided)}{f'; {change}' if change else ''}."
    )
    parts = (
        ("Candidate", chosen.name),
        ("Decided by", decided.title),
        ("Margin", margin_text(decided.verdict)),
        ("Limited by", limit_name(decided.verdict.limiting)),
        ("Based on", rested),
        ("To settle it", settling_measurement(chosen)),
        ("What would do", change),
    )
    return Conclusion(chosen.outcome, sentence, tuple(part for part in parts if part[1]))


def _reason(finding: Finding) -> str:
    """Return a text on the deciding requirement: its value and limit, or the reason why the value is unknown."""
    verdict = finding.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    name, span, margin = metric_name(metric), interval(metric, estimate), margin_text(verdict)
    needed = f"where {limit_text(verdict)} is needed"
    if verdict.outcome in (MET, NOT_MET) and not estimate.absent:
        parts = [
            f"{name} is {estimated(metric, estimate)} {needed}",
            headroom_text(finding),
            margin,
        ]
        parts.append(f"limited by {by}" if (by := limit_name(verdict.limiting)) else "")
    elif span:
        within = "" if span.startswith(("at least", "about")) else "within "
        parts = [f"{name} is {within}{span} {needed}"]
        parts.append(margin if verdict.outcome == NOT_MET else "")
    else:
        parts = [verdict.why or f"no {name} is known"]
    return ", ".join(part for part in parts if part)


def _weakest(candidate: CandidateResult) -> list[Finding]:
    """Return the deciding findings with the weakest basis (kind of evidence); none if nothing was predicted.

    A finding is a verdict on a requirement. Deciding findings have the same outcome as the candidate as a whole.
    Latencies that grow without limit are left out, since a missed goodput is their cause.
    """
    decided = [
        finding
        for finding in candidate.findings
        if finding.outcome == candidate.outcome and not finding.grows
    ]
    bases = [finding.rests_on.basis for finding in decided if finding.rests_on.basis]
    return [finding for finding in decided if bases and finding.rests_on.basis == weakest(bases)]


def weakest_basis_text(candidate: CandidateResult) -> str:
    """Return the weakest evidence on which a candidate's verdict rests, as text: ``on assumed receiving CPU (R19)``.

    In this example, the dataset's receiving CPU load was not measured but assumed, by rule R19 of the dataset's README.
    The text is empty if nothing was predicted.
    """
    weak = _weakest(candidate)
    if not weak:
        return ""
    names = dict.fromkeys(metric_name(one.verdict.requirement.metric) for one in weak)
    rules = ", ".join(dict.fromkeys(one.rests_on.rule for one in weak if one.rests_on.rule))
    text = f"on {weak[0].rests_on.basis} {' and '.join(names)}"
    return f"{text} ({rules})" if rules else text


def settling_measurement(candidate: CandidateResult) -> str:
    """Return the measurement that would confirm or change a candidate's verdict; empty if there is none.

    It would measure the numbers with the weakest basis (kind of evidence) among the deciding requirements.
    """
    return next((finding.rests_on.settle for finding in _weakest(candidate)), "")


def least_change(evaluation: Evaluation) -> str:
    """Return as text the least change that would meet the deciding requirement; empty if all requirements are met.

    If another candidate meets every requirement, the text also names this candidate.
    """
    chosen = evaluation.chosen
    if chosen.outcome == MET:
        return ""
    better = [one.name for one in evaluation.candidates if one.outcome == MET]
    candidate = f"the candidate {better[0]} meets every requirement" if better else ""
    return "; ".join(part for part in (chosen.decisive.remedy, candidate) if part)


# --- the sections -----------------------------------------------------------------------------


def verdicts(evaluation: Evaluation) -> Iterator[Block]:
    """Yield blocks on the verdicts: a table of candidates, the chosen candidate, and the others collapsed."""
    chosen = evaluation.chosen
    if len(evaluation.candidates) > 1:
        rows = []
        for candidate in evaluation.candidates:
            decisive = candidate.decisive
            margin = margin_text(decisive.verdict) or "margin unknown"
            counts = Counter(finding.outcome for finding in candidate.findings)
            counted = (f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
            rows.append(
                (
                    Cell(candidate.name, note=JUDGED if candidate is chosen else ""),
                    Cell(decisive.title, note=margin),
                    Cell(", ".join(counted)),
                    Cell("", outcome=candidate.outcome),
                )
            )
        columns = ("candidate", "decided by", "requirements", "verdict")
        yield Table("The candidates", columns, tuple(rows))
    yield Heading(chosen.name, chosen.outcome, note=JUDGED)
    yield from _judged(chosen)
    for candidate in evaluation.candidates:
        if candidate is not chosen:
            yield Fold(candidate.name, tuple(_judged(candidate)), outcome=candidate.outcome)


def _judged(candidate: CandidateResult) -> Iterator[Block]:
    """Yield blocks on one candidate: requirements, reasons, remedies, measurements and derived numbers."""
    if candidate.description:
        yield Text(candidate.description)
    yield _findings(f"Requirements of {candidate.name}", "requirement", candidate.findings)
    if candidate.readings:
        caption = f"Alternative readings of {candidate.name}, not counted"
        yield _findings(caption, "reading", candidate.readings)

    reasons = group_by_key(
        (why, finding.title)
        for finding in (*candidate.findings, *candidate.readings)
        for why in (finding.verdict.why, finding.others_beyond)
        if why
    )
    remedies = [(one.title, one.remedy) for one in candidate.findings if one.remedy]
    measurements = group_by_key(
        (one.rests_on.settle, one.title) for one in candidate.findings if one.rests_on.settle
    )
    lists = (
        ("Notes on these verdicts", [f"{'; '.join(of)}: {why}" for why, of in reasons.items()]),
        (
            "Changes that would meet a requirement",
            [f"{title}: {remedy}" for title, remedy in remedies],
        ),
        (
            "Measurements that would decide",
            [f"{settle}: {'; '.join(of)}" for settle, of in measurements.items()],
        ),
    )
    for title, items in lists:
        if items:
            yield Items(title, tuple(items))

    if candidate.derivations:
        yield derivation_table(f"Needs of {candidate.name}", candidate.derivations)
    if candidate.objectives:
        yield Text("Objectives: as small as possible, without a limit.")
        known = {one.stream: one.prediction.metrics for one in candidate.answers if one.prediction}
        yield Facts(
            tuple(
                (f"{metric_name(one.metric)}: {one.stream}", _minimised(one, known))
                for one in candidate.objectives
            )
        )


def _minimised(one: Objective, known: Mapping[str, Mapping[str, Estimate]]) -> str:
    """Return the value of an objective (metric to minimise) as text, with its interval and basis."""
    if math.isnan(one.value):
        return "unknown"
    estimate = known.get(one.stream, {}).get(one.metric)
    if estimate is None or estimate.value != one.value:
        return quantity(one.metric, one.value)
    span = ", ".join(filter(None, (interval(one.metric, estimate), estimate.basis)))
    return f"{estimated(one.metric, estimate)} ({span})"


def _findings(caption: str, first_column: str, findings: Iterable[Finding]) -> Table:
    """Make a table of judged requirements, or of their alternative readings.

    An alternative reading is another interpretation of a requirement; it does not count for the verdict. A row has
    name, predicted value, limit, margin and verdict. ``first_column`` is the heading of the names.
    """
    rows = []
    for finding in findings:
        verdict = finding.verdict
        metric, estimate = verdict.requirement.metric, verdict.estimate
        span = interval(metric, estimate)
        by = limit_name(verdict.limiting)
        notes = (headroom_text(finding), f"limited by {by}" if by else "")
        rows.append(
            (
                Cell(verdict.requirement.name, note=f"{metric_name(metric)} of {about(finding)}"),
                Cell(span) if finding.grows else Cell(estimated(metric, estimate), note=span),
                Cell(limit_text(verdict)),
                Cell(
                    margin_text(verdict) or "unknown",
                    note="; ".join(note for note in notes if note),
                    gauge=gauge(verdict),
                ),
                Cell("", note=finding_basis(finding), outcome=verdict.outcome),
            )
        )
    columns = (first_column, "predicted", "limit", "margin", "verdict")
    return Table(caption, columns, tuple(rows), numbers=("predicted", "limit"))


def gauge(verdict: Verdict) -> Gauge | None:
    """Make a gauge (bar in a table cell) of an interval and its limit.

    An interval without an upper end extends to the edge of the bar. Returns None if no interval is known, or the limit
    is 0.
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


def required(evaluation: Evaluation) -> Iterator[Block]:
    """Yield a table of the requirements, and a table of the numbers derived from the use case alone."""
    rows = []
    for finding in evaluation.chosen.findings:
        requirement = finding.verdict.requirement
        rows.append(
            (
                Cell(requirement.name),
                Cell(metric_name(requirement.metric), note=about(finding)),
                Cell(limit_text(finding.verdict)),
                Cell(requirement.kind),
                Cell(requirement.source),
            )
        )
    yield Table("Requirements", ("requirement", "of", "limit", "kind", "source"), tuple(rows))
    yield derivation_table("Derivation of the limits from the use case", evaluation.derivations)


def derivation_table(caption: str, derivations: Iterable[Derivation]) -> Table:
    """Make a table of derived numbers with their formulas."""
    rows = tuple(
        (Cell(one.meaning, name=one.name), Cell(one.formula), Cell(one.text)) for one in derivations
    )
    return Table(caption, ("number", "formula", "value"), rows, numbers=("value",))


# --- texts of a requirement -------------------------------------------------------------------


def finding_text(finding: Finding) -> str:
    """Return a judged requirement as text: ``it arrives in time: 113 µs (85 – 141 µs, assumed), at most 17 ms``."""
    verdict = finding.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    if finding.grows:
        return f"{finding.title}: {GROWS}, {limit_text(verdict)}"
    notes = ", ".join(filter(None, (interval(metric, estimate), finding.rests_on.basis)))
    value = f"{estimated(metric, estimate)}{f' ({notes})' if notes else ''}"
    return f"{finding.title}: {value}, {limit_text(verdict)}"


def finding_basis(finding: Finding) -> str:
    """Return the basis of a verdict as text, such as ``on assumed rows (R19)``; empty if nothing was predicted.

    R19 is the name of a rule in the README of the dataset, by which its author assumed these rows.
    """
    ground = finding.rests_on
    if not ground.basis:
        return ""
    return f"on {ground.basis} rows{f' ({ground.rule})' if ground.rule else ''}"


def headroom_text(finding: Finding) -> str:
    """Return as text by how much the requested goodput exceeds the needed goodput; empty if this is unknown."""
    if finding.asked_margin is None:
        return ""
    if not finding.asked_margin:
        return "the request is exactly the need"
    return f"the request exceeds the need by {percent(finding.asked_margin)}"


def margin_text(verdict: Verdict) -> str:
    """Return the margin of a verdict as text: ``0.74 % short``, ``5.1 % to spare``; empty if unknown."""
    margin, requirement = verdict.margin, verdict.requirement
    if math.isnan(margin):
        return ""
    if not margin:
        return JUST_MET
    size = percent(abs(margin))
    if not requirement.limit:
        size = quantity(requirement.metric, abs(margin), 2)
    if requirement.at_least and margin > MULTIPLE_ABOVE:
        return f"room for {units.format_count(1 + margin, 3)} times as much"
    if margin > 0:
        return f"{size} to spare"
    if requirement.at_least is not None:
        return f"{size} short"
    if requirement.limit and margin < -1:
        return f"{1 - margin:.3g} times the limit"
    return f"{size} over"


def margin_clause(title: str, margin: str) -> str:
    """Return a clause with the title and the margin of a met requirement.

    Examples
    --------
    >>> margin_clause("it arrives in time", "5.1 % to spare"), margin_clause("it arrives", JUST_MET)
    ('“it arrives in time” has 5.1 % to spare', '“it arrives” is just met')
    """
    if margin == JUST_MET:
        return f"“{title}” is {JUST_MET}"
    return f"“{title}” has {margin or 'an unknown margin'}"


def limit_text(verdict: Verdict) -> str:
    """Return the limit of a verdict as text: ``at least 3.538944 Gb/s``."""
    requirement = verdict.requirement
    side = "at least" if requirement.at_least is not None else "at most"
    return f"{side} {quantity(requirement.metric, requirement.limit)}"


def about(finding: Finding) -> str:
    """Return the stream or device of a judged requirement as text."""
    if finding.device:
        return f"{finding.device}, {plural(finding.streams, 'stream')} {finding.stream}"
    return finding.stream


def ground_text(datasets: Iterable[str], states_devices: bool) -> str:
    """Return a text that names the evidence behind an answer, such as "theory and stated times of devices".

    Parameters
    ----------
    datasets : iterable of str
        Names of the datasets behind the answer; if there are none, the evidence is theory.
    states_devices : bool
        Whether the system file states times of devices.
    """
    named = ", ".join(datasets)
    if states_devices:
        return f"{named or 'theory'} and stated times of devices"
    return named or "theory alone"


# --- rows behind the predictions of a candidate -----------------------------------------------


def used_rows(candidates: Iterable[CandidateResult]) -> tuple[UsedRow, ...]:
    """Return the dataset rows behind the predictions of some candidates, each once, in the dataset's order."""
    used = {
        row.line: row
        for candidate in candidates
        for answer in candidate.answers
        if answer.prediction is not None
        for row in answer.prediction.rows
    }
    return tuple(used[line] for line in sorted(used))


def beyond_data(candidate: CandidateResult) -> Iterator[str]:
    """Yield a sentence for each reason why predictions of a candidate are extrapolated, with the affected metrics."""
    for answer in candidate.answers:
        metrics = {} if answer.prediction is None else answer.prediction.metrics
        reasons = group_by_key(
            (estimate.why or EXTRAPOLATED, metric_name(name))
            for name, estimate in metrics.items()
            if estimate.basis == EXTRAPOLATED
        )
        for why, names in reasons.items():
            yield f"{answer.stream}: {why} ({'; '.join(names)})"

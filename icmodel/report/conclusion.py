"""The conclusion of an evaluation in one sentence: verdict, margin, bottleneck, least change."""

from __future__ import annotations

import math

from icmodel.estimate import weakest
from icmodel.report.blocks import Conclusion
from icmodel.requirement import MET, NOT_MET, Verdict
from icmodel.usecase import CandidateResult, Evaluation, Finding
from icmodel.wording import (
    GROWS,
    estimated,
    interval,
    limit_name,
    metric_name,
    percent,
    plural,
    quantity,
)


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

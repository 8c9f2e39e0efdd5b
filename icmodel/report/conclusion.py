"""The conclusion of an evaluation in one sentence: verdict, margin, what limits, what would do."""

from __future__ import annotations

import math

from icmodel.report.blocks import Conclusion
from icmodel.report.words import interval, limit_name, metric_name, percent, plural, quantity
from icmodel.requirement import MET, NOT_MET, Verdict
from icmodel.usecase import CandidateResult, Evaluation, Finding


def conclude(evaluation: Evaluation) -> Conclusion:
    """The answer to the use case's question on a dataset."""
    chosen = evaluation.chosen
    verdict = decisive(chosen).verdict
    change = least_change(evaluation)
    parts = (
        ("Candidate", chosen.name),
        ("Decided by", verdict.requirement.name),
        ("Margin", margin_text(verdict)),
        ("Limited by", limit_name(verdict.limiting)),
        ("What would do", change),
    )
    reason = f"{_count(chosen)} “{verdict.requirement.name}”: {_reason(verdict)}"
    sentence = f"{chosen.outcome.capitalize()}: {reason}{f'; {change}' if change else ''}."
    return Conclusion(chosen.outcome, sentence, tuple(part for part in parts if part[1]))


def decisive(candidate: CandidateResult) -> Finding:
    """The finding that decides: of those with the worst outcome, the one with the least margin."""
    worst = [one for one in candidate.findings if one.outcome == candidate.outcome]
    return min(worst, key=lambda one: _rank(one.verdict))


def _rank(verdict: Verdict) -> float:
    """Margins in order; what cannot be met narrowly, or has no number, comes last."""
    relative = verdict.requirement.limit and not math.isnan(verdict.margin)
    return verdict.margin if relative or verdict.outcome == NOT_MET else math.inf


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


def _reason(verdict: Verdict) -> str:
    """Why the deciding requirement came out as it did."""
    metric, estimate = verdict.requirement.metric, verdict.estimate
    name, needed = metric_name(metric), f"where {limit_text(verdict)} is needed"
    span = interval(metric, estimate)
    if verdict.outcome in (MET, NOT_MET) and not estimate.absent:
        by = f", limited by {by}" if (by := limit_name(verdict.limiting)) else ""
        value = quantity(metric, estimate.value)
        return f"{name} is {value} {needed}, {margin_text(verdict)}{by}"
    if span:
        within = "" if span.startswith(("at least", "about")) else "within "
        by = (
            f", {margin}" if verdict.outcome == NOT_MET and (margin := margin_text(verdict)) else ""
        )
        return f"{name} is {within}{span} {needed}{by}"
    return verdict.why or f"no {name} is known"


def margin_text(verdict: Verdict) -> str:
    """The margin as people say it: ``0.74 % short``, ``5.1 % to spare``; empty if unknown."""
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
    """The least change that is known to do: of the deciding requirement, and of all."""
    chosen = evaluation.chosen
    if chosen.outcome == MET:
        return ""
    others = [one.name for one in evaluation.candidates if one.outcome == MET]
    found = f"the candidate {others[0]} meets every requirement" if others else ""
    return "; ".join(part for part in (decisive(chosen).remedy, found) if part)

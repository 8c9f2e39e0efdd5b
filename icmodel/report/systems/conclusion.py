"""The verdict on a system in one sentence: outcomes, the worst requirement, its margin and basis."""

from __future__ import annotations

import math
from collections import Counter

from icmodel.report.blocks import Conclusion
from icmodel.report.conclusion import limit_text, margin_text
from icmodel.report.systems.seen import NOT_JUDGED, outcomes
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED
from icmodel.system import SystemPrediction
from icmodel.system.network import MESSAGE
from icmodel.system.prediction.result import Judged, by_requirement
from icmodel.wording import compared, interval, limit_name, metric_name, plural, quantity

BOUND_DIGITS = 3


def conclude(found: SystemPrediction) -> Conclusion:
    """The sentence on whether a system meets its requirements."""
    streams = ("Streams", counted_outcomes(found))
    groups = by_requirement(found.judged)
    if not groups:
        sentence = "Undecided: every stream sends as fast as it goes, and nothing is required."
        return Conclusion(found.verdict, sentence, (streams,))
    worst = next(iter(groups.values()))[0]
    verdict = worst.verdict
    named = f"“{verdict.requirement.name}” at {about(worst)}"
    first = "the narrowest is" if found.verdict == MET else "the worst is"
    told = f"{_count(found)}; {first} {named}: {reason(worst)}"
    parts = (
        ("Decided by", verdict.requirement.name),
        ("At", about(worst)),
        ("Margin", margin(worst)),
        ("Limited by", limit_name(verdict.limiting)),
        ("Rests on", _rests(worst)),
        streams,
    )
    sentence = f"{found.verdict.capitalize()}: {told}."
    return Conclusion(found.verdict, sentence, tuple(part for part in parts if part[1]))


def counted_outcomes(found: SystemPrediction) -> str:
    """``6 met, 8 not judged``."""
    counts = Counter(outcomes(found).values())
    return ", ".join(
        f"{counts[kind]} {kind}" for kind in (*OUTCOMES, NOT_JUDGED) if counts.get(kind)
    )


def about(one: Judged) -> str:
    """The stream, or the device, a verdict is about."""
    return one.device or one.stream


def value_text(one: Judged) -> str:
    """The judged value, or else its known end; of a whole message so marked."""
    verdict = one.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    whole = f" (whole {MESSAGE})" if one.of == MESSAGE else ""
    if estimate.absent and verdict.outcome == NOT_MET:
        return "grows without limit"
    if estimate.absent or math.isinf(estimate.high):
        return f"{interval(metric, estimate) or 'unknown'}{whole}"
    if one.by_bound:
        return f"{quantity(metric, estimate.value, BOUND_DIGITS)} (bound)"
    return compared(metric, estimate, verdict.requirement.limit) + whole


def reason(one: Judged) -> str:
    """Why a requirement has its outcome."""
    verdict = one.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    name, span = metric_name(metric), interval(metric, estimate)
    if not span:
        return verdict.why or f"no {name} is known"
    if estimate.low == estimate.high and verdict.outcome != MET and verdict.why:
        return verdict.why  # the number alone does not say it
    needed = f"where {limit_text(verdict)} is needed"
    if verdict.outcome == UNDECIDED:
        within = "" if span.startswith(("at least", "about", "exact")) else "within "
        return f"{name} is {within}{span} {needed}"
    by = f", {text}" if (text := margin(one)) else ""
    return f"{name} is {value_text(one)} {needed}{by}"


def margin(one: Judged) -> str:
    """The margin as text; none if undecided."""
    return "" if one.verdict.outcome == UNDECIDED else margin_text(one.verdict)


def _count(found: SystemPrediction) -> str:
    groups = by_requirement(found.judged)
    alike = sum(some[0].verdict.outcome == found.verdict for some in groups.values())
    verb = "is" if alike == 1 else "are"
    return f"{alike} of {plural(len(groups), 'requirement')} {verb} {found.verdict}"


def _rests(one: Judged) -> str:
    basis = one.verdict.estimate.basis
    if one.by_bound:
        return "a worst-case bound"
    return f"{basis} {metric_name(one.verdict.requirement.metric)}" if basis else ""

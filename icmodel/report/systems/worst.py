"""The worst of several: the numbers of a group of streams, and the deciding requirement."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from icmodel.estimate import Estimate
from icmodel.requirement import OUTCOMES
from icmodel.system import SystemPrediction
from icmodel.system.prediction.result import Judged, StreamPrediction


def by_group(found: SystemPrediction) -> dict[str, list[StreamPrediction]]:
    """The streams of each group, in the file's order."""
    groups: dict[str, list[StreamPrediction]] = {}
    for one in found.streams.values():
        groups.setdefault(one.stream.group, []).append(one)
    return groups


def worst_of(metric: str, some: Iterable[StreamPrediction]) -> Estimate | None:
    """The least goodput, or the greatest of other metrics; none if no stream has a value."""
    told = [one.metrics[metric] for one in some if metric in one.metrics]
    known = [one for one in told if not one.absent]
    if not known:
        return None
    choose: Callable[..., Estimate] = min if metric == "goodput_bps" else max
    return choose(known, key=lambda one: one.value)


def worst_bound(some: Sequence[StreamPrediction]) -> StreamPrediction | None:
    """The stream with the greatest bound on its latency; none where one has no bound."""
    if any(one.latency_bound is None for one in some):
        return None
    return max(some, key=lambda one: one.latency_bound.value_s if one.latency_bound else 0.0)


def by_requirement(judged: Sequence[Judged]) -> Mapping[str, list[Judged]]:
    """Judged values by requirement, the worst first; requirements by their worst value, worst first."""
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(one.verdict.requirement.name, []).append(one)
    ordered = {name: sorted(some, key=badness, reverse=True) for name, some in groups.items()}
    return dict(sorted(ordered.items(), key=lambda pair: badness(pair[1][0]), reverse=True))


def badness(one: Judged) -> tuple[int, float]:
    """Sort key, greater is worse: the outcome, then the margin; without a margin worst."""
    margin = one.verdict.margin
    return OUTCOMES.index(one.verdict.outcome), math.inf if math.isnan(margin) else -margin

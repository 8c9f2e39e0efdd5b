"""Choice: which variant predicts left-out rows of a dataset best, to answer by default."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from icmodel.dataset import Dataset
from icmodel.validate.folds import LEAST_ROWS, counts, scored
from icmodel.validate.scores import Outcome, by_metric
from icmodel.validate.validation import LEAVE_ONE, Wishes, validate

USUAL, OTHER = "corrected", "hybrid"
"""Without a reason the first; `appendix-h` is there to be compared with, not to be chosen."""
MOST_FOLDS, FEWEST_FOLDS = 12, 8
AT_MOST_ROWS = 2_400
"""Rows times folds that a choice takes at most, but for the fewest folds: large datasets fit slowly."""
LEAST_ANSWERS = 6
"""Left-out rows of a metric that both variants answer; of fewer a median says little."""
TIE = 0.95
"""A ratio of errors closer to 1 than this is a tie; both this and the others here are assumed."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Choice:
    """A variant, and why in a sentence."""

    variant: str
    why: str


def choose(data: Dataset, progress: Progress | None = None) -> Choice:
    """The variant with the smaller errors on left-out rows; ``corrected`` in a tie or of few rows.

    Points are left out one by one, at most 12 of them, drawn evenly.  Of each metric with 30 rows the
    median errors are compared; the ratios' geometric mean over the metrics decides.

    Parameters
    ----------
    progress : callable, optional
        Called after each fold with the folds done and all folds, of both variants.
    """
    metrics = tuple(m for m, n in counts(scored(data)).items() if n >= LEAST_ROWS)
    if not metrics:
        return Choice(
            USUAL,
            f"{USUAL} answers by default: no metric has {LEAST_ROWS} measured or tabulated rows to "
            "compare the variants by",
        )
    most = max(FEWEST_FOLDS, min(MOST_FOLDS, AT_MOST_ROWS // len(data.points)))
    errors = [
        _errors(
            data, variant, Wishes((LEAVE_ONE,), metrics, most=most, worst=0), _part(progress, k)
        )
        for k, variant in enumerate((USUAL, OTHER))
    ]
    ratios = {
        metric: ratio for metric in metrics if (ratio := _ratio(*(e[metric] for e in errors)))
    }
    if not ratios:
        return Choice(
            USUAL,
            f"{USUAL} answers by default: too few left-out points were answered to compare the variants",
        )
    return _by(math.exp(float(np.mean(np.log(list(ratios.values()))))), len(ratios), most)


def _by(ratio: float, metrics: int, most: int) -> Choice:
    variant = OTHER if ratio < TIE else USUAL
    over = "1 metric" if metrics == 1 else f"{metrics} metrics"
    return Choice(
        variant,
        f"{variant} answers by default: median errors of {OTHER} on at most {most} left-out points are "
        f"{ratio:.2f} times those of {USUAL}, the geometric mean over {over}",
    )


def _part(progress: Progress | None, k: int) -> Progress | None:
    """Progress of one variant after another."""
    if progress is None:
        return None
    return lambda done, folds: progress(k * folds + done, 2 * folds)


def _errors(
    data: Dataset, variant: str, wishes: Wishes, progress: Progress | None
) -> Mapping[str, list[float]]:
    """The error at each left-out row of each metric, in one order; NaN where there is no answer."""
    outcomes: list[Outcome] = []
    for trial in validate(data, variant, wishes, progress).trials:
        outcomes += trial.outcomes
    found = {
        metric: [one.error for one in members] for metric, members in by_metric(outcomes).items()
    }
    return {metric: found.get(metric, []) for metric in wishes.metrics}


def _ratio(usual: list[float], other: list[float]) -> float:
    """Median error of the other variant over that of the usual one; 0 where nothing can be said."""
    both = np.array([usual, other])
    both = both[:, ~np.isnan(both).any(axis=0)]
    if both.shape[1] < LEAST_ANSWERS:
        return 0.0
    first, second = np.median(both, axis=1)
    return float(second / first) if first > 0 and second > 0 else 0.0

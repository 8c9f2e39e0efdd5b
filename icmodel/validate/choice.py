"""Choose a dataset's default variant of the model: the variant that predicts left-out rows best."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icmodel.dataset import Dataset
from icmodel.validate.folds import LEAST_ROWS, counts, scored
from icmodel.validate.scores import by_metric
from icmodel.validate.validation import LEAVE_ONE, Wishes, validate

USUAL, OTHER = "corrected", "hybrid"
"""Names of the two variants that are compared; the first wins a tie.

The variant `appendix-h` is only a reference, and is never chosen.
"""
MOST_FOLDS, FEWEST_FOLDS = 12, 8
AT_MOST_ROWS = 2_400
"""Limit on rows × folds in the comparison of variants, since large datasets fit slowly.

At least ``FEWEST_FOLDS`` folds are used, even beyond this limit.
"""
LEAST_ANSWERS = 6
"""Least number of left-out rows of a metric that both variants must predict, since a median of fewer is unreliable."""
TIE = 0.95
"""Error ratio below which ``hybrid`` is chosen: its errors divided by those of ``corrected``.

This ratio and the four limits above are assumed.
"""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Choice:
    """Chosen default variant of the model, and the reason as a sentence."""

    variant: str
    why: str


def choose(data: Dataset, progress: Progress | None = None) -> Choice:
    """Choose the variant of the model with the smaller errors on left-out rows.

    At most 12 random points are left out, one at a time. For each metric with at least 30 rows, the median errors of
    both variants are compared as a ratio; the geometric mean of the ratios decides. If the variants are tied, or there
    are too few rows, ``corrected`` is chosen.

    Parameters
    ----------
    progress : callable, optional
        Called after each fold with the number of finished folds and the total number, over both variants.
    """
    metrics = tuple(m for m, n in counts(scored(data)).items() if n >= LEAST_ROWS)
    if not metrics:
        return Choice(
            USUAL,
            f"{USUAL} answers by default: no metric has {LEAST_ROWS} measured or tabulated rows to "
            "compare the variants by",
        )
    most = max(FEWEST_FOLDS, min(MOST_FOLDS, AT_MOST_ROWS // len(data.points)))
    wishes = Wishes((LEAVE_ONE,), metrics, most=most, worst=0)

    # Errors of both variants by metric, in the same order of rows; NaN if a row cannot be predicted.
    errors: list[dict[str, list[float]]] = []
    for variant in (USUAL, OTHER):

        def half_done(done: int, folds: int, variants_done: int = len(errors)) -> None:
            if progress is not None:
                progress(variants_done * folds + done, 2 * folds)

        trials = validate(data, variant, wishes, half_done).trials
        outcomes = by_metric([one for trial in trials for one in trial.outcomes])
        errors.append({metric: [one.error for one in some] for metric, some in outcomes.items()})
    ratios = {
        metric: ratio
        for metric in metrics
        if (ratio := _ratio(*(found.get(metric, []) for found in errors)))
    }
    if not ratios:
        return Choice(
            USUAL,
            f"{USUAL} answers by default: too few left-out points were answered to compare the variants",
        )
    ratio = math.exp(float(np.mean(np.log(list(ratios.values())))))
    variant = OTHER if ratio < TIE else USUAL
    over = "1 metric" if len(ratios) == 1 else f"{len(ratios)} metrics"
    return Choice(
        variant,
        f"{variant} answers by default: median errors of {OTHER} on at most {most} left-out points are "
        f"{ratio:.2f} times those of {USUAL}, the geometric mean over {over}",
    )


def _ratio(usual: list[float], other: list[float]) -> float:
    """Return the median error of the ``other`` variant, divided by that of the ``usual`` one.

    The result is 0 (no comparison) if both variants predicted too few rows, or if a median is 0.
    """
    both = np.array([usual, other])
    both = both[:, ~np.isnan(both).any(axis=0)]
    if both.shape[1] < LEAST_ANSWERS:
        return 0.0
    first, second = np.median(both, axis=1)
    return float(second / first) if first > 0 and second > 0 else 0.0

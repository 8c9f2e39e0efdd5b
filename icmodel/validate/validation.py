"""Validate a variant of the model on a dataset, for each kind of fold, and choose the default variant."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from icmodel.dataset import Dataset, Point
from icmodel.dataset.rows import Noise, Repeats, noise, repeats
from icmodel.documents import group_by_key
from icmodel.errors import DatasetError, ScenarioError
from icmodel.model import Model
from icmodel.validate.folds import (
    LEAST_ROWS,
    Fold,
    Folds,
    Key,
    answers,
    counts,
    held_out,
    is_scored,
    leave_a_break_out,
    leave_a_curve_out,
    leave_break_sizes_out,
    leave_one_out,
    next_to_break,
    point_key,
    runs_of,
    scored,
)
from icmodel.validate.scores import (
    Outcome,
    Score,
    by_metric,
    outcome,
    partition,
    regions,
    score,
    worst,
)
from icmodel.workers import Work, pool

LEAVE_ONE, LEAVE_CURVE, LEAVE_BREAK, LEAVE_SIZES, HELD_OUT = (
    "leave-one-out",
    "leave-a-curve-out",
    "leave-a-break-out",
    "leave-break-sizes-out",
    "held-out",
)
KINDS = (LEAVE_ONE, LEAVE_CURVE, LEAVE_BREAK, LEAVE_SIZES, HELD_OUT)
WHY_NO_FOLDS = {
    LEAVE_CURVE: "it has one curve along the payload",
    LEAVE_BREAK: "no curve has points on both sides of a break",
    LEAVE_SIZES: "no curve has points on both sides of a break",
    HELD_OUT: "it has no held-out runs of these metrics",
}
"""Reason why a dataset may have no folds of a kind, by kind."""
FOLDS = Work("validation", "fold")
Progress = Callable[[int, int], None]
"""Type of a progress function: called with the number of folds done so far, and the total number."""


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """Options of a validation.

    Parameters
    ----------
    kinds : tuple of str
        Kinds of folds.
    metrics : tuple of str
        Metrics to score; empty for all metrics. Only metrics with at least 30 rows are scored.
    breaks_bytes : tuple of int, optional
        Packet breaks: the greatest payloads [B] before a frame needs one more packet. By default one break for each
        curve, as `next_to_break` finds it.
    most : int, optional
        Greatest number of folds of a kind.
    worst : int
        Number of points with the greatest errors to list for each metric.
    runs : Dataset, optional
        Another dataset, whose held-out runs are tested in place of those of the validated dataset.
    """

    kinds: tuple[str, ...] = KINDS
    metrics: tuple[str, ...] = ()
    breaks_bytes: tuple[int, ...] | None = None
    most: int | None = None
    worst: int = 5
    runs: Dataset | None = None


@dataclass(frozen=True, slots=True)
class Tested:
    """Result for one metric and one kind of fold: its score, and the test rows with the greatest errors.

    A fold is a split into training and test rows. ``regions`` has the score of each region (part of the test rows, such
    as those of one protocol).
    """

    score: Score
    regions: Mapping[str, Score]
    worst: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """Result for one kind of fold, a split into training and test rows.

    It has the number of folds, the results by metric, and the outcome of every test row.
    """

    kind: str
    folds: int
    metrics: Mapping[str, Tested]
    outcomes: tuple[Outcome, ...]

    def __repr__(self) -> str:
        return f"Trial({self.kind!r}, {self.folds} folds of {', '.join(self.metrics)})"


@dataclass(frozen=True, slots=True)
class Validation:
    """Result of validating one variant of the model on one dataset.

    Parameters
    ----------
    trials : tuple of Trial
        Results by kind of fold.
    too_few : mapping
        Number of rows of each metric with fewer than 30 rows; these metrics are not scored.
    noise : mapping
        Scatter between the repeated runs behind one row of points.csv, by metric.
    repeats : mapping
        Scatter between held-out runs at the same point, by metric; empty if no held-out runs were tested.
    options : ValidationOptions
        Options of the validation.
    """

    data: Dataset
    variant: str
    trials: tuple[Trial, ...]
    too_few: Mapping[str, int]
    noise: Mapping[str, Noise]
    repeats: Mapping[str, Repeats] = field(default_factory=dict)
    options: ValidationOptions = field(default_factory=ValidationOptions)

    def __repr__(self) -> str:
        return f"Validation({self.data.id!r}, variant={self.variant!r}, {len(self.trials)} trials)"


def validate(
    data: Dataset,
    variant: str | None = None,
    options: ValidationOptions | None = None,
    progress: Progress | None = None,
    *,
    workers: int | None = None,
    client: Any = None,
) -> Validation:
    """Score a variant of the model on rows to which it was not fitted.

    Parameters
    ----------
    variant : str, optional
        Variant to validate; by default the dataset's default variant.
    options : ValidationOptions, optional
        Options of the validation; by default all kinds of folds and all metrics.
    progress : callable, optional
        Called after each fold with the number of finished folds and the total number.
    workers : int, optional
        Number of worker processes that answer the folds; by default, this process answers them.
    client : distributed.Client, optional
        Client of a Dask cluster whose workers answer the folds, in place of ``workers``.

    Raises
    ------
    ScenarioError
        If the variant or a kind of fold does not exist.
    DatasetError
        If a requested metric has no scored rows, or no requested kind has a fold.
    ClusterError
        If a worker ends, or has another version of icmodel or of the dataset.
    """
    asked = options or ValidationOptions()
    model = Model(data, variant)  # raises immediately if the variant does not exist
    known = counts(scored(data))
    _check(data, asked, known)
    rows = {m: known.get(m, 0) for m in data.metrics if m in (asked.metrics or data.metrics)}
    chosen = tuple(metric for metric, n in rows.items() if n >= LEAST_ROWS)
    every = (Plan(kind, data, chosen, asked) for kind in KINDS if kind in asked.kinds)
    plans = {plan.kind: plan for plan in every if len(plan)}
    if chosen and not plans:
        reasons = {kind: WHY_NO_FOLDS[kind] for kind in asked.kinds}
        if not data.held_out and HELD_OUT in reasons:
            reasons[HELD_OUT] = "it has no held-out runs"
        raise DatasetError(
            f"{data.id} has no folds of the kind {' or '.join(reasons)}: "
            f"{', and '.join(dict.fromkeys(reasons.values()))}; choose another kind of folds, such as "
            f"{LEAVE_ONE}, or another dataset"
        )
    total, done = sum(map(len, plans.values())), count(1)

    def one_more() -> None:
        if progress is not None:
            progress(next(done), total)

    near = {
        metric: next_to_break(data, scored(data, metric), asked.breaks_bytes) for metric in chosen
    }
    runs = _runs(data, asked) if HELD_OUT in plans else ()
    trials = []
    with pool(FOLDS, workers, client) as team:
        for kind, plan in plans.items():
            outcomes: list[Outcome] = []
            for found in team.job(tester, plan, model.variant)(range(len(plan))):
                outcomes += found
                one_more()
            trials.append(score_trial(kind, data, outcomes, len(plan), near, asked))
    return Validation(
        data=data,
        variant=model.variant,
        trials=tuple(trials),
        too_few={metric: n for metric, n in rows.items() if n < LEAST_ROWS},
        noise={m: n for m, n in noise(scored(data)).items() if m in chosen},
        repeats=repeats(run for run in runs if is_scored(run) and run.metric in chosen),
        options=asked,
    )


def _check(data: Dataset, asked: ValidationOptions, known: Mapping[str, int]) -> None:
    """Raise an error if a kind of fold does not exist, or a requested metric has no scored rows."""
    for kind in asked.kinds or ("",):
        if kind not in KINDS:
            raise ScenarioError(f"there is no kind of fold {kind!r}: use one of {', '.join(KINDS)}")
    for metric in asked.metrics:
        if metric not in known:
            have = ", ".join(known) or "none"
            raise DatasetError(
                f"{data.id} has no measured or tabulated rows of {metric!r}: it has {have}"
            )


@dataclass(frozen=True)
class Plan:
    """Folds of one kind (splits into training and test rows) for the chosen metrics.

    A plan that is pickled for a worker process omits the folds, since they are large; the worker rebuilds them.
    """

    kind: str
    data: Dataset
    chosen: tuple[str, ...]
    options: ValidationOptions

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __getitem__(self, number: int) -> Fold:
        for folds in self.parts:
            if number < len(folds):
                return folds[number]
            number -= len(folds)
        raise IndexError(number)

    def __reduce__(self) -> tuple[object, ...]:
        return Plan, (self.kind, self.data, self.chosen, self.options)

    @cached_property
    def parts(self) -> Sequence[Folds | tuple[Fold, ...]]:
        """Folds of this kind: one sequence of folds for all metrics together, or one sequence for each metric.

        Kinds that leave out the points next to packet breaks have one sequence for each metric, since these points
        depend on the metric. A packet break is a payload above which a frame needs one more packet. The result is empty
        if there is nothing to leave out.
        """
        data, chosen, options = self.data, self.chosen, self.options
        if not chosen:
            return ()
        if self.kind == LEAVE_ONE:
            return (leave_one_out(data, *chosen, most=options.most),)
        if self.kind == LEAVE_CURVE:
            curves = leave_a_curve_out(data, *chosen, most=options.most)
            return (curves,) if len(curves) > 1 else ()
        if self.kind in (LEAVE_BREAK, LEAVE_SIZES):
            leave = leave_a_break_out if self.kind == LEAVE_BREAK else leave_break_sizes_out
            return tuple(
                leave(data, metric, breaks_bytes=options.breaks_bytes, most=options.most)
                for metric in chosen
            )
        held = held_out(data, _runs(data, options))
        return (held,) if any(p.metric in chosen for fold in held for p in fold.test) else ()


def tester(plan: Plan, variant: str) -> Callable[[int], list[Outcome]]:
    """Make the function that takes the number of a fold, predicts its test rows, and computes the errors."""

    def outcomes(number: int) -> list[Outcome]:
        fold = plan[number]
        predicted = answers(fold, variant, plan.chosen)
        return [
            outcome(fold.name, point, one)
            for point, one in zip(fold.test, predicted, strict=True)
            if point.metric in plan.chosen
        ]

    return outcomes


def _runs(data: Dataset, asked: ValidationOptions) -> tuple[Point, ...]:
    """Return the held-out runs to test: those of the dataset given in the options, or the dataset's own."""
    return data.held_out if asked.runs is None else runs_of(data, asked.runs)


def score_trial(
    kind: str,
    data: Dataset,
    outcomes: Sequence[Outcome],
    folds: int,
    near: Mapping[str, Mapping[Key, Key]],
    asked: ValidationOptions,
) -> Trial:
    """Score the outcomes of one kind of fold: by metric, and by region (part of the points) within each metric.

    A packet break is a payload above which a frame needs one more packet. ``near`` has the keys of the points next to
    packet breaks, by metric. These points form one of the regions.
    """
    trained = {point_key(data, point) for point in scored(data)} if kind == HELD_OUT else None
    division = partition(data, near, trained)
    metrics = {}
    for metric, members in by_metric(outcomes).items():
        parts = group_by_key((name, one) for one in members for name in regions(division, one))
        scores = {name: score(some) for name, some in sorted(parts.items())}
        metrics[metric] = Tested(score(members), scores, tuple(worst(members, asked.worst)))
    return Trial(kind, folds, metrics, tuple(outcomes))


USUAL, OTHER = "corrected", "hybrid"
"""Names of the two variants that are compared; the first wins a tie.

The variant `appendix-h` is only a reference and is never chosen.
"""
MOST_FOLDS, FEWEST_FOLDS = 12, 8
AT_MOST_ROWS = 2_400
"""Limit on rows × folds in the comparison of variants, since large datasets fit slowly.

At least ``FEWEST_FOLDS`` folds are used, even beyond this limit.
"""
LEAST_ANSWERS = 6
"""A metric is compared only if both variants predict at least this many left-out rows; fewer give no stable median."""
TIE = 0.95
"""Error ratio, ``hybrid`` divided by ``corrected``; ``hybrid`` is chosen if the ratio is below this value.

The value is assumed. So are `MOST_FOLDS`, `FEWEST_FOLDS`, `AT_MOST_ROWS` and `LEAST_ANSWERS`.
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """Chosen default variant of the model, and the reason as a sentence."""

    variant: str
    why: str


def choose(data: Dataset, progress: Progress | None = None) -> Choice:
    """Choose the variant of the model with the smaller errors on left-out rows.

    At most `MOST_FOLDS` random points are left out, one at a time. Each metric with at least 30 rows gives a ratio:
    median error of ``hybrid`` / median error of ``corrected``. If the geometric mean of the ratios is below `TIE`,
    ``hybrid`` is chosen. Otherwise, or with too few rows, ``corrected`` is chosen.

    Parameters
    ----------
    progress : callable, optional
        Called after each fold with the number of finished folds and the total number, over both variants.
    """
    metrics = tuple(m for m, n in counts(scored(data)).items() if n >= LEAST_ROWS)
    if not metrics:
        return Choice(
            USUAL,
            f"the default variant is {USUAL}: a comparison of variants needs a metric with {LEAST_ROWS} measured or "
            "tabulated rows",
        )
    most = max(FEWEST_FOLDS, min(MOST_FOLDS, AT_MOST_ROWS // len(data.points)))
    options = ValidationOptions((LEAVE_ONE,), metrics, most=most, worst=0)

    # Errors of both variants by metric, in the same order of rows; NaN if a row cannot be predicted.
    errors: list[dict[str, list[float]]] = []
    for variant in (USUAL, OTHER):

        def half_done(done: int, folds: int, variants_done: int = len(errors)) -> None:
            if progress is not None:
                progress(variants_done * folds + done, 2 * folds)

        trials = validate(data, variant, options, half_done).trials
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
            f"the default variant is {USUAL}: too few left-out points were predicted to compare the variants",
        )
    ratio = math.exp(float(np.mean(np.log(list(ratios.values())))))
    variant = OTHER if ratio < TIE else USUAL
    over = "1 metric" if len(ratios) == 1 else f"{len(ratios)} metrics"
    return Choice(
        variant,
        f"the default variant is {variant}: median errors of {OTHER} are {ratio:.2f} times those of {USUAL} "
        f"(geometric mean over {over}, at most {most} left-out points)",
    )


def _ratio(usual: list[float], other: list[float]) -> float:
    """Return median(``other``) / median(``usual``) of the errors of two variants of the model.

    Only rows that both variants predict are used. The result is 0 (no comparison) if these are too few, or if a median
    is 0.
    """
    both = np.array([usual, other])
    both = both[:, ~np.isnan(both).any(axis=0)]
    if both.shape[1] < LEAST_ANSWERS:
        return 0.0
    first, second = np.median(both, axis=1)
    return float(second / first) if first > 0 and second > 0 else 0.0

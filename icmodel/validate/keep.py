"""The coverage that a validation found, as the file in the dataset's folder that predictions quote."""

from __future__ import annotations

from typing import Any

from icmodel.dataset_coverage import LEAST_ROWS, coverage_text
from icmodel.validate.document import score_document
from icmodel.validate.validation import HELD_OUT, LEAVE_ONE, Trial, Validation

KINDS = (LEAVE_ONE, HELD_OUT)
"""Kinds of folds that resemble a user's question; the others remove whole parts of the grid."""
NUMBERS = ("error", "n", "median", "half_width", "coverage", "coverage_low", "coverage_high", "intervals")  # fmt: skip


def kept(found: Validation) -> str:
    """The text of the dataset's coverage file with the metrics of this validation.

    Metrics with fewer than 30 intervals are left out; entries of other variants are kept.

    Raises
    ------
    DatasetError
        If the present file is damaged.
    """
    data = found.data
    known = {variant: dict(trials) for variant, trials in data.coverage.items()}
    known[found.variant] = known.get(found.variant, {}) | coverages(found)
    return coverage_text(data.sha256, dict(sorted(known.items())))


def coverages(found: Validation) -> dict[str, dict[str, Any]]:
    """Coverage by kind of folds, of the metrics with at least 30 intervals."""
    return {trial.kind: _kept(trial) for trial in found.trials if trial.kind in KINDS}


def _kept(trial: Trial) -> dict[str, Any]:
    scores: dict[str, Any] = {
        metric: score_document(tested.score) for metric, tested in trial.metrics.items()
    }
    return {
        "folds": trial.folds,
        "metrics": {
            metric: {key: _rounded(score[key]) for key in NUMBERS}
            for metric, score in scores.items()
            if score["intervals"] >= LEAST_ROWS
        },
    }


def _rounded(value: object) -> object:
    return float(f"{value:.4g}") if isinstance(value, float) else value

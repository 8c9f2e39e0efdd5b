"""Convert a validation to a JSON document and to CSV records; unknown numbers are ``None``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from icmodel.dataset import AXES, Dataset, Point
from icmodel.dataset.dataset import LEAST_ROWS, coverage_text
from icmodel.documents import json_form, json_of, number_or_none
from icmodel.validate.scores import Outcome, Score
from icmodel.validate.validation import HELD_OUT, LEAVE_ONE, Validation

SCHEMA_VERSION = 1


def document(found: Validation) -> dict[str, object]:
    """Convert a validation to the JSON document that ``icmodel validate --json`` prints."""
    return {
        "schema_version": SCHEMA_VERSION,
        "dataset": {"id": found.data.id, "sha256": found.data.sha256},
        "variant": found.variant,
        "folds": {
            trial.kind: {
                "folds": trial.folds,
                "metrics": {
                    metric: {
                        **score_document(tested.score),
                        "regions": {
                            name: score_document(part) for name, part in tested.regions.items()
                        },
                        "worst": [outcome_document(found.data, one) for one in tested.worst],
                    }
                    for metric, tested in trial.metrics.items()
                },
            }
            for trial in found.trials
        },
        "too_few": dict(found.too_few),
        "noise": json_form(found.noise),
        "held_out_repeats": json_form(found.repeats),
    }


def score_document(score: Score) -> dict[str, object]:
    """Convert the score of one metric to its JSON form.

    The coverage is the share of left-out rows inside their predicted intervals. The share has a 95 % interval of its
    own.
    """
    covered = score.coverage
    known = (None, None, None, 0)
    share, low, high, intervals = (
        known if covered is None else (covered.share, covered.low, covered.high, covered.n)
    )
    return {
        "error": score.kind,
        "n": score.n,
        "points": score.points,
        **json_of(score.errors),
        "half_width": number_or_none(score.half_width),
        "coverage": share,
        "coverage_low": low,
        "coverage_high": high,
        "intervals": intervals,
        "unanswered": score.unanswered,
        "reasons": dict(score.reasons),
    }


def outcome_document(data: Dataset, one: Outcome) -> dict[str, object]:
    """Convert a test row, its prediction and the prediction's error to their JSON form."""
    return {
        **point_document(data, one.point),
        "value": one.point.value,
        "predicted": number_or_none(one.estimate.value),
        "low": number_or_none(one.estimate.low),
        "high": number_or_none(one.estimate.high),
        "basis": one.estimate.basis,
        "error": number_or_none(one.error),
        "covered": one.covered,
        "source": one.point.source,
    }


def point_document(data: Dataset, point: Point) -> dict[str, object]:
    """Convert the axes and options of a row to their JSON form; an unlimited load becomes the text ``inf``."""
    axes: dict[str, object] = {axis: getattr(point, axis) for axis in AXES}
    if point.load_bps == math.inf:
        axes["load_bps"] = "inf"
    return {**axes, "options": data.options_of(point)}


def records(found: Validation) -> Iterator[dict[str, object]]:
    """Yield one CSV record for each test row of a validation, with its prediction."""
    for trial in found.trials:
        for one in trial.outcomes:
            line, options = outcome_document(found.data, one), found.data.options_of(one.point)
            del line["options"]
            yield {
                "folds": trial.kind,
                "metric": one.point.metric,
                **line,
                "options": " ".join(f"{axis}={value}" for axis, value in options.items()),
                "why": one.estimate.why,
            }


def estimates(found: Validation) -> dict[str, object]:
    """Convert all test rows and their predictions to a JSON document, for the export as a workbook (.xlsx).

    It has each estimate by kind of fold, row and metric, and a list of the rows. The workbook's sheets of intervals,
    bases (kinds of evidence) and sources are made from it.
    """
    predicted: dict[str, dict[str, dict[str, object]]] = {}
    rows = []
    for trial in found.trials:
        places = predicted.setdefault(trial.kind, {})
        for one in trial.outcomes:
            point, options = one.point, found.data.options_of(one.point)
            counts = [
                f"{axis} = {value}"
                for axis in AXES
                if (value := getattr(point, axis)) not in (None, "")
            ]
            settings = [f"{axis} = {value}" for axis, value in options.items()]
            where = f"row {point.line}: {', '.join((*counts, *settings))}"
            places[where] = {point.metric: one.estimate.to_dict()}
            rows.append(
                {
                    "line": point.line,
                    "metric": point.metric,
                    "payload_bytes": point.payload_bytes,
                    "load_bps": "inf" if point.load_bps == math.inf else point.load_bps,
                    "value": point.value,
                    "basis": point.basis,
                    "source": point.source,
                }
            )
    return {**predicted, "rows": rows}


KINDS = (LEAVE_ONE, HELD_OUT)
"""Kinds of folds whose test rows resemble a user's questions; other kinds leave out more rows around a test row."""
NUMBERS = ("error", "n", "median", "half_width", "coverage", "coverage_low", "coverage_high", "intervals")  # fmt: skip


def kept(found: Validation) -> str:
    """Return the text of the dataset's coverage file, updated with this validation.

    Metrics with fewer than 30 predicted intervals are left out; entries of other variants are kept.

    Raises
    ------
    DatasetError
        If the existing file is damaged.
    """
    data = found.data
    known = {variant: dict(trials) for variant, trials in data.coverage.items()}
    known[found.variant] = known.get(found.variant, {}) | coverages(found)
    return coverage_text(data.sha256, dict(sorted(known.items())))


def coverages(validation: Validation) -> dict[str, dict[str, Any]]:
    """Return the coverage of the predicted intervals (share that contains the left-out value) by fold kind and metric.

    Metrics with fewer than 30 intervals are left out.
    """
    found = {}
    for trial in validation.trials:
        if trial.kind not in KINDS:
            continue
        metrics = {}
        for metric, tested in trial.metrics.items():
            score = score_document(tested.score)
            if tested.score.coverage is not None and tested.score.coverage.n >= LEAST_ROWS:
                numbers = ((key, score[key]) for key in NUMBERS)
                metrics[metric] = {
                    key: float(f"{number:.4g}") if isinstance(number, float) else number
                    for key, number in numbers
                }
        found[trial.kind] = {"folds": trial.folds, "metrics": metrics}
    return found

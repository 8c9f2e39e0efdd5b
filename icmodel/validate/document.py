"""A validation as a JSON document and as CSV records; unknown numbers are ``None``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from icmodel.dataset import AXES, Dataset, Point
from icmodel.documents import by_field, plain
from icmodel.estimate import number_or_none
from icmodel.validate.scores import Coverage, Outcome, Score
from icmodel.validate.validation import Tested, Validation

SCHEMA_VERSION = 1


def document(found: Validation) -> dict[str, object]:
    """The JSON document of ``icmodel validate --json``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "dataset": {"id": found.data.id, "sha256": found.data.sha256},
        "variant": found.variant,
        "folds": {
            trial.kind: {
                "folds": trial.folds,
                "metrics": {
                    metric: _tested(found.data, tested) for metric, tested in trial.metrics.items()
                },
            }
            for trial in found.trials
        },
        "too_few": dict(found.too_few),
        "noise": plain(found.noise),
        "held_out_repeats": plain(found.repeats),
    }


def _tested(data: Dataset, tested: Tested) -> dict[str, object]:
    return {
        **score_document(tested.score),
        "regions": {name: score_document(part) for name, part in tested.regions.items()},
        "worst": [outcome_document(data, one) for one in tested.worst],
    }


def score_document(score: Score) -> dict[str, object]:
    """One score; coverage is the share of rows inside, with the ends of its own 95 % interval."""
    return {
        "error": score.kind,
        "n": score.n,
        "points": score.points,
        **by_field(score.errors),
        "half_width": number_or_none(score.half_width),
        **_coverage(score.coverage),
        "unanswered": score.unanswered,
        "reasons": dict(score.reasons),
    }


def _coverage(coverage: Coverage | None) -> Mapping[str, object]:
    keys = ("coverage", "coverage_low", "coverage_high", "intervals")
    found: tuple[object, ...] = (None, None, None, 0)
    if coverage is not None:
        found = (coverage.share, coverage.low, coverage.high, coverage.n)
    return dict(zip(keys, found, strict=True))


def outcome_document(data: Dataset, one: Outcome) -> dict[str, object]:
    """One row, the prediction for it, and the prediction's error."""
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
    """The conditions of a row; an unlimited load is the text ``inf``."""
    axes: dict[str, object] = {axis: getattr(point, axis) for axis in AXES}
    if point.load_bps == math.inf:
        axes["load_bps"] = "inf"
    return {**axes, "options": data.options_of(point)}


def records(found: Validation) -> Iterator[dict[str, object]]:
    """One CSV record for each row that was predicted."""
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

"""Predict test rows: convert each row to a scenario, and predict the scenario."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from icmodel.dataset import Dataset, Point
from icmodel.errors import IcmodelError
from icmodel.estimate import Estimate, absent
from icmodel.model import Model
from icmodel.scenario import Options, Scenario
from icmodel.validate.folds import Fold, Key, place

DEFAULT_PAYLOAD_BYTES = 1
"""Payload in the scenario of a row without a payload [B]; such a row has empty frames, or holds for all payloads."""


def question(data: Dataset, point: Point) -> Scenario:
    """Convert a test row to the scenario under which it was measured.

    Raises
    ------
    ScenarioError
        If the row's counts contradict each other.
    """
    load = point.load_bps
    limited = load is not None and math.isfinite(load) and load > 0
    payload = point.payload_bytes or DEFAULT_PAYLOAD_BYTES
    return Scenario(
        protocol=point.protocol,
        payload_bytes=payload,
        rate_fps=load / (8 * payload) if limited and load else None,
        cores=point.cores,
        switches=point.switches or 0,
        endpoints=point.endpoints or 1,
        other_goodput_bps=point.other_goodput_bps or 0.0,
        options=Options(data.options_of(point)),
    )


def answers(
    fold: Fold, variant: str | None = None, metrics: Collection[str] | None = None
) -> tuple[Estimate, ...]:
    """Fit a variant of the model to the training rows of a fold, and predict the test rows.

    The model extrapolates, since a test row at the end of its curve lies outside the training rows. If the model cannot
    predict a row, the estimate is absent and states the reason.

    Parameters
    ----------
    metrics : collection of str, optional
        Metrics to predict, all by default; estimates of other metrics are absent.
    """
    try:
        model = Model(fold.train, variant, cache=False)
    except IcmodelError as error:
        return tuple(absent(str(error)) for _ in fold.test)
    return answers_of(model, fold.train, fold.test, metrics)


def answers_of(
    model: Model, data: Dataset, test: Sequence[Point], metrics: Collection[str] | None = None
) -> tuple[Estimate, ...]:
    """Predict test rows by a fitted model, in the given order; rows of one point share one prediction."""
    known: dict[Key, dict[str, Estimate] | str] = {}
    found = []
    for point in test:
        at = place(data, point)
        if at not in known:
            wanted = None if metrics is None else tuple(m for m in metrics if m in data.metrics)
            try:
                asked = question(data, point)
                made = model.predict(asked, outside="extrapolate", metrics=wanted)
                known[at] = dict(made.metrics)
            except IcmodelError as error:
                known[at] = str(error)
        answer = known[at]
        if isinstance(answer, str):
            found.append(absent(answer))
        else:
            missing = absent(f"the model gives no {point.metric} here")
            found.append(answer.get(point.metric, missing))
    return tuple(found)

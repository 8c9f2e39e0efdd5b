"""Rows as questions: what a model is asked so that it should answer a row."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from icmodel.dataset import Dataset, Point
from icmodel.errors import IcmodelError
from icmodel.estimate import Estimate, absent
from icmodel.model import Model
from icmodel.scenario import Scenario
from icmodel.validate.folds import Fold
from icmodel.validate.places import Key, place

LEAST = 1
"""Payload [B] of a question about a row that says none: it carries no data, or holds for any."""


def question(data: Dataset, point: Point) -> Scenario:
    """The scenario that a row answers.

    Raises
    ------
    ScenarioError
        If the row is none: its counts are impossible together.
    """
    load = point.load_bps
    limited = load is not None and math.isfinite(load) and load > 0
    payload = point.payload_bytes or LEAST
    return Scenario(
        protocol=point.protocol,
        payload_bytes=payload,
        rate_fps=load / (8 * payload) if limited and load else None,
        cores=point.cores,
        switches=point.switches or 0,
        endpoints=point.endpoints or 1,
        other_goodput_bps=point.other_goodput_bps or 0.0,
        options=tuple(
            (axis, value)
            for axis, value in zip(data.option_axes, point.options, strict=True)
            if value
        ),
    )


def answers(
    fold: Fold, variant: str | None = None, metrics: Collection[str] | None = None
) -> tuple[Estimate, ...]:
    """What a variant of the model, fitted to a fold's training rows, answers to its test rows.

    Asked to extrapolate, since a row at the end of its curve lies outside what is left.  What it
    cannot answer is an absent estimate that says why; with ``metrics`` it need not answer others.
    """
    try:
        model = Model(fold.train, variant, cache=False)
    except IcmodelError as error:
        return tuple(absent(str(error)) for _ in fold.test)
    return answers_of(model, fold.train, fold.test, metrics)


def answers_of(
    model: Model, data: Dataset, test: Sequence[Point], metrics: Collection[str] | None = None
) -> tuple[Estimate, ...]:
    """What a model answers to rows; rows of one place are one question."""
    known: dict[Key, dict[str, Estimate] | str] = {}
    found = []
    for point in test:
        at = place(data, point)
        if at not in known:
            known[at] = _predicted(model, data, point, metrics)
        told = known[at]
        if isinstance(told, str):
            found.append(absent(told))
        else:
            missing = absent(f"the model gives no {point.metric} here")
            found.append(told.get(point.metric, missing))
    return tuple(found)


def _predicted(
    model: Model, data: Dataset, point: Point, metrics: Collection[str] | None
) -> dict[str, Estimate] | str:
    """Every metric of a row's place, or why there is none."""
    try:
        asked = question(data, point)
        left = None if metrics is None else tuple(m for m in metrics if m in data.metrics)
        return dict(model.predict(asked, outside="extrapolate", metrics=left).metrics)
    except IcmodelError as error:
        return str(error)

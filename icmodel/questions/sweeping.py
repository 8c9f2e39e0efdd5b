"""Answers to questions over ranges: a grid of predictions, and its JSON document."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from icmodel.dataset import Dataset
from icmodel.documents import json_form
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import BASES, BOTTLENECKS
from icmodel.model import Model
from icmodel.questions.words import Question
from icmodel.scenario import scenario
from icmodel.sweep import grid_of
from icmodel.sweep import sweep as sweep_grid
from icmodel.sweep.files import PARTS

if TYPE_CHECKING:
    import xarray

REPORTED_POINTS = 4096
"""Number of points between two updates of the progress bar."""
Progress = Callable[[int, int], None]


class GridOptions(NamedTuple):
    """Options of a sweep.

    ``metrics`` are the metrics to predict, empty for all. A point outside the measured range is an error, unless one of
    two options is set: ``extrapolate`` predicts such a point, ``allow_gaps`` leaves it without an answer.
    """

    metrics: tuple[str, ...] = ()
    extrapolate: bool = False
    allow_gaps: bool = False


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """Arguments of `icmodel.sweep`. ``metrics`` are the requested metrics, empty for all."""

    ranges: Mapping[str, Any]
    outside: str
    metrics: tuple[str, ...]

    @property
    def wanted(self) -> tuple[str, ...] | None:
        """Columns to predict: requested metrics and the bottleneck; None for all columns."""
        return (*self.metrics, "bottleneck") if self.metrics else None

    def points(self, model: Model) -> int:
        """Count the points of the sweep. Nothing is predicted."""
        return len(grid_of(model, self.ranges, self.outside, self.wanted, intervals=True))


def sweep_request(
    data: Dataset, question: Question, protocols: Sequence[str], grid_options: GridOptions
) -> SweepRequest:
    """Convert a question with ranges to the arguments of a sweep.

    If ``protocols`` is empty, the dataset's default protocol is used.

    Raises
    ------
    ScenarioError
        If the question has no payload, or the options contradict each other.
    """
    if grid_options.extrapolate and grid_options.allow_gaps:
        raise ScenarioError("--extrapolate and --allow-gaps are both given: give only one")
    if question.payload is None:
        raise ScenarioError(
            'the sweep has no payload: add --payload, e.g. --payload "64 B..65535 B"'
        )
    ranges = {
        "options": question.option_values(),
        "protocol": ",".join(protocols) or data.default_protocol,
        **question.texts(),
    }
    outside = (
        "extrapolate"
        if grid_options.extrapolate
        else "nan"
        if grid_options.allow_gaps
        else "refuse"
    )
    return SweepRequest(ranges, outside, grid_options.metrics)


def answer_grid(model: Model, asked: SweepRequest, progress: Progress | None = None) -> Grid:
    """Predict all points of a sweep.

    Raises
    ------
    UnitError, ScenarioError
        If a range cannot be read, or the grid is too large.
    OutOfDomain
        If the dataset cannot answer a point.

    Examples
    --------
    >>> model = Model("ethernet-10g-2012")
    >>> question = Question(payload="64 B, 1448 B", cores="1,4")
    >>> grid = answer_grid(model, sweep_request(model.data, question, [], GridOptions()))
    >>> grid.swept, len(grid_document(grid)["points"])
    (['payload_bytes', 'cores'], 4)
    """
    answers = sweep_grid(
        model, outside=asked.outside, metrics=asked.wanted, progress=progress, **asked.ranges
    )
    return Grid(answers, asked.metrics, notes_of_ends(model, answers, asked.metrics))


def notes_of_ends(
    model: Model, answers: xarray.Dataset, metrics: tuple[str, ...]
) -> tuple[str, ...]:
    """Predict the first and the last point of a sweep, and return the notes on both predictions, each note once."""
    notes: dict[str, None] = {}
    for place in (0, -1):
        point = answers.isel(dict.fromkeys(answers.sizes, place))
        values = {str(name): value.item() for name, value in point.coords.items()}
        asked = {name: None if value == math.inf else value for name, value in values.items()}
        try:
            prediction = model.predict(scenario(**asked), outside="extrapolate", metrics=metrics)
        except OutOfDomain:
            continue
        cores = prediction.scenario.cores
        if "cores" not in values and cores is not None:
            notes[f"no cores given: the greatest measured number, {cores}"] = None
        notes |= dict.fromkeys(prediction.notes)
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class Grid:
    """Answers of a sweep, which can be read point by point. ``requested`` are the requested metrics, empty for all."""

    answers: xarray.Dataset
    requested: tuple[str, ...]
    notes: tuple[str, ...] = ()
    progress: Progress | None = None

    @property
    def swept(self) -> list[str]:
        """Names of the swept parameters, which have several values, in the order of the dimensions."""
        return [str(name) for name in self.answers.sizes]

    def fixed(self) -> dict[str, object]:
        """Return the constant parameters of the sweep, by name."""
        return {
            str(name): json_form(coordinate.item())
            for name, coordinate in self.answers.coords.items()
            if name not in self.swept
        }

    def metrics(self) -> list[str]:
        """Return the names of the answered metrics, without columns such as ``goodput_bps_low``."""
        names = map(str, self.answers.data_vars)
        return [name for name in names if name != "bottleneck" and not name.endswith(PARTS)]

    def points(self, metrics: list[str]) -> Iterator[tuple[tuple[Any, ...], list[Any], int]]:
        """Yield each point as a tuple: values of the swept parameters, estimates of ``metrics``, and bottleneck.

        An estimate has four numbers: value, low, high, and basis. Basis and bottleneck are indices into `BASES` and
        `BOTTLENECKS`; -1 stands for a point without an answer.
        """

        def column(name: str) -> list[Any]:
            values: list[Any] = self.answers[name].to_numpy().reshape(-1).tolist()
            return values

        estimates = [
            zip(*(column(name + part) for part in ("", *PARTS)), strict=True) for name in metrics
        ]
        bottlenecks = column("bottleneck")
        places = product(*(self.answers[name].to_numpy().tolist() for name in self.swept))
        for done, (place, bottleneck) in enumerate(zip(places, bottlenecks, strict=True)):
            if self.progress is not None and done % REPORTED_POINTS == 0:
                self.progress(done, len(bottlenecks))
            yield place, [next(estimate) for estimate in estimates], bottleneck


def grid_document(grid: Grid) -> dict[str, object]:
    """Return a sweep as JSON: a list of points, each with all metrics."""
    attributes = grid.answers.attrs
    metrics = grid.metrics()
    points = []
    for place, estimates, bottleneck in grid.points(metrics):
        point = json_form(dict(zip(grid.swept, place, strict=True)))
        for name, (value, low, high, basis) in zip(metrics, estimates, strict=True):
            numbers = json_form({"value": value, "low": low, "high": high})
            point[name] = {**numbers, "basis": name_of(BASES, basis)}
        points.append({**point, "bottleneck": name_of(BOTTLENECKS, bottleneck)})
    return {
        "schema_version": 1,
        "dataset": {"id": attributes["dataset"], "sha256": attributes["sha256"]},
        "variant": attributes["variant"],
        "fixed": grid.fixed(),
        "swept": grid.swept,
        "notes": list(grid.notes),
        "points": points,
    }


def name_of(names: tuple[str, ...], code: int) -> str:
    """Return the name at an index of ``names``; empty for the index -1, which stands for a point without an answer."""
    return names[code] if code >= 0 else ""

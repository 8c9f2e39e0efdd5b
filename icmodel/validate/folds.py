"""Folds: training rows to which a model is fitted, and test rows that the model then predicts.

Only rows of basis ``measured`` or ``tabulated`` are used. An assumed, derived or stated row often repeats a measured
number, by a rule or by rounding. Such a row would reveal the left-out number.  So no score depends on assumed rows or
on rows derived from predictions (IC2012 table 8-2).

A point is left out with all its metrics, since for example the goodput reveals the frame rate. All other rows of the
same conditions are left out too.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel.dataset import Dataset, Point
from icmodel.documents import group_by_key
from icmodel.errors import DatasetError
from icmodel.fits.regimes import OVERLOAD, regimes_of
from icmodel.tables.wire import Wire

SCORED_BASES = ("measured", "tabulated")
"""Bases of the rows on which predictions are scored: rows from one run, or from a table of runs."""
LEAST_ROWS = 30
"""Least number of rows of a metric for its predictions to be scored; otherwise it is listed as having too few."""
TOO_MUCH = "asked too much"
"""Text that replaces the load in the name of a fold of requests in overload."""
SEED = 20120
"""Seed of the random choice of folds if not all folds are used; the value has no meaning."""


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold: a dataset of training rows, and the test rows that a model fitted to them predicts."""

    name: str
    train: Dataset
    test: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Folds:
    """Sequence of folds; each is made when it is read, since each fold holds a whole dataset.

    Parameters
    ----------
    known : tuple of Point
        The scored rows.
    left_out, asked : mapping
        By name of the fold: rows removed from ``known``, and the test rows among these.
    names : tuple of Key
        The folds, in the order they are made.
    """

    data: Dataset
    known: tuple[Point, ...]
    left_out: Mapping[Key, Sequence[Point]]
    asked: Mapping[Key, tuple[Point, ...]]
    names: tuple[Key, ...]

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: int) -> Fold:
        name = self.names[number]
        out = {id(point) for point in self.left_out[name]}
        rest = tuple(point for point in self.known if id(point) not in out)
        return Fold(text(name), replace(self.data, points=rest), self.asked[name])

    def __iter__(self) -> Iterator[Fold]:
        return map(self.__getitem__, range(len(self)))


def is_scored(point: Point) -> bool:
    """Whether predictions are scored on a row: it was measured or tabulated."""
    return point.basis in SCORED_BASES


def scored(data: Dataset, metric: str | None = None) -> tuple[Point, ...]:
    """Select the measured and tabulated rows of a dataset, on which predictions are scored.

    ``metric`` restricts them to one metric.
    """
    return tuple(p for p in data.points if is_scored(p) and metric in (None, p.metric))


def training(data: Dataset) -> Dataset:
    """Copy a dataset with only its measured and tabulated rows, to which models are fitted."""
    return replace(data, points=scored(data))


def counts(points: Iterable[Point]) -> Mapping[str, int]:
    """Count the rows of each metric, sorted by metric."""
    return dict(sorted(Counter(point.metric for point in points).items()))


def leave_one_out(data: Dataset, *metrics: str, most: int | None = None) -> Folds:
    """Make a fold for each point: the point is tested, and the model is fitted to all other points.

    All requests in overload count as one point at any load, since they measure the same.

    Parameters
    ----------
    *metrics : str
        Metrics to test, all by default; the point's other metrics are left out too.
    most : int, optional
        Greatest number of folds; if there are more, a fixed seed draws which are taken.
    """
    known = scored(data)
    regimes = zip(known, regimes_of(data, known), strict=True)
    over = {id(point) for point, regime in regimes if regime == OVERLOAD}

    def key(point: Point) -> Key:
        *others, load, payload = place(data, point)
        return (*others, TOO_MUCH if id(point) in over else load, payload)

    return _leave_out(data, metrics, key, most)


def leave_a_curve_out(data: Dataset, *metrics: str, most: int | None = None) -> Folds:
    """Make a fold for each curve: all its payloads, with the same load, counts and options, are left out."""
    return _leave_out(data, metrics, lambda point: curve(data, point), most)


def leave_a_break_out(
    data: Dataset,
    metric: str,
    *,
    breaks_bytes: Sequence[int] | None = None,
    most: int | None = None,
) -> Folds:
    """Make a fold for each curve and packet break, which leaves out the two points next to the break.

    These points have the greatest measured payload up to the break, and the least payload above the break. A curve with
    points on only one side of a break has no fold for that break.

    Parameters
    ----------
    breaks_bytes : sequence of int, optional
        Greatest payloads before a break; by default as `icmodel.validate.folds` finds them.
    """
    places = next_to_break(data, scored(data, metric), breaks_bytes)
    near = tuple(p for p in scored(data) if place(data, p) in places)
    return _leave_out(data, (metric,), lambda p: places[place(data, p)], most, near)


def leave_break_sizes_out(
    data: Dataset,
    metric: str,
    *,
    breaks_bytes: Sequence[int] | None = None,
    most: int | None = None,
) -> Folds:
    """Make a fold for each packet break, which leaves out the two payloads next to the break on every curve.

    Curves of one protocol at other loads or options resemble each other.  If one
    curve leaves out its two points, a model can learn the break from other curves. Here all curves leave them out.
    """
    known = scored(data)
    places = next_to_break(data, scored(data, metric), breaks_bytes)
    found = ((point, places.get(place(data, point))) for point in scored(data, metric))
    asked = group_by_key(
        ((point.protocol, *at[-2:]), point) for point, at in found if at is not None
    )
    names = tuple(_drawn(in_order(asked), most))
    left_out = {
        name: [p for p in known if p.protocol == name[0] and p.payload_bytes in name[1:]]
        for name in names
    }
    return Folds(data, known, left_out, {n: tuple(asked[n]) for n in names}, names)


def held_out(data: Dataset, runs: Sequence[Point] | None = None) -> tuple[Fold, ...]:
    """Make the fold that tests the held-out runs of a dataset, or ``runs`` instead.

    The result is empty if no run can be scored.
    """
    test = tuple(p for p in (data.held_out if runs is None else runs) if is_scored(p))
    return (Fold("held-out runs", training(data), test),) if test else ()


def runs_of(data: Dataset, other: Dataset) -> tuple[Point, ...]:
    """Convert the held-out runs of another dataset to the option axes of ``data``.

    Raises
    ------
    DatasetError
        If ``other`` has no held-out runs, or the runs set an option for which ``data`` has no axis.
    """
    if not other.held_out_runs:
        raise DatasetError(
            f"{other.id} has no held-out runs: give a folder that `icmodel fold` made from "
            "runs of which some were held out"
        )
    found = []
    for point in other.held_out:
        options = other.options_of(point)
        if unknown := sorted(other.changed_options(options).keys() - set(data.option_axes)):
            raise DatasetError(
                f"the runs of {other.id} differ in {', '.join(unknown)}, for which {data.id} has no "
                "axis: hold out runs at its defaults"
            )
        mine = tuple(options.get(axis, "") for axis in data.option_axes)
        found.append(point._replace(options=mine))
    return tuple(found)


def _leave_out(
    data: Dataset,
    metrics: Collection[str],
    key: Callable[[Point], Key],
    most: int | None,
    among: Iterable[Point] | None = None,
) -> Folds:
    known = scored(data)
    groups = group_by_key((key(point), point) for point in (known if among is None else among))
    asked = {
        name: tuple(p for p in members if not metrics or p.metric in metrics)
        for name, members in groups.items()
    }
    names = in_order(name for name, test in asked.items() if test)
    return Folds(data, known, groups, asked, tuple(_drawn(names, most)))


def _drawn(names: list[Key], most: int | None) -> list[Key]:
    """Draw at most ``most`` folds at random, with a fixed seed.

    Taking every k-th fold instead could follow a pattern of the grid.
    """
    if most is None or len(names) <= most:
        return names
    drawn = random.Random(SEED).sample(range(len(names)), most)
    return [names[index] for index in sorted(drawn)]


Pair = tuple[int, int]
FEWEST_SIZES = 4
"""Least number of payloads of a curve to find a break: a step is compared with one before and one after it."""


def next_to_break(
    data: Dataset, points: Iterable[Point], breaks_bytes: Sequence[int] | None = None
) -> dict[Key, Key]:
    """Find the points of one metric that lie next to a packet break.

    Parameters
    ----------
    points : iterable of Point
        Rows of one metric.
    breaks_bytes : sequence of int, optional
        Greatest payloads before a break; by default each curve's break is found from its data.

    Returns
    -------
    dict
        By key of the point: its curve, and the payloads [B] before and after the break.
    """
    found: dict[Key, Key] = {}
    for line, members in group_by_key((curve(data, p), p) for p in points).items():
        sized = {p.payload_bytes: p.value for p in members if p.payload_bytes is not None}
        sizes = sorted(sized)
        pairs: list[Pair | None]
        if breaks_bytes is None:
            first = _first_packet(data, members[0], sizes)
            pairs = [first or step(sizes, [sized[size] for size in sizes])]
        else:
            pairs = [_between(sizes, at) for at in sorted(breaks_bytes)]
        for below, above in filter(None, pairs):
            for point in members:
                if point.payload_bytes in (below, above):
                    found[place(data, point)] = (*line, float(below), float(above))
    return found


def _between(sizes: Sequence[int], at: int) -> Pair | None:
    """Find the greatest payload up to a break ``at``, and the least payload above it; None if either is missing."""
    below, above = [s for s in sizes if s <= at], [s for s in sizes if s > at]
    return (below[-1], above[0]) if below and above else None


def _first_packet(data: Dataset, point: Point, sizes: Sequence[int]) -> Pair | None:
    """Find the payloads on both sides of the first packet break of a curve; None for links other than Ethernet.

    The first break is the greatest payload that fits into one packet.
    """
    link = data.link(data.options_of(point))
    if link.kind != "ethernet":
        return None
    breaks = Wire(point.protocol, link, with_headers=True).packet_breaks(sizes[-1])
    return _between(sizes, int(breaks[0])) if len(breaks) else None


def step(sizes: Sequence[int], values: Sequence[float]) -> Pair | None:
    """Find the sharpest step of a curve: two neighbouring payloads whose slope differs most from adjacent slopes.

    Slopes are taken on log axes.  None with fewer than four payloads or with values of 0 or less.
    """
    if len(sizes) < FEWEST_SIZES or min(values) <= 0:
        return None
    slopes = np.diff(np.log(values)) / np.diff(np.log(sizes))
    departure = np.abs(slopes[1:-1] - (slopes[:-2] + slopes[2:]) / 2)
    where = int(np.argmax(departure)) + 1
    return sizes[where], sizes[where + 1]


Key = tuple[float | str, ...]
UNSPECIFIED = -1.0


def place(data: Dataset, point: Point) -> Key:
    """Key of a row's conditions; rows with equal keys are metrics or repeats of one point.

    Empty cells count as the defaults of a prediction request: unlimited load, no switch, one endpoint, and the
    default of an option.
    """
    payload = UNSPECIFIED if point.payload_bytes is None else point.payload_bytes
    return (*curve(data, point), payload)


def curve(data: Dataset, point: Point) -> Key:
    """Key of a row's curve: the row's conditions without the payload."""
    options = (
        value or data.option_defaults[axis]
        for axis, value in zip(data.option_axes, point.options, strict=True)
    )
    return (
        point.protocol,
        *options,
        UNSPECIFIED if point.cores is None else point.cores,
        point.switches or 0,
        point.endpoints or 1,
        point.other_goodput_bps or 0.0,
        math.inf if point.load_bps is None else point.load_bps,
    )


def in_order(keys: Iterable[Key]) -> list[Key]:
    """Sort keys of points or curves; at each position, numbers come before texts."""
    return sorted(
        keys,
        key=lambda key: [
            (True, 0.0, part) if isinstance(part, str) else (False, part, "") for part in key
        ],
    )


def text(key: Key) -> str:
    """Convert a key of a point or curve to one line of text."""
    return " ".join(part if isinstance(part, str) else f"{part:g}" for part in key if part != "")

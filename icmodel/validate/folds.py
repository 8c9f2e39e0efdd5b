"""Folds: which rows a model may learn from, and which it is then asked for.

Only rows of basis ``measured`` or ``tabulated`` are scored, and only those are learned from.  A row
that was assumed, derived or stated often repeats a measured number in other words (a rule applied
to it, a sentence that rounds it): left in, it would tell the answer that was taken out.  It follows
that no score depends on an assumed row, nor on what was derived from predictions (IC2012 table 8-2).

What is left out leaves whole: every metric of a point, since the goodput of a point gives away its
frame rate, and every row that answers the same question.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from icmodel.dataset import Dataset, Point
from icmodel.errors import DatasetError
from icmodel.fits.regimes import OVERLOAD, regimes_of
from icmodel.validate.breaks import beside
from icmodel.validate.places import Key, curve, grouped, in_order, place, text

SCORED_BASES = ("measured", "tabulated")
"""Bases of rows that are numbers of a run or of a table of runs."""
LEAST_ROWS = 30
"""Fewer scored rows of a metric than these say little: the metric is listed as too few."""
TOO_MUCH = "asked too much"
"""Stands for the load of a fold's name where more was asked than can be had."""
SEED = 20120
"""Draws which folds are taken where not all are; any number would do."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Rows to learn from, as a dataset, and rows to be asked for."""

    name: str
    train: Dataset
    test: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Folds:
    """Folds that are made one by one, since each holds the rows of a whole dataset."""

    data: Dataset
    known: tuple[Point, ...]
    left_out: Mapping[Key, Sequence[Point]]
    asked: Mapping[Key, tuple[Point, ...]]
    names: tuple[Key, ...]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Fold]:
        for name in self.names:
            out = {id(point) for point in self.left_out[name]}
            rest = tuple(point for point in self.known if id(point) not in out)
            yield Fold(text(name), replace(self.data, points=rest), self.asked[name])


def is_scored(point: Point) -> bool:
    """Whether a row is a number of a run or of a table of runs."""
    return point.basis in SCORED_BASES


def scored(data: Dataset, metric: str | None = None) -> tuple[Point, ...]:
    """The rows of a dataset that are scored, of one metric or of all."""
    return tuple(p for p in data.points if is_scored(p) and metric in (None, p.metric))


def training(data: Dataset) -> Dataset:
    """The dataset with the rows that may be learned from, and no other."""
    return replace(data, points=scored(data))


def counts(points: Iterable[Point]) -> Mapping[str, int]:
    """How many rows each metric has, by name."""
    return dict(sorted(Counter(point.metric for point in points).items()))


def leave_one_out(data: Dataset, *metrics: str, most: int | None = None) -> Folds:
    """A fold for each point: the point is asked, all others are learned from.

    Requests above what can be had are one point, whatever their load: they measure the same.

    Parameters
    ----------
    *metrics : str
        Ask for these only, or for all; the others of the point are left out all the same.
    most : int, optional
        At most so many folds, drawn evenly from all; the same ones each time.
    """
    known = scored(data)
    regimes = zip(known, regimes_of(data, known), strict=True)
    over = {id(point) for point, regime in regimes if regime == OVERLOAD}

    def key(point: Point) -> Key:
        *others, load, payload = place(data, point)
        return (*others, TOO_MUCH if id(point) in over else load, payload)

    return _leave_out(data, metrics, key, most)


def leave_a_curve_out(data: Dataset, *metrics: str, most: int | None = None) -> Folds:
    """A fold for each curve along the payload: nothing of its load, counts and options is known."""
    return _leave_out(data, metrics, lambda point: curve(data, point), most)


def leave_a_break_out(
    data: Dataset,
    metric: str,
    *,
    breaks_bytes: Sequence[int] | None = None,
    most: int | None = None,
) -> Folds:
    """A fold for each curve and break: the points on both sides of the break leave together.

    Those are the greatest measured payload up to the break and the least one above it.  A curve
    with no point on one side has no fold there.

    Parameters
    ----------
    breaks_bytes : sequence of int, optional
        Greatest payloads before a break; each curve's own by default (`icmodel.validate.breaks`).
    """
    places = beside(data, scored(data, metric), breaks_bytes)
    near = tuple(p for p in scored(data) if place(data, p) in places)
    return _leave_out(data, (metric,), lambda p: places[place(data, p)], most, near)


def leave_break_sizes_out(
    data: Dataset,
    metric: str,
    *,
    breaks_bytes: Sequence[int] | None = None,
    most: int | None = None,
) -> Folds:
    """A fold for each break: the two sizes beside it leave on every curve of the protocol.

    Where curves resemble each other (another suite, another load), those that keep their points
    show a model what the left-out one does; here none keeps them.
    """
    known = scored(data)
    places = beside(data, scored(data, metric), breaks_bytes)
    asked: dict[Key, list[Point]] = {}
    for point in scored(data, metric):
        at = places.get(place(data, point))
        if at is not None:
            asked.setdefault((point.protocol, *at[-2:]), []).append(point)
    names = tuple(_drawn(in_order(asked), most))
    left_out = {
        name: [p for p in known if p.protocol == name[0] and p.payload_bytes in name[1:]]
        for name in names
    }
    return Folds(data, known, left_out, {n: tuple(asked[n]) for n in names}, names)


def held_out(data: Dataset, runs: Sequence[Point] | None = None) -> tuple[Fold, ...]:
    """One fold of the runs that a campaign held out, or of other ``runs``; none where there are none."""
    test = tuple(p for p in (data.held_out if runs is None else runs) if is_scored(p))
    return (Fold("held-out runs", training(data), test),) if test else ()


def runs_of(data: Dataset, other: Dataset) -> tuple[Point, ...]:
    """The held-out runs of another dataset as questions to this one.

    Raises
    ------
    DatasetError
        If the other has none, or they name an option that this one has no axis for.
    """
    if not other.held_out_runs:
        raise DatasetError(
            f"{other.id} has no held-out runs: name a folder that `icmodel fold` made of a campaign "
            "with points held out"
        )
    found = []
    for point in other.held_out:
        named = zip(other.option_axes, point.options, strict=True)
        said = {axis: value for axis, value in named if value}
        if unknown := sorted(other.changed_options(said).keys() - set(data.option_axes)):
            raise DatasetError(
                f"the runs of {other.id} differ in {', '.join(unknown)}, for which {data.id} has no "
                "axis: hold out runs at its defaults"
            )
        found.append(point._replace(options=tuple(said.get(axis, "") for axis in data.option_axes)))
    return tuple(found)


def _leave_out(
    data: Dataset,
    metrics: Collection[str],
    key: Callable[[Point], Key],
    most: int | None,
    among: Iterable[Point] | None = None,
) -> Folds:
    known = scored(data)
    groups = grouped(known if among is None else among, key)
    asked = {
        name: tuple(p for p in members if not metrics or p.metric in metrics)
        for name, members in groups.items()
    }
    names = in_order(name for name, test in asked.items() if test)
    return Folds(data, known, groups, asked, tuple(_drawn(names, most)))


def _drawn(names: list[Key], most: int | None) -> list[Key]:
    """Some of the folds, drawn by a fixed seed: a stride would fall in step with the grid."""
    if most is None or len(names) <= most:
        return names
    drawn = random.Random(SEED).sample(range(len(names)), most)
    return [names[index] for index in sorted(drawn)]

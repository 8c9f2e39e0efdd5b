"""Folds: training rows to which a model is fitted, and test rows that the model then predicts.

Each row states its basis (kind of evidence). Only rows of basis ``measured`` or ``tabulated`` are used, for training
and for tests. Rows of basis ``assumed``, ``derived`` or ``stated`` often follow from a measured number, by a rule or by
rounding. As training rows, they would reveal a left-out number. As test rows, they would compare a prediction with an
assumption or with another prediction.

A point is left out with all its metrics, since for example the goodput reveals the frame rate. All rows of the same
conditions (repeats) are left out together.
"""

from __future__ import annotations

import gc
import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel.dataset import Dataset, Point
from icmodel.documents import group_by_key
from icmodel.errors import DatasetError, IcmodelError
from icmodel.estimate import Estimate, absent
from icmodel.fits import SHIPPED, Constants
from icmodel.fits.observations import OVERLOAD, WHOLE, RunShare, regimes_of, run_shares
from icmodel.model import Model
from icmodel.scenario import Options, Scenario
from icmodel.tables.wire import Wire

SCORED_BASES = ("measured", "tabulated")
"""Bases (kinds of evidence) of the rows for training and tests: numbers of single runs, or of a table of runs."""
LEAST_ROWS = 30
"""A metric is scored only if it has at least this many rows; other metrics are listed as having too few rows."""
IN_OVERLOAD = "overload"
"""Text in place of the load in the name of a fold whose requests are in overload."""
SEED = 20120
"""Seed of the random choice of folds, if the number of folds is limited; the seed is arbitrary."""


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold: a dataset of training rows, and the left-out test rows."""

    name: str
    train: Dataset
    test: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Folds:
    """Lazy sequence of folds (splits of a dataset into training rows and left-out rows).

    A fold is built when it is read, since it holds a whole dataset.

    Parameters
    ----------
    known : tuple of Point
        All measured and tabulated rows.
    left_out : mapping
        Name of a fold -> its left-out rows, which are not used for training.
    tested : mapping
        Name of a fold -> those of its left-out rows that are predicted and scored.
    names : tuple of Key
        Names of the folds, in order.
    """

    data: Dataset
    known: tuple[Point, ...]
    left_out: Mapping[Key, Sequence[Point]]
    tested: Mapping[Key, tuple[Point, ...]]
    names: tuple[Key, ...]

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: int) -> Fold:
        name = self.names[number]
        out = {id(point) for point in self.left_out[name]}
        rest = tuple(point for point in self.known if id(point) not in out)
        return Fold(text(name), replace(self.data, points=rest), self.tested[name])

    def __iter__(self) -> Iterator[Fold]:
        return map(self.__getitem__, range(len(self)))


def is_scored(point: Point) -> bool:
    """Whether a row is measured or tabulated, and so used for training and tests."""
    return point.basis in SCORED_BASES


def scored(data: Dataset, metric: str | None = None) -> tuple[Point, ...]:
    """Select the measured and tabulated rows of a dataset, optionally those of one metric."""
    return tuple(p for p in data.points if is_scored(p) and metric in (None, p.metric))


def training(data: Dataset) -> Dataset:
    """Copy a dataset with only its measured and tabulated rows, for training."""
    return replace(data, points=scored(data))


def counts(points: Iterable[Point]) -> Mapping[str, int]:
    """Count the rows of each metric, sorted by metric."""
    return dict(sorted(Counter(point.metric for point in points).items()))


def leave_one_out(data: Dataset, *metrics: str, most: int | None = None) -> Folds:
    """Make a fold for each point: the point is the test, and all other points are for training.

    Points in overload (at a load above the best goodput of their payload) that differ only in the load count as one
    point. How far the load exceeds the goodput has little effect, so one such point in training would reveal the test.

    Parameters
    ----------
    *metrics : str
        Metrics to test, all by default. Training never uses the other metrics of the test point.
    most : int, optional
        Greatest number of folds; if there are more, this many are drawn at random with a fixed seed.
    """
    known = scored(data)
    regimes = zip(known, regimes_of(data, known), strict=True)
    over = {id(point) for point, regime in regimes if regime == OVERLOAD}

    def key(point: Point) -> Key:
        *others, load, payload = point_key(data, point)
        return (*others, IN_OVERLOAD if id(point) in over else load, payload)

    return _leave_out(data, metrics, key, most)


def leave_a_curve_out(data: Dataset, *metrics: str, most: int | None = None) -> Folds:
    """Make a fold for each curve; the fold leaves out the whole curve.

    A curve is the set of rows that differ only in payload.
    """
    return _leave_out(data, metrics, lambda point: curve_key(data, point), most)


def leave_a_break_out(
    data: Dataset,
    metric: str,
    *,
    breaks_bytes: Sequence[int] | None = None,
    most: int | None = None,
) -> Folds:
    """Make a fold for each curve and packet break; the fold leaves out the two points next to the break.

    A packet break is a payload above which a frame needs one more packet. The two points are the last measured payload
    up to the break and the first above it. A curve with all its points on one side of a break has no fold for it.

    Parameters
    ----------
    breaks_bytes : sequence of int, optional
        Packet breaks: the greatest payloads [B] before one more packet. By default `next_to_break` finds one break for
        each curve.
    """
    places = next_to_break(data, scored(data, metric), breaks_bytes)
    near = tuple(p for p in scored(data) if point_key(data, p) in places)
    return _leave_out(data, (metric,), lambda p: places[point_key(data, p)], most, near)


def leave_break_sizes_out(
    data: Dataset,
    metric: str,
    *,
    breaks_bytes: Sequence[int] | None = None,
    most: int | None = None,
) -> Folds:
    """Make a fold for each protocol and packet break; the fold leaves out the two payloads next to the break.

    A packet break is a payload above which a frame needs one more packet. The two payloads are the last measured one up
    to the break, and the first one above it. They are left out of all curves of the protocol. In contrast,
    `leave_a_break_out` leaves them out of one curve only, so a model may learn the break from similar curves.
    """
    known = scored(data)
    places = next_to_break(data, scored(data, metric), breaks_bytes)
    found = ((point, places.get(point_key(data, point))) for point in scored(data, metric))
    tested = group_by_key(
        ((point.protocol, *at[-2:]), point) for point, at in found if at is not None
    )
    names = tuple(_drawn(in_order(tested), most))
    left_out = {
        name: [p for p in known if p.protocol == name[0] and p.payload_bytes in name[1:]]
        for name in names
    }
    return Folds(data, known, left_out, {n: tuple(tested[n]) for n in names}, names)


def held_out(data: Dataset, runs: Sequence[Point] | None = None) -> tuple[Fold, ...]:
    """Make the fold that tests the held-out runs of a dataset, or other ``runs`` in their place.

    A run is tested only if its number is measured or tabulated. The result is empty if this holds for no run.
    """
    test = tuple(p for p in (data.held_out if runs is None else runs) if is_scored(p))
    return (Fold("held-out runs", training(data), test),) if test else ()


def runs_of(data: Dataset, other: Dataset) -> tuple[Point, ...]:
    """Return the held-out runs of another dataset, with their options in the order of the option axes of ``data``.

    Raises
    ------
    DatasetError
        If ``other`` has no held-out runs, or the runs set an option for which ``data`` has no axis.
    """
    if not other.held_out_runs:
        raise DatasetError(
            f"{other.id} has no held-out runs: give a folder that `icmodel fold` made of records with held-out runs"
        )
    found = []
    for point in other.held_out:
        options = other.options_of(point)
        if unknown := sorted(other.changed_options(options).keys() - set(data.option_axes)):
            raise DatasetError(
                f"held-out runs of {other.id} set {', '.join(unknown)}, but {data.id} has no such option: "
                "hold out only runs that leave each option at its default"
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
    tested = {
        name: tuple(p for p in members if not metrics or p.metric in metrics)
        for name, members in groups.items()
    }
    names = in_order(name for name, test in tested.items() if test)
    return Folds(data, known, groups, tested, tuple(_drawn(names, most)))


def _drawn(names: list[Key], most: int | None) -> list[Key]:
    """Draw at most ``most`` folds at random, with a fixed seed.

    Taking every k-th fold instead could follow a pattern of the measured points.
    """
    if most is None or len(names) <= most:
        return names
    drawn = random.Random(SEED).sample(range(len(names)), most)
    return [names[index] for index in sorted(drawn)]


Pair = tuple[int, int]
FEWEST_SIZES = 4
"""Least number of payloads that a curve needs for `step`, which compares three slopes."""


def next_to_break(
    data: Dataset, points: Iterable[Point], breaks_bytes: Sequence[int] | None = None
) -> dict[Key, Key]:
    """Find the points of one metric that lie next to a packet break (a payload above which one more packet is needed).

    Parameters
    ----------
    points : iterable of Point
        Rows of one metric.
    breaks_bytes : sequence of int, optional
        Packet breaks: the greatest payloads [B] before one more packet. By default one break of each curve is used:
        on Ethernet the greatest payload of a single packet, otherwise the sharpest step of the metric.

    Returns
    -------
    dict
        Mapping from the key of each point next to a break (see `point_key`) to a tuple: the parts of the curve's key,
        the greatest payload [B] of the curve up to the break, and the least payload above the break.
    """
    found: dict[Key, Key] = {}
    for line, members in group_by_key((curve_key(data, p), p) for p in points).items():
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
                    found[point_key(data, point)] = (*line, float(below), float(above))
    return found


def _between(sizes: Sequence[int], at: int) -> Pair | None:
    """Find the two of ``sizes`` around ``at``: the greatest up to ``at``, the least above; None if one is missing."""
    below, above = [s for s in sizes if s <= at], [s for s in sizes if s > at]
    return (below[-1], above[0]) if below and above else None


def _first_packet(data: Dataset, point: Point, sizes: Sequence[int]) -> Pair | None:
    """Find the measured payloads on both sides of the first packet break of a curve.

    The first break is the greatest payload that fits into one packet. The result is None if the link is not Ethernet,
    or if one side has no payload.
    """
    link = data.link(data.options_of(point))
    if link.kind != "ethernet":
        return None
    breaks = Wire(point.protocol, link, with_headers=True).packet_breaks(sizes[-1])
    return _between(sizes, int(breaks[0])) if len(breaks) else None


def step(sizes: Sequence[int], values: Sequence[float]) -> Pair | None:
    """Find the sharpest step of a curve, and return the two neighbouring payloads between which it lies.

    All slopes are taken on log axes, between neighbouring payloads. At the step, the slope differs most from the mean
    of the next slope to the left and the next slope to the right. The result is None if there are fewer than four
    payloads, or a value is not positive.
    """
    if len(sizes) < FEWEST_SIZES or min(values) <= 0:
        return None
    slopes = np.diff(np.log(values)) / np.diff(np.log(sizes))
    departure = np.abs(slopes[1:-1] - (slopes[:-2] + slopes[2:]) / 2)
    where = int(np.argmax(departure)) + 1
    return sizes[where], sizes[where + 1]


Key = tuple[float | str, ...]
UNSPECIFIED = -1.0


def point_key(data: Dataset, point: Point) -> Key:
    """Return the key of a row's point (its conditions); all metrics and repeats of a point have the same key.

    Empty cells count as the defaults of a `Scenario`: unlimited load, no switch, one endpoint, no other goodput, and
    the default of an option.
    """
    payload = UNSPECIFIED if point.payload_bytes is None else point.payload_bytes
    return (*curve_key(data, point), payload)


def curve_key(data: Dataset, point: Point) -> Key:
    """Return the key of a row's curve: the row's conditions without the payload."""
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
    """Return the keys of points or curves in ascending order.

    A key is a tuple of numbers and texts. Keys are compared element by element, and a number is less than any text.
    """
    return sorted(
        keys,
        key=lambda key: [
            (True, 0.0, part) if isinstance(part, str) else (False, part, "") for part in key
        ],
    )


def text(key: Key) -> str:
    """Convert the key of a point or curve, a tuple of numbers and texts, to one line of text."""
    return " ".join(part if isinstance(part, str) else f"{part:g}" for part in key if part != "")


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
    fold: Fold,
    variant: str | None = None,
    metrics: Collection[str] | None = None,
    constants: Constants = SHIPPED,
) -> tuple[Estimate, ...]:
    """Fit a variant of the model to the training rows of a fold, and predict the test rows.

    The model extrapolates, since a test row at the end of its curve lies outside the training rows. If the model cannot
    predict a row, the estimate is absent and states the reason.

    Parameters
    ----------
    metrics : collection of str, optional
        Metrics to predict, all by default; estimates of other metrics are absent.
    constants : Constants
        Constants of the fits of ``hybrid``.
    """
    try:
        model = Model(fold.train, variant, cache=False, constants=constants)
    except IcmodelError as error:
        return tuple(absent(str(error)) for _ in fold.test)
    # Copy the estimates, so that they do not keep the model in memory (130 MB for a fold of lab-1g-2026).
    found = tuple(replace(one) for one in answers_of(model, fold.train, fold.test, metrics))
    if model.variant == "hybrid":
        del model
        gc.collect()  # fits form reference cycles, which Python collects too seldom
    return found


def answers_of(
    model: Model, data: Dataset, test: Sequence[Point], metrics: Collection[str] | None = None
) -> tuple[Estimate, ...]:
    """Predict test rows by a fitted model, in the given order; rows under the same conditions share one prediction."""
    known: dict[Key, dict[str, Estimate] | str] = {}
    found, shares = [], run_shares(data)
    for point in test:
        at = point_key(data, point)
        if at not in known:
            wanted = None if metrics is None else tuple(m for m in metrics if m in data.metrics)
            try:
                asked = question(data, point)
                made = model.predict(asked, outside="extrapolate", metrics=wanted)
                share = shares.get(point.protocol, WHOLE)
                achieved = made.bottleneck in OF_THE_REQUEST
                known[at] = {
                    **made.metrics,
                    **(of_one_run(made.metrics, share) if achieved else {}),
                }
            except IcmodelError as error:
                known[at] = str(error)
        answer = known[at]
        if isinstance(answer, str):
            found.append(absent(answer))
        else:
            missing = absent(f"the model does not predict {point.metric} here")
            found.append(answer.get(point.metric, missing))
    return tuple(found)


# --- runs below capacity ----------------------------------------------------------------------

OF_THE_REQUEST = ("request", "arriving")
"""Bottlenecks of a stream that gets all it requests, except for lost frames."""
RATES = ("goodput_bps", "sent_bps", "frames_per_s")
SHORTFALL = "shortfall_bps"


def of_one_run(metrics: Mapping[str, Estimate], share: RunShare) -> dict[str, Estimate]:
    """Widen the predicted intervals of rates, so that they hold for a single run of a stream that gets its request.

    Over a long time, the goodput of such a stream equals its request, but a run of seconds may count less or more.
    ``share`` has two factors: the least and the greatest ratio goodput / request of single runs. The low end of each
    rate is multiplied by the least ratio, and the high end by the greatest.
    """
    low, high = share
    found = {
        name: replace(metrics[name], low=low * metrics[name].low, high=high * metrics[name].high)
        for name in RATES
        if name in metrics
    }
    if SHORTFALL in metrics and "sent_bps" in metrics:
        missing = (1 - low) * metrics["sent_bps"].value
        found[SHORTFALL] = replace(metrics[SHORTFALL], high=metrics[SHORTFALL].high + missing)
    return found

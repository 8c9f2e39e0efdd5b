"""Read and check points.csv and held-out.csv, and compute the scatter of repeated runs.

Errors of ratios are absolute, since a relative error means little for an idle core or a lossless link.  Ratios are
``loss_rate``, and CPU loads such as ``cpu_send`` and ``cpu_send_user``.  Errors of other metrics are relative.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby, pairwise, repeat
from operator import itemgetter
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, NamedTuple

from icmodel.errors import DatasetError
from icmodel.ranges import MOST

FILE_BASES = ("measured", "tabulated", "stated", "theory", "derived", "assumed")
AXES = (
    "protocol",
    "payload_bytes",
    "load_bps",
    "cores",
    "switches",
    "endpoints",
    "other_goodput_bps",
)
REST = ("metric", "value", "std", "low", "high", "n", "basis", "source")
FIRST_LINE = 2
"""Line number of the first row in points.csv, after the header."""
RUN = "run"
"""Name of the first column of held-out.csv; the columns of points.csv follow."""
MODES = ("user", "system", "irq", "softirq", "steal")
RATIOS = (
    "cpu_send",
    "cpu_recv",
    "loss_rate",
    *(f"cpu_{end}_{mode}" for end in ("send", "recv") for mode in MODES),
)
METRIC_ENDINGS = ("_bps", "_s", "_cores", "_per_s")
_ONE_DIGIT = re.compile(r"(.+_p)([1-9])_s")


class Point(NamedTuple):
    """One row of points.csv, in SI units; ``None`` for an empty cell.

    A dataset has thousands of points, so a point is a named tuple: a frozen dataclass takes three times as long to
    make.
    """

    line: int
    protocol: str
    payload_bytes: int | None
    load_bps: float | None
    cores: int | None
    switches: int | None
    endpoints: int | None
    other_goodput_bps: float | None
    options: tuple[str, ...]
    metric: str
    value: float
    std: float | None
    low: float | None
    high: float | None
    n: int | None
    basis: str
    source: str


DIGITS = "0123456789.eE+-"
"""Characters that may occur in the text of a finite number."""
POINT = slice(Point._fields.index("protocol"), Point._fields.index("metric"))
"""Slice of the fields of a row that identify its measured point: from the protocol to the options."""


def read_points(path: Path, body: bytes) -> tuple[tuple[Point, ...], tuple[str, ...]]:
    """Read and check the points of a points.csv; also returns its option axes.

    Raises
    ------
    DatasetError
        If the header or a row breaks the format; the message names file, line and reason.
    """
    header, rows = _cells(path, body)
    option_axes = tuple(header[len(AXES) : len(header) - len(REST)])
    expected = [*AXES, *option_axes, *REST]
    if header != expected or list(option_axes) != sorted(set(option_axes)):
        raise DatasetError(
            f"{path} line 1: the columns must be {', '.join(AXES)}, then the option axes in "
            f"alphabetical order, then {', '.join(REST)}; found {', '.join(header)}"
        )
    points = tuple(_points(rows, option_axes, len(header), path))
    if not points:
        raise DatasetError(f"{path} has no rows: a dataset needs at least one")
    _check_order(points, path)
    return points, option_axes


def read_held_out(
    path: Path, body: bytes, option_axes: tuple[str, ...]
) -> dict[str, tuple[Point, ...]]:
    """Read and check the rows of a held-out.csv, by name of the run.

    Raises
    ------
    DatasetError
        If the header or a row breaks the format; the message names file, line and reason.
    """
    header, rows = _cells(path, body)
    columns = [RUN, *AXES, *option_axes, *REST]
    if header != columns:
        raise DatasetError(
            f"{path} line 1: the columns must be {', '.join(columns)}, as in points.csv; found "
            f"{', '.join(header)}"
        )
    if not rows:
        raise DatasetError(f"{path} has no rows: remove the file if no run is held out")
    names = [cells[0] if cells else "" for cells in rows]
    points = tuple(_points([cells[1:] for cells in rows], option_axes, len(header) - 1, path))
    if not all(names) or names != sorted(names):
        raise DatasetError(
            f"{path}: a row has no run, or the rows are not sorted by run: name the run in every row, and sort "
            "the rows by run first"
        )
    runs: dict[str, tuple[Point, ...]] = {}
    for name, group in groupby(zip(names, points, strict=True), key=itemgetter(0)):
        runs[name] = tuple(point for _, point in group)
        _check_order(runs[name], path)
    return runs


def _cells(path: Path, body: bytes) -> tuple[list[str], list[list[str]]]:
    """Split a CSV file into the cells of its header, and the cells of its other lines."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + body.count(b"\n", 0, error.start)
        raise DatasetError(
            f"{path} line {line}: not UTF-8 ({error}): save the file as CSV in UTF-8"
        ) from error
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        return next(lines, []), list(lines)
    except csv.Error as error:
        raise DatasetError(
            f"{path} line {lines.line_num}: not CSV ({error}): correct the line"
        ) from error


def _points(
    rows: list[list[str]], option_axes: tuple[str, ...], width: int, path: Path
) -> Iterator[Point]:
    """Convert rows of texts to points.

    To save time, whole columns are parsed instead of single rows, and equal texts in a column only once.
    """
    for number, cells in enumerate(rows, start=FIRST_LINE):
        if len(cells) != width:
            raise DatasetError(
                f"{path} line {number}: the row has {len(cells)} cells, but the header has {width}; the row "
                "is cut or has a stray comma"
            )
    columns = list(zip(*rows, strict=True)) or [()] * width
    first, behind = len(AXES), len(AXES) + len(option_axes)
    options = zip(*columns[first:behind], strict=True) if option_axes else repeat(())
    read = [
        _column(name, cells, path)
        for name, cells in zip((*AXES, *REST), columns[:first] + columns[behind:], strict=True)
    ]
    lines = count(FIRST_LINE)
    for values in zip(lines, *read[:first], options, *read[first:], strict=False):
        point = Point._make(values)
        if problem := _contradiction(point):
            raise DatasetError(f"{path} line {point.line}: {problem}")
        yield point


def _column(name: str, cells: Sequence[str], path: Path) -> list[Any]:
    """Parse the cells of one column, and return their values.

    If every cell is a plain number, all cells are parsed together, otherwise one by one.
    """
    read = READERS[name]
    texts = list(dict.fromkeys(cells))
    if read is _number or (read is _value and "" not in texts):
        numbers = _plain_numbers(texts)
        if numbers is not None:
            return [numbers[text] for text in cells]
    known: dict[str, object] = {}
    for text in texts:
        try:
            known[text] = read(name, text)
        except ValueError as error:
            line = FIRST_LINE + cells.index(text)
            raise DatasetError(f"{path} line {line}: {error}") from error
    return [known[text] for text in cells]


def _plain_numbers(texts: Sequence[str]) -> dict[str, float | None] | None:
    """Parse texts as plain numbers; return the value of each text, or None if any text is not a plain number.

    A plain number is finite and at least 0; an empty text has the value None.
    """
    filled = [text for text in texts if text]
    if "".join(filled).strip(DIGITS):
        return None
    try:
        numbers = list(map(float, filled))
    except ValueError:
        return None
    if numbers and not 0 <= min(numbers) <= max(numbers) < math.inf:
        return None
    return {"": None, **dict(zip(filled, numbers, strict=True))}


def _number(name: str, text: str) -> float | None:
    """Parse a cell with a finite number of at least 0; ``None`` for an empty cell."""
    number = _limit(name, text)
    if number == math.inf:
        raise ValueError(f"{name} {text!r} is out of range: give a finite number, 0 or more")
    return number


def _limit(name: str, text: str) -> float | None:
    """Parse a cell with a number of at least 0, or ``inf`` for no limit; ``None`` for an empty cell."""
    if not text:
        return None
    try:
        if not text.isascii() or "_" in text or text[0].isspace() or text[-1].isspace():
            raise ValueError  # Python accepts this number, but other CSV readers do not
        number = float(text)
    except ValueError:
        raise ValueError(
            f"{name} {text!r} is not a number in SI: write e.g. 1e9, without a unit or spaces"
        ) from None
    if math.isnan(number) or number < 0:
        raise ValueError(f"{name} {text!r} is out of range: give a finite number, 0 or more")
    return number


def _value(name: str, text: str) -> float:
    """Parse a cell with a finite number of at least 0; an empty cell is an error."""
    number = _number(name, text)
    if number is None:
        raise ValueError(f"{name} is empty: every row needs a number")
    return number


def _count(name: str, text: str) -> int | None:
    """Parse a cell with a whole number of at least 1; ``None`` for an empty cell."""
    return _whole(name, text, 1)


def _whole(name: str, text: str, least: int = 0) -> int | None:
    """Parse a cell with a whole number of at least ``least``; ``None`` for an empty cell."""
    if not text:
        return None
    digits = text.isascii() and text.isdigit() and len(text) < 19
    if not digits or not least <= int(text) <= MOST:
        raise ValueError(f"{name} {text!r} is not a whole number from {least} to {MOST}")
    return int(text)


def check_quantile(metric: str) -> None:
    """Raise ValueError if a metric is a quantile with one digit: ``latency_p5_s`` could mean 5 % or 50 %.

    The digits of a quantile are decimal places: ``p50`` is 0.50 (50 %), and ``p999`` is 0.999 (99.9 %).
    """
    if found := _ONE_DIGIT.fullmatch(metric):
        start, digit = found.groups()
        raise ValueError(
            f"the metric {metric!r} is unclear: write {start}0{digit}_s for {digit} %, or "
            f"{start}{digit}0_s for {digit}0 %"
        )


def _word(name: str, text: str) -> str:
    """Check a cell of the column protocol, metric, basis (kind of evidence) or source, and return its text."""
    if name == "metric" and text not in RATIOS and not text.endswith(METRIC_ENDINGS):
        raise ValueError(
            f"{name} {text!r} has no unit: it must be one of {', '.join(RATIOS)} or "
            f"end in one of {', '.join(METRIC_ENDINGS)}"
        )
    if name == "metric":
        check_quantile(text)
    if name == "basis" and text not in FILE_BASES:
        raise ValueError(f"{name} {text!r} is not one of {', '.join(FILE_BASES)}")
    if not text:
        raise ValueError(f"{name} is empty: every row needs a {name}")
    return text


READERS: Mapping[str, Callable[[str, str], object]] = {
    "protocol": _word,
    "payload_bytes": _count,
    "load_bps": _limit,
    "cores": _count,
    "switches": _whole,
    "endpoints": _count,
    "other_goodput_bps": _limit,
    "metric": _word,
    "value": _value,
    "std": _number,
    "low": _number,
    "high": _number,
    "n": _count,
    "basis": _word,
    "source": _word,
}
"""Parser of the cells of each column of points.csv.

A parser takes the column's name and a text, and raises ValueError for an invalid text.
"""


def _contradiction(point: Point) -> str | None:
    """Describe a contradiction between the cells of a row, such as value above high; ``None`` without one."""
    value = point.value
    low = value if point.low is None else point.low
    high = value if point.high is None else point.high
    if not low <= value <= high:
        return f"value {value} is not between low {low} and high {high}"
    if high > 1 and point.metric in RATIOS:
        return f"{point.metric} {high} is above 1: a ratio must be from 0 to 1"
    if point.basis == "assumed" and (point.low is None or point.high is None):
        return "an assumed row needs low and high: give both"
    return None


Key = tuple[float | str, ...]


def row_key(point: Point) -> Key:
    """Return the sort key of a row in points.csv; empty cells count as -1 and come first."""
    axes = (
        point.payload_bytes,
        point.load_bps,
        point.cores,
        point.switches,
        point.endpoints,
        point.other_goodput_bps,
    )
    numbers = [-1.0 if axis is None else axis for axis in axes]
    return (point.protocol, *numbers, *point.options, point.metric)


def _check_order(points: tuple[Point, ...], path: Path) -> None:
    """Raise DatasetError if rows are not in ascending order of `row_key`, or two have the same point and metric."""
    for before, point in pairwise(points):
        if before[POINT] == point[POINT] and before.metric < point.metric:
            continue  # usual case: the next metric of the same point
        if row_key(point) == row_key(before):
            raise DatasetError(
                f"{path} line {point.line}: a second row for the same point and metric"
            )
        if row_key(point) < row_key(before):
            raise DatasetError(
                f"{path} line {point.line}: the row belongs above the previous one: sort the rows "
                "by the columns from left to right"
            )


RELATIVE, ABSOLUTE = "relative", "absolute"


@dataclass(frozen=True, slots=True)
class Noise:
    """Scatter of one metric between repeated runs, which limits how well a run can be predicted.

    - ``rows``: number of rows with at least two runs; the other values are medians over these rows
    - ``run``: standard deviation (std) of a single run
    - ``mean``: std / √n, the standard deviation of the mean of a row's n runs

    ``run`` and ``mean`` are relative to the row's value, or absolute if the metric is a ratio. If runs are normally
    distributed, every second run deviates by more than 0.67 times ``run`` even from a perfect prediction.
    """

    rows: int
    run: float
    mean: float


@dataclass(frozen=True, slots=True)
class Repeats:
    """Scatter of the runs at one point, for one metric.

    - ``run``: standard deviation of the runs at a point, as the median over ``points`` points
    - ``error``: deviation of a run from the mean of the other runs at its point, as the median over ``runs`` runs

    So if the mean of the runs at a point predicts a new run there, the error is about ``error``.
    """

    points: int
    runs: int
    run: float
    error: float


def kind(metric: str) -> str:
    """Return whether errors of a metric are ``relative`` or ``absolute``."""
    return ABSOLUTE if metric in RATIOS else RELATIVE


def noise(points: Iterable[Point]) -> dict[str, Noise]:
    """Return the scatter between repeated runs, for each metric that has rows with at least two runs."""
    spreads: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        scale = 1.0 if kind(point.metric) == ABSOLUTE else point.value
        if point.std is not None and (point.n or 0) >= 2 and scale > 0:
            run = point.std / scale
            spreads.setdefault(point.metric, []).append((run, run / math.sqrt(point.n or 1)))
    return {
        metric: Noise(len(pairs), *(median(column) for column in zip(*pairs, strict=True)))
        for metric, pairs in sorted(spreads.items())
    }


def repeats(points: Iterable[Point]) -> dict[str, Repeats]:
    """Return the scatter of the runs at one point, for each metric that has a point with two or more runs.

    Parameters
    ----------
    points : iterable of Point
        Rows of one run each, such as held-out runs.
    """
    runs_of: dict[str, dict[tuple[object, ...], list[float]]] = {}
    for point in points:
        by_point = runs_of.setdefault(point.metric, {})
        by_point.setdefault(tuple(point)[POINT], []).append(point.value)

    scatter = {}
    for metric, by_point in sorted(runs_of.items()):
        spreads, errors = [], []
        absolute = kind(metric) == ABSOLUTE
        for runs in by_point.values():
            if len(runs) < 2:
                continue
            total = math.fsum(runs)
            if absolute or total > 0:
                spreads.append(stdev(runs) / (1.0 if absolute else fmean(runs)))
            errors += [
                abs((total - run) / (len(runs) - 1) - run) / (1.0 if absolute else run)
                for run in runs
                if absolute or run > 0
            ]
        if spreads:
            scatter[metric] = Repeats(len(spreads), len(errors), median(spreads), median(errors))
    return scatter

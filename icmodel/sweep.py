"""Sweep: predictions for every combination of some parameters' values.

A range is a text.  ``"64 B, 1448 B"`` lists values.  ``"64 B..65535 B"`` takes the first value, the last value, and
the dataset's values between them.  ``"64 B..65535 B:25"`` takes 25 values at equal distances, and
``"64 B..65535 B:25log"`` takes 25 values at equal ratios.  The items of a list may be ranges.  A rate or a requested
goodput may be ``unlimited``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from icmodel import scenario as words
from icmodel.dataset import AXES, Dataset, Point
from icmodel.errors import DatasetError, OutOfDomain, ScenarioError
from icmodel.model import Model
from icmodel.scenario import Scenario, ScenarioArrays
from icmodel.units import unit_of

if TYPE_CHECKING:
    import xarray

Value = float | str
"""A number in SI, or the text of a protocol or an option."""
Known = Callable[[str, float, float], Sequence[float]]
"""Function from the text, first and last value of a range to its values, for ranges without a number of values."""

COUNTS = ("cores", "switches", "endpoints")
WHOLE = ("payload_bytes", *COUNTS)
UNLIMITED = "unlimited"
LIMITS = ("rate_fps", "requested_goodput_bps")
"""Parameters that may be unlimited, which is represented by infinity."""
LARGEST_SWEEP = 100_000_000
LARGEST_RANGE = 1_000_000
"""Greatest number of values in one range."""
BLOCK = 8_192
"""Number of points that are answered between two reports of progress."""
MOST_TRIED = 1000
"""Greatest number of points that are predicted one by one to find the first refused point."""

_RANGE = re.compile(r"(?P<first>[^,]+?)\s*\.\.\s*(?P<last>[^,:]+?)(?:\s*:\s*(?P<how>[^,:]*))?")
_HOW = re.compile(r"(?P<count>[0-9]{1,9})\s*(?P<log>log)?")


@dataclass(frozen=True, slots=True)
class Axis:
    """SI name and values of one parameter; a ``fixed`` parameter has one value and makes no dimension."""

    name: str
    values: tuple[Value, ...]
    fixed: bool = False

    @property
    def textual(self) -> bool:
        """Whether the values are texts: protocols and options."""
        return is_textual(self.name)


def is_textual(name: str) -> bool:
    """Whether the values of a parameter are texts, as for the protocol and options."""
    return name == "protocol" or name not in {*words.SI_NAMES, *words.TEXT_SPELLINGS}


def sweep(
    model: Model,
    *,
    outside: str = "refuse",
    metrics: tuple[str, ...] | list[str] | None = None,
    intervals: bool = True,
    progress: Callable[[int, int], None] | None = None,
    most: int = LARGEST_SWEEP,
    **ranges: Unpack[ScenarioArrays],
) -> xarray.Dataset:
    """Predict every combination of some parameters' values.

    A name without a unit suffix takes a range as text (``payload="64 B..1448 B"``, ``cores="1..4"``).
    A name with a unit suffix takes one or several numbers in SI (``payload_bytes=[64, 1448]``).

    Parameters
    ----------
    model : Model
        Model that predicts.
    outside : "refuse", "nan" or "extrapolate"
        Treatment of points outside the dataset: "refuse" raises OutOfDomain, "nan" answers NaN, "extrapolate"
        answers, marked ``extrapolated``.
    metrics : sequence of str, optional
        Metrics to predict; all by default.
    intervals : bool
        Whether to add ``<metric>_low``, ``<metric>_high`` and ``<metric>_basis``.
    progress : callable, optional
        Called after every block with the number of answered points and the total number of points.
    most : int
        Greatest number of points.
    protocol : str or list of str
        One or several protocols; a text may list several, separated by commas.
    payload, payload_bytes : range, or numbers [B]
        Useful bytes per frame.
    rate, rate_fps : range, or numbers [frames/s]
        Requested rate; unlimited by default.
    requested_goodput, requested_goodput_bps : range, or numbers [b/s]
        Requested goodput, in place of a rate.
    cores, switches, endpoints : range, or whole numbers
        Parallel processes, switches on the path, and endpoints that send to the receiving interface.
    other_goodput, other_goodput_bps : range, or numbers [b/s]
        Sum of the goodputs that the other endpoints request.
    distance, distance_m : range, or numbers [m]
        Cable length.
    line_rate, line_rate_bps : range, or numbers [b/s]
        Rate of the link (hybrid only).
    cpu_clock, cpu_clock_ratio : range, or numbers
        Clock of the hosts relative to the dataset's (hybrid only).
    app_send, app_send_s, app_recv, app_recv_s : range, or numbers [s]
        Time that the application adds per frame (hybrid only).
    app_send_per_byte, app_send_s_per_byte, app_recv_per_byte, app_recv_s_per_byte : range, or numbers [s/B]
        Time that the application adds per byte of payload (hybrid only).
    options : mapping
        Values on the dataset's own axes, e.g. ``{"nagle": "on, off"}``.

    Returns
    -------
    xarray.Dataset
        The predictions, with a dimension for each parameter with several values, labelled in SI.  Fixed parameters
        are scalar coordinates.

    Raises
    ------
    UnitError, ScenarioError
        If a range cannot be read, or a value is impossible for every dataset.
    OutOfDomain
        If this dataset cannot answer a point and ``outside`` is "refuse".

    Examples
    --------
    >>> from icmodel import Model, sweep
    >>> model = Model("ethernet-10g-2012", "corrected")
    >>> grid = sweep(model, protocol="tcp", payload="64 B, 1448 B", switches="0..1")
    >>> dict(grid["goodput_bps"].sizes)
    {'payload_bytes': 2, 'switches': 2}
    """
    axes = axes_of(model, words.with_options(ranges))
    total = math.prod(len(axis.values) for axis in axes)
    if total > most:
        raise ScenarioError(f"the sweep has {total} points: ask at most {most}, or in parts")
    _check_corners(model, axes)
    options: dict[str, Any] = {"outside": outside, "metrics": metrics, "intervals": intervals}
    # Blocks of about `BLOCK` points along the longest axis.
    longest = max(axes, key=lambda axis: len(axis.values))
    count = len(longest.values)
    step = max(1, BLOCK // (total // count))
    whole: xarray.Dataset | None = None
    for start in range(0, count, step):
        part = replace(longest, values=longest.values[start : start + step])
        block = tuple(part if axis is longest else axis for axis in axes)
        answers = _answer_block(model, block, options)
        if whole is None and (longest.fixed or len(part.values) == count):
            whole = answers
        else:
            whole = whole if whole is not None else _allocate(answers, longest)
            here = slice(start, start + len(part.values))
            for name, column in answers.data_vars.items():
                place = tuple(here if dim == longest.name else slice(None) for dim in column.dims)
                whole[name].to_numpy()[place] = column.to_numpy()
        if progress is not None:
            progress(min(start + step, count) * (total // count), total)
    assert whole is not None  # every axis has a value
    labels = {
        axis.name: axis.values[0] if axis.fixed else (axis.name, np.array(axis.values))
        for axis in axes
    }
    labelled = whole.assign_coords(labels)
    for name, variable in labelled.variables.items():
        if variable.dtype.kind in "fiu" and "flag_values" not in variable.attrs:
            labelled[name].attrs["units"] = unit_of(str(name))
    return labelled


# --- reading ranges ---------------------------------------------------------------------------


def axes_of(model: Model, ranges: Mapping[str, object]) -> tuple[Axis, ...]:
    """Convert ranges to axes, in the order of the ranges; ``..`` stands for the values in the model's dataset.

    Raises
    ------
    UnitError, ScenarioError
        If a range cannot be read.
    OutOfDomain
        If the dataset does not have a protocol or an option, or has no rows at these.
    """
    data = model.data
    ranges = {name: value for name, value in ranges.items() if value is not None}
    order = [words.TEXT_SPELLINGS.get(name, (name,))[0] for name in ranges]
    for name in order:
        if order.count(name) > 1:
            raise ScenarioError(f"{name} is given twice: keep one of its two spellings")
    texts = [_text_axis(name, value) for name, value in ranges.items() if is_textual(name)]
    rows = _rows_at(model, texts)
    numbers = [
        _number_axis(name, value, data, rows)
        for name, value in ranges.items()
        if not is_textual(name)
    ]
    return tuple(sorted((*texts, *numbers), key=lambda axis: order.index(axis.name)))


def _text_axis(name: str, value: object) -> Axis:
    """Make the axis of a protocol or an option, from one name, several names separated by commas, or a list."""
    if isinstance(value, str):
        values = tuple(item.strip() for item in value.split(",") if item.strip())
        fixed = len(values) == 1
    else:
        values, fixed = tuple(str(item) for item in _list(name, value)), False
    if not values:
        raise ScenarioError(f"{name} {value!r} is empty: give a name, or several with commas")
    return Axis(name, tuple(dict.fromkeys(values)), fixed)


def _number_axis(name: str, value: object, data: Dataset, rows: tuple[Point, ...]) -> Axis:
    """Make the axis of a numeric parameter, from a range as text, or from one or several numbers in SI."""
    si_name = words.TEXT_SPELLINGS.get(name, (name,))[0]
    if isinstance(value, str):
        if name == si_name and name not in COUNTS:
            plain = next(text for text, (si, _) in words.TEXT_SPELLINGS.items() if si == name)
            raise ScenarioError(
                f"{name} {value!r} is a text: write numbers in SI, or {plain}= for texts with units"
            )

        def known(item: str, first: float, last: float) -> Sequence[float]:
            return _known_values(si_name, item, first, last, rows, data.id)

        texts = range_values(name, value, known)
        return Axis(si_name, texts, fixed=len(texts) == 1 and ".." not in value)
    if name != si_name:
        raise ScenarioError(
            f"{name}={value!r} has no unit: write a text with units, or {si_name}= for numbers in SI"
        )
    fixed = np.ndim(value) == 0  # type: ignore[arg-type]
    values = [_number(name, value) for value in ([value] if fixed else _list(name, value))]
    if not values:
        raise ScenarioError(f"{name} has no values: give at least one")
    return Axis(name, tuple(dict.fromkeys(values)), fixed)


def range_values(name: str, text: str, known: Known) -> tuple[float, ...]:
    """Convert a range of one parameter to its values in SI, in their order, without duplicates.

    Parameters
    ----------
    name : str
        Name of the parameter without a unit suffix (``payload``, ``cores``).
    text : str
        Range as text.
    known : callable
        Function that returns the values of a range without a number of values.

    Raises
    ------
    UnitError, ScenarioError
        If the range cannot be read.

    Examples
    --------
    >>> range_values("payload", "64 B..1024 B:5log, 1448 B", known=lambda *ends: ())
    (64, 128, 256, 512, 1024, 1448)
    """

    def parse_count(text: str) -> float:
        if not re.fullmatch(r"[0-9]{1,18}", text.strip()):
            raise ScenarioError(
                f"{name} {text!r} is not a count: give a whole number such as 2, several as 1,4, "
                "or a range as 1..4"
            )
        return int(text)

    si_name, parse = words.TEXT_SPELLINGS.get(name, (name, parse_count))
    values: list[float] = []
    for item in (piece.strip() for piece in text.split(",")):
        match = _RANGE.fullmatch(item)
        if match is None:
            unlimited = si_name in LIMITS and item == UNLIMITED
            values.append(math.inf if unlimited else parse(item))
            continue
        first, last = parse(match["first"]), parse(match["last"])
        if not first < last:
            raise ScenarioError(
                f"the range {item!r} of {name} runs downwards: write the lesser value first"
            )
        how = match["how"]
        values += (
            known(item, first, last)
            if how is None
            else _spaced_values(name, item, first, last, how)
        )
        if len(values) > LARGEST_RANGE:
            raise ScenarioError(f"{name} has more than {LARGEST_RANGE} values: ask in parts")
    return tuple(dict.fromkeys(values))


def _spaced_values(name: str, item: str, first: float, last: float, how: str) -> list[float]:
    """Values of a range that ends in `:N` or `:Nlog`; rounded for parameters with whole numbers."""
    match = _HOW.fullmatch(how.strip())
    count = int(match["count"]) if match else 0
    if match is None or not 2 <= count <= LARGEST_RANGE:
        raise ScenarioError(
            f"the range {item!r} of {name} ends in {how!r}: write how many values, at least 2 and at "
            f"most {LARGEST_RANGE}, such as :25 (equal distances) or :25log (equal ratios)"
        )
    if match["log"] and first <= 0:
        raise ScenarioError(f"the range {item!r} of {name} has equal ratios: start it above 0")
    spaced = np.geomspace(first, last, count) if match["log"] else np.linspace(first, last, count)
    if name == "payload" or name in COUNTS:
        return [int(value) for value in np.rint(spaced)]
    return [float(value) for value in spaced]


def _known_values(
    name: str, item: str, first: float, last: float, rows: tuple[Point, ...], dataset: str
) -> list[float]:
    """First and last value of a range, and the dataset's values between them; all counts if a rule covers counts.

    A first or last value beyond the measured range is kept; the model refuses or marks its points like any question.
    """
    if name in ("switches", "endpoints"):
        if last - first >= LARGEST_RANGE:
            raise ScenarioError(
                f"the range {item!r} of {name} has more than {LARGEST_RANGE} values: write how many "
                f"of them, such as {item}:25log"
            )
        return list(range(int(first), int(last) + 1))
    column = "load_bps" if name == "requested_goodput_bps" else name
    if column not in AXES:
        raise ScenarioError(
            f"the range {item!r} of {name} needs a number of values, as no dataset has points of "
            f"it: write {item}:25 or {item}:25log"
        )
    found = {getattr(point, column) for point in rows} - {None}
    if not rows:
        raise OutOfDomain(
            f"{dataset} has no rows at these options: see `icmodel datasets show {dataset}` for the "
            "values each protocol has"
        )
    between = {value for value in found if first < value < last}
    if not between and name not in COUNTS:
        raise ScenarioError(
            f"{dataset} has no {name} in the range {item!r}: say how many values, such as {item}:25"
        )
    return sorted({first, *between, last})


def _rows_at(model: Model, texts: list[Axis]) -> tuple[Point, ...]:
    """Rows for the protocols and options of the axes; for ``hybrid`` the rows with the nearest options."""
    data = model.data
    values = {axis.name: axis.values for axis in texts}
    protocols = [str(name) for name in values.pop("protocol", data.protocols)]
    for name in protocols:
        if name not in data.protocols:
            raise OutOfDomain(
                f"{data.id} has no protocol {name!r}: it has {', '.join(data.protocols)}"
            )
    chosen = [dict(zip(values, map(str, v), strict=True)) for v in product(*values.values())]
    try:
        return tuple(
            point
            for name in protocols
            for options in chosen
            for point in model.rows(name, options).points
        )
    except DatasetError as error:
        raise OutOfDomain(str(error)) from error


def _list(name: str, value: object) -> list[object]:
    values = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(values, (list, tuple)) or any(np.ndim(value) for value in values):
        raise ScenarioError(
            f"{name} {value!r} is not a list of values: give one value or a one-dimensional list"
        )
    return list(values)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ScenarioError(f"{name} {value!r} is not a number: give numbers in SI")
    number = float(value)
    return int(number) if name in WHOLE and number.is_integer() else number


# --- checking and answering -------------------------------------------------------------------


def _scenario(axes: Sequence[Axis], values: Sequence[Value]) -> Scenario:
    """Make the scenario of one point; an unlimited rate becomes ``None``."""
    question = {axis.name: value for axis, value in zip(axes, values, strict=True)}
    options = {name: question.pop(name) for name in list(question) if name not in words.SI_NAMES}
    return words.scenario(
        **{name: None if value == math.inf else value for name, value in question.items()},
        options=options,
    )


def _check_corners(model: Model, axes: tuple[Axis, ...]) -> None:
    """Raise an error for impossible values, and for values that the dataset has no axis or rule for.

    Only the least and the greatest value of each numeric axis are checked.
    """
    ends = [
        axis.values if axis.textual else dict.fromkeys((min(axis.values), max(axis.values)))
        for axis in axes
    ]
    for corner in product(*ends):
        _, problems = model.fit_question(_scenario(axes, corner))
        if problems:
            raise OutOfDomain(problems[0])


def _answer_block(
    model: Model, axes: tuple[Axis, ...], options: Mapping[str, Any]
) -> xarray.Dataset:
    """Answer all points of the given axes; an axis of several texts is passed to the model as indices."""
    import xarray as xr  # not needed to read a range

    data = model.data
    question: dict[str, Any] = {}
    for axis in axes:
        if axis.fixed:
            question[axis.name] = axis.values[0]
            continue
        values: Any = np.array(axis.values)
        if axis.textual:
            is_protocol = axis.name == "protocol"
            names = data.protocols if is_protocol else data.option_values(axis.name)
            values = [names.index(str(value)) for value in axis.values]
        question[axis.name] = xr.DataArray(values, dims=axis.name)
    try:
        return model.predict_many(**question, **options)
    except OutOfDomain as refusal:
        # Report the reason that Model.predict states for the first refused point.
        metrics = tuple(dict.fromkeys((*(options["metrics"] or ()), "goodput_bps")))
        answered = model.predict_many(**question, outside="nan", metrics=metrics, intervals=False)
        outside = "extrapolate" if options["outside"] == "extrapolate" else "refuse"
        missing = np.flatnonzero(np.isnan(answered["goodput_bps"].to_numpy().reshape(-1)))
        shape = tuple(len(axis.values) for axis in axes)
        for flat in missing[:MOST_TRIED]:
            places = np.unravel_index(flat, shape)
            point = [axis.values[int(k)] for axis, k in zip(axes, places, strict=True)]
            try:
                model.predict(_scenario(axes, point), outside=outside)
            except OutOfDomain as error:
                text = f"{error} (this is the first such point of the sweep)"
                raise OutOfDomain(text) from None
        raise refusal from None


def _allocate(part: xarray.Dataset, longest: Axis) -> xarray.Dataset:
    """Make an empty dataset for the whole sweep, with the variables of the first block's answers.

    The dataset is allocated once, so that a sweep needs little more memory than its result.
    """
    import xarray as xr  # not needed to read a range

    sizes = {**part.sizes, longest.name: len(longest.values)}
    empty = {
        name: (v.dims, np.empty([sizes[dim] for dim in v.dims], v.dtype), v.attrs)
        for name, v in part.data_vars.items()
    }
    return xr.Dataset(empty, attrs=part.attrs)

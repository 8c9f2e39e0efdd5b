"""Ranges of a sweep: texts and numbers, converted to the axes of a grid.

- ``"64 B, 1448 B"`` lists values; an item of a list may be a range.
- ``"64 B..65535 B"`` means both ends, and the dataset's values between them.
- ``"64 B..65535 B:25"`` means 25 values at equal distances.
- ``"64 B..65535 B:25log"`` means 25 values at equal ratios.
- ``"unlimited"`` is a possible value of a rate or a requested goodput.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from icmodel import scenario as words
from icmodel.dataset import AXES, Dataset, Point
from icmodel.errors import DatasetError, OutOfDomain, ScenarioError
from icmodel.model import Model
from icmodel.ranges import MOST, VALID_RANGES, ValidRange

Value = float | str
"""Value of a swept parameter: a number in SI units, or the text of a protocol or an option."""
Known = Callable[[str, float, float], Sequence[float]]
"""Function that returns the values of a range ``A..B``; its arguments are the range as text, A and B."""

COUNTS = ("cores", "switches", "endpoints")
WHOLE = ("payload_bytes", *COUNTS)
UNLIMITED = "unlimited"
LIMITS = ("rate_fps", "requested_goodput_bps")
"""Parameters that may be unlimited; infinity stands for an unlimited value."""
LARGEST_RANGE = 1_000_000
"""Greatest number of values in one range of a sweep."""

_RANGE = re.compile(r"(?P<first>[^,]+?)\s*\.\.\s*(?P<last>[^,:]+?)(?:\s*:\s*(?P<spacing>[^,:]*))?")
_SPACING = re.compile(r"(?P<count>[0-9]{1,9})\s*(?P<log>log)?")


@dataclass(frozen=True, slots=True)
class Axis:
    """One parameter of a sweep: its name with the SI unit as suffix, and its values.

    A ``fixed`` parameter was given as a single value, and is not a dimension of the result.  A Python list, or a
    range ``A..B``, is a dimension even if it has one value.
    """

    name: str
    values: tuple[Value, ...]
    fixed: bool = False

    @property
    def textual(self) -> bool:
        """Whether the values are texts: true for the protocol and for options."""
        return is_textual(self.name)


def is_textual(name: str) -> bool:
    """Whether the values of a parameter are texts: true for the protocol and for options."""
    return name == "protocol" or name not in {*words.SI_NAMES, *words.TEXT_SPELLINGS}


def axes_of(model: Model, ranges: Mapping[str, object]) -> tuple[Axis, ...]:
    """Convert ranges to axes, in the order of the ranges.

    A range ``A..B`` contains A, B and all values between them that the model's dataset has.

    Raises
    ------
    UnitError, ScenarioError
        If a range cannot be read.
    OutOfDomain
        If the dataset does not have a protocol or an option, or has no rows with them.
    """
    data = model.data
    ranges = {name: value for name, value in ranges.items() if value is not None}
    order = [words.TEXT_SPELLINGS.get(name, (name,))[0] for name in ranges]
    for name in order:
        if order.count(name) > 1:
            raise ScenarioError(f"{name} is given twice: keep one of its two spellings")
    texts = [text_axis(name, value) for name, value in ranges.items() if is_textual(name)]
    rows = rows_at(model, texts)
    numbers = [
        number_axis(name, value, data, rows)
        for name, value in ranges.items()
        if not is_textual(name)
    ]
    return tuple(sorted((*texts, *numbers), key=lambda axis: order.index(axis.name)))


def text_axis(name: str, value: object) -> Axis:
    """Make the axis of a protocol or an option, from one name, several names separated by commas, or a list."""
    if isinstance(value, str):
        values = tuple(item.strip() for item in value.split(",") if item.strip())
        fixed = len(values) == 1
    else:
        values, fixed = tuple(str(item) for item in _list(name, value)), False
    if not values:
        raise ScenarioError(f"{name} {value!r} is empty: give a name, or several with commas")
    return Axis(name, tuple(dict.fromkeys(values)), fixed)


def number_axis(name: str, value: object, data: Dataset, rows: tuple[Point, ...]) -> Axis:
    """Make the axis of a numeric parameter, from a range as text, or from one or several numbers in SI."""
    si_name = words.TEXT_SPELLINGS.get(name, (name,))[0]
    if isinstance(value, str):
        if name == si_name and name not in COUNTS:
            plain = next(text for text, (si, _) in words.TEXT_SPELLINGS.items() if si == name)
            raise ScenarioError(
                f"{name} {value!r} is a text: write numbers in SI, or {plain}= for texts with units"
            )

        def known(item: str, first: float, last: float) -> Sequence[float]:
            return known_values(si_name, item, first, last, rows, data.id)

        texts = range_values(name, value, known, VALID_RANGES[si_name])
        return Axis(si_name, texts, fixed=len(texts) == 1 and ".." not in value)
    if name != si_name:
        listed = list(value) if isinstance(value, (list, tuple)) else []
        if listed and all(isinstance(one, str) for one in listed):
            joined = ", ".join(map(str, listed))
            raise ScenarioError(f"{name} is a list of texts: write one text, {name}={joined!r}")
        raise ScenarioError(
            f"{name}={value!r} has no unit: write a text with units, or {si_name}= for numbers in SI"
        )
    fixed = np.ndim(value) == 0  # type: ignore[arg-type]
    values: list[float] = []
    for number in [value] if fixed else _list(name, value):
        if isinstance(number, bool) or not isinstance(number, (int, float, np.number)):
            raise ScenarioError(f"{name} {number!r} is not a number: give numbers in SI")
        try:
            si = float(number)
        except OverflowError:  # an integer beyond all floats
            raise ScenarioError(VALID_RANGES[name].refusal(name, number)) from None
        values.append(int(si) if name in WHOLE and si.is_integer() else si)
    if not values:
        raise ScenarioError(f"{name} has no values: give at least one")
    return Axis(name, tuple(dict.fromkeys(values)), fixed)


def range_values(
    name: str, text: str, known: Known, valid: ValidRange | None = None
) -> tuple[float, ...]:
    """Convert a range of one parameter to its values in SI, in their order, without duplicates.

    Parameters
    ----------
    name : str
        Name of the parameter without a unit suffix (``payload``, ``cores``).
    text : str
        Range as text.
    known : callable
        Function that returns the values of a range ``A..B``; see `Known`.
    valid : ValidRange, optional
        Valid range of the parameter; not checked by default.

    Raises
    ------
    UnitError, ScenarioError
        If the range cannot be read, or one of its ends is not valid.

    Examples
    --------
    >>> range_values("payload", "64 B..1024 B:5log, 1448 B", known=lambda *ends: ())
    (64, 128, 256, 512, 1024, 1448)
    """

    def parse_count(text: str) -> float:
        # A longer number would not fit into a float.
        if not re.fullmatch(r"[0-9]{1,300}", text.strip()):
            raise ScenarioError(
                f"{name} {text!r} is not a count: give a whole number up to {MOST} such as 2, several as "
                "1,4, or a range as 1..4"
            )
        return int(text)

    si_name, parse = words.TEXT_SPELLINGS.get(name, (name, parse_count))

    def end(text: str) -> float:
        value = parse(text)
        if valid is not None and not valid.allows(float(value)):
            raise ScenarioError(valid.refusal(name, text.strip()))
        return value

    values: list[float] = []
    for item in (piece.strip() for piece in text.split(",")):
        match = _RANGE.fullmatch(item)
        if match is None:
            unlimited = si_name in LIMITS and item == UNLIMITED
            values.append(math.inf if unlimited else end(item))
            continue
        first, last = end(match["first"]), end(match["last"])
        if first > last:
            raise ScenarioError(
                f"the range {item!r} of {name} is descending: write the lesser value first"
            )
        if first == last:
            values.append(first)
            continue
        spacing = match["spacing"]
        values += (
            known(item, first, last)
            if spacing is None
            else spaced_values(name, item, first, last, spacing)
        )
        if len(values) > LARGEST_RANGE:
            raise ScenarioError(
                f"{name} has more than {LARGEST_RANGE} values: split the range into several sweeps"
            )
    return tuple(dict.fromkeys(values))


def spaced_values(name: str, item: str, first: float, last: float, spacing: str) -> list[float]:
    """Return the values of a range with a given number of values, such as ``64 B..9 kB:25``.

    ``spacing`` is the text after the colon: ``25`` means 25 values at equal distances, and ``25log`` at equal ratios.
    Payloads and counts are rounded to whole numbers.
    """
    match = _SPACING.fullmatch(spacing.strip())
    count = int(match["count"]) if match else 0
    if match is None or not 2 <= count <= LARGEST_RANGE:
        raise ScenarioError(
            f"the range {item!r} of {name} has {spacing!r} after the colon: write a number of values from 2 to "
            f"{LARGEST_RANGE}, such as :25 (equal distances) or :25log (equal ratios)"
        )
    if match["log"] and first <= 0:
        raise ScenarioError(
            f"the range {item!r} of {name} has equal ratios, which is impossible from 0: start it above 0"
        )
    spaced = np.geomspace(first, last, count) if match["log"] else np.linspace(first, last, count)
    if name == "payload" or name in COUNTS:
        return [int(value) for value in np.rint(spaced)]
    return [float(value) for value in spaced]


def known_values(
    name: str, item: str, first: float, last: float, rows: tuple[Point, ...], dataset: str
) -> list[float]:
    """Return the first and the last value of a range, and the dataset's values between them.

    For switches and endpoints, all whole numbers of the range are returned.

    A first or last value beyond the measured range is kept: the model refuses its points, or marks them as
    extrapolated.
    """
    if name in ("switches", "endpoints"):
        if last - first >= LARGEST_RANGE:
            raise ScenarioError(
                f"the range {item!r} of {name} has more than {LARGEST_RANGE} values: add a "
                f"number of values, such as {item}:25log"
            )
        return list(range(int(first), int(last) + 1))
    column = "load_bps" if name == "requested_goodput_bps" else name
    if column not in AXES:
        raise ScenarioError(
            f"the range {item!r} of {name} needs a number of values, since datasets have no axis "
            f"{name}: write {item}:25 or {item}:25log"
        )
    found = {getattr(point, column) for point in rows} - {None}
    if not rows:
        raise OutOfDomain(
            f"{dataset} has no rows at these options: choose options that "
            f"`icmodel datasets show {dataset}` lists for the protocol"
        )
    between = {value for value in found if first < value < last}
    if not between and name not in COUNTS:
        raise ScenarioError(
            f"{dataset} has no {name} in the range {item!r}: write {item}:25 for 25 values in the range"
        )
    return sorted({first, *between, last})


def rows_at(model: Model, texts: list[Axis]) -> tuple[Point, ...]:
    """Return the dataset rows from which a model predicts the points of a sweep.

    ``texts`` are the axes with the protocols and the options of the sweep.  If the dataset has no rows at these
    options, the variant ``hybrid`` uses rows at the nearest options.
    """
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

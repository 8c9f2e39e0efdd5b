"""Arrays of questions, as texts or numbers, broadcast to columns of one length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from icmodel import scenario as words
from icmodel.errors import OutOfDomain, ScenarioError

Column = NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class QuestionTable:
    """Broadcast questions, flattened: one column a parameter, and the shape to restore."""

    columns: Mapping[str, Column]
    options: Mapping[str, Column | str]
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    coords: Mapping[str, object]

    def __len__(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def used(self, protocols: tuple[str, ...]) -> tuple[str, ...]:
        """The protocols that some question has, in order; all of them if there is no question."""
        counts = np.bincount(self.columns["protocol"].astype(np.int64), minlength=len(protocols))
        found = zip(protocols, counts.tolist(), strict=True)
        return tuple(name for name, count in found if count) or protocols


def question_table(question: Mapping[str, object], protocols: tuple[str, ...]) -> QuestionTable:
    """Parameters in either spelling as one table.

    Raises
    ------
    UnitError, ScenarioError, OutOfDomain
        If a parameter is missing, given twice, has no unit, or cannot be broadcast.
    """
    si = _in_si(question)
    si["protocol"] = codes("protocol", si["protocol"], protocols)
    texts: dict[str, Column | str] = {}
    for name in [name for name in si if name not in words.SI_NAMES]:
        if isinstance(si[name], str):
            texts[name] = str(si.pop(name))
    columns, dims, coords, shape = _broadcast(si)
    flat = {name: np.broadcast_to(column, shape).reshape(-1) for name, column in columns.items()}
    coded = {name: flat.pop(name) for name in list(flat) if name not in words.SI_NAMES}
    return QuestionTable(flat, {**texts, **coded}, shape, dims, coords)


def _in_si(question: Mapping[str, object]) -> dict[str, object]:
    si: dict[str, object] = {}
    for name, value in question.items():
        if value is None:
            continue
        si_name, number = _one_in_si(name, value)
        if si_name in si:
            raise ScenarioError(f"{si_name} is given twice: keep one of its two spellings")
        si[si_name] = number
    for needed in ("protocol", "payload_bytes"):
        if needed not in si:
            raise ScenarioError(f"the question has no {needed}: give a number, a text or an array")
    if "rate_fps" in si and "requested_goodput_bps" in si:
        raise ScenarioError(
            "rate and requested goodput are both given: keep one, they say the same"
        )
    return si


def _one_in_si(name: str, value: object) -> tuple[str, object]:
    if name not in words.TEXT_SPELLINGS:
        return name, value
    si_name, parse = words.TEXT_SPELLINGS[name]
    if not isinstance(value, str):
        raise ScenarioError(
            f"{name} has no unit: write {si_name} for numbers in SI, or one text with its unit"
        )
    return si_name, parse(value)


def codes(axis: str, value: object, names: tuple[str, ...]) -> object:
    """The code of a text; arrays are codes into ``names`` already.

    Raises
    ------
    OutOfDomain, ScenarioError
        If the text is none of the names, or a code is out of range.
    """
    if isinstance(value, str):
        if value not in names:
            raise OutOfDomain(f"there is no {axis} {value!r}: it is one of {', '.join(names)}")
        return names.index(value)
    array = np.asarray(value)
    whole = array.dtype.kind in "iu"
    if not whole or (array.size and not 0 <= array.min() <= array.max() < len(names)):
        raise ScenarioError(
            f"{axis} must be one text or whole codes from 0 to {len(names) - 1} for "
            f"{', '.join(names)}"
        )
    return value


Broadcast = tuple[dict[str, Column], tuple[str, ...], dict[str, object], tuple[int, ...]]


def _broadcast(si: Mapping[str, object]) -> Broadcast:
    labelled = {name: v for name, v in si.items() if isinstance(v, (xr.DataArray, xr.Variable))}
    if labelled:
        return _broadcast_labelled(si, labelled)
    columns = {name: np.asarray(value) for name, value in si.items()}
    try:
        shape = np.broadcast_shapes(*(column.shape for column in columns.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {column.shape}" for name, column in columns.items())
        raise ScenarioError(f"the parameters do not broadcast to one shape: {shapes}") from error
    dims = ("point",) if len(shape) == 1 else tuple(f"dim_{k}" for k in range(len(shape)))
    return columns, dims, {}, shape


def _broadcast_labelled(
    si: Mapping[str, object], labelled: Mapping[str, xr.DataArray | xr.Variable]
) -> Broadcast:
    try:
        arrays = xr.align(*(xr.DataArray(v) for v in labelled.values()), join="exact", copy=False)
    except ValueError as error:
        raise ScenarioError(
            "the labels of the parameters do not fit: give arrays of one dimension the same labels"
        ) from error
    spread = xr.broadcast(*arrays)
    columns = {name: array.values for name, array in zip(labelled, spread, strict=True)}
    rest = {name: np.asarray(value) for name, value in si.items() if name not in labelled}
    if any(column.ndim for column in rest.values()):
        raise ScenarioError(
            "labelled and plain arrays are mixed: give every array its dimension, or none"
        )
    first = spread[0]
    coords = {str(name): coordinate for name, coordinate in first.coords.items()}
    return {**columns, **rest}, tuple(str(dim) for dim in first.dims), coords, first.shape

"""Whole arrays of questions: broadcast to one table, checked, and handed out block by block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from icmodel import scenario as words
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.model.block import Questions
from icmodel.model.ground import Ground
from icmodel.model.rules import Rules

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Column = NDArray[np.generic]
Piece = slice | Ints

DEFAULTS: Mapping[str, float] = {
    "rate_fps": np.inf,
    "requested_goodput_bps": np.inf,
    "cores": np.nan,
    "switches": 0.0,
    "endpoints": 1.0,
    "other_goodput_bps": 0.0,
    "distance_m": np.nan,
    "line_rate_bps": np.nan,
    "cpu_clock_ratio": 1.0,
}
"""What stands where a numeric parameter is left out; NaN is the dataset's own."""


@dataclass(frozen=True, slots=True)
class Table:
    """Broadcast questions, flat: one column a parameter, and how to fold them back."""

    columns: Mapping[str, Column]
    options: Mapping[str, Column | str]
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    coords: Mapping[str, object]

    def __len__(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


def table(question: Mapping[str, object], protocols: tuple[str, ...]) -> Table:
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
    return Table(flat, {**texts, **coded}, shape, dims, coords)


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
    """One text as its code; arrays are codes into ``names`` already.

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


class Asker:
    """Hands out the questions of a table as blocks on one ground."""

    def __init__(self, ground: Ground, rules: Rules, questions: Table) -> None:
        self.ground = ground
        self.rules = rules
        self.table = questions
        self.limits = np.array([wire.greatest_payload_bytes() or np.inf for wire in ground.wires])

    def questions(self, piece: Piece) -> tuple[Questions, Bools]:
        """The questions of one piece, and which of them this dataset cannot answer at all.

        Raises
        ------
        ScenarioError
            If a question could not be asked of any dataset.
        """
        protocol = self.table.columns["protocol"][piece].astype(np.int64)
        payload = self._column("payload_bytes", piece)
        rated = "rate_fps" in self.table.columns
        rate = self._column("rate_fps" if rated else "requested_goodput_bps", piece)
        switches, endpoints = self._column("switches", piece), self._column("endpoints", piece)
        others, distance = (
            self._column("other_goodput_bps", piece),
            self._column("distance_m", piece),
        )
        given_cores = self._column("cores", piece)
        _check(payload, rate, given_cores, switches, endpoints, others, distance)
        asked_cores, cores, beyond = self.rules.cores(protocol, given_cores)
        impossible = payload > self.limits.take(protocol)
        if not self.ground.extended:
            impossible |= beyond
        impossible |= self.rules.unanswerable(protocol, given_cores, switches, endpoints, distance)
        cable = self.ground.link.cable_length_m or 0.0
        extra = distance - cable
        extra[np.isnan(extra)] = 0.0
        questions = Questions(
            protocol,
            payload,
            _requested(rate if rated else rate / (payload * 8), payload),
            cores,
            asked_cores,
            switches.astype(np.int64),
            endpoints,
            others,
            extra,
        )
        return questions, impossible

    def _column(self, name: str, piece: Piece) -> Floats:
        if name in self.table.columns:
            return self.table.columns[name][piece].astype(np.float64)
        count = piece.stop - piece.start if isinstance(piece, slice) else len(piece)
        return np.full(count, DEFAULTS[name])


def _requested(rate: Floats, payload: Floats) -> Floats:
    """Rate × payload × 8 [b/s], to the last bit as Scenario makes it."""
    request = rate * payload * 8
    whole = np.rint(request)
    with np.errstate(invalid="ignore"):  # unlimited
        beside = np.abs(request - whole) <= words.ROUNDING * np.spacing(request)
    np.copyto(request, whole, where=beside)
    return request


def _check(
    payload: Floats,
    rate: Floats,
    cores: Floats,
    switches: Floats,
    endpoints: Floats,
    others: Floats,
    distance: Floats,
) -> None:
    """Refuse what is wrong in any dataset, as Scenario does for one question."""
    for name, column, least in (
        ("payload_bytes", payload, 1),
        ("switches", switches, 0),
        ("endpoints", endpoints, 1),
    ):
        if not (column.min() >= least and (np.rint(column) == column).all()):
            raise ScenarioError(f"{name} has an impossible value: whole numbers from {least} on")
    if (cores < 1).any() or (np.rint(cores) != cores)[~np.isnan(cores)].any():
        raise ScenarioError("cores has an impossible value: whole numbers from 1 on")
    if not rate.min() > 0:
        raise ScenarioError(
            "rate_fps or requested_goodput_bps has an impossible value: above 0, inf is unlimited"
        )
    if not (others.min() >= 0 and np.isfinite(others.max())):
        raise ScenarioError("other_goodput_bps has an impossible value: finite, 0 or more")
    if ((others > 0) & (endpoints == 1)).any():
        raise ScenarioError(
            "other_goodput_bps is above 0 where endpoints is 1, which is this stream alone: count "
            "the others too"
        )
    if (distance < 0).any() or np.isinf(distance).any():
        raise ScenarioError("distance_m has an impossible value: finite, 0 or more")

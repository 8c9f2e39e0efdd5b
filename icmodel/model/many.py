"""Whole arrays of questions: broadcast, cut into blocks, answered by threads into one Dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from icmodel import scenario as words
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import BASES, BOTTLENECKS
from icmodel.interpolation import HIGH, LOW, VALUE, cell_of
from icmodel.model import basis, cpu
from icmodel.model.answer import answer, course, metric_names
from icmodel.model.block import Block, Questions, WireTimes, block, wire_times
from icmodel.model.bottleneck import bottleneck
from icmodel.model.ground import Ground

if TYPE_CHECKING:
    from icmodel.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BLOCK = 16_384
"""Questions answered at once: small enough that a block's columns stay in the cache."""
DENSE_PAYLOADS = 1 << 17
"""Up to this payload theory and cells are looked up by payload instead of computed again."""
COLUMNS: Mapping[str, float] = {
    "payload_bytes": np.nan,
    "rate_fps": np.inf,
    "requested_goodput_bps": np.inf,
    "cores": np.nan,
    "switches": 0.0,
    "endpoints": 1.0,
    "other_goodput_bps": 0.0,
    "distance_m": np.nan,
}
"""Numeric parameters and what stands where one is left out."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the caller wants of ``predict_many``."""

    outside: str
    metrics: tuple[str, ...] | None
    intervals: bool
    threads: int | None


@dataclass(frozen=True, slots=True)
class Table:
    """Broadcast questions, flat: one column a parameter, and how to fold them back."""

    columns: Mapping[str, NDArray[np.generic]]
    options: Mapping[str, NDArray[np.generic] | str]
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    coords: Mapping[str, object]
    rate_given: bool

    def __len__(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


def predict_many(model: Model, question: Mapping[str, object], wishes: Wishes) -> xr.Dataset:
    """Answer whole arrays; see :meth:`icmodel.model.Model.predict_many`."""
    if wishes.outside not in ("refuse", "nan", "extrapolate"):
        raise ScenarioError(f"outside={wishes.outside!r} is not one of refuse, nan, extrapolate")
    table = _table(model, question)
    size = len(table)
    out: dict[str, NDArray[np.generic]] = {}
    refused = np.zeros(size, dtype=bool)
    for options, where in _option_groups(model, table):
        ground = model.ground(options, extend=wishes.outside == "extrapolate")
        _check_metrics(ground, wishes.metrics)
        worker = _Worker(
            model, ground, table, wishes, _allocate(out, ground, wishes, size), refused
        )
        worker.run(where)
    if wishes.outside != "nan" and refused.any():
        first = int(np.argmax(refused))
        index = tuple(int(i) for i in np.unravel_index(first, table.shape)) if table.shape else ()
        raise OutOfDomain(
            f"{int(refused.sum())} of {size} questions are outside {model.data.id}, the first at "
            f'index {index}: ask within, or pass outside="nan" or outside="extrapolate"'
        )
    return _fold(model, out, table)


# --- questions --------------------------------------------------------------------------------


def _table(model: Model, question: Mapping[str, object]) -> Table:
    given = {name: _si(name, value) for name, value in question.items() if value is not None}
    si = dict(given.values())
    if len(si) != len(given):
        raise ScenarioError("a parameter is given in both spellings: keep one")
    if "protocol" not in si or "payload_bytes" not in si:
        raise ScenarioError("the question needs protocol and payload_bytes")
    if "rate_fps" in si and "requested_goodput_bps" in si:
        raise ScenarioError(
            "rate and requested goodput are both given: keep one, they say the same"
        )
    si["protocol"] = _codes("protocol", si["protocol"], model.data.protocols)
    options = {}
    for name in [n for n in si if n not in words.SI_NAMES]:
        value = si.pop(name)
        if not isinstance(value, str):
            si[f"option {name}"] = value
        options[name] = value
    columns, dims, coords, shape = _broadcast(si)
    flat = {name: np.broadcast_to(column, shape).reshape(-1) for name, column in columns.items()}
    return Table(
        flat,
        {name: flat.get(f"option {name}", str(value)) for name, value in options.items()},
        shape,
        dims,
        coords,
        "rate_fps" in flat,
    )


def _si(name: str, value: object) -> tuple[str, object]:
    if name in words.TEXT_SPELLINGS:
        si_name, parse = words.TEXT_SPELLINGS[name]
        if not isinstance(value, str):
            raise ScenarioError(
                f"{name} is an array or number without a unit: write {si_name} for numbers in SI"
            )
        return si_name, parse(value)
    return name, value


def _codes(axis: str, value: object, names: tuple[str, ...]) -> object:
    """Codes of one text; arrays are codes already."""
    if isinstance(value, str):
        if value not in names:
            raise OutOfDomain(f"there is no {axis} {value!r}: it is one of {', '.join(names)}")
        return names.index(value)
    codes = np.asarray(value)
    if codes.dtype.kind not in "iu" or (
        codes.size and not 0 <= codes.min() <= codes.max() < len(names)
    ):
        raise ScenarioError(
            f"{axis} must be one text or whole codes from 0 to {len(names) - 1} for "
            f"{', '.join(names)}"
        )
    return value


Broadcast = tuple[
    dict[str, NDArray[np.generic]], tuple[str, ...], dict[str, object], tuple[int, ...]
]


def _broadcast(si: Mapping[str, object]) -> Broadcast:
    labelled = {name: v for name, v in si.items() if isinstance(v, (xr.DataArray, xr.Variable))}
    if labelled:
        arrays = [v if isinstance(v, xr.DataArray) else xr.DataArray(v) for v in labelled.values()]
        spread = xr.broadcast(*arrays)
        first = spread[0]
        columns = {name: array.values for name, array in zip(labelled, spread, strict=True)}
        rest = {n: np.asarray(v) for n, v in si.items() if n not in labelled}
        if any(column.ndim for column in rest.values()):
            raise ScenarioError(
                "mix labelled arrays with numbers only: give every array its dimension"
            )
        dims = tuple(str(dim) for dim in first.dims)
        return {**columns, **rest}, dims, {str(k): v for k, v in first.coords.items()}, first.shape
    columns = {name: np.asarray(value) for name, value in si.items()}
    shape = np.broadcast_shapes(*(column.shape for column in columns.values()))
    dims = ("point",) if len(shape) == 1 else tuple(f"dim_{k}" for k in range(len(shape)))
    return columns, dims, {}, shape


OptionGroup = tuple[tuple[tuple[str, str], ...], Ints | None]


def _option_groups(model: Model, table: Table) -> Iterator[OptionGroup]:
    """Questions with the same option values; ``None`` as place is all of them."""
    fixed = {name: value for name, value in table.options.items() if isinstance(value, str)}
    coded = {name: value for name, value in table.options.items() if not isinstance(value, str)}
    if not coded:
        yield tuple(sorted(fixed.items())), None
        return
    for name, value in coded.items():
        if name not in model.data.option_axes:
            raise OutOfDomain(f"{model.data.id} has no axis {name!r}: leave it out")
        _codes(name, value, model.data.option_values(name))
    codes = np.stack([np.asarray(value, dtype=np.int64) for value in coded.values()])
    unique, inverse = np.unique(codes, axis=1, return_inverse=True)
    for k, combination in enumerate(unique.T.tolist()):
        values = {
            name: model.data.option_values(name)[code]
            for name, code in zip(coded, combination, strict=True)
        }
        yield tuple(sorted({**fixed, **values}.items())), np.flatnonzero(inverse.reshape(-1) == k)


# --- answers ----------------------------------------------------------------------------------


def _check_metrics(ground: Ground, metrics: tuple[str, ...] | None) -> None:
    names = (*metric_names(ground), "bottleneck")
    for metric in metrics or ():
        if metric not in names:
            raise OutOfDomain(
                f"{ground.data.id} has no metric {metric!r}: it has {', '.join(names)}"
            )


def _allocate(
    out: dict[str, NDArray[np.generic]], ground: Ground, wishes: Wishes, size: int
) -> dict[str, NDArray[np.generic]]:
    wanted = wishes.metrics or (*metric_names(ground), "bottleneck")
    for name in wanted:
        if name == "bottleneck":
            out.setdefault(name, np.full(size, len(BOTTLENECKS) - 1, dtype=np.int8))
            continue
        endings = ("", "_low", "_high") if wishes.intervals else ("",)
        for ending in endings:
            out.setdefault(name + ending, np.full(size, np.nan))
        if wishes.intervals:
            out.setdefault(f"{name}_basis", np.full(size, -1, dtype=np.int8))
    return out


class _Worker:
    """Answers the questions of one ground block by block into preallocated columns."""

    def __init__(
        self,
        model: Model,
        ground: Ground,
        table: Table,
        wishes: Wishes,
        out: dict[str, NDArray[np.generic]],
        refused: Bools,
    ) -> None:
        self.model, self.ground, self.table, self.wishes = model, ground, table, wishes
        self.out, self.refused = out, refused
        names = metric_names(ground)
        self.wanted = frozenset(wishes.metrics or names) & frozenset(names)
        self.with_bottleneck = "bottleneck" in out
        self.parts = (VALUE, LOW, HIGH) if wishes.intervals else (VALUE,)
        self.dense = _Dense(ground, len(table))
        self.limits = np.array([w.greatest_payload_bytes() or np.inf for w in ground.wires])

    def run(self, where: Ints | None) -> None:
        """Answer the questions at some places (all where ``None``)."""
        size = len(self.table) if where is None else len(where)
        pieces: list[slice | Ints] = [
            slice(start, min(start + BLOCK, size))
            if where is None
            else where[start : start + BLOCK]
            for start in range(0, size, BLOCK)
        ]
        threads = min(self.wishes.threads or os.cpu_count() or 1, len(pieces))
        if threads <= 1:
            for piece in pieces:
                self.answer(piece)
            return
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(self.answer, piece) for piece in pieces]:
                done.result()

    def answer(self, piece: slice | Ints) -> None:
        """Answer one block."""
        asked, impossible = self.questions(piece)
        here = self.dense.block(asked)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            way = course(self.ground, here, self.model.variant, self.parts)
            ends = {
                part: answer(self.ground, here, self.model.variant, way, part, self.wanted)
                for part in self.parts
            }
            self.write(piece, here, ends)
            if self.wishes.intervals:
                self.write_basis(piece, here, basis.traces(self.ground, here, way), way)
            if self.with_bottleneck:
                codes = bottleneck(here, way.flows[VALUE], way.lossy, self.cpu_send(here, way))
                self.out["bottleneck"][piece] = codes
        self.refuse(piece, impossible, way.flows[VALUE].goodput_bps, asked)

    def cpu_send(self, here: Block, way: object) -> Floats:
        """Uncapped sending CPU, which decides whether the cores are the bottleneck."""
        lookup = self.ground.metrics.get("cpu_send")
        if lookup is None:
            return np.full(here.cell.shape, np.nan)
        from icmodel.model.answer import Course

        assert isinstance(way, Course)
        return cpu.demand(
            self.ground, here, lookup, VALUE, way.cpu_slots[VALUE], way.flows[VALUE].own_bps
        )

    def column(self, name: str, piece: slice | Ints) -> Floats:
        """One numeric parameter of a block."""
        if name in self.table.columns:
            return self.table.columns[name][piece].astype(np.float64)
        count = piece.stop - piece.start if isinstance(piece, slice) else len(piece)
        return np.full(count, COLUMNS[name])

    def questions(self, piece: slice | Ints) -> tuple[Questions, Bools]:
        """The questions of a block, and which of them no dataset could answer."""
        ground = self.ground
        protocol = self.table.columns["protocol"][piece].astype(np.int64)
        payload = self.column("payload_bytes", piece)
        rate = self.column("rate_fps" if self.table.rate_given else "requested_goodput_bps", piece)
        switches, endpoints = self.column("switches", piece), self.column("endpoints", piece)
        others, distance = self.column("other_goodput_bps", piece), self.column("distance_m", piece)
        self.check(payload, rate, switches, endpoints, others, distance)
        request = rate * payload * 8 if self.table.rate_given else rate
        counts = np.array(ground.cores or (0,), dtype=float)
        asked_cores = self.column("cores", piece)
        asked_cores = np.where(np.isnan(asked_cores), counts[-1], asked_cores)
        nearest = np.abs(counts[:, None] - asked_cores).argmin(axis=0)
        impossible = (asked_cores > 0) & (counts.take(nearest) != asked_cores)
        if ground.extended:
            impossible &= False
        impossible |= payload > self.limits.take(protocol)
        cable = ground.link.cable_length_m or 0.0
        extra = np.where(np.isnan(distance), 0.0, distance - cable)
        questions = Questions(
            protocol,
            payload,
            request,
            nearest,
            asked_cores,
            switches.astype(np.int64),
            endpoints,
            others,
            extra,
        )
        return questions, impossible

    def check(self, *columns: Floats) -> None:
        """Refuse what is wrong in any dataset, as Scenario does for one question."""
        payload, rate, switches, endpoints, others, distance = columns
        bad = {
            "payload_bytes must be whole numbers of at least 1": (payload < 1) | (payload % 1 != 0),
            "rate_fps and requested_goodput_bps must be above 0 (inf is unlimited)": ~(rate > 0),
            "switches must be whole numbers of at least 0": (switches < 0) | (switches % 1 != 0),
            "endpoints must be whole numbers of at least 1": (endpoints < 1) | (endpoints % 1 != 0),
            "other_goodput_bps must be finite, and 0 where endpoints is 1": ~(others >= 0)
            | np.isinf(others)
            | ((others > 0) & (endpoints == 1)),
            "distance_m must be finite and 0 or more": (distance < 0) | np.isinf(distance),
        }
        for problem, where in bad.items():
            if where.any():
                raise ScenarioError(
                    f"{problem}: {int(where.sum())} of a block of questions break it"
                )

    def write(
        self, piece: slice | Ints, here: Block, ends: Mapping[int, Mapping[str, Floats]]
    ) -> None:
        """Write values and intervals; an interval holds its value."""
        for name, value in ends[VALUE].items():
            self.out[name][piece] = value
            if self.wishes.intervals:
                low, high = ends[LOW][name], ends[HIGH][name]
                self.out[f"{name}_low"][piece] = np.maximum(np.fmin(low, value), 0.0)
                self.out[f"{name}_high"][piece] = np.fmax(high, value)

    def write_basis(
        self,
        piece: slice | Ints,
        here: Block,
        traces: Mapping[str, tuple[basis.Trace, ...]],
        way: object,
    ) -> None:
        """Write the basis codes, −1 where there is no value."""
        from icmodel.model.answer import Course

        assert isinstance(way, Course)
        for name in self.wanted:
            code = basis.rules(self.ground, here, way, name, self.model.variant)
            for trace in traces.get(name, ()):
                np.maximum(code, trace.codes(), out=code)
            missing = np.isnan(self.out[name][piece].astype(np.float64))
            self.out[f"{name}_basis"][piece] = np.where(missing, -1, code)

    def refuse(
        self, piece: slice | Ints, impossible: Bools, goodput: Floats, asked: Questions
    ) -> None:
        """Note which questions this dataset cannot answer, and blank their answers."""
        has_goodput = np.asarray(self.ground.capacity.group.take(self.config(asked)) > 0)
        outside = impossible | (np.isnan(goodput) & has_goodput)
        self.refused[piece] = outside
        if not outside.any():
            return
        for name, column in self.out.items():
            blank = np.nan if column.dtype.kind == "f" else -1
            if name == "bottleneck":
                blank = len(BOTTLENECKS) - 1
            part = column[piece]
            part[outside] = blank
            column[piece] = part

    def config(self, asked: Questions) -> Ints:
        """Index of protocol, cores and switches in the look-ups."""
        ground = self.ground
        switches = np.minimum(asked.switches, ground.switch_counts - 1)
        return (
            asked.protocol * max(len(ground.cores), 1) + asked.cores
        ) * ground.switch_counts + switches


class _Dense:
    """Theory and cells by payload, for many questions on few payloads."""

    def __init__(self, ground: Ground, size: int) -> None:
        self.ground = ground
        last = int(ground.knots[-1]) + 1
        self.size = last + 1 if last <= DENSE_PAYLOADS and size > last else 0
        if not self.size:
            return
        payload = np.arange(self.size, dtype=float)
        self.cells = cell_of(payload, ground.knots)
        seconds = np.full((len(ground.wires), self.size), np.nan)
        bound = np.full((len(ground.wires), self.size), np.nan)
        for index, wire in enumerate(ground.wires):
            most = min(wire.greatest_payload_bytes() or last, last)
            inside = payload[1 : most + 1]
            seconds[index, 1 : most + 1] = wire.serialisation_s(inside)
            bound[index, 1 : most + 1] = wire.goodput_bound_bps(
                inside, seconds[index, 1 : most + 1]
            )
        self.seconds, self.bound = seconds.reshape(-1), bound.reshape(-1)

    def block(self, asked: Questions) -> Block:
        """The block of some questions."""
        if not self.size:
            limits = [w.greatest_payload_bytes() or np.inf for w in self.ground.wires]
            possible = np.minimum(asked.payload_bytes, np.array(limits).take(asked.protocol))
            return block(self.ground, asked, wire_times(self.ground, asked.protocol, possible))
        payload = np.minimum(asked.payload_bytes, self.size - 1).astype(np.int64)
        place = asked.protocol * self.size + payload
        times = WireTimes(self.seconds.take(place), self.bound.take(place))
        return block(self.ground, asked, times, self.cells.take(payload))


def _fold(model: Model, out: Mapping[str, NDArray[np.generic]], table: Table) -> xr.Dataset:
    """The answers in the shape of the questions, labelled and with their units' names."""
    variables = {name: (table.dims, column.reshape(table.shape)) for name, column in out.items()}
    result = xr.Dataset(variables, coords=dict(table.coords))
    result.attrs = {
        "dataset": model.data.id,
        "sha256": model.data.sha256,
        "variant": model.variant,
    }
    for name in result.data_vars:
        if str(name).endswith("_basis"):
            result[name].attrs = {
                "flag_values": list(range(len(BASES))),
                "flag_meanings": " ".join(BASES),
            }
    if "bottleneck" in result:
        result["bottleneck"].attrs = {
            "flag_values": list(range(len(BOTTLENECKS))),
            "flag_meanings": " ".join(BOTTLENECKS),
        }
    return result

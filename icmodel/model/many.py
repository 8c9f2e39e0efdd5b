"""Answer whole arrays of questions: cut into blocks, answered by threads into one Dataset."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import BASES, BOTTLENECKS
from icmodel.interpolation import HIGH, LOW, VALUE
from icmodel.model import basis
from icmodel.model.answer import (
    answer,
    metric_names,
    no_metric,
    only_of,
    sending_demand,
)
from icmodel.model.asking import DEFAULTS, Asker, Piece, Table, codes, table
from icmodel.model.block import Block, Wires
from icmodel.model.bottleneck import UNKNOWN, bottleneck
from icmodel.model.course import Course, course
from icmodel.model.foundation import Foundation
from icmodel.model.goodput import asked_too_much, known
from icmodel.model.ground import Ground
from icmodel.scenario import Hosts
from icmodel.units import long_name, unit_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Columns = dict[str, NDArray[np.generic]]

BLOCK = 32_768
"""Questions answered at once: long enough for threads to compute more than they take turns, short
enough that the allocator keeps a block's columns."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the caller wants of ``predict_many``."""

    outside: str
    metrics: tuple[str, ...] | None
    intervals: bool
    threads: int | None


Reason = Callable[[Mapping[str, object]], str]
"""Why one question, given by its keywords in SI, is refused."""


def predict_many(
    model: Foundation, question: Mapping[str, object], wishes: Wishes, reason: Reason
) -> xr.Dataset:
    """Answer whole arrays; see :meth:`icmodel.model.Model.predict_many`."""
    if wishes.outside not in ("refuse", "nan", "extrapolate"):
        raise ScenarioError(f"outside={wishes.outside!r} is not one of refuse, nan, extrapolate")
    questions = table(question, model.data.protocols)
    size = len(questions)
    out: Columns = {}
    refused = np.zeros(size, dtype=bool)
    groups = [
        (foundation, options, where)
        for hosts, there in _host_groups(questions)
        for foundation in [model.changed(hosts)]
        for options, where in _option_groups(foundation, questions, there)
    ]
    answered = 0
    for foundation, options, where in groups:
        extend = wishes.outside == "extrapolate"
        try:
            ground = foundation.ground(
                options, extend=extend, only=only_of(foundation.data, wishes.metrics)
            )
        except OutOfDomain:  # these options have no rows, others may
            refused[... if where is None else where] = True
            continue
        answered += 1
        _allocate(out, ground, wishes, size, cleared=len(groups) > 1)
        asker = Asker(ground, foundation.rules(ground), questions)
        _run(_Worker(foundation, ground, asker, wishes, out, refused), size, where)
    if (wishes.outside != "nan" and refused.any()) or (groups and not answered):
        raise OutOfDomain(_refusal(model, refused, questions, reason))
    return _fold(model, out, questions)


def _refusal(model: Foundation, refused: Bools, questions: Table, reason: Reason) -> str:
    """How many questions are refused, which is the first, and why that one is."""
    index = int(np.argmax(refused))
    place = tuple(int(k) for k in np.unravel_index(index, questions.shape or (1,)))
    return (
        f"{int(refused.sum())} of {len(questions)} questions are outside {model.data.id}, the "
        f"first at index {place}: {reason(_keywords(model, questions, index))}; outside='nan' "
        "answers the others"
    )


def _keywords(model: Foundation, questions: Table, index: int) -> dict[str, object]:
    """One question as keywords of a single prediction."""
    asked: dict[str, object] = {
        name: column[index].item() for name, column in questions.columns.items()
    }
    asked["protocol"] = model.data.protocols[int(questions.columns["protocol"][index])]
    options = {
        name: value if isinstance(value, str) else model.data.option_values(name)[int(value[index])]
        for name, value in questions.options.items()
    }
    unlimited = {name for name in REQUESTS & asked.keys() if asked[name] == np.inf}
    own = {name for name, value in asked.items() if value != value}  # NaN is the dataset's own
    return {name: asked[name] for name in asked.keys() - unlimited - own} | {"options": options}


OptionGroup = tuple[tuple[tuple[str, str], ...], Ints | None]
HOSTS = ("line_rate_bps", "cpu_clock_ratio")
REQUESTS = frozenset(("rate_fps", "requested_goodput_bps"))
"""Columns of questions of which some may be limited."""


def _host_groups(questions: Table) -> Iterator[tuple[Hosts, Ints | None]]:
    """Questions about the same hosts and link; ``None`` as place is all of them."""
    if not any(name in questions.columns for name in HOSTS):
        yield Hosts(), None
        return
    size = len(questions)
    given = [
        questions.columns[name].astype(np.float64)
        if name in questions.columns
        else np.full(size, DEFAULTS[name])
        for name in HOSTS
    ]
    unique, inverse = np.unique(np.stack(given), axis=1, return_inverse=True)
    if (unique <= 0).any() or np.isinf(unique).any():
        raise ScenarioError(
            "line_rate_bps or cpu_clock_ratio has an impossible value: finite and above 0"
        )
    for k, (rate, clock) in enumerate(unique.T.tolist()):
        hosts = Hosts(None if np.isnan(rate) else rate, clock)
        yield hosts, np.flatnonzero(inverse.reshape(-1) == k)


def _option_groups(
    model: Foundation, questions: Table, there: Ints | None
) -> Iterator[OptionGroup]:
    """Questions with the same option values, of all or of some; ``None`` is all of them."""
    fixed = {name: v for name, v in questions.options.items() if isinstance(v, str)}
    coded = {name: v for name, v in questions.options.items() if not isinstance(v, str)}
    if not coded:
        yield tuple(sorted(fixed.items())), there
        return
    for name, value in coded.items():
        if name not in model.data.option_axes:
            raise OutOfDomain(f"{model.data.id} has no axis {name!r}: leave it out")
        codes(name, value, model.data.option_values(name))
    columns = np.stack([value.astype(np.int64) for value in coded.values()])
    unique, inverse = np.unique(columns, axis=1, return_inverse=True)
    for k, combination in enumerate(unique.T.tolist()):
        values = {
            name: model.data.option_values(name)[code]
            for name, code in zip(coded, combination, strict=True)
        }
        where = np.flatnonzero(inverse.reshape(-1) == k)
        if there is not None:
            where = np.intersect1d(where, there, assume_unique=True)
        if len(where):
            yield tuple(sorted({**fixed, **values}.items())), where


def _allocate(out: Columns, ground: Ground, wishes: Wishes, size: int, *, cleared: bool) -> None:
    """Columns for every wanted metric; cleared first only if not all of them will be written."""
    names = (*metric_names(ground), "bottleneck")
    for metric in wishes.metrics or ():
        if metric not in names:
            raise OutOfDomain(no_metric(ground.data, metric))
    for name in wishes.metrics or names:
        if name == "bottleneck":
            out.setdefault(name, np.full(size, UNKNOWN, dtype=np.int8))
        elif name not in out:
            endings = ("", "_low", "_high") if wishes.intervals else ("",)
            for ending in endings:
                out[name + ending] = np.full(size, np.nan) if cleared else np.empty(size)
            if wishes.intervals:
                out[f"{name}_basis"] = np.full(size, -1, dtype=np.int8)


def _keep_memory() -> None:
    """Let the C library keep what a block frees instead of handing it back to the kernel.

    glibc raises its thresholds to the largest mapping it has seen freed; without this the columns
    of every block are faulted in anew.  Other allocators are not changed by it.
    """
    largest = np.empty(4_000_000)  # just under glibc's limit of 32 MiB
    del largest


def _run(worker: _Worker, size: int, where: Ints | None) -> None:
    """Answer all questions, or those at some places, by as many threads as wished."""
    count = size if where is None else len(where)
    if count > BLOCK:
        _keep_memory()
    pieces: list[Piece] = [
        slice(start, min(start + BLOCK, count)) if where is None else where[start : start + BLOCK]
        for start in range(0, count, BLOCK)
    ]
    threads = min(worker.wishes.threads or os.cpu_count() or 1, len(pieces))
    if threads <= 1:
        for piece in pieces:
            worker.answer(piece)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(worker.answer, piece) for piece in pieces]:
            done.result()


class _Worker:
    """Answers the questions of one ground block by block into preallocated columns."""

    def __init__(
        self,
        model: Foundation,
        ground: Ground,
        asker: Asker,
        wishes: Wishes,
        out: Columns,
        refused: Bools,
    ) -> None:
        self.variant, self.ground, self.asker, self.wishes = model.variant, ground, asker, wishes
        limited = not REQUESTS.isdisjoint(asker.table.columns)
        self.overloaded = model.overloaded(ground) if limited else None
        self.out, self.refused = out, refused
        names = metric_names(ground)
        self.wanted = frozenset(wishes.metrics or names) & frozenset(names)
        self.parts = (VALUE, LOW, HIGH) if wishes.intervals else (VALUE,)
        self.wires = Wires(ground, len(asker.table))

    def answer(self, piece: Piece) -> None:
        """Answer one block."""
        asked, impossible = self.asker.questions(piece)
        here = self.wires.block(asked)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            way = self._write(piece, self.ground, here)
            flow = way.flows[VALUE]
            if self.overloaded is not None:
                over = np.flatnonzero(asked_too_much(self.overloaded, here, flow))
                if len(over):
                    self._write(_some(piece, over), self.overloaded, here.take(over))
        impossible |= np.isnan(flow.goodput_bps) & known(self.ground.capacity, here)
        self._refuse(piece, impossible)

    def _write(self, piece: Piece, ground: Ground, here: Block) -> Course:
        """Write the answers of one ground to some questions."""
        way = course(ground, here, self.variant, self.parts)
        ends = {
            part: answer(ground, here, self.variant, way, part, self.wanted) for part in self.parts
        }
        for name, value in ends[VALUE].items():
            self.out[name][piece] = value
        if self.wishes.intervals:
            self._write_intervals(piece, ends)
        for name in self.wanted - ends[VALUE].keys():
            self._blank(name, piece)
        if self.wishes.intervals:
            self._write_basis(piece, ground, here, way)
        if "bottleneck" in self.out:
            self.out["bottleneck"][piece] = bottleneck(
                here, way.flows[VALUE], way.lossy, sending_demand(ground, here, way)
            )
        return way

    def _write_intervals(self, piece: Piece, ends: Mapping[int, Mapping[str, Floats]]) -> None:
        """Intervals that hold their values and do not go below 0."""
        for name, value in ends[VALUE].items():
            low, high = np.fmin(ends[LOW][name], value), np.fmax(ends[HIGH][name], value)
            absent = np.isnan(value)
            np.copyto(low, np.nan, where=absent)
            np.copyto(high, np.nan, where=absent)
            self.out[f"{name}_low"][piece] = np.maximum(low, 0.0)
            self.out[f"{name}_high"][piece] = high

    def _blank(self, name: str, piece: Piece) -> None:
        """A metric of which this ground has no rows."""
        for ending in ("", "_low", "_high") if self.wishes.intervals else ("",):
            self.out[name + ending][piece] = np.nan

    def _write_basis(self, piece: Piece, ground: Ground, here: Block, way: Course) -> None:
        """The weakest basis of each metric, −1 where there is no value."""
        traces = basis.traces(ground, here, way)
        for name in self.wanted:
            code = basis.rules(ground, here, way, name)
            for trace in traces.get(name, ()):
                np.maximum(code, trace.codes(), out=code)
            missing = np.isnan(self.out[name][piece].astype(np.float64))
            self.out[f"{name}_basis"][piece] = np.where(missing, -1, code)

    def _refuse(self, piece: Piece, outside: Bools) -> None:
        """Note which questions this dataset cannot answer, and blank their answers."""
        if not outside.any():
            return
        self.refused[piece] = outside
        for name, column in self.out.items():
            blank = UNKNOWN if name == "bottleneck" else -1
            part = column[piece]
            part[outside] = np.nan if column.dtype.kind == "f" else blank
            column[piece] = part


def _some(piece: Piece, where: Ints) -> Ints:
    """Some places of a piece."""
    return piece.start + where if isinstance(piece, slice) else piece[where]


def _fold(model: Foundation, out: Columns, questions: Table) -> xr.Dataset:
    """The answers in the shape of the questions, labelled, codes with their meanings."""
    variables = {
        name: (questions.dims, column.reshape(questions.shape)) for name, column in out.items()
    }
    result = xr.Dataset(variables, coords=dict(questions.coords))
    result.attrs = {
        "dataset": model.data.id,
        "sha256": model.data.sha256,
        "variant": model.variant,
    }
    for name in out:
        result[name].attrs = {"units": unit_of(name), "long_name": long_name(name)}
        meanings = BOTTLENECKS if name == "bottleneck" else BASES
        if name == "bottleneck" or name.endswith("_basis"):
            result[name].attrs = {
                "long_name": long_name(name),
                "flag_values": list(range(len(meanings))),
                "flag_meanings": " ".join(meanings),
            }
    return result

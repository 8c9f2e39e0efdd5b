"""Answer arrays of questions: cut them into blocks, answer the blocks in threads, and return columns of numbers."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icmodel.arrays import Bools, Ints, fast_where
from icmodel.dataset import Dataset
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.laws import Law, Prepared, TableRequest
from icmodel.laws.metrics import BOTTLENECK, predicted
from icmodel.model.answering import UNKNOWN, Answered, answered, in_overload, needed, no_metric
from icmodel.model.cache import TableCache
from icmodel.model.domain import (
    Column,
    adds_work,
    float_column,
    request_column,
)
from icmodel.ranges import REQUESTS, check_arrays
from icmodel.scenario import SI_NAMES, Hosts, Options, check_complete, si_values
from icmodel.tables import Questions

Piece = slice | Ints
"""Indices of the questions in a block: a slice, or an array of integers."""
Reason = Callable[[Mapping[str, object]], str]
"""Function that takes the keywords of a refused question, and returns the reason of the refusal."""
BLOCK = 131_072
"""Number of questions computed together; a question with intervals counts as three.

With this number, the columns of a block stay in the processor's cache, and Python's own work per question is small.
"""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Parameters of ``mallopt`` in glibc's ``malloc.h``."""
KEPT_BYTES = 512 * 2**20
"""Most free memory at the end of the heap that a process keeps after `predict_many`."""
HOSTS = ("line_rate_bps", "cpu_clock_ratio")
OWN = 0.0
"""Placeholder for "the dataset's own line rate" in a column of line rates [b/s]."""


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """Options of `Model.predict_many`: treatment of refused questions, metrics, intervals and threads."""

    outside: str
    metrics: tuple[str, ...] | None
    intervals: bool
    threads: int | None

    @property
    def endings(self) -> tuple[str, ...]:
        """Suffixes of a metric's columns: ``""`` for the value; with intervals also ``_low`` and ``_high``."""
        return ("", "_low", "_high") if self.intervals else ("",)


def answer_columns(
    model: TableCache, questions: QuestionTable, batch: BatchOptions, reason: Reason
) -> dict[str, NDArray[np.generic]]:
    """Answer a table of questions; the result maps names of columns to answers in the shape of the questions.

    See :meth:`icmodel.model.Model.predict_many`.
    """
    data = model.data
    if batch.outside not in ("refuse", "nan", "extrapolate"):
        raise ScenarioError(
            f"outside={batch.outside!r} is unknown: use one of refuse, nan, extrapolate"
        )
    output = Output(data, batch, len(questions))
    groups = list(_groups(model, questions, output))
    only, used = needed(data, batch.metrics), questions.used_protocols(data.protocols)
    extend = batch.outside == "extrapolate"
    answered_groups = 0
    for cache, options, indices in groups:
        prepared: Prepared | None = None
        for protocols in (used, data.protocols):  # use the first set of protocols that has rows
            request = TableRequest(cache.non_default_options(options), protocols, extend, only)
            with suppress(OutOfDomain):
                prepared = cache.prepared(request)
                break
        if prepared is None:  # no rows at these options; other groups may have rows
            output.refused[... if indices is None else indices] = True
            continue
        answered_groups += 1
        partly = len(groups) > 1 or bool(output.refused.any())
        output.allocate(predicted(prepared.every_metric), prepared.named, partly=partly)
        _Worker(cache, request, prepared, questions, output).run(indices)
    if (batch.outside != "nan" and output.refused.any()) or (
        len(questions) and not answered_groups
    ):
        first = int(np.argmax(output.refused))
        place = tuple(int(k) for k in np.unravel_index(first, questions.shape or (1,)))
        raise OutOfDomain(
            f"{int(output.refused.sum())} of {len(questions)} questions are outside {data.id}, the "
            f"first at index {place}: {reason(questions.keywords(data, first))}; outside='nan' "
            "answers the others"
        )
    return {name: column.reshape(questions.shape) for name, column in output.columns.items()}


# --- questions ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QuestionTable:
    """Questions as a table: one column per parameter, after broadcasting and flattening.

    ``shape``, ``dims`` and ``coords`` restore the form of the given arrays in the answer.
    """

    columns: Mapping[str, Column]
    options: Mapping[str, Column | str]
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    coords: Mapping[str, object]

    def __len__(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def used_protocols(self, protocols: tuple[str, ...]) -> tuple[str, ...]:
        """Protocols that occur in the questions, in the order of ``protocols``; if there are no questions, all."""
        codes = self.columns["protocol"].astype(np.int64, copy=False)
        if len(codes) and (codes == codes[0]).all():  # often, and twice as quick as counting
            return (protocols[codes[0]],)
        counts = np.bincount(codes, minlength=len(protocols))
        found = zip(protocols, counts.tolist(), strict=True)
        return tuple(name for name, count in found if count) or protocols

    def keywords(self, data: Dataset, index: int) -> dict[str, object]:
        """Keywords for `Model.predict` that ask the question at one index of the table."""
        keywords: dict[str, object] = {
            name: col[index].item() for name, col in self.columns.items()
        }
        keywords["protocol"] = data.protocols[int(self.columns["protocol"][index])]
        unlimited = {name for name in REQUESTS if keywords.get(name) == np.inf}
        own = {
            name for name, value in keywords.items() if value != value
        }  # NaN means the dataset's own value
        options = {
            name: value if isinstance(value, str) else data.option_values(name)[int(value[index])]
            for name, value in self.options.items()
        }
        return {name: keywords[name] for name in keywords.keys() - unlimited - own} | {
            "options": options
        }


def question_table(keywords: Mapping[str, object], protocols: tuple[str, ...]) -> QuestionTable:
    """Broadcast the parameters of `predict_many` to one table of questions.

    A keyword with a unit suffix has numbers in SI, and a keyword without a suffix has texts with a unit.

    Raises
    ------
    UnitError, ScenarioError, OutOfDomain
        If a parameter is missing, given twice, has no unit, or cannot be broadcast.
    """
    values, options = si_values(keywords)
    check_complete(values)
    values["protocol"] = codes("protocol", values["protocol"], protocols)
    texts = {axis: value for axis, value in options.items() if isinstance(value, str)}
    coded = {axis: value for axis, value in options.items() if axis not in texts}
    columns, dims, coords, shape = broadcast({**values, **coded})
    flat = {name: np.broadcast_to(column, shape).reshape(-1) for name, column in columns.items()}
    own = {name: column for name, column in flat.items() if name in SI_NAMES}
    return QuestionTable(
        own, {**texts, **{axis: flat[axis] for axis in coded}}, shape, dims, coords
    )


def codes(axis: str, value: object, names: tuple[str, ...]) -> object:
    """Convert the name of a protocol, or the value of an option, to its index in ``names``.

    An array must hold such indices already; it is checked, and returned unchanged.

    Raises
    ------
    OutOfDomain, ScenarioError
        If the name is not one of ``names``, or an index is out of range.
    """
    if isinstance(value, str):
        if value not in names:
            raise OutOfDomain(f"the {axis} {value!r} is unknown: use one of {', '.join(names)}")
        return names.index(value)
    array = np.asarray(value)
    whole = array.dtype.kind in "iu"
    if not whole or (array.size and not 0 <= array.min() <= array.max() < len(names)):
        raise ScenarioError(
            f"{axis} is neither a name nor an array of indices: give one of {', '.join(names)}, or an "
            f"array of whole numbers from 0 to {len(names) - 1}, which are positions in this list"
        )
    return value


Broadcast = tuple[dict[str, Column], tuple[str, ...], dict[str, object], tuple[int, ...]]
"""Parameters after broadcasting: columns, names of dimensions, coordinates and shape."""


def broadcast(values: Mapping[str, object]) -> Broadcast:
    """Broadcast arrays to one shape: plain arrays by the rules of numpy, labelled arrays (xarray) by dimension.

    Raises
    ------
    ScenarioError
        If shapes or labels do not fit, or labelled and plain arrays are mixed.
    """
    labelled: dict[str, Any] = {name: v for name, v in values.items() if hasattr(v, "dims")}
    plain = {name: np.asarray(value) for name, value in values.items() if name not in labelled}
    if not labelled:
        try:
            shape = np.broadcast_shapes(*(column.shape for column in plain.values()))
        except ValueError as error:
            shapes = ", ".join(f"{name} {column.shape}" for name, column in plain.items())
            raise ScenarioError(
                f"the parameters do not broadcast to one shape: {shapes}; give arrays of equal shape, "
                "or single values"
            ) from error
        dims = ("point",) if len(shape) == 1 else tuple(f"dim_{k}" for k in range(len(shape)))
        return plain, dims, {}, shape
    import xarray as xr  # already loaded, if an array is labelled

    try:
        arrays = xr.align(*(xr.DataArray(v) for v in labelled.values()), join="exact", copy=False)
    except ValueError as error:
        raise ScenarioError(
            f"the labelled arrays {', '.join(labelled)} have different labels along a dimension that "
            "they share: give them the same labels there"
        ) from error
    if any(column.ndim for column in plain.values()):
        raise ScenarioError(
            "labelled and plain arrays are mixed: give all arrays labelled dimensions, or no array"
        )
    spread = xr.broadcast(*arrays)
    columns = {name: array.values for name, array in zip(labelled, spread, strict=True)}
    first = spread[0]
    coords = {str(name): coordinate for name, coordinate in first.coords.items()}
    return {**columns, **plain}, tuple(str(dim) for dim in first.dims), coords, first.shape


# --- groups that share tables ---------------------------------------------------------------------


def _groups(
    model: TableCache, questions: QuestionTable, output: Output
) -> Iterator[tuple[TableCache, Options, Ints | None]]:
    """Group the questions that share look-up tables; yield the table cache, options and indices of each group.

    If the indices of a group are ``None``, it has all questions.  Questions with a line rate, a CPU clock or work of the
    application that the variant does not support are in no group; they are marked as refused in ``output``.
    """
    with_work = np.zeros(1, dtype=bool)
    if model.work_problem():
        with_work = adds_work(questions.columns)
    for hosts, indices in host_groups(questions):
        if with_work.any():
            output.refused |= with_work
            without = np.flatnonzero(~with_work)
            indices = without if indices is None else np.intersect1d(indices, without)
            if not len(indices):
                continue
        for options, group in _option_groups(model.data, questions, indices):
            try:
                yield model.for_hosts(hosts, options), options, group
            except OutOfDomain:
                output.refused[... if group is None else group] = True


def host_groups(questions: QuestionTable) -> Iterator[tuple[Hosts, Ints | None]]:
    """Group the questions by line rate and CPU clock; for each group, yield `Hosts` with both, and the group's indices.

    If no question states a line rate or clock, all questions are one group, and the indices are ``None``.
    """
    given = {name: questions.columns[name] for name in HOSTS if name in questions.columns}
    if not given:
        yield Hosts(), None
        return
    check_arrays(given)
    columns = [float_column(given, name, len(questions)) for name in HOSTS]
    own = np.nan_to_num(
        np.stack(columns), nan=OWN
    )  # NaN is unequal to itself, so it cannot be grouped
    unique, inverse = np.unique(own, axis=1, return_inverse=True)
    for k, (rate, clock) in enumerate(unique.T.tolist()):
        hosts = Hosts(None if rate == OWN else rate, clock)
        yield hosts, np.flatnonzero(inverse.reshape(-1) == k)


def _option_groups(
    data: Dataset, questions: QuestionTable, indices: Ints | None
) -> Iterator[tuple[Options, Ints | None]]:
    """Group the questions with the given indices by options; yield the options and indices of each group.

    Indices ``None`` mean all questions.
    """
    fixed = {name: v for name, v in questions.options.items() if isinstance(v, str)}
    coded = {name: v for name, v in questions.options.items() if not isinstance(v, str)}
    if not coded:
        yield Options(fixed), indices
        return
    for name, value in coded.items():
        if name not in data.option_axes:
            raise OutOfDomain(f"{data.id} has no axis {name!r}: leave it out")
        codes(name, value, data.option_values(name))
    columns = np.stack([value.astype(np.int64) for value in coded.values()])
    unique, inverse = np.unique(columns, axis=1, return_inverse=True)
    for k, combination in enumerate(unique.T.tolist()):
        values = {
            name: data.option_values(name)[code]
            for name, code in zip(coded, combination, strict=True)
        }
        group = np.flatnonzero(inverse.reshape(-1) == k)
        if indices is not None:
            group = np.intersect1d(group, indices, assume_unique=True)
        if len(group):
            yield Options({**fixed, **values}), group


# --- blocks ---------------------------------------------------------------------------------------


class Output:
    """Result of `predict_many` while it is computed: columns of answers, and the mask of refused questions."""

    def __init__(self, data: Dataset, batch: BatchOptions, size: int) -> None:
        self.data, self.batch, self.size = data, batch, size
        self.columns: dict[str, NDArray[np.generic]] = {}
        self.refused = np.zeros(size, dtype=bool)

    def allocate(self, known: Sequence[str], written: Sequence[str], *, partly: bool) -> None:
        """Make a column for each wanted metric that has none yet.

        Parameters
        ----------
        known : sequence of str
            All metrics that can be predicted. A wanted metric that is not one of them raises OutOfDomain.
        written : sequence of str
            Metrics whose columns the next answers fill. Columns of other metrics are filled with NaN here.
        partly : bool
            Whether the next answers fill only some rows of these columns. If so, they are filled with NaN first.
        """
        for metric in self.batch.metrics or ():
            if metric not in (*known, BOTTLENECK):
                raise OutOfDomain(no_metric(self.data, metric))
        for name in self.batch.metrics or (*known, BOTTLENECK):
            if name == BOTTLENECK:
                self.columns.setdefault(name, np.full(self.size, UNKNOWN, dtype=np.int8))
            elif name not in self.columns:
                for ending in self.batch.endings:
                    unwritten = partly or name not in written
                    empty = np.full(self.size, np.nan) if unwritten else np.empty(self.size)
                    self.columns[name + ending] = empty
                if self.batch.intervals:
                    self.columns[f"{name}_basis"] = np.full(self.size, -1, dtype=np.int8)

    def write(self, piece: Piece, answer: Answered, metrics: frozenset[str]) -> None:
        """Write the answers to a block of questions into the columns: values, intervals, bases and bottleneck."""
        for name in metrics:
            ends = answer.columns.get(name)
            for k, ending in enumerate(self.batch.endings):
                self.columns[name + ending][piece] = np.nan if ends is None else ends[k]
        if self.batch.intervals:
            used = answer.law.bases(answer.query, answer.flow)
            for name, code in used.codes(answer.query, metrics).items():
                missing = np.isnan(self.columns[name][piece].astype(np.float64))
                self.columns[f"{name}_basis"][piece] = fast_where(missing, -1, code)
        if BOTTLENECK in self.columns:
            self.columns[BOTTLENECK][piece] = answer.bottleneck()

    def refuse(self, piece: Piece, outside: Bools) -> None:
        """Mark the questions of a block that the dataset cannot answer, and clear their answers."""
        if not outside.any():
            return
        self.refused[piece] = outside
        for name, column in self.columns.items():
            blank = UNKNOWN if name == BOTTLENECK else -1
            part = column[piece]
            part[outside] = np.nan if column.dtype.kind == "f" else blank
            column[piece] = part


class _Worker:
    """Worker that answers a group of questions with the same options and hosts, block by block."""

    def __init__(
        self,
        cache: TableCache,
        request: TableRequest,
        prepared: Prepared,
        questions: QuestionTable,
        output: Output,
    ) -> None:
        self.law, self.prepared, self.questions, self.output = (
            cache.law,
            prepared,
            questions,
            output,
        )
        protocols = prepared.tables.axes.protocols
        self.protocols = np.array([name in protocols for name in cache.data.protocols]).cumsum() - 1
        limited = not questions.columns.keys().isdisjoint(REQUESTS)
        self.over = cache.overload(request) if limited else None
        self.placer = cache.placer(request)
        names = frozenset(prepared.named)
        self.metrics = frozenset(output.batch.metrics or names) & names
        self.wanted = self.metrics | ({BOTTLENECK} & output.columns.keys())
        self.block = BLOCK // len(output.batch.endings)

    def run(self, indices: Ints | None) -> None:
        """Answer all questions, or the questions at the given indices, with the wanted number of threads."""
        count = self.output.size if indices is None else len(indices)
        if count > self.block:
            _keep_memory()
        most = self.output.batch.threads or os.cpu_count() or 1
        block = even_block(count, self.block, most)
        pieces: list[Piece] = [
            slice(start, min(start + block, count))
            if indices is None
            else indices[start : start + block]
            for start in range(0, count, block)
        ]
        threads = min(most, len(pieces))
        if threads <= 1:
            for piece in pieces:
                self.answer(piece)
            return
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(self.answer, piece) for piece in pieces]:
                done.result()

    def answer(self, piece: Piece) -> None:
        """Answer one block of questions, and write the answers into the output."""
        columns = {name: column[piece] for name, column in self.questions.columns.items()}
        check_arrays(columns)
        columns["protocol"] = self.protocols.take(columns["protocol"].astype(np.int64, copy=False))
        columns["requested_goodput_bps"] = request_column(columns)
        q, limiting, refused, other_cores = self.placer.place(columns)
        if not self.prepared.tables.extend:
            refused |= other_cores
        refused |= self.placer.domains.refused(q.protocol, limiting)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            answer = self._write(piece, self.law, self.prepared, q)
            if self.over is not None and self.law.overload is not None:
                over = np.flatnonzero(in_overload(self.law, self.over, answer))
                if len(over):
                    there = piece.start + over if isinstance(piece, slice) else piece[over]
                    self._write(there, self.law.overload.law, self.over, q.take(over))
        self.output.refuse(piece, refused | answer.outside())

    def _write(self, piece: Piece, law: Law, prepared: Prepared, q: Questions) -> Answered:
        intervals = self.output.batch.intervals
        answer = answered(law, prepared, q, self.wanted, intervals=intervals)
        self.output.write(piece, answer, self.metrics)
        return answer


def even_block(count: int, most: int, threads: int) -> int:
    """Choose the number of questions per block, at most ``most``, so that all threads finish at about the same time."""
    blocks = math.ceil(count / most)
    if blocks > 1:
        blocks = math.ceil(blocks / threads) * threads
    return math.ceil(count / max(blocks, 1)) or 1


@lru_cache(maxsize=1)
def _keep_memory() -> None:
    """Make the C library (glibc) keep freed memory for the next block, instead of returning it to the kernel.

    Otherwise the arrays of every block would cause page faults, which take a tenth of the run time with two threads.
    Arrays above 32 MB still go back to the kernel when they are freed, such as columns of more than four million
    answers.  Other C libraries are not affected.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # no glibc
        return
    mallopt(M_MMAP_THRESHOLD, 32 * 2**20)  # the greatest value that glibc accepts
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)

"""Answer arrays of questions: cut into blocks, answered by threads into one Dataset."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from icmodel import scenario as words
from icmodel.arrays import Bools, Ints, if_else
from icmodel.dataset import Dataset
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import BASES, BOTTLENECKS, long_name
from icmodel.laws.law import Law, Prepared
from icmodel.laws.metrics import BOTTLENECK, predicted
from icmodel.model.answering import UNKNOWN, Answered, answered, needed, no_metric, too_much
from icmodel.model.cache import Key, Options, TableCache
from icmodel.model.domain import DEFAULTS, Placer, check, work_of
from icmodel.scenario import Hosts
from icmodel.tables import Questions
from icmodel.units import unit_of

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
    for name in ("protocol", "payload_bytes"):
        if name not in si:
            raise ScenarioError(f"the question has no {name}: give a number, a text or an array")
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


Columns = dict[str, NDArray[np.generic]]
Piece = slice | Ints

BLOCK = 1_048_576
"""Numbers of one array that are worked on at once, over metrics, ends and questions."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Options of ``predict_many``."""

    outside: str
    metrics: tuple[str, ...] | None
    intervals: bool
    threads: int | None


Reason = Callable[[Mapping[str, object]], str]
"""Why one question, given by its keywords in SI, is refused."""


def predict_many(
    model: TableCache, question: Mapping[str, object], wanted: Wanted, reason: Reason
) -> xr.Dataset:
    """Answer arrays of questions; see :meth:`icmodel.model.Model.predict_many`."""
    if wanted.outside not in ("refuse", "nan", "extrapolate"):
        raise ScenarioError(f"outside={wanted.outside!r} is not one of refuse, nan, extrapolate")
    questions = question_table(question, model.data.protocols)
    out = Output(model.data, wanted, len(questions))
    groups = list(_groups(model, questions, out))
    only, used = needed(model.data, wanted.metrics), questions.used(model.data.protocols)
    extend = wanted.outside == "extrapolate"
    answered_groups = 0
    for cache, options, where in groups:
        keys = [cache.wanted(options, names, extend=extend, only=only) for names in (used, None)]
        found = _first_prepared(cache, keys)
        if found is None:  # these options have no rows, others may
            out.refused[... if where is None else where] = True
            continue
        key, prepared = found
        answered_groups += 1
        cleared = len(groups) > 1 or bool(out.refused.any())
        out.allocate(predicted(prepared.every_metric), prepared.named, cleared=cleared)
        _run(_Worker(cache, key, prepared, questions, out), where)
    if (wanted.outside != "nan" and out.refused.any()) or (len(questions) and not answered_groups):
        raise OutOfDomain(_refusal(model.data, out.refused, questions, reason))
    return _fold(model, out.columns, questions)


def _groups(
    model: TableCache, questions: QuestionTable, out: Output
) -> Iterator[tuple[TableCache, Options, Ints | None]]:
    """Questions that share tables, with their places; those that no tables answer are refused.

    These are questions with work of the application, or on hosts and links, that the variant does not know.
    """
    working = work_of(questions.columns, len(questions)) if model.work_problem() else None
    for hosts, there in _host_groups(questions):
        if working is not None and working.any():
            out.refused |= working
            free = np.flatnonzero(~working)
            there = free if there is None else np.intersect1d(there, free)
            if not len(there):
                continue
        for options, where in _option_groups(model.data, questions, there):
            try:
                yield model.changed(hosts, options), options, where
            except OutOfDomain:
                out.refused[... if where is None else where] = True


def _first_prepared(cache: TableCache, keys: Iterable[Key]) -> tuple[Key, Prepared] | None:
    """The first of some tables that have rows; ``None`` if none have."""
    for key in keys:
        with suppress(OutOfDomain):
            return key, cache.prepared(key)
    return None


def _refusal(data: Dataset, refused: Bools, questions: QuestionTable, reason: Reason) -> str:
    """Message with the number of refused questions, the first of them, and its reason."""
    index = int(np.argmax(refused))
    place = tuple(int(k) for k in np.unravel_index(index, questions.shape or (1,)))
    return (
        f"{int(refused.sum())} of {len(questions)} questions are outside {data.id}, the "
        f"first at index {place}: {reason(_keywords(data, questions, index))}; outside='nan' "
        "answers the others"
    )


def _keywords(data: Dataset, questions: QuestionTable, index: int) -> dict[str, object]:
    """One question as keywords of a single prediction."""
    asked: dict[str, object] = {
        name: column[index].item() for name, column in questions.columns.items()
    }
    asked["protocol"] = data.protocols[int(questions.columns["protocol"][index])]
    options = {
        name: value if isinstance(value, str) else data.option_values(name)[int(value[index])]
        for name, value in questions.options.items()
    }
    unlimited = {name for name in REQUESTS & asked.keys() if asked[name] == np.inf}
    own = {name for name, value in asked.items() if value != value}  # NaN is the dataset's own
    return {name: asked[name] for name in asked.keys() - unlimited - own} | {"options": options}


OptionGroup = tuple[Options, Ints | None]
HOSTS = ("line_rate_bps", "cpu_clock_ratio")
OWN = 0.0
"""Stands for the dataset's own line rate; no line rate is 0."""
REQUESTS = frozenset(("rate_fps", "requested_goodput_bps"))
"""Columns that may limit the request of some questions."""


def _host_groups(questions: QuestionTable) -> Iterator[tuple[Hosts, Ints | None]]:
    """Questions about the same hosts and link, with their places; ``None`` for all places."""
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
    check({name: questions.columns[name] for name in HOSTS if name in questions.columns})
    own = np.nan_to_num(np.stack(given), nan=OWN)  # NaN is unequal to itself
    unique, inverse = np.unique(own, axis=1, return_inverse=True)
    for k, (rate, clock) in enumerate(unique.T.tolist()):
        hosts = Hosts(None if rate == OWN else rate, clock)
        yield hosts, np.flatnonzero(inverse.reshape(-1) == k)


def _option_groups(
    data: Dataset, questions: QuestionTable, there: Ints | None
) -> Iterator[OptionGroup]:
    """Questions with the same option values, among all or some, with their places; ``None`` for all places."""
    fixed = {name: v for name, v in questions.options.items() if isinstance(v, str)}
    coded = {name: v for name, v in questions.options.items() if not isinstance(v, str)}
    if not coded:
        yield tuple(sorted(fixed.items())), there
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
        where = np.flatnonzero(inverse.reshape(-1) == k)
        if there is not None:
            where = np.intersect1d(where, there, assume_unique=True)
        if len(where):
            yield tuple(sorted({**fixed, **values}.items())), where


class Output:
    """The columns that answers are written to, and which questions were refused."""

    def __init__(self, data: Dataset, wanted: Wanted, size: int) -> None:
        self.data, self.wanted, self.size = data, wanted, size
        self.columns: Columns = {}
        self.refused = np.zeros(size, dtype=bool)

    @property
    def endings(self) -> tuple[str, ...]:
        """Endings of the columns of a metric: of its value, and of its interval."""
        return ("", "_low", "_high") if self.wanted.intervals else ("",)

    def allocate(self, every: Sequence[str], written: Sequence[str], *, cleared: bool) -> None:
        """Make columns for every wanted metric; filled with NaN only if some rows will not be written."""
        for metric in self.wanted.metrics or ():
            if metric not in (*every, BOTTLENECK):
                raise OutOfDomain(no_metric(self.data, metric))
        for name in self.wanted.metrics or (*every, BOTTLENECK):
            if name == BOTTLENECK:
                self.columns.setdefault(name, np.full(self.size, UNKNOWN, dtype=np.int8))
            elif name not in self.columns:
                for ending in self.endings:
                    unwritten = cleared or name not in written
                    empty = np.full(self.size, np.nan) if unwritten else np.empty(self.size)
                    self.columns[name + ending] = empty
                if self.wanted.intervals:
                    self.columns[f"{name}_basis"] = np.full(self.size, -1, dtype=np.int8)

    def write(self, piece: Piece, answer: Answered, metrics: frozenset[str]) -> None:
        """Write the answers to some questions."""
        for name in metrics:
            ends = answer.columns.get(name)
            for k, ending in enumerate(self.endings):
                self.columns[name + ending][piece] = np.nan if ends is None else ends[k]
        if self.wanted.intervals:
            used = answer.law.bases(answer.look, answer.flow)
            for name, code in used.codes(answer.look, metrics).items():
                missing = np.isnan(self.columns[name][piece].astype(np.float64))
                self.columns[f"{name}_basis"][piece] = if_else(missing, -1, code)
        if BOTTLENECK in self.columns:
            self.columns[BOTTLENECK][piece] = answer.bottleneck()

    def refuse(self, piece: Piece, outside: Bools) -> None:
        """Mark questions that this dataset cannot answer, and clear their answers."""
        if not outside.any():
            return
        self.refused[piece] = outside
        for name, column in self.columns.items():
            blank = UNKNOWN if name == BOTTLENECK else -1
            part = column[piece]
            part[outside] = np.nan if column.dtype.kind == "f" else blank
            column[piece] = part


class _Worker:
    """Answers the questions of one choice of options and hosts block by block."""

    def __init__(
        self,
        cache: TableCache,
        key: Key,
        prepared: Prepared,
        questions: QuestionTable,
        out: Output,
    ) -> None:
        self.law, self.prepared, self.questions, self.out = cache.law, prepared, questions, out
        protocols = prepared.tables.axes.protocols
        self.protocols = np.array([name in protocols for name in cache.data.protocols]).cumsum() - 1
        limited = not REQUESTS.isdisjoint(questions.columns)
        self.over = cache.overload(key) if limited else None
        self.placer = Placer(prepared.tables, cache.domains(key, prepared), len(questions))
        names = prepared.named
        self.metrics = frozenset(out.wanted.metrics or names) & frozenset(names)
        self.wanted = self.metrics | ({BOTTLENECK} & out.columns.keys())
        self.block = max(BLOCK // (len(out.endings) * max(len(self.metrics), 1)), 1024)

    def answer(self, piece: Piece) -> None:
        """Answer one block."""
        size = piece.stop - piece.start if isinstance(piece, slice) else len(piece)
        columns = {name: column[piece] for name, column in self.questions.columns.items()}
        check(columns)
        columns["protocol"] = self.protocols.take(columns["protocol"].astype(np.int64, copy=False))
        q, refused = self.placer.place(columns, size)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found = self._write(piece, self.law, self.prepared, q)
            if self.over is not None and self.law.overload is not None:
                over = np.flatnonzero(too_much(self.law, self.over, found))
                if len(over):
                    beyond = self.law.overload.law
                    self._write(_some(piece, over), beyond, self.over, q.take(over))
        self.out.refuse(piece, refused | found.outside())

    def _write(self, piece: Piece, law: Law, prepared: Prepared, q: Questions) -> Answered:
        intervals = self.out.wanted.intervals
        found = answered(law, prepared, q, self.wanted, intervals=intervals)
        self.out.write(piece, found, self.metrics)
        return found


def _keep_memory() -> None:
    """Let the C library keep the memory that a block frees instead of returning it to the kernel.

    glibc raises its thresholds to the largest mapping that was freed; otherwise the columns
    of every block cause page faults again.  Other allocators are not affected.
    """
    largest = np.empty(4_000_000)  # just under glibc's limit of 32 MiB
    del largest


def _run(worker: _Worker, where: Ints | None) -> None:
    """Answer all questions, or those at some places, by the wanted number of threads."""
    count = worker.out.size if where is None else len(where)
    if count > worker.block:
        _keep_memory()
    most = worker.out.wanted.threads or os.cpu_count() or 1
    block = even_block(count, worker.block, most)
    pieces: list[Piece] = [
        slice(start, min(start + block, count)) if where is None else where[start : start + block]
        for start in range(0, count, block)
    ]
    threads = min(most, len(pieces))
    if threads <= 1:
        for piece in pieces:
            worker.answer(piece)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(worker.answer, piece) for piece in pieces]:
            done.result()


def even_block(count: int, most: int, threads: int) -> int:
    """Size of the blocks of some questions, at most ``most``, so that all threads end at the same time."""
    blocks = math.ceil(count / most)
    if blocks > 1:
        blocks = math.ceil(blocks / threads) * threads
    return math.ceil(count / max(blocks, 1)) or 1


def _some(piece: Piece, where: Ints) -> Ints:
    """Some places of a piece."""
    return piece.start + where if isinstance(piece, slice) else piece[where]


def _fold(model: TableCache, out: Columns, questions: QuestionTable) -> xr.Dataset:
    """The answers in the shape of the questions, with labels, and codes with their meanings."""
    variables = {
        name: xr.Variable(questions.dims, column.reshape(questions.shape), _attributes(name))
        for name, column in out.items()
    }
    whose = {
        "dataset": model.data.id,
        "sha256": model.data.sha256,
        "variant": model.variant,
    }
    return xr.Dataset(variables, coords=dict(questions.coords), attrs=whose)


def _attributes(name: str) -> dict[str, object]:
    """What a column says of itself: its name with its unit, or the meanings of its codes."""
    if name != BOTTLENECK and not name.endswith("_basis"):
        return {"units": unit_of(name), "long_name": long_name(name)}
    meanings = BOTTLENECKS if name == BOTTLENECK else BASES
    return {
        "long_name": long_name(name),
        "flag_values": list(range(len(meanings))),
        "flag_meanings": " ".join(meanings),
    }

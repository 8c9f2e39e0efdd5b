"""Answer the scenarios of a sheet, one per row.

A column of parameters has the parameter's name in Python (``payload_bytes``) or on the command line (``payload``). The
unit is in the heading (``payload [B]``) or in each cell (``64 KiB``). The answered sheet has all columns in their order,
then the columns of the answers. If a row has no answer, its last cell states the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from icmodel.dataset import Dataset, load
from icmodel.errors import IcmodelError, ScenarioError
from icmodel.estimate import BASES, BOTTLENECKS, Prediction
from icmodel.model import Model
from icmodel.scenario import SI_NAMES, TEXT_SPELLINGS, scenario
from icmodel.sheets.sheet import ANSWER_HEADS, ANSWERS, HEAD, LIMITED_BY, WHY, Cell, Sheet

Progress = Callable[[int, int], None]
"""Function of the number of answered rows and the total number of rows; it shows the progress."""

BLOCK = 20_000
"""Maximum number of rows in one call of a model."""
MODEL = ("dataset", "variant")
"""Names of the columns that state the dataset and the variant of a row."""
COUNTS = ("cores", "switches", "endpoints")


def answer_sheet(
    sheet: Sheet,
    dataset: Dataset | str | Path | None = None,
    variant: str | None = None,
    *,
    extrapolate: bool = False,
    cache: bool = True,
    progress: Progress | None = None,
) -> Sheet:
    """Predict the scenario of each row. A row without an answer gets the reason.

    Parameters
    ----------
    sheet : Sheet
        Scenarios, one per row. A column has the name of a field of `icmodel.Scenario` (``payload_bytes``) or of an
        option of ``icmodel predict`` (``payload``). Further columns are ``dataset``, ``variant``, ``protocol`` and the
        option axes of the dataset.
    dataset : Dataset, str or Path, optional
        Dataset for rows without a dataset.
    variant : str, optional
        Variant for rows without a variant. Default: the dataset's default variant.
    extrapolate : bool
        Whether to answer questions outside the measured range. Such answers have the basis ``extrapolated``.
    cache : bool
        Whether fits of the variant ``hybrid`` are read from the user's cache folder, and stored there.
    progress : callable, optional
        Function of the number of answered rows and the total number of rows.

    Returns
    -------
    Sheet
        The columns of ``sheet``, then the columns of the answers. Each metric with a value in at least one row has four
        columns: value, low, high and basis. The bottleneck and the reason for a missing answer follow. Answers from an
        earlier call are replaced.

    Raises
    ------
    ScenarioError
        If no column is a payload, two columns are the same parameter, or a heading with a unit is a misspelt
        parameter. Also if a heading is that of an answer, such as "goodput [Gb/s]", in a sheet that was not answered
        before. (An answered sheet has the columns "limited by" and "why".)

    Examples
    --------
    >>> sheet = Sheet(("camera", "payload [B]", "rate [1/s]"), (("left", 1448, 1000), ("right", None, 1000)))
    >>> answered = answer_sheet(sheet, "ethernet-10g-2012")
    >>> answered.head[:4]
    ('camera', 'payload [B]', 'rate [1/s]', 'goodput [Gb/s]')
    >>> round(answered.rows[0][3], 6)
    0.011584
    >>> answered.rows[1][-1]
    'payload is empty: give bytes, such as 1448 B'
    """
    heads = [head.strip() for head in sheet.head]
    taken = [head for head in heads if head in ANSWER_HEADS]
    if taken and not {LIMITED_BY, WHY} <= set(taken):
        raise ScenarioError(
            f"the column {taken[0]!r} has the heading of an answer: give it another heading"
        )
    kept = [place for place, head in enumerate(heads) if head not in ANSWER_HEADS]
    columns = parameter_columns([sheet.head[place] for place in kept])
    questions = [_Question(tuple(row[place] for place in kept)) for row in sheet.rows]
    models = _Models(dataset, variant, cache)

    # Rows with the same model and parameters are answered together.
    groups: dict[tuple[object, ...], list[_Question]] = {}
    for question in questions:
        if question.is_empty:
            continue
        try:
            key = question.read(columns, models, decimal_comma=sheet.delimiter == ";")
        except IcmodelError as error:
            question.why = str(error)
        else:
            groups.setdefault(key, []).append(question)

    done = len(questions) - sum(map(len, groups.values()))
    outside = "extrapolate" if extrapolate else "refuse"
    for group in groups.values():
        for first in range(0, len(group), BLOCK):
            block = group[first : first + BLOCK]
            answer_block(block, outside)
            done += len(block)
            if progress is not None:
                progress(done, len(questions))

    # A metric without a value in any row gets no columns.
    answered = [question.found for question in questions if question.found]
    shown = [
        first + k
        for first in range(0, 4 * len(ANSWERS), 4)
        if any(found[first] is not None for found in answered)
        for k in range(4)
    ]
    shown.append(ANSWER_HEADS.index(LIMITED_BY))
    head = (*(sheet.head[place] for place in kept), *(ANSWER_HEADS[k] for k in shown), WHY)
    return Sheet(head, tuple(question.cells(shown) for question in questions), sheet.delimiter)


class _Column(NamedTuple):
    """Sheet column of a parameter.

    ``name`` is the parameter's name with the SI unit as suffix (``payload_bytes``). ``unit`` is the unit in the heading,
    if any. ``parse`` converts a text with a unit, such as ``64 KiB``. ``in_si`` is true if the heading is ``name``
    itself. Numbers in the column are then in SI units.
    """

    name: str
    unit: str
    parse: Callable[[str], float] | None
    in_si: bool

    def number(self, cell: Cell) -> float:
        """Convert a cell to SI units. A number is in the unit of the column's heading. A text states its own unit.

        Raises
        ------
        ScenarioError, UnitError
            If the cell is neither a number nor a text of a number and a unit.
        """
        text = str(cell).strip()
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            if self.parse is None:
                raise ScenarioError(f"{self.name} is {text!r}: give a number")
            return _parsed(self.parse, text)
        if self.parse is not None and self.unit:
            return _parsed(self.parse, f"{text} {self.unit}")
        if self.parse is not None and not self.in_si:
            raise ScenarioError(
                f"{self.name} is {text} without a unit: write the unit in the cell, or in the column heading, such as "
                "'payload [B]' or 'rate [1/s]'"
            )
        return number


PARSERS = dict(TEXT_SPELLINGS.values())
"""Parameter, such as ``payload_bytes`` -> parser of texts with a unit, such as ``64 KiB``."""


def parameter_columns(heads: Sequence[str]) -> dict[int, _Column]:
    """Return the columns that hold a parameter or an option, by column index.

    Raises
    ------
    ScenarioError
        If no column is a payload, two columns are the same parameter, or a heading with a unit is a misspelt parameter,
        which would otherwise be ignored.
    """
    known = {*TEXT_SPELLINGS, *SI_NAMES}
    found: dict[int, _Column] = {}
    for place, head in enumerate(heads):
        match = HEAD.fullmatch(head)
        if match is None or not match["name"]:
            continue
        name = re.sub(r"[\s-]+", "_", match["name"].lower())
        si_name = TEXT_SPELLINGS[name][0] if name in TEXT_SPELLINGS else name
        if si_name in {column.name for column in found.values()}:
            if si_name in SI_NAMES or si_name in MODEL:
                raise ScenarioError(f"two columns are {si_name}: keep one of them")
            continue
        if match["unit"] and name not in known and (near := get_close_matches(name, known, 1, 0.8)):
            raise ScenarioError(
                f"the column {head!r} is no parameter: write {near[0].replace('_', ' ')!r}, or another heading"
            )
        unit = "/s" if match["unit"] == "1/s" else match["unit"] or ""
        found[place] = _Column(si_name, unit, PARSERS.get(si_name), name == si_name)
    if "payload_bytes" not in {column.name for column in found.values()}:
        raise ScenarioError(
            "no column is a payload: name one 'payload [B]', or 'payload' with a unit in each cell"
        )
    return found


@lru_cache(maxsize=100_000)
def _parsed(parse: Callable[[str], float], text: str) -> float:
    return parse(text)


@dataclass(slots=True)
class _Question:
    """One row of a sheet of scenarios: its cells, its scenario, and its answer."""

    own: tuple[Cell, ...]
    model: Model | None = None
    values: dict[str, float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    found: list[Cell] = field(default_factory=list)
    why: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether all cells of the row are empty."""
        return all(cell is None or cell == "" for cell in self.own)

    def read(
        self, columns: Mapping[int, _Column], models: _Models, *, decimal_comma: bool
    ) -> tuple[object, ...]:
        """Read the scenario of the row, and return a key for grouping: rows with equal keys are answered together.

        Raises
        ------
        IcmodelError
            If a cell cannot be read, or the scenario is invalid for every dataset.
        """
        named = {
            columns[place].name: (columns[place], cell)
            for place, cell in enumerate(self.own)
            if place in columns and cell is not None and cell != ""
        }
        own, variant = (str(named[name][1]) if name in named else None for name in MODEL)
        self.model = models.get(own, variant)
        axes = self.model.data.option_axes
        for name, (column, cell) in named.items():
            if name == "protocol" or name in axes:
                whole = isinstance(cell, float) and cell.is_integer()
                self.texts[name] = str(int(cell) if whole else cell).strip()
            elif name in SI_NAMES:
                if decimal_comma and isinstance(cell, str):
                    cell = re.sub(r"^(-?\d+),(\d+)", r"\1.\2", cell)
                self.values[name] = column.number(cell)
        if "payload_bytes" not in self.values:
            raise ScenarioError("payload is empty: give bytes, such as 1448 B")
        self.texts.setdefault("protocol", self.model.data.default_protocol)
        scenario(**self.keywords())
        return (id(self.model), *sorted(self.texts.items()), *sorted(self.values))

    def keywords(self) -> dict[str, Any]:
        """Return the scenario of the row as keyword arguments of `Model.predict`."""
        whole = {name: int(v) if v == math.floor(v) else v for name, v in self.values.items()}
        counts = {name: whole[name] for name in ("payload_bytes", *COUNTS) if name in whole}
        return {**self.values, **counts, **self.texts}

    def cells(self, shown: Sequence[int]) -> tuple[Cell, ...]:
        """Return the row of the answered sheet: the question's cells, the answers, and the reason for no answer.

        ``shown`` are the columns of answers that the sheet has, as indices into `ANSWER_HEADS`.
        """
        answers = (self.found[place] for place in shown) if self.found else [None] * len(shown)
        return (*self.own, *answers, self.why or None)


class _Models:
    """Cache of the models for all rows of a sheet, by dataset and variant."""

    def __init__(
        self, dataset: Dataset | str | Path | None, variant: str | None, cache: bool
    ) -> None:
        self.dataset, self.variant, self.cache = dataset, variant, cache
        self.made: dict[tuple[str | None, str | None], Model] = {}

    def get(self, dataset: str | None, variant: str | None) -> Model:
        """Return the model for the dataset and variant of a row."""
        key = (dataset, variant)
        if key not in self.made:
            chosen = dataset if dataset is not None else self.dataset
            if chosen is None:
                raise ScenarioError("the row has no dataset: add a column 'dataset'")
            data = chosen if isinstance(chosen, Dataset) else load(chosen)
            self.made[key] = Model(data, variant or self.variant, cache=self.cache)
        return self.made[key]


def answer_block(block: Sequence[_Question], outside: str) -> None:
    """Answer several rows at once. All have the same model, protocol and options, and set the same parameters.

    If ``outside`` is "extrapolate", rows outside the measured range are answered. If it is "refuse", such a row gets
    the reason in place of an answer.
    """
    import numpy as np

    model = block[0].model
    assert model is not None
    asked: dict[str, Any] = {
        name: np.array([one.values[name] for one in block]) for name in block[0].values
    }
    asked |= block[0].texts | {"outside": "nan" if outside == "refuse" else outside}
    try:
        found = model.predict_arrays(**asked)
    except IcmodelError:
        for question in block:
            _answer_alone(question, outside)
        return

    # Columns of the answers, in the order of `ANSWER_HEADS`.
    columns: list[list[Cell]] = []
    for one in ANSWERS:
        if one.metric not in model.data.metrics or one.metric not in found:
            columns += [[None] * len(block)] * 4
            continue
        for name in (one.metric, f"{one.metric}_low", f"{one.metric}_high"):
            columns.append([_cell(v / one.si) for v in found[name].tolist()])
        codes = found[f"{one.metric}_basis"].tolist()
        columns.append([BASES[code] if code >= 0 else None for code in codes])
    limits = found["bottleneck"].tolist()
    columns.append([BOTTLENECKS[code] if code >= 0 else None for code in limits])
    for question, *cells in zip(block, *columns, strict=True):
        if cells[0] is None:
            _answer_alone(question, outside)
        else:
            question.found = cells


def _answer_alone(question: _Question, outside: str) -> None:
    """Answer one row, or store the reason why the row has no answer."""
    assert question.model is not None
    try:
        found = question.model.predict(**question.keywords(), outside=outside)
    except IcmodelError as error:
        question.why = str(error)
        return
    question.found = list(answer_cells(found))
    goodput = found.metrics.get("goodput_bps")
    if goodput is None or goodput.absent:
        question.why = goodput.why if goodput else "the dataset has no goodput"


def answer_cells(found: Prediction) -> Iterator[Cell]:
    """Yield the cells of an answer, in the order of `ANSWER_HEADS`, without the last column (the reason)."""
    for one in ANSWERS:
        estimate = found.metrics.get(one.metric)
        if estimate is None or estimate.absent:
            yield from (None, None, None, None)
        else:
            yield from (_cell(v / one.si) for v in (estimate.value, estimate.low, estimate.high))
            yield estimate.basis
    yield found.bottleneck


def _cell(number: float) -> float | None:
    return number if math.isfinite(number) else None

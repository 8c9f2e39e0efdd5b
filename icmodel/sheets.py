"""Sheets: read scenarios from a CSV or XLSX file, one per row, and write the same rows with their answers.

Other columns in the file, and the order of columns, are kept.  A column is named like a parameter in Python or on the
command line.  The unit stands in the head of the column (``payload [B]``) or in each cell (``64 KiB``).  If a row has
no answer, the last cell of the row states the reason.
"""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from icmodel.dataset import Dataset, load
from icmodel.errors import IcmodelError, ReportError, ScenarioError
from icmodel.estimate import BASES, BOTTLENECKS, Prediction
from icmodel.files import write
from icmodel.model import Model
from icmodel.scenario import SI_NAMES, TEXT_SPELLINGS, scenario

Cell = str | float | bool | None
Progress = Callable[[int, int], None]
"""Function that is called with the number of answered rows and the total number of rows."""

BLOCK = 20_000
"""Greatest number of rows of one model that are answered together."""
MOST_ROWS = 1_048_575
"""Greatest number of rows below the head of an XLSX sheet."""
LARGEST_BYTES = 512 * 2**20
"""Greatest unpacked size of an XLSX file that can be read [B]."""
HEAD = re.compile(r"\s*(?P<name>.*?)\s*(?:[\[(]\s*(?P<unit>[^\])]*?)\s*[\])])?\s*")
MODEL = ("dataset", "variant")
"""Columns that choose the dataset and the variant of a row."""
COUNTS = ("cores", "switches", "endpoints")
LIMITED_BY, WHY = "limited by", "why"


class Answer(NamedTuple):
    """A metric in the answers of a sheet: its name in heads of columns, its unit, and the size of the unit in SI."""

    name: str
    metric: str
    unit: str
    si: float

    @property
    def heads(self) -> tuple[str, str, str, str]:
        """Heads of the metric's four columns: value, low, high and basis."""
        unit = f"[{self.unit}]"
        return (
            f"{self.name} {unit}",
            f"{self.name} low {unit}",
            f"{self.name} high {unit}",
            f"{self.name} basis",
        )


ANSWERS = (
    Answer("goodput", "goodput_bps", "Gb/s", 1e9),
    Answer("mean latency", "latency_mean_s", "us", 1e-6),
    Answer("p99 latency", "latency_p99_s", "us", 1e-6),
    Answer("greatest latency", "latency_max_s", "us", 1e-6),
    Answer("sending CPU", "cpu_send", "%", 1e-2),
    Answer("receiving CPU", "cpu_recv", "%", 1e-2),
    Answer("loss", "loss_rate", "%", 1e-2),
)
"""Metrics in the answers of a sheet; the cells of a metric that the dataset lacks stay empty."""
ANSWER_HEADS = (*(head for one in ANSWERS for head in one.heads), LIMITED_BY, WHY)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of cells under a head.

    Parameters
    ----------
    head : tuple of str
        Texts of the head, one per column.
    rows : tuple of tuple
        Cells of each row: texts, numbers, or ``None`` for an empty cell; each row has as many cells as the head.
    delimiter : str
        Delimiter of a CSV file.  If the delimiter is ``;``, numbers have a decimal comma.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    delimiter: str = ","


# --- answering --------------------------------------------------------------------------------


def answer_sheet(
    sheet: Sheet,
    dataset: Dataset | str | Path | None = None,
    variant: str | None = None,
    *,
    extrapolate: bool = False,
    cache: bool = True,
    progress: Progress | None = None,
) -> Sheet:
    """Predict the scenario of each row; a row that cannot be answered gets the reason.

    Parameters
    ----------
    sheet : Sheet
        Scenarios, one per row.  Columns are named like fields of `icmodel.Scenario` (``payload_bytes``) or like options
        of ``icmodel predict`` (``payload``).  Further columns are ``dataset``, ``variant``, ``protocol`` and the option
        axes of the dataset.
    dataset : Dataset, str or Path, optional
        Dataset for rows that name no dataset.
    variant : str, optional
        Variant for rows that name no variant; by default the dataset's default variant.
    extrapolate : bool
        Whether to answer questions outside the measured range, marked ``extrapolated``.
    cache : bool
        Whether fits of ``hybrid`` are cached for the user.
    progress : callable, optional
        Called with the number of answered rows and the total number of rows.

    Returns
    -------
    Sheet
        The columns of ``sheet``, followed by the columns of the answers.  Each metric that at least one row has takes
        four columns: value, low, high and basis.  The bottleneck and the reason of an empty answer follow.  The answers of
        a sheet that was answered before are replaced.

    Raises
    ------
    ScenarioError
        If no column names a payload, two columns name the same parameter, a head with a unit is a misspelt
        parameter, or a column of a sheet without answers has the head of an answer.

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
            f"the column {taken[0]!r} would be replaced by the answer: give it another head"
        )
    kept = [place for place, head in enumerate(heads) if head not in ANSWER_HEADS]
    columns = _columns([sheet.head[place] for place in kept])
    questions = [_Question(tuple(row[place] for place in kept)) for row in sheet.rows]
    models = _Models(dataset, variant, cache)
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
    for group in groups.values():
        for first in range(0, len(group), BLOCK):
            block = group[first : first + BLOCK]
            _answer(block, extrapolate=extrapolate)
            done += len(block)
            if progress is not None:
                progress(done, len(questions))
    used = [
        any(
            question.found[4 * place : 4 * place + 1] != [None]
            for question in questions
            if question.found
        )
        for place in range(len(ANSWERS))
    ]
    shown = [4 * place + k for place, is_used in enumerate(used) if is_used for k in range(4)]
    shown += [len(ANSWER_HEADS) - 2]
    head = (*(sheet.head[place] for place in kept), *(ANSWER_HEADS[k] for k in shown), WHY)
    return Sheet(head, tuple(question.cells(shown) for question in questions), sheet.delimiter)


class _Column(NamedTuple):
    """A column of a parameter: its SI name, the unit in its head, and the parser of a text with a unit."""

    name: str
    unit: str
    parse: Callable[[str], float] | None
    in_si: bool

    def number(self, cell: Cell) -> float:
        """Convert a cell to SI: a number has the unit of the column's head, a text has its own unit.

        Raises
        ------
        ScenarioError, UnitError
            If the cell is not a number, or has no unit.
        """
        text = str(cell).strip()
        if not _is_number(text):
            if self.parse is None:
                raise ScenarioError(f"{self.name} is {text!r}: give a number")
            return _parsed(self.parse, text)
        if self.parse is not None and self.unit:
            return _parsed(self.parse, f"{text} {self.unit}")
        if self.parse is not None and not self.in_si:
            raise ScenarioError(
                f"{self.name} is {text} without a unit: write the unit in the cell, or in the head, such as "
                "'payload [B]'"
            )
        return float(text)


PARSERS = dict(TEXT_SPELLINGS.values())
"""Parsers of texts with a unit, by SI name of the parameter."""


def _columns(heads: Sequence[str]) -> dict[int, _Column]:
    """Columns that may name a parameter or an option, by index in the head.

    Raises
    ------
    ScenarioError
        If no column names a payload, two columns name one parameter, or a head with a unit is nearly a parameter:
        a misspelt request would be answered as no request at all.
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
                raise ScenarioError(f"two columns name {si_name}: keep one of them")
            continue
        if match["unit"] and name not in known and (near := get_close_matches(name, known, 1, 0.8)):
            raise ScenarioError(
                f"the column {head!r} names no parameter: write {near[0].replace('_', ' ')!r}, or another head"
            )
        unit = "/s" if match["unit"] == "1/s" else match["unit"] or ""
        found[place] = _Column(si_name, unit, PARSERS.get(si_name), name == si_name)
    if "payload_bytes" not in {column.name for column in found.values()}:
        raise ScenarioError(
            "no column names a payload: name one 'payload [B]', or 'payload' with a unit in each cell"
        )
    return found


@lru_cache(maxsize=100_000)
def _parsed(parse: Callable[[str], float], text: str) -> float:
    return parse(text)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


@dataclass(slots=True)
class _Question:
    """A row of a sheet: its cells, its scenario, and its answer."""

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
        """Read the scenario of the row, and return its key: rows with equal keys are answered together.

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
                self.values[name] = column.number(_decimal_point(cell) if decimal_comma else cell)
        if "payload_bytes" not in self.values:
            raise ScenarioError("payload is empty: give bytes, such as 1448 B")
        self.texts.setdefault("protocol", self.model.data.default_protocol)
        scenario(**self.keywords())
        return (id(self.model), *sorted(self.texts.items()), *sorted(self.values))

    def keywords(self) -> dict[str, Any]:
        """Keywords for `Model.predict`."""
        whole = {name: int(v) if v == math.floor(v) else v for name, v in self.values.items()}
        counts = {name: whole[name] for name in ("payload_bytes", *COUNTS) if name in whole}
        return {**self.values, **counts, **self.texts}

    def cells(self, shown: Sequence[int]) -> tuple[Cell, ...]:
        """Cells of the row, then its answers for the given indices of `ANSWER_HEADS`, then the reason."""
        answers = (self.found[place] for place in shown) if self.found else [None] * len(shown)
        return (*self.own, *answers, self.why or None)


class _Models:
    """Models of all rows, by dataset and variant, each made once."""

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
                raise ScenarioError("the row names no dataset: add a column 'dataset'")
            data = chosen if isinstance(chosen, Dataset) else load(chosen)
            self.made[key] = Model(data, variant or self.variant, cache=self.cache)
        return self.made[key]


def _answer(block: Sequence[_Question], *, extrapolate: bool) -> None:
    """Answer rows that have the same model, protocol, options and set of parameters."""
    import numpy as np

    model = block[0].model
    assert model is not None
    answers = [one for one in ANSWERS if one.metric in model.data.metrics]
    asked: dict[str, Any] = {
        name: np.array([one.values[name] for one in block]) for name in block[0].values
    }
    asked |= block[0].texts | {"outside": "extrapolate" if extrapolate else "nan"}
    try:
        found = model.predict_many(**asked)
    except IcmodelError:
        for question in block:
            _answer_alone(question, extrapolate=extrapolate)
        return
    columns: list[list[Cell]] = []
    for one in ANSWERS:
        if one not in answers or one.metric not in found:
            columns += [[None] * len(block)] * 4
            continue
        for name in (one.metric, f"{one.metric}_low", f"{one.metric}_high"):
            columns.append([_cell(v / one.si) for v in found[name].to_numpy().tolist()])
        codes = found[f"{one.metric}_basis"].to_numpy().tolist()
        columns.append([BASES[code] if code >= 0 else None for code in codes])
    limits = found["bottleneck"].to_numpy().tolist()
    columns.append([BOTTLENECKS[code] if code >= 0 else None for code in limits])
    for question, *cells in zip(block, *columns, strict=True):
        if cells[0] is None:
            _answer_alone(question, extrapolate=extrapolate)
        else:
            question.found = cells


def _answer_alone(question: _Question, *, extrapolate: bool) -> None:
    """Answer one row, or store the reason why the row has no answer."""
    assert question.model is not None
    try:
        found = question.model.predict(
            **question.keywords(), outside="extrapolate" if extrapolate else "refuse"
        )
    except IcmodelError as error:
        question.why = str(error)
        return
    question.found = list(_cells(found))
    goodput = found.metrics.get("goodput_bps")
    if goodput is None or goodput.absent:
        question.why = goodput.why if goodput else "the dataset has no goodput"


def _cells(found: Prediction) -> Iterator[Cell]:
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


# --- files ------------------------------------------------------------------------------------


def read_sheet(path: str | Path) -> Sheet:
    """Read the table in a CSV file, or in the first sheet of an XLSX file.

    Raises
    ------
    ReportError
        If the file is missing, damaged, too large, or neither CSV nor XLSX.
    """
    place = Path(path)
    try:
        body = place.read_bytes()
    except OSError as error:
        raise ReportError(
            f"{place} cannot be read ({error.strerror}): give a CSV or XLSX file"
        ) from error
    if place.suffix.lower() == ".xlsx":
        rows, delimiter = _xlsx_rows(body, place), ","
    elif place.suffix.lower() in (".csv", ".tsv", ".txt"):
        rows, delimiter = _csv_rows(body, place)
    else:
        raise ReportError(f"unsupported file extension in {str(place)!r}: use .xlsx or .csv")
    while rows and all(cell in (None, "") for cell in rows[-1]):
        rows.pop()
    if not rows:
        raise ReportError(f"{place} is empty: give a head and a row for each scenario")
    head = tuple("" if cell is None else str(cell) for cell in rows[0])
    width = len(head)
    cut = tuple((*row[:width], *[None] * (width - len(row))) for row in rows[1:])
    return Sheet(head, cut, delimiter)


def _csv_rows(body: bytes, place: Path) -> tuple[list[list[Cell]], str]:
    try:
        text = body.decode("utf-16" if body[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReportError(f"{place} is not text in UTF-8: save it as CSV in UTF-8") from error
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    rows: list[list[Cell]] = [
        list(row) for row in csv.reader(io.StringIO(text), delimiter=delimiter)
    ]
    return rows, delimiter


def _decimal_point(cell: Cell) -> Cell:
    return re.sub(r"^(-?\d+),(\d+)", r"\1.\2", cell) if isinstance(cell, str) else cell


def _xlsx_rows(body: bytes, place: Path) -> list[list[Cell]]:
    calamine = _import("python_calamine")
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as book:
            if sum(part.file_size for part in book.infolist()) > LARGEST_BYTES:
                raise ReportError(f"{place} unpacks to more than {LARGEST_BYTES} B: split it")
        sheets = calamine.CalamineWorkbook.from_filelike(io.BytesIO(body))
        table = sheets.get_sheet_by_index(0).to_python(skip_empty_area=False)
    except ReportError:
        raise
    except Exception as error:  # calamine has an exception for each kind of damage
        raise ReportError(f"{place} is not an XLSX file that can be read: {error}") from error
    return [[_plain_cell(cell) for cell in row] for row in table]


def _plain_cell(cell: object) -> Cell:
    if cell == "":
        return None
    return cell if isinstance(cell, (str, int, float)) else str(cell)


def write_sheet(sheet: Sheet, path: str | Path) -> None:
    """Write a table as CSV or XLSX; if writing fails, no partial file remains.

    Texts are written as texts, so a spreadsheet program runs no cell as a formula.

    Raises
    ------
    ReportError
        If the extension is neither ``.csv`` nor ``.xlsx``, the table is too long, or the file cannot be written.
    """
    place = Path(path)
    if place.suffix.lower() not in (".csv", ".xlsx"):
        raise ReportError(f"unsupported file extension in {str(place)!r}: use .xlsx or .csv")
    if place.suffix.lower() == ".xlsx" and len(sheet.rows) > MOST_ROWS:
        raise ReportError(f"an XLSX sheet has {MOST_ROWS} rows, not {len(sheet.rows)}: use .csv")
    write(place, _xlsx(sheet) if place.suffix.lower() == ".xlsx" else _csv(sheet))


def _csv(sheet: Sheet) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=sheet.delimiter, lineterminator="\n")
    writer.writerow(sheet.head)
    comma = sheet.delimiter == ";"
    for row in sheet.rows:
        writer.writerow(_csv_text(cell, comma) for cell in row)
    return text.getvalue().encode()


def _csv_text(cell: Cell, comma: bool) -> str:
    if isinstance(cell, float):
        text = f"{cell:.10g}"
        return text.replace(".", ",") if comma else text
    return "" if cell is None else str(cell)


FORMATS = {"%": "0.0##", "Gb/s": "0.000###", "us": "0.0###"}


def _xlsx(sheet: Sheet) -> bytes:
    """Make a workbook with a frozen head, filters, number formats and readable column widths."""
    body = io.BytesIO()
    options = {"constant_memory": True}
    with _import("xlsxwriter").Workbook(body, options) as book:
        page = book.add_worksheet("answers")
        bold = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        page.write_row(0, 0, sheet.head, bold)
        for place, head in enumerate(sheet.head):
            match = HEAD.fullmatch(head)
            unit = match["unit"] if match and head in ANSWER_HEADS else None
            number = book.add_format({"num_format": FORMATS[unit]}) if unit in FORMATS else None
            page.set_column(
                place, place, 60 if head == WHY else max(10, min(len(head), 18)), number
            )
        page.freeze_panes(1, 0)
        if sheet.rows:
            page.autofilter(0, 0, len(sheet.rows), len(sheet.head) - 1)
        for line, row in enumerate(sheet.rows, 1):
            for place, cell in enumerate(row):
                if isinstance(cell, str):
                    page.write_string(line, place, cell)
                elif cell is not None:
                    page.write_number(line, place, cell)
    return body.getvalue()


# --- a template -------------------------------------------------------------------------------

TEMPLATE = (
    ("dataset", "Name of a dataset: `icmodel datasets list`."),
    ("protocol", "Protocol of the dataset. If empty, the dataset's default protocol."),
    ("payload [B]", "Useful bytes of one frame."),
    ("rate [1/s]", "Requested frames per second. If empty, unlimited."),
    ("requested goodput [Gb/s]", "Requested goodput. Give this or the rate, not both."),
    ("cores", "Parallel streams, one per core. If empty, the greatest measured count."),
    ("switches", "Number of switches on the path. If empty, 0."),
    ("endpoints", "Number of senders to the same interface, this one included. If empty, 1."),
    ("other goodput [Gb/s]", "Sum of the goodputs that the other senders request. If empty, 0."),
)
"""Columns of a template, each with the note that explains it."""


def write_template(path: str | Path, datasets: Iterable[str], protocols: Iterable[str]) -> None:
    """Write an empty table of scenarios; an XLSX file has drop-down lists and a note on each column.

    Raises
    ------
    ReportError
        If the extension is neither ``.csv`` nor ``.xlsx``, or the file cannot be written.
    """
    place = Path(path)
    names = tuple(name for name, _ in TEMPLATE)
    if place.suffix.lower() != ".xlsx":
        write_sheet(Sheet(names, ()), place)
        return
    body = io.BytesIO()
    with _import("xlsxwriter").Workbook(body, {"in_memory": True}) as book:
        page = book.add_worksheet("scenarios")
        page.write_row(0, 0, names, book.add_format({"bold": True}))
        for column, (name, note) in enumerate(TEMPLATE):
            page.write_comment(0, column, note)
            page.set_column(column, column, max(12, len(name) + 2))
        page.freeze_panes(1, 0)
        lists = book.add_worksheet(
            "lists"
        )  # a drop-down without a list sheet holds at most 255 characters
        lists.hide()
        for column, texts in enumerate((sorted(set(datasets)), sorted(set(protocols)))):
            lists.write_column(0, column, texts)
            letter = "AB"[column]
            source = f"=lists!${letter}$1:${letter}${max(len(texts), 1)}"
            page.data_validation(1, column, 10_000, column, {"validate": "list", "source": source})
    write(place, body.getvalue())


def _import(name: str) -> Any:
    """Import a library of the extra ``xlsx``."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ReportError(
            f"XLSX needs {name}, which is not installed: run `pip install 'icmodel[xlsx]'`, or use .csv"
        ) from error

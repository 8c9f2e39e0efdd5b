"""CSV and XLSX tables, read by a mapping of their columns that a person writes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from icmodel.errors import RecordError, UnitError
from icmodel.ingest.labels import Labels
from icmodel.ingest.mapping import BESIDE, NUMBERED, UNLIMITED, Column, ColumnMap
from icmodel.ingest.readers.spreadsheet import sheet_rows
from icmodel.ingest.result import BOTH, RECEIVER, SENDER, Number, Origin, Result, Side, unit_of
from icmodel.ingest.source import Source

_WAS_ROW = re.compile(r"\s*[-+]?(?:\d|(?:nan|inf)\b)", re.I)
"""How a line begins that is a row, or was one."""


class Layout(NamedTuple):
    """How a tool lays out its output.

    Parameters
    ----------
    start
        The line that begins a run; none if a file of the tool is read as a whole.
    holds
        A line that a run holds before the next may begin; two ends may print their heads first.
    parts_thousands
        Whether the tool prints commas between thousands.
    """

    start: re.Pattern[str] | None = None
    holds: re.Pattern[str] | None = None
    parts_thousands: bool = False


class Section(NamedTuple):
    """The lines under a title: what the title matched, and the number of the first line."""

    title: re.Match[str]
    lines: list[str]
    first: int


class Row(NamedTuple):
    """The cells of a row, of which the first is the size of a message, and the number of its line."""

    size: int
    cells: list[str]
    line: int


def told(pattern: re.Pattern[str], text: str) -> str:
    """What the group of a pattern's first match holds; empty without a match."""
    found = pattern.search(text)
    return found[1] if found else ""


def begins_row(line: str) -> bool:
    """Whether a line begins with a number, or with what stands in place of a broken one."""
    return _WAS_ROW.match(line) is not None


def sections(title: re.Pattern[str], source: Source) -> Iterator[Section]:
    """The sections of a text, each from behind its title to the next title."""
    text = source.text
    found = list(title.finditer(text))
    ends = [one.start() for one in found[1:]] + [len(text)]
    for one, end in zip(found, ends, strict=False):
        body = text[one.end() + 1 : end].split("\n")
        yield Section(one, body, source.line_at(one.end()) + 1)


def rows(section: Section, row: re.Pattern[str], name: str) -> Iterator[Row]:
    """The rows of a section's table, those of empty messages too.

    Raises
    ------
    RecordError
        If a line was a row and is none any more, two are of one size, or there is none.
    """
    sizes: set[int] = set()
    for number, line in enumerate(section.lines, start=section.first):
        if row.match(line):
            cells = line.split()
            size = int(cells[0])
            if size in sizes:
                raise RecordError(
                    f"line {number}: “{name}” has two rows of {size} B: keep each run in a file of its own"
                )
            sizes.add(size)
            yield Row(size, cells, number)
        elif begins_row(line):
            raise RecordError(
                f"line {number}: {line.strip()!r} is no row of “{name}”: it was cut off or changed"
            )
    if max(sizes, default=0) < 1:
        raise RecordError(f"“{name}” has no rows: the run failed or was cut off")


NAME = "table"
_GROUPS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+")


def read(source: Source, columns: ColumnMap) -> list[Result]:
    """The results of a table: each row is one, unless it is empty.

    Raises
    ------
    RecordError
        If a mapped column is missing or a cell is not what its column should hold.
    """
    rows = list(_rows(source, columns))
    if len(rows) <= columns.header_row + 1:
        raise RecordError(f"it has no rows under line {columns.header_row + 1}")
    header = [cell.strip() for cell in rows[columns.header_row]]
    places = {name: _place(header, name) for name in columns.columns}
    results = []
    for line, row in enumerate(rows[columns.header_row + 1 :], start=columns.header_row + 2):
        _check_width(row, len(header), line)
        cells = {name: row[at].strip() if at < len(row) else "" for name, at in places.items()}
        if any(cells.values()):
            results.append(_result(cells, columns, line))
    if not results:
        raise RecordError("all of its rows are empty in the mapped columns")
    return results


def _rows(source: Source, columns: ColumnMap) -> Iterator[Sequence[str]]:
    if source.body[:4] == b"PK\x03\x04":
        yield from sheet_rows(source.body, columns.sheet)
        return
    try:
        yield from csv.reader(
            io.StringIO(source.text, newline=""), delimiter=columns.delimiter, strict=True
        )
    except csv.Error as error:
        raise RecordError(f"it is not CSV: {error}") from error


def _check_width(row: Sequence[str], width: int, line: int) -> None:
    """Refuse cells beyond the header: then a comma parts a number, and all behind it has moved."""
    beyond = [cell for cell in row[width:] if cell.strip()]
    if beyond:
        raise RecordError(
            f"line {line} has {len(row)} cells under {width} names: a delimiter stands inside a "
            "number or text, so quote it, or say delimiter and decimal in the mapping"
        )


def _place(header: Sequence[str], name: str) -> int:
    if header.count(name) != 1:
        found = ", ".join(repr(cell) for cell in header if cell) or "nothing"
        many = "no column" if name not in header else "more than one column"
        raise RecordError(f"it has {many} {name!r}: its header has {found}")
    return header.index(name)


def _result(cells: Mapping[str, str], columns: ColumnMap, line: int) -> Result:
    axes: dict[str, object] = {}
    options: dict[str, str] = dict(columns.options)
    numbers = []
    for name, column in columns.columns.items():
        text = cells[name]
        if not text or column.field in BESIDE:
            continue
        if column.option:
            options[column.field] = text.lower()
        elif column.field == "protocol":
            axes["protocol"] = text.lower()
        elif column.field in NUMBERED:
            axes[column.field] = _axis(column, _value(column, text, columns, line), line)
        else:
            numbers.append(_number(column, cells, columns, line))
    if not numbers:
        raise RecordError(f"line {line} has no value of any metric")
    return Result(
        origin=Origin(NAME, "", f"line {line}", source=columns.source),
        labels=Labels(**axes, options=options),  # type: ignore[arg-type]
        numbers=tuple(numbers),
    )


def _axis(column: Column, value: float, line: int) -> float | int:
    if column.field.endswith("_bps"):
        return value
    if value % 1:
        raise RecordError(f"line {line}: {column.field} {value:g} is no whole number")
    return int(value)


def _number(column: Column, cells: Mapping[str, str], columns: ColumnMap, line: int) -> Number:
    """A number with its range and count; ``half`` is the greatest rounding error of its cells."""
    beside = {what: columns.beside(column, what) for what in BESIDE}
    said = {what: one for what, one in beside.items() if one and cells[one.name]}
    n = cells[said.pop("n").name] if "n" in said else ""
    if n and not n.isdigit():
        raise RecordError(f"line {line}: n {n!r} is no whole number")
    said["value"] = column
    ends = {what: _value(one, cells[one.name], columns, line) for what, one in said.items()}
    halves = [_half(one, cells[one.name], columns) for what, one in said.items() if ends[what]]
    value, low, high = ends["value"], ends.get("low"), ends.get("high")
    half = max(halves) if value else 0.0
    return Number(
        column.field,
        value,
        _side(column.field),
        low=_beyond(low, value, half, min),
        high=_beyond(high, value, half, max),
        half=half,
        n=int(n) if n else None,
        basis=columns.basis,
    )


def _half(column: Column, text: str, columns: ColumnMap) -> float:
    """How far a cell above 0 may lie off, in SI, because it was rounded to the digits it has."""
    unit = unit_of(_plain(column, text, columns, line=0))
    return column.parse(f"{unit:f}") / 2


def _beyond(
    end: float | None, value: float, half: float, furthest: Callable[[float, float], float]
) -> float | None:
    """An end of a range, moved to the value where rounding alone put it on the wrong side."""
    return furthest(end, value) if end is not None and abs(end - value) <= 2 * half else end


def _side(metric: str) -> Side:
    if metric.startswith(("cpu_send", "sent_", "shortfall")):
        return SENDER
    return RECEIVER if metric.startswith(("cpu_recv", "goodput", "frames")) else BOTH


def _value(column: Column, text: str, columns: ColumnMap, line: int) -> float:
    """A cell in SI, by the unit of its column."""
    plain = _plain(column, text, columns, line)
    if column.field == "load_bps" and plain in UNLIMITED:
        return float("inf")
    try:
        return column.parse(plain)
    except UnitError as error:
        raise RecordError(f"line {line}, column {column.name!r}: {error}") from error


def _plain(column: Column, text: str, columns: ColumnMap, line: int) -> str:
    """A cell's number as Python writes it."""
    plain = text.strip().lower()
    if columns.decimal != ".":
        if "." in plain and _GROUPS.fullmatch(plain.partition(columns.decimal)[0]) is None:
            raise RecordError(
                f"line {line}, column {column.name!r}: {text!r} has a point, which groups "
                f"thousands where {columns.decimal!r} is the decimal: one of them is wrong"
            )
        plain = plain.replace(".", "").replace(columns.decimal, ".")
    return plain

"""Reader of tables in CSV or XLSX, with a mapping of columns that the user writes in TOML.

For example ``[columns."Throughput (Mb/s)"]`` with ``field = "goodput_bps"`` and ``unit = "Mb/s"``.
Every quantity needs its unit, since cells are bare numbers.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from icmodel import units
from icmodel.dataset import AXES, METRIC_ENDINGS, RATIOS
from icmodel.documents import toml_file
from icmodel.errors import RecordError, UnitError
from icmodel.frozen import FrozenMapping
from icmodel.ingest.labels import Labels
from icmodel.ingest.result import BOTH, RECEIVER, SENDER, Number, Origin, Result, Side, unit_of
from icmodel.ingest.source import Source, require

NAME = "table"
"""Name of the tool in results from a table."""
NUMBERED = AXES[1:]
BESIDE = ("low", "high", "n")
"""Fields of columns that belong to the column of a metric: lower limit, upper limit and number of runs."""
BASES = ("measured", "tabulated", "stated", "derived")
KEYS = ("columns", "options", "basis", "source", "sheet", "header_row", "delimiter", "decimal")
EXAMPLES = {"bytes": "B", "bps": "Mb/s", "fps": "/s", "s": "us", "share": "%"}
"""Example of a unit for each kind of quantity, used in error messages."""
UNLIMITED = ("inf", "unlimited")
_NUMBER = re.compile(r"[+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_KINDS = (
    ("_bytes", "bytes"),
    ("_bps", "bps"),
    ("_per_s", "fps"),
    ("_s", "s"),
)
"""Endings of the names of fields, each with its kind of quantity; ``_per_s`` must come before ``_s``."""
_GROUPS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+")


# --- mapping ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table, mapped to a field of the dataset.

    Parameters
    ----------
    name
        Heading of the column in the table.
    field
        An axis such as ``payload_bytes``, an option axis, a metric, or ``low``, ``high`` or ``n`` (runs) of a metric.
    unit
        Unit of the column's numbers.
    option
        Whether the field is an option axis.
    of
        The metric that ``low``, ``high`` or ``n`` belongs to.
    """

    name: str
    field: str
    unit: str = ""
    option: bool = False
    of: str = ""

    @classmethod
    def from_entry(cls, name: str, entry: object, place: str) -> Column:
        """Make a column from an entry of the user's mapping; the unit must suit the field."""
        if not isinstance(entry, Mapping) or not isinstance(entry.get("field"), str):
            raise RecordError(
                f'{place} has no field: write one, such as field = "goodput_bps", and its unit'
            )
        if unknown := sorted(set(entry) - {"field", "unit", "option", "of"}):
            raise RecordError(
                f"{place} has the unknown key {unknown[0]!r}: use 'field', 'unit', 'option' or 'of'"
            )
        column = cls(
            name,
            str(entry["field"]),
            str(entry.get("unit", "")),
            entry.get("option") is True,
            str(entry.get("of", "")),
        )
        if column.option or column.field in ("protocol", "n"):
            return column
        require(
            column.kind,
            f"{place} has the unknown field {column.field!r}: use an axis ({', '.join(AXES)}), a metric such "
            "as goodput_bps, or low, high or n with the key 'of'; an option needs option = true",
        )
        if column.kind == "count":
            return column
        require(
            column.unit,
            f"{place} has no unit: name the unit in which {column.field} is written, such as "
            f"{EXAMPLES[column.kind]}",
        )
        require(
            column.kind != "share" or column.unit in ("%", "1"),
            f"{place} has the unit {column.unit!r}: a share is written in % or 1",
        )
        try:
            column.parse("1")
        except UnitError as error:
            raise RecordError(f"{place}: {error}") from error
        return column

    def parse(self, text: str) -> float:
        """Convert the text of a cell to a number in SI units.

        Raises
        ------
        UnitError
            If the cell is not a number in the column's unit.

        >>> Column("Throughput", "goodput_bps", "Mb/s").parse("940")
        940000000.0
        """
        if _NUMBER.fullmatch(text) is None:
            raise UnitError(f"{text!r} is not a number of 0 or more: correct the cell")
        if self.kind == "share":
            return float(text) / 100 if self.unit == "%" else float(text)
        if self.kind == "count":
            return float(text)
        return units.parse(self.kind, f"{text} {self.unit}")

    @property
    def kind(self) -> str:
        """Kind of quantity in the column: ``share``, ``count``, or a name in `icmodel.units`; empty if unknown."""
        name = self.of if self.field in BESIDE else self.field
        is_cpu = name.endswith("_cores") or re.fullmatch(r"cpu_(send|recv)_[a-z]+", name)
        if name in RATIOS or is_cpu:
            return "share"
        if name in ("cores", "switches", "endpoints"):
            return "count"
        is_known = name in NUMBERED or name.endswith(METRIC_ENDINGS)
        return next((kind for end, kind in _KINDS if is_known and name.endswith(end)), "")

    @property
    def side(self) -> Side:
        """Host that counts the metric of the column: sender, receiver, or both."""
        if self.field.startswith(("cpu_send", "sent_", "shortfall")):
            return SENDER
        return RECEIVER if self.field.startswith(("cpu_recv", "goodput", "frames")) else BOTH


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Mapping of a table's columns to fields, and the format of the table's numbers."""

    columns: Mapping[str, Column]
    options: Mapping[str, str] = field(default_factory=dict)
    basis: str = "measured"
    source: str = ""
    sheet: str = ""
    header_row: int = 0
    delimiter: str = ","
    decimal: str = "."

    def beside(self, column: Column) -> dict[str, Column]:
        """Find the columns with the interval of a metric (``low``, ``high``) and its number of runs (``n``).

        ``column`` is the column with the metric's values. The result maps ``low``, ``high`` and ``n`` to columns.
        """
        return {
            one.field: one
            for one in self.columns.values()
            if one.field in BESIDE and one.of == column.field
        }

    def plain(self, column: Column, text: str, place: str) -> str:
        """Convert a number such as ``1.234,5`` to Python's notation; ``place`` names the row in messages."""
        plain = text.strip().lower()
        if self.decimal != ".":
            require(
                "." not in plain or _GROUPS.fullmatch(plain.partition(self.decimal)[0]),
                f"{place}, column {column.name!r}: {text!r} has a point, but decimal = {self.decimal!r} makes "
                "points separate thousands: correct one of them",
            )
            plain = plain.replace(".", "").replace(self.decimal, ".")
        return plain

    def value(self, column: Column, text: str, place: str) -> float:
        """Convert the number in a cell to SI units; ``place`` names the row in messages."""
        plain = self.plain(column, text, place)
        if column.field == "load_bps" and plain in UNLIMITED:
            return float("inf")
        try:
            return column.parse(plain)
        except UnitError as error:
            raise RecordError(f"{place}, column {column.name!r}: {error}") from error


def read_mapping(path: Path) -> ColumnMap:
    """Read the mapping of a table's columns from a TOML file.

    Raises
    ------
    RecordError
        If the file cannot be read or has unknown keys.
    """
    return column_map(toml_file(path, RecordError), str(path))


def column_map(document: Mapping[str, object], where: str) -> ColumnMap:
    """Make the mapping of a table's columns from a document; ``where`` names the document in messages.

    Raises
    ------
    RecordError
        If a key, field or unit is wrong.

    Examples
    --------
    >>> columns = {"Size (B)": {"field": "payload_bytes", "unit": "B"},
    ...            "Rate (Mb/s)": {"field": "goodput_bps", "unit": "Mb/s"}}
    >>> column_map({"columns": columns}, "my table").columns["Size (B)"].kind
    'bytes'
    """
    for key in document:
        require(key in KEYS, f"{where}: the key {key!r} is unknown: use one of {', '.join(KEYS)}")
    entries = document.get("columns")
    if not isinstance(entries, Mapping) or not entries:
        raise RecordError(f'{where} has no [columns."NAME"]: write one for each column to take')
    columns = {
        str(name): Column.from_entry(str(name), entry, f"{where}: the column {name!r}")
        for name, entry in entries.items()
    }

    # Refuse two columns for one field, and columns low, high or n of a metric that has no column.
    metrics = {column.field for column in columns.values()}
    first: dict[tuple[str, str], str] = {}
    for column in columns.values():
        other = first.setdefault((column.field, column.of), column.name)
        require(
            other == column.name,
            f"{where}: the columns {other!r} and {column.name!r} are both mapped to "
            f"{column.field}: map only one of them, or put each run in a row of its own",
        )
        require(
            column.field not in BESIDE or column.of in metrics,
            f"{where}: the column {column.name!r} is {column.field} of {column.of!r}, but no "
            "column is mapped to that metric: map one",
        )

    basis = str(document.get("basis", "measured"))
    require(basis in BASES, f"{where}: the basis {basis!r} is not one of {', '.join(BASES)}")
    header = document.get("header_row", 1)
    if not isinstance(header, int) or header < 1:
        raise RecordError(f"{where}: header_row {header!r} is not a line number from 1 up")
    characters = {"delimiter": ",", "decimal": "."}
    for key, default in characters.items():
        value = document.get(key, default)
        if not isinstance(value, str) or len(value) != 1:
            raise RecordError(f"{where}: {key} {value!r} is not one character, such as ';'")
        characters[key] = value
    options = document.get("options", {})
    return ColumnMap(
        columns=FrozenMapping(columns),
        options={str(k): str(v) for k, v in options.items()} if isinstance(options, dict) else {},
        basis=basis,
        source=str(document.get("source", "")),
        sheet=str(document.get("sheet", "")),
        header_row=header - 1,
        **characters,
    )


# --- rows -------------------------------------------------------------------------------------


def read_table(source: Source, columns: ColumnMap) -> list[Result]:
    """Read the results of a table: one for each row that is not empty.

    Raises
    ------
    RecordError
        If a mapped column is missing, or a cell has no valid value for the column.
    """
    rows: list[Sequence[str]]
    if source.body[:4] == b"PK\x03\x04":
        rows = list(sheet_rows(source.body, columns.sheet))
    else:
        lines = io.StringIO(source.text, newline="")
        try:
            rows = list(csv.reader(lines, delimiter=columns.delimiter, strict=True))
        except csv.Error as error:
            raise RecordError(f"the file is not CSV: {error}") from error
    first = columns.header_row + 1
    require(len(rows) > first, f"the file has no rows under line {first}")
    header = [cell.strip() for cell in rows[columns.header_row]]
    for name in columns.columns:
        if header.count(name) != 1:
            heads = ", ".join(repr(cell) for cell in header if cell) or "nothing"
            many = "no column" if name not in header else "more than one column"
            raise RecordError(
                f"the file has {many} {name!r} in its header ({heads}): correct the name in the mapping or in the file"
            )
    places = {name: header.index(name) for name in columns.columns}
    results = []
    for line, row in enumerate(rows[first:], start=first + 1):
        # Extra cells mean that a number or text contains the delimiter, so that the cells after it are shifted.
        require(
            not any(cell.strip() for cell in row[len(header) :]),
            f"line {line} has {len(row)} cells under {len(header)} names: a number or text contains the "
            "delimiter; quote the cell, or set delimiter and decimal in the mapping",
        )
        cells = {name: row[at].strip() if at < len(row) else "" for name, at in places.items()}
        if any(cells.values()):
            results.append(_result(cells, columns, f"line {line}"))
    require(results, "all of its rows are empty in the mapped columns")
    return results


def _result(cells: Mapping[str, str], columns: ColumnMap, place: str) -> Result:
    """Make the result of one row of a table. Its cells are given by name of the column."""
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
            value = columns.value(column, text, place)
            is_rate = column.field.endswith("_bps")
            require(
                is_rate or value % 1 == 0,
                f"{place}: {column.field} {value:g} is not a whole number",
            )
            axes[column.field] = value if is_rate else int(value)
        else:
            numbers.append(_number(column, cells, columns, place))
    require(numbers, f"{place} has no value of any metric")
    return Result(
        origin=Origin(NAME, "", place, source=columns.source),
        labels=Labels(**axes, options=options),  # type: ignore[arg-type]
        numbers=tuple(numbers),
    )


def _number(column: Column, cells: Mapping[str, str], columns: ColumnMap, place: str) -> Number:
    """Read the number of a metric from a table's row, with its range and number of runs.

    The number's ``half`` is the greatest rounding error of the cells read: half a unit of the last digit.
    """
    parts = {key: one for key, one in columns.beside(column).items() if cells[one.name]}
    n = cells[parts.pop("n").name] if "n" in parts else ""
    require(not n or n.isdigit(), f"{place}: n {n!r} is not a whole number")
    parts["value"] = column
    values, halves = {}, []
    for key, part in parts.items():
        text = cells[part.name]
        values[key] = columns.value(part, text, place)
        if values[key]:
            halves.append(part.parse(f"{unit_of(columns.plain(part, text, place)):f}") / 2)
    value, low, high = values["value"], values.get("low"), values.get("high")
    half = max(halves) if value else 0.0
    # Rounding alone may put the lower limit above the value, or the upper limit below it.
    if low is not None and abs(low - value) <= 2 * half:
        low = min(low, value)
    if high is not None and abs(high - value) <= 2 * half:
        high = max(high, value)
    return Number(
        column.field,
        value,
        column.side,
        low=low,
        high=high,
        half=half,
        n=int(n) if n else None,
        basis=columns.basis,
    )


MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
LARGEST_PART_BYTES = 256 * 2**20
LAST_COLUMN = 16_383
DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError, ElementTree.ParseError),
    RuntimeError,  # a part with a password, or packed by an unknown method
)
"""Errors of the standard library for damaged archives and parts."""
_CELL = re.compile(r"([A-Z]+)([0-9]+)")


def sheet_rows(body: bytes, sheet: str) -> Iterator[list[str]]:
    """Read the rows of one sheet of an XLSX file; the first sheet if the name is empty.

    Empty cells are ``""``.  For a formula, the saved value is used.

    Raises
    ------
    RecordError
        If the file is not XLSX or has no sheet with that name.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as book:
            shared: list[str] = []
            if "xl/sharedStrings.xml" in book.namelist():
                shared = [_text(item) for item in _part(book, "xl/sharedStrings.xml")]
            sheets = list(_part(book, "xl/workbook.xml").iter(f"{MAIN}sheet"))
            names = [one.get("name", "") for one in sheets]
            require(
                not sheet or sheet in names,
                f"the file has no sheet {sheet!r}: its sheets are {', '.join(names)}",
            )
            chosen = sheets[names.index(sheet) if sheet else 0]
            links = _part(book, "xl/_rels/workbook.xml.rels")
            targets = {link.get("Id"): link.get("Target", "") for link in links}
            target = targets.get(chosen.get(RELATION), "")
            path = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            page = _part(book, path)
    except DAMAGES as error:
        raise RecordError(f"the file is not a readable XLSX file: {error}") from error
    line = 0
    for row in page.iter(f"{MAIN}row"):
        number = int(row.get("r", line + 1))
        yield from ([] for _ in range(min(number - line - 1, 10_000)))
        line = number
        yield _cells(row, shared)


def _part(book: zipfile.ZipFile, name: str) -> Element:
    """Parse an XML file in the archive of an XLSX file; returns its root element."""
    require(
        book.getinfo(name).file_size <= LARGEST_PART_BYTES,
        f"its {name} unpacks to more than {LARGEST_PART_BYTES} B",
    )
    text = book.read(name)
    require(
        b"<!DOCTYPE" not in text and b"<!ENTITY" not in text,
        f"its part {name} declares XML entities, which spreadsheets do not need",
    )
    return ElementTree.fromstring(text)


def _cells(row: Element, shared: list[str]) -> list[str]:
    """Read the texts of all cells of a sheet's row; missing cells are empty texts."""
    cells: list[str] = []
    for cell in row.iter(f"{MAIN}c"):
        at = len(cells)
        if place := _CELL.fullmatch(cell.get("r", "")):
            at = -1
            for letter in place[1]:
                at = 26 * (at + 1) + ord(letter) - ord("A")
        require(at <= LAST_COLUMN, "a cell lies beyond the last column of a sheet, XFD")
        cells += [""] * (at - len(cells))

        kind, value = cell.get("t", "n"), cell.findtext(f"{MAIN}v") or ""
        require(kind != "e", f"the cell {cell.get('r')} holds the error {value}")
        if kind == "inlineStr":
            value = _text(cell)
        elif kind == "s":
            require(
                value.isdigit() and int(value) < len(shared),
                f"the cell {cell.get('r')} refers to a text that is missing in the file",
            )
            value = shared[int(value)]
        cells.append(value)
    return cells


def _text(item: Element) -> str:
    """Plain text of a string in a spreadsheet, joined from its formatted parts."""
    return "".join(part.text or "" for part in item.iter(f"{MAIN}t"))

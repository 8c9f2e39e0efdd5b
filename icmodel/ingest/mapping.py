"""Mapping: the meaning of a table's columns, in a TOML file that a person writes.

For example ``[columns."Throughput (Mb/s)"]`` with ``field = "goodput_bps"`` and ``unit = "Mb/s"``.
Every quantity needs its unit, since cells are bare numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from icmodel import units
from icmodel.dataset import AXES, METRIC_ENDINGS, RATIOS
from icmodel.documents import toml_file
from icmodel.errors import RecordError, UnitError

NUMBERED = AXES[1:]
BESIDE = ("low", "high", "n")
BASES = ("measured", "tabulated", "stated", "derived")
KEYS = ("columns", "options", "basis", "source", "sheet", "header_row", "delimiter", "decimal")
EXAMPLES = {"bytes": "B", "bps": "Mb/s", "fps": "/s", "s": "us", "share": "%"}
"""A unit of each kind of quantity."""
UNLIMITED = ("inf", "unlimited")
_NUMBER = re.compile(r"[+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_KINDS = (
    ("_bytes", "bytes"),
    ("_bps", "bps"),
    ("_per_s", "fps"),
    ("_s", "s"),
)
"""The kind of quantity a field is, by its ending; ``_per_s`` before ``_s``."""


@dataclass(frozen=True, slots=True)
class Column:
    """A mapped column: its name in the table, its field, and its unit."""

    name: str
    field: str
    unit: str = ""
    option: bool = False
    of: str = ""

    def parse(self, text: str) -> float:
        """A cell in SI.

        Raises
        ------
        UnitError
            If the cell is not a number in the column's unit.
        """
        if _NUMBER.fullmatch(text) is None:
            raise UnitError(f"{text!r} is not a number of 0 or more")
        if self.kind == "share":
            return float(text) / 100 if self.unit == "%" else float(text)
        if self.kind == "count":
            return float(text)
        return units.parse(self.kind, f"{text} {self.unit}")

    @property
    def kind(self) -> str:
        """The kind of quantity: one of `icmodel.units`, or a count or a share."""
        return kind_of(self.of if self.field in BESIDE else self.field)


def kind_of(name: str) -> str:
    """The kind of quantity of a field; empty if a table cannot have the field."""
    if name in RATIOS or name.endswith("_cores") or re.fullmatch(r"cpu_(send|recv)_[a-z]+", name):
        return "share"
    if name in ("cores", "switches", "endpoints"):
        return "count"
    known = name in NUMBERED or name.endswith(METRIC_ENDINGS)
    return next((kind for end, kind in _KINDS if name.endswith(end)), "") if known else ""


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """The columns of a table and its format of numbers."""

    columns: Mapping[str, Column]
    options: Mapping[str, str] = field(default_factory=dict)
    basis: str = "measured"
    source: str = ""
    sheet: str = ""
    header_row: int = 0
    delimiter: str = ","
    decimal: str = "."

    def beside(self, column: Column, what: str) -> Column | None:
        """The column with ``low``, ``high`` or ``n`` of a metric's column, if any."""
        found = (c for c in self.columns.values() if c.field == what and c.of == column.field)
        return next(found, None)


def read_mapping(path: Path) -> ColumnMap:
    """The mapping in a TOML file.

    Raises
    ------
    RecordError
        If the file cannot be read or has unknown keys.
    """
    return column_map(toml_file(path, RecordError), str(path))


def column_map(document: Mapping[str, object], where: str) -> ColumnMap:
    """The mapping of a document; ``where`` names the document in messages.

    Raises
    ------
    RecordError
        If a key, field or unit is wrong.
    """
    for key in document:
        if key not in KEYS:
            raise RecordError(
                f"{where}: the key {key!r} is unknown: it is one of {', '.join(KEYS)}"
            )
    entries = document.get("columns")
    if not isinstance(entries, Mapping) or not entries:
        raise RecordError(f'{where} has no [columns."NAME"]: write one for each column to take')
    columns = {str(name): _column(str(name), entry, where) for name, entry in entries.items()}
    _check_together(columns, where)
    basis = str(document.get("basis", "measured"))
    if basis not in BASES:
        raise RecordError(f"{where}: the basis {basis!r} is not one of {', '.join(BASES)}")
    options = document.get("options", {})
    header = document.get("header_row", 1)
    if not isinstance(header, int) or header < 1:
        raise RecordError(f"{where}: header_row {header!r} is not a line number from 1 up")
    return ColumnMap(
        columns=MappingProxyType(columns),
        options={str(k): str(v) for k, v in options.items()} if isinstance(options, dict) else {},
        basis=basis,
        source=str(document.get("source", "")),
        sheet=str(document.get("sheet", "")),
        header_row=header - 1,
        delimiter=_character(document, "delimiter", ",", where),
        decimal=_character(document, "decimal", ".", where),
    )


def _character(document: Mapping[str, object], key: str, default: str, where: str) -> str:
    value = document.get(key, default)
    if not isinstance(value, str) or len(value) != 1:
        raise RecordError(f"{where}: {key} {value!r} is not one character, such as ';'")
    return value


def _column(name: str, entry: object, where: str) -> Column:
    place = f"{where}: the column {name!r}"
    if not isinstance(entry, Mapping) or not isinstance(entry.get("field"), str):
        raise RecordError(f'{place} says no field: write field = "goodput_bps" and its unit')
    unknown = sorted(set(entry) - {"field", "unit", "option", "of"})
    if unknown:
        raise RecordError(f"{place} has the unknown key {unknown[0]!r}: field, unit, option or of")
    column = Column(
        name,
        str(entry["field"]),
        str(entry.get("unit", "")),
        entry.get("option") is True,
        str(entry.get("of", "")),
    )
    _check_column(column, place)
    return column


def _check_column(column: Column, place: str) -> None:
    if column.option or column.field in ("protocol", "n"):
        return
    if not column.kind:
        raise RecordError(
            f"{place} has the field {column.field!r}: it is an axis ({', '.join(AXES)}), a metric "
            "such as goodput_bps or rtt_half_mean_s, low, high or n with of, or an option"
        )
    if column.kind == "count":
        return
    if not column.unit:
        raise RecordError(
            f"{place} has no unit: say in what {column.field} is written, such as {EXAMPLES[column.kind]}"
        )
    if column.kind == "share":
        if column.unit not in ("%", "1"):
            raise RecordError(f"{place} has the unit {column.unit!r}: a share is written in % or 1")
        return
    try:
        column.parse("1")
    except UnitError as error:
        raise RecordError(f"{place}: {error}") from error


def _check_together(columns: Mapping[str, Column], where: str) -> None:
    """Refuse two columns for one field, and a range or count of a metric that no column holds."""
    metrics = {column.field for column in columns.values()}
    taken: dict[tuple[str, str], str] = {}
    for column in columns.values():
        first = taken.setdefault((column.field, column.of), column.name)
        if first != column.name:
            raise RecordError(
                f"{where}: the columns {first!r} and {column.name!r} both say "
                f"{column.field}: map one of them, or put each run in a row of its own"
            )
        if column.field in BESIDE and column.of not in metrics:
            raise RecordError(
                f"{where}: the column {column.name!r} is {column.field} of {column.of!r}, and no "
                "column holds that"
            )

"""Spreadsheet: the cells of one sheet of an XLSX file as text, with the standard library alone."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from icmodel.errors import RecordError

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
LARGEST_PART_BYTES = 256 * 2**20
_CELL = re.compile(r"([A-Z]+)([0-9]+)")


def sheet_rows(body: bytes, sheet: str) -> Iterator[list[str]]:
    """The rows of the named sheet, the first one if no name is given; empty cells are ``""``.

    A formula counts as the value that was saved with it.

    Raises
    ------
    RecordError
        If it is no XLSX file or has no such sheet.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as book:
            shared = [_text(item) for item in _optional(book, "xl/sharedStrings.xml")]
            page = _part(book, _path(book, sheet))
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError) as error:
        raise RecordError(f"it is no XLSX file that can be read: {error}") from error
    line = 0
    for row in page.iter(f"{MAIN}row"):
        number = int(row.get("r", line + 1))
        yield from ([] for _ in range(min(number - line - 1, 10_000)))
        line = number
        yield _cells(row, shared)


def _part(book: zipfile.ZipFile, name: str) -> Element:
    if book.getinfo(name).file_size > LARGEST_PART_BYTES:
        raise RecordError(f"its {name} unpacks to more than {LARGEST_PART_BYTES} B")
    text = book.read(name)
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise RecordError(f"its {name} declares entities, which no spreadsheet does")
    return ElementTree.fromstring(text)


def _optional(book: zipfile.ZipFile, name: str) -> list[Element]:
    return list(_part(book, name)) if name in book.namelist() else []


def _path(book: zipfile.ZipFile, wanted: str) -> str:
    sheets = list(_part(book, "xl/workbook.xml").iter(f"{MAIN}sheet"))
    names = [sheet.get("name", "") for sheet in sheets]
    if wanted and wanted not in names:
        raise RecordError(f"it has no sheet {wanted!r}: its sheets are {', '.join(names)}")
    chosen = sheets[names.index(wanted) if wanted else 0]
    links = _part(book, "xl/_rels/workbook.xml.rels")
    targets = {link.get("Id"): link.get("Target", "") for link in links}
    target = targets.get(chosen.get(RELATION), "")
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _cells(row: Element, shared: list[str]) -> list[str]:
    cells: list[str] = []
    for cell in row.iter(f"{MAIN}c"):
        place = _CELL.fullmatch(cell.get("r", ""))
        at = _column(place[1]) if place else len(cells)
        if at > 16_383:
            raise RecordError("a cell lies beyond the last column a sheet has")
        cells += [""] * (at - len(cells))
        cells.append(_value(cell, shared))
    return cells


def _column(letters: str) -> int:
    at = 0
    for letter in letters:
        at = 26 * at + ord(letter) - ord("A") + 1
    return at - 1


def _value(cell: Element, shared: list[str]) -> str:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return _text(cell)
    value = cell.findtext(f"{MAIN}v") or ""
    if kind == "e":
        raise RecordError(f"the cell {cell.get('r')} holds the error {value}")
    if kind != "s":
        return value
    if not value.isdigit() or int(value) >= len(shared):
        raise RecordError(f"the cell {cell.get('r')} refers to a text that is not there")
    return shared[int(value)]


def _text(item: Element) -> str:
    """The plain text of a string, its formatted runs put together."""
    return "".join(part.text or "" for part in item.iter(f"{MAIN}t"))

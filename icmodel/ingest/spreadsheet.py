"""Reader of spreadsheets: the cells of one sheet of an XLSX file as text, with the standard library alone."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from icmodel.errors import RecordError
from icmodel.ingest.source import require

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

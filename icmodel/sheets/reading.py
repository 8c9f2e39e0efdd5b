"""Read the table of a CSV file, or of the first sheet of an XLSX file, within bounds of memory."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

from icmodel.errors import ReportError
from icmodel.sheets.sheet import Cell, Sheet, library

LARGEST_BYTES = 512 * 2**20
"""Greatest unpacked size of an XLSX file that can be read [B]."""


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


def _xlsx_rows(body: bytes, place: Path) -> list[list[Cell]]:
    calamine = library("python_calamine")
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

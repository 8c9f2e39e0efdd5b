"""Read the table of a CSV file, or of the first sheet of an XLSX file, within bounds of memory."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from pathlib import Path

from icmodel.documents import plain
from icmodel.errors import ReportError
from icmodel.sheets.sheet import Cell, Sheet, library

LARGEST_BYTES = 512 * 2**20
"""Greatest unpacked size of an XLSX file that can be read [B]."""
MOST_CELLS = 20_000_000
"""Greatest number of rows times columns of a sheet, empty cells included."""
PIECE_BYTES = 2**20
REFERENCE = re.compile(rb"""[\s<]r\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,7})["']""")
"""Pattern of a cell reference in the XML of a sheet: letters of the column and number of the row."""
LONGEST_REFERENCE = 40


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
        encoding = "utf-16" if body[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError as error:
            raise ReportError(f"{place} is not text in UTF-8: save it as CSV in UTF-8") from error
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
        rows = [list(map(plain, row)) for row in csv.reader(io.StringIO(text), delimiter=delimiter)]
    else:
        raise ReportError(f"unsupported file extension in {str(place)!r}: use .xlsx or .csv")
    while rows and all(cell in (None, "") for cell in rows[-1]):
        rows.pop()
    if not rows:
        raise ReportError(f"{place} is empty: give a heading row and a row for each scenario")
    head = tuple("" if cell is None else str(cell) for cell in rows[0])
    width = len(head)
    cut = tuple((*row[:width], *[None] * (width - len(row))) for row in rows[1:])
    return Sheet(head, cut, delimiter)


def _xlsx_rows(body: bytes, place: Path) -> list[list[Cell]]:
    """Return the rows of the first sheet of an XLSX file; an empty text is an empty cell."""
    calamine = library("python_calamine")
    try:
        _check_size(body, place)
        sheets = calamine.CalamineWorkbook.from_filelike(io.BytesIO(body))
        table = sheets.get_sheet_by_index(0).to_python(skip_empty_area=False)
    except ReportError:
        raise
    except Exception as error:  # calamine has an exception for each kind of damage
        raise ReportError(f"{place} is not an XLSX file that can be read: {error}") from error
    return [
        [
            None if cell == "" else cell if isinstance(cell, (str, int, float)) else str(cell)
            for cell in row
        ]
        for row in table
    ]


def _check_size(body: bytes, place: Path) -> None:
    """Raise ReportError if a file unpacks to too many bytes, or its cells span too large an area.

    calamine allocates the whole rectangle around the cells of a sheet, and a failed allocation ends the process.  The
    stated size of a part may be wrong, so the bytes that come out are counted.
    """
    total, last_column, last_row = 0, 0, 0
    with zipfile.ZipFile(io.BytesIO(body)) as book:
        for part in book.infolist():
            part.file_size, rest = LARGEST_BYTES + 2 * PIECE_BYTES, b""
            with book.open(part) as file:
                while piece := file.read(PIECE_BYTES):
                    total += len(piece)
                    if total > LARGEST_BYTES:
                        raise ReportError(
                            f"{place} unpacks to more than {LARGEST_BYTES} B: split it"
                        )
                    found = REFERENCE.findall(rest + piece)
                    rest = piece[-LONGEST_REFERENCE:]
                    for letters in {letters.upper() for letters, _ in found}:
                        column = 0
                        for letter in letters:
                            column = 26 * column + letter - ord("A") + 1
                        last_column = max(last_column, column)
                    last_row = max(last_row, *(int(row) for _, row in found), 0)
            if last_row * last_column > MOST_CELLS:
                raise ReportError(
                    f"{place} has cells in row {last_row} and column {last_column}: keep rows times columns below "
                    f"{MOST_CELLS}"
                )

"""Read the table of a CSV file, or of the first sheet of an XLSX file, in limited memory."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from icmodel.documents import plain
from icmodel.errors import ReportError
from icmodel.sheets.sheet import Cell, Sheet, library

LARGEST_BYTES = 512 * 2**20
"""Maximum unpacked size of an XLSX file [B]."""
MOST_CELLS = 20_000_000
"""Maximum number of rows times columns of a sheet, empty cells included."""
LAST_ROW, LAST_COLUMN = 2**20, 2**14
"""Numbers of the last row and of the last column of the largest possible sheet, counted from 1."""
PIECE_BYTES = 2**20
"""Number of bytes that are unpacked at a time."""
REFERENCE = re.compile(rb"""[\s<]r\s*=\s*["']([A-Za-z]*)([0-9]+)["']""")
"""Pattern of a reference in the XML of a sheet: to a cell, such as ``r="B7"``, or to a row, such as ``r="7"``."""
CELL = re.compile(rb"<c[\s/>]")
"""Pattern of the start of a cell. A cell may have no reference."""
COUNT = re.compile(rb"""[\s<](?:uniqueC|c)ount\s*=\s*["']\s*\+?([0-9]+)""")
"""Pattern of a stated count in XML, such as the number of texts in all sheets."""
LONGEST_TAG = 2**16
"""Maximum length of an XML tag [B]. A shorter tag is never cut between two pieces."""


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
        rows, delimiter = _xlsx_rows(body, place) if body else [], ","
    elif place.suffix.lower() in (".csv", ".tsv", ".txt"):
        encoding = "utf-16" if body[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError as error:
            raise ReportError(f"{place} is not text in UTF-8: save it as CSV in UTF-8") from error
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
        try:
            read = list(csv.reader(io.StringIO(text), delimiter=delimiter))
        except csv.Error as error:
            raise ReportError(f"{place} is not CSV ({error}): save it as CSV in UTF-8") from error
        rows = [list(map(plain, row)) for row in read]
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
    """Return the rows of the first sheet of an XLSX file. An empty text is an empty cell."""
    calamine = library("python_calamine")
    try:
        _check_size(body, place)
        sheets = calamine.CalamineWorkbook.from_filelike(io.BytesIO(body))
        table = sheets.get_sheet_by_index(0).to_python(skip_empty_area=False)
    except ReportError:
        raise
    except Exception as error:  # each kind of damage has its own exception in calamine
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

    The library calamine allocates the whole rectangle around the cells, and the stated number of texts. A failed
    allocation ends the process. The stated size of a part may be wrong, so this function counts the unpacked bytes.
    """
    total = 0
    with zipfile.ZipFile(io.BytesIO(body)) as book:
        for part in book.infolist():
            part.file_size, rest, area = LARGEST_BYTES + 2 * PIECE_BYTES, b"", Area()
            with book.open(part) as file:
                while piece := file.read(PIECE_BYTES):
                    total += len(piece)
                    if total > LARGEST_BYTES:
                        raise ReportError(
                            f"{place} unpacks to more than {LARGEST_BYTES} B: split it"
                        )
                    text = rest + piece
                    tag = text.rfind(b"<")
                    cut = tag if len(text) - tag < LONGEST_TAG else len(text)
                    area.add(text[:cut], place)
                    rest = text[cut:]
            area.add(rest, place)
            area.check(place)


@dataclass
class Area:
    """Area of the cells of a sheet, collected from pieces of its XML."""

    row: int = 0
    column: int = 0
    last_row: int = 0
    unplaced: int = 0

    def add(self, piece: bytes, place: Path) -> None:
        """Add the cell references in a piece of XML. Raise ReportError if a number in it is too large."""
        found = REFERENCE.findall(piece)
        cells = [(_column_number(letters), int(row)) for letters, row in set(found) if letters]
        self.column = max([self.column, *(column for column, _ in cells)])
        self.row = max([self.row, *(row for _, row in cells)])
        self.last_row = max([self.last_row, *(int(row) for _, row in set(found))])
        self.unplaced += len(CELL.findall(piece)) - sum(1 for letters, _ in found if letters)
        if self.last_row > LAST_ROW or self.column > LAST_COLUMN:
            raise ReportError(
                f"{place} has a cell in row {self.last_row} or column {self.column}: a sheet ends at row "
                f"{LAST_ROW} and column {LAST_COLUMN}"
            )
        if (most := max(map(int, COUNT.findall(piece)), default=0)) > MOST_CELLS:
            raise ReportError(f"{place} states a count of {most}: the maximum is {MOST_CELLS}")

    def check(self, place: Path) -> None:
        """Raise ReportError if the area is too large. Cells without a reference count as cells of the last row."""
        row, column = self.row, self.column
        if self.unplaced > 0:
            row, column = self.last_row, max(column, min(self.unplaced, LAST_COLUMN))
        if row * column > MOST_CELLS:
            raise ReportError(
                f"{place} has cells in row {row} and column {column}: keep rows times columns below "
                f"{MOST_CELLS}"
            )


def _column_number(letters: bytes) -> int:
    """Return the number of a spreadsheet column from its letters, counted from 1."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number

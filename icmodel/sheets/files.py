"""Read tables from CSV and XLSX files, and write them, with templates of scenarios.

No spreadsheet program runs a written cell as a formula. XLSX stores texts as texts. In CSV, a text that looks like a
formula gets an apostrophe in front (`icmodel.documents.harmless`).
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from icmodel import units
from icmodel.dataset import RATIOS
from icmodel.documents import harmless, plain, write
from icmodel.errors import ReportError
from icmodel.sheets.sheet import (
    ANSWER_HEADS,
    HEAD,
    WHY,
    Cell,
    Chart,
    Page,
    Sheet,
    library,
    new_workbook,
)

MOST_ROWS = 1_048_575
"""Maximum number of rows below the heading row of an XLSX sheet."""
LONGEST_TEXT = 32_767
"""Maximum number of characters in an XLSX cell. Longer texts are cut."""
NUMBER_FORMATS = {
    "%": "0.0##",
    "Gb/s": "0.000###",
    "us": "0.0###",
    "bit/s": '0.000###,,," Gb/s"',
    "s": '##0.0##E+0" s"',
    "B": '#,##0" B"',
    "1/s": '#,##0.##" 1/s"',
    "m": '0.##" m"',
}
"""Unit -> number format of an XLSX column: units of answered sheets, then SI units."""
RATIO = "0.0##%"
HEAD_HEIGHT = 32
"""Height of the heading row of an XLSX sheet: two lines of text [pt]."""
WIDEST_HEAD = 24
"""Maximum column width for a heading [characters]. Longer headings are wrapped."""
SAMPLE = 50
"""Number of first rows that determine the width of a column."""
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


def write_sheet(sheet: Sheet, path: str | Path) -> None:
    """Write a table as CSV or XLSX. If writing fails, no partial file remains.

    A spreadsheet program runs no written cell as a formula.

    Raises
    ------
    ReportError
        If the extension is neither ``.csv`` nor ``.xlsx``, the table is too long, or the file cannot be written.
    """
    place = Path(path)
    if place.suffix.lower() != ".csv":
        write_pages([Page("answers", sheet)], place)
        return
    mark = "," if sheet.delimiter == ";" else "."

    def cell_text(cell: Cell) -> str:
        if isinstance(cell, float):
            return f"{cell:.10g}".replace(".", mark)
        return "" if cell is None else harmless(str(cell))

    text = io.StringIO()
    writer = csv.writer(text, delimiter=sheet.delimiter, lineterminator="\n")
    writer.writerow(map(harmless, sheet.head))
    writer.writerows(map(cell_text, row) for row in sheet.rows)
    write(place, text.getvalue().encode())


def write_pages(pages: Sequence[Page], path: str | Path) -> None:
    """Write tables as the sheets of an XLSX file, each with a frozen heading row, filters and formats.

    Raises
    ------
    ReportError
        If the extension is not ``.xlsx``, a table is too long, or the file cannot be written.
    """
    place = Path(path)
    if place.suffix.lower() != ".xlsx":
        raise ReportError(f"unsupported file extension in {str(place)!r}: use .xlsx or .csv")
    longest = max(len(page.sheet.rows) for page in pages)
    if longest > MOST_ROWS:
        raise ReportError(f"an XLSX sheet has {MOST_ROWS} rows, not {longest}: use .csv")
    body = io.BytesIO()
    with new_workbook(body) as book:
        for page in pages:
            write_page(book, page)
    write(place, body.getvalue())


def write_page(book: Any, page: Page) -> None:
    """Add a table to an open workbook, with its charts."""
    sheet = page.sheet
    made = book.add_worksheet(page.name, worksheet_class=_worksheet_of(sheet.rows))
    bold = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
    for place, head in enumerate(sheet.head):
        made.write_string(0, place, head, bold)
        form = number_format(head)
        number = book.add_format({"num_format": form}) if form else None
        # The width [characters] fits the first texts and the heading. A long heading has two lines.
        texts = [row[place] for row in sheet.rows[:SAMPLE]]
        longest = max((len(cell) for cell in texts if isinstance(cell, str)), default=0)
        width = max(10, min(len(head) + 1, WIDEST_HEAD), min(longest, 60))
        made.set_column(place, place, 60 if head == WHY else width, number)
    made.set_row(0, HEAD_HEIGHT)
    made.freeze_panes(1, 0)
    made.repeat_rows(0)
    made.set_landscape()
    made.fit_to_pages(1, 0)
    if sheet.rows:
        made.autofilter(0, 0, len(sheet.rows), len(sheet.head) - 1)
    if page.chart is not None:
        _add_charts(book, page, page.chart)


def number_format(head: str) -> str | None:
    """Return the number format for a column, from the unit in its heading or from its field name."""
    if head in ANSWER_HEADS:
        match = HEAD.fullmatch(head)
        return NUMBER_FORMATS.get(match["unit"] or "") if match else None
    if head.removesuffix("_low").removesuffix("_high") in RATIOS:
        return RATIO
    return NUMBER_FORMATS.get(units.unit_of(head))


def _worksheet_of(rows: Sequence[Sequence[Cell]]) -> Any:
    """Return a worksheet class that streams the given rows to the file, below the heading row.

    The library xlsxwriter keeps an object for each cell and writes its attributes one by one. Streaming needs a fifth of
    the time, and its memory does not grow with the number of rows.
    """
    base = library("xlsxwriter.worksheet").Worksheet

    def write_dimension(page: Any) -> None:
        head, page.dim_rowmax = page.dim_rowmax, len(rows)
        base._write_dimension(page)
        page.dim_rowmax = head

    def write_rows(page: Any) -> None:
        base._write_rows(page)
        name_of = library("xlsxwriter.utility").xl_col_to_name
        columns = []
        for place in range(len(rows[0]) if rows else 0):
            style = page.col_info[place].column_format
            columns.append((name_of(place), f' s="{style._get_xf_index()}"' if style else ""))
        for line, row in enumerate(rows, 2):
            parts = [f'<row r="{line}">']
            for (name, style), cell in zip(columns, row, strict=True):
                if isinstance(cell, str):
                    parts.append(f'<c r="{name}{line}" t="inlineStr">{text_xml(cell)}</c>')
                elif isinstance(cell, bool):
                    parts.append(f'<c r="{name}{line}" t="b"><v>{cell:d}</v></c>')
                elif cell is not None:
                    parts.append(f'<c r="{name}{line}"{style}><v>{cell}</v></c>')
            parts.append("</row>")
            page.fh.write("".join(parts))

    return type("Rows", (base,), {"_write_dimension": write_dimension, "_write_rows": write_rows})


@lru_cache(maxsize=10_000)
def text_xml(text: str) -> str:
    """Return the text of a cell as XML. A control character becomes ``_xHHHH_`` (ECMA-376 part 1, ST_Xstring)."""
    plain = re.sub(r"(_x[0-9a-fA-F]{4}_)", r"_x005F\1", text[:LONGEST_TEXT])
    plain = re.sub(
        r"[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]", lambda one: f"_x{ord(one[0]):04X}_", plain
    )
    return f'<is><t xml:space="preserve">{escape(plain)}</t></is>'


def _add_charts(book: Any, page: Page, drawn: Chart) -> None:
    """Add a sheet ``charts`` with charts of the numbers of a page.

    ``drawn.groups`` has a tuple of column indices for each chart, such as value, low and high of a metric. The first
    column is drawn as a solid line, the others as dashed lines.
    """
    sheet, rows = book.add_worksheet("charts"), len(page.sheet.rows)
    sheet.fit_to_pages(1, 0)
    for k, group in enumerate(drawn.groups):
        chart = book.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
        for place in group:
            first = place == group[0]
            dashed = {"width": 1, "color": "#8aa4c8", "dash_type": "dash"}
            chart.add_series(
                {
                    "name": page.sheet.head[place],
                    "categories": [page.name, 1, drawn.x, rows, drawn.x],
                    "values": [page.name, 1, place, rows, place],
                    "line": {"width": 2.25, "color": "#1f5fa8"} if first else dashed,
                    "marker": {"type": "circle", "size": 4} if first else {"type": "none"},
                }
            )
        log = {"log_base": 10} if drawn.log else {}
        chart.set_x_axis({"name": page.sheet.head[drawn.x], **log})
        form = number_format(page.sheet.head[group[0]])
        chart.set_y_axis(
            {"name": page.sheet.head[group[0]], **({"num_format": form} if form else {})}
        )
        chart.set_legend({"position": "bottom"})
        chart.set_size({"width": 720, "height": 380})
        sheet.insert_chart(20 * k, 0, chart)


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
"""Columns of a template of scenarios, each with an explanatory note."""


def write_template(path: str | Path, datasets: Iterable[str], protocols: Iterable[str]) -> None:
    """Write an empty table of scenarios. An XLSX file has drop-down lists and a note on each column.

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
    with new_workbook(body, in_memory=True) as book:
        page = book.add_worksheet("scenarios")
        page.write_row(0, 0, names, book.add_format({"bold": True}))
        for column, (name, note) in enumerate(TEMPLATE):
            page.write_comment(0, column, note)
            page.set_column(column, column, max(12, len(name) + 2))
        page.freeze_panes(1, 0)
        # Excel limits a drop-down list to 255 characters, unless its choices are cells of a sheet.
        lists = book.add_worksheet("lists")
        lists.hide()
        for column, texts in enumerate((sorted(set(datasets)), sorted(set(protocols)))):
            lists.write_column(0, column, texts)
            letter = "AB"[column]
            source = f"=lists!${letter}$1:${letter}${max(len(texts), 1)}"
            page.data_validation(1, column, 10_000, column, {"validate": "list", "source": source})
    write(place, body.getvalue())


# --- reading, in limited memory --------------------------------------------------------------------


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
        raise ReportError(
            f"{place} is not an XLSX file that can be read ({error}): save it again, or give a CSV file"
        ) from error
    return [
        [
            None if cell == "" else cell if isinstance(cell, (str, int, float)) else str(cell)
            for cell in row
        ]
        for row in table
    ]


def _check_size(body: bytes, place: Path) -> None:
    """Raise ReportError if an XLSX file (a ZIP archive) unpacks to too many bytes, or its cells span too large an area.

    The library calamine allocates memory for the whole rectangle around the cells, and for as many texts as the file
    claims to have. If an allocation fails, the process ends. The sizes that the archive states may be wrong, so this
    function counts the unpacked bytes.
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
    """Size of the rectangle around all cells of a sheet, collected from pieces of its XML."""

    row: int = 0
    column: int = 0
    last_row: int = 0
    unplaced: int = 0

    def add(self, piece: bytes, place: Path) -> None:
        """Enlarge the area so that it contains the cells, such as ``B7``, that a piece of the sheet's XML names.

        Raises
        ------
        ReportError
            If a row, a column or a stated number of cells is above the limit of a sheet.
        """
        found = REFERENCE.findall(piece)
        cells = [(_column_number(letters), int(row)) for letters, row in set(found) if letters]
        self.column = max([self.column, *(column for column, _ in cells)])
        self.row = max([self.row, *(row for _, row in cells)])
        self.last_row = max([self.last_row, *(int(row) for _, row in set(found))])
        self.unplaced += len(CELL.findall(piece)) - sum(1 for letters, _ in found if letters)
        if self.last_row > LAST_ROW or self.column > LAST_COLUMN:
            raise ReportError(
                f"{place} has cells up to row {self.last_row} and column {self.column}, but a sheet ends at row "
                f"{LAST_ROW} and column {LAST_COLUMN}: save the file again in a spreadsheet program"
            )
        if (most := max(map(int, COUNT.findall(piece)), default=0)) > MOST_CELLS:
            raise ReportError(
                f"{place} states that it has {most} texts or cells, more than {MOST_CELLS}: split it, "
                "or save it again if it is damaged"
            )

    def check(self, place: Path) -> None:
        """Raise ReportError if the sheet's cells span too large an area: rows times columns above `MOST_CELLS`.

        The XML of a cell may lack the cell's reference, such as ``B7``. All such cells are counted as if they stood
        side by side in the last row that was read.
        """
        row, column = self.row, self.column
        if self.unplaced > 0:
            row, column = self.last_row, max(column, min(self.unplaced, LAST_COLUMN))
        if row * column > MOST_CELLS:
            raise ReportError(
                f"{place} has cells up to row {row} and column {column}: keep rows × columns at or below "
                f"{MOST_CELLS}, or split the table"
            )


def _column_number(letters: bytes) -> int:
    """Convert the letters of a spreadsheet column to its number: A is 1, Z is 26, AA is 27."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number

"""Write tables as CSV or XLSX, and templates of scenarios."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from icmodel.errors import ReportError
from icmodel.files import write
from icmodel.sheets.sheet import ANSWER_HEADS, HEAD, WHY, Cell, Sheet, library

MOST_ROWS = 1_048_575
"""Greatest number of rows below the head of an XLSX sheet."""


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
    with library("xlsxwriter").Workbook(body, options) as book:
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
    with library("xlsxwriter").Workbook(body, {"in_memory": True}) as book:
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

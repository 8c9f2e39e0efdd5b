"""Sheets: scenarios and answers in CSV and XLSX files, and the living workbook, which computes by formulas."""

from icmodel.sheets.answering import Progress, answer_cells, answer_sheet
from icmodel.sheets.document import document_pages
from icmodel.sheets.files import read_sheet, write_pages, write_sheet, write_template
from icmodel.sheets.sheet import ANSWER_HEADS, Cell, Chart, Page, Sheet
from icmodel.sheets.workbook import write_living_workbook

__all__ = [
    "ANSWER_HEADS",
    "Cell",
    "Chart",
    "Page",
    "Progress",
    "Sheet",
    "answer_cells",
    "answer_sheet",
    "document_pages",
    "read_sheet",
    "write_living_workbook",
    "write_pages",
    "write_sheet",
    "write_template",
]

"""Calculation sheet of a workbook (one row of formulas per question), and the look-up sheets that it reads."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

from icmodel.estimate import BASES
from icmodel.sheets.formulas import ENDS, INPUTS, steps
from icmodel.sheets.lookup import Lookup
from icmodel.sheets.sheet import Cell, library, new_workbook

CALCULATION, TABLES, CONFIGURATIONS, PROTOCOLS, LISTS = (
    "calculation",
    "tables",
    "configurations",
    "protocols",
    "lists",
)
"""Names of the calculation sheet and of the look-up sheets in the workbook."""
HEADS = 2
"""Number of heading rows of the calculation sheet, above the first question."""
COEFFICIENTS = (
    "value",
    "value_per_byte",
    "value_per_load",
    "value_per_both",
    *(
        f"{end}{part}"
        for end in ENDS[1:]
        for part in ("", "_per_byte", "_bend", "_per_load", "_per_both", "_bend_of_load")
    ),
)
TABLE_COLUMNS = (
    "key",
    "table",
    "from",
    "load",
    *COEFFICIENTS,
    "basis",
    "basis_on_load",
    "basis_on_payload",
    "basis_on_both",
    "top_load",
)
PLACE = re.compile(r"\[([^\]]+)\]")


class Template(NamedTuple):
    """Template of a formula: pieces of text. The row number goes between the pieces."""

    pieces: tuple[str, ...]

    def at(self, row: int) -> str:
        """Return the formula for a row of the sheet, counted from 1."""
        return str(row).join(self.pieces)


class Calculation:
    """Look-up sheets and calculation sheet of one dataset in an open workbook.

    Parameters
    ----------
    book : xlsxwriter.Workbook
        Workbook that receives the sheets.
    lookup : Lookup
        Look-up tables of the dataset.
    """

    def __init__(self, book: Any, lookup: Lookup) -> None:
        self.book, self.lookup = book, lookup
        self.steps = list(steps(lookup))
        self.columns = {name: k for k, name in enumerate([*INPUTS, *(s.name for s in self.steps)])}
        utility = library("xlsxwriter.utility")
        self.letters = [utility.xl_col_to_name(k) for k in range(len(self.columns))]
        self.head = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})

    @cached_property
    def templates(self) -> list[Template]:
        """Formula templates of all steps (columns of the calculation sheet), in order."""

        def column(match: re.Match[str]) -> str:
            return f"${self.letters[self.columns[match[1]]]}\0"

        return [Template(tuple(PLACE.sub(column, step.formula).split("\0"))) for step in self.steps]

    def cell(self, name: str, row: int = 0) -> str:
        """Return the reference to a cell of the calculation sheet, for formulas in other sheets.

        ``name`` is the step (column), and ``row`` is the number of the question, counted from 0.
        """
        letter = self.letters[self.columns[name]]
        return f"{CALCULATION}!${letter}${row + HEADS + 1}"

    # --- look-ups -----------------------------------------------------------------------------

    def write_lookups(self) -> None:
        """Write the look-up sheets (tables, configurations, protocols, lists). Each column becomes a named range."""
        lookup = self.lookup
        self._write_table(TABLES, "t_", TABLE_COLUMNS, lookup.rows)
        for sheet, prefix, records in (
            (CONFIGURATIONS, "k_", lookup.configurations),
            (PROTOCOLS, "p_", lookup.protocols),
        ):
            head = tuple(records[0])
            self._write_table(sheet, prefix, head, [tuple(one.values()) for one in records])
        columns: Mapping[str, Sequence[Cell]] = {
            "levels": (0.0, *lookup.loads),
            "cores": lookup.tables.axes.cores or (0,),
            "bases": BASES,
        }
        rows = list(zip_longest(*columns.values()))
        self._write_table(LISTS, "l_", tuple(columns), rows, [len(c) for c in columns.values()])

    def _write_table(
        self,
        sheet: str,
        prefix: str,
        head: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        counts: Sequence[int] = (),
    ) -> None:
        """Write a look-up sheet, and make each of its columns a named range.

        ``counts`` has the number of values in each column, if columns differ in length; the rest of a column is empty.
        """
        page = self.book.add_worksheet(sheet)
        page.freeze_panes(1, 0)
        for place, name in enumerate(head):
            page.write_string(0, place, name, self.head)
            count = counts[place] if counts else len(rows)
            letter = library("xlsxwriter.utility").xl_col_to_name(place)
            area = f"={sheet}!${letter}$2:${letter}${count + 1}"
            self.book.define_name(prefix + name.replace(" ", "_"), area)
        page.set_column(0, len(head) - 1, 14)
        for line, row in enumerate(rows, 1):
            write_row(page, line, row)

    # --- questions ----------------------------------------------------------------------------

    def write_head(self) -> Any:
        """Add the sheet of the calculation, and write its two heading rows.

        Each column is a step of the calculation. The first row has the group of the steps, and the second their names.
        """
        page = self.book.add_worksheet(CALCULATION)
        groups = [*["question"] * len(INPUTS), *(step.group for step in self.steps)]
        for place, (group, name) in enumerate(zip(groups, self.columns, strict=True)):
            if not place or group != groups[place - 1]:
                page.write_string(0, place, group, self.head)
            page.write_string(1, place, name, self.head)
        page.freeze_panes(HEADS, 2)
        page.set_column(0, len(self.columns) - 1, 13)
        return page

    def write_question(
        self, page: Any, row: int, inputs: Sequence[Cell], known: Mapping[str, Cell]
    ) -> None:
        """Write a question as a row of the calculation sheet: its inputs, then the formulas of all steps.

        ``row`` is the number of the question, counted from 0. Inputs that begin with ``=`` are formulas.

        ``known`` maps steps to results, which are stored in the file. Every other step has no stored value: a
        spreadsheet program computes the value when it opens the file.
        """
        line = row + HEADS
        for place, cell in enumerate(inputs):
            if isinstance(cell, str) and cell.startswith("="):
                page.write_formula(line, place, cell, None, known.get(INPUTS[place], ""))
            elif cell is not None:
                (page.write_string if isinstance(cell, str) else page.write_number)(
                    line, place, cell
                )
        for place, (step, template) in enumerate(
            zip(self.steps, self.templates, strict=True), len(INPUTS)
        ):
            value = known.get(step.name, "")
            page.write_formula(
                line, place, template.at(line + 1), None, "" if value is None else value
            )


def write_row(page: Any, line: int, row: Sequence[Cell]) -> None:
    """Write the texts and numbers of a row to a sheet. Empty cells are not written."""
    for place, cell in enumerate(row):
        if isinstance(cell, str):
            page.write_string(line, place, cell)
        elif cell is not None:
            page.write_number(line, place, cell)


def questions_workbook(lookup: Lookup, questions: Iterable[Sequence[Cell]]) -> bytes:
    """Make a workbook with look-up tables, and with a row of formulas for each question.

    A question is a sequence of cells, in the order of `INPUTS`. The formulas have no stored values: a spreadsheet
    program computes them when it opens the file.
    """
    body = io.BytesIO()
    with new_workbook(body, constant_memory=True) as book:
        made = Calculation(book, lookup)
        page = made.write_head()
        for row, inputs in enumerate(questions):
            made.write_question(page, row, inputs, {})
        made.write_lookups()
    return body.getvalue()

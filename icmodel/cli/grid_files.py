"""Workbook of a sweep: one sheet with a row for each point, and charts over one swept parameter."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from icmodel.cli.output import cell_of
from icmodel.sweep.files import Column, Columns, Progress, code_names

if TYPE_CHECKING:
    from icmodel.sheets import Chart

CHARTED = ("goodput_bps", "cpu_send", "cpu_recv")
"""Metrics that the workbook of a sweep shows in a chart, in addition to mean times."""
WIDE = 50
"""Least ratio of greatest to least swept value for which the axis of a chart is logarithmic."""


def write_grid_workbook(columns: Columns, path: Path, progress: Progress | None = None) -> None:
    """Write the workbook of a sweep (XLSX): a sheet with the values of the CSV file, and charts.

    Charts are drawn only if a single parameter was swept.

    Raises
    ------
    ReportError
        If the grid has more points than a sheet has rows.
    """
    from icmodel.sheets import Page, Sheet, write_pages

    rows: list[tuple[str | float | None, ...]] = []
    for block in columns.blocks(progress):
        cells = [_sheet_cells(name, part) for name, part in zip(columns.names, block, strict=True)]
        rows += zip(*cells, strict=True)
    write_pages([Page("answers", Sheet(tuple(columns.names), tuple(rows)), _chart(columns))], path)


def _chart(columns: Columns) -> Chart | None:
    """Return charts of goodput, mean times and CPU over the swept parameter.

    Returns None if several parameters were swept, or a parameter without numbers.
    """
    from icmodel.sheets import Chart

    numeric = [name for name, values in columns.swept.items() if values.dtype.kind in "if"]
    if len(columns.swept) != 1 or not numeric or len(columns) < 2:
        return None
    values, names = columns.swept[numeric[0]], columns.names
    wide = bool(values.min() > 0 and values.max() / values.min() >= WIDE)
    shown = [name for name in names if name in CHARTED or name.endswith("_mean_s")]
    groups = [[names.index(name + ending) for ending in ("", "_low", "_high")] for name in shown]
    return Chart(names.index(numeric[0]), wide, tuple(map(tuple, groups)))


def _sheet_cells(name: str, column: Column) -> list[str | float | None]:
    """Return the spreadsheet cells of a column: numbers, texts, or None for an empty cell."""
    codes = code_names(name)
    if codes is not None:
        return [codes[code] if code >= 0 else None for code in column.tolist()]
    if column.dtype.kind in "if":
        return [number if isfinite(number) else None for number in column.tolist()]
    return [cell_of(value) for value in column.tolist()]

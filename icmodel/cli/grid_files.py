"""Workbook of a sweep: one sheet with a row for each point."""

from __future__ import annotations

from pathlib import Path

from icmodel.sweep.files import Column, Columns, Progress, code_names, csv_cells


def write_grid_workbook(columns: Columns, path: Path, progress: Progress | None = None) -> None:
    """Write XLSX: one sheet with the cells of the CSV file; numbers are numbers.

    Raises
    ------
    ReportError
        If the grid has more points than a sheet has rows.
    """
    from icmodel.sheets import Sheet, write_sheet

    rows: list[tuple[str | float | None, ...]] = []
    for block in columns.blocks(progress):
        cells = [_sheet_cells(name, part) for name, part in zip(columns.names, block, strict=True)]
        rows += zip(*cells, strict=True)
    write_sheet(Sheet(tuple(columns.names), tuple(rows)), path)


def _sheet_cells(name: str, column: Column) -> list[str | float | None]:
    """Cells of a column: numbers, texts, or None for an empty cell."""
    texts = csv_cells(name, column)
    if code_names(name) is None and column.dtype.kind in "if":
        return [float(text) if text else None for text in texts]
    return [text or None for text in texts]

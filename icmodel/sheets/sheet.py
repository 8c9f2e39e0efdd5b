"""Sheet (table of cells below a heading row), the headings of answers, and access to XLSX libraries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from io import BytesIO
from typing import Any, NamedTuple

from icmodel import units
from icmodel.dataset import RATIOS
from icmodel.errors import ReportError

Cell = str | float | bool | None
HEAD = re.compile(r"\s*(?P<name>.*?)\s*(?:[\[(]\s*(?P<unit>[^\])]*?)\s*[\])])?\s*")
"""Pattern of a column heading: a name, and optionally a unit in brackets."""
LIMITED_BY, WHY = "limited by", "why"
STATED_DATE = datetime(1980, 1, 1, tzinfo=UTC)
"""Date of every XLSX file, in its properties and in its ZIP archive."""


class Answer(NamedTuple):
    """Metric in an answered sheet: its name in column headings, its unit, and the size of the unit in SI."""

    name: str
    metric: str
    unit: str
    si: float

    @property
    def heads(self) -> tuple[str, str, str, str]:
        """Headings of the metric's four columns: value, low, high and basis."""
        unit = f"[{self.unit}]"
        return (
            f"{self.name} {unit}",
            f"{self.name} low {unit}",
            f"{self.name} high {unit}",
            f"{self.name} basis",
        )


ANSWERS = (
    Answer("goodput", "goodput_bps", "Gb/s", 1e9),
    Answer("mean latency", "latency_mean_s", "us", 1e-6),
    Answer("p99 latency", "latency_p99_s", "us", 1e-6),
    Answer("greatest latency", "latency_max_s", "us", 1e-6),
    Answer("sending CPU", "cpu_send", "%", 1e-2),
    Answer("receiving CPU", "cpu_recv", "%", 1e-2),
    Answer("loss", "loss_rate", "%", 1e-2),
)
"""Metrics in the answers of a sheet. If the dataset lacks a metric, its cells stay empty."""
ANSWER_HEADS = (*(head for one in ANSWERS for head in one.heads), LIMITED_BY, WHY)


@dataclass(frozen=True, slots=True)
class Sheet:
    """Table of cells below a heading row.

    Parameters
    ----------
    head : tuple of str
        Column headings, one text per column.
    rows : tuple of tuple
        Cells of each row: texts, numbers, or ``None`` for an empty cell. Each row has a cell per heading.
    delimiter : str
        Delimiter of a CSV file. With the delimiter ``;``, numbers have a decimal comma.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    delimiter: str = ","


class Unit(NamedTuple):
    """Unit of a metric in a workbook: its symbol, its size in SI, and the format of its numbers."""

    symbol: str
    si: float
    format: str


def unit_of_metric(metric: str) -> Unit:
    """Return the unit of a metric in workbooks.

    Examples
    --------
    >>> unit_of_metric("latency_mean_s").symbol, unit_of_metric("cpu_send").si
    ('us', 0.01)
    """
    if metric in RATIOS or metric.endswith("_ratio"):
        return Unit("%", 1e-2, "0.0##")
    by_unit = {
        "bit/s": Unit("Gb/s", 1e9, "0.000###"),
        "s": Unit("us", 1e-6, "0.0###"),
        "1/s": Unit("1/s", 1.0, "#,##0.##"),
        "B": Unit("B", 1.0, "#,##0"),
        "m": Unit("m", 1.0, "0.##"),
    }
    plain = Unit("cores" if metric.endswith("_cores") else "", 1.0, "0.00##")
    return by_unit.get(units.unit_of(metric), plain)


class Chart(NamedTuple):
    """Charts of a table: index of the x column, whether the x axis is logarithmic, and the y columns of each chart."""

    x: int
    log: bool
    groups: tuple[tuple[int, ...], ...]


class Page(NamedTuple):
    """One sheet of a workbook: its name, its table, and its charts, if any."""

    name: str
    sheet: Sheet
    chart: Chart | None = None


def new_workbook(body: BytesIO, **options: bool) -> Any:
    """Begin an XLSX file with xlsxwriter. The file states a fixed creation date, so equal cells give equal bytes.

    ``options`` are the options of ``xlsxwriter.Workbook``.
    """
    book = library("xlsxwriter").Workbook(body, options)
    book.set_properties({"created": STATED_DATE})
    return book


def library(name: str) -> Any:
    """Import a library for XLSX files; the extra ``xlsx`` installs it.

    Raises
    ------
    ReportError
        If the library is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ReportError(
            f"XLSX needs {name}, which is not installed: run `pip install 'icmodel[xlsx]'`, or use .csv"
        ) from error

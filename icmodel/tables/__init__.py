"""Look-up tables of a dataset: every metric by payload, load, protocol, core and switch count.

Curves through the rows are compiled into polynomials between shared payloads (knots).  A `TableQuery` looks up values,
intervals, basis (kind of evidence) and rows for a block of n prediction requests.  Every variant of the model uses
these modules.
"""

from icmodel.tables.bilinear import Below
from icmodel.tables.curves import HIGH, LOW, VALUE, Configuration, Curve, Curves, Row, opposite
from icmodel.tables.query import Frames, Load, Pace, Questions, TableQuery, Work
from icmodel.tables.tables import Axes, Compiler, MetricTable, Tables

__all__ = [
    "HIGH",
    "LOW",
    "VALUE",
    "Axes",
    "Below",
    "Compiler",
    "Configuration",
    "Curve",
    "Curves",
    "Frames",
    "Load",
    "MetricTable",
    "Pace",
    "Questions",
    "Row",
    "TableQuery",
    "Tables",
    "Work",
    "opposite",
]

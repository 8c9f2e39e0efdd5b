"""Look-up tables: rows of a dataset come in, every metric by payload, load and counts goes out.

Curves through the rows are compiled on shared knots into tables of coefficients, from which a block of
questions looks up values, ends, basis and rows. The tables do not depend on the model's variant.
"""

from icmodel.tables.bilinear import Below
from icmodel.tables.curves import HIGH, LOW, VALUE, Configuration, Curve, Curves, Row, opposite
from icmodel.tables.look import Frames, Load, Look, Pace, Questions, Work
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
    "Look",
    "MetricTable",
    "Pace",
    "Questions",
    "Row",
    "Tables",
    "Work",
    "opposite",
]

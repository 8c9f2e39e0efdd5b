"""Look-up tables: rows of a dataset come in, every metric by payload, load and counts goes out.

Curves through the rows are compiled on shared knots into tables of coefficients, from which a block of
questions looks up values, ends, basis and rows. The tables do not depend on the model's variant.
"""

from icmodel.tables.bilinear import Below
from icmodel.tables.curve import HIGH, LOW, VALUE, Curve, opposite
from icmodel.tables.curves import Configuration, Curves, Row
from icmodel.tables.look import Load, Look
from icmodel.tables.questions import Frames, Pace, Questions, Work
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

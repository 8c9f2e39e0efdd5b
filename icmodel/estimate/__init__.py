"""Answers of the model: an estimate for each metric, the prediction of a scenario, and both as texts for people.

``estimate``: value, interval and basis of one metric. ``texts``: names of metrics and rounded numbers. ``prediction``:
all metrics of one scenario, also as a data frame, an xarray.Dataset and a table for notebooks.
"""

from icmodel.estimate.estimate import (
    BASES,
    BOTTLENECKS,
    EXTRAPOLATED,
    Estimate,
    absent,
    shortened,
    weakest,
)
from icmodel.estimate.prediction import (
    ESTIMATE_COLUMNS,
    Explanation,
    Metrics,
    Prediction,
    UsedRow,
    estimate_table,
    labelled,
    long_table,
)
from icmodel.estimate.texts import (
    GROWS,
    WIDTH,
    attributes,
    compared,
    estimated,
    fixed,
    interval,
    limit_name,
    long_name,
    metric_name,
    percent,
    plural,
    quantity,
    quantity_text,
    wrapped,
)

__all__ = [
    "BASES",
    "BOTTLENECKS",
    "ESTIMATE_COLUMNS",
    "EXTRAPOLATED",
    "GROWS",
    "WIDTH",
    "Estimate",
    "Explanation",
    "Metrics",
    "Prediction",
    "UsedRow",
    "absent",
    "attributes",
    "compared",
    "estimate_table",
    "estimated",
    "fixed",
    "interval",
    "labelled",
    "limit_name",
    "long_name",
    "long_table",
    "metric_name",
    "percent",
    "plural",
    "quantity",
    "quantity_text",
    "shortened",
    "weakest",
    "wrapped",
]

"""Datasets of benchmarked points: read a folder into a checked `Dataset`, and write such folders.

``dataset`` loads a dataset by name or folder, and reads the stored coverage of the model's prediction intervals.
``rows`` reads points.csv, and computes the scatter of repeated runs.  ``check`` validates a dataset folder.  ``write``
writes a dataset folder.
"""

from icmodel.dataset.dataset import (
    HELD_OUT_FILE,
    HOW_TO_LIST,
    PUBLISHED,
    SCHEMA_VERSION,
    VARIANTS,
    Dataset,
    Interconnect,
    StatedLimit,
    build,
    catalogue,
    check_variant,
    find,
    load,
    read_document,
    shipped,
)
from icmodel.dataset.rows import (
    AXES,
    FILE_BASES,
    METRIC_ENDINGS,
    RATIOS,
    REST,
    Point,
    read_points,
)

__all__ = [
    "AXES",
    "FILE_BASES",
    "HELD_OUT_FILE",
    "HOW_TO_LIST",
    "METRIC_ENDINGS",
    "PUBLISHED",
    "RATIOS",
    "REST",
    "SCHEMA_VERSION",
    "VARIANTS",
    "Dataset",
    "Interconnect",
    "Point",
    "StatedLimit",
    "build",
    "catalogue",
    "check_variant",
    "find",
    "load",
    "read_document",
    "read_points",
    "shipped",
]

"""Datasets: a folder of benchmarked points comes in, a checked `Dataset` goes out.

``dataset`` loads one by its name or folder, ``rows`` reads its points, ``coverage`` reads how often intervals held
left-out rows.  ``check`` validates a folder, ``write`` writes one.
"""

from icmodel.dataset.dataset import (
    AXES,
    FILE_BASES,
    HELD_OUT_FILE,
    HOW_TO_LIST,
    METRIC_ENDINGS,
    PUBLISHED,
    RATIOS,
    REST,
    SCHEMA_VERSION,
    VARIANTS,
    Dataset,
    Interconnect,
    Point,
    StatedLimit,
    build,
    catalogue,
    check_variant,
    find,
    load,
    read_document,
    read_points,
    shipped,
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

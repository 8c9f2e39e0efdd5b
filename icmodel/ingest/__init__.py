"""Ingest: make datasets from the result files of other measuring tools.

`ingest` takes result files, and labels for conditions that the files do not state. It returns points with option axes,
and a reason for each refused file.
"""

from __future__ import annotations

from icmodel.ingest.folder import About, dataset_of, name_in, write_ingested
from icmodel.ingest.intake import Ingested, ingest
from icmodel.ingest.labels import Labels, read_labels, read_labels_file
from icmodel.ingest.result import Refusal
from icmodel.ingest.table import ColumnMap, column_map, read_mapping

__all__ = [
    "About",
    "ColumnMap",
    "Ingested",
    "Labels",
    "Refusal",
    "column_map",
    "dataset_of",
    "ingest",
    "name_in",
    "read_labels",
    "read_labels_file",
    "read_mapping",
    "write_ingested",
]

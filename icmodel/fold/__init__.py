"""Fold records of icprobe (one record per measured run) into a dataset.

The input is files of records and the user's settings. The output is points, held-out runs, the document
dataset.toml, and an account with the outcome of each record.
"""

from __future__ import annotations

from icmodel.fold.document import Settings
from icmodel.fold.folder import fold_files, is_folded, rebuild, write_folded
from icmodel.fold.folding import Folded, fold
from icmodel.fold.records import Reading, Record, read_records, record_of

__all__ = [
    "Folded",
    "Reading",
    "Record",
    "Settings",
    "fold",
    "fold_files",
    "is_folded",
    "read_records",
    "rebuild",
    "record_of",
    "write_folded",
]

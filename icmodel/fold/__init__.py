"""Fold records of the measuring tool into a dataset."""

from __future__ import annotations

from icmodel.fold.folder import fold_files, is_folded, rebuild, write_folded
from icmodel.fold.folding import Folded, fold
from icmodel.fold.reading import Reading, read_records
from icmodel.fold.record import Record, record_of
from icmodel.fold.settings import Settings

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

"""The dataset of a calibration, written into the folder of its records."""

from __future__ import annotations

from pathlib import Path

from icmodel.calibrate.settings import Settings
from icmodel.calibrate.state import RECORDS
from icmodel.calibrate.table import folding
from icmodel.dataset import Dataset
from icmodel.fold import fold, read_records, write_folded


def write(folder: Path, settings: Settings) -> Dataset:
    """Fold the records of a calibration and write the dataset into their folder.

    The same records give the same bytes, however often the calibration was interrupted.

    Raises
    ------
    RecordError, DatasetError
        If a record is damaged, none can be used, or the folder cannot be written.
    """
    reading = read_records([folder / RECORDS])
    chosen = folding(folder.resolve().name, settings)
    folded = fold(reading.records, chosen, duplicates=reading.duplicates, notes=reading.notes)
    return write_folded(folder, folded)

"""Dataset of a calibration's records: in memory between two steps, and as files in the folder at the end."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable
from pathlib import Path

from icmodel.calibrate.runs import Record
from icmodel.calibrate.settings import Settings
from icmodel.calibrate.state import RECORDS
from icmodel.dataset import Dataset, build
from icmodel.dataset.write import DOCUMENT_FILE, POINTS_FILE, dataset_files
from icmodel.fold import Settings as Folding
from icmodel.fold import fold, read_records, record_of, write_folded
from icmodel.fold.records import RecordDocument


def table(records: Iterable[Record], settings: Settings) -> Dataset:
    """Fold the records of a calibration into a dataset in memory, without writing files.

    Raises
    ------
    RecordError
        If the records come from several pairs of hosts, or no record can be used.
    """
    read = [record_of(json.dumps(slim(record))) for record in records]
    folded = fold(read, folding("calibration", settings))
    files = dataset_files(folded.document, folded.option_axes, folded.points)
    body = files[POINTS_FILE]
    document = tomllib.loads(files[DOCUMENT_FILE].decode("utf-8"))
    return build(Path("calibration"), document, body, hashlib.sha256(body).hexdigest())


def slim(record: Record) -> dict[str, object]:
    """Reduce a record to the keys that are needed to fold it into a dataset; this drops the long histograms."""
    return {key: record[key] for key in RecordDocument.model_fields if key in record}


def folding(name: str, settings: Settings) -> Folding:
    """Make the settings for folding a calibration's records into a dataset."""
    burst = (
        {"interconnect": {"burst_bytes": settings.setup.burst_bytes}}
        if settings.setup.burst_bytes
        else {}
    )
    return Folding(
        id=name,
        title=f"Calibration of {settings.system}",
        default_variant=settings.aim.variant,
        line_rate_bps=settings.setup.line_rate_bps,
        most_steal=settings.sampling.most_steal,
        about=burst,
    )


def write(folder: Path, settings: Settings) -> Dataset:
    """Fold the records of a calibration and write the dataset into their folder.

    The same records give the same bytes, however often the calibration was interrupted.

    Raises
    ------
    RecordError, DatasetError
        If a record is damaged, no record can be used, or the folder cannot be written.
    """
    reading = read_records([folder / RECORDS])
    chosen = folding(folder.resolve().name, settings)
    folded = fold(reading.records, chosen, duplicates=reading.duplicates, notes=reading.notes)
    return write_folded(folder, folded)

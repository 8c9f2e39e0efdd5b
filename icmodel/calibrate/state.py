"""State of a calibration: its folder with settings and finished runs, and the dataset of their records.

Each finished run is written as a line and synced to disk.  After an interruption, the next start removes an incomplete
last line and continues.  Records are in records.jsonl, and refused runs in refused.jsonl.  The key ``plan`` of a line
has the number of the calibration step in which the run was planned.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from icmodel.calibrate.runs import Record, Run, run_of
from icmodel.calibrate.settings import Settings, settings_of
from icmodel.dataset import Dataset, build
from icmodel.dataset.write import DOCUMENT_FILE, POINTS_FILE, dataset_files
from icmodel.documents import json_value
from icmodel.errors import CalibrationError, unwritable
from icmodel.fold import Settings as Folding
from icmodel.fold import fold, read_records, record_of, write_folded
from icmodel.fold.records import RecordDocument
from icmodel.probing import locked

SETTINGS, RECORDS, REFUSED = "loop.json", "records.jsonl", "refused.jsonl"
PLAN = "calibrate, step "


@dataclass(frozen=True, slots=True)
class Done:
    """Finished run of a calibration: its step, its repeat, and its record or the reason why a host refused it."""

    step: int
    run: Run
    repeat: int
    record: Record | None
    why: str = ""


@contextmanager
def opened(path: Path, settings: Settings) -> Iterator[Folder]:
    """Context manager: open the folder of a calibration, and lock it until the block ends.

    A missing folder is created.

    Raises
    ------
    CalibrationError
        If the folder holds another calibration, is used by another process, or cannot be written.
    """
    with _writable(path):
        path.mkdir(parents=True, exist_ok=True)
    with locked(path):
        with _writable(path):
            _claim(path, settings)
        yield Folder(path, settings)


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CalibrationError(
            f"{path} cannot be written ({error.strerror}): choose another folder"
        ) from error


def _claim(path: Path, settings: Settings) -> None:
    """Write the settings into a calibration's folder; if it has records, only the stop conditions may change.

    If the folder has no record, the new settings replace the old settings. Then refused runs are also removed, so that
    they are tried again.
    """
    place = path / SETTINGS
    new = place.with_suffix(".new")
    if place.exists():
        before = settings_of(place.read_bytes())
        records = path / RECORDS
        if not (records.exists() and b"\n" in records.read_bytes()):  # no complete record
            (path / REFUSED).unlink(missing_ok=True)
        elif other := before.differing(settings):
            raise CalibrationError(
                f"{path} holds a calibration with other settings: {', '.join(other)} differ; give "
                "the same settings to continue, or another folder"
            )
    elif any(one != new for one in path.iterdir()):
        raise CalibrationError(f"{path} is not empty and holds no calibration: give a new folder")
    new.write_text(settings.to_json(), encoding="utf-8")
    new.replace(place)


class Folder:
    """An opened folder of a calibration; create it with `opened`."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self.settings = settings

    # --- reading ------------------------------------------------------------------------------

    def done(self) -> list[Done]:
        """Read all finished runs of the calibration from the folder, sorted by step."""
        found = [_done(line, RECORDS) for line in self._lines(RECORDS)]
        found += [_done(line, REFUSED) for line in self._lines(REFUSED)]
        return sorted(found, key=lambda one: one.step)

    def _lines(self, name: str) -> Iterator[Mapping[str, Any]]:
        path = self.path / name
        if not path.exists():
            return
        body = path.read_bytes()
        whole = body.rfind(b"\n") + 1
        if whole != len(body):
            os.truncate(path, whole)
        for number, line in enumerate(body[:whole].splitlines(), start=1):
            try:
                yield json_value(line)  # type: ignore[misc]
            except ValueError as error:
                raise CalibrationError(
                    f"{path} line {number} is not valid JSON: the file was changed; restore it, or "
                    "calibrate into a new folder"
                ) from error

    # --- writing ------------------------------------------------------------------------------

    def keep(self, step: int, run: Run, repeat: int, record: Record) -> Done:
        """Append the record of a run to the folder's records, with its step and repeat."""
        mark = {
            "name": f"{PLAN}{step}",
            "digest": self.settings.digest,
            "point": run.identity,
            "repeat": repeat,
            "kind": "grid",
            "held_out": False,
        }
        marked = {**record, "plan": mark}
        self._append(RECORDS, marked)
        return Done(step, run, repeat, marked)

    def refuse(self, step: int, run: Run, repeat: int, why: str) -> Done:
        """Append a run that the hosts refused to the folder's list of refused runs; ``why`` is their reason."""
        point = {**asdict(run), "load_bps": None if run.unlimited else run.load_bps}
        mark = {"name": f"{PLAN}{step}", "repeat": repeat}
        self._append(REFUSED, {"point": point, "plan": mark, "why": why})
        return Done(step, run, repeat, None, why)

    def _append(self, name: str, document: Mapping[str, Any]) -> None:
        line = json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n"
        try:
            with (self.path / name).open("ab") as file:
                file.write(line.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise CalibrationError(unwritable(self.path / name, error)) from error


def _done(document: Mapping[str, Any], name: str) -> Done:
    try:
        mark = document["plan"]
        step = int(mark["name"].removeprefix(PLAN))
        repeat = int(mark["repeat"])
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise CalibrationError(
            f"{name} has an invalid line ({error}): the file was changed; restore "
            "it, or calibrate into a new folder"
        ) from error
    if name == REFUSED:
        return Done(step, run_of(document), repeat, None, str(document.get("why", "")))
    return Done(step, run_of(document), repeat, document)


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

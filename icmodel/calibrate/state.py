"""State: the folder of a calibration; records one a line, and nothing that is not in them.

A line is written with an fsync after its run. Whatever ends a calibration, the next start cuts
off a torn last line and goes on. The step a record belongs to is in its plan's name; a run the
hosts refused leaves a line in refused.jsonl.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icmodel.calibrate.lock import alone
from icmodel.calibrate.run import Record, Run, run_of
from icmodel.calibrate.settings import Settings, settings_of
from icmodel.documents import json_value
from icmodel.errors import CalibrationError, unwritable

SETTINGS, RECORDS, REFUSED = "loop.json", "records.jsonl", "refused.jsonl"
PLAN = "calibrate, step "


@dataclass(frozen=True, slots=True)
class Done:
    """A run that was asked for: its step, its repeat, and its record; none where refused."""

    step: int
    run: Run
    repeat: int
    record: Record | None
    why: str = ""


@contextmanager
def opened(path: Path, settings: Settings) -> Iterator[Folder]:
    """The folder of a calibration, made when it does not exist, held until it is left.

    Raises
    ------
    CalibrationError
        If another calibration is here or another process at it, or it cannot be written.
    """
    with _writable(path):
        path.mkdir(parents=True, exist_ok=True)
    with alone(path):
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
    """Take a folder for these settings; those that are here may differ in when to stop alone.

    A calibration that never measured anything holds nothing to keep: what the hosts refused is
    asked again, and other settings may take its place.
    """
    place = path / SETTINGS
    beside = place.with_suffix(".new")
    if place.exists():
        before = settings_of(place.read_text(encoding="utf-8"))
        if not _has_records(path):
            (path / REFUSED).unlink(missing_ok=True)
        elif other := before.differing(settings):
            raise CalibrationError(
                f"{path} holds a calibration with other settings: {', '.join(other)} not as before; give "
                "the same ones to go on, or another folder"
            )
    elif any(one != beside for one in path.iterdir()):
        raise CalibrationError(f"{path} is not empty and holds no calibration: give a new folder")
    beside.write_text(settings.to_json(), encoding="utf-8")
    beside.replace(place)


def _has_records(path: Path) -> bool:
    """Whether a whole line of a record is here."""
    records = path / RECORDS
    return records.exists() and b"\n" in records.read_bytes()


class Folder:
    """Where a calibration keeps what it measured; `opened` makes it."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self.settings = settings

    # --- reading ------------------------------------------------------------------------------

    def done(self) -> list[Done]:
        """All that was asked for so far, by steps."""
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
                    f"{path} line {number} is no JSON: the file was changed; restore it, or "
                    "calibrate into a new folder"
                ) from error

    # --- writing ------------------------------------------------------------------------------

    def keep(self, step: int, run: Run, repeat: int, record: Record) -> Done:
        """Append the record of a run, with its place in the calibration."""
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
        """Append that the hosts cannot do a run."""
        load = None if run.unlimited else run.load_bps
        point = {
            "protocol": run.protocol,
            "payload_bytes": run.payload_bytes,
            "load_bps": load,
            "cores": run.cores,
        }
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
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CalibrationError(
            f"{name} has a line that is of no calibration ({error}): the file was changed; restore "
            "it, or calibrate into a new folder"
        ) from error
    if name == REFUSED:
        return Done(step, run_of(document), repeat, None, str(document.get("why", "")))
    return Done(step, run_of(document), repeat, document)

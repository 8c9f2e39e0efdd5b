"""Folder of a verification: settings, topology, prediction, and a file for each pass (run of all streams).

Files are written atomically, so all stored passes are complete even after an interruption.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from icmodel import __version__
from icmodel.documents import json_value, write
from icmodel.errors import VerificationError
from icmodel.probing import locked
from icmodel.verify.running import RunResult

SCHEMA_VERSION = 1
SETTINGS, PREDICTION, TOPOLOGY = "verification.json", "prediction.json", "topology.toml"
PASS = "pass-{:03d}.jsonl"
MARK = "verification"
"""Key in a record under which its stream, pass and verification are stored."""
LEAST_OVERLAP = 0.95
"""In a valid pass (run of all streams), all streams sent during at least this share of each measurement window."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Prediction of a verification, stored before the first measurement."""

    document: Mapping[str, Any]
    sha256: str

    @property
    def prediction(self) -> Mapping[str, Any]:
        """Prediction for the lab system, in the form that ``icmodel system predict --json`` prints."""
        found: Mapping[str, Any] = self.document["prediction"]
        return found


@dataclass(frozen=True, slots=True)
class Pass:
    """Stored pass of a verification: one run of all streams at the same time.

    ``number`` counts from 1. ``records`` has the record of icprobe by stream. All streams sent at the same time during
    at least the fraction ``overlap_ratio`` of each stream's measurement window.
    """

    number: int
    records: Mapping[str, Mapping[str, Any]]
    overlap_ratio: float

    @property
    def counts(self) -> bool:
        """Whether this pass (run of all streams) is valid.

        In a valid pass, all streams sent at the same time for at least the share `LEAST_OVERLAP`.
        """
        return self.overlap_ratio >= LEAST_OVERLAP

    @property
    def flags(self) -> Counter[str]:
        """Number of records of this pass by flag: icprobe's mark of a doubtful run, such as ``busy-host``."""
        return Counter(flag for record in self.records.values() for flag in record.get("flags", ()))

    def to_dict(self) -> dict[str, object]:
        """Convert this pass (one run of all streams at the same time) to a dict for JSON, without the records."""
        return {
            "number": self.number,
            "overlap_ratio": self.overlap_ratio,
            "counts": self.counts,
            "flags": dict(self.flags),
        }


@contextmanager
def opened(path: Path, settings: Mapping[str, object], topology: str) -> Iterator[Folder]:
    """Create or open the folder of a verification, and lock it; a context manager.

    Raises
    ------
    VerificationError
        If the folder holds another verification or other files, or cannot be written.
    MeasuringError
        If another process is measuring into the folder.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VerificationError(
            f"{path} cannot be written ({error.strerror}): choose another folder"
        ) from error
    with locked(path):
        place = path / SETTINGS
        if place.exists():
            before = _document(place)
            names = sorted({*before, *settings})
            changed = [name for name in names if before.get(name) != settings.get(name)]
            if changed:
                raise VerificationError(
                    f"{path} holds a verification with other settings: {', '.join(changed)} differ; use "
                    "the same settings to continue, or another folder"
                )
        elif any(not one.name.startswith(".") for one in path.iterdir()):
            raise VerificationError(
                f"{path} is not empty and holds no verification: give a new folder with -o"
            )
        else:
            write(place, _text(settings))
        write(path / TOPOLOGY, topology.encode("utf-8"))
        yield Folder(path)


class Folder:
    """An opened folder of a verification; create it with `opened`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def prediction(self, made: Mapping[str, object]) -> Stored:
        """Return the stored prediction.

        If none is stored yet, the new prediction ``made`` is stored with the time and icmodel's version, and returned.
        """
        place = self.path / PREDICTION
        if not place.exists():
            document = {
                "schema_version": SCHEMA_VERSION,
                "icmodel": __version__,
                "made_utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "prediction": made,
            }
            write(place, _text(document))
        document = _document(place)
        prediction = document.get("prediction")
        if not isinstance(prediction, dict) or "streams" not in prediction:
            raise _damaged(place, "it holds no prediction")
        return Stored(document, hashlib.sha256(place.read_bytes()).hexdigest())

    def passes(self, stored: Stored, streams: tuple[str, ...]) -> list[Pass]:
        """Read the stored passes (runs of all streams), in the order of measurement.

        Raises
        ------
        VerificationError
            If the file of a pass is damaged, has other streams, or belongs to a different prediction.
        """
        found = []
        for place in sorted(self.path.glob(PASS.format(0).replace("000", "*"))):
            try:
                records = [json_value(line) for line in place.read_bytes().splitlines()]
                marks: list[dict[str, Any]] = [record[MARK] for record in records]  # type: ignore[index]
                number, overlap = int(marks[0]["pass"]), float(marks[0]["overlap_ratio"])
                by_stream = {
                    mark["stream"]: record for mark, record in zip(marks, records, strict=True)
                }
                hashes = {mark["prediction_sha256"] for mark in marks}
            except (
                OSError,
                ValueError,
                KeyError,
                TypeError,
                IndexError,
                OverflowError,
            ) as error:
                raise _damaged(place, f"{type(error).__name__}: {error}") from error
            if set(by_stream) != set(streams):
                raise _damaged(place, "the file's streams differ from those of the prediction")
            if hashes != {stored.sha256}:
                raise VerificationError(
                    f"{place} does not belong to the prediction in {PREDICTION}: restore both files, or verify "
                    "into a new folder"
                )
            found.append(Pass(number, by_stream, overlap))  # type: ignore[arg-type]
        return found

    def keep(self, number: int, run: RunResult, stored: Stored) -> Pass:
        """Write a measurement pass (one run of all streams) to its file, and return it.

        The file has one record per line. A record is marked with its stream, its pass, and the hash of the prediction.
        """
        marked = {
            name: {
                **record,
                MARK: {
                    "stream": name,
                    "pass": number,
                    "overlap_ratio": run.overlap_ratio,
                    "prediction_sha256": stored.sha256,
                },
            }
            for name, record in run.records.items()
        }
        lines = [
            json.dumps(record, separators=(",", ":"), ensure_ascii=False)
            for record in marked.values()
        ]
        write(self.path / PASS.format(number), ("\n".join(lines) + "\n").encode("utf-8"))
        return Pass(number, marked, run.overlap_ratio)


def _text(document: Mapping[str, object]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _document(place: Path) -> dict[str, Any]:
    try:
        found = json_value(place.read_bytes())
    except (OSError, ValueError) as error:
        raise _damaged(place, str(error)) from error
    if not isinstance(found, dict):
        raise _damaged(place, "it is not a JSON object")
    return found


def _damaged(place: Path, why: str) -> VerificationError:
    return VerificationError(
        f"{place} cannot be read ({why}): restore it, or verify into a new folder"
    )

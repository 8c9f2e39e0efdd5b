"""Write a dataset folder: rows in a fixed order, exact decimals, and the seal in dataset.toml."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from icmodel.dataset import Point, write

DATA = Path(__file__).resolve().parent.parent / "data"
Number = Decimal | int | None


@dataclass(frozen=True)
class Row:
    """One number of a dataset; SI units, ``None`` = not stated, ``Decimal('inf')`` = unlimited."""

    protocol: str
    metric: str
    value: Decimal | int
    basis: str
    source: str
    payload_bytes: int | None = None
    load_bps: Number = None
    cores: int | None = None
    switches: int | None = None
    endpoints: int | None = None
    other_goodput_bps: Number = None
    options: Mapping[str, str] = field(default_factory=dict)
    std: Number = None
    low: Number = None
    high: Number = None
    n: int | None = None


def points_csv(rows: Iterable[Row]) -> bytes:
    """Return the bytes of points.csv, as `icmodel.dataset.write` writes them.

    Raises
    ------
    DatasetError
        If two rows have the same point and metric.
    """
    rows = list(rows)
    options = sorted({name for row in rows for name in row.options})
    return write.points_csv(options, [_point(row, options) for row in rows])


def _point(row: Row, options: list[str]) -> Point:
    return Point(
        line=0,
        protocol=row.protocol,
        payload_bytes=row.payload_bytes,
        load_bps=_float(row.load_bps),
        cores=row.cores,
        switches=row.switches,
        endpoints=row.endpoints,
        other_goodput_bps=_float(row.other_goodput_bps),
        options=tuple(row.options.get(name, "") for name in options),
        metric=row.metric,
        value=float(row.value),
        std=_float(row.std),
        low=_float(row.low),
        high=_float(row.high),
        n=row.n,
        basis=row.basis,
        source=row.source,
    )


def _float(number: Number) -> float | None:
    return None if number is None else float(number)


def write_dataset(name: str, rows: Iterable[Row], toml_text: str, data: Path = DATA) -> Path:
    """Write points.csv and dataset.toml; the seal replaces ``sha256 = "..."`` in the text."""
    folder = data / name
    folder.mkdir(parents=True, exist_ok=True)
    body = points_csv(rows)
    digest = hashlib.sha256(body).hexdigest()
    sealed, count = re.subn(r'(?m)^sha256 = ".*"$', f'sha256 = "{digest}"', toml_text)
    if count != 1:
        message = f'the dataset.toml of {name} needs exactly one line sha256 = "..."'
        raise ValueError(message)
    (folder / "points.csv").write_bytes(body)
    (folder / "dataset.toml").write_text(sealed, encoding="utf-8")
    return folder


def transcription(relative: str) -> list[dict[str, str]]:
    """Read the rows of tools/transcriptions/<relative>, with numbers as the source prints them."""
    path = Path(__file__).resolve().parent / "transcriptions" / relative
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))

"""Write a dataset folder: rows in the fixed order, exact decimals, the seal in dataset.toml."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
AXES = (
    "protocol",
    "payload_bytes",
    "load_bps",
    "cores",
    "switches",
    "endpoints",
    "other_goodput_bps",
)
REST = ("metric", "value", "std", "low", "high", "n", "basis", "source")
TEXT_COLUMNS = {"protocol", "metric"}
Number = Decimal | int | None


@dataclass(frozen=True)
class Row:
    """One number of a dataset; SI units, ``None`` = not said, ``Decimal('inf')`` = unlimited."""

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


def number_text(value: Number) -> str:
    """Plain decimal text without exponent or trailing zeros; ``inf`` for unlimited."""
    if value is None:
        return ""
    exact = Decimal(value)
    if exact.is_infinite():
        return "inf"
    text = format(exact, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _cells(row: Row, columns: list[str]) -> list[str]:
    cells = []
    for column in columns:
        value = getattr(row, column) if hasattr(row, column) else row.options.get(column, "")
        cells.append(value if isinstance(value, str) else number_text(value))
    return cells


def _sort_key(columns: list[str], options: list[str]) -> list[int]:
    stop = columns.index("metric") + 1
    return [i for i in range(stop) if columns[i] not in TEXT_COLUMNS and columns[i] not in options]


def points_csv(rows: Iterable[Row]) -> bytes:
    """The bytes of points.csv: sorted left to right up to the metric, LF, UTF-8."""
    rows = list(rows)
    options = sorted({name for row in rows for name in row.options})
    columns = [*AXES, *options, *REST]
    numeric = set(_sort_key(columns, options))
    stop = columns.index("metric") + 1
    table = [_cells(row, columns) for row in rows]

    def key(cells: list[str]) -> tuple[tuple[int, Decimal, str], ...]:
        return tuple(
            (0 if cell == "" else 1, Decimal(cell), "")
            if i in numeric and cell
            else (0 if cell == "" else 1, Decimal(0), cell)
            for i, cell in enumerate(cells[:stop])
        )

    table.sort(key=key)
    seen: set[tuple[str, ...]] = set()
    for cells in table:
        head = tuple(cells[:stop])
        if head in seen:
            message = f"two rows share the key {head}"
            raise ValueError(message)
        seen.add(head)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(table)
    return text.getvalue().encode()


def write_dataset(name: str, rows: Iterable[Row], toml_text: str, data: Path = DATA) -> Path:
    """Write points.csv and dataset.toml (``sha256 = "..."`` in the text is replaced by the seal)."""
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
    """The rows of tools/transcriptions/<relative>, numbers as the source prints them."""
    path = Path(__file__).resolve().parent / "transcriptions" / relative
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))

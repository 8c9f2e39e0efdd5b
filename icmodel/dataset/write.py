"""Write a dataset folder with sorted rows, exact numbers and checksums.  If the dataset is invalid, no file changes."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
import re
import shutil
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from icmodel.dataset.dataset import HELD_OUT_FILE, SCHEMA_VERSION, Dataset, build, load
from icmodel.dataset.rows import AXES, REST, RUN, Point, row_key
from icmodel.documents import toml_text
from icmodel.errors import DatasetError, unwritable

POINTS_FILE = "points.csv"
DOCUMENT_FILE = "dataset.toml"
RESERVED = (POINTS_FILE, DOCUMENT_FILE, HELD_OUT_FILE)
ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
FIRST_KEYS = ("schema_version", "id", "title", "edition", "sha256", "default_variant")
"""Keys that come first in a written dataset.toml; all other keys follow in the order of the document."""


def id_of(folder: str | Path) -> str:
    """Return the id of the dataset in a folder, which is the name of the folder.

    Raises
    ------
    DatasetError
        If the name cannot be an id.
    """
    name = Path(folder).resolve().name
    if not re.fullmatch(ID_PATTERN, name, re.A):
        raise DatasetError(
            f"the folder name {name!r} cannot be the id of a dataset: use letters (A to Z), "
            "digits, '.', '_' and '-', and begin with a letter or a digit"
        )
    return name


def write_dataset(
    folder: str | Path,
    document: Mapping[str, object],
    option_axes: Sequence[str],
    points: Sequence[Point],
    extra: Mapping[str, bytes] | None = None,
    held_out: Mapping[str, Sequence[Point]] | None = None,
) -> None:
    """Write the files of a dataset: points.csv, dataset.toml, further files, and held-out.csv if runs are held out.

    All files are first written to a temporary folder and loaded from there, so that an invalid dataset changes nothing.
    If the target does not exist, the temporary folder is renamed to it.  In an existing target, files are replaced one
    by one, and other files stay.  dataset.toml contains the checksums, and so is replaced last: after an interruption,
    the checksums do not match, and the folder cannot be loaded until it is written again.

    Parameters
    ----------
    folder
        The target; missing parents are created.
    document
        Content of dataset.toml.  Checksums, ``schema_version`` and ``protocols`` are added to it.
    option_axes
        The option axes, in the order of ``Point.options``; columns are written in alphabetical
        order.
    points
        The rows in any order; their ``line`` is ignored.
    extra
        Further files by name.
    held_out
        The runs held out of every fit, by name.

    Raises
    ------
    DatasetError
        If a row or key breaks the format, two rows have the same point and metric, or the
        folder cannot be written.
    """
    target = Path(folder)
    files = dataset_files(document, option_axes, points, held_out)
    for name, body in (extra or {}).items():
        if name in RESERVED or Path(name).name != name or name.startswith("."):
            raise DatasetError(
                f"{name!r} cannot be the name of a further file in a dataset's folder: use a name without a folder "
                f"or a leading dot, and none of {', '.join(RESERVED)}"
            )
        files[name] = body
    stage = target.with_name(f".{target.name}.{os.urandom(8).hex()}")
    try:
        stage.mkdir(parents=True)
        for name, body in files.items():
            with (stage / name).open("wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
        _ = load(stage).held_out_runs
        if target.exists():
            _replace_files(stage, target, files)
        else:
            stage.rename(target)
    except OSError as error:
        raise DatasetError(unwritable(target, error)) from error
    except DatasetError as error:
        raise DatasetError(str(error).replace(str(stage), str(target))) from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _replace_files(stage: Path, target: Path, files: Iterable[str]) -> None:
    """Move the files of a dataset into an existing folder, dataset.toml last."""
    if not target.is_dir():
        raise DatasetError(f"{target} is a file: choose a folder for the dataset")
    for name in sorted(files, key=lambda name: name == DOCUMENT_FILE):
        (stage / name).replace(target / name)
    if HELD_OUT_FILE not in files:
        (target / HELD_OUT_FILE).unlink(missing_ok=True)


def dataset_in_memory(
    folder: Path,
    document: Mapping[str, object],
    option_axes: Sequence[str],
    points: Sequence[Point],
    held_out: Mapping[str, Sequence[Point]] | None = None,
) -> Dataset:
    """Make a dataset in memory, equal to one written by `write_dataset` and loaded, but without its held-out runs.

    Nothing is written; ``folder`` is only the dataset's path.

    Raises
    ------
    DatasetError
        If a row or key breaks the format.
    """
    files = dataset_files(document, option_axes, points, held_out)
    sealed = tomllib.loads(files[DOCUMENT_FILE].decode())
    return build(folder, sealed, files[POINTS_FILE], str(sealed["sha256"]))


def dataset_files(
    document: Mapping[str, object],
    option_axes: Sequence[str],
    points: Sequence[Point],
    held_out: Mapping[str, Sequence[Point]] | None = None,
) -> dict[str, bytes]:
    """Return the bytes of each file of a dataset by name.

    dataset.toml holds the checksums of the other files and comes last.

    Raises
    ------
    DatasetError
        If two rows have the same point and metric, or TOML cannot express the document.
    """
    body = points_csv(option_axes, points)
    sealed: dict[str, object] = {**document, "schema_version": SCHEMA_VERSION}
    sealed["sha256"] = hashlib.sha256(body).hexdigest()
    sealed["protocols"] = sorted({point.protocol for point in points})
    sealed.pop("held_out", None)
    files = {POINTS_FILE: body}
    if held_out:
        files[HELD_OUT_FILE] = held_out_csv(option_axes, held_out)
        sealed["held_out"] = {
            "file": HELD_OUT_FILE,
            "sha256": hashlib.sha256(files[HELD_OUT_FILE]).hexdigest(),
            "runs": len(held_out),
        }
    ordered = {key: sealed[key] for key in FIRST_KEYS if key in sealed} | sealed
    files[DOCUMENT_FILE] = toml_text(ordered).encode()
    return files


def points_csv(option_axes: Sequence[str], points: Sequence[Point]) -> bytes:
    """Return the content of a points.csv with the given rows, as bytes.

    Raises
    ------
    DatasetError
        If two rows have the same point and metric.
    """
    order = _column_order(option_axes)
    header = [*AXES, *(option_axes[place] for place in order), *REST]
    return _csv(header, _rows(order, points))


def held_out_csv(option_axes: Sequence[str], runs: Mapping[str, Sequence[Point]]) -> bytes:
    """Return the content of a held-out.csv, as bytes: runs sorted by name, with rows as in points.csv.

    Raises
    ------
    DatasetError
        If a run has two rows with the same point and metric.
    """
    order = _column_order(option_axes)
    header = [RUN, *AXES, *(option_axes[place] for place in order), *REST]
    rows = [[name, *cells] for name in sorted(runs) for cells in _rows(order, runs[name])]
    return _csv(header, rows)


def number_text(number: float | None) -> str:
    """Return a number as text for points.csv: exact, without exponent; empty for ``None``.

    >>> number_text(9.4e9), number_text(5e-05), number_text(float("inf")), number_text(None)
    ('9400000000', '0.00005', 'inf', '')
    """
    if number is None:
        return ""
    if math.isinf(number):
        return "inf"
    text = format(Decimal(repr(float(number))), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _column_order(option_axes: Sequence[str]) -> list[int]:
    """Return the indices that sort the names ``option_axes``, such as [1, 0] for ("nagle", "coding")."""
    return sorted(range(len(option_axes)), key=lambda place: option_axes[place])


def _rows(order: Sequence[int], points: Sequence[Point]) -> list[list[str]]:
    """Sort points, and convert each to the cells of a row.

    ``order`` has the indices of the options in the order of the columns: the first option column holds
    ``Point.options[order[0]]``.
    """
    placed = [
        point._replace(options=tuple(point.options[place] for place in order)) for point in points
    ]
    placed.sort(key=row_key)
    for before, point in pairwise(placed):
        if row_key(before) == row_key(point):
            raise DatasetError(
                f"two rows give {point.metric} of the same point ({describe(point)}): merge them, "
                "or add an option axis on which they differ"
            )
    return [
        [
            point.protocol,
            *(number_text(axis) for axis in point[2:8]),
            *point.options,
            point.metric,
            *map(number_text, (point.value, point.std, point.low, point.high, point.n)),
            point.basis,
            point.source,
        ]
        for point in placed
    ]


def describe(point: Point) -> str:
    """Describe a point by its axes in one line of text; empty axes are left out."""
    axes = ((name, getattr(point, name)) for name in AXES)
    stated = [
        f"{name} {number_text(v) if name != AXES[0] else v}" for name, v in axes if v is not None
    ]
    return ", ".join([*stated, *(option for option in point.options if option)])


def _csv(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(header)
    lines.writerows(rows)
    return text.getvalue().encode()

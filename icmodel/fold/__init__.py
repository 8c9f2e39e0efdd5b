"""Fold records of icprobe (one record per measured run) into a dataset.

The input is files of records and the user's settings. The output is points, held-out runs, the document
dataset.toml, and an account with the outcome of each record. The folder of a folded dataset keeps its records, so that
it can be rebuilt.
"""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from icmodel.dataset import Dataset, load
from icmodel.dataset.check import check_document
from icmodel.dataset.write import DOCUMENT_FILE, dataset_in_memory, id_of, write_dataset
from icmodel.errors import RecordError
from icmodel.fold.account import readme
from icmodel.fold.document import Settings, settings_of
from icmodel.fold.folding import Folded, fold, records_text
from icmodel.fold.records import Progress, Reading, Record, read_records, record_of, unpacked

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

RECORDS_FILE = "records.jsonl.gz"
ACCOUNT_FILE = "folded.json"
README_FILE = "README.md"
Choose = Callable[[Dataset], tuple[str, str]]
"""Type of a function that chooses the default variant of a dataset; it returns the variant and the reason."""


def fold_files(
    files: Iterable[str | Path],
    folder: str | Path,
    settings: Settings,
    progress: Progress | None = None,
    choose: Choose | None = None,
) -> Folded:
    """Fold files of records into a new folder, whose name becomes the dataset's id.

    ``choose`` is a function that returns the default variant of the model for a dataset, and the reason.  It takes
    precedence over ``settings.default_variant``.

    Raises
    ------
    RecordError
        If a record cannot be used, or the folder is not empty.
    DatasetError
        If the folder cannot be written, or its name cannot be an id.
    """
    target = Path(folder)
    name = id_of(target)
    if target.is_dir() and any(target.iterdir()):
        raise RecordError(
            f"{target} is not empty: name a new folder, or rebuild a folded one with "
            f"`icmodel fold {target}`"
        )
    reading = read_records(files, progress)
    named = replace(settings, id=name)
    folded = fold(reading.records, named, duplicates=reading.duplicates, notes=reading.notes)
    if choose is not None:
        _check(folded, target)
        parts = folded.document, folded.option_axes, folded.points, folded.held_out
        folded = folded.answering(*choose(dataset_in_memory(target, *parts)))
    write_folded(target, folded)
    return folded


def rebuild(folder: str | Path, progress: Progress | None = None) -> Folded:
    """Fold the records of a folded dataset again with the settings of folded.json.

    The rebuilt files are identical to the original files.

    Raises
    ------
    RecordError
        If the records or folded.json are missing from the folder, or were changed.
    DatasetError
        If the folder cannot be written, or its name cannot be an id.
    """
    target = Path(folder)
    name, account = id_of(target), account_of(target)
    chosen = replace(settings_of(account.settings), id=name)
    reading = read_records([target / RECORDS_FILE], progress)
    text = records_text(reading.records)
    if account.records.sha256 != hashlib.sha256(text.encode()).hexdigest():
        raise RecordError(
            f"{target / RECORDS_FILE} does not match {ACCOUNT_FILE}: restore both files, or "
            "fold the records into a new folder with -o"
        )
    counted = account.records.given_twice
    folded = fold(reading.records, chosen, duplicates=counted, notes=account.notes)
    write_folded(target, folded)
    return folded


def write_folded(folder: str | Path, folded: Folded) -> Dataset:
    """Write a folded dataset: rows, document, held-out runs, records, account and README.

    If the folder already has a file of the same records, the file stays unchanged. Text outside the account in
    README.md is kept.

    Raises
    ------
    DatasetError
        If the document breaks the format, or the folder cannot be written.
    """
    target = Path(folder)
    _check(folded, target)
    name, title = str(folded.document["id"]), str(folded.document["title"])
    page, before = target / README_FILE, None
    if page.is_file():
        try:
            before = page.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not text in UTF-8"
            raise RecordError(f"{page} cannot be read ({reason}): correct or remove it") from error
    extra = {
        RECORDS_FILE: packed(target / RECORDS_FILE, records_text(folded.records).encode()),
        ACCOUNT_FILE: folded.account.json(),
        README_FILE: readme(name, title, folded.account, before).encode(),
    }
    write_dataset(
        target, folded.document, folded.option_axes, folded.points, extra, folded.held_out
    )
    return load(target)


def _check(folded: Folded, folder: Path) -> None:
    """Raise DatasetError if the document of a folded dataset breaks the format."""
    document = {**folded.document, "schema_version": 1, "protocols": ["any"]}
    check_document(document, folder / DOCUMENT_FILE)


def is_folded(folder: Path) -> bool:
    """Whether a folder holds a dataset that was folded from records."""
    return (folder / ACCOUNT_FILE).is_file()


def packed(path: Path, body: bytes) -> bytes:
    """Compress the lines of records with gzip; equal lines give equal bytes, since no name and time are stored.

    If the archive at ``path`` has the same lines, its bytes are returned, since another zlib may compress differently.
    """
    if path.is_file():
        before = path.read_bytes()
        if unpacked(before, path) == body:
            return before
    archive = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=archive, mtime=0) as file:
        file.write(body)
    return archive.getvalue()


class _Counted(BaseModel):
    """Entry ``records`` of folded.json: the hash of the records, and the number of duplicates."""

    sha256: str = ""
    given_twice: int = 0


class _Account(BaseModel):
    """Parts of folded.json from which a folder can be rebuilt; `icmodel.fold.account` writes the whole file."""

    schema_version: Literal[1]
    settings: dict[str, Any] = Field(default_factory=dict)
    records: _Counted = _Counted()
    notes: tuple[str, ...] = ()


def account_of(folder: Path) -> _Account:
    """Read and check the folded.json of a folder, which states how its records were folded."""
    path = folder / ACCOUNT_FILE
    try:
        return _Account.model_validate_json(path.read_bytes())
    except OSError as error:
        raise RecordError(
            f"{path} cannot be read ({error.strerror}): only a folder that `icmodel fold -o` made "
            "can be rebuilt"
        ) from error
    except ValidationError as error:
        raise RecordError(
            f"{path} is damaged or has another schema version than 1: restore it, or fold its "
            "records again with -o"
        ) from error

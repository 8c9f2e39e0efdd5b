"""Check and seal a dataset folder: dataset.toml against its schema, points.csv row by row.

Loading verifies the checksum and the keys that the model needs; this checks every key, so that
misspelt ones are found.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from icmodel.dataset.dataset import (
    AXES,
    SCHEMA_VERSION,
    VARIANTS,
    Dataset,
    build,
    find,
    load,
    read_document,
)
from icmodel.dataset.write import ID_PATTERN
from icmodel.errors import DatasetError, unwritable

NUMBERED = AXES[1:]
"""Columns of every points.csv, which may be explained under [axes]."""
_SEAL = re.compile(r'(?m)^sha256[ \t]*=[ \t]*(?:"[^"\n]*"|\'[^\'\n]*\')')
_TABLE = re.compile(r"(?m)^[ \t]*\[")

Text = Annotated[str, Field(min_length=1)]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1)]


class Part(BaseModel):
    """A table of dataset.toml; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Tool(Part):
    """The tool that measured."""

    name: Text
    version: Text


class Link(Part):
    """The interconnect, or a fabric of it; keys with unknown values are left out."""

    kind: Literal["ethernet", "infiniband", "roce", "rapidio", "loopback"]
    line_rate_bps: Positive | None = None
    mtu_bytes: Count | None = None
    switch_latency_s: NotNegative | None = None
    propagation_s_per_m: NotNegative | None = None
    cable_length_m: NotNegative | None = None
    lanes: Count | None = None
    lane_baud: Positive | None = None
    coding: Text | None = None
    ip_version: Literal[4, 6] | None = None
    tcp_timestamps: bool | None = None
    burst_bytes: Positive | None = None


class Fabric(Link):
    """The link for one value of an option axis, which is the name of the table."""

    axis: Text


class Host(Part):
    """A host the numbers were measured on."""

    name: Text
    cpu: str = ""
    nic: str = ""
    os: str = ""


class AxisEntry(Part):
    """The meaning of a column; an option axis also has a default, which may be empty."""

    meaning: Text
    unit: str | None = None
    default: str | None = None


class Limit(Part):
    """A limit the source states for a metric; no interval crosses it."""

    metric: Text
    protocol: Text | None = None
    min: NotNegative | None = None
    max: NotNegative | None = None
    source: Text

    @model_validator(mode="after")
    def _one_side(self) -> Limit:
        if self.min is None and self.max is None:
            raise ValueError("a stated limit needs min, max or both")
        return self


class Absence(Part):
    """Why a metric of a protocol has no rows."""

    protocol: Text | None = None
    metric: Text
    reason: Text


class VariantRows(Part):
    """The rows of one variant of the model."""

    payload_bytes: tuple[Count, ...]


class HeldOut(Part):
    """The runs held out of every fit, in a file of their own."""

    file: Literal["held-out.csv"]
    sha256: Text
    runs: Count


class BetweenSessions(Part):
    """The spread between sessions, if points were measured in several.

    ``spread`` is the standard deviation between sessions by metric, absolute for ratios and relative
    for others.
    """

    sessions: Annotated[int, Field(ge=2)]
    points: Count
    spread: dict[Text, Annotated[float, Field(gt=0, allow_inf_nan=False)]]


class DatasetDocument(Part):
    """dataset.toml: what was measured on what, by whom, and under which licence."""

    schema_version: Literal[1]
    id: Annotated[str, Field(pattern=ID_PATTERN)]
    title: Text
    edition: Text
    sha256: str = ""
    default_variant: Literal[VARIANTS]  # type: ignore[valid-type]
    default_protocol: Text
    protocols: Annotated[tuple[Text, ...], Field(min_length=1)]
    licence: Text
    citation: Text
    known_limits: tuple[Text, ...] = ()
    tool: Tool
    interconnect: Link
    fabrics: dict[str, Fabric] = Field(default_factory=dict)
    hosts: Annotated[tuple[Host, ...], Field(min_length=1)]
    held_out: HeldOut | None = None
    between_sessions: BetweenSessions | None = None
    axes: dict[str, AxisEntry]
    stated_limits: tuple[Limit, ...] = ()
    absences: tuple[Absence, ...] = ()
    variants: dict[Literal[VARIANTS], VariantRows] = Field(default_factory=dict)  # type: ignore[valid-type]


def check_dataset(folder: str | Path) -> Dataset:
    """The dataset of a folder or bundled name, after every key and row was checked.

    Raises
    ------
    DatasetError
        Naming file, key or row, what is wrong and what is allowed.
    """
    place = find(folder)
    _check_document(place)
    data = load(place)
    _check_names(data)
    return data


def seal_dataset(folder: str | Path) -> Dataset:
    """Check a folder without its checksum, then write the sha256 of points.csv into dataset.toml.

    Raises
    ------
    DatasetError
        As `check_dataset`, or if dataset.toml cannot be written; then nothing is changed.
    """
    place = find(folder)
    document = _check_document(place)
    points = place / "points.csv"
    try:
        body = points.read_bytes()
    except OSError as error:
        raise DatasetError(f"{points} cannot be read: {error.strerror}") from error
    digest = hashlib.sha256(body).hexdigest()
    _check_names(build(place, document, body, digest))
    _write_seal(place / "dataset.toml", digest)
    return load(place)


def dataset_schema() -> dict[str, Any]:
    """The JSON Schema of dataset.toml."""
    return DatasetDocument.model_json_schema()


def check_document(document: Mapping[str, object], path: Path) -> None:
    """Check every key of a dataset.toml.

    Raises
    ------
    DatasetError
        Naming the file, the key, what is wrong and what is allowed.
    """
    try:
        DatasetDocument.model_validate(document)
    except ValidationError as error:
        raise DatasetError(f"{path}: {_first_problem(error)}") from error


def _check_document(folder: Path) -> dict[str, object]:
    document = read_document(folder)
    check_document(document, folder / "dataset.toml")
    return document


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "missing":
        return f"{place} is missing: add it, data/README.md shows what it says"
    if problem["type"] == "extra_forbidden":
        return f"the key {place} is unknown: correct or remove it"
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "value_error":
        return f"{place}: {message}"
    return f"{place} is {problem['input']!r}: {message[0].lower()}{message[1:]}"


def _check_names(data: Dataset) -> None:
    """Names in dataset.toml must occur in points.csv, and the folder's name must be the id."""
    path = data.folder / "dataset.toml"
    folder = data.folder.resolve().name
    if data.id != folder:
        raise DatasetError(f"{path}: id {data.id!r} stands in the folder {folder!r}: make them one")
    columns = (*NUMBERED, *data.option_axes)
    _ = data.held_out_runs  # reading the held-out runs checks them
    for axis in _names(data.document.get("axes")):
        if axis not in columns:
            raise DatasetError(
                f"{path}: [axes.{axis}] is no column of points.csv: it has {', '.join(columns)}"
            )
    for axis, value in data.fabrics:
        if axis not in data.option_axes or value not in data.option_values(axis):
            raise DatasetError(f"{path}: [fabrics.{value}] says {axis} = {value}, and no row does")
    for entry in data.absences:
        if entry.get("protocol", data.protocols[0]) not in data.protocols:
            raise DatasetError(
                f"{path}: an absence names the protocol {entry['protocol']!r}: it is one of "
                f"{', '.join(data.protocols)}"
            )


def _names(table: object) -> list[str]:
    return list(table) if isinstance(table, dict) else []


def _write_seal(path: Path, digest: str) -> None:
    text = path.read_bytes().decode("utf-8")
    line = f'sha256 = "{digest}"'
    tables = _TABLE.search(text)
    top = tables.start() if tables else len(text)
    head, rest = text[:top], text[top:]
    sealed, count = _SEAL.subn(line, head)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(((sealed if count else f"{line}\n{head}") + rest).encode("utf-8"))
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise DatasetError(unwritable(path, error)) from error


assert SCHEMA_VERSION == 1, "DatasetDocument describes schema version 1"

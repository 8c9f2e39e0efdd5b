"""Check and seal a dataset folder: dataset.toml against its schema, points.csv row by row.

`icmodel.load` verifies only the checksum, the rows, and the keys that the model needs.  This module checks every key,
and so finds misspelt keys.  To seal a folder means to write the checksum of points.csv into dataset.toml.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from icmodel.dataset.dataset import (
    SCHEMA_VERSION,
    VARIANTS,
    Dataset,
    build,
    find,
    load,
    read_document,
)
from icmodel.dataset.rows import AXES
from icmodel.dataset.write import ID_PATTERN
from icmodel.documents import write
from icmodel.errors import DatasetError, Fault, Mistakes, ReportError
from icmodel.reading import independent_mistakes, read_file

NUMBERED = AXES[1:]
"""Columns of points.csv that dataset.toml may explain under [axes], besides the option axes."""
_SEAL = re.compile(r'(?m)^sha256[ \t]*=[ \t]*(?:"[^"\n]*"|\'[^\'\n]*\')')
_TABLE = re.compile(r"(?m)^[ \t]*\[")


def check_dataset(folder: str | Path) -> Dataset:
    """Check every key and row of a dataset, given by its folder or bundled name, and load it.

    Raises
    ------
    DatasetError
        If a key or row is wrong; the message names the file, the key or row, the problem and the allowed values.

    >>> check_dataset("ethernet-10g-2012").id
    'ethernet-10g-2012'
    """
    place = find(folder)
    path = place / "dataset.toml"
    check_document(read_document(place), path, read_file(path, DatasetError))
    data = load(place)
    _check_names(data)
    return data


def seal_dataset(folder: str | Path) -> Dataset:
    """Check everything in a dataset's folder but the checksum, then write the sha256 of points.csv into dataset.toml.

    Raises
    ------
    DatasetError
        If the check finds an error, or dataset.toml cannot be written; then no file is changed.
    """
    place = find(folder)
    path, points = place / "dataset.toml", place / "points.csv"
    document = read_document(place)
    check_document(document, path, read_file(path, DatasetError))
    try:
        body = points.read_bytes()
    except OSError as error:
        raise DatasetError(f"{points} cannot be read: {error.strerror}") from error
    digest = hashlib.sha256(body).hexdigest()
    _check_names(build(place, document, body, digest))

    # Replace the key before the first table, or add it as the first line.
    text = path.read_bytes().decode("utf-8")
    tables = _TABLE.search(text)
    top = tables.start() if tables else len(text)
    line = f'sha256 = "{digest}"'
    head, count = _SEAL.subn(line, text[:top])
    sealed = (head if count else f"{line}\n{head}") + text[top:]
    try:
        write(path, sealed.encode("utf-8"))
    except ReportError as error:
        raise DatasetError(str(error)) from error
    return load(place)


def dataset_schema() -> dict[str, Any]:
    """Return the JSON Schema of dataset.toml."""
    return DatasetDocument.model_json_schema()


def check_document(document: Mapping[str, object], path: Path, toml: str = "") -> None:
    """Check every key of a dataset.toml against its schema.

    ``toml`` is the text of the file, from which messages take line numbers.

    Raises
    ------
    DatasetError
        If a key is wrong; the message names the file, and for each mistake the key, the problem and the allowed values.
    """
    try:
        DatasetDocument.model_validate(document)
    except ValidationError as error:
        mistakes = Mistakes(str(path), toml)
        for problem in independent_mistakes(error):
            mistakes.add(Fault(_sentence(problem), problem["loc"]))
        mistakes.refuse(DatasetError)


def _sentence(problem: ErrorDetails) -> str:
    """Return a mistake as a sentence: the key, the problem and the allowed values."""
    key = ".".join(str(part) for part in problem["loc"])
    message = problem["msg"].removeprefix("Value error, ")
    return {
        "missing": f"{key} is missing: add it as data/README.md shows",
        "extra_forbidden": f"the key {key} is unknown: correct or remove it",
        "value_error": f"{key}: {message}",
    }.get(problem["type"], f"{key} is {problem['input']!r}: {message[0].lower()}{message[1:]}")


def _check_names(data: Dataset) -> None:
    """Raise DatasetError if the names in dataset.toml do not match the folder or points.csv.

    - The id must be the name of the folder.
    - The keys of [axes] must be columns of points.csv.
    - The option values in [fabrics], and the protocols in [[absences]], must occur in rows of points.csv.

    The held-out runs are read too, which raises DatasetError if they are damaged.
    """
    path = data.folder / "dataset.toml"
    folder = data.folder.resolve().name
    if data.id != folder:
        raise DatasetError(
            f"{path}: id {data.id!r} is not the name of the folder {folder!r}: rename one of them"
        )
    columns = (*NUMBERED, *data.option_axes)
    _ = data.held_out_runs  # raises DatasetError if they are damaged
    axes = data.document.get("axes")
    for axis in axes if isinstance(axes, dict) else ():
        if axis not in columns:
            raise DatasetError(
                f"{path}: [axes.{axis}] is not a column of points.csv: use one of {', '.join(columns)}"
            )
    for axis, value in data.fabrics:
        if axis not in data.option_axes or value not in data.option_values(axis):
            raise DatasetError(
                f"{path}: [fabrics.{value}] has {axis} = {value}, but no row of points.csv has "
                "this value: use a value of points.csv, or remove the table"
            )
    for entry in data.absences:
        if entry.get("protocol", data.protocols[0]) not in data.protocols:
            raise DatasetError(
                f"{path}: [[absences]] has the unknown protocol {entry['protocol']!r}: use one of "
                f"{', '.join(data.protocols)}"
            )


# --- the schema of dataset.toml ---------------------------------------------------------------

Text = Annotated[str, Field(min_length=1)]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1)]


class Part(BaseModel):
    """Base of the schemas of the tables in dataset.toml; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Tool(Part):
    """Table [tool] of dataset.toml: name and version of the tool that measured the dataset."""

    name: Text
    version: Text


class Link(Part):
    """Table [interconnect] of dataset.toml: the link of the dataset.  A key is left out if its value is unknown."""

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
    """Table [fabrics.VALUE] of dataset.toml: the link that replaces [interconnect] for rows with this option value.

    ``axis`` is the option axis (an additional column of points.csv) that has the value VALUE.
    """

    axis: Text


class Host(Part):
    """Table [[hosts]] of dataset.toml: a host on which the numbers were measured."""

    name: Text
    cpu: str = ""
    nic: str = ""
    os: str = ""


class AxisEntry(Part):
    """Table [axes.COLUMN] of dataset.toml: the meaning of a column of points.csv.

    An option axis (an additional column, such as a socket option) also has a default: the value that applies if a
    request names none.  If the default is empty, such a request uses the rows whose cell is empty.
    """

    meaning: Text
    unit: str | None = None
    default: str | None = None


class Limit(Part):
    """Table [[stated_limits]] of dataset.toml: least and greatest value that the source states for a metric.

    The intervals of predictions are clipped to them.
    """

    metric: Text
    protocol: Text | None = None
    min: NotNegative | None = None
    max: NotNegative | None = None
    source: Text

    @model_validator(mode="after")
    def _one_side(self) -> Limit:
        if self.min is None and self.max is None:
            raise ValueError("a stated limit has neither min nor max: give min, max or both")
        return self


class Absence(Part):
    """Table [[absences]] of dataset.toml: the reason why a metric of a protocol has no rows."""

    protocol: Text | None = None
    metric: Text
    reason: Text


class VariantRows(Part):
    """Table [variants.NAME] of dataset.toml: the variant NAME of the model uses only rows with these payloads [B]."""

    payload_bytes: tuple[Count, ...]


class HeldOut(Part):
    """Table [held_out] of dataset.toml: the file of the held-out runs, which test the model and are in no fit."""

    file: Literal["held-out.csv"]
    sha256: Text
    runs: Count


class BetweenSessions(Part):
    """Table [between_sessions] of dataset.toml: the spread between measurement sessions, if there were several.

    ``spread`` holds the standard deviation between sessions by metric.  It is absolute for ratios (loss rate and CPU
    loads), and divided by the value for other metrics.
    """

    sessions: Annotated[int, Field(ge=2)]
    points: Count
    spread: dict[Text, Annotated[float, Field(gt=0, allow_inf_nan=False)]]


class DatasetDocument(Part):
    """Schema of dataset.toml: metrics, axes, hosts, link, source and licence of a dataset."""

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


assert SCHEMA_VERSION == 1, "DatasetDocument describes schema version 1"

"""Schemas of JSON answers about datasets (such as `ingest`) and about one question (such as `predict`)."""

from __future__ import annotations

from typing import Any, Literal

from icmodel.schemas.parts import (
    Basis,
    Bottleneck,
    Count,
    DatasetReference,
    Estimate,
    Load,
    Number,
    Numbers,
    Part,
    PointEstimate,
    Scenario,
    Sha256,
    Texts,
    UsedRow,
    Version,
)


class DatasetEntry(Part):
    """Entry of a dataset in the list of datasets."""

    id: str
    title: str
    kind: str
    line_rate_bps: Number
    protocols: list[str]
    rows: Count


class Datasets(Part):
    """JSON answer of `icmodel datasets list`."""

    schema_version: Version
    datasets: list[DatasetEntry]


class Interconnect(Part):
    """Link on which a dataset was measured."""

    kind: str


class DatasetDocument(Part):
    """JSON answer of `icmodel datasets show`: the keys of dataset.toml, values of axes, and numbers of rows."""

    schema_version: Version
    id: str
    title: str
    sha256: str
    default_variant: str
    default_protocol: str
    licence: str
    citation: str
    protocols: list[str]
    rows: Count
    values: dict[str, list[float | str]]
    metrics: dict[str, dict[str, Count]]
    interconnect: Interconnect
    bases: dict[str, Count]


class Row(Part):
    """Row of a dataset (a line of points.csv). Every further key is an option axis of the dataset, such as nagle."""

    __pydantic_extra__: Texts
    line: Count
    protocol: str
    payload_bytes: Number
    load_bps: Load
    cores: Number
    switches: Number
    endpoints: Number
    other_goodput_bps: Number
    metric: str
    value: float
    std: Number
    low: Number
    high: Number
    n: Number
    basis: Basis
    source: str


class Rows(Part):
    """JSON answer of `icmodel datasets points`."""

    schema_version: Version
    dataset: DatasetReference
    points: list[Row]


class CheckedDataset(Part):
    """JSON answer of `icmodel datasets check`."""

    schema_version: Version
    dataset: DatasetReference
    rows: Count
    metrics: list[str]


class Fit(Part):
    """JSON answer of `icmodel fit`."""

    schema_version: Version
    dataset: DatasetReference
    seal: str
    metrics: list[str]
    curves: Count


class IngestedFile(Part):
    """File with results in the new dataset."""

    file: str
    sha256: Sha256
    results: Count


class RefusedFile(Part):
    """Refused file, and the reason."""

    file: str
    reason: str


class Ingested(Part):
    """JSON answer of `icmodel ingest`."""

    schema_version: Version
    dataset: str
    variant: str
    rows: Count
    files: list[IngestedFile]
    refused: list[RefusedFile]
    notes: list[str]


class Score(Part):
    """Prediction errors of one metric on left-out dataset rows, and coverage (share of rows inside their intervals)."""

    error: str
    n: Count
    median: Number
    coverage: Number


class Fold(Part):
    """Scores of one kind of cross-validation fold, by metric."""

    folds: Count
    metrics: dict[str, Score]


class Validation(Part):
    """JSON answer of `icmodel validate`."""

    schema_version: Version
    dataset: DatasetReference
    variant: str
    folds: dict[str, Fold]


class Prediction(Part):
    """JSON answer of `icmodel predict`; every other key is a metric."""

    __pydantic_extra__: dict[str, Estimate]
    schema_version: Version
    scenario: Scenario
    dataset: DatasetReference
    variant: str
    bottleneck: Bottleneck
    terms: Numbers
    bounds: Numbers
    rows: list[UsedRow]
    notes: list[str]
    goodput_bps: Estimate


class GridPoint(Part):
    """One point of a sweep: its parameters and its predicted metrics."""

    __pydantic_extra__: dict[str, PointEstimate | Number | str]
    bottleneck: Bottleneck | Literal[""] = ""


class Grid(Part):
    """JSON answer of `icmodel sweep`."""

    schema_version: Version
    dataset: DatasetReference
    variant: str
    fixed: dict[str, str | Number]
    swept: list[str]
    notes: list[str]
    points: list[GridPoint]


class Column(Part):
    """Column of a comparison: a prediction, or the reason why there is none."""

    dataset: str
    variant: str
    protocol: str
    why: str
    prediction: Prediction | None


class Comparison(Part):
    """JSON answer of `icmodel compare`."""

    schema_version: Version
    columns: list[Column]


class Limits(Part):
    """Limits of a link at one payload, by theory."""

    payload_bytes: Count
    packets: Count
    wire_bits: float
    max_goodput_bps: float
    send_interval_s: float
    min_latency_s: float
    aligned: bool


class Theory(Part):
    """JSON answer of `icmodel theory`."""

    schema_version: Version
    kind: str
    line_rate_bps: float
    framing: Any
    path: Any
    stream_goodput_bps: float
    points: list[Limits]

"""Schemas of the JSON answers of `predict`, `sweep` and `compare`; limits by `theory`."""

from __future__ import annotations

from typing import Any, Literal

from icmodel.schemas.parts import (
    Bottleneck,
    Count,
    DatasetReference,
    Estimate,
    Number,
    Numbers,
    Part,
    PointEstimate,
    Scenario,
    UsedRow,
    Version,
)


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

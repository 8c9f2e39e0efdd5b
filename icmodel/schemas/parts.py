"""Parts of several answers: numbers, estimates, questions and verdicts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from icmodel.estimate import BASES, BOTTLENECKS
from icmodel.interconnects.result import GROUNDS
from icmodel.requirement import OUTCOMES


class Part(BaseModel):
    """An object of an answer; further keys are allowed."""

    model_config = ConfigDict(extra="allow", frozen=True)


def one_of(*words: str, description: str = "") -> Any:
    """Constraint of a text that is one of some words."""
    return Field(json_schema_extra={"enum": list(words)}, description=description or None)


Version = Literal[1]
Count = Annotated[int, Field(ge=0)]
Number = float | None
"""A number in SI; null if it is unknown."""
Load = float | Literal["inf"] | None
"""A load in b/s; inf for an unlimited one."""
Basis = Annotated[str, one_of(*BASES, "", description="Basis of a value; empty if there is none.")]
Outcome = Annotated[str, one_of(*OUTCOMES)]
Bottleneck = Annotated[str, one_of(*BOTTLENECKS)]
Ground = Annotated[str, one_of(*GROUNDS)]
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Numbers = dict[str, Number]
Texts = dict[str, str]


class Estimate(Part):
    """A metric in SI: value, 90 % interval, basis, and why if it is absent."""

    value: Number
    low: Number
    high: Number
    basis: Basis
    bases: list[Basis]
    why: str


class PointEstimate(Part):
    """A metric at a point of a grid, in SI."""

    value: Number
    low: Number = None
    high: Number = None
    basis: Basis = ""


class DatasetReference(Part):
    """A dataset, and the hash of its rows."""

    id: str
    sha256: Sha256


class Scenario(Part):
    """A question, in SI."""

    protocol: str
    payload_bytes: Count
    rate_fps: Number
    requested_goodput_bps: Number
    cores: Number
    switches: Count
    endpoints: Count
    other_goodput_bps: float
    distance_m: Number
    line_rate_bps: Number
    cpu_clock_ratio: float
    app_send_s: float
    app_recv_s: float
    app_send_s_per_byte: float
    app_recv_s_per_byte: float
    options: Texts


class UsedRow(Part):
    """A row of a dataset that a prediction rests on."""

    line: Count
    metric: str
    payload_bytes: Number
    load_bps: Load
    value: Number
    basis: Basis
    source: str


class Requirement(Part):
    """A limit of a metric."""

    name: str
    metric: str
    at_least: Number
    at_most: Number
    kind: str


class Verdict(Part):
    """A requirement, judged by an estimate."""

    requirement: Requirement
    outcome: Outcome
    estimate: Estimate


class ErrorText(Part):
    """An error: its class, its sentence, and the place in a file or on the command line."""

    kind: str
    message: str
    where: str


class ErrorDocument(Part):
    """What any command prints with ``--json`` in place of an answer, if it cannot answer."""

    error: ErrorText

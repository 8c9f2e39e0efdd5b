"""Shared parts of JSON answers: numbers, estimates, questions and verdicts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from icmodel.estimate import BASES, BOTTLENECKS
from icmodel.interconnects.result import GROUNDS
from icmodel.requirement import OUTCOMES


class Part(BaseModel):
    """Base class of all objects in JSON answers. Further keys are allowed."""

    model_config = ConfigDict(extra="allow", frozen=True)


def one_of(*words: str, description: str = "") -> Any:
    """Make the schema of a text that must be one of the given words."""
    return Field(json_schema_extra={"enum": list(words)}, description=description or None)


Version = Literal[1]
Count = Annotated[int, Field(ge=0)]
Number = float | None
"""Number in SI units; null if it is unknown."""
Load = float | Literal["inf"] | None
"""Offered load [b/s]; ``inf`` for an unlimited load."""
Basis = Annotated[
    str,
    one_of(
        *BASES, "", description="Basis (kind of evidence) of a value; empty if there is no value."
    ),
]
Outcome = Annotated[str, one_of(*OUTCOMES)]
Bottleneck = Annotated[str, one_of(*BOTTLENECKS)]
Ground = Annotated[str, one_of(*GROUNDS)]
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Numbers = dict[str, Number]
Texts = dict[str, str]


class Estimate(Part):
    """Predicted metric in SI units: value, 90 % interval and basis. Without a value, ``why`` is the reason."""

    value: Number
    low: Number
    high: Number
    basis: Basis
    bases: list[Basis]
    why: str


class PointEstimate(Part):
    """Predicted metric at one point of a sweep, in SI units."""

    value: Number
    low: Number = None
    high: Number = None
    basis: Basis = ""


class DatasetReference(Part):
    """Name of a dataset, and the hash of its rows."""

    id: str
    sha256: Sha256


class Scenario(Part):
    """Question of a prediction: protocol, payload, rate and other parameters, in SI units."""

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
    """Dataset row behind a prediction."""

    line: Count
    metric: str
    payload_bytes: Number
    load_bps: Load
    value: Number
    basis: Basis
    source: str


class Requirement(Part):
    """Requirement on a metric: a minimum or a maximum."""

    name: str
    metric: str
    at_least: Number
    at_most: Number
    kind: str


class Verdict(Part):
    """Verdict on a requirement, and the deciding estimate."""

    requirement: Requirement
    outcome: Outcome
    estimate: Estimate


class MistakeText(Part):
    """One mistake of a file, and its line. An unknown line is null."""

    message: str
    line: int | None


class ErrorText(Part):
    """Error in a JSON answer: its class, its sentence, and its place in a file or on the command line.

    ``mistakes`` has every mistake of a refused file. For other errors, it is empty.
    """

    kind: str
    message: str
    where: str
    mistakes: list[MistakeText]


class ErrorDocument(Part):
    """JSON output of a command with ``--json`` that failed: the error in place of the answer."""

    error: ErrorText

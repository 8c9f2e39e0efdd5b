"""Answers about systems: `system`, `recommend` and `verify`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from icmodel.schemas.parts import (
    Basis,
    Count,
    Estimate,
    Number,
    Numbers,
    Outcome,
    Part,
    Texts,
    Verdict,
    Version,
    one_of,
)
from icmodel.system.checking import KINDS

# --- systems ----------------------------------------------------------------------------------


class SystemEntry(Part):
    """A system by name, and the numbers of its parts."""

    name: str
    title: str
    devices: Count
    switches: Count
    links: Count
    streams: Count


class Systems(Part):
    """Answer of `icmodel system list`."""

    schema_version: Version
    systems: list[SystemEntry]


class ShownLink(Part):
    """A link of a system."""

    ends: list[str]
    rate_bps: float
    dataset: str | None


class ShownPort(Part):
    """A port of a system, and the load on it by theory."""

    load_bps: float
    load_ratio: float
    streams: list[str]


class ShownStream(Part):
    """A stream of a system, and its path."""

    group: str
    source: str
    sink: str
    path: list[str]
    kind: str
    priority: Count


class SystemDocument(Part):
    """Answer of `icmodel system show`."""

    schema_version: Version
    system: SystemEntry
    nodes: Texts
    links: dict[str, ShownLink]
    ports: dict[str, ShownPort]
    streams: dict[str, ShownStream]


class CheckFinding(Part):
    """A mistake in a system, or an overload."""

    kind: Annotated[str, one_of(*KINDS)]
    text: str


class CheckedSystem(Part):
    """Answer of `icmodel system check`."""

    schema_version: Version
    system: SystemEntry
    findings: list[CheckFinding]


class Bound(Part):
    """A latency that no message exceeds."""

    value: float
    method: str
    covers: list[str]
    whole: bool
    network_s: Number
    hosts_s: Number
    application_s: Number


class Arrival(Part):
    """Whether a stream's data arrive."""

    outcome: Outcome
    why: str
    late: str


class PredictedStream(Part):
    """A stream of a system, predicted."""

    group: str
    path: list[str]
    goodput_bps: Estimate
    latency_mean_s: Estimate
    latency_p99_s: Estimate
    message_latency_s: Estimate
    loss_rate: Estimate
    latency_bound_s: Bound | None
    no_bound: str
    bottleneck: str
    bottleneck_at: str
    terms: Numbers
    notes: list[str]
    allowed_shortfall_ratio: float
    arrival: Arrival
    message_times: dict[str, Any]


class Queue(Part):
    """Load and greatest backlog."""

    load_ratio: float
    backlog_bound_bytes: Number


class Port(Queue):
    """A port of a link, predicted."""

    asked_ratio: float
    backlog_mean_bytes: Estimate


class PredictedLink(Queue):
    """A link of a system, predicted."""

    ports: dict[str, Port]


class PredictedDevice(Part):
    """A device of a system, predicted."""

    cpu: Estimate
    cpu_cores: Estimate
    by_core: list[float]


class SystemPrediction(Part):
    """Answer of `icmodel system predict`."""

    schema_version: Version
    system: str
    title: str
    datasets: Texts
    variants: list[str]
    streams: dict[str, PredictedStream]
    links: dict[str, PredictedLink]
    devices: dict[str, PredictedDevice]
    requirements: list[dict[str, Any]]
    verdict: Outcome
    notes: list[str]
    asked: Texts


# --- recommend --------------------------------------------------------------------------------


class JudgedRequirement(Verdict):
    """A verdict with its margin and reason."""

    margin: Number
    limiting: str
    why: str


class OpenRequirement(JudgedRequirement):
    """A requirement that a design does not surely meet, and what would settle it."""

    where: str
    settle: str


class NearestRequirement(JudgedRequirement):
    """A requirement, by the variant of a stream that comes nearest."""

    stream: str


class Design(Part):
    """A design of a system."""

    changed: Texts
    chosen: Texts
    cpu_cores: Number
    cpu_send_cores: Number
    cpu_recv_cores: Number
    latency_mean_s: Number
    fullest_ratio: Number
    headroom_ratio: Number
    interfaces: Number
    cost: Number
    changes: Count
    verdict: Outcome
    basis: Basis
    open: list[OpenRequirement]


class Searched(Part):
    """Numbers of designs."""

    designs: Count
    scored: Count
    contradictory: Count
    dominated: Count
    not_looked_at: Count
    may_meet: Count
    undecided: Count
    fail: Count
    checked: Count
    unchecked: Count
    unpredicted: Count
    exhaustive: bool
    tables_changed_at_most: int | None


class LateByPhysics(Part):
    """A requirement that no design can meet."""

    requirement: str
    streams: str
    port: str
    bits: float
    rate_bps: float
    cable_m: float
    cable_s: float
    limit_s: float
    least_s: float
    total_bits: float


class Recommendation(Part):
    """Answer of `icmodel recommend`."""

    schema_version: Version
    system: str
    title: str
    datasets: Texts
    variants: list[str]
    verdict: Outcome
    searched: Searched
    scores_leave_out: list[str]
    own: Design
    front: list[Design]
    mends: list[Design]
    undecided: list[Design]
    nearest: list[NearestRequirement]
    physics: list[LateByPhysics]
    currency: str | None


# --- verify -----------------------------------------------------------------------------------


class Compared(Part):
    """A metric, predicted and measured."""

    predicted: Number
    low: Number
    high: Number
    measured: Number
    least: Number
    most: Number
    ratio: Number
    passes: Count
    inside: bool | None
    why: str


class Bounded(Part):
    """A bound, and the greatest measured value."""

    bound: Number
    measured: Number
    measured_stolen: Number
    covers: list[str]
    held: bool | None
    passes_stolen: Count


class VerifiedStream(Part):
    """A stream, predicted and measured."""

    goodput_bps: Compared
    latency_mean_s: Compared
    latency_p99_s: Compared
    latency_max_s: Bounded
    loss_rate: Compared | None = None


class LabCopy(Part):
    """The system that the lab builds."""

    slower: float
    members: int | None
    rule: str
    not_verified: list[str]


class KeptPrediction(Part):
    """The prediction that was kept before the measurement."""

    sha256: str
    icmodel: str
    made_utc: str
    datasets: Texts
    variants: list[str]
    differs_now: list[str]


class Pass(Part):
    """All streams of the lab system, run once at the same time."""

    number: Count
    overlap_ratio: float
    counts: bool
    flags: dict[str, Count]


class VerifiedDevice(Part):
    """A device, predicted and measured."""

    cpu_process_cores: Compared


class Verification(Part):
    """Answer of `icmodel verify`."""

    schema_version: Version
    system: str
    title: str
    folder: str
    lab: LabCopy = Field(alias="copy")
    prediction: KeptPrediction
    passes: list[Pass]
    streams: dict[str, VerifiedStream]
    devices: dict[str, VerifiedDevice]
    judged: Count
    inside: Count
    exceeded: list[str]
    verdict: Literal["agrees", "does not agree", "undecided"]

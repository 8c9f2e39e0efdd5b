"""Schemas of the JSON answers about systems: `system`, `recommend` and `verify`."""

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
    """Name and title of a system, and its numbers of devices, switches, links and streams."""

    name: str
    title: str
    devices: Count
    switches: Count
    links: Count
    streams: Count


class Systems(Part):
    """JSON answer of `icmodel system list`."""

    schema_version: Version
    systems: list[SystemEntry]


class ShownLink(Part):
    """Link of a system: its two ends, its line rate, and its dataset, if one is stated."""

    ends: list[str]
    rate_bps: float
    dataset: str | None


class ShownPort(Part):
    """Port of a system, with its load computed by theory."""

    load_bps: float
    load_ratio: float
    streams: list[str]


class ShownStream(Part):
    """Stream of a system: its source, its sink, and its path through ports."""

    group: str
    source: str
    sink: str
    path: list[str]
    kind: str
    priority: Count


class SystemDocument(Part):
    """JSON answer of `icmodel system show`."""

    schema_version: Version
    system: SystemEntry
    nodes: Texts
    links: dict[str, ShownLink]
    ports: dict[str, ShownPort]
    streams: dict[str, ShownStream]


class CheckFinding(Part):
    """Finding of a check of a system: a mistake or an overload."""

    kind: Annotated[str, one_of(*KINDS)]
    text: str


class CheckedSystem(Part):
    """JSON answer of `icmodel system check`."""

    schema_version: Version
    system: SystemEntry
    findings: list[CheckFinding]


class Bound(Part):
    """Worst-case bound of a stream's latency [s], with its method and its parts."""

    value: float
    method: str
    covers: list[str]
    whole: bool
    network_s: Number
    hosts_s: Number
    application_s: Number


class Arrival(Part):
    """Verdict on whether all data of a stream arrive, with the reason."""

    outcome: Outcome
    why: str
    late: str


class PredictedStream(Part):
    """Prediction for one stream of a system."""

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
    """Load of a port or link, as a fraction of its line rate, and the worst-case size of its queue [B]."""

    load_ratio: float
    backlog_bound_bytes: Number


class Port(Queue):
    """Prediction for one port of a link."""

    asked_ratio: float
    backlog_mean_bytes: Estimate


class PredictedLink(Queue):
    """Prediction for one link of a system."""

    ports: dict[str, Port]


class PredictedDevice(Part):
    """Prediction of the CPU load of one device of a system."""

    cpu: Estimate
    cpu_cores: Estimate
    by_core: list[float]


class SystemPrediction(Part):
    """JSON answer of `icmodel system predict`."""

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
    """Verdict on a requirement, with its margin and its reason."""

    margin: Number
    limiting: str
    why: str


class OpenRequirement(JudgedRequirement):
    """Requirement that a design fails or may fail, and the measurement that would decide it (``settle``).

    ``where`` is the stream or device with the worst value. A design is a system in which `icmodel recommend` has
    picked one value for every choice, such as a link's rate.
    """

    where: str
    settle: str


class NearestRequirement(JudgedRequirement):
    """Requirement that no design meets, with the result of the design that comes nearest to its limit.

    A design is one option of every choice of a system. ``stream``, value and margin are those of this nearest design.
    """

    stream: str


class Design(Part):
    """Design of a system: the chosen options, the predicted CPU and latency, interfaces, cost and verdict."""

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
    """Size of a recommendation's search: the number of designs (combinations of options) with each outcome."""

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
    """Requirement on a latency that no design can meet: transmission and cable alone take too long."""

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
    """JSON answer of `icmodel recommend`."""

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
    """Metric of a verified system: predicted value and interval, and measured values."""

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
    """Latency bound of a verified stream, and its greatest measured latency [s].

    A pass is a run of all streams at the same time. ``measured`` leaves out passes in which the hypervisor stopped the
    virtual machine. ``measured_stolen`` is the greatest latency in those passes.
    """

    bound: Number
    measured: Number
    measured_stolen: Number
    covers: list[str]
    held: bool | None
    passes_stolen: Count


class VerifiedStream(Part):
    """Stream of a verified system: its metrics, predicted and measured."""

    goodput_bps: Compared
    latency_mean_s: Compared
    latency_p99_s: Compared
    latency_max_s: Bounded
    loss_rate: Compared | None = None


class LabCopy(Part):
    """Copy of a system in the lab, possibly slower (factor ``slower``) and with fewer devices in each group."""

    slower: float
    members: int | None
    rule: str
    not_verified: list[str]


class KeptPrediction(Part):
    """Prediction of a system, stored before the measurement."""

    sha256: str
    icmodel: str
    made_utc: str
    datasets: Texts
    variants: list[str]
    differs_now: list[str]


class Pass(Part):
    """One pass of a verification: a run of all streams of the lab system at the same time."""

    number: Count
    overlap_ratio: float
    counts: bool
    flags: dict[str, Count]


class VerifiedDevice(Part):
    """Device of a verified system: its busy cores, predicted and measured."""

    cpu_process_cores: Compared


class Verification(Part):
    """JSON answer of `icmodel verify`."""

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

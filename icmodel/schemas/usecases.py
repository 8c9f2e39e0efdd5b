"""Schemas of the JSON answers about use cases: `evaluate`, `compare --usecase` and `usecases`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from icmodel.schemas.datasets import Prediction
from icmodel.schemas.parts import (
    Basis,
    Count,
    Ground,
    Number,
    Outcome,
    Part,
    Scenario,
    Verdict,
    Version,
)


class UseCase(Part):
    """Name, title and question of a use case."""

    name: str
    title: str
    question: str


class UseCaseEntry(UseCase):
    """Entry of a use case in the list of use cases."""

    candidates: list[str]


class UseCases(Part):
    """JSON answer of `icmodel usecases list`."""

    schema_version: Version
    usecases: list[UseCaseEntry]


class Derivation(Part):
    """Number derived from a use case, with its formula and its meaning."""

    name: str
    text: str
    formula: str
    meaning: str
    value: Number


class UseCaseDocument(UseCase):
    """JSON answer of `icmodel usecases show`: the keys of the file, and the derived numbers."""

    schema_version: Version
    source: str
    default_candidate: str
    derivations: list[Derivation]


class RestsOn(Part):
    """Evidence behind a verdict: bases (kinds of evidence), sources, and the measurement that would decide it."""

    basis: Basis
    bases: list[Basis]
    sources: list[str]
    settle: str


class Finding(Verdict):
    """Verdict on one requirement of a use case, with its margin and its reason."""

    limiting: str
    why: str
    stream: str
    device: str
    remedy: str
    others_beyond: str
    rests_on: RestsOn
    margin: Number
    asked_margin: Number
    least_rate_fps: Number
    streams: Count


class StreamAnswer(Part):
    """Answer for one stream of a candidate: its question, and a prediction or the reason why there is none."""

    stream: str
    why: str
    scenario: Scenario
    asked: Scenario
    prediction: Prediction | None
    notes: list[str]


class Candidate(Part):
    """Candidate of a use case (protocol with its settings), with its verdict."""

    name: str
    description: str
    outcome: Outcome
    answers: list[StreamAnswer]
    findings: list[Finding]
    readings: list[Finding]
    notes: list[str]
    derivations: list[Derivation]


class LimitedDataset(Part):
    """Dataset of an evaluation, with sentences on its known limits, such as what was not measured."""

    id: str
    sha256: str
    known_limits: list[str]


class Evaluation(Part):
    """JSON answer of `icmodel evaluate`."""

    schema_version: Version
    usecase: UseCase
    dataset: LimitedDataset
    variant: str
    candidate: str
    strict: bool
    verdict: Outcome
    notes: list[str]
    known_limits: list[str]
    derivations: list[Derivation]
    candidates: list[Candidate]


class OldAndNew(Part):
    """Verdict in the earlier result and in the new result."""

    old: Outcome
    new: Outcome


class Change(Part):
    """Difference between an earlier result and the new result."""

    kind: Literal["verdict", "added", "removed", "limit", "question", "dataset", "value"]
    what: str
    where: str
    old: str | float | None
    new: str | float | None
    text: str


class Changes(Part):
    """JSON answer of `icmodel evaluate` and `icmodel system` with ``--against``."""

    schema_version: Version
    subject: str
    verdict_changed: bool
    verdict: OldAndNew
    changes: list[Change]


class Judged(Part):
    """Verdict on an interconnect, with its kind of source and its kind of evidence.

    ``ground`` is the kind of source: own measurements, publications, extrapolation to another line rate, or theory.
    ``basis`` is the kind of evidence of the deciding numbers, such as ``measured`` or ``assumed``.
    """

    ground: Ground
    outcome: Outcome
    basis: Basis


class Source(Judged):
    """Source of a verdict on an interconnect: a dataset, or theory alone."""

    dataset: str
    variant: str
    choice: str
    measured_line_rate_bps: Number
    protocols: list[str]
    scenarios: dict[str, Scenario]
    findings: list[Finding]
    notes: list[str]


class Silent(Part):
    """Dataset without an answer for an interconnect, and the reason."""

    dataset: str
    why: str


class Link(Judged):
    """Verdict on one interconnect at one line rate."""

    interconnect: str
    protocol: str
    decided_by: str
    line_rate_bps: Number
    refuted_by_theory: bool
    measurements: list[str]
    source: Source
    others: list[Source]
    silent: list[Silent]


class Ranked(Judged):
    """Interconnect at one line rate, with its rank among all compared interconnects."""

    rank: int
    kind: Literal["carries", "hosts open", "hosts fail", "impossible"] = Field(alias="class")
    interconnect: str
    protocol: str
    line_rate_bps: Number
    wire_headroom: Number
    host_headroom: Number
    least_cores: int | None
    sentence: str


class Interconnects(Part):
    """JSON answer of `icmodel compare --usecase`."""

    schema_version: Version
    usecase: UseCase
    verdict: Outcome
    rows: list[Link]
    ranking: list[Ranked]
    known_limits: list[str]

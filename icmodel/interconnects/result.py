"""Comparison: one use case on every interconnect; frozen values and their JSON form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from icmodel.documents import json_form, json_of
from icmodel.estimate import BASES, weakest
from icmodel.interconnects.choices import Link
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED
from icmodel.usecase import CandidateResult, Finding, UseCase
from icmodel.usecase.result import settling

SCHEMA_VERSION = 1
MEASURED_HERE, PUBLISHED, EXTRAPOLATED, THEORY = (
    "measured here",
    "published",
    "extrapolated",
    "theory only",
)
GROUNDS = (MEASURED_HERE, PUBLISHED, EXTRAPOLATED, THEORY)
"""What an answer comes from, strongest first."""


@dataclass(frozen=True, slots=True)
class Source:
    """What one dataset, or theory, says to a use case on a link: the best of its choices.

    ``measured_bps`` is the line rate [b/s] at which the dataset was measured; ``None`` where it does
    not say, and of theory.
    """

    ground: str
    dataset: str
    variant: str
    measured_bps: float | None
    result: CandidateResult

    @property
    def outcome(self) -> str:
        """met, not met or undecided."""
        return self.result.outcome

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols that were asked, in the order of the streams."""
        return tuple(dict.fromkeys(answer.asked.protocol for answer in self.result.answers))

    @property
    def decisive(self) -> Finding:
        """The finding that decides; of several that are not met that on the strongest basis."""
        failed = [one for one in self.result.findings if one.outcome == NOT_MET]
        if not failed:
            return self.result.decisive
        return min(failed, key=_decisiveness)

    @property
    def basis(self) -> str:
        """The weakest basis of what decides; empty where nothing was predicted.

        One requirement that is not met decides alone; else all with the outcome do.
        """
        if self.outcome == NOT_MET:
            return self.decisive.rests_on.basis
        deciding = [one for one in self.result.findings if one.outcome == self.outcome]
        bases = [one.rests_on.basis for one in deciding if one.rests_on.basis]
        return weakest(bases) if bases else ""

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            **json_of(self, "ground", "dataset", "variant"),
            "measured_line_rate_bps": self.measured_bps,
            **json_of(self, "protocols", "outcome", "basis"),
            "choice": self.result.description,
            "scenarios": {one.stream: one.scenario.to_dict() for one in self.result.answers},
            "findings": json_form(self.result.findings),
            "notes": list(self.notes),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be known of its answers, each once."""
        told = [note for answer in self.result.answers for note in (*answer.notes, answer.why)]
        return tuple(dict.fromkeys(note for note in (*told, *self.result.notes) if note))


def _decisiveness(failed: Finding) -> tuple[bool, int, float]:
    """Sort key: latencies that grow without limit last, since they follow from the goodput."""
    return failed.grows, BASES.index(failed.rests_on.basis), failed.verdict.margin


@dataclass(frozen=True, slots=True)
class Row:
    """One link: who answers for it, who else does, and which datasets on that link say nothing."""

    link: Link
    source: Source
    others: tuple[Source, ...] = ()
    silent: tuple[tuple[str, str], ...] = ()

    @property
    def outcome(self) -> str:
        """met, not met or undecided."""
        return self.source.outcome

    @property
    def refuted(self) -> bool:
        """Whether no host can meet the use case on this wire."""
        return any(
            one.ground == THEORY and one.outcome == NOT_MET for one in (self.source, *self.others)
        )

    @property
    def decisive(self) -> Finding:
        """The requirement that decides; where physics refutes the one that no host can meet."""
        told = (self.source, *self.others)
        refuting = [one for one in told if one.ground == THEORY and self.refuted]
        return next(iter(refuting), self.source).decisive

    @property
    def measurements(self) -> tuple[str, ...]:
        """What would decide an undecided row: a measurement a stream; empty where it is decided."""
        return tuple(_measurements(self.source.result)) if self.outcome == UNDECIDED else ()

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "interconnect": self.link.kind,
            "line_rate_bps": self.link.line_rate_bps,
            "protocol": self.link.protocol or "+".join(self.source.protocols),
            "outcome": self.outcome,
            "ground": self.source.ground,
            "basis": self.source.basis,
            "refuted_by_theory": self.refuted,
            "decided_by": self.decisive.verdict.requirement.name,
            **json_of(self, "measurements", "source", "others"),
            "silent": [{"dataset": name, "why": why} for name, why in self.silent],
        }


def _measurements(result: CandidateResult) -> Iterator[str]:
    for answer in result.answers:
        open_metrics = dict.fromkeys(
            one.verdict.requirement.metric
            for one in result.findings
            if one.outcome == UNDECIDED and one.stream == answer.stream
        )
        if open_metrics:
            yield settling(" and ".join(open_metrics), answer.scenario)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One use case on every link."""

    usecase: UseCase
    rows: tuple[Row, ...]

    def __repr__(self) -> str:
        counts = (f"{sum(row.outcome == one for row in self.rows)} {one}" for one in OUTCOMES)
        return f"Comparison({self.usecase.name!r}: {', '.join(counts)})"

    @property
    def verdict(self) -> str:
        """Met where one link meets everything; else undecided where one may; else not met."""
        outcomes = {row.outcome for row in self.rows}
        return next(one for one in OUTCOMES if one in outcomes)

    @property
    def exit_code(self) -> int:
        """0 met, 1 not met, 3 undecided."""
        return {MET: 0, NOT_MET: 1, UNDECIDED: 3}[self.verdict]

    def to_dict(self) -> dict[str, object]:
        """The JSON document of ``icmodel compare --usecase --json``."""
        keys = ("name", "title", "question", "source", "citation")
        return {
            "schema_version": SCHEMA_VERSION,
            "usecase": json_of(self.usecase, *keys),
            **json_of(self, "verdict", "rows"),
            "known_limits": list(self.usecase.known_limits),
        }

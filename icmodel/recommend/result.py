"""Recommendation: the search, the designs found, and what no choice can meet; frozen, with its JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from icmodel.documents import json_of, number_or_none
from icmodel.recommend.designs import Counts
from icmodel.recommend.physics import TooLate
from icmodel.recommend.scores import OBJECTIVES
from icmodel.requirement import MET, NOT_MET, UNDECIDED, Verdict

SCHEMA_VERSION = 1
LEFT_OUT = (
    "how long frames wait in queues, and bursts of others",
    "what meeting others does to a stream's own goodput, latency and CPU",
    "classes of ports: a port is full when all its streams together fill it",
    "which of parallel cables a stream takes when another choice changes what it asks for",
    "worst-case bounds of streams that meet others",
)
"""Effects that scores leave out; returned designs were predicted in full."""


@dataclass(frozen=True, slots=True)
class Open:
    """A requirement that a design does not meet with certainty, for the stream or device that meets it least.

    ``settle`` is the measurement that would decide it, or why none would.
    """

    verdict: Verdict
    where: str
    settle: str

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {**self.verdict.to_dict(), **json_of(self, "where", "settle")}


@dataclass(frozen=True, slots=True)
class Checked:
    """A design that was predicted in full.

    Parameters
    ----------
    changed, chosen : mapping
        What differs from the file; all of it.
    basis : str
        The weakest that a requirement was judged on.
    objectives : tuple of float
        As `OBJECTIVES` names them.
    cpu_send_cores, cpu_recv_cores : float
        Busy cores of all streams by side; NaN where nobody knows.
    open : tuple of Open
        Requirements that are not met or undecided.
    """

    changed: Mapping[str, str]
    chosen: Mapping[str, str]
    verdict: str
    basis: str
    objectives: tuple[float, ...]
    cpu_send_cores: float
    cpu_recv_cores: float
    open: tuple[Open, ...]
    changes: int

    def objective(self, name: str) -> float:
        """One objective by its name."""
        return self.objectives[OBJECTIVES.index(name)]

    @property
    def headroom_ratio(self) -> float:
        """How much more all streams together could carry before something is full; negative where it is."""
        full = self.objective("fullest_ratio")
        return 1 / full - 1 if full > 0 else math.inf

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            **json_of(self, "changed", "chosen", "changes", "verdict", "basis"),
            **dict(zip(OBJECTIVES, map(number_or_none, self.objectives), strict=True)),
            **json_of(self, "headroom_ratio", "cpu_send_cores", "cpu_recv_cores", "open"),
        }


@dataclass(frozen=True, slots=True)
class Nearest:
    """How close any stream alone comes to a requirement, over the whole search."""

    verdict: Verdict
    stream: str

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {**self.verdict.to_dict(), "stream": self.stream}


@dataclass(frozen=True, slots=True)
class Searched:
    """Number of designs by what became of them.

    ``may_meet``, ``undecided`` and ``fail`` are scored ones, by the best possible outcome; ``checked`` were predicted
    in full; ``unchecked`` have scores as good as the front's and were not predicted; ``unpredicted`` are all
    that may meet the requirements and were not predicted.
    """

    counts: Counts
    may_meet: int
    undecided: int
    fail: int
    checked: int
    unchecked: int
    unpredicted: int

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        counts = self.counts
        return {
            "designs": counts.all,
            **json_of(counts, "scored", "exhaustive", "contradictory", "dominated"),
            "not_looked_at": counts.far,
            "tables_changed_at_most": counts.tables,
            **json_of(self, "may_meet", "undecided", "fail", "checked", "unchecked", "unpredicted"),
        }


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The recommendation for a system.

    Parameters
    ----------
    own : Checked
        The file's own design.
    front : tuple of Checked
        Pareto front of the designs that meet every requirement, sorted by CPU.
    mends : tuple of Checked
        Those with the fewest changes, if the file's own does not meet all.
    undecided : tuple of Checked
        Designs that may meet all, with the measurements that would decide them.
    nearest : tuple of Nearest
        By requirement.
    physics : tuple of TooLate
        What no choice of streams can meet, in the network in which it is least late.
    """

    system: str
    title: str
    datasets: Mapping[str, str]
    variants: tuple[str, ...]
    searched: Searched
    own: Checked
    front: tuple[Checked, ...]
    mends: tuple[Checked, ...]
    undecided: tuple[Checked, ...]
    nearest: tuple[Nearest, ...]
    physics: tuple[TooLate, ...]
    currency: str | None

    def __repr__(self) -> str:
        return f"Recommendation({self.system!r}, {len(self.front)} designs: {self.verdict})"

    @property
    def verdict(self) -> str:
        """Met if a design meets all requirements; undecided if one may; else not met."""
        if self.front:
            return MET
        may = self.undecided or self.searched.unpredicted or self.searched.counts.far
        return UNDECIDED if may else NOT_MET

    @property
    def exit_code(self) -> int:
        """0 met, 1 not met, 3 undecided."""
        return {MET: 0, NOT_MET: 1, UNDECIDED: 3}[self.verdict]

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "schema_version": SCHEMA_VERSION,
            **json_of(self, "system", "title", "datasets", "variants", "verdict", "searched"),
            "scores_leave_out": list(LEFT_OUT),
            **json_of(self, "own", "front", "mends", "undecided", "nearest", "physics", "currency"),
        }

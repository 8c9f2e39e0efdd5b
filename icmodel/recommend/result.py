"""Result of a search for designs: designs found, and requirements that no choice can meet; with its JSON form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from icmodel.documents import json_of, number_or_none
from icmodel.frozen import NanEqual
from icmodel.reading import SourceFile
from icmodel.recommend.designs import Counts
from icmodel.recommend.physics import TooLate
from icmodel.recommend.scores import OBJECTIVES
from icmodel.requirement import EXIT_CODES, MET, NOT_MET, UNDECIDED, Verdict

SCHEMA_VERSION = 1
LEFT_OUT = (
    "queueing delays, and bursts of other streams",
    "the effect of other streams on a stream's own goodput, latency and CPU",
    "priorities at ports: only the total load of a port counts",
    "parallel cables: a stream keeps its cable, even if another choice changes the cable's rate",
    "worst-case bounds of streams that share resources",
)
"""Effects that the scores of designs ignore; the full predictions of the returned designs include them."""


@dataclass(frozen=True, slots=True)
class OpenRequirement:
    """Requirement that is undecided or not met by a design, with the stream or device farthest from the limit.

    ``settle`` is the measurement that would decide the requirement, or the reason why no measurement would.
    """

    verdict: Verdict
    where: str
    settle: str

    def to_dict(self) -> dict[str, object]:
        """Convert this requirement to its JSON form, a dictionary."""
        return {**self.verdict.to_dict(), **json_of(self, "where", "settle")}


@dataclass(frozen=True, slots=True, eq=False)
class Checked(NanEqual):
    """Design that was predicted in full: its choices, verdict and objectives.

    Parameters
    ----------
    changed, chosen : mapping
        Differences from the file, and all chosen parameters, as text by parameter.
    basis : str
        Weakest basis (kind of evidence) on which a requirement was judged.
    objectives : tuple of float
        Values of `OBJECTIVES`, in SI units.
    cpu_send_cores, cpu_recv_cores : float
        Busy cores of all streams by side; NaN if unknown.
    open : tuple of OpenRequirement
        Requirements that are not met or undecided.
    changes : int
        Number of differences between the design and the file.
    """

    changed: Mapping[str, str]
    chosen: Mapping[str, str]
    verdict: str
    basis: str
    objectives: tuple[float, ...]
    cpu_send_cores: float
    cpu_recv_cores: float
    open: tuple[OpenRequirement, ...]
    changes: int

    def objective(self, name: str) -> float:
        """Return the value of an objective, such as ``cost``, by name."""
        return self.objectives[OBJECTIVES.index(name)]

    @property
    def headroom_ratio(self) -> float:
        """Headroom: fraction by which all loads can grow until the fullest port, interface or processor is full.

        It is ``1 / utilisation - 1`` of this fullest resource, and negative if the resource is overloaded.
        """
        full = self.objective("fullest_ratio")
        return 1 / full - 1 if full > 0 else math.inf

    def to_dict(self) -> dict[str, object]:
        """Convert this design to its JSON form, a dictionary."""
        return {
            **json_of(self, "changed", "chosen", "changes", "verdict", "basis"),
            **dict(zip(OBJECTIVES, map(number_or_none, self.objectives), strict=True)),
            **json_of(self, "headroom_ratio", "cpu_send_cores", "cpu_recv_cores", "open"),
        }


@dataclass(frozen=True, slots=True)
class Nearest:
    """Stream that comes closest to meeting a requirement, among all streams and options of a search.

    For this comparison, each stream is predicted without the other streams. ``verdict`` is the verdict on the stream.
    """

    verdict: Verdict
    stream: str

    def to_dict(self) -> dict[str, object]:
        """Convert this stream and its verdict to its JSON form, a dictionary."""
        return {**self.verdict.to_dict(), "stream": self.stream}


@dataclass(frozen=True, slots=True)
class Searched:
    """Size of a search: the number of its designs by outcome.

    Parameters
    ----------
    may_meet, undecided, fail : int
        Numbers of scored designs by the best outcome that the score allows: *met*, *undecided* or *not met*.
    checked : int
        Number of designs predicted in full.
    unchecked : int
        Number of designs that were not predicted in full, though they are on the Pareto front of the scored designs.
    unpredicted : int
        Number of designs that were not predicted in full, though their score allows *met* or *undecided*.
    """

    counts: Counts
    may_meet: int
    undecided: int
    fail: int
    checked: int
    unchecked: int
    unpredicted: int

    def to_dict(self) -> dict[str, object]:
        """Convert these counts of designs to a dictionary for JSON."""
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
    """Recommendation for a system: the designs found in its search space.

    Parameters
    ----------
    own : Checked
        The file's own design.
    front : tuple of Checked
        Pareto front of the designs that meet every requirement, sorted by CPU, least first.
    mends : tuple of Checked
        Designs that meet every requirement with the fewest changes; empty if the file's own design meets every
        requirement.
    undecided : tuple of Checked
        Designs that may meet all requirements, with the measurements that would decide.
    nearest : tuple of Nearest
        For each requirement, the stream that comes closest to meeting it, predicted without the other streams.
    physics : tuple of TooLate
        Latency requirements that no design can meet, since in each network a port sends the messages too slowly. The
        numbers are those of the network with the least delay.
    currency : str, optional
        Currency of the costs; ``None`` if the file states no costs.
    file : SourceFile, optional
        File of the system; ``None`` if the system was given as an object.
    asked : mapping
        Options given to `recommend`: dataset and variant.
    states_devices : bool
        Whether a device of the file states its own latency, in place of a dataset.
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
    file: SourceFile | None = None
    asked: Mapping[str, str] = field(default_factory=dict)
    states_devices: bool = False

    def __repr__(self) -> str:
        return f"Recommendation({self.system!r}, {len(self.front)} designs: {self.verdict})"

    @property
    def verdict(self) -> str:
        """Verdict: met if a design meets all requirements, undecided if a design may meet them, otherwise not met."""
        if self.front:
            return MET
        may = self.undecided or self.searched.unpredicted or self.searched.counts.far
        return UNDECIDED if may else NOT_MET

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 0 met, 1 not met, 3 undecided."""
        return EXIT_CODES[self.verdict]

    def to_dict(self) -> dict[str, object]:
        """Convert this recommendation to its JSON form, a dictionary."""
        return {
            "schema_version": SCHEMA_VERSION,
            **json_of(self, "system", "title", "datasets", "variants", "verdict", "searched"),
            "scores_leave_out": list(LEFT_OUT),
            **json_of(self, "own", "front", "mends", "undecided", "nearest", "physics", "currency"),
        }

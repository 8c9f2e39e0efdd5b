"""Verification: what was predicted of a system and what the built one did; frozen, and its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scipy.special import bdtr

from icmodel.system import System
from icmodel.verify import comparing
from icmodel.verify.comparing import RULE, Bounded, Compared
from icmodel.verify.folder import Pass, Stored
from icmodel.verify.lab import Copy

SCHEMA_VERSION = 1
AGREES, DISAGREES, UNDECIDED = "agrees", "does not agree", "undecided"
EXIT_CODES = {AGREES: 0, DISAGREES: 1, UNDECIDED: 3}
COVERED = 0.9
"""What part of single runs an interval promises to hold."""
DOUBT = 0.01
"""More numbers outside than chance explains at this level speak against the prediction."""


@dataclass(frozen=True, slots=True)
class Verification:
    """A system as it was predicted and as it was measured, side by side.

    Parameters
    ----------
    system : System
        As it was given; ``copy`` is what was built.
    folder : Path
        Where prediction and records are kept.
    stored : Stored
        The prediction that is judged, made before the first pass.
    differs : tuple of str
        Streams of which icmodel now predicts something else than is stored.
    """

    system: System
    copy: Copy
    folder: Path
    stored: Stored
    differs: tuple[str, ...]
    passes: tuple[Pass, ...]
    streams: Mapping[str, Mapping[str, Compared]]
    bounds: Mapping[str, Bounded]
    devices: Mapping[str, Compared]

    def __repr__(self) -> str:
        return f"Verification({self.system.name!r}: {self.inside} of {self.judged} inside, {self.verdict})"

    @property
    def judged(self) -> int:
        """How many numbers have both prediction and measurement."""
        return sum(1 for _ in comparing.all_of(self.streams, self.devices))

    @property
    def inside(self) -> int:
        """How many of them lie within their intervals."""
        return sum(one.inside for one in comparing.all_of(self.streams, self.devices))

    @property
    def exceeded(self) -> tuple[str, ...]:
        """Streams of which a frame took longer than their bound."""
        return tuple(name for name, one in self.bounds.items() if one.held is False)

    @property
    def verdict(self) -> str:
        """Whether prediction and measurement agree.

        They do if no bound was exceeded, and no more numbers lie outside their 90 % intervals than chance
        puts there once in a hundred times.
        """
        if not self.judged:
            return UNDECIDED
        outside = self.judged - self.inside
        return DISAGREES if self.exceeded or outside > most_outside(self.judged) else AGREES

    @property
    def exit_code(self) -> int:
        """0 it agrees, 1 it does not, 3 nothing was measured."""
        return EXIT_CODES[self.verdict]

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        document = self.stored.document
        return {
            "schema_version": SCHEMA_VERSION,
            "system": self.system.name,
            "title": self.system.title,
            "folder": str(self.folder),
            "copy": {
                "slower": self.copy.slower,
                "members": self.copy.members,
                "rule": RULE,
                "not_verified": list(self.copy.left_out),
            },
            "prediction": {
                "sha256": self.stored.sha256,
                "icmodel": document.get("icmodel"),
                "made_utc": document.get("made_utc"),
                "datasets": dict(self.stored.prediction["datasets"]),
                "variants": list(self.stored.prediction["variants"]),
                "differs_now": list(self.differs),
            },
            "passes": [one.to_dict() for one in self.passes],
            "streams": {
                name: {
                    **{metric: one.to_dict() for metric, one in metrics.items()},
                    "latency_max_s": self.bounds[name].to_dict(),
                }
                for name, metrics in self.streams.items()
            },
            "devices": {
                name: {"cpu_process_cores": one.to_dict()} for name, one in self.devices.items()
            },
            "judged": self.judged,
            "inside": self.inside,
            "exceeded": list(self.exceeded),
            "verdict": self.verdict,
        }


def most_outside(count: int) -> int:
    """How many of so many independent numbers chance puts outside 90 % intervals, but for one time in a hundred.

    The least n for which a binomial variable of ``count`` trials at 10 % is at most n with 99 %.
    """
    return next(n for n in range(count + 1) if bdtr(n, count, 1 - COVERED) >= 1 - DOUBT)

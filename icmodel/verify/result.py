"""Result of a verification, with its JSON form: the prediction of a system beside the measurements in the lab."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scipy.special import bdtr

from icmodel.system import System
from icmodel.verify import comparing
from icmodel.verify.comparing import Bounded, Compared
from icmodel.verify.folder import Pass, Stored
from icmodel.verify.lab_system import RULE, LabSystem

SCHEMA_VERSION = 1
AGREES, DISAGREES, UNDECIDED = "agrees", "does not agree", "undecided"
EXIT_CODES = {AGREES: 0, DISAGREES: 1, UNDECIDED: 3}
COVERED = 0.9
"""Share of single runs that should lie in a predicted interval."""
DOUBT = 0.01
"""Significance level of the test that rejects a prediction if too many measurements lie outside their intervals."""


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of a verification: predictions and measurements of a system.

    Parameters
    ----------
    system : System
        System to verify.
    lab : LabSystem
        Copy of the system that was built in the lab.
    folder : Path
        Folder of the prediction and the records.
    stored : Stored
        Prediction made before the first pass, which is verified.
    differs : tuple of str
        Streams for which icmodel would now predict other numbers than the stored prediction.
    passes : tuple of Pass
        All measured passes, valid or not.
    streams, bounds, devices : mapping
        Predicted and measured numbers from the valid passes: metrics by stream, latency bounds by stream, busy cores by
        device.
    """

    system: System
    lab: LabSystem
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
        """Number of values that have both a prediction and a measurement."""
        return sum(1 for _ in comparing.all_of(self.streams, self.devices))

    @property
    def inside(self) -> int:
        """Number of values whose measurement lies in the predicted interval."""
        return sum(number.inside for number in comparing.all_of(self.streams, self.devices))

    @property
    def exceeded(self) -> tuple[str, ...]:
        """Names of the streams with a frame that took longer than the latency bound."""
        return tuple(name for name, bound in self.bounds.items() if bound.held is False)

    @property
    def verdict(self) -> str:
        """Whether prediction and measurement agree.

        They agree if no latency bound was exceeded, and not too many values lie outside their 90 % intervals. Too many
        means more than chance allows at the 1 % significance level; see `most_outside`.
        """
        if not self.judged:
            return UNDECIDED
        outside = self.judged - self.inside
        return DISAGREES if self.exceeded or outside > most_outside(self.judged) else AGREES

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 0 agrees, 1 does not agree, 3 nothing was measured."""
        return EXIT_CODES[self.verdict]

    def to_dict(self) -> dict[str, object]:
        """Convert this verification to its JSON form, a dictionary."""
        document = self.stored.document
        return {
            "schema_version": SCHEMA_VERSION,
            "system": self.system.name,
            "title": self.system.title,
            "folder": str(self.folder),
            "copy": {
                "slower": self.lab.slower,
                "members": self.lab.members,
                "rule": RULE,
                "not_verified": list(self.lab.left_out),
            },
            "prediction": {
                "sha256": self.stored.sha256,
                "icmodel": document.get("icmodel"),
                "made_utc": document.get("made_utc"),
                "datasets": dict(self.stored.prediction["datasets"]),
                "variants": list(self.stored.prediction["variants"]),
                "differs_now": list(self.differs),
            },
            "passes": [run.to_dict() for run in self.passes],
            "streams": {
                name: {
                    **{metric: number.to_dict() for metric, number in metrics.items()},
                    "latency_max_s": self.bounds[name].to_dict(),
                }
                for name, metrics in self.streams.items()
            },
            "devices": {
                name: {"cpu_process_cores": number.to_dict()}
                for name, number in self.devices.items()
            },
            "judged": self.judged,
            "inside": self.inside,
            "exceeded": list(self.exceeded),
            "verdict": self.verdict,
        }


def most_outside(count: int) -> int:
    """Return how many of ``count`` independent values may lie outside their 90 % intervals by chance.

    The result is the 99 % quantile of a binomial distribution with ``count`` trials of probability 10 %.

    Examples
    --------
    >>> most_outside(20)
    6
    """
    return next(n for n in range(count + 1) if bdtr(n, count, 1 - COVERED) >= 1 - DOUBT)

"""Calibration: from the words of a command to measured runs and a dataset in a folder."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from icmodel.calibrate.hosts import Hosts
from icmodel.calibrate.loop import Result, Watch, calibrate
from icmodel.calibrate.observed import is_spoilt
from icmodel.calibrate.pair import LabPair, Link, Pair, SshPair
from icmodel.calibrate.settings import MOST_MTU, Settings
from icmodel.calibrate.verdict import refuse_undecidable
from icmodel.calibrate.written import write
from icmodel.dataset_write import id_of
from icmodel.usecase import load_usecase

SCHEMA_VERSION = 1
DIGITS = 6
"""Of seconds that are sums of a run's parts."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be calibrated.

    ``hosts`` are two names that ssh knows; without them a lab of ``topology`` is built.
    ``words`` are fields of `Settings`; what they leave out or say ``None`` of is taken from the lab's
    topology, as far as that says it.

    Raises
    ------
    CalibrationError, UseCaseError, DatasetError
        If no calibration can be as the words say or decide anything of the use case, there is no
        such use case, or the folder's name cannot be a dataset's id.
    """

    folder: Path
    hosts: tuple[str, str] | None = None
    topology: str = "direct-1g"
    address: str | None = None
    words: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        id_of(self.folder)
        settings = self.settings("", Link(mtu_bytes=MOST_MTU))  # that of the lab is not known yet
        if settings.usecase is not None:
            refuse_undecidable(load_usecase(settings.usecase), settings)

    def settings(self, system: str, link: Link) -> Settings:
        """The settings of a system; what no calibration can be is refused when it is wished."""
        return Settings(system=system, **{**_said(asdict(link)), **_said(self.words)})


@dataclass(frozen=True, slots=True)
class Calibration:
    """What became of it: how the loop ended, and the dataset that was made."""

    system: str
    folder: Path
    dataset: str
    sha256: str
    variant: str
    result: Result

    def __repr__(self) -> str:
        return f"Calibration({self.system!r}: {self.dataset!r}, variant={self.variant!r})"

    @property
    def spoilt(self) -> int:
        """Of how many runs the flags leave nothing."""
        return sum(map(is_spoilt, self.result.records))

    @property
    def flags(self) -> Counter[str]:
        """How many of these runs have each flag."""
        return Counter(
            flag
            for one in self.result.records
            if is_spoilt(one)
            for flag in sorted(set(one.get("flags", ())))
        )

    def to_dict(self) -> dict[str, object]:
        """The JSON document of ``icmodel calibrate --json``."""
        stand = self.result.progress
        return {
            "schema_version": SCHEMA_VERSION,
            "system": self.system,
            "folder": str(self.folder),
            "dataset": {"id": self.dataset, "sha256": self.sha256},
            "variant": self.variant,
            "reason": self.result.reason,
            "runs": stand.runs,
            "disturbed": stand.disturbed,
            "spoilt": {"runs": self.spoilt, "flags": dict(sorted(self.flags.items()))},
            "refused": [
                {"point": one.run.identity, "words": list(one.run.words()), "why": one.why}
                for one in self.result.refused
            ],
            "spent_s": round(stand.spent_s, DIGITS),
            "budget_s": stand.budget_s,
            "error": _number(stand.error),
            "metrics": {
                one.metric: {
                    "n": one.count,
                    "median": _number(one.middle),
                    "p95": _number(one.p95),
                    "noise": _number(one.noise),
                }
                for one in stand.scores
            },
            "verdict": stand.verdict or None,
            "requirements": dict(stand.requirements),
        }


def carry_out(probe: Path, wish: Wish, watch: Watch | None = None) -> Calibration:
    """Measure until error or budget are reached, and write the dataset.

    Raises
    ------
    CalibrationError
        If the folder is another calibration's, hosts cannot be reached, or nothing was measured.
    """
    pair = _pair(probe, wish)
    settings = wish.settings(pair.description, pair.link())
    result = calibrate(Hosts(probe, pair, settings, wish.folder), settings, wish.folder, watch)
    data = write(wish.folder, settings)
    return Calibration(
        system=pair.description,
        folder=wish.folder,
        dataset=data.id,
        sha256=data.sha256,
        variant=settings.variant,
        result=result,
    )


def _said(words: Mapping[str, Any]) -> dict[str, Any]:
    """The words that say something."""
    return {name: value for name, value in words.items() if value is not None}


def _pair(probe: Path, wish: Wish) -> Pair:
    if wish.hosts is None:
        return LabPair(probe, wish.topology, wish.folder)
    return SshPair(probe, *wish.hosts, address=wish.address)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None

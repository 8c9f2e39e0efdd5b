"""Carry out a calibration: turn a request into measured runs and a dataset in a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from icmodel.calibrate.loop import Result, Watch, calibrate
from icmodel.calibrate.rows import write
from icmodel.calibrate.runs import is_spoilt
from icmodel.calibrate.settings import MOST_MTU, Settings
from icmodel.calibrate.testbed import Hosts, LabPair, Link, Pair, SshPair
from icmodel.calibrate.verdict import refuse_undecidable
from icmodel.dataset.write import id_of
from icmodel.documents import number_or_none
from icmodel.usecase import load_usecase

SCHEMA_VERSION = 1
DIGITS = 6
"""Number of decimal places of times [s] in the JSON document of a calibration."""


@dataclass(frozen=True, slots=True)
class Request:
    """Request for a calibration: the folder, the hosts or lab, and the settings that the user gave.

    Parameters
    ----------
    folder : Path
        Folder for the records and the dataset.
    hosts : tuple of str, optional
        Two host names for ssh; without them a lab with ``topology`` is built.
    topology : str
        Name or file of the lab's topology.
    address : str, optional
        Address of the second host on the measured network.
    words : mapping
        Fields of `Settings` by name. A missing field, or ``None``, takes the lab topology's value or the default.

    Raises
    ------
    CalibrationError, UseCaseError, DatasetError
        If the settings are impossible, or they cannot decide any requirement of the use case. Also if
        the use case does not exist, or if the folder's name cannot be a dataset's id.
    """

    folder: Path
    hosts: tuple[str, str] | None = None
    topology: str = "direct-1g"
    address: str | None = None
    words: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        id_of(self.folder)
        settings = self.settings("", Link(mtu_bytes=MOST_MTU))  # the lab's MTU is not known yet
        if settings.aim.usecase is not None:
            refuse_undecidable(load_usecase(settings.aim.usecase), settings)

    def settings(self, system: str, link: Link) -> Settings:
        """Make the settings for a system; values of this request take precedence over those of the link."""
        return Settings.of(system=system, **{**_given(asdict(link)), **_given(self.words)})


@dataclass(frozen=True, slots=True)
class Calibration:
    """Result of a calibration: the reason for its end, and the written dataset."""

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
        """Number of measured runs whose flags leave no usable metric."""
        return sum(map(is_spoilt, self.result.records))

    @property
    def flags(self) -> Counter[str]:
        """Number of measured runs without a usable metric, by flag of the run."""
        return Counter(
            flag
            for one in self.result.records
            if is_spoilt(one)
            for flag in sorted(set(one.get("flags", ())))
        )

    def to_dict(self) -> dict[str, object]:
        """Convert this result to the JSON document that ``icmodel calibrate --json`` prints."""
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
            "error": number_or_none(stand.error),
            "metrics": {
                one.metric: {
                    "n": one.count,
                    "median": number_or_none(one.middle),
                    "p95": number_or_none(one.p95),
                    "noise": number_or_none(one.noise),
                }
                for one in stand.scores
            },
            "verdict": stand.verdict or None,
            "requirements": dict(stand.requirements),
        }


def carry_out(probe: Path, request: Request, watch: Watch | None = None) -> Calibration:
    """Carry out a calibration: measure until the target error or the budget is reached, and write the dataset.

    Raises
    ------
    CalibrationError
        If the folder holds another calibration, hosts cannot be reached, or nothing was measured.
    """
    pair: Pair
    if request.hosts is None:
        pair = LabPair(probe, request.topology, request.folder)
    else:
        pair = SshPair(probe, *request.hosts, address=request.address)
    settings = request.settings(pair.description, pair.link())
    result = calibrate(
        Hosts(probe, pair, settings, request.folder), settings, request.folder, watch
    )
    data = write(request.folder, settings)
    return Calibration(
        system=pair.description,
        folder=request.folder,
        dataset=data.id,
        sha256=data.sha256,
        variant=settings.aim.variant,
        result=result,
    )


def _given(words: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a mapping without the entries that are ``None``."""
    return {name: value for name, value in words.items() if value is not None}

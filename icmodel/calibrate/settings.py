"""Settings of a calibration: its grid of runs, hosts, times and stop conditions; stored as ``loop.json``."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from icmodel.documents import json_value
from icmodel.errors import CalibrationError
from icmodel.model import VARIANTS

SCHEMA_VERSION = 1
PROTOCOLS = ("tcp", "udp", "ethernet", "zeromq")
METRICS = ("goodput_bps", "latency_mean_s", "cpu_send", "cpu_recv")
OVERHEAD_S = 0.5
"""Time of a run for clocks, connection and counters [s], besides idle time, warm-up and window."""
MOST_CORES = 64
"""Greatest number of streams that a responder of icprobe accepts; each core sends one stream."""
LEAST_MTU, MOST_MTU = 68, 65535
"""Least and greatest MTU of IPv4 (RFC 791) [B]."""
LEAST_WINDOW_S, MOST_WINDOW_S = 0.1, 3600.0
ENDS = ("budget_s", "error_ratio")
"""Names of the stop conditions, which may change when a calibration is continued."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Settings of a calibration's grid: the protocols, loads and payloads of the candidate runs.

    Parameters
    ----------
    protocols : tuple of str
        Protocols to measure.
    loads : tuple of float
        Requested goodputs as shares of the line rate; infinite for an unlimited load.
    least_payload_bytes, most_payload_bytes : int
        Range of payloads; a protocol with a smaller limit is measured up to its limit.
    """

    protocols: tuple[str, ...] = ("tcp", "udp")
    loads: tuple[float, ...] = (0.001, 0.01, 0.1, 0.5, 0.9, math.inf)
    least_payload_bytes: int = 32
    most_payload_bytes: int = 65535

    def __post_init__(self) -> None:
        unknown = sorted(set(self.protocols) - set(PROTOCOLS))
        if unknown or not self.protocols:
            raise CalibrationError(
                f"unknown or missing protocols ({', '.join(unknown) or 'none given'}): give one or more of "
                f"{', '.join(PROTOCOLS)}"
            )
        if not 1 <= self.least_payload_bytes < self.most_payload_bytes:
            raise CalibrationError(
                f"payloads from {self.least_payload_bytes} to {self.most_payload_bytes} B are not a "
                "range: give a least payload of at least 1 B, and a greater payload"
            )
        if not self.loads or math.inf not in self.loads or min(self.loads) <= 0:
            raise CalibrationError(
                f"the loads {', '.join(f'{load:g}' for load in self.loads) or 'none'} are not possible: "
                "include infinity (unlimited load), and give every other load as a fraction of the line rate, "
                "greater than 0"
            )


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings of a calibration that concern the hosts and the link between them.

    Parameters
    ----------
    mtu_bytes : int
        MTU of the path [B]. It determines the packet breaks: payloads above which a frame needs one more packet.
    cores : int
        Number of cores used at the sender, and at the receiver.
    line_rate_bps : float or None
        Line rate [b/s]; each load in `Grid.loads` is a fraction of it. If it is None, the goodput of the first run is
        used, rounded to two significant digits.
    burst_bytes : float
        Depth of the token bucket that enforces the line rate [B].
    """

    mtu_bytes: int = 1500
    cores: int = 1
    line_rate_bps: float | None = None
    burst_bytes: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.cores <= MOST_CORES:
            raise CalibrationError(
                f"{self.cores} cores are not possible: give 1 to {MOST_CORES}; each core runs one sender"
            )
        if not LEAST_MTU <= self.mtu_bytes <= MOST_MTU:
            raise CalibrationError(
                f"an MTU of {self.mtu_bytes} B is not possible: give {LEAST_MTU} B to {MOST_MTU} B"
            )
        if self.line_rate_bps is not None and self.line_rate_bps <= 0:
            raise CalibrationError(
                f"a line rate of {self.line_rate_bps:g} b/s is not possible: give a rate above 0, or leave "
                "it out to use the goodput of the first run"
            )


@dataclass(frozen=True, slots=True)
class Aim:
    """Aim of a calibration, and conditions for its end.

    Parameters
    ----------
    budget_s : float
        Total measuring time [s]: sum of idle time, warm-up, window and overhead of all runs.
    error_ratio : float or None
        Target error, 0…1: the calibration stops when the greatest of the metrics' median errors is at most this. If it
        is None, runs are measured until the budget is used up.
    metrics : tuple of str
        Metrics whose error the calibration reduces.
    variant : str
        Variant of the model that is scored and gives the verdict.
    usecase : str or None
        Name or path of a use case. If given, runs are chosen to decide the use case's verdict.
    """

    budget_s: float = 600.0
    error_ratio: float | None = None
    metrics: tuple[str, ...] = METRICS
    variant: str = "hybrid"
    usecase: str | None = None

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise CalibrationError(
                f"there is no variant {self.variant!r}: use one of {', '.join(VARIANTS)}"
            )
        if self.budget_s <= 0:
            raise CalibrationError(
                f"a budget of {self.budget_s:g} s is too short for a run: give a time above 0"
            )
        if self.error_ratio is not None and not 0 < self.error_ratio < 1:
            raise CalibrationError(
                f"an error of {100 * self.error_ratio:g} % is not possible: give an error above 0 % and below "
                "100 %, or leave it out to use up the budget"
            )


@dataclass(frozen=True, slots=True)
class Timing:
    """Settings of a calibration for the times of each run: measuring window, warm-up and idle time [s]."""

    window_s: float = 2.0
    warmup_s: float = 0.2
    baseline_s: float = 0.5

    def __post_init__(self) -> None:
        if not LEAST_WINDOW_S <= self.window_s <= MOST_WINDOW_S:
            raise CalibrationError(
                f"a window of {self.window_s:g} s is not possible: give {LEAST_WINDOW_S:g} s to "
                f"{MOST_WINDOW_S:g} s for a run"
            )

    @property
    def cost_s(self) -> float:
        """Time that one run takes from the budget of a calibration [s]."""
        return self.baseline_s + self.warmup_s + self.window_s + OVERHEAD_S


@dataclass(frozen=True, slots=True)
class Sampling:
    """Settings of a calibration for choosing runs, and for excluding disturbed runs.

    Parameters
    ----------
    most_steal : float or None
        Greatest share of time, 0…1, that the hypervisor may take from a core in use. The fit leaves out runs above this
        share, and the dataset lists them separately. If it is None, there is no limit.
    repeats : int
        Number of repeats of each run in step 1; the noise is estimated from these repeats.
    batch : int
        Number of runs chosen at a time.
    seed : int
        Seed of the random order of runs.
    """

    most_steal: float | None = None
    repeats: int = 2
    batch: int = 4
    seed: int = 1

    def __post_init__(self) -> None:
        if self.most_steal is not None and not 0 <= self.most_steal < 1:
            raise CalibrationError(
                f"most_steal of {100 * self.most_steal:g} % is not possible: give 0 % or more, and less than "
                "100 %"
            )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one calibration.

    ``system`` describes the measured system. A folder holds records of one system only.
    """

    system: str
    grid: Grid = Grid()
    setup: Setup = Setup()
    aim: Aim = Aim()
    timing: Timing = Timing()
    sampling: Sampling = Sampling()

    @classmethod
    def of(cls, system: str, **words: Any) -> Settings:
        """Make settings from the fields of all parts (grid, setup, aim, timing, sampling) as keywords.

        Raises
        ------
        CalibrationError
            If a value is impossible.
        ValueError
            If a name is not a field of any part.
        """
        parts = {
            name: part(
                **{one.name: words.pop(one.name) for one in fields(part) if one.name in words}
            )
            for name, part in PARTS.items()
        }
        if words:
            raise ValueError(f"unknown settings {', '.join(sorted(words))}: check the spelling")
        return cls(system, **parts)

    @property
    def digest(self) -> str:
        """SHA-256 of all settings of the calibration except the stop conditions."""
        text = json.dumps(self._measured(), sort_keys=True)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    def differing(self, other: Settings) -> list[str]:
        """Names of the settings that differ from another calibration's settings; stop conditions are ignored."""
        theirs = other._measured()
        return [name for name, value in self._measured().items() if value != theirs[name]]

    def _measured(self) -> dict[str, object]:
        """All settings except the stop conditions, as a dictionary."""
        return {name: value for name, value in self._document().items() if name not in ENDS}

    def to_json(self) -> str:
        """Convert the settings to the text of the file ``loop.json``."""
        return json.dumps(self._document(), indent=2) + "\n"

    def _document(self) -> dict[str, object]:
        """All settings in one flat dictionary, as stored in ``loop.json``."""
        document: dict[str, object] = {"schema_version": SCHEMA_VERSION, "system": self.system}
        for name in PARTS:
            document |= asdict(getattr(self, name))
        document["loads"] = [None if math.isinf(load) else load for load in self.grid.loads]
        return document


PARTS = {"grid": Grid, "setup": Setup, "aim": Aim, "timing": Timing, "sampling": Sampling}
"""Parts of a calibration's settings, by name, in the order of their fields in ``loop.json``."""


def settings_of(text: str | bytes) -> Settings:
    """Read the settings of a calibration from the content of its file ``loop.json``.

    Raises
    ------
    CalibrationError
        If the file is damaged or of another version.
    """
    try:
        said: Any = json_value(text)
        if (version := said.pop("schema_version")) != SCHEMA_VERSION:
            raise ValueError(
                f"schema_version is {version!r}: this icmodel reads version {SCHEMA_VERSION}"
            )
        said["loads"] = [math.inf if load is None else float(load) for load in said["loads"]]
        lists = {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
        return Settings.of(**{**said, **lists})
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise CalibrationError(
            f"loop.json cannot be read ({error}): restore it, or calibrate into a new folder"
        ) from error

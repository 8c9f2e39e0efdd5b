"""Runs of a calibration: the conditions of a measurement, icprobe's options for them, and the measured values."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from icmodel.arrays import Floats
from icmodel.dataset.rows import RATIOS
from icmodel.errors import RecordError
from icmodel.fold.flags import spoilers

Record = Mapping[str, Any]
"""Type of a record: the result of one run of icprobe, as read from JSON."""


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """Conditions of one measurement: protocol, payload, offered load and cores.

    Parameters
    ----------
    protocol : str
        Protocol by icprobe's name: tcp, udp, ethernet or zeromq.
    payload_bytes : int
        Useful bytes per frame [B].
    load_bps : float
        Requested goodput [b/s]; infinite for an unlimited load.
    cores : int
        Number of cores at the sender, and at the receiver.
    """

    protocol: str
    payload_bytes: int
    load_bps: float = math.inf
    cores: int = 1

    @property
    def unlimited(self) -> bool:
        """Whether the run offers an unlimited load."""
        return math.isinf(self.load_bps)

    @property
    def identity(self) -> str:
        """Identity of the run: the first 16 hexadecimal digits of the SHA-256 of all fields."""
        load = None if self.unlimited else self.load_bps
        text = json.dumps([self.protocol, self.payload_bytes, load, self.cores])
        return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]

    def words(self) -> tuple[str, ...]:
        """Options of the command ``icprobe run`` that set the conditions of this run."""
        asked = ("--protocol", self.protocol, "--payload", f"{self.payload_bytes} B")
        cores = ("--cores", str(self.cores))
        load = () if self.unlimited else ("--load", f"{self.load_bps:.0f} b/s")
        return (*asked, *cores, *load)


def run_of(record: Record) -> Run:
    """Read the conditions of a measurement from a record of icprobe.

    Raises
    ------
    RecordError
        If the record lacks its point or a field of the point.
    """
    try:
        point = record["point"]
        load = point.get("load_bps")
        return Run(
            protocol=str(point["protocol"]),
            payload_bytes=int(point["payload_bytes"]),
            load_bps=math.inf if load is None else float(load),
            cores=int(point.get("cores", 1)),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise RecordError(
            f"a record has no complete point ({error}): it needs protocol, payload_bytes and, "
            "if the load was limited, load_bps"
        ) from error


GOODPUT = "goodput_bps"
LEAST = 1e-12
"""Least value of a metric before its logarithm is taken; smaller values are raised to it."""


@dataclass(frozen=True, slots=True)
class Observed:
    """All measured values of one metric, with the run of each.

    ``values`` is an array (n,) on the scale of `scaled`.  There a difference is a relative error, or for ratios an
    absolute error.
    """

    metric: str
    runs: tuple[Run, ...]
    values: Floats

    def part(self, rows: Sequence[int]) -> Observed:
        """Select some of the measured values by their indices."""
        return replace(self, runs=tuple(self.runs[row] for row in rows), values=self.values[rows])


def scaled(metric: str, value: float) -> float:
    """Convert a metric's value to the scale on which errors are compared: its logarithm; ratios stay unchanged."""
    return value if metric in RATIOS else math.log(max(value, LEAST))


def observed(records: Iterable[Record], metrics: Sequence[str]) -> dict[str, Observed]:
    """Collect the usable values of each metric from the records, sorted by run.

    Metrics that were measured at fewer than two different runs are left out.
    """
    found: dict[str, list[tuple[Run, float]]] = {metric: [] for metric in metrics}
    for record in records:
        run, result = run_of(record), record.get("result", {})
        for metric in metrics:
            value = _number(result, metric)
            spoilt = spoilers(record.get("flags", ()), metric, (), ())
            if value is not None and not spoilt:
                found[metric].append((run, scaled(metric, value)))
    return {
        metric: Observed(metric, runs, np.array(values))
        for metric, rows in found.items()
        if len({run for run, _ in rows}) > 1
        for runs, values in [zip(*sorted(rows), strict=True)]
    }


def stolen(record: Record) -> float:
    """Greatest share of time, 0…1, that the hypervisor took from any core in use during a run."""
    used, modes = record.get("cores", {}), record.get("cpu_modes", {})
    lost = [
        core.get("steal", 0.0)
        for end, cores in used.items()
        for core in modes.get(end, {}).get("cores", ())
        if core["core"] in cores
    ]
    return float(max(lost, default=0.0))


def is_disturbed(record: Record, most_steal: float | None) -> bool:
    """Whether the hypervisor took more than ``most_steal`` of a core in use during a run.

    It is False if there is no limit (``None``).
    """
    return most_steal is not None and stolen(record) > most_steal


def is_spoilt(record: Record) -> bool:
    """Whether the flags of a record make all its metrics unusable."""
    flags = record.get("flags", ())
    return all(spoilers(flags, metric, (), ()) for metric in record.get("result", {}))


def _number(result: Mapping[str, object], metric: str) -> float | None:
    value = result.get(metric)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) if metric in RATIOS or value > 0 else None

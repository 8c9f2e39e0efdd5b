"""Runs of a calibration: their conditions, icprobe's options, measured values, and the grid of candidate runs."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icmodel import theory
from icmodel.arrays import Floats
from icmodel.calibrate.settings import Settings
from icmodel.dataset.rows import RATIOS
from icmodel.errors import RecordError
from icmodel.fold.records import spoilers
from icmodel.theory import ethernet

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
        If the record lacks the key ``point`` (conditions of the run), or a condition in it.
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
            f"a record has no complete table 'point' ({error}): the table needs protocol, "
            "payload_bytes and, if the load was limited, load_bps"
        ) from error


GOODPUT = "goodput_bps"
LEAST = 1e-12
"""Smaller values of a metric are raised to this value before the logarithm is taken."""


@dataclass(frozen=True, slots=True)
class Observed:
    """All measured values of one metric, with the run of each.

    ``values`` is an array (n,) of logarithms, so a difference of two values is a relative error.  The values of a ratio
    are the ratios themselves, so a difference is an absolute error.  `scaled` converts a value.
    """

    metric: str
    runs: tuple[Run, ...]
    values: Floats

    def part(self, rows: Sequence[int]) -> Observed:
        """Copy this object with only the measured values at the indices ``rows``, and the runs of these values."""
        return replace(self, runs=tuple(self.runs[row] for row in rows), values=self.values[rows])


def scaled(metric: str, value: float) -> float:
    """Convert a metric's value to the scale on which errors are compared: its logarithm; ratios stay unchanged."""
    return value if metric in RATIOS else math.log(max(value, LEAST))


def observed(records: Iterable[Record], metrics: Sequence[str]) -> dict[str, Observed]:
    """Collect the usable values of each metric from the records, sorted by run.

    Metrics that were measured in fewer than two different runs are left out.
    """
    found: dict[str, list[tuple[Run, float]]] = {metric: [] for metric in metrics}
    for record in records:
        run, result = run_of(record), record.get("result", {})
        for metric in metrics:
            value = result.get(metric)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not math.isfinite(value):
                continue
            if metric not in RATIOS and value <= 0:
                continue
            if not spoilers(record.get("flags", ()), metric, (), ()):
                found[metric].append((run, scaled(metric, float(value))))
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
    """Whether the hypervisor took more than the share ``most_steal`` of time from a core in use during a run.

    The answer is False if there is no limit (``None``).
    """
    return most_steal is not None and stolen(record) > most_steal


def is_spoilt(record: Record) -> bool:
    """Whether the flags of a record (icprobe's warnings on the run) make all its metrics unusable."""
    flags = record.get("flags", ())
    return all(spoilers(flags, metric, (), ()) for metric in record.get("result", {}))


MULTIPLES = (1, 2, 3, 5, 9, 17, 33)
"""Numbers of packets. For each n, the grid has the largest payload that fits into n packets, and one byte more."""
HEADER_BYTES = {"zeromq": 9}
"""Size of the header that a protocol adds before each frame in its TCP stream [B]."""
LEAST_ETHERNET_BYTES = 46
MOST_UDP_BYTES = 65507
DOMAIN_STEPS = 24
"""Number of geometrically spaced payloads of each curve at which the error of a calibration is judged."""
DIGITS = 2
"""Number of significant digits to which the loads of the grid are rounded."""


def payload_limit(protocol: str, settings: Settings) -> int:
    """Largest payload that a calibration may measure [B]: the lower of the limits of settings and protocol."""
    own = {"udp": MOST_UDP_BYTES, "ethernet": settings.setup.mtu_bytes}
    return min(
        settings.grid.most_payload_bytes, own.get(protocol, settings.grid.most_payload_bytes)
    )


def framing(protocol: str, mtu_bytes: int) -> ethernet.Framing:
    """Ethernet framing (rules for cutting frames into packets) of a protocol over IPv4, with TCP timestamps."""
    return ethernet.Framing(protocol if protocol in ("udp", "ethernet") else "tcp", mtu_bytes)


def breaks(protocol: str, mtu_bytes: int) -> tuple[int, ...]:
    """Packet breaks of a protocol [B]: the largest payloads that fit into 1, 2, 3, 5 … packets.

    The protocol ``ethernet`` sends each frame in one packet.  Its breaks are the MTU, and the payload up to which
    Ethernet pads a frame to its minimum size.
    """
    if protocol == "ethernet":
        return (LEAST_ETHERNET_BYTES, mtu_bytes)
    full = theory.packet_breaks(framing(protocol, mtu_bytes), MULTIPLES[-1] * mtu_bytes)
    own = HEADER_BYTES.get(protocol, 0)
    return tuple(int(full[count - 1]) - own for count in MULTIPLES if count <= len(full))


def packets(runs: Sequence[Run], mtu_bytes: int) -> NDArray[np.int64]:
    """Number of packets that each frame of a run needs, array (runs,)."""
    found = np.ones(len(runs), dtype=np.int64)
    for protocol in {run.protocol for run in runs}:
        where = [at for at, run in enumerate(runs) if run.protocol == protocol]
        sizes = [runs[at].payload_bytes + HEADER_BYTES.get(protocol, 0) for at in where]
        found[where] = theory.packets(sizes, framing(protocol, mtu_bytes))
    return found


def payloads(protocol: str, settings: Settings) -> tuple[int, ...]:
    """Payloads of a protocol in the grid of candidate runs [B].

    They are powers of two, the least and the greatest payload, and for every packet break (see `breaks`) the payload at
    the break and one byte more.
    """
    least, most = settings.grid.least_payload_bytes, payload_limit(protocol, settings)
    powers = [2**n for n in range(17)]
    sides = [
        side for size in breaks(protocol, settings.setup.mtu_bytes) for side in (size, size + 1)
    ]
    return tuple(sorted({size for size in (*powers, *sides, least, most) if least <= size <= most}))


def loads(settings: Settings, reference_bps: float) -> tuple[float, ...]:
    """Loads of the grid of candidate runs [b/s], ascending, rounded to two digits.

    The settings give loads as shares of ``reference_bps``.
    """
    asked = {share * reference_bps for share in settings.grid.loads}
    limited = {float(f"{load:.{DIGITS - 1}e}") for load in asked if math.isfinite(load)}
    return tuple(sorted(limited | {load for load in asked if math.isinf(load)}))


def candidates(settings: Settings, reference_bps: float) -> tuple[Run, ...]:
    """List every candidate run of a calibration's grid, sorted."""
    return tuple(
        sorted(
            Run(protocol, size, load, settings.setup.cores)
            for protocol in settings.grid.protocols
            for size in payloads(protocol, settings)
            for load in loads(settings, reference_bps)
        )
    )


def domain(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Return the runs at which the model's errors are judged: on each curve, payloads in geometric steps.

    A curve is a group of the given runs that differ only in the payload. The steps lead from its least to its greatest
    payload, so the result may contain payloads that no given run has.
    """
    return tuple(
        replace(curve[0], payload_bytes=size)
        for curve in curves(runs)
        for size in even_payloads(curve[0].payload_bytes, curve[-1].payload_bytes)
    )


def curves(runs: Sequence[Run]) -> list[list[Run]]:
    """Group runs into curves: the runs of a curve differ only in the payload, which ascends."""
    found: dict[tuple[str, float, int], list[Run]] = {}
    for run in sorted(runs):
        found.setdefault((run.protocol, run.load_bps, run.cores), []).append(run)
    return list(found.values())


def pilot(settings: Settings) -> Run:
    """First run of a calibration: the largest payload of the first protocol, at unlimited load."""
    protocol = settings.grid.protocols[0]
    return Run(protocol, payload_limit(protocol, settings), math.inf, settings.setup.cores)


def first_runs(runs: Sequence[Run], settings: Settings) -> list[Run]:
    """Choose the runs of the first step of a calibration, all at unlimited load.

    A curve is divided at its first packet break, the largest payload in one packet.  On each side, three runs are
    chosen: with the least, the middle and the greatest payload.  Their results give the capacity at each payload.
    """
    found: list[Run] = []
    for curve in curves([run for run in runs if run.unlimited]):
        at = breaks(curve[0].protocol, settings.setup.mtu_bytes)[0]
        below = [run for run in curve if run.payload_bytes <= at]
        above = [run for run in curve if run.payload_bytes > at]
        for part in (below, above):
            found += [part[index] for index in sorted({0, len(part) // 2, len(part) - 1}) if part]
    return found


def ends(runs: Sequence[Run]) -> list[Run]:
    """Select the runs with the least and the greatest payload of every curve."""
    return [run for curve in curves(runs) for run in dict.fromkeys((curve[0], curve[-1]))]


def even_payloads(least: int, most: int) -> tuple[int, ...]:
    """Geometrically spaced payloads [B] from a least to a greatest payload, at which the error is judged."""
    ratio = (most / least) ** (1 / (DOMAIN_STEPS - 1))
    return tuple(sorted({round(least * ratio**step) for step in range(DOMAIN_STEPS)}))

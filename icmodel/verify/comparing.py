"""Prediction beside measurement: each metric of each stream, the bound, and the processors of the devices."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from statistics import median
from typing import Any

from icmodel.documents import number_or_none
from icmodel.system import Stream, System
from icmodel.verify.folder import Pass

METRICS = ("goodput_bps", "latency_mean_s", "latency_p99_s", "loss_rate")
RELIABLE = ("tcp", "zeromq")
"""Protocols that lose nothing by their nature: their loss proves nothing."""
HOSTS = "hosts as far as measured"
"""What a bound must cover to be one of a frame from application to application."""
STOLEN = "steal"
"""Flag of a run in which the hypervisor took time from a core of either end."""
SIDES = (("source", "send"), ("sink", "recv"))

Result = Mapping[str, Any]
"""``result`` of a record."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One predicted number and what was measured of it.

    Parameters
    ----------
    value, low, high : float
        As predicted, with the 90 % interval for one new run; NaN where nothing was.
    measured : tuple of float
        One value a pass.
    step : float
        What one frame, or one tick of a clock, changes in what is measured.
    why : str
        Why nothing was predicted, or what the number rests on.
    """

    value: float
    low: float
    high: float
    measured: tuple[float, ...]
    step: float = 0.0
    why: str = ""

    @property
    def median(self) -> float:
        """Of the passes; NaN without any."""
        return median(self.measured) if self.measured else math.nan

    @property
    def judged(self) -> bool:
        """Whether there is a prediction and a measurement."""
        return bool(self.measured) and math.isfinite(self.value)

    @property
    def inside(self) -> bool:
        """Whether the median lies within the interval, give or take a step of what is measured."""
        return self.low - self.step <= self.median <= self.high + self.step

    @property
    def ratio(self) -> float:
        """Measured over predicted; NaN where that is no number."""
        return self.median / self.value if self.judged and self.value > 0 else math.nan

    def to_dict(self) -> dict[str, object]:
        """JSON form; unknown numbers become ``None``."""
        return {
            "predicted": number_or_none(self.value),
            "low": number_or_none(self.low),
            "high": number_or_none(self.high),
            "measured": number_or_none(self.median),
            "least": number_or_none(min(self.measured, default=math.nan)),
            "most": number_or_none(max(self.measured, default=math.nan)),
            "passes": len(self.measured),
            "ratio": number_or_none(self.ratio),
            "inside": self.inside if self.judged else None,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Bounded:
    """The greatest latency of any pass [s] beside the bound; ``None`` where no bound covers the hosts.

    ``stolen`` passes are not among them: the hypervisor took a core away, and while the whole machine stands
    still no bound of its network or hosts holds.  ``stolen_s`` is the greatest latency of these.
    """

    bound_s: float | None
    measured_s: float
    covers: tuple[str, ...]
    stolen: int = 0
    stolen_s: float = math.nan

    @property
    def held(self) -> bool | None:
        """Whether no frame took longer; ``None`` where nothing can be said."""
        if self.bound_s is None or math.isnan(self.measured_s):
            return None
        return self.measured_s <= self.bound_s

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "bound": self.bound_s,
            "measured": number_or_none(self.measured_s),
            "covers": list(self.covers),
            "held": self.held,
            "passes_stolen": self.stolen,
            "measured_stolen": number_or_none(self.stolen_s),
        }


def streams(
    system: System, predicted: Mapping[str, Any], passes: Sequence[Pass]
) -> dict[str, dict[str, Compared]]:
    """Each metric of each stream."""
    return {
        name: {
            metric: _compared(predicted["streams"][name], metric, stream, _results(passes, name))
            for metric in METRICS
            if metric != "loss_rate" or stream.protocol not in RELIABLE
        }
        for name, stream in system.streams.items()
    }


def bounds(
    system: System, predicted: Mapping[str, Any], passes: Sequence[Pass]
) -> dict[str, Bounded]:
    """The bound of each stream beside its greatest latency."""
    found = {}
    for name in system.streams:
        said = predicted["streams"][name]["latency_bound_s"]
        covers = tuple(said["covers"]) if said is not None else ()
        stolen = [one for one in passes if STOLEN in one.records[name]["flags"]]
        whole = [one for one in passes if one not in stolen]
        found[name] = Bounded(
            said["value"] if said is not None and HOSTS in covers else None,
            _greatest(whole, name),
            covers,
            len(stolen),
            _greatest(stolen, name),
        )
    return found


def _greatest(passes: Sequence[Pass], stream: str) -> float:
    """The greatest latency of a stream in any of some passes [s]; NaN without any."""
    known = [one.get("latency_max_s") for one in _results(passes, stream)]
    return max((one for one in known if one is not None), default=math.nan)


def devices(
    system: System, predicted: Mapping[str, Any], passes: Sequence[Pass]
) -> dict[str, Compared]:
    """Busy cores of the processes of each device's streams together.

    The hosts of the lab share cores, so that only what each process itself used can be told apart.
    """
    found = {}
    for device in system.devices:
        ends = [
            (one.name, f"cpu_{side}_process_cores")
            for one in system.streams.values()
            for end, side in SIDES
            if getattr(one, end) == device
        ]
        if ends:
            found[device] = _summed(ends, predicted, passes)
    return found


def _summed(
    ends: Sequence[tuple[str, str]], predicted: Mapping[str, Any], passes: Sequence[Pass]
) -> Compared:
    told = [predicted["streams"][name].get(metric) for name, metric in ends]
    values = [math.fsum(_end(one, end) for one in told) for end in ("value", "low", "high")]
    measured = [
        math.fsum(one.records[name]["result"].get(metric, math.nan) for name, metric in ends)
        for one in passes
    ]
    known = tuple(value for value in measured if not math.isnan(value))
    why = f"processes of {len(ends)} ends of streams"
    return Compared(values[0], values[1], values[2], known, 0.0, why)


# --- one number -------------------------------------------------------------------------------


def _compared(
    predicted: Mapping[str, Any], metric: str, stream: Stream, results: Sequence[Result]
) -> Compared:
    told = predicted.get(metric)
    measured = tuple(float(one[metric]) for one in results if one.get(metric) is not None)
    value, low, high = (_end(told, end) for end in ("value", "low", "high"))
    why = "" if told is None else str(told["why"])
    return Compared(value, low, high, measured, _step(metric, stream, results), why)


def _end(told: Mapping[str, Any] | None, end: str) -> float:
    """A number of an estimate's document; an unknown upper end is infinite."""
    value = None if told is None else told[end]
    if value is None:
        return math.inf if end == "high" else math.nan if end == "value" else 0.0
    return float(value)


def _results(passes: Sequence[Pass], stream: str) -> list[Result]:
    return [one.records[stream]["result"] for one in passes]


def _step(metric: str, stream: Stream, results: Sequence[Result]) -> float:
    """What one frame more in the window changes in the goodput [b/s] or the loss rate; 0 for times."""
    key = {"goodput_bps": "window_s", "loss_rate": "frames_sent"}.get(metric, "")
    least = min((one[key] for one in results if one.get(key)), default=math.inf)
    return (8 * stream.payload_bytes if metric == "goodput_bps" else 1) / least


def all_of(
    by_stream: Mapping[str, Mapping[str, Compared]], by_device: Mapping[str, Compared]
) -> Iterator[Compared]:
    """Everything that can be judged."""
    for metrics in by_stream.values():
        yield from (one for one in metrics.values() if one.judged)
    yield from (one for one in by_device.values() if one.judged)


PACKET_S = 7e-6
"""Time of a core for a packet at each port that sends it and at the host that receives it [s]."""
SPIN_S = 250e-6
"""Time for which a paced sender looks at its clock before a frame [s] (calibration/src/pattern/pacing.rs)."""
MOST_BUSY = 0.6
"""Part of the machine's cores that a copy may need."""
STEPS = (1.0, 2.0, 5.0)
"""Factors are these times a power of ten."""
MOST_HOSTS = 16
"""Hosts of a copy, each with processes of its own."""
RULE = (
    "every rate divided by k and every period multiplied by it, bytes as they are; k is the least of 1, 2, 5, "
    f"10, … at which {1e6 * PACKET_S:g} µs of a core for each packet at each port and receiver, and "
    f"{1e6 * SPIN_S:g} µs for each paced frame, take at most {100 * MOST_BUSY:g} % of the cores; of "
    f"more than {MOST_HOSTS} hosts at most so many a group that no more remain"
)


def machine_cores() -> tuple[int, ...]:
    """The cores this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))


def busy_cores(system: System) -> float:
    """Cores that playing a system as it is would keep busy."""
    return sum(_busy(system, one) for one in system.streams.values())


def _busy(system: System, stream: Stream) -> float:
    links = system.links_of(stream)
    narrowest = min(link.rate_bps for link in links)
    goodput = min(stream.requested_goodput_bps, narrowest)
    frames = goodput / (8 * stream.payload_bytes)
    packets = frames * math.ceil(stream.payload_bytes / min(link.mtu_bytes for link in links))
    paced = math.isfinite(stream.requested_goodput_bps)
    return packets * (len(links) + 1) * PACKET_S + (min(frames * SPIN_S, 1.0) if paced else 0.0)


def slowdown(system: System, cores: int) -> float:
    """The least factor of 1, 2, 5, 10, 20, … at which the machine plays the system with room to spare."""
    needed = busy_cores(system) / (MOST_BUSY * cores)
    factors = (step * 10.0**power for power in count() for step in STEPS)
    return next(factor for factor in factors if factor >= needed)


def most_members(system: System) -> int | None:
    """At most so many devices of each group, where there are more hosts than the machine plays."""
    sizes = Counter(device.group for device in system.devices.values()).values()
    if sum(sizes) <= MOST_HOSTS:
        return None
    fewer = range(max(sizes), 0, -1)
    return next((n for n in fewer if sum(min(size, n) for size in sizes) <= MOST_HOSTS), 1)


def placed(system: System, cores: tuple[int, ...]) -> Mapping[str, int]:
    """The core of each host: those that send more than they receive on the first half, others on the second.

    So the two ends of a stream are on different cores where that can be.
    """
    half = max(len(cores) // 2, 1)
    sending, receiving = cores[:half], cores[half:] or cores
    work = dict.fromkeys(system.devices, 0)
    for stream in system.streams.values():
        work[stream.source] += 1
        work[stream.sink] -= 1
    found: dict[str, int] = {}
    dealt = {True: 0, False: 0}
    for name, more_sent in work.items():
        sends = more_sent > 0
        group = sending if sends else receiving
        found[name] = group[dealt[sends] % len(group)]
        dealt[sends] += 1
    return found

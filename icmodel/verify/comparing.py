"""Compare predictions with measurements: metrics of streams, latency bounds, and busy cores of devices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from icmodel.documents import number_or_none
from icmodel.system import System
from icmodel.verify.folder import Pass

METRICS = ("goodput_bps", "latency_mean_s", "latency_p99_s", "loss_rate")
RELIABLE = ("tcp", "zeromq")
"""Protocols without loss by design. Their loss is not compared, since agreement would prove nothing."""
HOSTS = "hosts as far as measured"
"""Part of a system that a latency bound must cover, so that it holds from application to application."""
STOLEN = "steal"
"""Flag of a run during which the hypervisor took CPU time from the sender or the receiver."""
SIDES = (("source", "send"), ("sink", "recv"))

Result = Mapping[str, Any]
"""Measured values of a record by metric: the value of its key ``result``."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Comparison of one predicted number with its measurements, one per pass (run of all streams).

    Parameters
    ----------
    value, low, high : float
        Predicted value and 90 % interval for one new run; NaN without a prediction.
    measured : tuple of float
        Measured values, one per pass.
    step : float
        Resolution of the measurement: the change that one frame causes.
    why : str
        Evidence for the prediction, or the reason why there is none.
    """

    value: float
    low: float
    high: float
    measured: tuple[float, ...]
    step: float = 0.0
    why: str = ""

    @property
    def median(self) -> float:
        """Median of the measured values over all passes; NaN without a measurement."""
        return median(self.measured) if self.measured else math.nan

    @property
    def judged(self) -> bool:
        """Whether the number has both a prediction and a measurement."""
        return bool(self.measured) and math.isfinite(self.value)

    @property
    def inside(self) -> bool:
        """Whether the median of the measurements lies in the predicted interval, widened by the resolution ``step``."""
        return self.low - self.step <= self.median <= self.high + self.step

    @property
    def ratio(self) -> float:
        """Median measured value divided by the predicted value; NaN if either is missing or the prediction is 0."""
        return self.median / self.value if self.judged and self.value > 0 else math.nan

    def to_dict(self) -> dict[str, object]:
        """Convert this comparison to its JSON form, a dictionary; unknown numbers become ``None``."""
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
    """Comparison of a stream's latency bound with the greatest measured latency.

    Parameters
    ----------
    bound_s : float, optional
        Latency bound [s]; ``None`` if the bound does not cover the hosts.
    measured_s : float
        Greatest latency of all passes without the flag `STOLEN` [s].
    covers : tuple of str
        Parts of the system that the bound covers.
    stolen, stolen_s : int, float
        Number of passes with the flag `STOLEN`, and the greatest latency in them [s]. No bound holds while the machine
        is stopped, so these passes are left out.
    """

    bound_s: float | None
    measured_s: float
    covers: tuple[str, ...]
    stolen: int = 0
    stolen_s: float = math.nan

    @property
    def held(self) -> bool | None:
        """Whether the bound held: no frame of the stream took longer; ``None`` without a bound or a measurement."""
        if self.bound_s is None or math.isnan(self.measured_s):
            return None
        return self.measured_s <= self.bound_s

    def to_dict(self) -> dict[str, object]:
        """Convert this comparison to its JSON form, a dictionary."""
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
    """Compare the predicted metrics of each stream with their measurements, by stream and metric."""
    found: dict[str, dict[str, Compared]] = {}
    for name, stream in system.streams.items():
        results, found[name] = _results(passes, name), {}
        for metric in METRICS:
            if metric == "loss_rate" and stream.protocol in RELIABLE:
                continue
            estimate = predicted["streams"][name].get(metric)
            value, low, high = (_end(estimate, end) for end in ("value", "low", "high"))
            # The step is the change of the goodput or the loss rate by one frame. Times have no step.
            key = {"goodput_bps": "window_s", "loss_rate": "frames_sent"}.get(metric, "")
            least = min((result[key] for result in results if result.get(key)), default=math.inf)
            found[name][metric] = Compared(
                value=value,
                low=low,
                high=high,
                measured=tuple(
                    float(result[metric]) for result in results if result.get(metric) is not None
                ),
                step=(8 * stream.payload_bytes if metric == "goodput_bps" else 1) / least,
                why="" if estimate is None else str(estimate["why"]),
            )
    return found


def bounds(
    system: System, predicted: Mapping[str, Any], passes: Sequence[Pass]
) -> dict[str, Bounded]:
    """Compare the predicted latency bound of each stream with the greatest measured latency, by stream."""
    found = {}
    for name in system.streams:
        bound = predicted["streams"][name]["latency_bound_s"]
        covers = tuple(bound["covers"]) if bound is not None else ()
        stolen = [run for run in passes if STOLEN in run.records[name]["flags"]]
        whole = [run for run in passes if run not in stolen]
        found[name] = Bounded(
            bound["value"] if bound is not None and HOSTS in covers else None,
            _greatest_s(whole, name),
            covers,
            len(stolen),
            _greatest_s(stolen, name),
        )
    return found


def devices(
    system: System, predicted: Mapping[str, Any], passes: Sequence[Pass]
) -> dict[str, Compared]:
    """Compare the predicted and measured busy cores of each device, summed over the processes of its streams.

    The hosts of the lab share cores, so only the CPU time of processes can be attributed to a host.
    """
    found = {}
    for device in system.devices:
        ends = [
            (stream.name, f"cpu_{side}_process_cores")
            for stream in system.streams.values()
            for end, side in SIDES
            if getattr(stream, end) == device
        ]
        if not ends:
            continue
        estimates = [predicted["streams"][name].get(metric) for name, metric in ends]
        value, low, high = (
            math.fsum(_end(estimate, end) for estimate in estimates)
            for end in ("value", "low", "high")
        )
        measured = (
            math.fsum(run.records[name]["result"].get(metric, math.nan) for name, metric in ends)
            for run in passes
        )
        known = tuple(cores for cores in measured if not math.isnan(cores))
        why = f"processes of {len(ends)} ends of streams"
        found[device] = Compared(value, low, high, known, 0.0, why)
    return found


def all_of(
    by_stream: Mapping[str, Mapping[str, Compared]], by_device: Mapping[str, Compared]
) -> Iterator[Compared]:
    """Yield all compared numbers of streams and devices that have both a prediction and a measurement."""
    for metrics in by_stream.values():
        yield from (number for number in metrics.values() if number.judged)
    yield from (number for number in by_device.values() if number.judged)


def _end(estimate: Mapping[str, Any] | None, end: str) -> float:
    """Read ``value``, ``low`` or ``high`` from the JSON form of an estimate.

    An unknown ``high`` is infinite, an unknown ``low`` is 0, and an unknown ``value`` is NaN.
    """
    value = None if estimate is None else estimate[end]
    if value is None:
        return math.inf if end == "high" else math.nan if end == "value" else 0.0
    return float(value)


def _results(passes: Sequence[Pass], stream: str) -> list[Result]:
    return [run.records[stream]["result"] for run in passes]


def _greatest_s(passes: Sequence[Pass], stream: str) -> float:
    """Return the greatest latency of a stream in the given passes [s]; NaN if none was measured."""
    known = [result.get("latency_max_s") for result in _results(passes, stream)]
    return max((latency_s for latency_s in known if latency_s is not None), default=math.nan)

"""Compare the predictions of a verification with its measurements: streams, latency bounds and busy cores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from scipy.special import bdtr

from icmodel.documents import number_or_none
from icmodel.fits.observations import WHOLE, RunShare
from icmodel.system import System
from icmodel.validate.scores import CLOSE
from icmodel.verify.folder import Pass, Stored
from icmodel.verify.lab_system import RULE, LabSystem

METRICS = ("goodput_bps", "latency_mean_s", "latency_p99_s", "loss_rate")
RELIABLE = ("tcp", "zeromq")
"""Protocols without loss by design. Their loss is not compared, since agreement would prove nothing."""
HOSTS = "hosts as far as measured"
"""Part of a latency bound for the hosts. Only a bound that covers this part holds from application to application."""
STOLEN = "steal"
"""Flag of a run during which the hypervisor took CPU time from the sender or the receiver."""
SIDES = (("source", "send"), ("sink", "recv"))

Result = Mapping[str, Any]
"""Measured values by metric, as stored in a record under the key ``result``."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Comparison of one predicted number with its measurements, one per pass (run of all streams).

    Parameters
    ----------
    value, low, high : float
        Predicted value and 90 % interval for one new run. Without a prediction, they are NaN, 0 and infinite.
    measured : tuple of float
        Measured values, one per pass.
    step : float
        Resolution of the measurement: the change of the metric if one frame more is counted; 0 for times and cores.
    why : str
        Evidence for the prediction, or the reason why there is no prediction.
    """

    value: float
    low: float
    high: float
    measured: tuple[float, ...]
    step: float = 0.0
    why: str = ""

    @property
    def median(self) -> float:
        """Median of the measured values, one per pass (run of all streams); NaN without a measurement."""
        return median(self.measured) if self.measured else math.nan

    @property
    def judged(self) -> bool:
        """Whether the prediction can be judged: the number was predicted, and was measured."""
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
        Greatest latency of all passes (runs of all streams) without stolen time [s].
    covers : tuple of str
        Parts of the system that the bound covers.
    stolen, stolen_s : int, float
        Number of passes with stolen time, and the greatest latency in these passes [s]. Time is stolen if the
        hypervisor stops the sender or the receiver (flag `STOLEN` of the record). No bound holds meanwhile, so these
        passes do not test it.
    """

    bound_s: float | None
    measured_s: float
    covers: tuple[str, ...]
    stolen: int = 0
    stolen_s: float = math.nan

    @property
    def held(self) -> bool | None:
        """Whether no frame of the stream exceeded the bound; ``None`` without a bound or a measurement."""
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
    system: System,
    predicted: Mapping[str, Any],
    passes: Sequence[Pass],
    shares: Mapping[str, RunShare],
) -> dict[str, dict[str, Compared]]:
    """Compare the predicted metrics of each stream with their measurements: stream -> metric -> result.

    Even if a stream gets its request, the goodput of a single run is not exactly the request. ``shares`` has, for each
    protocol, the least and the greatest goodput / request of single runs (`icmodel.fits.observations.run_shares`). So
    if a stream is predicted to get its request, the predicted interval of its goodput is widened: low times the least
    ratio, high times the greatest ratio.
    """
    found: dict[str, dict[str, Compared]] = {}
    for name, stream in system.streams.items():
        results, found[name] = _results(passes, name), {}
        for metric in METRICS:
            if metric == "loss_rate" and stream.protocol in RELIABLE:
                continue
            estimate = predicted["streams"][name].get(metric)
            value, low, high = (_end(estimate, end) for end in ("value", "low", "high"))
            if metric == "goodput_bps" and low >= stream.requested_goodput_bps * (1 - CLOSE):
                least_share, most_share = shares.get(stream.protocol, WHOLE)
                low, high = low * least_share, high * most_share
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

    Only the CPU time of processes is compared. The hosts of the lab share cores, so other CPU time, such as that of
    interrupts, cannot be attributed to one host.
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


def judged_numbers(
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
    """Return the greatest latency of a stream in some passes (runs of all streams) [s]; NaN if none was measured."""
    known = [result.get("latency_max_s") for result in _results(passes, stream)]
    return max((latency_s for latency_s in known if latency_s is not None), default=math.nan)


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
        The verified prediction, made before the first measurement.
    differs : tuple of str
        Streams for which icmodel would now predict other numbers than the stored prediction.
    passes : tuple of Pass
        All measured passes (runs of all streams), valid or not.
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
        return sum(1 for _ in judged_numbers(self.streams, self.devices))

    @property
    def inside(self) -> int:
        """Number of predicted values whose measured value lies in the predicted interval."""
        return sum(number.inside for number in judged_numbers(self.streams, self.devices))

    @property
    def exceeded(self) -> tuple[str, ...]:
        """Names of the streams with a frame that took longer than the latency bound."""
        return tuple(name for name, bound in self.bounds.items() if bound.held is False)

    @property
    def verdict(self) -> str:
        """Verdict: ``agrees``, ``does not agree`` or ``undecided``.

        It is ``undecided`` if nothing was measured. It is ``agrees`` if no latency bound was exceeded, and no more
        values lie outside their 90 % intervals than chance allows (`most_outside`).
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
    """Return the greatest number of ``count`` values that may lie outside their 90 % intervals by chance alone.

    The values are taken as independent, so this is the 99 % quantile of a binomial distribution with ``count`` trials
    of probability 10 %.

    Examples
    --------
    >>> most_outside(20)
    6
    """
    return next(n for n in range(count + 1) if bdtr(n, count, 1 - COVERED) >= 1 - DOUBT)

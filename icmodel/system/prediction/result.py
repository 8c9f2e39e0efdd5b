"""SystemPrediction: the results of every stream, link and device of a system; frozen, with its JSON form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from icmodel.documents import json_form, json_of
from icmodel.estimate import (
    ESTIMATE_COLUMNS,
    Estimate,
    Metrics,
    absent,
    estimate_table,
    estimated,
    labelled,
    limit_name,
    long_table,
    metric_name,
    quantity,
    weakest,
)
from icmodel.frozen import NanEqual
from icmodel.requirement import (
    EXIT_CODES,
    MET,
    NOT_MET,
    OUTCOMES,
    VERDICT_COLUMNS,
    Verdict,
    outcome_text,
    verdict_cells,
    verdict_record,
    worst_outcome,
)
from icmodel.system.network import Stream, System
from icmodel.table import Coloured, data_frame, html_table

if TYPE_CHECKING:
    import pandas
    import xarray

SCHEMA_VERSION = 1
LISTED = (
    "goodput_bps",
    "latency_mean_s",
    "latency_std_s",
    "latency_p50_s",
    "latency_p99_s",
    "latency_max_s",
    "message_latency_s",
    "loss_rate",
)
"""Metrics of a stream that every JSON document has; an absent metric states the reason."""
SHOWN = ("goodput_bps", "latency_mean_s", "loss_rate")
"""Metrics of a stream in the table for a notebook."""
MEAN_LATENCY, GREATEST_LATENCY = "latency_mean_s", "latency_max_s"
MESSAGE_LATENCY = "message_latency_s"
"""Mean latency of a whole message, whose frames are sent at once."""
OF_TIME = ("latency_", "rtt_", "message_latency_")
"""Prefixes of time metrics. If the queue of a stream grows without limit, time metrics are absent."""


@dataclass(frozen=True, slots=True, eq=False)
class LatencyBound(NanEqual):
    """A latency that no frame exceeds.

    Parameters
    ----------
    value_s : float
        The latency [s].
    method : str
        Method that gave the bound.
    covers : tuple of str
        What the bound covers, in words, such as ``hosts as stated`` or ``producers that keep their period``.
    whole : bool
        Whether the bound also holds for whole messages. It does if a message is one frame, or if all its frames are
        sent at once.
    network_s, hosts_s, application_s : float
        Parts of the bound [s]: in the network, in hosts as far as known, and in the applications.
    """

    value_s: float
    method: str
    covers: tuple[str, ...]
    whole: bool = False
    network_s: float = math.nan
    hosts_s: float = math.nan
    application_s: float = 0.0

    def to_dict(self) -> dict[str, object]:
        """Convert the latency bound to a dict for JSON."""
        names = ("method", "covers", "whole", "network_s", "hosts_s", "application_s")
        return {"value": self.value_s, **json_of(self, *names)}


@dataclass(frozen=True, slots=True)
class Arrival:
    """Whether all data that a stream produces arrive.

    Parameters
    ----------
    outcome : str
        Outcome, as for a requirement: met, undecided or not met. Always met for an unlimited sender.
    why : str
        Reason why less data pass, or may pass; empty if everything arrives.
    late : str
        Reason why messages surely miss a deadline that is shorter than the period; empty if messages may be in time.
    """

    outcome: str = MET
    why: str = ""
    late: str = ""

    @property
    def grows(self) -> bool:
        """Whether the stream's queue surely grows without limit."""
        return self.outcome == NOT_MET

    def to_dict(self) -> dict[str, object]:
        """Convert the arrival to a dict for JSON."""
        return json_of(self, "outcome", "why", "late")


@dataclass(frozen=True, slots=True)
class StreamPrediction(Metrics):
    """Results of one stream; metrics are attributes, too: ``stream.goodput_bps``.

    Parameters
    ----------
    metrics : mapping
        Estimates by metric, in SI units as the suffix says.
    bottleneck, bottleneck_at : str
        Cause that limits the goodput: one of `icmodel.estimate.BOTTLENECKS`, ``window`` or ``buffer``. The location is
        a port or device; it is empty if the bottleneck has no location.
    terms : mapping
        Cause -> time that it adds to the dataset's mean latency [s].
    latency_bound : LatencyBound, optional
        Latency that no frame exceeds.
    no_bound : str
        Reason why the stream has no bound; empty if it has one.
    arrival : Arrival
        Whether all data that the stream produces arrive.
    message_times : mapping
        Latencies of whole messages of several frames, by the same metric names as for frames.
    """

    stream: Stream
    metrics: Mapping[str, Estimate]
    bottleneck: str
    bottleneck_at: str
    terms: Mapping[str, float]
    latency_bound: LatencyBound | None = None
    no_bound: str = ""
    notes: tuple[str, ...] = ()
    arrival: Arrival = field(default_factory=Arrival)
    message_times: Mapping[str, Estimate] = field(default_factory=dict)

    def __repr__(self) -> str:
        goodput = estimated("goodput_bps", self.goodput_bps)
        return f"StreamPrediction({self.stream.name!r}: {goodput}, limited by {self.bottleneck})"

    def _repr_html_(self) -> str:
        """Return the metrics as a table for a notebook."""
        title = f"{self.stream.name}, limited by {limit_name(self.bottleneck)} {self.bottleneck_at}"
        return html_table(title, ESTIMATE_COLUMNS, estimate_table(self.metrics), self.notes)

    def to_dict(self) -> dict[str, object]:
        """Convert the stream prediction to a dict for JSON."""
        listed = {name: self.metrics.get(name, absent("not predicted")) for name in LISTED}
        return {
            **json_of(self.stream, "group", "path"),
            **{name: one.to_dict() for name, one in {**listed, **self.metrics}.items()},
            "latency_bound_s": json_form(self.latency_bound),
            **json_of(self, "no_bound", "bottleneck", "bottleneck_at", "terms", "notes"),
            "allowed_shortfall_ratio": self.stream.allowed_shortfall_ratio,
            **json_of(self, "arrival", "message_times"),
        }


@dataclass(frozen=True, slots=True)
class PortPrediction:
    """Results of a port, one direction of a link.

    Parameters
    ----------
    load_ratio : float
        Carried load (what passes the port, without drops), divided by the port's rate.
    asked_ratio : float
        Demand of all streams through the port, divided by the port's rate. The demand includes all produced data, even
        data lost before the port.
    backlog_mean_bytes : Estimate
        Mean queue at the carried load [B].
    backlog_bound_bytes : float, optional
        Greatest queue [B]; ``None`` if unknown, for example at an overloaded port without a stated
        buffer.
    """

    load_ratio: float
    asked_ratio: float
    backlog_mean_bytes: Estimate
    backlog_bound_bytes: float | None = None

    def to_dict(self) -> dict[str, object]:
        """Convert the port prediction to a dict for JSON."""
        names = ("load_ratio", "asked_ratio", "backlog_mean_bytes", "backlog_bound_bytes")
        return json_of(self, *names)


@dataclass(frozen=True, slots=True)
class LinkPrediction:
    """Results of a link: the results of its two ports, one for each direction."""

    ports: Mapping[str, PortPrediction]

    @property
    def load_ratio(self) -> float:
        """Load of the busier direction, divided by the link's rate."""
        return max((port.load_ratio for port in self.ports.values()), default=0.0)

    @property
    def backlog_bound_bytes(self) -> float | None:
        """Worst-case queue at the ports of the link, the greater of both directions [B].

        ``None`` if a direction has no bound.
        """
        bounds = [port.backlog_bound_bytes for port in self.ports.values()]
        known = [bound for bound in bounds if bound is not None]
        return max(known) if known and len(known) == len(bounds) else None

    def to_dict(self) -> dict[str, object]:
        """Convert the link prediction to a dict for JSON."""
        return json_of(self, "load_ratio", "backlog_bound_bytes", "ports")


@dataclass(frozen=True, slots=True)
class DevicePrediction:
    """Results of a host.

    Parameters
    ----------
    cpu, cpu_cores : Estimate
        Utilisation of the host's cores, 0 to 1, and number of busy cores.
    by_core : tuple of float
        Utilisation of each core, the busiest first, with the streams' processes distributed over the
        cores. Empty if the number of cores is unknown.
    """

    cpu: Estimate
    cpu_cores: Estimate
    by_core: tuple[float, ...]

    def to_dict(self) -> dict[str, object]:
        """Convert the device prediction to a dict for JSON."""
        return json_of(self, "cpu", "cpu_cores", "by_core")


@dataclass(frozen=True, slots=True)
class Judged:
    """A requirement judged for one stream or device.

    Parameters
    ----------
    stream, device : str
        Names of the stream and the device; ``device`` is empty for a requirement on a stream.
    by_bound : bool
        Whether the worst-case bound decided the verdict, in place of the prediction.
    of : str
        Subject of a latency: a whole ``message`` of several frames, or a single ``frame``. Empty if a
        message is one frame.
    parts : mapping
        Parts of a worst-case latency [s]: ``network_s``, ``hosts_s`` (NaN if a host is unknown) and ``application_s``.
        Empty for other metrics, and without a bound.
    """

    verdict: Verdict
    stream: str
    device: str = ""
    by_bound: bool = False
    of: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Judged({self.device or self.stream}: {self.verdict!r})"

    @property
    def badness(self) -> tuple[int, float]:
        """Sort key of verdicts, greater is worse: the outcome, then the margin; a missing margin is worst."""
        margin = self.verdict.margin
        outcome = OUTCOMES.index(self.verdict.outcome)
        return outcome, math.inf if math.isnan(margin) else -margin

    def to_dict(self) -> dict[str, object]:
        """Convert the judged requirement to a dict for JSON."""
        names = ("stream", "device", "by_bound", "of", "parts")
        return {**self.verdict.to_dict(), **json_of(self, *names)}


def by_requirement(judged: Iterable[Judged]) -> dict[str, list[Judged]]:
    """Group verdicts by requirement.

    Each group has its worst verdict first. The group with the worst verdict of all comes first.
    """
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(one.verdict.requirement.name, []).append(one)
    for some in groups.values():
        some.sort(key=lambda one: one.badness, reverse=True)
    return dict(sorted(groups.items(), key=lambda pair: pair[1][0].badness, reverse=True))


@dataclass(frozen=True, slots=True)
class SystemPrediction:
    """Results of a whole system: streams, links and devices by name, and verdicts on requirements.

    Parameters
    ----------
    datasets : mapping
        Name of each dataset used -> SHA-256.
    variants : tuple of str
        Variants of the models used.
    judged : tuple of Judged
        Verdicts on the requirements of the file, and on the arrival of all data that streams produce.
    notes : tuple of str
        Assumptions of the prediction, and the streams without a dataset, as sentences.
    asked : mapping
        Options given to `predict`: dataset, variant and treatment of cycles.

    Examples
    --------
    >>> from icmodel.system import load, predict
    >>> found = predict(load("lab-switch"))
    >>> found.verdict, found.exit_code
    ('undecided', 3)
    >>> found.streams["measured"].goodput_bps.low  # without a dataset hosts may lose anything
    0.0
    """

    system: System
    datasets: Mapping[str, str]
    variants: tuple[str, ...]
    streams: Mapping[str, StreamPrediction]
    links: Mapping[str, LinkPrediction]
    devices: Mapping[str, DevicePrediction]
    judged: tuple[Judged, ...] = ()
    notes: tuple[str, ...] = field(default=())
    asked: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"SystemPrediction({self.system.name!r}, {len(self.streams)} streams: {self.verdict})"
        )

    def _repr_html_(self) -> str:
        """Return the requirements, the worst first, and the streams as tables for a notebook."""
        title = Coloured(f"{outcome_text(self.verdict)}: {self.system.title}", self.verdict)
        groups = by_requirement(self.judged).values()
        verdicts = [
            verdict_cells(one.verdict, one.device or one.stream) for some in groups for one in some
        ]
        streams = []
        for name, one in self.streams.items():
            shown = [one.metrics.get(metric, absent("")) for metric in SHOWN]
            texts = [estimated(*pair) for pair in zip(SHOWN, shown, strict=True)]
            bound = one.latency_bound
            most = "no bound" if bound is None else quantity("latency_max_s", bound.value_s, 4)
            basis = weakest([estimate.basis for estimate in shown if estimate.basis])
            streams.append((name, *texts, most, basis))
        columns = ("stream", *(f"#{metric_name(metric)}" for metric in SHOWN), "#bound", "basis")
        return html_table(title, VERDICT_COLUMNS, verdicts) + html_table(
            "streams", columns, streams, self.notes
        )

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the metrics of all streams as a data frame, one row per stream and metric, in SI units.

        `requirements_dataframe` returns the verdicts.

        Raises
        ------
        IcmodelError
            If pandas is not installed.

        Examples
        --------
        >>> from icmodel.system import load, predict
        >>> frame = predict(load("lab-switch")).to_dataframe()
        >>> frame.loc[("measured", "goodput_bps"), "unit"]
        'bit/s'
        """
        records = (
            {"stream": name, **record}
            for name, one in self.streams.items()
            for record in long_table(one.metrics)
        )
        return data_frame(records, "stream", "metric")

    def requirements_dataframe(self) -> pandas.DataFrame:
        """Return the verdicts on all requirements as a data frame, one row per verdict, with numbers in SI.

        Raises
        ------
        IcmodelError
            If pandas is not installed.
        """
        return data_frame(
            {"stream": one.stream, "device": one.device, **verdict_record(one.verdict)}
            for one in self.judged
        )

    def to_xarray(self) -> xarray.Dataset:
        """Convert the metrics of all streams to an xarray.Dataset with the dimension ``stream``, with units.

        Examples
        --------
        >>> from icmodel.system import load, predict
        >>> streams = predict(load("lab-two-senders")).to_xarray()
        >>> streams["goodput_bps"].attrs["units"], dict(streams.sizes)
        ('bit/s', {'stream': 2})
        """
        whole = labelled([one.metrics for one in self.streams.values()], ("stream",))
        attrs = {"system": self.system.name, "datasets": ", ".join(self.datasets)}
        return whole.assign_coords(stream=list(self.streams)).assign_attrs(attrs)

    @property
    def verdict(self) -> str:
        """Verdict on the system: the worst of the verdicts on its requirements."""
        return worst_outcome([one.verdict.outcome for one in self.judged])

    @property
    def exit_code(self) -> int:
        """Exit code of the command line for the verdict: 0 met, 1 not met, 3 undecided."""
        return EXIT_CODES[self.verdict]

    def to_dict(self) -> dict[str, object]:
        """Convert the system prediction to a dict for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "system": self.system.name,
            "title": self.system.title,
            **json_of(self, "datasets", "variants", "streams", "links", "devices"),
            "requirements": json_form(self.judged),
            **json_of(self, "verdict", "notes", "asked"),
        }


def derived(
    original: Estimate, numbers: Iterable[float], bases: tuple[str, ...], *reasons: str
) -> Estimate:
    """Make an estimate with new numbers, and add the evidence and reasons for them to those of the original.

    Parameters
    ----------
    numbers : iterable of three floats
        Value, low and high of the new estimate.
    bases : tuple of str
        Kinds of evidence for the new numbers, such as ``assumed``, in addition to those of the original estimate.
    reasons : str
        Reasons to append to the original reason; empty ones are left out.
    """
    rests = (*(original.bases or (original.basis,)), *bases)
    value, low, high = numbers
    why = "; ".join(filter(None, (original.why, *reasons)))
    return Estimate(value, low, high, weakest(rests), why, rests)

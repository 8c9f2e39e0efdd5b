"""TOML document of a use case: one pydantic model for each table of the file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from icmodel.errors import IcmodelError
from icmodel.message import MESSAGE_METRICS, Message
from icmodel.reading import (
    Count,
    Document,
    NotNegative,
    Positive,
    Reference,
    Share,
    Slug,
    Text,
    refuse,
)
from icmodel.scenario import ApplicationWork, Scenario, scenario, slowest, work_in_words

SCHEMA_VERSION = 1
METRICS = (
    "goodput_bps",
    "sent_bps",
    "shortfall_bps",
    "latency_mean_s",
    "latency_std_s",
    "latency_min_s",
    "latency_p50_s",
    "latency_p99_s",
    "latency_p999_s",
    "latency_max_s",
    "cpu_send",
    "cpu_recv",
    "cpu_send_cores",
    "cpu_recv_cores",
    "cpu_send_process_cores",
    "cpu_recv_process_cores",
    "loss_rate",
    "frames_per_s",
    "packets_sent_per_s",
    "packets_received_per_s",
    *MESSAGE_METRICS,
)
"""Metrics that a requirement can limit. Other quantiles are allowed too, such as ``latency_p95_s``."""
_QUANTILE = re.compile(r"latency_p[0-9]+_s")


class Device(Document):
    """A kind of device: the number of devices, and the streams that each of these devices sends and receives.

    Without ``interfaces`` a device has as many interfaces as its streams need. ``app_send`` and ``app_recv`` give the
    core time of the device's application for each frame of a stream. The keys ``..._per_byte`` add a time for each
    byte.
    """

    name: Slug
    count: Count = 1
    interfaces: Count | None = None
    sends: dict[Slug, Count] = Field(default_factory=dict)
    receives: dict[Slug, Count] = Field(default_factory=dict)
    app_send: dict[Slug, Text] = Field(default_factory=dict)
    app_recv: dict[Slug, Text] = Field(default_factory=dict)
    app_send_per_byte: dict[Slug, Text] = Field(default_factory=dict)
    app_recv_per_byte: dict[Slug, Text] = Field(default_factory=dict)
    description: str = ""

    @model_validator(mode="after")
    def _work_fits(self) -> Device:
        for end, handled, verb in (
            ("send", self.sends, "sends"),
            ("recv", self.receives, "receives"),
        ):
            for key in (f"app_{end}", f"app_{end}_per_byte"):
                for stream in getattr(self, key):
                    if stream not in handled:
                        raise ValueError(
                            f"{key} of {self.name} names {stream!r}, a stream that {self.name} does not "
                            f"{verb[:-1]}: add the stream to {verb}, or remove it from {key}"
                        )
                    self.work(stream)
        return self

    def work(self, stream: str) -> ApplicationWork:
        """Core time that the device's application needs for each frame of a stream, for sending and receiving."""
        texts = {
            key: getattr(self, key)[stream]
            for key in ("app_send", "app_recv", "app_send_per_byte", "app_recv_per_byte")
            if stream in getattr(self, key)
        }
        try:
            return work_in_words(texts)
        except IcmodelError as error:
            raise ValueError(
                f"the application work of {self.name} for the stream {stream}: {error}"
            ) from error


class Produced(Document):
    """Base class of streams: all data must arrive, except for the share ``allowed_shortfall`` (0 to 100 %)."""

    name: Slug
    count: Count | None = None
    allowed_shortfall_ratio: Share = 0.0
    description: str = ""


class ImageStream(Produced):
    """A stream of pictures of a given size, depth and rate; a device sends or receives whole streams."""

    kind: Literal["image"]
    width_px: Count
    height_px: Count
    depth_bits: Positive
    rate_hz: Positive

    @property
    def picture(self) -> Message:
        """One picture of the stream as a `Message`; the camera is assumed to capture it during one period."""
        return Message(self.width_px * self.height_px * self.depth_bits / 8, 1 / self.rate_hz)


class SampleStream(Produced):
    """A stream of samples that must all arrive within a time limit; a device handles single samples.

    ``connections`` is the number of connections that share the samples. ``imbalance`` is the excess of the busiest
    connection over an even share (100 % means twice the even share).
    """

    kind: Literal["samples"]
    size_bits: Positive
    within_s: Positive | Reference | None = None
    cycle_hz: Positive | None = None
    connections: Count = 1
    imbalance_ratio: NotNegative = 0.0

    @model_validator(mode="after")
    def _one_time(self) -> SampleStream:
        if (self.within_s is None) == (self.cycle_hz is None):
            raise ValueError(
                'samples need exactly one of within (such as "3 us") and cycle (such as "20 kHz"): '
                "give one of them"
            )
        return self


class GoodputStream(Produced):
    """A stream with a stated goodput."""

    kind: Literal["goodput"]
    goodput_bps: Positive


Stream = Annotated[ImageStream | SampleStream | GoodputStream, Field(discriminator="kind")]


class Medium(Document):
    """The longest cable between the devices: length, and propagation delay per metre."""

    distance_m: NotNegative
    propagation_s_per_m: NotNegative
    source: str = ""


class Budget(Document):
    """Time budget: a total time and its parts. One part may be ``rest``, the total less the other parts."""

    name: Slug
    total_s: Positive | Reference | None = None
    cycle_hz: Positive | None = None
    parts: dict[Slug, Text]
    source: str = ""

    @model_validator(mode="after")
    def _one_total(self) -> Budget:
        if (self.total_s is None) == (self.cycle_hz is None):
            raise ValueError(
                'a budget has exactly one of total (such as "50 ms") and cycle (such as "20 kHz")'
            )
        if list(self.parts.values()).count("rest") > 1:
            raise ValueError('only one part of a budget can be "rest": give the others a time')
        return self


class Limit(Document):
    """A requirement: a metric of a stream must be at least, or at most, a limit.

    The limit is a text with a unit, or the name of a derived number. With ``device``, the CPU metric is summed over
    all connections of the stream that one such device handles.
    """

    name: Text
    metric: Text
    at_least: Text | None = None
    at_most: Text | None = None
    kind: Literal["hard", "firm", "soft"] = "soft"
    stream: Slug | None = None
    device: Slug | None = None
    source: str = ""

    @field_validator("metric")
    @classmethod
    def _known_metric(cls, metric: str) -> str:
        if metric not in METRICS and not _QUANTILE.fullmatch(metric):
            raise ValueError(f"there is no metric {metric!r}: use one of {', '.join(METRICS)}")
        return metric

    @model_validator(mode="after")
    def _one_side(self) -> Limit:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(
                "a requirement needs exactly one of at_least and at_most: give one of them"
            )
        if self.device is not None and not self.metric.startswith(("cpu_send", "cpu_recv")):
            raise ValueError(
                f"device sums a CPU metric over a host's streams, and {self.metric} is not one: "
                "remove device, or use cpu_send or cpu_recv"
            )
        return self


class Question(Document):
    """The parameters of a candidate's scenario for one stream.

    Without ``endpoints`` and ``other_goodput``, both values follow from the devices. Without ``cores``, a stream is one
    connection on one core. ``line_rate`` asks for another line rate than that of the dataset. Only the variant
    ``hybrid`` extrapolates to another line rate.
    """

    protocol: Text
    payload_bytes: Count
    rate_fps: Positive | None = None
    requested_goodput_bps: Positive | None = None
    cores: Count | None = None
    switches: Annotated[int, Field(strict=True, ge=0)] = 0
    endpoints: Count | None = None
    other_goodput_bps: NotNegative | None = None
    distance_m: NotNegative | None = None
    line_rate_bps: Positive | None = None
    options: dict[Text, Text] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_a_scenario(self) -> Question:
        try:
            self.scenario()
        except IcmodelError as error:
            raise ValueError(str(error)) from error
        return self

    def scenario(self) -> Scenario:
        """Convert the parameters to a `Scenario`, which is frozen."""
        return scenario(**self.model_dump())


class Candidate(Document):
    """Candidate: one way to carry the streams of a use case, with a scenario for each stream.

    ``hosts`` is the number of hosts over which a device spreads its streams (default 1). It can also be the number of
    sets of cores, each as large as the scenario's ``cores``. ``dataset`` names the dataset whose protocols and options
    the scenarios use.
    """

    name: Slug
    description: str = ""
    dataset: str = ""
    hosts: dict[Slug, Count] = Field(default_factory=dict)
    scenarios: Annotated[dict[Slug, Question], Field(min_length=1)]


class UseCase(Document):
    """A use case: streams, requirements on them, and the candidates (interconnects) that could carry them.

    ``readings`` are alternative interpretations of a requirement: judged and shown like requirements, but without
    effect on the verdict.
    """

    schema_version: Literal[1]
    name: Slug
    title: Text
    question: Text
    source: Text
    citation: str = ""
    default_candidate: Slug
    minimise: tuple[Text, ...] = ()
    medium: Medium | None = None
    budgets: tuple[Budget, ...] = ()
    devices: tuple[Device, ...] = ()
    streams: Annotated[tuple[Stream, ...], Field(min_length=1)]
    requirements: Annotated[tuple[Limit, ...], Field(min_length=1)]
    readings: tuple[Limit, ...] = ()
    candidates: Annotated[tuple[Candidate, ...], Field(min_length=1)]
    known_limits: tuple[Text, ...] = ()

    def __repr__(self) -> str:
        return (
            f"UseCase({self.name!r}: {len(self.streams)} streams, {len(self.requirements)} requirements, "
            f"{len(self.candidates)} candidates)"
        )

    @model_validator(mode="after")
    def _names_are_known(self) -> UseCase:
        names = {
            part: [one.name for one in getattr(self, part)]
            for part in ("streams", "devices", "candidates", "budgets")
        }
        names["requirements and readings"] = [limit.name for limit in self.limits]
        streams, candidates = names["streams"], names["candidates"]
        used = [("default_candidate", self.default_candidate, candidates)]
        for device in self.devices:
            where = f"a stream of the device {device.name}"
            used += [(where, stream, streams) for stream in (*device.sends, *device.receives)]
        for candidate in self.candidates:
            where = f"a scenario of the candidate {candidate.name}"
            used += [(where, stream, streams) for stream in candidate.scenarios]
            where = f"a device in hosts of the candidate {candidate.name}"
            used += [(where, host, names["devices"]) for host in candidate.hosts]
        for limit in self.limits:
            where = f"the requirement {limit.name!r}"
            if limit.stream is not None:
                used.append((f"the stream of {where}", limit.stream, streams))
            if limit.device is not None:
                used.append((f"the device of {where}", limit.device, names["devices"]))
        used += [("minimise", metric, list(METRICS)) for metric in self.minimise]
        refuse(_twice(names))  # a name may be unknown since another part has it twice
        refuse(_unknown(*one) for one in used if one[1] not in one[2])
        return self

    @model_validator(mode="after")
    def _parts_fit(self) -> UseCase:
        refuse([*self._missing_senders(), *self._misplaced_limits()])
        return self

    def _missing_senders(self) -> Iterator[str]:
        """Yield an error for each device that sends or receives more streams of a name than exist."""
        for device in self.devices:
            for verb, handled in (("sends", device.sends), ("receives", device.receives)):
                for name, n in handled.items():
                    if n > (total := self.sources(name)):
                        yield (
                            f"one {device.name} {verb} {n} of {name}, but there are only {total} in "
                            f"all: correct {verb}, or add the missing senders (a device's sends, or "
                            f"count of the stream {name})"
                        )

    def _misplaced_limits(self) -> Iterator[str]:
        """Yield an error for each requirement or reading that does not fit its stream or device."""
        streams = [stream.name for stream in self.streams]
        for limit in self.limits:
            where = f"the requirement {limit.name!r}"
            if limit.stream is None and len(streams) > 1:
                yield f"{where} needs a stream: name one of {', '.join(streams)}"
                continue
            try:
                self.streams_at(limit)
            except ValueError as error:
                yield str(error)
            stream = self.stream(self.stream_of(limit))
            if limit.metric in MESSAGE_METRICS and not isinstance(stream, ImageStream):
                yield (
                    f"{where} is about whole messages, and the stream {stream.name} has none: "
                    'use a stream of kind "image", whose message is one picture'
                )

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Requirements of the use case, then its readings (alternative interpretations of requirements)."""
        return (*self.requirements, *self.readings)

    def stream(self, name: str) -> Stream:
        """Look up a stream by name."""
        return next(stream for stream in self.streams if stream.name == name)

    def sources(self, name: str) -> int:
        """Number of sources of a stream: its ``count``, otherwise the number that all devices send, otherwise 1."""
        sent = sum(device.count * device.sends.get(name, 0) for device in self.devices)
        return self.stream(name).count or sent or 1

    def connections(self, name: str, handled: int) -> int:
        """Number of connections that carry ``handled`` sources of a stream.

        Each source has a connection of its own, except for samples, which share connections.
        """
        stream = self.stream(name)
        if not isinstance(stream, SampleStream):
            return handled
        return math.ceil(handled * stream.connections / self.sources(name))

    def work(self, name: str) -> ApplicationWork:
        """Core time that applications need for each frame of a stream, on the slowest device at each end."""
        return slowest(device.work(name) for device in self.devices)

    def stream_of(self, limit: Limit) -> str:
        """Name of the stream to which a requirement applies; by default the only stream of the use case."""
        return limit.stream or self.streams[0].name

    def streams_at(self, limit: Limit) -> int:
        """Number of streams whose values a requirement adds up.

        These are all streams of the name that the requirement's device handles. Without a device, the number is 1.

        For samples, the result is the number of connections that carry the device's samples.

        Raises
        ------
        ValueError
            If the device does not handle that stream.
        """
        if limit.device is None:
            return 1
        name = self.stream_of(limit)
        device = next(device for device in self.devices if device.name == limit.device)
        sending = limit.metric.startswith("cpu_send")
        handled = device.sends if sending else device.receives
        if name not in handled:
            verb = "sends" if sending else "receives"
            raise ValueError(
                f"the requirement {limit.name!r} adds up the streams of {device.name}, which {verb} no "
                f"{name!r}: add this stream to {verb}, or remove device"
            )
        return self.connections(name, handled[name])


def _twice(names: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield an error for each name that two parts of the same kind have, such as two streams."""
    for kind, some in names.items():
        for name in dict.fromkeys(some):
            if some.count(name) > 1:
                yield f"two {kind} are named {name!r}: give each its own name"


def _unknown(where: str, name: str, names: Sequence[str]) -> str:
    return f"{where} is {name!r}, which does not exist: name one of {', '.join(names)}"

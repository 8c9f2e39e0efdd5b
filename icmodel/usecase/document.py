"""UseCase: the TOML document of a use case, checked table by table (pydantic)."""

from __future__ import annotations

import math
import re
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
"""What a requirement can limit; any other quantile, such as ``latency_p95_s``, too."""
_QUANTILE = re.compile(r"latency_p[0-9]+_s")


class Device(Document):
    """A kind of device, how many there are, and how much of each stream one of them handles.

    Without ``interfaces`` one has as many as its streams need.  ``app_send`` and ``app_recv`` are what its
    application needs of a core for a frame of a stream, and the others for each byte of it besides.
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
    def _work_is_possible(self) -> Device:
        for end, handled, verb in (
            ("send", self.sends, "sends"),
            ("recv", self.receives, "receives"),
        ):
            for key in (f"app_{end}", f"app_{end}_per_byte"):
                for stream in getattr(self, key):
                    if stream not in handled:
                        raise ValueError(
                            f"{key} of {self.name} names {stream!r}, which it does not {verb[:-1]}: "
                            f"say so in {verb}, or remove it"
                        )
                    self.work(stream)
        return self

    def work(self, stream: str) -> ApplicationWork:
        """What its application adds to a frame of a stream, as sender, as receiver or both."""
        said = {
            key: getattr(self, key)[stream]
            for key in ("app_send", "app_recv", "app_send_per_byte", "app_recv_per_byte")
            if stream in getattr(self, key)
        }
        try:
            return work_in_words(said)
        except IcmodelError as error:
            raise ValueError(f"the work of {self.name} on {stream}: {error}") from error


class Produced(Document):
    """A stream; all that it produces must arrive, but for ``allowed_shortfall`` of it, 0 to 100 %."""

    name: Slug
    count: Count | None = None
    allowed_shortfall_ratio: Share = 0.0
    description: str = ""


class ImageStream(Produced):
    """Pictures of a size, a depth and a rate; a device sends or receives whole streams."""

    kind: Literal["image"]
    width_px: Count
    height_px: Count
    depth_bits: Positive
    rate_hz: Positive

    @property
    def picture(self) -> Message:
        """One picture, captured within the time between two of them."""
        return Message(self.width_px * self.height_px * self.depth_bits / 8, 1 / self.rate_hz)


class SampleStream(Produced):
    """Samples that must all arrive within a time; a device sends or receives single samples.

    ``connections`` share them; ``imbalance`` is how much more than its even share one connection
    may carry (100 % is twice the share).
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
                'the time of the samples is said by exactly one of within (such as "3 us") and '
                'cycle (such as "20 kHz")'
            )
        return self


class GoodputStream(Produced):
    """A stream whose goodput is simply known."""

    kind: Literal["goodput"]
    goodput_bps: Positive


Stream = Annotated[ImageStream | SampleStream | GoodputStream, Field(discriminator="kind")]


class Medium(Document):
    """The cable the devices are apart: how long at most, and its delay."""

    distance_m: NotNegative
    propagation_s_per_m: NotNegative
    source: str = ""


class Budget(Document):
    """A time and the parts that share it; one part may be ``rest``, what the others leave."""

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
    """A requirement: a metric of a stream is at least, or at most, a limit.

    The limit is a text with its unit or the name of a derived number. With ``device``, the CPU of
    all streams of that name one such device handles is summed.
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
            raise ValueError(f"there is no metric {metric!r}: take one of {', '.join(METRICS)}")
        return metric

    @model_validator(mode="after")
    def _one_side(self) -> Limit:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("a requirement has exactly one of at_least and at_most")
        if self.device is not None and not self.metric.startswith(("cpu_send", "cpu_recv")):
            raise ValueError(
                f"device sums a CPU metric over a host's streams, and {self.metric} is none: "
                "remove device, or take cpu_send or cpu_recv"
            )
        return self


class Question(Document):
    """The parameters of the scenario a candidate asks for one stream.

    ``endpoints`` and ``other_goodput`` follow from the devices where they are not given. Without ``cores``
    a stream is one connection, of one core. ``line_rate`` is that of another link than the dataset's, which
    the variant ``hybrid`` extrapolates to.
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
    def _possible(self) -> Question:
        try:
            self.scenario()
        except IcmodelError as error:
            raise ValueError(str(error)) from error
        return self

    def scenario(self) -> Scenario:
        """The frozen question."""
        return scenario(**self.model_dump())


class Candidate(Document):
    """One choice the designer could make: a question for each stream.

    ``hosts`` says over how many hosts, or sets of the cores a scenario asks for, a device spreads
    its streams; 1 where it is silent. ``dataset`` names the one its words are taken from.
    """

    name: Slug
    description: str = ""
    dataset: str = ""
    hosts: dict[Slug, Count] = Field(default_factory=dict)
    scenarios: Annotated[dict[Slug, Question], Field(min_length=1)]


class UseCase(Document):
    """A use case: what is sent, within which limits, and what could carry it.

    ``readings`` are judged and shown as requirements are, and decide nothing: other ways to read one.
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

    @model_validator(mode="after")
    def _names_fit(self) -> UseCase:
        streams = _names("streams", [stream.name for stream in self.streams])
        devices = _names("devices", [device.name for device in self.devices])
        candidates = _names("candidates", [candidate.name for candidate in self.candidates])
        _names("budgets", [budget.name for budget in self.budgets])
        limits = (*self.requirements, *self.readings)
        _names("requirements and readings", [limit.name for limit in limits])
        _known("default_candidate", self.default_candidate, candidates)
        for kind in self.devices:
            for stream in (*kind.sends, *kind.receives):
                _known(f"a stream of the device {kind.name}", stream, streams)
        for candidate in self.candidates:
            for stream in candidate.scenarios:
                _known(f"a scenario of the candidate {candidate.name}", stream, streams)
            for device in candidate.hosts:
                _known(f"a device in hosts of the candidate {candidate.name}", device, devices)
        for kind in self.devices:
            self._check_device(kind)
        for limit in limits:
            self._check_limit(limit, streams, devices)
        for metric in self.minimise:
            _known("minimise", metric, list(METRICS))
        return self

    def _check_device(self, device: Device) -> None:
        """No device handles more of a stream than there is."""
        for verb, handled in (("sends", device.sends), ("receives", device.receives)):
            for name, n in handled.items():
                there = self.sources(name)
                if n > there:
                    raise ValueError(
                        f"one {device.name} {verb} {n} of {name}, but there are only {there} in all: "
                        f"correct {verb}, or say who else sends it (a device's sends, or count of "
                        f"the stream {name})"
                    )

    def sources(self, name: str) -> int:
        """How many sources a stream has: its count, else what devices send, else one."""
        sent = sum(device.count * device.sends.get(name, 0) for device in self.devices)
        return self.stream(name).count or sent or 1

    def connections(self, name: str, handled: int) -> int:
        """The streams that ``handled`` sources of a stream come in; samples share connections."""
        stream = self.stream(name)
        if not isinstance(stream, SampleStream):
            return handled
        return math.ceil(handled * stream.connections / self.sources(name))

    def _check_limit(self, limit: Limit, streams: list[str], devices: list[str]) -> None:
        where = f"the requirement {limit.name!r}"
        if limit.stream is None and len(streams) > 1:
            raise ValueError(f"{where} needs a stream: name one of {', '.join(streams)}")
        if limit.stream is not None:
            _known(f"the stream of {where}", limit.stream, streams)
        if limit.device is not None:
            _known(f"the device of {where}", limit.device, devices)
            self.streams_at(limit)
        if limit.metric in MESSAGE_METRICS:
            stream = self.stream(self.stream_of(limit))
            if not isinstance(stream, ImageStream):
                raise ValueError(
                    f"{where} is about whole messages, which the stream {stream.name} does not say: "
                    'take a stream of kind "image", whose message is one picture'
                )

    def work(self, name: str) -> ApplicationWork:
        """What applications add to a frame of a stream, by the slowest device at either end."""
        return slowest(device.work(name) for device in self.devices)

    def stream(self, name: str) -> Stream:
        """The stream of a name this use case has."""
        return next(stream for stream in self.streams if stream.name == name)

    def stream_of(self, limit: Limit) -> str:
        """The stream a requirement is about: the one it names, else the only one there is."""
        return limit.stream or self.streams[0].name

    def streams_at(self, limit: Limit) -> int:
        """How many streams the requirement sums: those one device handles, else one.

        Of samples the connections that bring those it handles.

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
                f"the requirement {limit.name!r} sums over {device.name}, which {verb} no "
                f"{name!r}: say so in its {verb}, or remove device"
            )
        return self.connections(name, handled[name])


def _names(what: str, names: list[str]) -> list[str]:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two {what} are named {name!r}: give each its own name")
    return names


def _known(what: str, name: str, names: list[str]) -> None:
    if name not in names:
        raise ValueError(f"{what} is {name!r}, which is not there: name one of {', '.join(names)}")

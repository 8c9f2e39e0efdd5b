"""TOML document of a use case: one pydantic model for each table of the file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from icmodel.dataset.rows import check_quantile
from icmodel.errors import Fault, IcmodelError, Place, refuse
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
"""Metrics that a requirement can limit. Other latency quantiles, such as ``latency_p95_s``, are allowed too."""
_QUANTILE = re.compile(r"latency_p[0-9]+_s")


class Device(Document):
    """A kind of device: the number of these devices, and the streams that each one sends and receives.

    Without ``interfaces``, a device has as many interfaces as its streams need. ``app_send`` and ``app_recv`` map a
    stream to the core time that the application takes to send or receive one of its frames. The keys ``..._per_byte``
    add a core time per byte.
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
        faults: list[Fault] = []
        for end, handled, verb in (
            ("send", self.sends, "sends"),
            ("recv", self.receives, "receives"),
        ):
            for key in (f"app_{end}", f"app_{end}_per_byte"):
                for stream in getattr(self, key):
                    if stream not in handled:
                        faults.append(
                            Fault(
                                f"{key} of {self.name} names {stream!r}, a stream that {self.name} does "
                                f"not {verb[:-1]}: add the stream to {verb}, or remove it from {key}",
                                (key, stream),
                            )
                        )
                        continue
                    try:
                        self.work(stream)
                    except ValueError as error:
                        faults.append(Fault(str(error), (key, stream)))
        refuse(faults)
        return self

    def work(self, stream: str) -> ApplicationWork:
        """Return the core times that this device's application adds to each frame of a stream that it sends or receives."""
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
    """Base class of streams. All data must arrive, except for the share ``allowed_shortfall`` (0 to 100 %)."""

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
        """One picture as a `Message`: its size [B], and its capture time, assumed to be the whole period 1 / rate [s]."""
        return Message(self.width_px * self.height_px * self.depth_bits / 8, 1 / self.rate_hz)


class SampleStream(Produced):
    """A stream of samples that must all arrive within a time limit.

    In ``sends`` and ``receives`` of a device, the number for this stream counts samples. ``connections`` is the number
    of connections that share the samples. ``imbalance`` is the excess of the busiest connection over an even share:
    100 % means twice the even share.
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
            text = (
                'samples need exactly one of within (such as "3 us") and cycle (such as "20 kHz"): '
                "give one of them"
            )
            refuse([Fault(text, ("within_s",), (("cycle_hz",),))])
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
    """Time budget: a total time and its parts. One part may be ``rest``: the total minus the other parts."""

    name: Slug
    total_s: Positive | Reference | None = None
    cycle_hz: Positive | None = None
    parts: dict[Slug, Text]
    source: str = ""

    @model_validator(mode="after")
    def _one_total(self) -> Budget:
        faults = []
        if (self.total_s is None) == (self.cycle_hz is None):
            text = (
                'a budget needs exactly one of total (such as "50 ms") and cycle (such as "20 kHz"): '
                "give one of them"
            )
            faults.append(Fault(text, ("total_s",), (("cycle_hz",),)))
        if list(self.parts.values()).count("rest") > 1:
            text = 'only one part of a budget can be "rest": give the others a time'
            faults.append(Fault(text, ("parts",)))
        refuse(faults)
        return self


class Limit(Document):
    """A requirement: a metric of a stream must be at least, or at most, a limit.

    The limit is a text with a unit, or the name of a derived number. If ``device`` is given, the metric is a CPU load.
    The requirement then limits its sum over all connections of the stream at one such device.
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
        check_quantile(metric)
        if metric not in METRICS and not _QUANTILE.fullmatch(metric):
            raise ValueError(f"there is no metric {metric!r}: use one of {', '.join(METRICS)}")
        return metric

    @model_validator(mode="after")
    def _one_side(self) -> Limit:
        faults = []
        if (self.at_least is None) == (self.at_most is None):
            text = "a requirement needs exactly one of at_least and at_most: give one of them"
            faults.append(Fault(text, ("at_least",), (("at_most",),)))
        if self.device is not None and not self.metric.startswith(("cpu_send", "cpu_recv")):
            text = (
                f"the key device sums a CPU metric over a host's streams, but {self.metric} is not a CPU metric: "
                "remove device, or use cpu_send or cpu_recv"
            )
            faults.append(Fault(text, ("device",), (("metric",),)))
        refuse(faults)
        return self


class Question(Document):
    """The parameters of a candidate's scenario for one stream.

    ``endpoints`` is the number of streams that meet at an interface, and ``other_goodput`` the goodput of the others
    there. If one of these two is missing, it is computed from the devices of the use case. Without ``cores``, a stream
    is one connection on one core.
    ``line_rate`` replaces the dataset's line rate; only the variant ``hybrid`` of the model can extrapolate to it.
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

    ``hosts`` has the number of hosts over which a device spreads its streams, by device (default 1). If a single host
    runs the streams on several separate sets of cores, each set counts as a host with the scenario's ``cores``.
    ``dataset`` names the dataset whose protocols and options the scenarios use.
    """

    name: Slug
    description: str = ""
    dataset: str = ""
    hosts: dict[Slug, Count] = Field(default_factory=dict)
    scenarios: Annotated[dict[Slug, Question], Field(min_length=1)]


class UseCase(Document):
    """A use case: streams, their requirements, and candidates (interconnects) that could carry the streams.

    ``readings`` are alternative interpretations of a requirement. They are judged and shown like requirements, but do
    not affect the verdict.
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
    def _parts_fit(self) -> UseCase:
        refuse(
            [
                *self._twice(),
                *self._unknown_names(),
                *self._missing_senders(),
                *self._misplaced(),
                *self._crowded(),
            ]
        )
        return self

    def _twice(self) -> Iterator[Fault]:
        """Yield a mistake for each name that is used twice among parts of the same kind, such as streams."""
        parts: dict[str, list[tuple[str, Place]]] = {
            part: [(one.name, (part, i, "name")) for i, one in enumerate(getattr(self, part))]
            for part in ("streams", "devices", "candidates", "budgets")
        }
        parts["requirements and readings"] = [
            (limit.name, (*place, "name")) for limit, place in self.placed_limits()
        ]
        for kind, named in parts.items():
            seen = set[str]()
            for name, place in named:
                if name in seen:
                    text = f"two {kind} are named {name!r}: give each its own name"
                    yield Fault(text, place, cause=text)
                seen.add(name)

    def placed_limits(self) -> Iterator[tuple[Limit, Place]]:
        """Yield each limit of the file with its path of keys, such as ("requirements", 0).

        Limits are the requirements, and the readings (alternative interpretations of requirements).
        """
        for part in ("requirements", "readings"):
            for number, limit in enumerate(getattr(self, part)):
                yield limit, (part, number)

    def _unknown_names(self) -> Iterator[Fault]:
        """Yield a mistake for each name of a stream, device, candidate or metric that does not exist."""
        names = {
            part: tuple(one.name for one in getattr(self, part))
            for part in ("streams", "devices", "candidates")
        }
        names["minimise"] = METRICS
        for where, name, place, part in self._used_names():
            if name not in names[part]:
                yield Fault(
                    f"{where} is {name!r}, which does not exist: name one of "
                    f"{', '.join(names[part])}",
                    place,
                    ((part, None, "name"), (part, name)),
                )

    def _used_names(self) -> Iterator[tuple[str, str, Place, str]]:
        """Yield each use of a name in the file.

        Each use is a tuple of four: description in words, name, path of keys in the file, and list of the file that
        must define the name, such as ``streams``.
        """
        yield "default_candidate", self.default_candidate, ("default_candidate",), "candidates"
        for i, device in enumerate(self.devices):
            where = f"a stream of the device {device.name}"
            for verb in ("sends", "receives"):
                for name in getattr(device, verb):
                    yield where, name, ("devices", i, verb, name), "streams"
        for i, candidate in enumerate(self.candidates):
            where = f"the candidate {candidate.name}"
            for name in candidate.scenarios:
                place: Place = ("candidates", i, "scenarios", name)
                yield f"a scenario of {where}", name, place, "streams"
            for name in candidate.hosts:
                yield (
                    f"a device in hosts of {where}",
                    name,
                    ("candidates", i, "hosts", name),
                    "devices",
                )
        limits = [
            (
                f"the {key} of the requirement {limit.name!r}",
                getattr(limit, key),
                (*at, key),
                f"{key}s",
            )
            for limit, at in self.placed_limits()
            for key in ("stream", "device")
        ]
        yield from (one for one in limits if one[1] is not None)
        for i, name in enumerate(self.minimise):
            yield "minimise", name, ("minimise", i), "minimise"

    def _missing_senders(self) -> Iterator[Fault]:
        """Yield a mistake for each device that sends or receives more instances of a stream than the stream has sources."""
        for i, device in enumerate(self.devices):
            for verb, handled in (("sends", device.sends), ("receives", device.receives)):
                for name, n in handled.items():
                    if self._has(name) and n > (total := self.sources(name)):
                        yield Fault(
                            f"one {device.name} {verb} {n} of {name}, but there are only {total} in "
                            f"all: correct {verb}, or add the missing senders (a device's sends, or "
                            f"count of the stream {name})",
                            ("devices", i, verb, name),
                            (
                                ("streams", name, "count"),
                                ("devices", None, "sends"),
                                ("devices", None, "count"),
                                ("devices", None, "name"),
                            ),
                        )

    def _crowded(self) -> Iterator[Fault]:
        """Yield a mistake for each scenario whose ``endpoints`` is too small.

        ``endpoints`` states how many streams meet at an interface. It is too small if a device receives more streams
        per interface than that.
        """
        received = [(one, *pair) for one in self.devices for pair in one.receives.items()]
        for i, candidate in enumerate(self.candidates):
            for device, name, n in received:
                question = candidate.scenarios.get(name)
                if question is None or question.endpoints is None or not self._has(name):
                    continue
                streams, endpoints = self.connections(name, n), question.endpoints
                if device.interfaces and math.ceil(streams / device.interfaces) > endpoints:
                    yield Fault(
                        f"the candidate {candidate.name} has endpoints = {endpoints} for {name}, but "
                        f"{streams} of them meet at the {device.interfaces} interface(s) of one "
                        f"{device.name}: correct one of the two, or leave endpoints out",
                        ("candidates", i, "scenarios", name, "endpoints"),
                        (
                            ("devices", device.name, "interfaces"),
                            ("devices", device.name, "receives"),
                            ("streams", name, "connections"),
                        ),
                    )

    def _has(self, name: str) -> bool:
        return any(stream.name == name for stream in self.streams)

    def _misplaced(self) -> Iterator[Fault]:
        """Yield a mistake for each requirement that does not fit its stream or device.

        An example is a requirement on whole messages, for a stream that has none. Readings (alternative interpretations
        of a requirement) are checked too.
        """
        streams = [stream.name for stream in self.streams]
        for limit, place in self.placed_limits():
            where = f"the requirement {limit.name!r}"
            if limit.stream is None and len(streams) > 1:
                text = f"{where} needs a stream: name one of {', '.join(streams)}"
                yield Fault(text, (*place, "stream"), (("streams", None, "name"),))
                continue
            name = self.stream_of(limit)
            if not self._has(name):
                continue
            if limit.device is None or limit.device in [one.name for one in self.devices]:
                try:
                    self.streams_at(limit)
                except ValueError as error:
                    handled = ("sends", "receives")
                    needs = tuple(("devices", str(limit.device), verb) for verb in handled)
                    yield Fault(str(error), (*place, "device"), needs)
            stream = self.stream(name)
            if limit.metric in MESSAGE_METRICS and not isinstance(stream, ImageStream):
                yield Fault(
                    f"{where} is about whole messages, but the stream {stream.name} has none: "
                    'use a stream of kind "image", whose message is one picture',
                    (*place, "metric"),
                    (("streams", name, "kind"),),
                )

    @property
    def limits(self) -> tuple[Limit, ...]:
        """All limits of the use case: its requirements, then its readings (other interpretations of requirements)."""
        return (*self.requirements, *self.readings)

    def stream(self, name: str) -> Stream:
        """Look up a stream by name."""
        return next(stream for stream in self.streams if stream.name == name)

    def sources(self, name: str) -> int:
        """Return the number of sources of a stream, such as cameras; all sources send at the same time.

        The number is ``count`` of the stream, if given. Otherwise it is the sum over all sending devices, or 1 if no
        device sends the stream.
        """
        sent = sum(device.count * device.sends.get(name, 0) for device in self.devices)
        return self.stream(name).count or sent or 1

    def connections(self, name: str, handled: int) -> int:
        """Return the number of connections for the data of ``handled`` sources of a stream.

        Each source has a connection of its own. Only the sources of a stream of samples share connections.
        """
        stream = self.stream(name)
        if not isinstance(stream, SampleStream):
            return handled
        return math.ceil(handled * stream.connections / self.sources(name))

    def work(self, name: str) -> ApplicationWork:
        """Return the core times that the application adds to each frame of a stream: the greatest of all devices."""
        return slowest(device.work(name) for device in self.devices)

    def stream_of(self, limit: Limit) -> str:
        """Return the name of the stream to which a requirement applies; by default the only stream of the use case."""
        return limit.stream or self.streams[0].name

    def streams_at(self, limit: Limit) -> int:
        """Return the number of streams over which a requirement sums a metric; 1 if the requirement names no device.

        A requirement with a device limits the sum over all streams of one name at one such device, for example over all
        pictures that a display receives. Samples of several sources may share a connection, so for a stream of samples
        the result is the number of connections.

        Raises
        ------
        ValueError
            If the device does not send the stream (for ``cpu_send``) or does not receive it (for other metrics).
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
                f"the requirement {limit.name!r} is for the stream {name!r} at {device.name}, but {name!r} is not "
                f"among the streams that {device.name} {verb}: add the stream to `{verb}`, or remove `device` from the "
                "requirement"
            )
        return self.connections(name, handled[name])

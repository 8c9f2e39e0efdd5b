"""SystemDocument: the TOML document of a system, checked table by table (pydantic)."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema, model_validator

from icmodel.reading import Count, Document, Factor, NotNegative, Positive, Share, Slug, Text
from icmodel.system.network import Producer
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Dscp,
    Fifo,
    Gates,
    Scheduler,
    StrictPriority,
    WeightedRoundRobin,
    Window,
)
from icmodel.usecase.document import Limit

SCHEMA_VERSION = 1

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""Name of a group or of a member of one: letters, digits, ``_``, ``.`` and ``-``."""
Priority = Annotated[int, Field(ge=0, le=7)]
Pairing = Literal["each", "one-to-one", "spread"]
Kind = Literal["hard", "firm", "soft"]
MOST_PARTS = 100_000
"""Greatest number of nodes, links and streams of a system, each, and of the cores of a device."""
Parts = Annotated[int, Field(strict=True, ge=1, le=MOST_PARTS)]


def _as_list(given: Any) -> Any:
    return (given,) if isinstance(given, str) else given


_ONE = {"type": "string", "pattern": NAME_PATTERN}
Names = Annotated[
    tuple[Name, ...],
    Field(min_length=1),
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [_ONE, {"type": "array", "items": _ONE, "minItems": 1}]}),
]
"""One name, or a list of them."""


# --- schedulers -------------------------------------------------------------------------------


class FifoTable(Document):
    """First come, first served."""

    kind: Literal["fifo"]


class StrictPriorityTable(Document):
    """The most urgent priority that waits is sent first."""

    kind: Literal["strict-priority"]


class WeightedTable(Document):
    """Priorities take turns of so many frames: ``weights = { 5 = 7, 1 = 2 }``."""

    kind: Literal["wrr"]
    weights: Annotated[dict[Priority, Count], Field(min_length=1)]


class DeficitTable(Document):
    """Priorities take turns of so many bytes: ``quanta = { 5 = "9 kB", 1 = "3 kB" }``."""

    kind: Literal["drr"]
    quanta_bytes: dict[Priority, Count]


class CreditTable(Document):
    """Some priorities send only while they have credit: ``idle_slopes = { 6 = "20 Mb/s" }``."""

    kind: Literal["cbs"]
    idle_slopes_bps: dict[Priority, Positive]


class WindowTable(Document):
    """A part of the cycle of gates, and the priorities that may send in it."""

    open: Annotated[tuple[Priority, ...], Field(min_length=1)]
    duration_s: Positive


class GatesTable(Document):
    """Windows one after the other, over and over."""

    kind: Literal["gates"]
    windows: Annotated[tuple[WindowTable, ...], Field(min_length=1)]


class DscpTable(Document):
    """Expedited and assured forwarding as IC2012 measured it: ``classes = { 5 = "ef", 1 = "af1" }``."""

    kind: Literal["dscp"]
    classes: Annotated[
        dict[Priority, Literal["ef", "af1", "af2", "af3", "af4"]], Field(min_length=1)
    ]


SchedulerTable = Annotated[
    FifoTable
    | StrictPriorityTable
    | WeightedTable
    | DeficitTable
    | CreditTable
    | GatesTable
    | DscpTable,
    Field(discriminator="kind"),
]
SCHEDULERS = ("fifo", "strict-priority", "wrr", "drr", "cbs", "gates", "dscp")


ALIGNED, AS_PRODUCED, WHOLE_MESSAGES = "aligned", "as-produced", "whole-messages"
EVERY_LINK = "*"
"""Key of choices that hold for all tables of links."""


ENDS = "<->"
"""Separator of the two groups in the key of a table of links."""


class StreamChoices(Document):
    """What may be chosen for a table of streams, besides its own values.

    ``payload``: sizes, and ``aligned`` for those that fill 1, 2, 4, 8 ... packets of the protocol, within the measured
    range. ``rate``: frames per second of each sender; ``as-produced``; or ``whole-messages``: the rate at
    which each message has frames of its own.
    """

    protocol: tuple[Text, ...] = ()
    payload_bytes: tuple[Count | Literal["aligned"], ...] = ()
    rate_fps: tuple[Positive | Literal["as-produced", "whole-messages"], ...] = ()
    cores: tuple[Parts, ...] = ()
    priority: tuple[Priority, ...] = ()


class DeviceChoices(Document):
    """What may be chosen for a group of devices, besides its own values.

    ``interfaces``: number of parallel cables from each device to its only neighbour.
    """

    cores: tuple[Parts, ...] = ()
    interfaces: tuple[Parts, ...] = ()


class SwitchChoices(Document):
    """What may be chosen for a group of switches, besides its own values."""

    forwarding: tuple[Literal["store-and-forward", "cut-through"], ...] = ()
    latency_s: tuple[NotNegative, ...] = ()
    scheduler: tuple[SchedulerTable, ...] = ()


class LinkChoices(Document):
    """What may be chosen for a table of links, besides its own values."""

    rate_bps: tuple[Positive, ...] = ()
    dataset: tuple[Text, ...] = ()
    interconnect: tuple[Literal["ethernet", "infiniband", "roce", "rapidio", "plain"], ...] = ()


class Choices(Document):
    """What may be chosen, by the name of a table of streams, or of a group of devices or switches.

    Links are named by their ends, as ``"camera<->switch"``; ``"*"`` is all of them alike.
    """

    streams: dict[Name, StreamChoices] = Field(default_factory=dict)
    devices: dict[Name, DeviceChoices] = Field(default_factory=dict)
    switches: dict[Name, SwitchChoices] = Field(default_factory=dict)
    links: dict[Text, LinkChoices] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _links_once(self) -> Choices:
        if EVERY_LINK in self.links and len(self.links) > 1:
            other = next(name for name in self.links if name != EVERY_LINK)
            raise ValueError(
                f"links are chosen by {other!r} and all of them by '*': keep one of the two"
            )
        return self


class Costs(Document):
    """Costs of a system's parts, in any currency; a part without a cost is free.

    ``interface`` of a device; ``interface_per_gbps`` in addition for each Gb/s of its rate; ``core`` of a device
    with a stated number of cores; ``link`` and ``link_per_m`` of a cable; ``switch``.
    """

    currency: str = ""
    interface: NotNegative = 0.0
    interface_per_gbps: NotNegative = 0.0
    core: NotNegative = 0.0
    link: NotNegative = 0.0
    link_per_m: NotNegative = 0.0
    switch: NotNegative = 0.0


# --- what produces a stream -------------------------------------------------------------------


class Image(Document):
    """Pictures of a size, a depth and a rate: one picture is a message."""

    kind: Literal["image"]
    width_px: Count
    height_px: Count
    depth_bits: Positive
    rate_hz: Positive


class Samples(Document):
    """Samples of a cycle, which are one message; ``within`` is the time it may take, by default the cycle."""

    kind: Literal["samples"]
    samples: Count
    size_bits: Positive
    cycle_hz: Positive
    within_s: Positive | None = None

    @model_validator(mode="after")
    def _in_its_cycle(self) -> Samples:
        if self.within_s is not None and self.within_s * self.cycle_hz > 1:
            raise ValueError(
                f"the samples have {self.within_s:g} s and come every {1 / self.cycle_hz:g} s: "
                "give them at most their cycle"
            )
        return self


class Goodput(Document):
    """A known goodput; each frame is a message."""

    kind: Literal["goodput"]
    goodput_bps: Positive


class Burst(Document):
    """``burst`` frames of a size every period, which are one message."""

    kind: Literal["burst"]
    period_s: Positive
    burst: Count = 1
    size_bytes: Count
    within_s: Positive | None = None

    @model_validator(mode="after")
    def _in_its_period(self) -> Burst:
        if self.within_s is not None and self.within_s > self.period_s:
            raise ValueError(
                f"a burst has {self.within_s:g} s and comes every {self.period_s:g} s: "
                "give it at most its period"
            )
        return self


class Unlimited(Document):
    """No limit: the sender sends as fast as it goes."""

    kind: Literal["unlimited"]


ProducerTable = Annotated[
    Image | Samples | Goodput | Burst | Unlimited, Field(discriminator="kind")
]
PRODUCERS = ("image", "samples", "goodput", "burst", "unlimited")


# --- the tables of the file -------------------------------------------------------------------


class PortTable(Document):
    """The scheduler of the ports to one neighbour, if it differs from the node's."""

    to: Name
    scheduler: SchedulerTable


class Nodes(Document):
    """A group of equal nodes: ``camera`` with ``count = 6`` is ``camera-1`` to ``camera-6``."""

    name: Name
    count: Parts = 1
    description: str = ""
    scheduler: SchedulerTable | None = None
    ports: tuple[PortTable, ...] = ()


class Devices(Nodes):
    """A group of devices, where streams begin and end.

    ``interfaces``: number of links of each. ``dataset``: the dataset of its hosts, by default that of its links.
    ``app_send`` and ``app_recv``: time that its application adds to a frame.
    """

    interfaces: Parts = 1
    cores: Parts | None = None
    dataset: Text | None = None
    cpu_clock_ratio: Factor = 1.0
    app_send_s: NotNegative = 0.0
    app_recv_s: NotNegative = 0.0


class Switches(Nodes):
    """A group of switches.

    ``latency`` is added to each frame, besides queues and, for store-and-forward, receiving the packet;
    ``buffer`` is that of each port.
    """

    forwarding: Literal["store-and-forward", "cut-through"]
    latency_s: NotNegative
    buffer_bytes: Count | None = None


class Links(Document):
    """Cables between the members of two groups, all of the same kind.

    ``pairing`` says which members: ``each`` with each, ``one-to-one``, or ``spread``: the larger
    group distributed over the smaller. ``parallel`` cables join one pair; each stream takes the least loaded
    one. ``medium`` sets the propagation if ``propagation_s_per_m`` does not; without
    both it is that of the usual cable of the interconnect. A ``plain`` link has no headers.
    Without ``mtu`` packets have the usual size: 1500 B on Ethernet, 4096 B on InfiniBand and RoCE, 256 B on
    RapidIO.
    """

    between: Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)]
    pairing: Pairing | None = None
    parallel: Parts = 1
    rate_bps: Positive
    length_m: NotNegative = 0.0
    medium: Literal["copper", "fibre"] | None = None
    propagation_s_per_m: NotNegative | None = None
    mtu_bytes: Count | None = None
    interconnect: Literal["ethernet", "infiniband", "roce", "rapidio", "plain"] = "ethernet"
    dataset: Text | None = None
    description: str = ""

    @property
    def key(self) -> str:
        """The table's name in choices: its ends."""
        return ENDS.join(self.between)


class Streams(Document):
    """Streams from the members of one or more groups to those of others.

    A stream goes to each member by ``pairing``; with ``multicast`` each source sends one to all
    of them, copied where their routes part. ``rate``: frames per second of its sender, if it differs from what
    is produced. ``window``: the most bytes of TCP in flight unacknowledged, the lesser of its socket buffers.
    ``via``: switches on its route, if it is not the shortest. ``allowed_shortfall``: share of what is
    produced that need not arrive; by default all of it must.
    """

    name: Name
    source: Names
    sink: Names
    pairing: Pairing | None = None
    multicast: bool = False
    count: Parts = 1
    produces: ProducerTable
    protocol: Text
    payload_bytes: Count | None = None
    rate_fps: Positive | None = None
    window_bytes: Count | None = None
    cores: Parts | None = None
    options: dict[Text, Text] = Field(default_factory=dict)
    priority: Annotated[int, Field(strict=True, ge=0, le=7)] = 0
    kind: Kind = "soft"
    via: tuple[Name, ...] | None = None
    allowed_shortfall_ratio: Share = 0.0
    description: str = ""

    @model_validator(mode="after")
    def _a_frame(self) -> Streams:
        if self.payload_bytes is None and not isinstance(self.produces, Samples | Burst):
            raise ValueError(
                f"what produces {self.produces.kind} says no frame: give payload, such as "
                'payload = "1448 B"'
            )
        return self

    @model_validator(mode="after")
    def _a_window_of_tcp(self) -> Streams:
        if self.window_bytes is not None and self.protocol != "tcp":
            raise ValueError(
                f"{self.protocol} has no window: leave it out, or give the protocol tcp"
            )
        return self


class SystemLimit(Limit):
    """A requirement: a metric of a stream, or of each of a group, is at least or at most a limit.

    The latency of a stream whose messages take several frames is that of the whole ``message``, from its first
    byte to its last; with ``of = "frame"`` that of a single frame.
    """

    stream: Name | None = None
    device: Name | None = None
    of: Literal["message", "frame"] = "message"


class SystemDocument(Document):
    """A system: devices, switches, the links between them, and the streams over those.

    ``usecase`` names one, or its file, whose requirements hold for the streams of the same names.
    ``choices`` and ``costs`` are for `icmodel recommend`.
    """

    schema_version: Literal[1]
    name: Slug
    title: Text
    source: Text
    usecase: Text | None = None
    devices: Annotated[tuple[Devices, ...], Field(min_length=1)]
    switches: tuple[Switches, ...] = ()
    links: Annotated[tuple[Links, ...], Field(min_length=1)]
    streams: tuple[Streams, ...] = ()
    requirements: tuple[SystemLimit, ...] = ()
    known_limits: tuple[Text, ...] = ()
    choices: Choices | None = None
    costs: Costs | None = None

    @model_validator(mode="after")
    def _choices_of_what_is_there(self) -> SystemDocument:
        there = {
            part: {one.name for one in getattr(self, part)}
            for part in ("streams", "devices", "switches")
        }
        there["links"] = {EVERY_LINK, *(table.key for table in self.links)}
        for part, known in there.items():
            for name in getattr(self.choices, part, ()):
                if name not in known:
                    raise ValueError(
                        f"choices.{part} names {name!r}, which no table of {part} is: name one of "
                        f"{', '.join(sorted(known)) or 'none'}"
                    )
        return self


def producer(table: ProducerTable, payload_bytes: int | None) -> Producer | None:
    """The producer of a table; ``None`` for an unlimited one.

    Parameters
    ----------
    payload_bytes : int, optional
        Useful bytes per frame [B], which are the message of a plain goodput.
    """
    match table:
        case Image():
            bits = table.width_px * table.height_px * table.depth_bits
            return Producer("image", 1 / table.rate_hz, bits / 8)
        case Samples():
            bits = table.samples * table.size_bits
            return Producer("samples", 1 / table.cycle_hz, bits / 8, table.within_s)
        case Burst():
            return Producer("burst", table.period_s, table.burst * table.size_bytes, table.within_s)
        case Goodput() if payload_bytes is not None:
            return Producer("goodput", payload_bytes * 8 / table.goodput_bps, payload_bytes)
        case _:
            return None


def frame_bytes(table: ProducerTable, payload_bytes: int | None) -> int:
    """Useful bytes per frame [B]: as stated, else a frame of the burst, else all samples of a cycle."""
    if payload_bytes is not None:
        return payload_bytes
    if isinstance(table, Burst):
        return table.size_bytes
    assert isinstance(table, Samples)  # the document asks for a payload of the others
    return math.ceil(table.samples * table.size_bits / 8)


def scheduler(table: SchedulerTable) -> Scheduler:
    """The scheduler of a table."""
    match table:
        case StrictPriorityTable():
            return StrictPriority()
        case WeightedTable():
            return WeightedRoundRobin(MappingProxyType(dict(table.weights)))
        case DeficitTable():
            return DeficitRoundRobin(MappingProxyType(dict(table.quanta_bytes)))
        case CreditTable():
            return CreditBased(MappingProxyType(dict(table.idle_slopes_bps)))
        case GatesTable():
            windows = (Window(one.duration_s, one.open) for one in table.windows)
            return Gates(tuple(windows))
        case DscpTable():
            return Dscp(MappingProxyType(dict(table.classes)))
        case _:
            return Fifo()

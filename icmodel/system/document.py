"""SystemDocument: the TOML document of a system, checked table by table (pydantic)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from icmodel.spelling import Count, Document, Factor, NotNegative, Positive, Share, Slug, Text
from icmodel.system.choices import ENDS, EVERY_LINK, Choices, Costs
from icmodel.system.tables import Kind, Name, Names, Pairing, Parts, SchedulerTable
from icmodel.usecase.document import Limit

SCHEMA_VERSION = 1


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

"""SystemDocument: the TOML document of a system, checked table by table (pydantic).

Pydantic needs each table before the one that holds it, so the whole document is at the end.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema, model_validator

from icmodel.reading import Count, Document, Factor, NotNegative, Positive, Share, Slug, Text
from icmodel.system.schedulers import Priority, SchedulerTable
from icmodel.system.traffic_sources import ProducerTable
from icmodel.usecase.document import Limit

SCHEMA_VERSION = 1
MOST_PARTS = 100_000
"""Greatest number of nodes, links and streams of a system, each, and of the cores of a device."""

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""Name of a group or of a member of one: letters, digits, ``_``, ``.`` and ``-``."""
_NAME_SCHEMA = {"type": "string", "pattern": NAME_PATTERN}
Names = Annotated[
    tuple[Name, ...],
    Field(min_length=1),
    BeforeValidator(lambda names: (names,) if isinstance(names, str) else names),
    WithJsonSchema(
        {"anyOf": [_NAME_SCHEMA, {"type": "array", "items": _NAME_SCHEMA, "minItems": 1}]}
    ),
]
"""One name, or a list of them."""
Parts = Annotated[int, Field(strict=True, ge=1, le=MOST_PARTS)]
Pairing = Literal["each", "one-to-one", "spread"]
Kind = Literal["hard", "firm", "soft"]
Forwarding = Literal["store-and-forward", "cut-through"]
Interconnect = Literal["ethernet", "infiniband", "roce", "rapidio", "plain"]

# --- nodes, links and streams -----------------------------------------------------------------


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

    ``interfaces``: number of links of each device. ``dataset``: dataset of its hosts, by default that of its
    links. ``app_send`` and ``app_recv``: time that its application adds to a frame.
    """

    interfaces: Parts = 1
    cores: Parts | None = None
    dataset: Text | None = None
    cpu_clock_ratio: Factor = 1.0
    app_send_s: NotNegative = 0.0
    app_recv_s: NotNegative = 0.0


class Switches(Nodes):
    """A group of switches.

    ``latency``: time added to each frame, besides its queues and, for store-and-forward, the reception of its
    packet. ``buffer``: size for each port.
    """

    forwarding: Forwarding
    latency_s: NotNegative
    buffer_bytes: Count | None = None


class Links(Document):
    """Cables between the members of two groups, all of the same kind.

    ``pairing``: the members that are joined: ``each`` with each, ``one-to-one``, or ``spread``, which
    distributes the larger group over the smaller. ``parallel``: number of cables that join one pair; each
    stream takes the least loaded. ``medium``: sets the propagation delay if ``propagation_s_per_m`` does
    not. Without both, the delay is that of the usual cable of the interconnect. ``interconnect``: ``plain``
    has no headers. ``mtu``: by default 1500 B on Ethernet, 4096 B on InfiniBand and RoCE, 256 B on RapidIO.
    """

    between: Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)]
    pairing: Pairing | None = None
    parallel: Parts = 1
    rate_bps: Positive
    length_m: NotNegative = 0.0
    medium: Literal["copper", "fibre"] | None = None
    propagation_s_per_m: NotNegative | None = None
    mtu_bytes: Count | None = None
    interconnect: Interconnect = "ethernet"
    dataset: Text | None = None
    description: str = ""

    @property
    def key(self) -> str:
        """Name of the table in choices: its ends."""
        return ENDS.join(self.between)


class Streams(Document):
    """Streams from the members of one or more groups to those of others.

    ``pairing``: the members that are joined, as for links. ``multicast``: each source sends one stream to
    all of its sinks, which is copied where their routes part. ``count``: streams for each pair.
    ``rate``: frames per second that the sender is set to, if it differs from the produced rate. ``window``:
    most bytes of TCP in flight unacknowledged, the lesser of its socket buffers. ``via``: switches of the
    route, if it is not the shortest. ``allowed_shortfall``: share of the produced data that need not
    arrive; by default all of it must.
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
    def _check_frame_and_window(self) -> Streams:
        if self.payload_bytes is None and self.produces.frame_bytes() is None:
            raise ValueError(
                f"a source of kind {self.produces.kind} has no frame size: give payload, such as "
                'payload = "1448 B"'
            )
        if self.window_bytes is not None and self.protocol != "tcp":
            raise ValueError(
                f"{self.protocol} has no window: leave it out, or give the protocol tcp"
            )
        return self

    def frame_bytes(self, payload_bytes: int | None) -> int:
        """Useful bytes per frame [B]: the payload if one is given, else a whole frame of the source."""
        size = self.produces.frame_bytes() if payload_bytes is None else payload_bytes
        assert size is not None  # else the document asks for a payload
        return size


class SystemLimit(Limit):
    """A requirement: a metric of a stream, or of each stream of a group, is at least or at most a limit.

    ``of``: if messages take several frames, the latency is that of the whole ``message``, from its first
    byte to its last, or that of a single ``frame``.
    """

    stream: Name | None = None
    device: Name | None = None
    of: Literal["message", "frame"] = "message"


# --- choices and costs, for `icmodel recommend` ------------------------------------------------

ALIGNED, AS_PRODUCED, WHOLE_MESSAGES = "aligned", "as-produced", "whole-messages"
EVERY_LINK = "*"
"""Key of choices that hold for all tables of links."""
ENDS = "<->"
"""Separator of the two groups in the key of a table of links."""


class StreamChoices(Document):
    """Options of a table of streams, besides its own values.

    ``payload``: sizes; ``aligned`` stands for those that fill 1, 2, 4, 8 ... packets of the protocol, within
    the measured range. ``rate``: frames per second of each sender; ``as-produced``; or ``whole-messages``,
    the rate at which each message has frames of its own.
    """

    protocol: tuple[Text, ...] = ()
    payload_bytes: tuple[Count | Literal["aligned"], ...] = ()
    rate_fps: tuple[Positive | Literal["as-produced", "whole-messages"], ...] = ()
    cores: tuple[Parts, ...] = ()
    priority: tuple[Priority, ...] = ()


class DeviceChoices(Document):
    """Options of a group of devices, besides its own values.

    ``interfaces``: number of parallel cables from each device to its only neighbour.
    """

    cores: tuple[Parts, ...] = ()
    interfaces: tuple[Parts, ...] = ()


class SwitchChoices(Document):
    """Options of a group of switches, besides its own values."""

    forwarding: tuple[Forwarding, ...] = ()
    latency_s: tuple[NotNegative, ...] = ()
    scheduler: tuple[SchedulerTable, ...] = ()


class LinkChoices(Document):
    """Options of a table of links, besides its own values."""

    rate_bps: tuple[Positive, ...] = ()
    dataset: tuple[Text, ...] = ()
    interconnect: tuple[Interconnect, ...] = ()


class Choices(Document):
    """Options by the name of a table of streams, or of a group of devices or switches.

    The name of a table of links is its ends, such as ``"camera<->switch"``; ``"*"`` stands for all links.
    """

    streams: dict[Name, StreamChoices] = Field(default_factory=dict)
    devices: dict[Name, DeviceChoices] = Field(default_factory=dict)
    switches: dict[Name, SwitchChoices] = Field(default_factory=dict)
    links: dict[Text, LinkChoices] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_links(self) -> Choices:
        if EVERY_LINK in self.links and len(self.links) > 1:
            other = next(name for name in self.links if name != EVERY_LINK)
            raise ValueError(
                f"links are chosen by {other!r} and all of them by '*': keep one of the two"
            )
        return self


class Costs(Document):
    """Costs of a system's parts, in any currency; a part without a cost is free.

    ``interface``: for each interface of a device, with ``interface_per_gbps`` added for each Gb/s of its rate.
    ``core``: for each core of a device that states its cores. ``link`` and ``link_per_m``: for each cable,
    and for each of its metres. ``switch``: for each switch.
    """

    currency: str = ""
    interface: NotNegative = 0.0
    interface_per_gbps: NotNegative = 0.0
    core: NotNegative = 0.0
    link: NotNegative = 0.0
    link_per_m: NotNegative = 0.0
    switch: NotNegative = 0.0


# --- the whole file --------------------------------------------------------------------------


class SystemDocument(Document):
    """A system: devices, switches, the links between them, and the streams over these.

    ``usecase``: name or file of a use case, whose requirements hold for the streams of the same names.
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
    def _check_choices(self) -> SystemDocument:
        there = {
            part: {table.name for table in getattr(self, part)}
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

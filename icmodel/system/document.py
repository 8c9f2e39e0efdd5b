"""SystemDocument: the TOML document of a system, checked table by table (pydantic).

Pydantic needs each table to be defined before the table that contains it. So `SystemDocument` is at the
end.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema, model_validator

from icmodel.errors import Fault, refuse
from icmodel.reading import (
    Count,
    Document,
    Factor,
    LineRate,
    NotNegative,
    Positive,
    Share,
    Slug,
    Span,
    Text,
)
from icmodel.system.schedulers import Priority, SchedulerTable
from icmodel.system.traffic_sources import ProducerTable
from icmodel.usecase.document import Limit

SCHEMA_VERSION = 1
MOST_PARTS = 100_000
"""Upper limit of each count: nodes, links and streams per system, cores and interfaces per device."""

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""Name of a group or of a group member: letters, digits, ``_``, ``.`` and ``-``."""
_NAME_SCHEMA = {"type": "string", "pattern": NAME_PATTERN}
Names = Annotated[
    tuple[Name, ...],
    Field(min_length=1),
    BeforeValidator(lambda names: (names,) if isinstance(names, str) else names),
    WithJsonSchema(
        {"anyOf": [_NAME_SCHEMA, {"type": "array", "items": _NAME_SCHEMA, "minItems": 1}]}
    ),
]
"""One name of a group or of a group member, or a list of such names."""
Parts = Annotated[int, Field(strict=True, ge=1, le=MOST_PARTS)]
Pairing = Literal["each", "one-to-one", "spread"]
Kind = Literal["hard", "firm", "soft"]
Forwarding = Literal["store-and-forward", "cut-through"]
Interconnect = Literal["ethernet", "infiniband", "roce", "rapidio", "plain"]

# --- nodes, links and streams -----------------------------------------------------------------


class PortTable(Document):
    """Scheduler of a node's ports to one neighbour, if it differs from the scheduler of the node."""

    to: Name
    scheduler: SchedulerTable


class Nodes(Document):
    """A group of equal nodes: ``camera`` with ``count = 6`` stands for ``camera-1`` to ``camera-6``."""

    name: Name
    count: Parts = 1
    description: str = ""
    scheduler: SchedulerTable | None = None
    ports: tuple[PortTable, ...] = ()


class Devices(Nodes):
    """A group of devices. Streams begin and end at devices.

    ``interfaces``: greatest number of links of each device. ``cores``: number of cores of each device.
    ``dataset``: dataset measured with such hosts, by default the dataset of their links. ``cpu_clock``: CPU clock of
    the devices, divided by the CPU clock of the dataset's hosts. ``app_send`` and ``app_recv``: time per frame that
    the application adds when it sends and when it receives. ``latency``: least and greatest time that the device
    itself adds to each frame it sends or receives, such as ``"20 us .. 50 us"``; a device with a latency needs
    no dataset. ``core_time``: least and greatest time for which each of these frames occupies a core.
    ``source``: origin of ``latency`` and ``core_time``, such as a data sheet.
    """

    interfaces: Parts = 1
    cores: Parts | None = None
    dataset: Text | None = None
    cpu_clock_ratio: Factor = 1.0
    app_send_s: NotNegative = 0.0
    app_recv_s: NotNegative = 0.0
    latency_s: Span = None
    core_time_s: Span = None
    source: str = ""

    @model_validator(mode="after")
    def _check_stated(self) -> Devices:
        faults = []
        if self.latency_s is None and self.core_time_s is not None:
            text = (
                f"the device {self.name} states core_time without latency: give latency, such as "
                'latency = "20 us .. 50 us"'
            )
            faults.append(Fault(text, ("core_time_s",), (("latency_s",),)))
        if self.latency_s is not None and not self.source:
            text = (
                f"the device {self.name} states its latency without a source: give source, such as "
                'source = "data sheet, page 3"'
            )
            faults.append(Fault(text, ("source",), (("latency_s",),)))
        if self.latency_s is not None and self.dataset is not None:
            text = (
                f"the device {self.name} has both a latency of its own and a dataset: give only one"
            )
            faults.append(Fault(text, ("dataset",), (("latency_s",),)))
        refuse(faults)
        return self


class Switches(Nodes):
    """A group of switches.

    ``latency``: time that the switch adds to each frame. Time in queues is not included, nor is the time in
    which a store-and-forward switch receives the packet. ``buffer``: size of the buffer at each port.
    """

    forwarding: Forwarding
    latency_s: NotNegative
    buffer_bytes: Count | None = None


class Links(Document):
    """Equal cables between the members of two groups.

    ``pairing``: which members are joined. ``each`` joins every member of one group with every member of the
    other. ``one-to-one`` joins the first members, the second members and so on. ``spread`` joins each member of the
    larger group with one member of the smaller group, in turn. ``parallel``: number of cables per pair; each stream
    takes the least loaded cable.

    ``propagation_s_per_m``: propagation delay of a metre of cable. If it is missing, ``medium`` sets the delay. If
    both are missing, the usual cable of the interconnect sets the delay. ``interconnect``: protocol of the
    link; a ``plain`` link has no packet headers. ``mtu``: largest packet; by default 1500 B on Ethernet, 4096 B
    on InfiniBand and RoCE, 256 B on RapidIO.
    """

    between: Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)]
    pairing: Pairing | None = None
    parallel: Parts = 1
    rate_bps: LineRate
    length_m: NotNegative = 0.0
    medium: Literal["copper", "fibre"] | None = None
    propagation_s_per_m: NotNegative | None = None
    mtu_bytes: Count | None = None
    interconnect: Interconnect = "ethernet"
    dataset: Text | None = None
    description: str = ""

    @property
    def key(self) -> str:
        """Name by which ``choices`` refers to this ``[[links]]`` table: both groups, such as ``camera<->switch``."""
        return ENDS.join(self.between)


class Streams(Document):
    """Streams from the members of source groups to the members of sink groups.

    ``pairing``: which source sends to which sink; ``each``, ``one-to-one`` or ``spread``, as for cables
    (``[[links]]``). ``multicast``: each source sends one stream to all of its sinks; switches copy the stream
    where routes part. ``count``: number of streams per pair.

    ``produces``: traffic source. ``payload``: useful bytes of each frame. ``rate``: frames per second, as set at
    the sender. The sender sends the frames of a message at this rate, but on average no more frames than the source
    produces. ``window``: TCP window, the greatest number of unacknowledged bytes. It is the smaller of the
    sender's and the receiver's socket buffer. ``cores``: number of parallel processes at each end.
    ``options``: options of the dataset, such as ``nagle``.

    ``priority``: 0 to 7; 7 is the most urgent. ``kind``: kind of deadline, shown in reports. ``via``: switches
    of the route, if the route is not the shortest. ``allowed_shortfall``: share of the produced data that need
    not arrive; by default all data must arrive.
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
        faults = []
        if self.payload_bytes is None and self.produces.frame_bytes() is None:
            text = (
                f"a source of kind {self.produces.kind} has no frame size: give payload, such as "
                'payload = "1448 B"'
            )
            faults.append(Fault(text, ("payload_bytes",), (("produces",),)))
        if self.window_bytes is not None and self.protocol != "tcp":
            text = f"the protocol {self.protocol} has no window: leave window out, or give the protocol tcp"
            faults.append(Fault(text, ("window_bytes",), (("protocol",),)))
        if self.multicast and self.protocol == "tcp":
            text = (
                "a connection of tcp has one receiver, so it has no multicast: leave multicast out, or give "
                "the protocol udp"
            )
            faults.append(Fault(text, ("multicast",), (("protocol",),)))
        refuse(faults)
        return self

    def frame_bytes(self, payload_bytes: int | None) -> int:
        """Useful bytes per frame [B]: the payload if given, otherwise the frame size of the source."""
        size = self.produces.frame_bytes() if payload_bytes is None else payload_bytes
        assert size is not None  # the validator refuses a table without a size
        return size


class SystemLimit(Limit):
    """A requirement: a limit on a metric of a stream, a group of streams, or a device.

    ``of``: kind of latency that is limited, if messages take several frames. ``message`` is the time from the
    first byte of a message to the last byte. ``frame`` is the latency of a single frame.
    """

    stream: Name | None = None
    device: Name | None = None
    of: Literal["message", "frame"] = "message"


# --- choices and costs, for `icmodel recommend` ------------------------------------------------

ALIGNED, AS_PRODUCED, WHOLE_MESSAGES = "aligned", "as-produced", "whole-messages"
EVERY_LINK = "*"
"""Key in ``choices.links`` that stands for all tables of links."""
ENDS = "<->"
"""Separator between the two group names in the key of a table of links."""


class StreamChoices(Document):
    """Alternative values that `icmodel recommend` tries for a table of streams, besides the table's own values.

    ``payload``: sizes. ``aligned`` stands for the sizes that fill 1, 2, 4, 8 ... packets of the
    protocol, within the measured range. ``rate``: frames per second of each sender. ``as-produced`` sets no rate
    at the sender. ``whole-messages`` sets a rate of one message per period, with a whole number of frames per
    message, so that no frame contains parts of two messages.
    """

    protocol: tuple[Text, ...] = ()
    payload_bytes: tuple[Count | Literal["aligned"], ...] = ()
    rate_fps: tuple[Positive | Literal["as-produced", "whole-messages"], ...] = ()
    cores: tuple[Parts, ...] = ()
    priority: tuple[Priority, ...] = ()


class DeviceChoices(Document):
    """Alternative values that `icmodel recommend` tries for a group of devices, besides the table's own values.

    ``interfaces``: number of parallel cables from each device to its only neighbour.
    """

    cores: tuple[Parts, ...] = ()
    interfaces: tuple[Parts, ...] = ()


class SwitchChoices(Document):
    """Alternative values that `icmodel recommend` tries for a group of switches, besides the table's own."""

    forwarding: tuple[Forwarding, ...] = ()
    latency_s: tuple[NotNegative, ...] = ()
    scheduler: tuple[SchedulerTable, ...] = ()


class LinkChoices(Document):
    """Alternative values that `icmodel recommend` tries for a table of links, besides the table's own."""

    rate_bps: tuple[LineRate, ...] = ()
    dataset: tuple[Text, ...] = ()
    interconnect: tuple[Interconnect, ...] = ()


class Choices(Document):
    """Alternatives for `icmodel recommend`: name of a table -> its alternative values.

    A table of links is named by its two groups, such as ``"camera<->switch"``. ``"*"`` stands for all
    links.
    """

    streams: dict[Name, StreamChoices] = Field(default_factory=dict)
    devices: dict[Name, DeviceChoices] = Field(default_factory=dict)
    switches: dict[Name, SwitchChoices] = Field(default_factory=dict)
    links: dict[Text, LinkChoices] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_links(self) -> Choices:
        if EVERY_LINK in self.links and len(self.links) > 1:
            other = next(name for name in self.links if name != EVERY_LINK)
            text = f"choices.links has both {other!r} and '*', which stands for all links: keep one of the two"
            refuse([Fault(text, ("links", other))])
        return self


class Costs(Document):
    """Costs of a system's parts, in any currency; a part without a cost is free.

    ``interface``: cost of each interface of a device. ``interface_per_gbps``: added cost for each Gb/s
    of the interface's rate. ``core``: cost of each core, for devices that state their cores. ``link``:
    cost of each cable. ``link_per_m``: added cost for each metre of cable. ``switch``: cost of each
    switch.
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
    """A system: devices, switches, the links between them, and the streams over the links.

    ``usecase``: name or file of a use case. Its requirements hold for the streams of the same names.
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
        refuse(
            Fault(
                f"choices.{part} names {name!r}, but no table of {part} has this name: use one of "
                f"{', '.join(sorted(known)) or 'none'}",
                ("choices", part, name),
                ((part, None, "between" if part == "links" else "name"), (part, name)),
                cause=f"no {part} {name}",
            )
            for part, known in there.items()
            for name in getattr(self.choices, part, ())
            if name not in known
        )
        return self

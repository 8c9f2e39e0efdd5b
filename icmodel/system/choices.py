"""Choices: what a designer may still choose in a system, and the costs of its parts (tables, in pydantic)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from icmodel.spelling import Count, Document, NotNegative, Positive, Text
from icmodel.system.tables import Name, Parts, Priority, SchedulerTable

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

"""Choices: what a designer may still choose in a system, and what things cost (tables, in pydantic)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Literal

from pydantic import Field, model_validator

from icmodel.spelling import Count, Document, NotNegative, Positive, Text
from icmodel.system.tables import Name, Priority, SchedulerTable

ALIGNED, AS_PRODUCED, WHOLE_MESSAGES = "aligned", "as-produced", "whole-messages"
EVERY_LINK = "*"
"""The key of choices that all tables of links take alike."""
ENDS = "<->"
"""Between the two groups of a table of links, in its key."""


class StreamChoices(Document):
    """What may be chosen for a table of streams, beside what it says itself.

    ``payload``: sizes, and ``aligned`` for those that fill 1, 2, 4, 8 ... packets of the protocol, as far as it was
    measured. ``rate``: frames per second its senders are set to; ``as-produced``; or ``whole-messages``: as many
    as when each message takes frames of its own.
    """

    protocol: tuple[Text, ...] = ()
    payload_bytes: tuple[Count | Literal["aligned"], ...] = ()
    rate_fps: tuple[Positive | Literal["as-produced", "whole-messages"], ...] = ()
    cores: tuple[Count, ...] = ()
    priority: tuple[Priority, ...] = ()


class DeviceChoices(Document):
    """What may be chosen for a group of devices, beside what it says itself.

    ``interfaces``: how many cables in parallel join each to its only neighbour.
    """

    cores: tuple[Count, ...] = ()
    interfaces: tuple[Count, ...] = ()


class SwitchChoices(Document):
    """What may be chosen for a group of switches, beside what it says itself."""

    forwarding: tuple[Literal["store-and-forward", "cut-through"], ...] = ()
    latency_s: tuple[NotNegative, ...] = ()
    scheduler: tuple[SchedulerTable, ...] = ()


class LinkChoices(Document):
    """What may be chosen for a table of links, beside what it says itself."""

    rate_bps: tuple[Positive, ...] = ()
    dataset: tuple[Text, ...] = ()
    interconnect: tuple[Literal["ethernet", "infiniband", "roce", "rapidio", "plain"], ...] = ()


class Choices(Document):
    """What may still be chosen, by name of the table of streams, the group of devices or of switches.

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

    def unknown(self, there: Mapping[str, Set[str]]) -> Iterator[str]:
        """A sentence for each name that no table of the file has.

        Parameters
        ----------
        there : mapping
            Names of tables, by the key here.
        """
        for part, known in there.items():
            allowed = {*known, EVERY_LINK} if part == "links" else known
            chosen: Mapping[str, object] = getattr(self, part)
            for name in chosen:
                if name not in allowed:
                    yield (
                        f"choices.{part} names {name!r}, which no table of {part} is: name one of "
                        f"{', '.join(sorted(allowed)) or 'none'}"
                    )


class Costs(Document):
    """What things cost, in any currency; what is not said costs nothing.

    ``interface`` of a device; ``interface_per_gbps`` more for each Gb/s of its rate; ``core`` of a device
    whose cores are said; ``link`` and ``link_per_m`` of a cable; ``switch``.
    """

    currency: str = ""
    interface: NotNegative = 0.0
    interface_per_gbps: NotNegative = 0.0
    core: NotNegative = 0.0
    link: NotNegative = 0.0
    link_per_m: NotNegative = 0.0
    switch: NotNegative = 0.0

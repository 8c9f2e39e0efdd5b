"""One class of packets at one server: who waits there, what comes, how long each may wait."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from icmodel.system.bounds.curves import Arrival, Service
from icmodel.system.bounds.deviations import backlog_bits, busy_s, delay_s, left_by_fifo
from icmodel.system.bounds.network import Server
from icmodel.system.bounds.traffic import ClassTraffic


@dataclass(frozen=True, slots=True)
class Stage:
    """Packets of one or more flows at one server, and what may come of them there.

    Flows of one path and class are one stage a server, so what is worked out for one serves all of
    them; copies of a multicast are one stage as long as their paths agree.

    Attributes
    ----------
    before
        Number of the stage that they come from; None at the source.
    link
        The server that they come from; None at the source.
    """

    number: int
    before: int | None
    link: str | None
    flows: tuple[str, ...]
    arrival: Arrival
    max_packet_bits: float
    min_packet_bits: float
    mean_packet_bits: float = 0.0
    lacking_bits: float = 0.0


@dataclass(frozen=True)
class Queue:
    """The stages of one class at one server, what comes of them all, and what they get.

    Each of ``services`` is sound by itself. A bound is the least of those that they give, so that one more
    flow never changes a choice to a lower bound.
    """

    server: Server
    stages: Mapping[int, Stage]
    coming: Arrival
    services: tuple[Service, ...]

    @cached_property
    def links(self) -> dict[str | None, frozenset[int]]:
        """Numbers of stages by the server that they come from."""
        return by_link(self.stages.values())

    @cached_property
    def traffic(self) -> ClassTraffic:
        """What a scheduler wants to know of the class."""
        stages = self.stages.values()
        return ClassTraffic(
            self.coming,
            max(stage.max_packet_bits for stage in stages),
            min(stage.min_packet_bits for stage in stages),
            min(max(stage.mean_packet_bits, stage.min_packet_bits) for stage in stages),
            math.fsum(stage.lacking_bits for stage in stages),
        )

    @cached_property
    def in_order(self) -> bool:
        """Whether all of the queue is served first come, first served."""
        flows = sum(len(stage.flows) for stage in self.stages.values())
        return self.server.keeps_order or flows == 1

    @property
    def backlog_bits(self) -> float:
        """What may be there of the class, in bits.

        A packet counts whole from its arrival to its last bit's departure: one packet more than the
        curves say (the packetizer; Le Boudec and Thiran, theorem 1.7.1).
        """
        waiting = min(backlog_bits(self.coming, one) for one in self.services)
        return waiting + self.traffic.max_packet_bits

    def left_for(self, own: Arrival, others: Arrival) -> list[Service]:
        """What others in the queue leave to a part of it, of each of the services."""
        if self.in_order:
            return [left_by_fifo(one, others, own) for one in self.services]
        return [one.minus(others) for one in self.services]

    def wait_s(self, min_packet_bits: float) -> float:
        """Greatest time from a packet's arrival to the start of its own time on the line.

        In order, what was there before a packet of l bits is ``alpha - l``, and the packet itself is
        sent at the line's rate once begun (Mohammadpour, Stai, Le Boudec, IEEE Networking Letters 1,
        2019, arXiv 1905.04956). A short packet waits longest. Where the line's rate is not known,
        the time on it is part of the wait.
        """
        if not self.in_order:
            busy = min(busy_s(self.coming, one) for one in self.services)
            return max(0.0, busy - self.server.packet_s(min_packet_bits))
        before = self.coming.raised(-min_packet_bits if self.server.line_rate_bps else 0.0)
        return min(delay_s(before, one) for one in self.services)


def by_link(stages: Iterable[Stage]) -> dict[str | None, frozenset[int]]:
    """Numbers of stages by the server that they come from."""
    found: dict[str | None, set[int]] = {}
    for stage in stages:
        found.setdefault(stage.link, set()).add(stage.number)
    return {link: frozenset(numbers) for link, numbers in found.items()}

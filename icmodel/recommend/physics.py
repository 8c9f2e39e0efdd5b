"""Physics: messages that no choice of streams can bring over a network in time, since their bits alone take too long.

Samples of a cycle are taken at the same time. So the last message that leaves a port arrives no sooner than the
bits of all messages take at its rate, and a bit through all cables of its path; headers, switches and hosts add to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from icmodel import units
from icmodel.estimate import json_of
from icmodel.system import Stream, System, Wanted
from icmodel.system.prediction.judging import whole_message

SAMPLES = "samples"
LATENCIES = ("message_latency_s", "latency_max_s")
"""Metrics that the last message of a cycle decides."""


@dataclass(frozen=True, slots=True)
class TooLate:
    """A requirement that a port cannot meet, whatever the streams are.

    Parameters
    ----------
    bits : float
        Bits of one cycle's messages that leave the port.
    rate_bps : float
        Rate of the port [b/s].
    cable_m, cable_s : float
        All cables of the last message's path [m], and the propagation through them [s].
    limit_s : float
        Time in which all must arrive [s].
    total_bits : float
        Bits of all messages of the group in one cycle, over all ports.
    """

    requirement: str
    group: str
    port: str
    bits: float
    rate_bps: float
    cable_m: float
    cable_s: float
    limit_s: float
    total_bits: float

    @property
    def least_s(self) -> float:
        """The least time of all the bits [s]."""
        return self.bits / self.rate_bps + self.cable_s

    def sentences(self) -> tuple[str, ...]:
        """The calculation: for this port, and for all ports together if one link were to carry all."""
        limit, rate = units.format_seconds(self.limit_s), units.format_bps(self.rate_bps)
        cable = f"{units.format_metres(self.cable_m)} of cable take {units.format_seconds(self.cable_s, 4)} of it"
        left = self.limit_s - self.cable_s
        leave = f", which leaves {units.format_bps(self.bits / left, 4)}" if left > 0 else ""
        own = (
            f"{self.group}: {units.format_bits(self.bits)} leave {self.port} at once and have {limit}, "
            f"which is {units.format_bps(self.bits / self.limit_s, 4)} of {rate}; {cable}{leave}"
        )
        if self.total_bits <= self.bits:
            return (own,)
        total = units.format_bps(self.total_bits / self.limit_s, 4)
        sign = ">" if self.total_bits / self.limit_s > self.rate_bps else "of"
        return (
            f"{self.group}: over one link all {units.format_bits(self.total_bits)} in {limit} were "
            f"{total} {sign} {rate}",
            own,
        )

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "requirement": self.requirement,
            "streams": self.group,
            **json_of(self, "port", "bits", "rate_bps", "cable_m", "cable_s"),
            **json_of(self, "limit_s", "least_s", "total_bits"),
        }


def too_late(system: System) -> tuple[TooLate, ...]:
    """For each requirement that a port cannot meet, the port that is latest."""
    found: dict[str, TooLate] = {}
    for one in _late(system):
        known = found.get(one.requirement)
        if known is None or one.least_s > known.least_s:
            found[one.requirement] = one
    return tuple(found.values())


def _late(system: System) -> Iterator[TooLate]:
    at = system.streams_by_port()
    for wanted in system.requirements:
        limit = wanted.requirement
        if limit.metric not in LATENCIES or limit.at_most is None or wanted.device is not None:
            continue
        about = {
            one.sent_as: one
            for one in system.streams.values()
            if wanted.stream in (one.name, one.group) and _one_cycle(one, wanted)
        }
        total = sum(map(_bits, about.values()))
        for port, streams in at.items():
            here = [one for one in streams if one.sent_as in about]
            if not here:
                continue
            nearest = min(here, key=system.cables_s)
            late = TooLate(
                limit.name,
                wanted.stream,
                port,
                sum(map(_bits, here)),
                system.ports[port].rate_bps,
                sum(link.length_m for link in system.links_of(nearest)),
                system.cables_s(nearest),
                limit.at_most,
                total,
            )
            if late.least_s > limit.at_most:
                yield late


def _one_cycle(stream: Stream, wanted: Wanted) -> bool:
    """Whether all messages of the group are made at the same time, and the requirement includes their waiting."""
    made = stream.producer
    return made is not None and made.kind == SAMPLES and whole_message(stream, wanted)


def _bits(stream: Stream) -> float:
    return 0.0 if stream.producer is None else stream.producer.message_bytes * 8

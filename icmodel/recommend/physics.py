"""Physical limits: find latency requirements that cannot be met, since transmission and propagation alone take longer.

All samples of a cycle are taken at the same time, and a port sends their messages one after another. So the last message
waits for all others. Its latency is at least the transmission time of all messages plus the propagation delay of the
path. Headers, switches and hosts add further delay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from icmodel import units
from icmodel.documents import json_of
from icmodel.system import System
from icmodel.system.network import MESSAGE
from icmodel.system.prediction.result import MESSAGE_LATENCY

SAMPLES = "samples"
LATENCIES = ("message_latency_s", "latency_max_s")
"""Latency metrics determined by the last message of a cycle."""


@dataclass(frozen=True, slots=True)
class TooLate:
    """Latency requirement that no choice can meet, since a port needs too long for the messages of a cycle.

    The requirement applies to a group of streams. In a cycle, each stream of the group sends one message, all at the
    same time.

    Parameters
    ----------
    bits : float
        Bits of these messages that leave the port in one cycle.
    rate_bps : float
        Rate of the port [b/s].
    cable_m, cable_s : float
        Total cable length of the shortest path of these messages [m], and the propagation delay of this path [s].
    limit_s : float
        Time limit for the arrival of all messages [s].
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
        """Least possible time [s]: the transmission of all messages, plus the propagation over the cables."""
        return self.bits / self.rate_bps + self.cable_s

    def sentences(self) -> tuple[str, ...]:
        """Return one or two sentences on why the requirement cannot be met: the needed rate, and the rate of the port.

        The last sentence states the rate that the messages through one port need. If the group of streams also sends
        through other ports, a first sentence states the rate that all its messages would need over a single link.
        """
        limit, rate = units.format_seconds(self.limit_s), units.format_bps(self.rate_bps)
        cable = f"{units.format_metres(self.cable_m)} of cable take {units.format_seconds(self.cable_s, 4)} of this time"
        left = self.limit_s - self.cable_s
        leave = f", so {units.format_bps(self.bits / left, 4)} are needed" if left > 0 else ""
        own = (
            f"{self.group}: {units.format_bits(self.bits)} through {self.port} within {limit} need "
            f"{units.format_bps(self.bits / self.limit_s, 4)} of {rate}; {cable}{leave}"
        )
        if self.total_bits <= self.bits:
            return (own,)
        total = units.format_bps(self.total_bits / self.limit_s, 4)
        sign = "more than" if self.total_bits / self.limit_s > self.rate_bps else "of"
        return (
            f"{self.group}: all {units.format_bits(self.total_bits)} over one link within {limit} would need "
            f"{total}{',' if sign != 'of' else ''} {sign} {rate}",
            own,
        )

    def to_dict(self) -> dict[str, object]:
        """Convert this requirement and its calculation to a dictionary for JSON."""
        return {
            "requirement": self.requirement,
            "streams": self.group,
            **json_of(self, "port", "bits", "rate_bps", "cable_m", "cable_s"),
            **json_of(self, "limit_s", "least_s", "total_bits"),
        }


def too_late(system: System) -> tuple[TooLate, ...]:
    """Find the latency requirements that a system cannot meet, whatever options its streams have.

    These are requirements on whole messages of streams whose messages of a cycle are all made at the same time. Such a
    requirement cannot be met if a port on their paths takes longer than the limit to send these messages, propagation
    included. It is returned with the port that takes longest.
    """
    found: dict[str, TooLate] = {}
    streams_by_port = system.streams_by_port()
    for wanted in system.requirements:
        limit = wanted.requirement
        if limit.metric not in LATENCIES or limit.at_most is None or wanted.device is not None:
            continue
        bits = {
            stream.multicast_key: stream.producer.message_bytes * 8
            for stream in system.streams.values()
            if wanted.stream in (stream.name, stream.group)
            and stream.producer is not None
            and stream.producer.kind == SAMPLES  # all messages are made at the same time
            and (
                limit.metric == MESSAGE_LATENCY or wanted.of == MESSAGE
            )  # a limit on frames does not limit a message of several frames
        }
        for port, streams in streams_by_port.items():
            here = [stream for stream in streams if stream.multicast_key in bits]
            if not here:
                continue
            nearest = min(here, key=system.propagation_s)
            late = TooLate(
                limit.name,
                wanted.stream,
                port,
                sum(bits[stream.multicast_key] for stream in here),
                system.ports[port].rate_bps,
                sum(link.length_m for link in system.links_of(nearest)),
                system.propagation_s(nearest),
                limit.at_most,
                sum(bits.values()),
            )
            known = found.get(limit.name)
            if late.least_s > limit.at_most and (known is None or late.least_s > known.least_s):
                found[limit.name] = late
    return tuple(found.values())


def too_late_everywhere(systems: Iterable[System]) -> tuple[TooLate, ...]:
    """Find the latency requirements that none of several systems can meet, whatever the options of their streams.

    The systems are variants of one network. Each requirement is returned with the numbers of the system that comes
    nearest to it: the one with the least delay. The requirements are sorted by name.
    """
    late = [too_late(system) for system in systems]
    names = set.intersection(*({one.requirement for one in some} for some in late))
    best: dict[str, TooLate] = {}
    for one in (one for some in late for one in some if one.requirement in names):
        if one.requirement not in best or one.least_s < best[one.requirement].least_s:
            best[one.requirement] = one
    return tuple(best[name] for name in sorted(best))

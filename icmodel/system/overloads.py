"""Overloads: ports whose load exceeds their rate, on average or while messages are due."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.system.loads import Load, loads
from icmodel.system.network import System
from icmodel.system.serving import greatest_rate_bps

TOLERANCE = 1e-9
"""Relative rounding error of sums of rates."""


@dataclass(frozen=True, slots=True)
class Overload:
    """A port whose load exceeds its rate.

    Parameters
    ----------
    load : Load
        Of all its streams, or of those of one priority.
    asked_bps, most_bps : float
        The load, and the most that the port can send [b/s].
    within_s : float
        Time in which messages are due [s] that exceeds the rate; 0 if the average does.
    priority : int, optional
        The priority whose share of the port is exceeded; ``None`` for all streams of the port.
    """

    load: Load
    asked_bps: float
    most_bps: float
    within_s: float = 0.0
    priority: int | None = None

    @property
    def ratio(self) -> float:
        """Load over the most that the port can send."""
        return self.asked_bps / self.most_bps

    @property
    def beyond_allowed(self) -> bool:
        """Whether the port cannot even send what must arrive, on average."""
        shares = zip(self.load.streams, self.load.rates_bps, strict=True)
        must = sum(rate * (1 - stream.allowed_shortfall_ratio) for stream, rate in shares)
        return _beyond(must, self.most_bps)

    @property
    def when(self) -> str:
        """The priority, or the time in which messages are due; empty for the average of all streams."""
        if self.within_s:
            time = units.format_seconds(self.within_s, 4)
            return f" within {time} where all messages come at once"
        return "" if self.priority is None else f" at the priority {self.priority}"

    def sentence(self, system: System) -> str:
        """A sentence with names, load and rate, and what to do."""
        port, streams = self.load.port, self.load.streams
        interface = port.node in system.devices or port.peer in system.devices
        device = port.node if port.node in system.devices else port.peer
        at = f"the interface of {device} at {port.name}" if interface else f"the link {port.name}"
        more = f" and {len(streams) - 1} more" if streams[1:] else ""
        return (
            f"{at} must carry {units.format_bps(self.asked_bps, 4)} of its "
            f"{units.format_bps(self.most_bps, 4)}{self.when} for the stream {streams[0].name}{more}: "
            "give it a higher rate, or the streams less to carry"
        )


def overloads(system: System) -> Iterator[Overload]:
    """The overload of each port that has one: the first of average, due messages and priorities."""
    for load in loads(system):
        yield from _overload(load)


def _overload(load: Load) -> Iterator[Overload]:
    rate = load.port.rate_bps
    if _beyond(load.mean_bps, rate):
        yield Overload(load, load.mean_bps, rate)
    elif _beyond(load.due_bps, rate):
        yield Overload(load, load.due_bps, rate, within_s=load.due_s)
    else:
        yield from _of_priorities(load)


def _of_priorities(load: Load) -> Iterator[Overload]:
    """Overloads of priorities that their scheduler limits to less than the port's rate."""
    port = load.port
    for priority in sorted({stream.priority for stream in load.streams}):
        most = greatest_rate_bps(port.scheduler, priority, port.rate_bps)
        if not 0 < most < port.rate_bps:
            continue
        asked = zip(load.streams, load.rates_bps, strict=True)
        here = [(stream, rate) for stream, rate in asked if stream.priority == priority]
        streams, rates = zip(*here, strict=True)
        own = replace(load, streams=streams, rates_bps=rates, mean_bps=sum(rates))
        if _beyond(own.mean_bps, most):
            yield Overload(own, own.mean_bps, most, priority=priority)


def _beyond(asked_bps: float, most_bps: float) -> bool:
    return asked_bps > most_bps * (1 + TOLERANCE)

"""Schedulers: the order in which a port sends its queued frames.

A stream has a priority from 0 to 7; 7 is the most urgent. The priority is the stream's class at every port.
Priorities are the priority code points of IEEE 802.1Q-2022 §6.9.3, in numerical order. Schedulers choose
among packets, which are Ethernet frames with preamble and gap. Within a class, packets are sent in order of
arrival. No scheduler interrupts a packet on the wire (no preemption). The next packet begins after the gap.

Each class of this module is both a table of a system file and a Python value. In Python, ``kind`` has a
default, and a wrong value raises `pydantic.ValidationError`.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import Annotated, ClassVar, Literal

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from icmodel.reading import Count, Document, Positive
from icmodel.system.sharing.allocation import EXPEDITED, EXPEDITED_SHARE

PRIORITIES = range(8)
"""Priorities of streams, 0 to 7, which are the classes of a port; 7 is the most urgent."""
Priority = Annotated[int, Field(ge=0, le=7)]


class PortScheduler(Document):
    """Base class of the schedulers of a port; by default, a scheduler sends frames of every priority."""

    name: ClassVar[str]
    """Name of the scheduler in words."""

    def serves(self, priority: int) -> bool:
        """Whether the scheduler ever sends frames of the given priority."""
        return True

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """JSON Schema of the table; ``kind`` is required in files, although it has a default in Python."""
        schema = super().__get_pydantic_json_schema__(core, handler)
        schema["required"] = ["kind", *schema["required"]]
        del schema["properties"]["kind"]["default"]
        return schema


class Fifo(PortScheduler):
    """FIFO scheduler: frames are sent in order of arrival, whatever their priority."""

    kind: Literal["fifo"] = "fifo"
    name: ClassVar[str] = "FIFO"


class StrictPriority(PortScheduler):
    """Strict-priority scheduler: the most urgent waiting frame goes first; a frame that is being sent is not interrupted."""

    kind: Literal["strict-priority"] = "strict-priority"
    name: ClassVar[str] = "strict priority"


class WeightedRoundRobin(PortScheduler):
    """Weighted round robin: the weight of a priority limits its packets per turn, ``weights = { 5 = 7, 1 = 2 }``.

    The length of the packets does not matter. A priority without packets skips its turn, and saves
    nothing for later.
    """

    kind: Literal["wrr"] = "wrr"
    weights: Annotated[dict[Priority, Count], Field(min_length=1)]
    name: ClassVar[str] = "weighted round robin"

    def serves(self, priority: int) -> bool:
        """Whether the scheduler ever sends frames of the given priority."""
        return priority in self.weights


class DeficitRoundRobin(PortScheduler):
    """Deficit round robin: a priority gets a quantum of bytes per turn, ``quanta = { 5 = "9 kB", 1 = "3 kB" }``.

    A priority keeps the rest of its quantum while packets wait, and loses the rest when its queue empties (M.
    Shreedhar and G. Varghese, Efficient fair queuing using deficit round-robin, IEEE/ACM Trans. Networking 4,
    1996). Schedulers that keep the rest when the queue empties are not covered: they may delay other
    priorities longer.
    """

    kind: Literal["drr"] = "drr"
    quanta_bytes: Annotated[dict[Priority, Count], Field(min_length=1)]
    name: ClassVar[str] = "deficit round robin"

    def serves(self, priority: int) -> bool:
        """Whether the scheduler ever sends frames of the given priority."""
        return priority in self.quanta_bytes


class CreditBased(PortScheduler):
    """Credit-based shaper: strict priority, but a shaped priority needs credit, ``idle_slopes = { 6 = "20 Mb/s" }``.

    A packet may begin if the credit is not negative. All its bits cost credit, including gap and
    preamble. The idle slope is the rate at which credit grows (IEEE 802.1Q-2022 §8.6.8.2). If nothing
    waits, positive credit is lost, and negative credit grows back to 0.
    """

    kind: Literal["cbs"] = "cbs"
    idle_slopes_bps: Annotated[dict[Priority, Positive], Field(min_length=1)]
    name: ClassVar[str] = "credit-based shaper"


class Window(Document):
    """One window in the cycle of gates: its duration, and the priorities that may send (``open``)."""

    open: Annotated[tuple[Priority, ...], Field(min_length=1)]
    duration_s: Positive


class Gates(PortScheduler):
    """Time gates: each window of a repeated cycle opens for its priorities, which then send by strict priority.

    This is the gate control list of IEEE 802.1Q-2022 §8.6.8.4 (formerly 802.1Qbv). A packet begins only
    if it ends, gap included, before its gate closes. Do not use this scheduler for ports whose packets may
    overrun their window. For a guard band, add a window with a priority that no stream has.
    """

    kind: Literal["gates"] = "gates"
    windows: Annotated[tuple[Window, ...], Field(min_length=1)]
    name: ClassVar[str] = "time gates"

    @property
    def cycle_s(self) -> float:
        """Duration of one cycle: all windows together [s]."""
        return sum(window.duration_s for window in self.windows)

    def closed_s(self, priority: int, packet_s: float = 0.0) -> list[float]:
        """Closed times of a priority's gate within one cycle [s], one for each time that the gate closes.

        An opening that is shorter than the packet counts as closed. The result is ``[inf]`` if no packet ever passes.

        Parameters
        ----------
        packet_s : float
            Time to send the packet [s].

        Examples
        --------
        >>> windows = (Window(open=(7,), duration_s=2.0), Window(open=(0,), duration_s=3.0))
        >>> Gates(windows=windows).closed_s(7)
        [3.0]
        >>> Gates(windows=windows).closed_s(7, packet_s=2.5)
        [inf]
        """
        is_open = [priority in window.open for window in self.windows]
        if all(is_open):
            return []
        opens = [k for k, now in enumerate(is_open) if now and not is_open[k - 1]]
        if not opens:
            return [math.inf]
        cycle = (*self.windows[opens[0] :], *self.windows[: opens[0]])
        closings, before_s = list[float](), 0.0
        for open_now, windows in groupby(cycle, lambda window: priority in window.open):
            duration_s = sum(window.duration_s for window in windows)
            if open_now and duration_s >= packet_s:
                closings.append(0.0)
            elif closings:
                closings[-1] += duration_s
            else:
                before_s += duration_s
        if not closings:
            return [math.inf]
        closings[-1] += before_s
        return closings

    def serves(self, priority: int) -> bool:
        """Whether the scheduler ever sends frames of the given priority."""
        return any(priority in window.open for window in self.windows)

    def open_together(self, one: int, other: int) -> bool:
        """Whether the gates of two priorities are ever open at the same time."""
        return any({one, other} <= set(window.open) for window in self.windows)


class Dscp(PortScheduler):
    """DSCP scheduler: expedited (ef) and assured (af) forwarding, ``classes = { 5 = "ef", 1 = "af1" }``.

    The shares of the classes were measured on a switch with factory settings (thesis IC2012, §6.5.3).
    Priorities without a class are best effort.
    """

    kind: Literal["dscp"] = "dscp"
    classes: Annotated[
        dict[Priority, Literal["ef", "af1", "af2", "af3", "af4"]], Field(min_length=1)
    ]
    name: ClassVar[str] = "DSCP as measured"


Scheduler = (
    Fifo | StrictPriority | WeightedRoundRobin | DeficitRoundRobin | CreditBased | Gates | Dscp
)
SchedulerTable = Annotated[Scheduler, Field(discriminator="kind")]
SCHEDULERS = ("fifo", "strict-priority", "wrr", "drr", "cbs", "gates", "dscp")


def greatest_rate_bps(scheduler: Scheduler, priority: int, rate_bps: float) -> float:
    """Greatest average rate of a priority at a port of a given rate [b/s].

    A shaped class is limited to its idle slope (IEEE 802.1Q-2022 Annex L). A gated class is limited to
    the share of the cycle in which its gate is open. Expedited forwarding (scheduler ``dscp``) is
    limited to 5.5 / 9.4 of the rate, the greatest share that was measured (thesis IC2012, §6.5.3).

    Examples
    --------
    >>> greatest_rate_bps(CreditBased(idle_slopes_bps={6: 20e6}), 6, 1e9)
    20000000.0
    """
    match scheduler:
        case CreditBased(idle_slopes_bps=slopes):
            return min(slopes.get(priority, rate_bps), rate_bps)
        case Gates(windows=windows):
            open_s = (window.duration_s for window in windows if priority in window.open)
            return rate_bps * sum(open_s) / scheduler.cycle_s
        case Dscp(classes=classes) if classes.get(priority) == EXPEDITED:
            return EXPEDITED_SHARE * rate_bps
        case _:
            return rate_bps

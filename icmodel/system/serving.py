"""The scheduler of a document's table, and the greatest rate of a priority."""

from __future__ import annotations

from types import MappingProxyType

from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Dscp,
    Fifo,
    Gates,
    Scheduler,
    StrictPriority,
    WeightedRoundRobin,
    Window,
)
from icmodel.system.sharing.disciplines import EXPEDITED, EXPEDITED_SHARE
from icmodel.system.tables import (
    CreditTable,
    DeficitTable,
    DscpTable,
    GatesTable,
    SchedulerTable,
    StrictPriorityTable,
    WeightedTable,
)


def scheduler(table: SchedulerTable) -> Scheduler:
    """The scheduler of a table."""
    match table:
        case StrictPriorityTable():
            return StrictPriority()
        case WeightedTable():
            return WeightedRoundRobin(MappingProxyType(dict(table.weights)))
        case DeficitTable():
            return DeficitRoundRobin(MappingProxyType(dict(table.quanta_bytes)))
        case CreditTable():
            return CreditBased(MappingProxyType(dict(table.idle_slopes_bps)))
        case GatesTable():
            windows = (Window(one.duration_s, one.open) for one in table.windows)
            return Gates(tuple(windows))
        case DscpTable():
            return Dscp(MappingProxyType(dict(table.classes)))
        case _:
            return Fifo()


def greatest_rate_bps(served: Scheduler, priority: int, rate_bps: float) -> float:
    """Greatest average rate of a priority at a port of a given rate [b/s].

    A shaped class is limited to its idle slope (IEEE 802.1Q-2022 Annex L), gates to the share of the cycle in
    which they are open; expedited forwarding had 5.5 of 9.4 Gb/s at most (IC2012 §6.5.3).
    """
    if isinstance(served, CreditBased):
        return min(served.idle_slopes_bps.get(priority, rate_bps), rate_bps)
    if isinstance(served, Gates):
        windows = (one.duration_s for one in served.windows if priority in one.priorities)
        return rate_bps * sum(windows) / served.cycle_s
    if isinstance(served, Dscp) and served.classes.get(priority) == EXPEDITED:
        return EXPEDITED_SHARE * rate_bps
    return rate_bps

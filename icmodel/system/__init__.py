"""Whole systems: many streams between many devices, over links, switches and priorities.

``document`` (the tables, in pydantic) -> ``expansion`` (``groups``, ``routes``) -> ``network`` (what a
system is) -> ``checking`` (``loads``, ``overloads``, ``cycles``); ``files`` finds and reads them.
"""

from icmodel.system.checking import Finding, check
from icmodel.system.files import (
    find_system,
    load,
    load_checked,
    read_system,
    system_names,
    system_schema,
)
from icmodel.system.network import Device, Link, Port, Producer, Stream, Switch, System, Wanted
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Fifo,
    Gates,
    Scheduler,
    StrictPriority,
    WeightedRoundRobin,
    Window,
)

__all__ = [
    "CreditBased",
    "DeficitRoundRobin",
    "Device",
    "Fifo",
    "Finding",
    "Gates",
    "Link",
    "Port",
    "Producer",
    "Scheduler",
    "Stream",
    "StrictPriority",
    "Switch",
    "System",
    "Wanted",
    "WeightedRoundRobin",
    "Window",
    "check",
    "find_system",
    "load",
    "load_checked",
    "read_system",
    "system_names",
    "system_schema",
]

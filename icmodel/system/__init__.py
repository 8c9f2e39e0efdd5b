"""Whole systems: many streams between many devices, over links, switches and priorities.

``document`` (the tables, in pydantic) -> ``expansion`` (``groups``, ``routes``) -> ``network`` (what a
system is) -> ``checking`` (``loads``, ``overloads``, ``cycles``); ``files`` finds and reads them.
``sharing`` (pure numbers) -> ``prediction`` (with the datasets that speak for links) -> ``loaded``.
"""

from icmodel.system.checking import Finding, check
from icmodel.system.files import (
    OpenSystem,
    find_system,
    load_checked,
    load_open,
    read_system,
    system_names,
    system_schema,
)
from icmodel.system.loaded import LoadedSystem, load
from icmodel.system.network import Device, Link, Port, Producer, Stream, Switch, System, Wanted
from icmodel.system.prediction import SystemPrediction, predict
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

__all__ = [
    "CreditBased",
    "DeficitRoundRobin",
    "Device",
    "Dscp",
    "Fifo",
    "Finding",
    "Gates",
    "Link",
    "LoadedSystem",
    "OpenSystem",
    "Port",
    "Producer",
    "Scheduler",
    "Stream",
    "StrictPriority",
    "Switch",
    "System",
    "SystemPrediction",
    "Wanted",
    "WeightedRoundRobin",
    "Window",
    "check",
    "find_system",
    "load",
    "load_checked",
    "load_open",
    "predict",
    "read_system",
    "system_names",
    "system_schema",
]

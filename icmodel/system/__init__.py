"""Whole systems: a TOML file of devices, switches, links and streams comes in, a prediction of each goes out.

``document`` (tables, in pydantic) -> ``expansion`` (``groups``, ``routes``) -> ``network`` (the expanded
system) -> ``checking`` (``loads``, ``overloads``, ``cycles``); ``files`` finds and reads them.
``packing`` (how messages become packets) -> ``arrivals`` (arrival curves) serve all that follows.
``sharing`` (rates of shared resources) -> ``prediction`` (with the datasets of the links) -> ``loaded``.
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

"""Whole systems: a TOML file describes devices, switches, links and streams; `predict` predicts all of them together.

Modules in the order of use: ``document`` checks the tables of the file (with ``schedulers`` and
``traffic_sources``). ``expansion`` replaces groups by their members and routes the streams (with ``routes``).
``network`` has the expanded system. ``traffic`` cuts messages into packets, and computes the loads of ports.
``checking`` finds faults. ``files`` finds, reads and creates systems.

``bounds`` (worst-case bounds) and ``sharing`` (rates of streams that share ports and cores) are theory: they
read no files. ``prediction`` combines this theory with the datasets of the links.

>>> found = predict(load("lab-switch"))
>>> found.streams["measured"].metrics["goodput_bps"].value / 1e6  # Mb/s
94.148244473342
"""

from icmodel.system.checking import Finding, check
from icmodel.system.files import (
    OpenSystem,
    find_system,
    load,
    load_checked,
    load_open,
    new_system_text,
    read_open,
    read_system,
    system_file,
    system_names,
    system_schema,
)
from icmodel.system.network import (
    Device,
    Link,
    Port,
    Stream,
    StreamRequirement,
    Switch,
    System,
)
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
from icmodel.system.traffic_sources import Producer

__all__ = [
    "CreditBased",
    "DeficitRoundRobin",
    "Device",
    "Dscp",
    "Fifo",
    "Finding",
    "Gates",
    "Link",
    "OpenSystem",
    "Port",
    "Producer",
    "Scheduler",
    "Stream",
    "StreamRequirement",
    "StrictPriority",
    "Switch",
    "System",
    "SystemPrediction",
    "WeightedRoundRobin",
    "Window",
    "check",
    "find_system",
    "load",
    "load_checked",
    "load_open",
    "new_system_text",
    "predict",
    "read_open",
    "read_system",
    "system_file",
    "system_names",
    "system_schema",
]

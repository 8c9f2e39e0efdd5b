"""Whole systems: a TOML file of devices, switches, links and streams, and a prediction of each of them.

``document`` (tables, in pydantic; ``schedulers`` and ``traffic_sources`` among them) -> ``expansion``
(with ``routes``) -> ``network`` (the expanded system) -> ``traffic`` (packets, and loads of ports) and
``checking``. ``files`` finds, reads and creates systems. ``bounds`` (worst cases) and ``sharing``
(rates of shared resources) are theory without documents. ``prediction`` combines them with the datasets
of the links.

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

"""Whole systems: many streams between many devices, over links, switches and priorities.

``network`` says what a system is once groups are expanded and routes found.
"""

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
]

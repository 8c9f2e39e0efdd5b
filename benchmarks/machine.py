"""Machine of the benchmarks: versions, CPUs and load."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

from benchmarks.pairs import Document

LIBRARIES = ("numpy", "scipy", "xarray")


def machine() -> Document:
    """Return versions, CPUs that this process may use, and the load average if known."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": cpus(),
        "load_average": load_average(),
    }


def cpus() -> int:
    """Return the number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load_average() -> list[float] | None:
    """Return the load average over 1, 5 and 15 minutes; None if the system has none."""
    return [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None

"""What ran the benchmarks, and how busy it was."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

from benchmarks.pairs import Document

LIBRARIES = ("numpy", "scipy", "xarray")


def machine() -> Document:
    """Versions, CPUs this process may use, and the load average where the system tells one."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": cpus(),
        "load_average": load_average(),
    }


def cpus() -> int:
    """CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load_average() -> list[float] | None:
    """Over 1, 5 and 15 minutes."""
    return [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None

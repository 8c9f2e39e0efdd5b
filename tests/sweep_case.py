"""A sweep of few points in many blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from icmodel.sweep.files import TARGETS

CENTRAL = "ethernet-10g-2012"
QUESTION: dict[str, Any] = {
    "protocol": "tcp,udp",
    "payload": "64 B..60 kB:11",
    "cores": "1,4",
    "rate": "100/s..20000/s:7",
    "switches": "1",
    "outside": "nan",
    "metrics": ["goodput_bps", "latency_mean_s", "bottleneck"],
}
BLOCK = 30
"""Points of a block in these tests, so that the 308 points are in 22 blocks of up to 14."""
FORMATS = tuple(TARGETS)


def content(path: Path) -> dict[str, bytes]:
    """Bytes of every file of a sweep, by its name within the sweep."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {
        str(one.relative_to(path)): one.read_bytes()
        for one in sorted(path.rglob("*"))
        if one.is_file()
    }

"""How much slower a system must be so that this machine can play it, and on which core each host works.

What a run costs was measured on the machine of `lab-1g-2026`: one TCP stream at 1 Gb/s, 81 000 packets a
second over one link, keeps both its hosts 1.13 cores busy, which is 7 µs for each packet at each of two
places.  A paced sender also looks at its clock for up to 250 µs before a frame is due.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping
from itertools import count

from icmodel.system import Stream, System

PACKET_S = 7e-6
"""Time of a core for a packet at each port that sends it and at the host that receives it [s]."""
SPIN_S = 250e-6
"""Time for which a paced sender looks at its clock before a frame [s] (calibration/src/pattern/pacing.rs)."""
MOST_BUSY = 0.6
"""Part of the machine's cores that a copy may need."""
STEPS = (1.0, 2.0, 5.0)
"""Factors are these times a power of ten."""
MOST_HOSTS = 16
"""Hosts of a copy, each with processes of its own."""
RULE = (
    "every rate divided by k and every period multiplied by it, bytes as they are; k is the least of 1, 2, 5, "
    f"10, … at which {1e6 * PACKET_S:g} µs of a core for each packet at each port and receiver, and "
    f"{1e6 * SPIN_S:g} µs for each paced frame, take at most {100 * MOST_BUSY:g} % of the cores; of "
    f"more than {MOST_HOSTS} hosts at most so many a group that no more remain"
)


def machine_cores() -> tuple[int, ...]:
    """The cores this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))


def busy_cores(system: System) -> float:
    """Cores that playing a system as it is would keep busy."""
    return sum(_busy(system, one) for one in system.streams.values())


def _busy(system: System, stream: Stream) -> float:
    links = system.links_of(stream)
    narrowest = min(link.rate_bps for link in links)
    goodput = min(stream.requested_goodput_bps, narrowest)
    frames = goodput / (8 * stream.payload_bytes)
    packets = frames * math.ceil(stream.payload_bytes / min(link.mtu_bytes for link in links))
    paced = math.isfinite(stream.requested_goodput_bps)
    return packets * (len(links) + 1) * PACKET_S + (min(frames * SPIN_S, 1.0) if paced else 0.0)


def slowdown(system: System, cores: int) -> float:
    """The least factor of 1, 2, 5, 10, 20, … at which the machine plays the system with room to spare."""
    needed = busy_cores(system) / (MOST_BUSY * cores)
    factors = (step * 10.0**power for power in count() for step in STEPS)
    return next(factor for factor in factors if factor >= needed)


def most_members(system: System) -> int | None:
    """At most so many devices of each group, where there are more hosts than the machine plays."""
    sizes = Counter(device.group for device in system.devices.values()).values()
    if sum(sizes) <= MOST_HOSTS:
        return None
    fewer = range(max(sizes), 0, -1)
    return next((n for n in fewer if sum(min(size, n) for size in sizes) <= MOST_HOSTS), 1)


def placed(system: System, cores: tuple[int, ...]) -> Mapping[str, int]:
    """The core of each host: those that send more than they receive on the first half, others on the second.

    So the two ends of a stream are on different cores where that can be.
    """
    half = max(len(cores) // 2, 1)
    sending, receiving = cores[:half], cores[half:] or cores
    work = dict.fromkeys(system.devices, 0)
    for stream in system.streams.values():
        work[stream.source] += 1
        work[stream.sink] -= 1
    found: dict[str, int] = {}
    dealt = {True: 0, False: 0}
    for name, more_sent in work.items():
        sends = more_sent > 0
        group = sending if sends else receiving
        found[name] = group[dealt[sends] % len(group)]
        dealt[sends] += 1
    return found

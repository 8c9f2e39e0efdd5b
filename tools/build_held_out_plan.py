"""Write calibration/plans/held-out.toml, with payloads from the planner of `icmodel calibrate`.

    python tools/build_held_out_plan.py

`icprobe campaign` runs the given lists and derives nothing. A test fails if the plan differs from
the output of this script.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from icmodel.calibrate.runs import payloads
from icmodel.calibrate.settings import Settings

PLAN = Path(__file__).resolve().parent.parent / "calibration" / "plans" / "held-out.toml"
PROTOCOLS = ("tcp", "udp")
LOADS = ("1 %", "50 %", "94 %")
ONE_OF = 4
"""One in this many of the payloads between the least and the greatest is held out."""

HEAD = """\
# Made by tools/build_held_out_plan.py.
name = "held-out"
description = "payloads on both sides of every break of the model, a quarter of the inner ones kept from the fit"
source = "repeats no single experiment: the grid of IC2012 §6.1 to §6.3 with its payloads at the breaks \
of the model (§4.2) for an MTU of 1500 B, and points that a fit may not see"

[defaults]
duration = "10 s"

[lab]
topology = "direct-100m"
from = "A"
to = "B"

[repeats]
min = 3
max = 8
confidence = 0.9
width = 0.05
metrics = ["goodput_bps", "latency_mean_s"]

[reference]
every = 15
protocol = "udp"
payload = "1472 B"
load = "50 %"
"""

FOOT = """\

# Between the breaks, held out as a whole.
[[grid]]
protocol = ["tcp", "udp"]
payload = ["100 B", "700 B", "3000 B", "10000 B", "40000 B"]
load = ["25 %", "75 %"]
held_out = true

[short.defaults]
duration = "0.2 s"
warmup = "0.1 s"
baseline = "0.1 s"

[short.repeats]
min = 1
max = 1

[short.reference]
every = 5

[[short.grid]]
protocol = "udp"
payload = ["64 B", "512 B", "1024 B", "1472 B", "1473 B", "8192 B"]
load = "50 %"

[[short.grid]]
protocol = "udp"
payload = "700 B"
load = "50 %"
held_out = true
"""


def plan() -> str:
    """Return the text of the plan."""
    return HEAD + "".join(_grids()) + FOOT


def _grids() -> Iterator[str]:
    """Yield two grids per protocol and load; each load holds out other payloads."""
    for protocol in PROTOCOLS:
        asked = payloads(protocol, Settings.of("the lab", least_payload_bytes=1))
        for first, load in enumerate(LOADS):
            held = asked[1:-1][first::ONE_OF]
            yield _grid(protocol, load, [size for size in asked if size not in held])
            yield _grid(protocol, load, held) + "held_out = true\n"


def _grid(protocol: str, load: str, sizes: Sequence[int]) -> str:
    listed = textwrap.fill(
        ", ".join(f'"{size}_B"' for size in sizes),
        96,
        initial_indent="    ",
        subsequent_indent="    ",
    ).replace("_", " ")
    return f'\n[[grid]]\nprotocol = "{protocol}"\nload = "{load}"\npayload = [\n{listed},\n]\n'


if __name__ == "__main__":
    PLAN.write_text(plan(), encoding="utf-8")

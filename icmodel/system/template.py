"""Commented system file to start from, written by ``icmodel system new``."""

from __future__ import annotations

import re

from icmodel.errors import NetworkError
from icmodel.reading import SLUG_PATTERN


def new_system_text(name: str) -> str:
    """Commented system in TOML, as a starting point; it can be predicted unchanged.

    Each commented-out key or table is valid at its place in the file.

    Raises
    ------
    NetworkError
        If the name has other characters than lower-case letters, digits and hyphens, or does not start with a letter.

    Examples
    --------
    >>> new_system_text("my-cell").splitlines()[1]
    '# Check it with:    icmodel system check my-cell.toml'
    """
    if not re.match(SLUG_PATTERN, name):
        raise NetworkError(
            f"{name!r} cannot name a system: use lower-case letters, digits and hyphens, starting with a "
            "letter, such as my-system"
        )
    return TEMPLATE.replace("NAME", name)


TEMPLATE = """\
# A system for icmodel: devices, switches, the links between them, and streams over the links.
# Check it with:    icmodel system check NAME.toml
# Predict it with:  icmodel system NAME.toml -o NAME.html
# A quantity is a text with its unit ("50 m", "1 Gb/s", "64 KiB", "50 us", "30 Hz", "5 %").
# Remove the "# " before a key or a table to use it.

schema_version = 1
name = "NAME"
title = "Two cameras, a PLC and a computer on one switch"
source = "who planned it, and where the numbers come from"
# known_limits = ["the lengths of the cables are assumed"]   # sentences that the report repeats

# Devices: streams begin and end here. A group with a count has members camera-1, camera-2, ...
# A device that states its latency needs no dataset. The latency holds for each frame that the device
# sends or receives: the least and the greatest time, or one time.
[[devices]]
name = "camera"
count = 2
latency = "20 us .. 50 us"
source = "data sheet of the camera"
# core_time = "5 us"                 # time of a core for each frame, also as a range
# cores = 2                          # limits what the device can send and receive
# description = "over the conveyor"

[[devices]]
name = "plc"
latency = "100 us .. 200 us"
source = "manual of the PLC"
# scheduler = { kind = "strict-priority" }   # order of sending, as for switches

# Without a latency, the dataset of the links answers for the hosts.
[[devices]]
name = "computer"
cores = 4
# interfaces = 2                     # number of cables that may join it
# dataset = "ethernet-10g-2012"      # hosts measured apart from the links: a bundled name or a folder
# cpu_clock = "1.5"                  # clock over that of the dataset's hosts (variant hybrid)
# app_send = "2 us"                  # time per frame of the application when it sends
# app_recv = "2 us"                  # time per frame of the application when it receives

# Switches. The latency is that of the data sheet, without queues and without the reception of the packet.
[[switches]]
name = "switch"
forwarding = "store-and-forward"     # or "cut-through"
latency = "3 us"
scheduler = { kind = "strict-priority" }
# buffer = "512 KiB"                 # of each port: what does not fit is lost
# ports = [{ to = "computer", scheduler = { kind = "wrr", weights = { 6 = 4, 0 = 1 } } }]   # one port's own

# Links join each member of a group with the node at the other end, full duplex.
# A link without a dataset has theory alone.
[[links]]
between = ["camera", "switch"]
rate = "10 Gb/s"
length = "20 m"
dataset = "ethernet-10g-2012"
# medium = "fibre"                   # or "copper": the delay per metre
# mtu = "1500 B"                     # largest packet, the same on all links of a route
# parallel = 1                       # cables of each pair
# pairing = "each"                   # or "one-to-one", "spread": which members are joined

[[links]]
between = ["plc", "switch"]
rate = "10 Gb/s"
length = "5 m"

[[links]]
between = ["computer", "switch"]
rate = "10 Gb/s"
length = "5 m"
dataset = "ethernet-10g-2012"

# Streams, described by their source:
#   produces = { kind = "image", width_px, height_px, depth, rate }
#   produces = { kind = "samples", samples, size, cycle }            and within, a deadline
#   produces = { kind = "burst", period, size }                      and burst, within
#   produces = { kind = "goodput", goodput }
#   produces = { kind = "unlimited" }                                unlimited rate
# All data must arrive, unless allowed_shortfall allows a share to be lost.
[[streams]]
name = "picture"
source = "camera"
sink = "computer"
produces = { kind = "image", width_px = 640, height_px = 480, depth = "8 bit", rate = "25 Hz" }
protocol = "tcp"
payload = "65535 B"                  # useful bytes of each frame
# cores = 1                          # parallel processes at each end
# window = "256 KiB"                 # of TCP: the smaller of both socket buffers
# allowed_shortfall = "1 %"
# options = { }                      # options of the dataset, such as { nagle = "off" }

[[streams]]
name = "trigger"
source = "plc"
sink = "camera"
produces = { kind = "samples", samples = 4, size = "32 bit", cycle = "1 kHz" }
protocol = "udp"
payload = "16 B"
priority = 6                         # 0 to 7, the most urgent; only for schedulers that tell them apart
kind = "hard"                        # hard, firm or soft; shown in reports
# multicast = true                   # one stream to all sinks, copied where their paths part
# via = ["switch"]                   # switches of the route, by default the shortest

# Requirements of a stream, or of a group of streams. A hard limit of latency_max_s is judged by the
# worst-case bound. If messages take several frames, of = "frame" means a single frame.
[[requirements]]
name = "cameras are triggered in time"
stream = "trigger"
metric = "latency_max_s"
at_most = "500 us"
kind = "hard"

[[requirements]]
name = "pictures arrive within a period"
stream = "picture"
metric = "latency_mean_s"
at_most = "40 ms"
# of = "frame"
# source = "specification, section 3"

# [[requirements]]
# name = "half of the computer is left"
# stream = "picture"
# device = "computer"
# metric = "cpu_recv"
# at_most = "50 %"

# Choices for `icmodel recommend NAME.toml`: further values of a table's keys; "*" stands for all links.
# [choices.links."*"]
# rate = ["1 Gb/s", "25 Gb/s"]

# [choices.streams.picture]
# payload = ["1448 B", "16384 B"]

# Costs in any currency, for the same command.
# [costs]
# currency = "EUR"
# interface = 50
# switch = 400
"""

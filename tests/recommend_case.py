"""Systems with choices, small enough to predict every design of them in full."""

from __future__ import annotations

from pathlib import Path

from icmodel.model import Model
from icmodel.system import OpenSystem, find_system, load_open

MODELS = {"ethernet-10g-2012": Model("ethernet-10g-2012")}
IMAGING = find_system("imaging").read_text("utf-8")
WIDER = (
    ("interfaces = 3\ncores = 8", "interfaces = 6\ncores = 12"),
    ("parallel = 3", "parallel = 6"),
    ('"camera or scanner"\ncount = 3', '"camera or scanner"\ncount = 3\ninterfaces = 2'),
    ('["capturing-device", "switch"]', '["capturing-device", "switch"]\nparallel = 2'),
)
"""One interface for each picture and enough cores, so that whole pictures arrive in time."""


def widened(text: str) -> str:
    """Imaging system with the changes that `icmodel recommend imaging` finds."""
    for old, new in WIDER:
        assert old in text
        text = text.replace(old, new)
    return text


DRAWN = widened(IMAGING[: IMAGING.index("# What `icmodel recommend")])
"""Imaging system that meets all requirements, without choices."""
SMALL = """
[choices.streams.picture]
protocol = ["tcp", "udp"]
payload = ["1448 B", "8192 B"]
rate = ["6700/s", "as-produced"]

[choices.streams.control]
priority = [0, 6]

[choices.devices.qfhd-display]
interfaces = [6, 5]
"""


def opened(folder: Path, choices: str, drawn: str = DRAWN) -> OpenSystem:
    """A system with these choices."""
    path = folder / "own.toml"
    path.write_text(drawn + choices, encoding="utf-8")
    return load_open(path)


def too_slow(drawn: str = DRAWN) -> str:
    """Imaging system at the rate of IC2012 table 8-1, which is below the produced rate."""
    given = 'payload = "65535 B"\n'
    assert given in drawn
    return drawn.replace(given, f'{given}rate = "6700/s"\n', 1)

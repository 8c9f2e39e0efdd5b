"""The systems that are verified: bundled ones, with requests of their own."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from icmodel.system import Producer, Stream, System, load
from icmodel.units import parse_bps

HERE = Path(__file__).parent
DATASET = HERE / "lab-20m"
SLOWER = 5.0
"""The lab plays a fifth of every rate: links of 20 Mb/s, at which its hosts were measured."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A system with some requests, and the name of both."""

    name: str
    system: System


def all_asked() -> Iterator[Asked]:
    """Every system with each of its fresh requests."""
    document = tomllib.loads((HERE / "requests.toml").read_text(encoding="utf-8"))
    for system, variants in document.items():
        for name, requests in variants.items():
            yield Asked(f"{system}-{name}", asking(load(system), requests))


def asking(system: System, requests: Sequence[str]) -> System:
    """The system whose streams ask for these goodputs, in their order."""
    pairs = zip(system.streams.items(), requests, strict=True)
    return replace(system, streams={name: _stream(one, text) for (name, one), text in pairs})


def _stream(stream: Stream, request: str) -> Stream:
    if request == "unlimited":
        return replace(stream, producer=None, paced_fps=None)
    goodput = parse_bps(request)
    assert math.isfinite(goodput)
    size = float(stream.payload_bytes)
    return replace(stream, producer=Producer("goodput", 8 * size / goodput, size), paced_fps=None)

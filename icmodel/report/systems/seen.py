"""The numbers of a drawing: each box and cable with those of its worst member, for SVG and tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from icmodel.grouping import together
from icmodel.report.systems.shape import Box, Cable, Shape, shape
from icmodel.requirement import worst
from icmodel.system import SystemPrediction
from icmodel.system.prediction.result import DevicePrediction, PortPrediction
from icmodel.wording import percent

NOT_JUDGED = "not judged"
"""Outcome of a stream without a requirement."""
ROUNDING = 1e-9
"""A load above 1 by at most this is a full port."""


@dataclass(frozen=True, slots=True)
class SeenBox:
    """A box, the outcomes of the streams that begin or end in it, and its busiest device, if it has any.

    ``inside`` is the load of the links between its members, empty where there are none.
    """

    box: Box
    outcomes: Mapping[str, int]
    busiest: str
    cpu: DevicePrediction | None
    inside: str = ""

    @property
    def cpu_text(self) -> str:
        """``CPU 48 %``; of several devices that of the busiest."""
        if self.cpu is None:
            return ""
        most = "≤ " if len(self.box.members) > 1 else ""
        if not self.cpu.cpu.absent:
            return f"CPU {most}{percent(self.cpu.cpu.value)}"
        if not self.cpu.cpu_cores.absent:
            return f"CPU {most}{self.cpu.cpu_cores.value:.2g} cores"
        return "CPU unknown"


@dataclass(frozen=True, slots=True)
class SeenCable:
    """A cable, and its port with the greatest load: name, rate [b/s] and numbers.

    ``outwards``: the port sends from the cable's first box.
    """

    cable: Cable
    busiest: str
    rate_bps: float
    port: PortPrediction
    outwards: bool

    @property
    def overloaded(self) -> bool:
        """Whether the port's load exceeds its rate."""
        return self.port.asked_ratio > 1 + ROUNDING

    @property
    def ratio(self) -> float:
        """Throughput of that port over its rate, or its load if this is above 1."""
        return self.port.asked_ratio if self.overloaded else min(self.port.load_ratio, 1.0)

    @property
    def text(self) -> str:
        """``3 × ≤ 75 %``: of several links that of the busiest."""
        count = len(self.cable.links)
        return f"{count} × ≤ {percent(self.ratio)}" if count > 1 else percent(self.ratio)


@dataclass(frozen=True, slots=True)
class Seen:
    """A system as drawn, with its numbers."""

    shape: Shape
    boxes: tuple[SeenBox, ...]
    cables: tuple[SeenCable, ...]


def outcomes(found: SystemPrediction) -> dict[str, str]:
    """The outcome of each stream: the worst of the requirements about it, or `NOT_JUDGED`."""
    of = together((one.stream, one.verdict.outcome) for one in found.judged if not one.device)
    return {name: worst(of[name]) if name in of else NOT_JUDGED for name in found.streams}


def seen(found: SystemPrediction) -> Seen:
    """What is drawn of a prediction."""
    made = shape(found.system)
    at: list[Counter[str]] = [Counter() for _ in made.boxes]
    for name, outcome in outcomes(found).items():
        stream = found.streams[name].stream
        for box in {made.box_of[stream.source], made.box_of[stream.sink]}:
            at[box][outcome] += 1
    cables = tuple(_cable(found, made, cable) for cable in made.cables)
    inside = {one.cable.ends[0]: one.text for one in cables if one.cable.inside}
    boxes = tuple(
        SeenBox(box, at[place], *_busiest(found, box.members), inside.get(place, ""))
        for place, box in enumerate(made.boxes)
    )
    return Seen(made, boxes, cables)


def _busiest(
    found: SystemPrediction, members: Iterable[str]
) -> tuple[str, DevicePrediction | None]:
    """The device whose processor is busiest, known utilisation before known cores before unknown."""
    here = [(name, found.devices[name]) for name in members if name in found.devices]
    if not here:
        return "", None

    def busy(one: tuple[str, DevicePrediction]) -> tuple[float, float]:
        cpu, cores = one[1].cpu.value, one[1].cpu_cores.value
        return (-1.0 if math.isnan(cpu) else cpu, -1.0 if math.isnan(cores) else cores)

    return max(here, key=busy)


def _cable(found: SystemPrediction, made: Shape, cable: Cable) -> SeenCable:
    ports = [
        (name, port) for link in cable.links for name, port in found.links[link.name].ports.items()
    ]
    name, port = max(ports, key=lambda one: (one[1].asked_ratio, one[1].load_ratio))
    at = found.system.ports[name]
    return SeenCable(cable, name, at.rate_bps, port, made.box_of[at.node] == cable.ends[0])

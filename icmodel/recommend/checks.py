"""Checks: designs predicted in full, each once, and judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from icmodel.errors import NetworkError
from icmodel.estimate import weakest
from icmodel.recommend.designs import Space
from icmodel.recommend.result import Checked, Open
from icmodel.recommend.scores import OBJECTIVES
from icmodel.recommend.variants import Speakers
from icmodel.requirement import MET, UNDECIDED
from icmodel.scenario import Scenario
from icmodel.system import SystemPrediction, predict
from icmodel.system.network import MESSAGE
from icmodel.system.prediction.result import Judged, by_requirement
from icmodel.usecase.grounds import settling

Watch = Callable[[int, int], None]
"""Called with the number of designs checked, and the greatest number to check."""


@dataclass(frozen=True, slots=True)
class Checks:
    """Designs predicted in full so far, by index; ``None`` for a contradictory one.

    Parameters
    ----------
    most : int
        Greatest number of designs.
    """

    space: Space
    speakers: Speakers
    most: int
    watch: Watch | None
    known: dict[int, Checked | None] = field(default_factory=dict)

    def of(self, index: int) -> Checked | None:
        """A design, predicted unless it was before; ``None`` if it contradicts itself."""
        if index not in self.known:
            self.known[index] = self._checked(index)
            if self.watch is not None:
                self.watch(len(self.known), self.most)
        return self.known[index]

    def having(self, verdict: str) -> tuple[Checked, ...]:
        """All checked designs with a verdict."""
        return tuple(
            one for one in self.known.values() if one is not None and one.verdict == verdict
        )

    def _checked(self, index: int) -> Checked | None:
        design, scores = self.space.design(index), self.space.scores
        try:
            found = predict(design.system(), self.speakers)
        except NetworkError:
            return None
        cpu = [one.cpu_cores.value for one in found.devices.values()]
        mean = [one.metrics["latency_mean_s"].value for one in found.streams.values()]
        told = dict(zip(OBJECTIVES, scores.objectives[index].tolist(), strict=True))
        told |= {"cpu_cores": _known(math.fsum(cpu)), "latency_mean_s": _known(_most(mean))}
        return Checked(
            changed=design.changed,
            chosen=design.chosen,
            verdict=found.verdict,
            basis=_weakest(found),
            objectives=tuple(told[name] for name in OBJECTIVES),
            cpu_send_cores=_cores(found, "cpu_send_cores"),
            cpu_recv_cores=_cores(found, "cpu_recv_cores"),
            open=tuple(_open(found)),
            changes=int(scores.changes[index]),
        )


def _weakest(found: SystemPrediction) -> str:
    """The weakest basis on which a requirement was judged; empty if there was none."""
    bases = [one.verdict.estimate.basis for one in found.judged if one.verdict.estimate.basis]
    return weakest(bases) if bases else ""


def _known(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _most(some: Iterable[float]) -> float:
    """The greatest; NaN if one is NaN."""
    told = list(some)
    return math.nan if any(map(math.isnan, told)) else max(told, default=0.0)


def _cores(found: SystemPrediction, metric: str) -> float:
    told = [
        one.metrics[metric].value if metric in one.metrics else math.nan
        for one in found.streams.values()
    ]
    return math.fsum(told)


def _open(found: SystemPrediction) -> Iterator[Open]:
    """For each requirement that is not met, the stream or device that meets it least, the worst first."""
    missed = by_requirement(one for one in found.judged if one.verdict.outcome != MET)
    for worst, *_ in missed.values():
        settle = _settling(found, worst) if worst.verdict.outcome == UNDECIDED else ""
        yield Open(worst.verdict, worst.device or worst.stream, settle)


def _settling(found: SystemPrediction, one: Judged) -> str:
    """The measurement that would add a row at what was judged; of messages without a time, why they have none."""
    if one.of == MESSAGE and one.verdict.estimate.absent:
        return one.verdict.estimate.why
    names = [name for name, each in found.streams.items() if each.stream.group == one.stream]
    name = one.stream if one.stream in found.streams else names[0]
    stream = found.streams[name].stream
    asked = Scenario(
        stream.protocol,
        stream.payload_bytes,
        rate_fps=stream.rate_fps,
        cores=stream.cores,
        switches=len(stream.path) - 1,
    )
    return settling(one.verdict.requirement.metric, asked)

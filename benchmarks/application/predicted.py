"""Learn the time per frame that a tool adds from two payloads, and predict the other payloads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.application.measure import CALM_CORES, RUNS, Run, read_runs
from benchmarks.probe_tools import SECONDS
from icmodel import units
from icmodel.dataset import Dataset, Point
from icmodel.estimate import Estimate
from icmodel.estimate.statistics import median
from icmodel.ingest.own_work import OwnWork, own_work
from icmodel.model import Model
from icmodel.scenario import Scenario

DATASET = "lab-1g-application"
JUDGE = "icprobe"
LEARNED = (64, 256)
"""Payloads from which the added time is learned [B]: the ends of the range that hosts limit."""
BURST_BYTES = 125_000
"""Depth of the link's token bucket [B], which passes beyond the line rate in a run."""
FILLS = 0.97
"""Share of theory's bound above which the wire limits a tool; its goodput is then easy to predict."""

Reached = Mapping[tuple[str, str, int], float]
"""Median goodput [b/s] of calm runs, by tool, protocol and payload [B]."""


@dataclass(frozen=True, slots=True)
class Case:
    """One payload of one tool, from which nothing was learned."""

    tool: str
    protocol: str
    payload_bytes: int
    predicted: Estimate
    real_bps: float
    theory_bps: float

    @property
    def error(self) -> float:
        """Relative error of the prediction."""
        return self.predicted.value / self.real_bps - 1

    @property
    def held(self) -> bool:
        """Whether the interval contains the goodput, less what the token bucket let pass."""
        beyond = self.real_bps - self.theory_bps
        real = self.theory_bps if 0 < beyond <= 8 * BURST_BYTES / SECONDS else self.real_bps
        return self.predicted.low <= real <= self.predicted.high

    @property
    def held_strictly(self) -> bool:
        """Whether the interval contains the goodput as it was counted."""
        return self.predicted.low <= self.real_bps <= self.predicted.high

    @property
    def fills_the_wire(self) -> bool:
        """Whether the wire limits the tool."""
        return self.real_bps >= FILLS * self.theory_bps


def reached(runs: Sequence[Run]) -> Reached:
    """Return the median goodput of each tool in unlimited, undisturbed runs."""
    found: dict[tuple[str, str, int], list[float]] = {}
    for run in runs:
        if run.rate_fps is None and run.others_cores <= CALM_CORES:
            key = run.tool, run.protocol, run.payload_bytes
            found.setdefault(key, []).append(run.goodput_bps)
    return {key: median(values) for key, values in found.items()}


def results(like: Dataset, tool: str, known: Reached, payloads: Sequence[int]) -> Dataset:
    """Make a dataset of a tool's goodput at some payloads, with the same link."""
    points = tuple(
        Point(
            line=0, protocol=protocol, payload_bytes=payload, load_bps=math.inf, cores=1, switches=None,
            endpoints=None, other_goodput_bps=None, options=("",) * len(like.option_axes),
            metric="goodput_bps", value=value, std=None, low=None, high=None, n=1, basis="measured",
            source=RUNS,
        )
        for (who, protocol, payload), value in sorted(known.items())
        if who == tool and payload in payloads
    )  # fmt: skip
    protocols = tuple(sorted({point.protocol for point in points}))
    return replace(like, id=tool, points=points, protocols=protocols)


def learned(model: Model, known: Reached) -> dict[str, tuple[OwnWork, ...]]:
    """Return the application time that each tool adds to a frame."""
    tools = sorted({tool for tool, _, _ in known} - {JUDGE})
    return {tool: own_work(model, results(model.data, tool, known, LEARNED)) for tool in tools}


def cases(model: Model, known: Reached) -> Iterator[Case]:
    """Yield a case for every payload from which nothing was learned."""
    for tool, works in learned(model, known).items():
        for one in works:
            for (who, protocol, payload), real_bps in sorted(known.items()):
                if (who, protocol) == (tool, one.protocol) and payload not in LEARNED:
                    scenario = Scenario(protocol, payload, work=one.work)
                    predicted = model.predict(scenario).metrics["goodput_bps"]
                    theory = model.greatest_goodput_bps(scenario) or math.inf
                    yield Case(tool, protocol, payload, predicted, real_bps, theory)


def record(folder: Path) -> tuple[Model, Reached]:
    """Load the model of icprobe's runs in a folder, and the goodput of each tool."""
    return Model(folder / DATASET, "hybrid"), reached(read_runs(folder / RUNS))


def text(model: Model, known: Reached) -> str:
    """Return the learned times, every case, and a summary of the errors."""
    found = list(cases(model, known))
    lines = [f"learned from {' and '.join(map(str, LEARNED))} B, over {JUDGE}'s own time a frame:"]
    for tool, works in learned(model, known).items():
        for one in works:
            frame, byte = one.frame_s, one.byte_s
            lines.append(
                f"  {tool:8} {one.protocol}  {units.format_seconds(frame.value, 3)} a frame "
                f"({units.format_seconds(frame.low, 3)} to {units.format_seconds(frame.high, 3)}), "
                f"{units.format_seconds_per_byte(byte.value, 3)}"
            )
    lines += ["predicted:", f"  {'':22}{'told':>9} {'interval':>21} {'reached':>10} {'error':>8}"]
    lines += [_line(case) for case in found]
    hosts = [case for case in found if not case.fills_the_wire]
    lines += [_summary("all", found), _summary("where the wire is not full", hosts)]
    return "\n".join(lines) + "\n"


def _line(case: Case) -> str:
    told, low, high, real = (
        f"{number / 1e6:.0f}"
        for number in (case.predicted.value, case.predicted.low, case.predicted.high, case.real_bps)
    )
    mark = "" if case.held else "  outside"
    return (
        f"  {case.tool:8} {case.protocol} {case.payload_bytes:6} B {told:>9} {low:>9} to {high:>8} "
        f"{real:>10} {100 * case.error:+7.1f} %{mark}"
    )


def _summary(name: str, found: Sequence[Case]) -> str:
    count = len(found)
    held, strictly = sum(case.held for case in found), sum(case.held_strictly for case in found)
    off = median(abs(case.error) for case in found)
    return (
        f"{name}: median error {100 * off:.1f} %, {held} of {count} inside the 90 % interval "
        f"({strictly} as counted, the bucket's depth included), greatest error "
        f"{100 * max(abs(case.error) for case in found):.0f} %"
    )

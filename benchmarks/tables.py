"""Text tables of the measured document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.rivals import METRIC
from benchmarks.throughput import ALL, LIMITS, ONE, OURS, RIVALS

Part = Mapping[str, Any]
"""A part of the document."""


def text(document: Part) -> str:
    """Return the text of each section that was run, ratios first."""
    writers = {"throughput": _throughput, "memory": _memory, "start": _start, "report": _report}
    lines = [_machine("machine", document["machine"])]
    for name, write in writers.items():
        if name in document:
            lines += ["", *write(document[name])]
    lines += ["", f"load average at the end: {_loads(document['load_average_at_end'])}"]
    return "\n".join(lines) + "\n"


def _machine(title: str, machine: Part) -> str:
    versions = ", ".join(
        f"{name} {machine[name]}" for name in ("python", "numpy", "scipy", "xarray")
    )
    return (
        f"{title}: {versions}, {machine['system']}, {machine['cpus']} CPUs, "
        f"load average {_loads(machine['load_average'])}"
    )


def _loads(loads: list[float] | None) -> str:
    return "not said" if loads is None else " ".join(f"{load:.2f}" for load in loads)


def _throughput(found: Part) -> Iterator[str]:
    shape = found["grid"]["shape"]
    size = 1
    for length in shape:
        size *= length
    yield f"predict_many on {found['dataset']}, variant {found['variant']}: values only, one process"
    yield (
        f"rivals look up one metric ({METRIC} of {found['grid']['protocol']}) on one grid of "
        f"{' x '.join(map(str, shape))} = {size:,} values"
    )
    for part in ("repeats", "one_protocol", "full"):
        yield from ("", *_race(found[part]))
        if part == "one_protocol":
            ratio = found[part]["ratios"][ONE][RIVALS[0]]["median"]
            speed = found[part]["points_per_s"][ALL]["median"]
            targets = found["targets"]
            yield (
                f"target {targets['ratio']:g} of {RIVALS[0]} for {ONE}: "
                f"{_judged(ratio >= targets['ratio'])} by the median"
            )
            yield (
                f"target {targets['points_per_s'] / 1e6:g} million points per second of all metrics: "
                f"{_judged(speed >= targets['points_per_s'])} by the median"
            )


def _race(race: Part) -> Iterator[str]:
    repeats = next(iter(race["points_per_s"].values()))["repeats"]
    yield (
        f"{race['points']:,} points of {', '.join(race['protocols'])}, {race['metrics']} metrics and the bottleneck "
        f"({race['bytes'] / 1e6:,.0f} MB), {repeats} interleaved repeats; {race['checked']:,} of the "
        "points checked against the slow twin, relative 1e-9"
    )
    if race["xarray_points"] != race["points"]:
        yield f"xarray.interp was given {race['xarray_points']:,} of them, its time scaled"
    yield f"{'ratio of points per second to':<36}" + "".join(f"{name:>28}" for name in OURS)
    rivals = [rival for rival in (*RIVALS, *LIMITS) if rival in race["points_per_s"]]
    for rival in rivals:
        yield _row(rival, [race["ratios"][ours][rival] for ours in OURS])
    yield "ratio of points per CPU second to"
    for rival in rivals:
        yield _row(rival, [race["cpu_ratios"][ours][rival] for ours in OURS])
    yield f"{'by name':<36}{'million points per second':>28}{'CPUs it got':>28}"
    for name, speed in race["points_per_s"].items():
        yield _row(name, [{k: v / 1e6 for k, v in speed.items()}, race["cpus"][name]])


def _row(name: str, spreads: list[Part]) -> str:
    return f"  {name:<34}" + "".join(f"{_spread(spread):>28}" for spread in spreads)


def _spread(spread: Part) -> str:
    median, least, greatest = (f"{spread[k]:.3g}" for k in ("median", "least", "greatest"))
    return f"{median} ({least} .. {greatest})"


def _judged(met: bool) -> str:
    return "met" if met else "missed"


def _memory(found: Part) -> Iterator[str]:
    yield "peak resident memory beyond the answers (and the questions the caller holds), MB"
    for how in (how for how in found if how.startswith("in ")):
        of = found[how]
        for points, beyond in of["beyond_bytes"].items():
            scaled = {k: v / 1e6 for k, v in beyond.items()}
            answers = of["answers_bytes"][points] / 1e6
            yield _row(f"{how}, {int(points):,} points", [scaled]) + f"   answers {answers:,.0f}"
        yield _row(f"{how}, ratio of most to least", [of["growth"]])
    yield f"in blocks: {found['block']:,} points at once"


def _start(found: Part) -> Iterator[str]:
    for command, target in found["targets"].items():
        ratios = found["ratios"][command]
        repeats = ratios["import numpy"]["repeats"]
        yield f"cold start of `{command}` from an installed wheel, {repeats} interleaved repeats"
        for rival, ratio in ratios.items():
            yield _row(f"time over that of {rival}", [ratio])
        met = _judged(ratios["import numpy"]["median"] <= target)
        yield f"target at most {target:g} x import numpy: {met} by the median"
    for name, taken in found["seconds"].items():
        yield _row(f"{name}, seconds", [taken])


def _report(found: Part) -> Iterator[str]:
    yield f"one HTML report of {found['use_case']} ({found['bytes'] / 1e3:,.0f} kB), same bytes each time"
    yield _row("time over that of icmodel predict", [found["ratio"]])
    yield _row("seconds", [found["seconds"]])

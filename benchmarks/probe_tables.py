"""Text tables of the document that compares the measuring tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Part = Mapping[str, Any]
"""A part of the document."""

LEAST_RATIO = 0.95
"""Least median of the ratios to meet; the interval must also reach 1."""
RTT_OFF = 0.05
RATE_OFF = 0.001
ROUND_TRIPS = ("rtt/2", "rtt/2 p99")
UNITS = {
    "goodput": (1e-6, "Mb/s"),
    "frames": (1e-3, "k/s"),
    "lossless": (1e-3, "k/s"),
    "rtt/2": (1e6, "µs"),
    "rtt/2 p99": (1e6, "µs"),
}
RATIO_HEAD = (
    f"{'question':<24}{'icprobe over':<14}{'median':>8}{'95 % interval':>18}"
    f"{'pairs':>7}{'calm':>6}  bar"
)
VALUES_HEAD = (
    f"{'median (least .. greatest)':<46}{'busy cores: sender, receiver':>30}{'at equal CPU':>16}"
)


def text(document: Part) -> str:
    """Return every question with its ratio, then every tool's values."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Part) -> Iterator[str]:
    yield "tools: " + "; ".join(document["tools"].values())
    yield from (f"skipped {tool}: {reason}" for tool, reason in document["skipped"].items())
    yield (
        f"windows of {document['window_s']:g} s, buffers of {document['buffer_bytes']:,} B, no Nagle, "
        f"one frame a call, or 32 where it says x32; {document['machine']['cpus']} CPUs, "
        f"load average {document['machine']['load_average']} before, "
        f"{document['load_average_at_end']} after, {document['seconds']:.0f} s in all"
    )
    raced = {n: found for n, found in document["results"].items() if found["measure"] != "paced"}
    if raced:
        yield ""
        yield RATIO_HEAD
        for name, found in raced.items():
            yield from _ratios(name, found)
        yield ""
        yield VALUES_HEAD
        for name, found in raced.items():
            yield from _values(name, found)
    for name, found in document["results"].items():
        if found["measure"] == "paced":
            yield ""
            yield from _paced(name, found)


def cell(name: str, found: Part) -> list[str]:
    """Return the lines of one question, to print when it is answered."""
    if found["measure"] == "paced":
        return list(_paced(name, found))
    return [RATIO_HEAD, *_ratios(name, found), VALUES_HEAD, *_values(name, found)]


def _ratios(name: str, found: Part) -> Iterator[str]:
    equal = {"measure": found["measure"]} | found["equal_cpu"]
    for what, part in ((name, found), ("  at equal CPU", equal)):
        ratio = part["ratio"]
        interval = f"{ratio['low']:.3f} .. {ratio['high']:.3f}"
        yield (
            f"{what:<24}{part['best']:<14}{ratio['median']:>8.3f}{interval:>18}{ratio['pairs']:>7}"
            f"{found['calm_rounds']:>6}  " + ("met" if met(part) else "missed")
        )


def met(found: Part) -> bool:
    """Whether a question's ratio meets its target."""
    ratio = found["ratio"]
    if found["measure"] in ROUND_TRIPS:
        return bool(ratio["median"] <= 1 + RTT_OFF)
    return bool(ratio["median"] >= LEAST_RATIO and ratio["high"] >= 1)


def _values(name: str, found: Part) -> Iterator[str]:
    scale, unit = UNITS[found["measure"]]
    cpu = "times busy cores" if found["measure"] in ROUND_TRIPS else "per busy core"
    yield f"{name}, {unit}; at equal CPU {unit} {cpu}"
    for tool, values in found["values"].items():
        median, least, greatest = (values[k] * scale for k in ("median", "least", "greatest"))
        told = f"{median:>12.5g} ({least:.5g} .. {greatest:.5g}), {values['repeats']} runs"
        sender, receiver = (found["cores"][tool][end]["median"] for end in ("sender", "receiver"))
        equal = found["equal_cpu"]["values"][tool]["median"] * scale
        yield f"  {tool:<12}{told:<44}{sender:>9.2f}{receiver:>9.2f}{equal:>16.5g}"


def _paced(name: str, found: Part) -> Iterator[str]:
    yield f"{name} at {found['asked_fps']:,}/s: how late frames leave"
    yield f"  {'':<12}{'':<10}{'runs':>5}{'rate off, worst':>18}{'p50, µs':>10}{'p99, µs':>10}"
    for tool, parts in found["tools"].items():
        for part, runs in parts.items():
            yield f"  {tool:<12}{part:<10}{runs['runs']:>5}" + _lateness(runs)
    steady = found["tools"]["icprobe"]["steady"]
    kept = steady["runs"] > 0 and steady["rate_off_worst"] <= RATE_OFF
    yield f"  icprobe within {RATE_OFF:.1%} of the asked rate without a stall: {'met' if kept else 'missed'}"


def _lateness(runs: Part) -> str:
    if not runs["runs"]:
        return ""
    p50, p99 = runs["error_p50_s"] * 1e6, runs["error_p99_s"] * 1e6
    return f"{runs['rate_off_worst']:>18.2e}{p50:>10.3g}{p99:>10.3g}"

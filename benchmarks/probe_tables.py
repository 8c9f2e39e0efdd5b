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
UNITS = {"goodput": (1e-6, "Mb/s"), "frames": (1e-3, "k/s"), "rtt/2": (1e6, "µs")}


def text(document: Part) -> str:
    """Return every question with its ratio, then every tool's values."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Part) -> Iterator[str]:
    yield "tools: " + "; ".join(document["tools"].values())
    yield (
        f"windows of {document['window_s']:g} s, buffers of {document['buffer_bytes']:,} B, no Nagle, "
        f"one frame a call; {document['machine']['cpus']} CPUs, "
        f"load average {document['machine']['load_average']} before, "
        f"{document['load_average_at_end']} after, {document['seconds']:.0f} s in all"
    )
    raced = {n: found for n, found in document["results"].items() if found["measure"] != "paced"}
    if raced:
        yield ""
        yield f"{'question':<24}{'icprobe over':<14}{'median':>8}{'95 % interval':>18}{'pairs':>7}{'calm':>6}  bar"
        yield from (_ratio(name, found) for name, found in raced.items())
        yield ""
        yield f"{'median (least .. greatest)':<24}"
        for name, found in raced.items():
            yield from _values(name, found)
    for name, found in document["results"].items():
        if found["measure"] == "paced":
            yield ""
            yield from _paced(name, found)


def _ratio(name: str, found: Part) -> str:
    ratio = found["ratio"]
    interval = f"{ratio['low']:.3f} .. {ratio['high']:.3f}"
    return (
        f"{name:<24}{found['best']:<14}{ratio['median']:>8.3f}{interval:>18}{ratio['pairs']:>7}"
        f"{found['calm_rounds']:>6}  " + ("met" if met(found) else "missed")
    )


def met(found: Part) -> bool:
    """Whether a question's ratio meets its target."""
    ratio = found["ratio"]
    if found["measure"] == "rtt/2":
        return bool(ratio["median"] <= 1 + RTT_OFF)
    return bool(ratio["median"] >= LEAST_RATIO and ratio["high"] >= 1)


def _values(name: str, found: Part) -> Iterator[str]:
    scale, unit = UNITS[found["measure"]]
    yield f"{name}, {unit}"
    for tool, values in found["values"].items():
        median, least, greatest = (values[k] * scale for k in ("median", "least", "greatest"))
        yield (
            f"  {tool:<12}{median:>12.5g} ({least:.5g} .. {greatest:.5g}), {values['repeats']} runs"
        )


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

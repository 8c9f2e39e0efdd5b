"""What must hold in every record of icprobe, worked out again from the record itself.

Python's own arithmetic, from the words of the record's format alone; nothing of the Rust is used.
"""

from __future__ import annotations

import json
import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import checkout

SCHEMA = checkout.ROOT / "calibration" / "record.schema.json"
GOLDEN = checkout.ROOT / "calibration" / "tests" / "golden"
QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
SUFFIXES = ("_bytes", "_bps", "_fps", "_per_s", "_s", "_cores")
RATIOS = {"loss_rate", "cpu_quantum"}
ENDS = ("send", "recv")
SPREAD = ("p50", "p99", "max")
HALVED = ("mean", "std", "min", "max", "p50", "p99", "p999")
WHOLE = 1e-9
"""How far two sums of the same numbers may differ, relatively."""

Record = dict[str, Any]


def read(path: Path) -> list[Record]:
    """The records of a file: JSON lines, or one JSON document over many lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return [json.loads(text)]
    return [json.loads(line) for line in text.splitlines()]


def golden() -> list[tuple[str, Record]]:
    """Every golden record with its name."""
    paths = sorted(GOLDEN.glob("*.jsonl"))
    return [(f"{path.stem}:{n}", one) for path in paths for n, one in enumerate(read(path), 1)]


def close(a: float, b: float, relative: float = WHOLE) -> bool:
    return math.isclose(a, b, rel_tol=relative, abs_tol=1e-12)


# --- histograms -------------------------------------------------------------------------------


def bucket_of(buckets: list[list[int]], quantile: float) -> list[int]:
    """The first bucket at which the count so far reaches ceil(quantile × all)."""
    needed = math.ceil(quantile * sum(count for _, _, count in buckets))
    so_far = 0
    for bucket in buckets:
        so_far += bucket[2]
        if so_far >= needed:
            return bucket
    raise ValueError("an empty histogram has no quantile")


def mean_bounds_s(buckets: list[list[int]]) -> tuple[float, float]:
    """Between what the mean of the values in these buckets must lie."""
    count = sum(bucket[2] for bucket in buckets)
    low = sum(bucket[0] * bucket[2] for bucket in buckets) / count
    high = sum(bucket[1] * bucket[2] for bucket in buckets) / count
    return low * 1e-9, high * 1e-9


def std_most_s(buckets: list[list[int]], mean_s: float) -> float:
    """The greatest standard deviation that values in these buckets can have around a mean."""
    count = sum(bucket[2] for bucket in buckets)
    squares = sum(
        max(abs(bucket[0] * 1e-9 - mean_s), abs(bucket[1] * 1e-9 - mean_s)) ** 2 * bucket[2]
        for bucket in buckets
    )
    return math.sqrt(squares / max(count - 1, 1))


def histogram_faults(histogram: Record, values: Record, stem: str) -> Iterator[str]:
    """What of ``<stem>_mean_s`` and the like does not follow from the histogram."""
    buckets = histogram["buckets"]
    if histogram["unit"] != "ns" or histogram["significant_digits"] != 3:
        yield f"{stem}: the histogram is not of ns with 3 digits"
    yield from _bucket_faults(buckets, stem)
    low, high = mean_bounds_s(buckets)
    mean = values[f"{stem}_mean_s"]
    half_ns = 0.5e-9  # a clock counts whole ns; sums are shifted by fractions of one
    if not low - half_ns <= mean <= high + half_ns:
        yield f"{stem}_mean_s {mean} does not lie between {low} and {high}"
    if values.get(f"{stem}_std_s", 0.0) > std_most_s(buckets, mean) + half_ns:
        yield f"{stem}_std_s is more than these buckets allow"
    ends = {"min": buckets[0], "max": buckets[-1]}
    places = {name: bucket_of(buckets, share) for name, share in QUANTILES.items()}
    for name, (lower, upper, _) in {**ends, **places}.items():
        value = values[f"{stem}_{name}_s"]
        if not lower * 1e-9 - half_ns <= value <= upper * 1e-9 + half_ns:
            yield f"{stem}_{name}_s {value} is not in the bucket {lower}…{upper} ns"


def _bucket_faults(buckets: list[list[int]], stem: str) -> Iterator[str]:
    before = -1
    for lower, upper, count in buckets:
        if not before < lower <= upper:
            yield f"{stem}: the bucket {lower}…{upper} is not above the one before"
        if count < 1:
            yield f"{stem}: the bucket {lower}…{upper} is empty"
        if upper - lower > max(1, lower / 1000):
            yield f"{stem}: the bucket {lower}…{upper} keeps fewer than 3 digits"
        before = upper


# --- the whole record -------------------------------------------------------------------------


def faults(record: Record) -> list[str]:
    """Every sentence of what does not hold in a record, or in an excerpt without its cores."""
    checks = (*CHECKS, *WHOLE_CHECKS) if "cores" in record else CHECKS
    return [said for check in checks for said in check(record)]


def _absent(record: Record) -> Iterator[str]:
    for part in ("point", "result"):
        for name, value in record[part].items():
            if value is None:
                yield f"{part}.{name} is null: what is not measured is absent"
            elif isinstance(value, float) and not math.isfinite(value):
                yield f"{part}.{name} is no number"


def _named(record: Record) -> Iterator[str]:
    for name, value in record["result"].items():
        known = name in RATIOS or name == "stalls" or name.startswith(("frames_", "cpu_"))
        if not known and not name.endswith(SUFFIXES):
            yield f"result.{name} = {value} has no unit in its name"


def _frames(record: Record) -> Iterator[str]:
    result = record["result"]
    if "window_s" not in result and "incomplete" not in record["flags"] and "run" in record:
        yield "an empty window is not flagged"
    if "frames_lost" not in result:
        return
    sent, got, lost = (result[f"frames_{name}"] for name in ("sent", "received", "lost"))
    if sent - got != lost:
        yield f"of {sent} frames {got} came and {lost} are called lost"
    streams = record.get("settings", {}).get("pattern", "stream") == "stream"
    if sent and streams and not close(result.get("loss_rate", math.nan), lost / sent):
        yield f"the loss rate is {result.get('loss_rate')}, not {lost}/{sent}"
    if record["point"]["protocol"] == "tcp" and lost:
        yield f"TCP lost {lost} frames"


def _latency(record: Record) -> Iterator[str]:
    result = record["result"]
    measured = "latency_mean_s" in result
    if measured != ("latency_histogram" in record):
        yield "latency and its histogram do not come together"
    elif measured:
        yield from histogram_faults(record["latency_histogram"], result, "latency")
        count = sum(bucket[2] for bucket in record["latency_histogram"]["buckets"])
        truncated = "latency-truncated" in record["flags"]
        if count != result["frames_received"] and not truncated and not _negative(record):
            yield f"{count} latencies of {result['frames_received']} frames"
    if measured and record["point"].get("payload_bytes", 0) < 32:
        yield "frames too short for a stamp have a latency"


def _negative(record: Record) -> bool:
    return "negative-latency" in record["flags"]


def _round_trip(record: Record) -> Iterator[str]:
    result = record["result"]
    measured = "rtt_mean_s" in result
    if measured != ("rtt_histogram" in record):
        yield "round trip and its histogram do not come together"
    if not measured:
        return
    yield from histogram_faults(record["rtt_histogram"], result, "rtt")
    for name in HALVED:
        half, whole = (result.get(f"{stem}_{name}_s", math.nan) for stem in ("rtt_half", "rtt"))
        if name == "std" and math.isnan(half) and math.isnan(whole):
            continue  # of a single round trip
        if not close(half * 2, whole):
            yield f"rtt_half_{name}_s is not half of rtt_{name}_s"


def _load(record: Record) -> Iterator[str]:
    point, result = record["point"], record["result"]
    if ("rate_fps" in point) != ("load_bps" in point):
        yield "a paced record carries both rate_fps and load_bps"
    elif "rate_fps" in point:
        load = point["rate_fps"] * point["payload_bytes"] * 8
        if not close(load, point["load_bps"]):
            yield f"load_bps is {point['load_bps']}, not {load}"
        if "sent_bps" in result and not close(
            result["shortfall_bps"], max(load - result["sent_bps"], 0.0), 1e-6
        ):
            yield "shortfall_bps is not requested less sent"


def _rates(record: Record) -> Iterator[str]:
    """Goodput against frames and time: no frame counts that came outside of the time."""
    result, bits = record["result"], record["point"]["payload_bytes"] * 8
    if "goodput_bps" not in result or "window_s" not in result:
        return
    goodput, window = result["goodput_bps"], result["window_s"]
    if not close(result["frames_per_s"] * bits, goodput):
        yield "frames_per_s is not goodput_bps by the bits of a frame"
    most = result["frames_received"] * bits
    if goodput * window > most * (1 + WHOLE):
        yield f"{goodput} b/s over {window} s are more than {most} b"
    asked = record["settings"]["pattern"] != "stream"
    if asked and not close(goodput * window, most):
        yield "goodput_bps is not what was answered by the time it took"


def _pacing(record: Record) -> Iterator[str]:
    pacing, result = record.get("pacing"), record["result"]
    if not pacing:
        return
    bits = record["point"]["payload_bytes"] * 8
    if pacing["asked_fps"] != record["point"]["rate_fps"]:
        yield "pacing.asked_fps is not the rate that was asked"
    if "achieved_fps" in pacing and not close(pacing["achieved_fps"] * bits, result["sent_bps"]):
        yield "pacing.achieved_fps is not sent_bps by the bits of a frame"
    errors = [pacing[key] for key in (f"send_error_{q}_s" for q in SPREAD) if key in pacing]
    if errors != sorted(errors):
        yield "the quantiles of the send error do not rise"
    whole = not {"latency-truncated", "negative-latency"} & set(record["flags"])
    if whole and "latency_from_intended_mean_s" in pacing and "latency_mean_s" in result:
        # Between two clocks the one is corrected frame by frame, the other once for the window.
        drifted = abs(record["clock"].get("drift", 0.0)) * result.get("window_s", 0.0)
        early = result["latency_mean_s"] - pacing["latency_from_intended_mean_s"]
        if early > drifted + 1e-9:
            yield f"frames left {early} s before they were meant to"


def _steady(record: Record) -> Iterator[str]:
    steady, result = record.get("steady"), record["result"]
    if not steady:
        return
    parts = [steady["transient"], steady["steady"]]
    if sum(part["frames"] for part in parts) != result["frames_received"]:
        yield "transient and steady part are not all frames of the window"
    if steady["detected"] and not close(
        steady["steady_from_s"], steady["transient"]["duration_s"], 1e-6
    ):
        yield "the steady part does not begin where the transient one ends"
    timely = steady["detected"] and "latency_mean_s" in result
    if timely != ("latency_steady_mean_s" in result):
        yield "latency_steady_mean_s and a steady part do not come together"
    timed = [part for part in parts if "latency_mean_s" in part]
    if timed and not _negative(record) and "latency-truncated" not in record["flags"]:
        total = sum(part["frames"] * part["latency_mean_s"] for part in timed)
        if not close(total / result["frames_received"], result["latency_mean_s"], 1e-6):
            yield "the mean of both parts is not latency_mean_s"


def _raw(record: Record) -> Iterator[str]:
    """The latencies one by one, where they were kept, give every other number anew."""
    for stem in ("latency", "rtt"):
        raw = record.get(f"raw_{stem}_s")
        if raw is None or {"latency-truncated", "negative-latency"} & set(record["flags"]):
            continue
        result, buckets = record["result"], record[f"{stem}_histogram"]["buckets"]
        values = sorted(round(value * 1e9) for value in raw)
        exact = {"min": values[0], "max": values[-1], "mean": statistics.fmean(values)}
        if len(values) > 1:
            exact["std"] = statistics.stdev(values)
        for name, value in exact.items():
            if not close(result[f"{stem}_{name}_s"], value * 1e-9, 1e-6):
                yield f"{stem}_{name}_s is not that of the single values"
        inside = [bisect_right(values, high) - bisect_left(values, low) for low, high, _ in buckets]
        if inside != [count for _, _, count in buckets] or sum(inside) != len(values):
            yield f"the histogram of {stem} is not that of the single values"


BUSY = ("user", "system", "irq", "softirq", "guest")


def utilisation(usage: Record, cores: list[int], spin: float) -> dict[str, float]:
    """Share of each mode on these cores less the idle baseline, and ``cpu``, their sum.

    A mode that took less than the baseline counts as nothing, and the others share what that is.
    """
    idle = usage.get("baseline", {"cores": []})["cores"]
    now, before = ([one for one in some if one["core"] in cores] for some in (usage["cores"], idle))
    net = {
        mode: (sum(one[mode] for one in now) - sum(one[mode] for one in before)) / len(now)
        for mode in BUSY
    }
    net["user"] -= spin / len(now)
    cpu = min(max(sum(net.values()), 0.0), 1.0)
    parts = {mode: max(share, 0.0) for mode, share in net.items()}
    whole = sum(parts.values())
    scale = cpu / whole if whole > cpu else 1.0
    steal = min(sum(one["steal"] for one in now) / len(now), 1.0)
    return {**{mode: part * scale for mode, part in parts.items()}, "cpu": cpu, "steal": steal}


def _cpu(record: Record) -> Iterator[str]:
    result = record["result"]
    for name, value in result.items():
        plain = name.startswith("cpu_") and not name.endswith("_cores")
        if plain and not 0 <= value <= 1:
            yield f"{name} = {value} is not between 0 and 1"
    for side in ENDS:
        if f"cpu_{side}" not in result:
            continue
        if "shared-cores" in record["flags"]:
            yield f"cpu_{side} stands although the ends shared their cores"
        modes = sum(result[f"cpu_{side}_{mode}"] for mode in BUSY if mode != "guest")
        cores = record.get("cpu_modes", {side: {"cores": []}})[side]["cores"]
        guests = any(one["guest"] for one in cores)
        if not close(modes, result[f"cpu_{side}"], 1e-6) and not guests:
            yield f"cpu_{side} is not the sum of its modes"


def _cpu_again(record: Record) -> Iterator[str]:
    """Every CPU value from the modes of the cores, the baseline and the spin."""
    paced_questions = record["settings"]["pattern"] != "stream" and "rate_fps" in record["point"]
    if paced_questions:
        return  # what the asker spun stands nowhere
    result, spins = record["result"], {"send": record.get("pacing", {}).get("spin_cores", 0.0)}
    for side in ENDS:
        usage, cores, spin = record["cpu_modes"][side], record["cores"][side], spins.get(side, 0.0)
        if f"cpu_{side}" in result:
            for mode, share in utilisation(usage, cores, spin).items():
                name = f"cpu_{side}" if mode == "cpu" else f"cpu_{side}_{mode}"
                if mode != "guest" and not close(result[name], share, 1e-6):
                    yield f"{name} is {result[name]} and follows as {share}"
        # libzmq works in threads of its own, so there the whole process counts.
        whole = record["point"]["protocol"] == "zeromq"
        alone = max(usage["process_cores" if whole else "thread_cores"] - spin, 0.0)
        if not close(result.get(f"cpu_{side}_process_cores", alone), alone, 1e-6):
            yield f"cpu_{side}_process_cores is not that of the process less its spin"
        if f"cpu_{side}_cores" in result:
            everything = [one["core"] for one in usage["cores"]]
            busy = utilisation(usage, everything, spin)["cpu"] * len(everything)
            if not close(result[f"cpu_{side}_cores"], busy, 1e-6):
                yield f"cpu_{side}_cores is not the busy cores of the host"


def _wire(record: Record) -> Iterator[str]:
    """Packets by the interfaces' own counters."""
    wire, result = record["wire"], record["result"]
    if "interface" not in record:
        return
    ways = (("send", "tx", "sent"), ("recv", "rx", "received"))
    for side, way, word in ways:
        counted, usage = record["interface"][side], record["cpu_modes"][side]
        packets, octets = (counted["window"][f"{way}_{what}"] for what in ("packets", "bytes"))
        expected = {
            f"packets_per_frame_{word}": _ratio(packets, result.get(f"frames_{word}", 0)),
            f"packet_{word}_mean_bytes": _ratio(octets, packets),
        }
        for name, value in expected.items():
            if (value is None) != (name not in wire) or (value and not close(wire[name], value)):
                yield f"wire.{name} is {wire.get(name)} and follows as {value}"
        if usage["window_s"] > 0:
            rate = packets / usage["window_s"]
            if not close(result[f"packets_{word}_per_s"], rate):
                yield f"packets_{word}_per_s is not {rate}"
        if any(counted["run"][name] < value for name, value in counted["window"].items()):
            yield f"the interface of {side} counted more in the window than in the run"


def _ratio(over: int, under: int) -> float | None:
    return over / under if over > 0 and under > 0 else None


def _clock(record: Record) -> Iterator[str]:
    clock = record["clock"]
    if clock["same"] and ("offset_s" in clock or clock.get("bound_s") != 0):
        yield "one clock needs no correction"
    if "latency_mean_s" in record["result"]:
        bound = record["result"].get("latency_bound_s")
        if bound is None or not close(bound, clock.get("bound_s", math.nan)):
            yield "the clocks' bound is not carried into the latency"
    if record["result"].get("latency_min_s", 0) < 0 and not _negative(record):
        yield "a negative latency is not flagged"
    if "identity" in clock:
        mine, other = (clock["identity"][side] for side in ENDS)
        same = all(mine[key] == other[key] != "" for key in ("boot_id", "time_namespace"))
        if clock["same"] != same:
            yield "the clocks are called one and are not, or the other way round"
    if "fit" in clock:
        sign = -1 if record["settings"]["reverse"] else 1
        fit = clock["fit"]
        again = {"offset_s": sign * fit["offset_ns"] * 1e-9, "bound_s": fit["bound_ns"] * 1e-9}
        for name, value in {**again, "drift": sign * fit["drift"]}.items():
            if not close(clock[name], value):
                yield f"clock.{name} is not that of the fit"


def derived_flags(record: Record) -> set[str]:
    """The flags that follow from the other values of a record, by what the reference says of them."""
    result, found = record["result"], set()
    bound, mean = record["clock"].get("bound_s"), result.get("latency_mean_s")
    boots = {record["clock"]["identity"][side]["boot_id"] for side in ENDS}
    if len(boots) == 1 and set(record["cores"]["send"]) & set(record["cores"]["recv"]):
        found.add("shared-cores")
    if result.get("stalls"):
        found.add("stalled")
    if mean is not None and bound is not None and bound > mean / 2:
        found.add("clock-bound")
    if not record.get("steady", {"detected": True})["detected"]:
        found.add("no-steady-state")
    for side in ENDS:
        found.update(_host_flags(record["cpu_modes"][side], record["cores"][side]))
    return found


DERIVED = {
    "shared-cores", "stalled", "clock-bound", "no-steady-state", "preempted", "steal", "busy-host",
}  # fmt: skip


def _host_flags(usage: Record, cores: list[int]) -> Iterator[str]:
    if usage["involuntary_switches"] > max(10 * usage["window_s"] * max(len(cores), 1), 1):
        yield "preempted"
    if any(one["steal"] > 0.01 for one in usage["cores"] if one["core"] in cores):
        yield "steal"
    idle = [one for one in usage.get("baseline", {"cores": []})["cores"] if one["core"] in cores]
    if any(sum(one[mode] for mode in BUSY) > 0.1 for one in idle):
        yield "busy-host"


def _flags(record: Record) -> Iterator[str]:
    flags = record["flags"]
    if flags != sorted(set(flags)):
        yield "the flags are not in order, or one stands twice"
    for flag in sorted((derived_flags(record) ^ set(flags)) & DERIVED):
        yield f"the flag {flag} stands and does not follow, or the other way round"


CHECKS: tuple[Callable[[Record], Iterator[str]], ...] = (
    _absent,
    _named,
    _frames,
    _latency,
    _round_trip,
    _load,
    _cpu,
    _clock,
)
"""What can be said of the parts that every record and every excerpt has."""
WHOLE_CHECKS: tuple[Callable[[Record], Iterator[str]], ...] = (
    _rates,
    _pacing,
    _steady,
    _raw,
    _cpu_again,
    _wire,
    _flags,
)
"""What needs a whole record."""

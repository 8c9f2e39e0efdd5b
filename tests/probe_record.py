"""What must hold in every record of icprobe, worked out again from the record itself.

Python's own arithmetic, from the words of the record's format alone; nothing of the Rust is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import checkout

SCHEMA = checkout.ROOT / "calibration" / "record.schema.json"
GOLDEN = checkout.ROOT / "calibration" / "tests" / "golden"
QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
SUFFIXES = ("_bytes", "_bps", "_fps", "_per_s", "_s", "_cores")
NUMBERS = {"cores", "switches", "endpoints", "streams", "priority", "io_threads", "dscp"}
RATIOS = {"loss_rate", "cpu_quantum"}
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
    paths = [path for path in sorted(GOLDEN.glob("*.json*")) if path.name != "plan.json"]
    return [
        (f"{path.name}:{n}", record) for path in paths for n, record in enumerate(read(path), 1)
    ]


def close(a: float, b: float, relative: float = WHOLE) -> bool:
    return math.isclose(a, b, rel_tol=relative, abs_tol=1e-15)


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
    if values[f"{stem}_std_s"] > std_most_s(buckets, mean) + half_ns:
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
    """Every sentence of what does not hold in a record."""
    return [said for check in CHECKS for said in check(record)]


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
    if "frames_lost" not in result:
        return
    sent, got, lost = (result[f"frames_{name}"] for name in ("sent", "received", "lost"))
    if sent - got != lost:
        yield f"of {sent} frames {got} came and {lost} are called lost"
    if sent and not close(result["loss_rate"], lost / sent):
        yield f"the loss rate is {result['loss_rate']}, not {lost}/{sent}"
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
        if not close(result[f"rtt_half_{name}_s"] * 2, result[f"rtt_{name}_s"]):
            yield f"rtt_half_{name}_s is not half of rtt_{name}_s"


def _load(record: Record) -> Iterator[str]:
    point, result = record["point"], record["result"]
    if ("rate_fps" in point) != ("load_bps" in point):
        yield "a paced record carries both rate_fps and load_bps"
    elif "rate_fps" in point:
        load = point["rate_fps"] * point["payload_bytes"] * 8
        if not close(load, point["load_bps"]):
            yield f"load_bps is {point['load_bps']}, not {load}"
        if "sent_bps" in result and not close(result["shortfall_bps"], load - result["sent_bps"]):
            yield "shortfall_bps is not requested less sent"


def _cpu(record: Record) -> Iterator[str]:
    result = record["result"]
    for name, value in result.items():
        plain = name.startswith("cpu_") and not name.endswith("_cores")
        if plain and not 0 <= value <= 1:
            yield f"{name} = {value} is not between 0 and 1"
    for side in ("send", "recv"):
        modes = [f"cpu_{side}_{mode}" for mode in ("user", "system", "irq", "softirq")]
        if f"cpu_{side}" in result:
            total = sum(result[mode] for mode in modes)
            if abs(total - result[f"cpu_{side}"]) > 1e-6 and result[f"cpu_{side}"] < 1:
                yield f"cpu_{side} is not the sum of its modes"
            if "shared-cores" in record["flags"]:
                yield f"cpu_{side} stands although the ends shared their cores"


def _clock(record: Record) -> Iterator[str]:
    clock = record["clock"]
    if clock["same"] and ("offset_s" in clock or clock["bound_s"] != 0):
        yield "one clock needs no correction"
    if "latency_mean_s" in record["result"]:
        bound = record["result"].get("latency_bound_s")
        if bound is None or not close(bound, clock["bound_s"]):
            yield "the clocks' bound is not carried into the latency"
    if record["result"].get("latency_min_s", 0) < 0 and not _negative(record):
        yield "a negative latency is not flagged"


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

"""icprobe's records: the published schema, and every derived number worked out again in Python."""

from __future__ import annotations

import copy
import json
import math
import random
import re
import statistics
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import checkout
import probe_record
from probe_record import Record, bucket_of, faults, mean_bounds_s

PATTERNS = {"stream", "ping-pong", "oneway-batch", "twoway-batch", "call"}
PARTS = {"schema_version", "point", "result", "cpu_modes", "clock", "environment", "flags"}


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    if not probe_record.SCHEMA.is_file():
        pytest.skip("needs calibration/record.schema.json, which is not in this folder")
    schema = json.loads(probe_record.SCHEMA.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.fixture(params=probe_record.golden(), ids=lambda found: found[0])
def record(request: pytest.FixtureRequest) -> Record:
    kept: Record = copy.deepcopy(request.param[1])
    return kept


def errors(validator: Draft202012Validator, record: Record) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(record)]


def test_a_golden_record_fits_the_schema(record: Record, validator: Draft202012Validator) -> None:
    assert errors(validator, record) == []
    assert next(iter(record)) == "schema_version"
    assert record.keys() >= PARTS


def test_a_golden_record_holds_together(record: Record) -> None:
    assert faults(record) == []


def test_the_golden_records_show_streams_and_round_trips() -> None:
    shown = [record for _, record in probe_record.golden()]
    assert {record["settings"]["pattern"] for record in shown} >= {"stream", "ping-pong"}
    assert {record["settings"]["pattern"] for record in shown} <= PATTERNS
    assert any("pacing" in record for record in shown)
    assert any(record["result"].get("frames_lost", 0) for record in shown)
    assert any(not record["clock"]["same"] for record in shown)


def test_a_key_too_many_or_too_few_breaks_the_schema(
    record: Record, validator: Draft202012Validator
) -> None:
    assert errors(validator, {**record, "extra": 1})
    assert errors(validator, {**record, "result": {**record["result"], "goodput": 1.0}})
    for name in PARTS:
        assert errors(validator, {key: record[key] for key in record if key != name}), name


def change(*path: str, by: Callable[[Any], Any]) -> Callable[[Record], None]:
    """A change of one place of a record."""

    def apply(record: Record) -> None:
        part: Any = record
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] = by(part[path[-1]])

    return apply


SEEDS = {
    "a lost frame more": change("result", "frames_lost", by=lambda n: n + 1),
    "another loss rate": change("result", "loss_rate", by=lambda r: r + 0.01),
    "a median of another bucket": change("result", "latency_p50_s", by=lambda s: s * 1.1),
    "a mean off by a percent": change("result", "latency_mean_s", by=lambda s: s * 1.01),
    "a bucket left out": change("latency_histogram", "buckets", by=lambda b: b[1:]),
    "an empty bucket": change(
        "latency_histogram", "buckets", by=lambda b: [*b, [10**12] * 2 + [0]]
    ),
    "another unit": change("latency_histogram", "unit", by=lambda _: "us"),
    "a load of another rate": change("point", "rate_fps", by=lambda r: r * 2),
    "a null": change("result", "goodput_bps", by=lambda _: None),
    "more than a core a core": change("result", "cpu_send", by=lambda _: 1.5),
    "a bound left behind": change("clock", "bound_s", by=lambda b: b + 1e-6),
}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seeded_fault_is_found(seed: str) -> None:
    record = sample()
    assert faults(record) == []
    SEEDS[seed](record)
    assert faults(record) != []


def hdr_buckets(values: list[int]) -> list[list[int]]:
    """Values of whole ns in the buckets of a histogram that keeps three digits."""
    counts: dict[tuple[int, int], int] = {}
    for value in values:
        width = 1 << max(0, value.bit_length() - 11)
        lower = value // width * width
        counts[lower, lower + width - 1] = counts.get((lower, lower + width - 1), 0) + 1
    return [[*ends, count] for ends, count in sorted(counts.items())]


def sample(seed: int = 1) -> Record:
    """A paced UDP run of known latencies, one frame in a hundred lost, with what follows of them."""
    chance = random.Random(seed)
    values = sorted(int(chance.lognormvariate(10.5, 0.4)) for _ in range(990))
    buckets = hdr_buckets(values)
    tops = {name: bucket_of(buckets, q)[1] for name, q in probe_record.QUANTILES.items()}
    latency = {
        "mean": statistics.fmean(values),
        "std": statistics.stdev(values),
        "min": values[0],
        "max": values[-1],
        **{name: min(top, values[-1]) for name, top in tops.items()},
    }
    result = {f"latency_{name}_s": value * 1e-9 for name, value in latency.items()}
    counts = {"frames_sent": 1000, "frames_received": 990, "frames_lost": 10, "loss_rate": 0.01}
    modes = {"user": 0.1, "system": 0.2, "irq": 0.0, "softirq": 0.05, "steal": 0.0}
    cpu = {f"cpu_send_{mode}": share for mode, share in modes.items()}
    return {
        "point": {
            "protocol": "udp",
            "payload_bytes": 1472,
            "rate_fps": 500.0,
            "load_bps": 5_888_000.0,
        },
        "result": {
            "goodput_bps": 5_829_120.0,
            "sent_bps": 5_888_000.0,
            "shortfall_bps": 0.0,
            **counts,
            **result,
            "latency_bound_s": 2e-6,
            "cpu_send": 0.35,
            **cpu,
        },
        "latency_histogram": {"unit": "ns", "significant_digits": 3, "buckets": buckets},
        "clock": {"same": False, "offset_s": 0.5, "bound_s": 2e-6},
        "flags": [],
    }


@pytest.mark.parametrize("seed", range(20))
def test_the_quantile_rule_is_that_of_the_sorted_values(seed: int) -> None:
    chance = random.Random(seed)
    values = sorted(int(chance.paretovariate(1.2) * 1000) for _ in range(chance.randint(1, 999)))
    buckets = hdr_buckets(values)
    for quantile in (0.5, 0.9, 0.99, 0.999, 1.0):
        exact = values[math.ceil(quantile * len(values)) - 1]
        lower, upper, _ = bucket_of(buckets, quantile)
        assert lower <= exact <= upper
    low, high = mean_bounds_s(buckets)
    assert low <= statistics.fmean(values) * 1e-9 <= high * (1 + 1e-12)


def test_every_flag_is_explained_to_readers() -> None:
    source = (checkout.ROOT / "calibration" / "src" / "flags.rs").read_text(encoding="utf-8")
    flags = re.findall(r'pub const \w+: &str = "([a-z-]+)";', source)
    page = (checkout.ROOT / "docs" / "reference" / "probe.md").read_text(encoding="utf-8")
    assert flags
    assert [flag for flag in flags if f"`{flag}`" not in page] == []

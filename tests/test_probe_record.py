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
from scipy.stats import t as student_t

import checkout
import probe_record
from probe_record import Record, bucket_of, faults, mean_bounds_s

PATTERNS = {"stream", "ping-pong", "oneway-batch", "twoway-batch", "call"}
PARTS = {"schema_version", "point", "result", "cpu_modes", "clock", "environment", "flags"}
AHEAD_S = 1000.0
"""How far the topology direct-clocks sets one clock ahead."""


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
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


def named(name: str) -> Record:
    """A golden record by its name."""
    kept: Record = copy.deepcopy(dict(probe_record.golden())[name])
    return kept


def test_the_golden_records_show_streams_and_round_trips() -> None:
    shown = [record for _, record in probe_record.golden()]
    assert {record["settings"]["pattern"] for record in shown} >= {"stream", "ping-pong", "call"}
    assert {record["settings"]["pattern"] for record in shown} <= PATTERNS
    assert {record["point"]["protocol"] for record in shown} == {"tcp", "udp", "ethernet", "zeromq"}
    assert any("pacing" in record for record in shown)
    assert any("plan" in record for record in shown)
    assert any(not record["clock"]["same"] for record in shown)


def test_the_golden_records_name_no_machine(record: Record) -> None:
    for side in probe_record.ENDS:
        host = record["environment"][side]
        assert (host["hostname"], host["kernel_cmdline"]) == ("golden", "quiet")
        assert set(record["clock"]["identity"][side]["boot_id"]) == {"0", "4", "8", "-"}


def test_every_tenth_frame_is_lost_where_the_topology_drops_it() -> None:
    record = named("ethernet-loss:1")
    run = record["loss"]["run_frames_sent"]
    assert record["result"]["frames_lost"] >= record["result"]["frames_sent"] // 10
    lost = run - record["loss"]["run_frames_received"]
    assert lost == run // 10 + record["loss"]["socket_overflow"]


def test_the_offset_between_two_clocks_is_found_within_its_bound() -> None:
    clock = named("two-clocks:1")["clock"]
    assert 0 < clock["bound_s"] < 1e-3
    assert abs(clock["offset_s"] - AHEAD_S) <= clock["bound_s"]


def test_short_frames_have_neither_latency_nor_numbers() -> None:
    record = named("short-frames:1")
    absent = ("latency_mean_s", "frames_duplicate", "frames_reordered", "latency_bound_s")
    assert not set(absent) & record["result"].keys()
    assert not {"latency_histogram", "latency_from_intended_mean_s"} & record.keys()
    assert 0 < record["result"]["frames_received"] <= record["result"]["frames_sent"]
    assert record["result"]["frames_lost"] <= record["loss"]["socket_overflow"]


def test_a_campaign_says_how_well_its_repeats_agree() -> None:
    """Student's interval of the mean, at the confidence that each look is given."""
    records = [one for name, one in probe_record.golden() if name.startswith("campaign:")]
    assert [record["plan"]["repeat"] for record in records] == list(range(len(records)))
    values = [record["result"]["goodput_bps"] for record in records]
    last = records[-1]["plan"]
    said = last["confidence"]
    looks = 2  # after two runs and after three, of one metric
    assert said["adjusted_confidence"] == pytest.approx(1 - (1 - said["confidence"]) / looks)
    students = student_t.ppf((1 + said["adjusted_confidence"]) / 2, len(values) - 1)
    error = statistics.stdev(values) / math.sqrt(len(values))
    relative = students * error / statistics.fmean(values)
    assert said["relative_half_widths"]["goodput_bps"] == pytest.approx(relative, rel=1e-6)
    assert said["met"] == (relative <= said["relative_width"])
    assert (said["runs"], last["held_out"], last["kind"]) == (len(values), True, "held-out")


def test_a_key_too_many_or_too_few_breaks_the_schema(
    record: Record, validator: Draft202012Validator
) -> None:
    assert errors(validator, {**record, "extra": 1})
    assert errors(validator, {**record, "result": {**record["result"], "goodput": 1.0}})
    for name in PARTS:
        assert errors(validator, {key: record[key] for key in record if key != name}), name


def test_what_is_not_measured_is_absent_and_never_null(
    record: Record, validator: Draft202012Validator
) -> None:
    assert errors(validator, {**record, "result": {**record["result"], "cpu_send": None}})
    assert errors(validator, {**record, "pacing": None})
    assert errors(validator, {**record, "flags": ["no-such-flag"]})
    assert errors(validator, {**record, "schema_version": 2})


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


IN_A_WHOLE_RECORD = {
    "a goodput that the frames do not make": change("result", "goodput_bps", by=lambda g: g * 1.1),
    "another rate of frames": change("result", "frames_per_s", by=lambda f: f + 1),
    "a schedule that was kept less": change("pacing", "achieved_fps", by=lambda f: f * 0.99),
    "frames before their time": change("pacing", "latency_from_intended_mean_s", by=lambda _: 0.0),
    "a frame in neither part": change("steady", "transient", "frames", by=lambda n: n + 1),
    "another mean of the steady part": change(
        "steady", "steady", "latency_mean_s", by=lambda s: s * 2
    ),
    "another deviation": change("result", "latency_std_s", by=lambda s: s * 1.001),
    "a latency that is not in the histogram": change("raw_latency_s", by=lambda raw: [*raw, 0.5]),
    "CPU that no core used": change("result", "cpu_recv", by=lambda share: share + 0.1),
    "CPU of the process": change("result", "cpu_send_process_cores", by=lambda cores: cores + 0.1),
    "two packets a frame": change("wire", "packets_per_frame_sent", by=lambda n: n * 2),
    "larger packets": change("wire", "packet_received_mean_bytes", by=lambda n: n + 4),
    "packets before the run": change("interface", "recv", "window", "rx_bytes", by=lambda n: n * 9),
    "another clock": change("clock", "identity", "recv", "time_namespace", by=lambda n: n + 1),
    "shared cores": change("cores", "recv", by=lambda _: [0, 1]),
    "another number of stalls": change("result", "stalls", by=lambda n: 0 if n else 1),
    "flags that do not follow": change("flags", by=lambda _: sorted(probe_record.DERIVED)),
    "a flag twice": change("flags", by=lambda flags: [*flags, "unsteered", "unsteered"]),
}


@pytest.mark.parametrize("seed", IN_A_WHOLE_RECORD)
def test_a_fault_seeded_into_a_whole_record_is_found(seed: str) -> None:
    record = named("udp-paced:1")
    assert faults(record) == []
    IN_A_WHOLE_RECORD[seed](record)
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

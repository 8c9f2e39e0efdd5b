"""Consistency: wrong units and swapped labels contradict the wire, the result itself, or other files.

The truths are bundled datasets, cut into one file a point: nothing may be said of them, and a mistake
made in one file must name that file and no other.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import search
from icmodel.dataset import Interconnect, catalogue, load
from icmodel.fold import is_folded
from icmodel.ingest import column_map
from icmodel.ingest.consistency import (
    BITS,
    COUNT,
    TIME,
    hint,
    problems,
    remarks,
    repeat_problems,
    slip_of,
)
from icmodel.ingest.result import Hosts, Limits, Number, Origin, Result
from icmodel.ranges import MOST
from ingest_cases import TEN_GIGABIT, made, tables

COLUMNS = column_map(
    {
        "columns": {
            "size": {"field": "payload_bytes", "unit": "B"},
            "rate": {"field": "frames_per_s", "unit": "/s"},
            "goodput": {"field": "goodput_bps", "unit": "Mb/s"},
            "half": {"field": "rtt_half_mean_s", "unit": "us"},
            "whole": {"field": "rtt_mean_s", "unit": "us"},
        }
    },
    "test",
)
SIZES = [64, 128, 256, 512, 1024, 2048, 4096, 8192]


def problem(values: Mapping[str, float], link: Interconnect | None = None, **where: object) -> str:
    """First problem of a result; empty without one."""
    return next(problems(made(values, **where), link), "")  # type: ignore[arg-type]


# --- one result -------------------------------------------------------------------------------


def test_goodput_above_the_wire_is_named_with_its_likely_mistake() -> None:
    said = problem({"goodput_bps": 9.2e9 * 8}, TEN_GIGABIT)
    assert "above the" in said
    assert "bits taken for bytes" in said


def test_goodput_at_the_line_rate_is_accepted() -> None:
    assert problem({"goodput_bps": 9.41e9}, TEN_GIGABIT) == ""


def test_small_frames_of_udp_have_a_lower_bound() -> None:
    # 1 B in a minimal frame of 84 B: 1/84 of the line.
    assert "above the" in problem(
        {"goodput_bps": 5e9}, TEN_GIGABIT, protocol="udp", payload_bytes=1
    )


def test_an_unknown_protocol_is_compared_with_the_line_rate() -> None:
    assert "above the" in problem({"goodput_bps": 11e9}, TEN_GIGABIT, protocol="zeromq")
    assert problem({"goodput_bps": 9.9e9}, TEN_GIGABIT, protocol="zeromq") == ""


def test_latency_below_the_wire_is_named() -> None:
    # 64 KiB take 55 us at 10 Gb/s
    said = problem({"rtt_half_mean_s": 40e-6}, TEN_GIGABIT, payload_bytes=65536)
    assert "on the wire" in said
    assert problem({"rtt_half_mean_s": 80e-6}, TEN_GIGABIT, payload_bytes=65536) == ""


def test_a_round_trip_takes_the_transmission_time_twice() -> None:
    assert "on the wire" in problem({"rtt_mean_s": 80e-6}, TEN_GIGABIT, payload_bytes=65536)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"cpu_send": 40.0}, "per cent was taken for a share"),
        ({"loss_rate": 1.2}, "more than 1"),
        ({"goodput_bps": -1.0}, "at least 0"),
        ({"goodput_bps": math.nan}, "nan"),
        ({"goodput_bps": 2e9, "sent_bps": 1e9}, "sender and receiver are swapped"),
        ({"goodput_bps": 1e6, "frames_per_s": 1000.0}, "bits taken for bytes"),
        ({"rtt_half_p50_s": 30e-6, "rtt_half_p99_s": 20e-6}, "swapped"),
        ({"rtt_half_mean_s": 30e-6, "rtt_half_max_s": 20e-6}, "above rtt_half_max_s"),
        ({"rtt_half_mean_s": 40e-6, "rtt_mean_s": 20e-6}, "labels are swapped"),
        ({"latency_p50_s": 40e-6, "rtt_p50_s": 40e-6}, "labelled as half or as one-way"),
        ({"latency_mean_s": 10e-6, "latency_min_s": 20e-6}, "below latency_min_s"),
    ],
)
def test_a_result_that_contradicts_itself_is_named(values: dict[str, float], words: str) -> None:
    assert words in problem(values)


@pytest.mark.parametrize(
    "where",
    [
        {"payload_bytes": 0},
        {"protocol": "TCP"},
        {"cores": 0},
        *({name: MOST + 1} for name in ("payload_bytes", "cores", "switches", "endpoints")),
    ],
)
def test_labels_that_no_row_can_have_are_named(where: dict[str, object]) -> None:
    assert problem({"goodput_bps": 1e9}, None, **where)


def test_a_little_more_received_than_sent_is_two_windows() -> None:
    assert problem({"goodput_bps": 1.01e9, "sent_bps": 1e9}) == ""


@given(st.sampled_from([8, 1e3, 1e6, 1 / 8, 1e-3, 1e-6]), st.floats(0.7, 1.4))
def test_a_slip_is_known_by_its_factor(factor: float, noise: float) -> None:
    assert slip_of(factor * noise, BITS)


@given(st.floats(0.65, 1.5), st.sampled_from([BITS, TIME, COUNT]))
def test_noise_is_no_slip(ratio: float, of: str) -> None:
    assert slip_of(ratio, of) is None


@pytest.mark.parametrize("ratio", [8.0, 125.0, 8e3])
def test_a_time_is_never_off_by_bits_for_bytes(ratio: float) -> None:
    assert slip_of(ratio, BITS)
    assert slip_of(ratio, TIME) is None
    assert slip_of(ratio, COUNT) is None


def test_with_a_warm_up_more_may_arrive_than_was_sent() -> None:
    values = {"goodput_bps": 1.2e9, "sent_bps": 1e9}
    assert list(problems(replace(made(values), limits=Limits(most_goodput_ratio=1.5)), None)) == []
    assert list(problems(made(values), None))


def test_more_than_the_load_is_named() -> None:
    said = problem({"goodput_bps": 100e6}, None, load_bps=100e3)
    assert "above the load" in said
    assert "one unit prefix off" in said
    assert problem({"sent_bps": 101e6}, None, load_bps=100e6) == ""
    assert problem({"sent_bps": 101e6}, None, load_bps=math.inf) == ""


# --- between files ----------------------------------------------------------------------------

Curve = list[tuple[int, float]]


def bundled() -> dict[str, tuple[str, Curve]]:
    """Published curves of the bundled datasets over the payload, by a name.

    Not those of a lab of one's own, whose few runs scatter by as much as a slip.
    """
    curves: dict[str, tuple[str, Curve]] = {}
    published = (name for name in catalogue() if not is_folded(load(name).folder))
    for name in published:
        found: dict[tuple[object, ...], Curve] = defaultdict(list)
        for p in load(name).points:
            if p.basis in ("measured", "tabulated") and p.payload_bytes and p.value > 0:
                key: tuple[object, ...] = (p.metric, p.protocol, *p[3:8], p.options)
                found[key].append((p.payload_bytes, p.value))
        for key, curve in found.items():
            if key[0] in ("goodput_bps", "rtt_half_mean_s", "latency_mean_s") and len(curve) > 5:
                curves[f"{name} {key}"] = str(key[0]), curve
    return curves


CURVES = bundled()


def files(metric: str, curve: Curve) -> dict[str, list[Result]]:
    """Results of each point of a curve, as one file each."""
    return {str(payload): [made({metric: value}, payload)] for payload, value in curve}


def named(results: Mapping[str, list[Result]]) -> dict[str, str]:
    """The remarks on some files, by file."""
    return {sentence.split(":")[0]: sentence for sentence in remarks(results)}


def test_there_are_curves_to_test_with() -> None:
    assert len(CURVES) > 40


@pytest.mark.parametrize("name", sorted(CURVES))
def test_a_true_curve_gets_no_remark(name: str) -> None:
    assert remarks(files(*CURVES[name])) == ()


def wrong_at(curve: Curve, at: int, factor: float) -> Curve:
    """Copy of a curve with one value in another unit."""
    return [(p, v * factor if i == at else v) for i, (p, v) in enumerate(curve)]


@settings(max_examples=search.times(60))
@given(st.sampled_from(sorted(CURVES)), st.data())
def test_a_wrong_unit_names_its_file_alone_and_the_right_factor(
    name: str, data: st.DataObject
) -> None:
    metric, points = CURVES[name]
    curve = sorted(dict(points).items())
    at = data.draw(st.integers(1, len(curve) - 2))
    factors = sorted(SAID) if metric == "goodput_bps" else [1e-3, 1e3, 1e6]
    factor = data.draw(st.sampled_from(factors))
    found = named(files(metric, wrong_at(curve, at, factor)))
    assert set(found) <= {str(curve[at][0])}
    assert all(SAID[factor] in sentence for sentence in found.values())


@pytest.mark.sampled
@pytest.mark.parametrize("factor", [1 / 8, 1e3])
def test_a_wrong_unit_is_missed_at_few_steps_of_real_curves_alone(factor: float) -> None:
    curves = [sorted(dict(points).items()) for _, points in CURVES.values()]
    found = [
        set(named(files("goodput_bps", wrong_at(curve, at, factor)))) == {str(curve[at][0])}
        for curve in curves
        for at in range(1, len(curve) - 1, 1 if search.PROFILE == "thorough" else 3)
    ]
    assert sum(found) > 0.95 * len(found)


SAID = {
    1 / 8: "bits taken for bytes",
    8: "bits taken for bytes",
    8e3: "bits for bytes, and a wrong prefix",
    1e-3: "one unit prefix off",
    1e3: "one unit prefix off",
    1e6: "two unit prefixes off",
}


@pytest.mark.parametrize("size", [SIZES[0], SIZES[-1]])
@pytest.mark.parametrize("factor", [8, 1 / 8, 1e3, 1e-3])
def test_a_wrong_unit_at_the_end_of_a_curve_names_that_file(size: int, factor: float) -> None:
    curve = [(n, 940e6 * n / (n + 300) * (factor if n == size else 1)) for n in SIZES]
    assert set(named(files("goodput_bps", curve))) == {str(size)}


def test_a_whole_sweep_in_another_unit_is_named() -> None:
    sweeps = {
        name: [made({"goodput_bps": 1e6 * size * factor}, size) for size in SIZES]
        for name, factor in (("a", 1.0), ("b", 1.1), ("bytes", 1 / 8))
    }
    assert set(named(sweeps)) == {"bytes"}


def test_a_sweep_is_compared_with_one_of_other_payloads() -> None:
    """The line through the other files does not use the file itself."""
    right = [made({"goodput_bps": 1e6 * size}, size) for size in SIZES]
    other = [made({"goodput_bps": 1e6 * 1.5 * size / 8}, 3 * size // 2) for size in SIZES]
    assert set(named({"right": right, "bytes": other})) == {"right", "bytes"}


def test_of_two_files_both_are_named_with_units() -> None:
    pair = {
        "a": [made({"rtt_half_mean_s": 2.15e-5}, 64)],
        "b": [made({"rtt_half_mean_s": 2.15e-2}, 64)],
    }
    found = named(pair)
    assert set(found) == {"a", "b"}
    assert "of 21.5 µs at 64 B is 0.001 times" in found["a"]
    assert "(about 21.5 ms)" in found["a"]


def test_five_times_as_much_is_no_known_mistake() -> None:
    pair = {"a": [made({"goodput_bps": 1e9})], "b": [made({"goodput_bps": 5e9})]}
    assert remarks(pair) == ()


def test_of_two_runs_the_one_on_the_line_of_the_others_is_right() -> None:
    runs = {str(size): [made({"goodput_bps": 1e6 * size}, size)] for size in SIZES}
    runs["wrong"] = [made({"goodput_bps": 1e6 * 512 / 8}, 512)]
    assert set(named(runs)) == {"wrong"}


def noisy(seed: int, repeats: int) -> dict[str, list[Result]]:
    """Runs of a busy host: stalls lengthen the mean tenfold or more, and other statistics less."""
    draw = random.Random(seed)
    found = {}
    for size in SIZES:
        for repeat in range(repeats):
            floor = (10e-6 + size * 2e-9) * math.exp(0.1 * abs(draw.gauss(0, 1)))
            middle = floor * (1.2 + abs(draw.gauss(0, 0.4)))
            mean = middle * math.exp(abs(draw.gauss(0, 1.2)))
            values = {
                "goodput_bps": 5e6 * size / (1 + size / 4096) * math.exp(-abs(draw.gauss(0, 0.15))),
                "latency_min_s": floor,
                "latency_p50_s": middle,
                "latency_mean_s": mean,
            }
            found[f"{size}-{repeat}"] = [made(values, size)]
    return found


@pytest.mark.parametrize("repeats", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_noisy_runs_get_no_remark(seed: int, repeats: int) -> None:
    assert remarks(noisy(seed, repeats)) == ()


def scaled(results: list[Result], factor: float, ending: str) -> list[Result]:
    """Copy of the files with every number of a family multiplied by a factor."""
    return [
        replace(
            result,
            numbers=tuple(
                number._replace(value=factor * number.value)
                if number.metric.endswith(ending)
                else number
                for number in result.numbers
            ),
        )
        for result in results
    ]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("factor", "ending", "words"),
    [
        (8.0, "_bps", "bits taken for bytes"),
        (1 / 8, "_bps", "bits taken for bytes"),
        (1e3, "_bps", "one unit prefix off"),
        (1024 * 8, "_bps", "bits for bytes, and a wrong prefix"),
        (1 / 125, "_bps", "one unit prefix off in the opposite direction"),
        (1e3, "_s", "ms for us"),
        (1e-6, "_s", "s for us"),
    ],
)
def test_a_wrong_unit_among_noisy_runs_is_named(
    seed: int, factor: float, ending: str, words: str
) -> None:
    runs = noisy(seed, 3)
    runs["512-1"] = scaled(runs["512-1"], factor, ending)
    found = named(runs)
    assert set(found) == {"512-1"}
    assert words in found["512-1"]


def test_noisy_repeats_are_no_mistake() -> None:
    wide = {str(n): [made({"goodput_bps": 1e9 * (0.5 + n / 10)})] for n in range(10)}
    assert remarks(wide) == ()


def test_a_round_trip_among_steady_halves_is_named() -> None:
    runs = {
        f"{size}-{at}": [made({"rtt_half_mean_s": 20e-6 * (1 + at / 50)}, size)]
        for size in SIZES
        for at in range(3)
    }
    runs["512-3"] = [made({"rtt_half_mean_s": 40.5e-6}, 512)]
    found = named(runs)
    assert set(found) == {"512-3"}
    assert "a whole round trip labelled as half or as one-way" in found["512-3"]


def test_a_slow_run_with_both_half_and_whole_round_trips_is_no_mistake() -> None:
    def run(wide: float) -> list[Result]:
        return [made({"rtt_half_mean_s": 20e-6 * wide, "rtt_mean_s": 40e-6 * wide})]

    assert remarks({str(at): run(wide) for at, wide in enumerate((1, 1.1, 1.9))}) == ()


def test_pairs_of_hosts_are_not_compared() -> None:
    def between(sender: str, value: float) -> list[Result]:
        result = made({"goodput_bps": value})
        return [
            Result(
                Origin("t", "1", ""),
                result.labels,
                (Number("goodput_bps", value, "receiver"),),
                Hosts(sender, "b"),
            )
        ]

    assert remarks({"slow": between("a", 1e9), "fast": between("c", 8e9)}) == ()


# --- end to end -------------------------------------------------------------------------------


def row(size: int, *, unit: float = 1.0, trips: float = 1.0) -> str:
    rate = 1e5 / (1 + size / 4096)
    half = 10 + size / 1000
    cells = (size, rate, unit * rate * size * 8 / 1e6, trips * half, 2 * half)
    return "size,rate,goodput,half,whole\n" + ",".join(map(str, cells)) + "\n"


def test_a_wrong_file_among_good_ones_is_refused_and_named(tmp_path: Path) -> None:
    texts = {f"{size}.csv": row(size) for size in SIZES}
    assert tables(tmp_path, texts, COLUMNS, TEN_GIGABIT).refused == ()
    texts["512.csv"] = row(512, unit=1 / 8)  # megabytes in a column of megabits per second
    texts["1024.csv"] = row(1024, trips=2.0)  # a round trip in the column of halves
    got = tables(tmp_path, texts, COLUMNS, TEN_GIGABIT)
    reasons = {refusal.file: refusal.reason for refusal in got.refused}
    assert set(reasons) == {"512.csv", "1024.csv"}
    assert "bits taken for bytes" in reasons["512.csv"]
    assert "round trip" in reasons["1024.csv"]


def test_a_file_that_contradicts_only_the_others_is_taken_with_a_remark(tmp_path: Path) -> None:
    texts = {f"{size}.csv": times(size) for size in SIZES}
    texts["512.csv"] = times(512, unit=1e3)
    got = tables(tmp_path, texts, COLUMNS)
    assert got.refused == ()
    assert len(got.taken) == len(SIZES)
    [note] = [note for note in got.notes if "512.csv" in note]
    assert "times the value in the other files (about 1" in note
    assert "such as ms for us" in note
    assert "check it" in note


def times(size: int, unit: float = 1.0) -> str:
    """Table with only the means of half round trips."""
    return f"size,rate,goodput,half,whole\n{size},,,{unit * (10 + size / 1000)},\n"


def test_results_of_one_file_too_far_apart_are_named_with_units() -> None:
    said = next(repeat_problems([made({"goodput_bps": 1e9}), made({"goodput_bps": 4e9})]))
    assert "from 1 Gb/s to 4 Gb/s" in said


@pytest.mark.parametrize(
    ("metric", "ratio", "said"),
    [
        ("rtt_half_mean_s", 2.0, "labelled as half or as one-way"),
        ("rtt_half_mean_s", 0.41, "halved again"),
        ("rtt_mean_s", 0.5, "half a round trip labelled as a whole one"),
        ("rtt_mean_s", 2.0, "a whole round trip doubled"),
    ],
)
def test_a_round_trip_is_mistaken_in_one_direction(metric: str, ratio: float, said: str) -> None:
    assert said in hint(ratio, 1.0, metric)

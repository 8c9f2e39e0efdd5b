"""A wrong unit or a swapped label is found: against the wire, against itself, against the others.

The truths are bundled datasets, cut into one file a point: nothing of them may be refused, and a
mistake made in one file must name that file and no other.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icmodel.dataset import Interconnect, catalogue, load
from icmodel.fold import is_folded
from icmodel.ingest import column_map
from icmodel.ingest.between import contradictions
from icmodel.ingest.result import Number, Result
from icmodel.ingest.slips import slip
from icmodel.ingest.within import problems
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
    """The first thing that is wrong with a result; empty where nothing is."""
    return next(problems(made(values, **where), link), "")  # type: ignore[arg-type]


# --- one result -------------------------------------------------------------------------------


def test_goodput_above_the_wire_is_named_with_its_likely_mistake() -> None:
    said = problem({"goodput_bps": 9.2e9 * 8}, TEN_GIGABIT)
    assert "above the" in said
    assert "bits taken for bytes" in said


def test_goodput_at_the_wire_is_not() -> None:
    assert problem({"goodput_bps": 9.41e9}, TEN_GIGABIT) == ""


def test_small_frames_of_udp_have_a_lower_bound() -> None:
    # 1 B in a minimal frame of 84 B: 1/84 of the line.
    assert "above the" in problem(
        {"goodput_bps": 5e9}, TEN_GIGABIT, protocol="udp", payload_bytes=1
    )


def test_an_unknown_protocol_is_held_against_the_line() -> None:
    assert "above the" in problem({"goodput_bps": 11e9}, TEN_GIGABIT, protocol="zeromq")
    assert problem({"goodput_bps": 9.9e9}, TEN_GIGABIT, protocol="zeromq") == ""


def test_latency_below_the_wire_is_named() -> None:
    # 64 KiB take 55 us at 10 Gb/s
    said = problem({"rtt_half_mean_s": 40e-6}, TEN_GIGABIT, payload_bytes=65536)
    assert "on the wire" in said
    assert problem({"rtt_half_mean_s": 80e-6}, TEN_GIGABIT, payload_bytes=65536) == ""


def test_a_round_trip_goes_the_way_twice() -> None:
    assert "on the wire" in problem({"rtt_mean_s": 80e-6}, TEN_GIGABIT, payload_bytes=65536)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"cpu_send": 40.0}, "per cent taken for a share"),
        ({"loss_rate": 1.2}, "more than the whole"),
        ({"goodput_bps": -1.0}, "below 0"),
        ({"goodput_bps": math.nan}, "nan"),
        ({"goodput_bps": 2e9, "sent_bps": 1e9}, "sender and receiver are swapped"),
        ({"goodput_bps": 1e6, "frames_per_s": 1000.0}, "bits taken for bytes"),
        ({"rtt_half_p50_s": 30e-6, "rtt_half_p99_s": 20e-6}, "swapped"),
        ({"rtt_half_mean_s": 30e-6, "rtt_half_max_s": 20e-6}, "above rtt_half_max_s"),
        ({"rtt_half_mean_s": 40e-6, "rtt_mean_s": 20e-6}, "labels are swapped"),
        ({"latency_p50_s": 40e-6, "rtt_p50_s": 40e-6}, "labelled as half of one or one-way"),
        ({"latency_mean_s": 10e-6, "latency_min_s": 20e-6}, "below latency_min_s"),
    ],
)
def test_a_result_that_contradicts_itself_is_named(values: dict[str, float], words: str) -> None:
    assert words in problem(values)


@pytest.mark.parametrize("where", [{"payload_bytes": 0}, {"protocol": "TCP"}, {"cores": 0}])
def test_labels_that_no_row_can_have_are_named(where: dict[str, object]) -> None:
    assert problem({"goodput_bps": 1e9}, None, **where)


def test_a_little_more_received_than_sent_is_two_windows() -> None:
    assert problem({"goodput_bps": 1.01e9, "sent_bps": 1e9}) == ""


@given(st.sampled_from([8, 1e3, 1e6, 1 / 8, 1e-3, 1e-6]), st.floats(0.7, 1.4))
def test_a_slip_is_known_by_its_factor(factor: float, noise: float) -> None:
    assert slip(factor * noise, latency=False)


@given(st.floats(0.65, 1.5))
def test_noise_is_no_slip(ratio: float) -> None:
    assert slip(ratio, latency=True) == ""


def test_a_warm_up_left_out_lets_more_arrive_than_was_sent() -> None:
    values = {"goodput_bps": 1.2e9, "sent_bps": 1e9}
    assert list(problems(replace(made(values), windows=1.5), None)) == []
    assert list(problems(made(values), None))


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
    """A file for each point of a curve."""
    return {str(payload): [made({metric: value}, payload)] for payload, value in curve}


def test_there_are_curves_to_test_with() -> None:
    assert len(CURVES) > 40


@pytest.mark.parametrize("name", sorted(CURVES))
def test_nothing_of_a_true_curve_is_refused(name: str) -> None:
    assert contradictions(files(*CURVES[name])) == {}


@settings(max_examples=150)
@given(st.sampled_from(sorted(CURVES)), st.data())
def test_a_wrong_unit_in_one_file_names_that_file(name: str, data: st.DataObject) -> None:
    metric, curve = CURVES[name]
    at = data.draw(st.integers(1, len(curve) - 2))
    factor = data.draw(st.sampled_from([1 / 8, 8, 1e3, 1e6]))
    wrong = [(p, v * factor if i == at else v) for i, (p, v) in enumerate(curve)]
    assert set(contradictions(files(metric, wrong))) == {str(curve[at][0])}


@given(st.integers(1, 6), st.floats(0.0, 0.05))
def test_a_round_trip_among_halves_names_its_file(at: int, noise: float) -> None:
    curve = [(size, (10e-6 + size * 2e-9) * (1 + noise * (-1) ** (size % 3))) for size in SIZES]
    curve[at] = (SIZES[at], 2 * curve[at][1])
    found = contradictions(files("rtt_half_mean_s", curve))
    assert set(found) == {str(SIZES[at])}
    assert "round trip" in found[str(SIZES[at])]


def test_exchanged_payloads_name_both_files() -> None:
    curve = [(size, 1e6 * size) for size in SIZES]
    curve[2], curve[5] = (SIZES[2], curve[5][1]), (SIZES[5], curve[2][1])
    found = contradictions(files("goodput_bps", curve))
    assert set(found) == {str(SIZES[2]), str(SIZES[5])}
    assert "exchanged" in found[str(SIZES[2])]


def test_a_whole_sweep_in_another_unit_is_named() -> None:
    sweeps = {
        name: [made({"goodput_bps": 1e6 * size * factor}, size) for size in SIZES]
        for name, factor in (("a", 1.0), ("b", 1.1), ("bytes", 1 / 8))
    }
    assert set(contradictions(sweeps)) == {"bytes"}


def test_two_files_that_contradict_each_other_are_both_named() -> None:
    pair = {"a": [made({"goodput_bps": 1e9})], "b": [made({"goodput_bps": 8e9})]}
    found = contradictions(pair)
    assert set(found) == {"a", "b"}
    assert "nothing says which" in found["a"]


def test_five_times_as_much_is_no_known_mistake() -> None:
    pair = {"a": [made({"goodput_bps": 1e9})], "b": [made({"goodput_bps": 5e9})]}
    assert contradictions(pair) == {}


def test_noisy_repeats_are_no_contradiction() -> None:
    noisy = {str(n): [made({"goodput_bps": 1e9 * (0.5 + n / 10)})] for n in range(10)}
    assert contradictions(noisy) == {}


def test_a_whole_round_trip_as_long_as_half_of_one_is_named() -> None:
    pair = {
        "whole": [made({"rtt_mean_s": 40e-6})],
        "half": [made({"rtt_half_mean_s": 41e-6})],
    }
    assert "in whole" in contradictions(pair)["half"]
    pair["half"] = [made({"rtt_half_mean_s": 20.5e-6})]
    assert contradictions(pair) == {}


def test_pairs_of_hosts_are_not_compared() -> None:
    def between(sender: str, value: float) -> list[Result]:
        result = made({"goodput_bps": value})
        return [
            Result(
                "t",
                "1",
                "",
                result.labels,
                (Number("goodput_bps", value, "receiver"),),
                sender,
                "b",
            )
        ]

    assert contradictions({"slow": between("a", 1e9), "fast": between("c", 8e9)}) == {}


# --- end to end -------------------------------------------------------------------------------


def row(size: int, *, unit: float = 1.0, trips: float = 1.0) -> str:
    rate = 1e5 / (1 + size / 4096)
    half = 10 + size / 1000
    cells = (size, rate, unit * rate * size * 8 / 1e6, trips * half, 2 * half)
    return "size,rate,goodput,half,whole\n" + ",".join(map(str, cells)) + "\n"


def test_a_wrong_file_among_good_ones_is_refused_and_named(tmp_path: Path) -> None:
    texts = {f"{size}.csv": row(size) for size in SIZES}
    assert tables(tmp_path, texts, COLUMNS, TEN_GIGABIT).refused == ()
    texts["512.csv"] = row(512, unit=1 / 8)  # megabytes in a column of megabits
    texts["1024.csv"] = row(1024, trips=2.0)  # a round trip in the column of halves
    got = tables(tmp_path, texts, COLUMNS, TEN_GIGABIT)
    reasons = {refusal.file: refusal.reason for refusal in got.refused}
    assert set(reasons) == {"512.csv", "1024.csv"}
    assert "bits taken for bytes" in reasons["512.csv"]
    assert "round trip" in reasons["1024.csv"]

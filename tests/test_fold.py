"""Folding simulated runs gives back their mean, spread and count."""

from __future__ import annotations

import math
import random
import statistics
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fold_case import document, held_out, record
from icmodel.dataset.rows import Point
from icmodel.errors import RecordError
from icmodel.fold import Folded, Settings, fold
from icmodel.fold.account import APART, HELD_OUT, USED
from search import times

VALUES = st.floats(1e-6, 1e12)


def rows(folded: Folded, metric: str = "goodput_bps") -> list[Point]:
    return [point for point in folded.points if point.metric == metric]


def fate(folded: Folded, run: str) -> str:
    return next(item.fate for item in folded.account.fates if item.run == run)


def why(folded: Folded, run: str) -> str:
    return next(item.why for item in folded.account.fates if item.run == run)


# --- repeats -----------------------------------------------------------------------------------


@given(st.lists(VALUES, min_size=1, max_size=6))
@settings(max_examples=times(30))
def test_repeats_become_mean_spread_and_count(values: list[float]) -> None:
    records = [record(f"r{k}", result={"goodput_bps": v}) for k, v in enumerate(values)]
    (row,) = rows(fold(records))
    assert row.n == len(values)
    assert row.value == pytest.approx(statistics.fmean(values), rel=1e-8)
    if len(values) == 1:
        assert row.std is None
    else:
        assert row.std == pytest.approx(statistics.stdev(values), rel=1e-7, abs=1e-8 * row.value)


def test_a_simulated_campaign_gives_back_its_truth() -> None:
    """Mean and spread of 10 000 simulated runs are right within four standard errors."""
    source = random.Random(7)
    truth, spread, runs = 1e-4, 1e-5, 10_000
    one = document("x")
    folded = fold(
        [
            record(f"r{k}", result={"latency_mean_s": max(0.0, source.gauss(truth, spread))})
            for k in range(runs // 10)
        ]
    )
    (row,) = rows(folded, "latency_mean_s")
    assert one["point"]["protocol"] == row.protocol
    assert row.n is not None
    assert row.std is not None
    assert abs(row.value - truth) < 4 * spread / math.sqrt(row.n)
    assert abs(row.std - spread) < 4 * spread / math.sqrt(2 * row.n)


def test_points_differ_in_any_axis_or_option() -> None:
    folded = fold(
        [
            record("a"),
            record("b", payload_bytes=100),
            record("c", load_bps=2e7),
            record("d", load_bps=None),
            record("e", cores=2),
            record("f", switches=1),
            record("g", endpoints=2, other_goodput_bps=1e6),
            record("h", dscp=46),
        ]
    )
    assert len(rows(folded)) == 8
    assert {row.load_bps for row in rows(folded)} == {1e7, 2e7, math.inf}
    assert {row.options for row in rows(folded)} == {("none",), ("46",)}
    assert {(row.endpoints, row.other_goodput_bps) for row in rows(folded)} == {
        (1, None),
        (2, 1e6),
    }


def test_what_tells_of_the_run_is_no_metric() -> None:
    result = {
        "goodput_bps": 1e6,
        "window_s": 1.0,
        "latency_bound_s": 1e-6,
        "cpu_quantum": 0.01,
        "frames_sent": 9,
        "stalls": 2,
        "cpu_send_softirq": 0.1,
        "rtt_half_p999_s": 1e-3,
    }
    folded = fold([record("a", result=result)])
    metrics = {point.metric for point in folded.points}
    assert metrics == {"goodput_bps", "cpu_send_softirq", "rtt_half_p999_s"}


def test_a_row_names_its_plan_and_point_or_its_run() -> None:
    marks = [{"point": "p1", "repeat": k} for k in range(2)]
    folded = fold([record(f"r{k}", plan=mark) for k, mark in enumerate(marks)])
    assert {point.source for point in folded.points} == {"plan grid point p1"}
    assert {point.source for point in fold([record("alone")]).points} == {"run alone"}


def test_the_order_of_records_says_nothing() -> None:
    records = [record(f"r{k}", payload_bytes=100 + k % 3) for k in range(9)]
    mixed = records[::-1]
    assert fold(records).account == fold(mixed).account
    assert fold(records).points == fold(mixed).points


# --- held-out runs -----------------------------------------------------------------------------


def test_a_held_out_run_stands_alone_and_in_no_point() -> None:
    folded = fold(
        [
            record("a", result={"goodput_bps": 1e6}),
            held_out("b", payload_bytes=700, result={"goodput_bps": 2e6, "cpu_send": 0.5}),
            held_out("c", payload_bytes=700, result={"goodput_bps": 3e6}),
        ]
    )
    assert [row.value for row in rows(folded)] == [1e6]
    assert list(folded.held_out) == ["b", "c"]
    assert [(p.metric, p.value, p.n, p.source) for p in folded.held_out["b"]] == [
        ("goodput_bps", 2e6, 1, "plan grid"),
        ("cpu_send", 0.5, 1, "plan grid"),
    ]
    assert [fate(folded, run) for run in "abc"] == [USED, HELD_OUT, HELD_OUT]


def test_no_other_run_of_a_held_out_point_is_fitted() -> None:
    folded = fold([record("a"), held_out("b", payload_bytes=700), record("c", payload_bytes=700)])
    assert {point.payload_bytes for point in folded.points} == {1472}
    assert fate(folded, "c") == APART
    assert "no fit may use it" in why(folded, "c")


def test_held_out_runs_alone_are_no_dataset() -> None:
    with pytest.raises(RecordError, match="no run is left for points: 1 runs: the plan holds"):
        fold([held_out("a")])


# --- kept apart --------------------------------------------------------------------------------


def test_trials_of_a_search_and_uncovered_runs_are_kept_apart_by_name() -> None:
    folded = fold(
        [
            record("a"),
            record("trial", plan={"kind": "search"}, load_bps=3.7e7),
            record("late", plan={"background": [{"from": "C", "to": "D", "covered": False}]}),
            record("good", plan={"background": [{"from": "C", "to": "D", "covered": True}]}),
        ]
    )
    assert {item.run for item in folded.account.fates} == {"a", "trial", "late", "good"}
    assert "a search" in why(folded, "trial")
    assert "another stream of the plan" in why(folded, "late")
    assert fate(folded, "good") == USED
    assert rows(folded)[0].n == 2


def test_senders_on_the_same_cores_say_only_whether_a_load_came_through() -> None:
    result = {"goodput_bps": 1e7, "loss_rate": 0.0, "sent_bps": 9.995e6, "cpu_send": 0.3}
    flagged: dict[str, Any] = {"flags": ("busy-host",), "result": result}
    beside: dict[str, Any] = {**flagged, "endpoints": 2, "other_goodput_bps": 1e6}
    missed = {**result, "sent_bps": 9.98e6}
    folded = fold(
        [
            record("alone", sender_idle=0.2, payload_bytes=100, **flagged),
            record("own", sender_idle=0.95, payload_bytes=200, **beside),
            record("same", sender_idle=0.2, payload_bytes=300, **beside),
            record("missed", sender_idle=0.2, payload_bytes=300, **beside | {"result": missed}),
            record("unlimited", sender_idle=0.2, load_bps=None, **beside),
        ]
    )
    for payload in (100, 200):
        assert {p.metric for p in folded.points if p.payload_bytes == payload} == set(result)
    kept = {(p.metric, p.n) for p in folded.points if p.payload_bytes == 300}
    assert kept == {("goodput_bps", 1), ("loss_rate", 1)}
    for run in ("missed", "unlimited"):
        assert fate(folded, run) == APART
        assert "the sender's own cores" in why(folded, run)


def test_runs_that_lost_their_cores_to_the_hypervisor_are_kept_apart_where_asked() -> None:
    records = [record("a", steal=0.05), record("b", steal=0.051), record("c")]
    assert rows(fold(records))[0].n == 3
    folded = fold(records, Settings(most_steal=0.05))
    assert rows(folded)[0].n == 2
    assert why(folded, "b") == "the hypervisor took more than 5 % of a core in use"
    with pytest.raises(RecordError, match="most_steal 1 is not possible"):
        Settings(most_steal=1.0)


def test_an_impossible_line_rate_is_refused_before_any_record_is_read() -> None:
    for rate in (0.0, -1e9):
        with pytest.raises(RecordError, match=r"line_rate_bps .* is not possible"):
            Settings(line_rate_bps=rate)


def test_what_is_left_of_sums_is_no_time_of_a_core() -> None:
    result = {"cpu_recv_irq": 3e-18, "cpu_recv": 0.25, "latency_min_s": 1e-12}
    found = {point.metric: point.value for point in fold([record("a", result=result)]).points}
    assert found == {"cpu_recv_irq": 0.0, "cpu_recv": 0.25, "latency_min_s": 1e-12}


def test_a_reference_run_is_a_run_of_its_point() -> None:
    folded = fold([record("a"), record("b", plan={"kind": "reference"})])
    assert rows(folded)[0].n == 2


def test_every_record_is_accounted_for_once() -> None:
    records = [
        record("a"),
        record("b", flags=("incomplete",)),
        held_out("c", payload_bytes=9),
        record("d", plan={"kind": "search"}),
        record("e", result={"window_s": 1.0}),
    ]
    account = fold(records).account
    assert [item.run for item in account.fates] == sorted("abcde")
    assert sum(account.count(kind) for kind in (USED, HELD_OUT, APART)) == len(records)
    assert sum(account.reasons().values()) == account.count(APART) == 3


# --- records that cannot be --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"payload_bytes": 1.5}, "payload_bytes 1.5: it must be a whole number"),
        ({"cores": True}, "cores True: it must be a whole number"),
        ({"other_goodput_bps": "much"}, "other_goodput_bps 'much': it must be a number in SI"),
    ],
)
def test_an_axis_of_the_wrong_kind_is_named(changes: dict[str, object], told: str) -> None:
    with pytest.raises(RecordError, match=told):
        fold([record("a", **changes)])


def test_repeats_of_other_lengths_are_not_mixed() -> None:
    records = [record("a"), record("b", duration_s=2.0)]
    with pytest.raises(RecordError, match=r"run a measured for 1.0 s and run b for 2.0 s"):
        fold(records)
    apart = fold(records, Settings(apart=("duration",)))
    assert apart.option_axes == ("duration",)
    assert {row.options for row in rows(apart)} == {("1.0 s",), ("2.0 s",)}
    assert len(rows(fold([record("a"), record("b", duration_s=2.0, payload_bytes=9)]))) == 2


# --- remarks -----------------------------------------------------------------------------------


def test_a_plan_in_two_forms_is_remarked() -> None:
    records = [record("a", plan={}), record("b", plan={"digest": "e" * 64})]
    (said,) = (text for text in fold(records).account.remarks if "versions" in text)
    assert said.startswith("The plan grid was run in 2 versions")


def test_a_virtual_link_without_a_line_rate_is_remarked() -> None:
    assert any("line rate is unknown" in text for text in fold([record("a")]).account.remarks)
    told = fold([record("a")], Settings(line_rate_bps=1e8))
    assert told.account.remarks == ()
    assert told.document["interconnect"] == {
        "kind": "ethernet",
        "line_rate_bps": 1e8,
        "mtu_bytes": 1500,
    }


def test_runs_faster_than_the_line_are_remarked() -> None:
    """The window is 1 s, and a token bucket lets its depth pass at once."""
    records = [record("a", result={"goodput_bps": 5e8}), record("b", result={"goodput_bps": 9e6})]
    told = fold(records, Settings(line_rate_bps=1e7)).account.remarks
    assert told == (
        "1 runs exceeded the line rate of 10 Mb/s, up to 500 Mb/s (run a): the line rate or these "
        "runs are wrong, and no prediction exceeds the line rate.",
    )
    depth = {"interconnect": {"burst_bytes": 1e8}}
    assert fold(records, Settings(line_rate_bps=1e7, about=depth)).account.remarks == ()
    assert fold(records, Settings(line_rate_bps=5e8)).account.remarks == ()


def test_the_drift_of_the_reference_point_is_told() -> None:
    records = [
        record(
            f"{k}",
            plan={"kind": "reference", "repeat": k},
            result={"goodput_bps": 1e6 if k < 3 else 2e6, "latency_mean_s": 1e-5},
        )
        for k in range(6)
    ]
    said = [text for text in fold(records).account.remarks if "reference point" in text]
    assert any("1 Mb/s in the first third, 2 Mb/s in the last" in text for text in said)


# --- the document ------------------------------------------------------------------------------


def test_a_real_card_says_its_line_rate_and_a_loopback_has_none() -> None:
    card = fold([record("a", host={"driver": "ixgbe", "link_speed_bps": 1e10})]).document
    assert card["interconnect"] == {
        "kind": "ethernet",
        "line_rate_bps": 1e10,
        "mtu_bytes": 1500,
    }
    loop = fold([record("a", host={"interface": "lo", "driver": None})]).document
    assert loop["interconnect"] == {"kind": "loopback", "mtu_bytes": 1500}


def test_what_a_person_says_stands_over_what_was_made() -> None:
    about = {
        "licence": "CC0-1.0",
        "known_limits": ["One cable."],
        "interconnect": {"cable_length_m": 2.0},
        "axes": {"payload_bytes": {"meaning": "bytes of an image line"}},
    }
    made = fold([record("a")], Settings(title="Two hosts", about=about)).document
    assert (made["title"], made["licence"]) == ("Two hosts", "CC0-1.0")
    limits, link, axes = made["known_limits"], made["interconnect"], made["axes"]
    assert isinstance(limits, list)
    assert limits[0] == "One cable."
    assert len(limits) > 1
    assert isinstance(link, dict)
    assert link["cable_length_m"] == 2.0
    assert link["kind"] == "ethernet"
    assert isinstance(axes, dict)
    assert axes["payload_bytes"] == {"meaning": "bytes of an image line", "unit": "B"}


@pytest.mark.parametrize("key", ["id", "sha256", "protocols", "held_out", "tool"])
def test_nobody_sets_what_follows_from_the_records(key: str) -> None:
    with pytest.raises(RecordError, match=f"{key!r} in `about` is not possible"):
        Settings(about={key: "x"})


def test_disturbances_and_what_all_runs_share_are_known_limits() -> None:
    made = fold([record("a", flags=("preempted", "stalled")), record("b", flags=("stalled",))])
    limits = made.document["known_limits"]
    assert isinstance(limits, list)
    assert any("preempted in 1 of 2 runs, stalled in 2 of 2 runs" in text for text in limits)
    assert any("pattern stream" in text for text in limits)

"""Flags: every flag of the probe is known, and spoils what it must and no more."""

from __future__ import annotations

import json
import re

import pytest

import checkout
from fold_case import record
from icmodel.errors import RecordError
from icmodel.fold import Settings, fold
from icmodel.fold.account import USED, readme
from icmodel.fold.records import SPOILS, WHY, spoilers, spoilt_by

METRICS = (
    "goodput_bps",
    "latency_mean_s",
    "latency_p999_s",
    "rtt_mean_s",
    "cpu_send",
    "cpu_recv_softirq",
    "cpu_recv_cores",
    "cpu_send_process_cores",
    "packets_sent_per_s",
    "loss_rate",
)


def spoilt(flag: str) -> set[str]:
    return {metric for metric in METRICS if spoilt_by(flag, metric)}


def test_every_flag_of_the_probe_is_known() -> None:
    schema = json.loads((checkout.ROOT / "calibration" / "record.schema.json").read_bytes())
    told = set(schema["properties"]["flags"]["items"]["enum"])
    assert told == set(SPOILS) == set(WHY)


def test_the_guide_says_the_same_of_every_flag() -> None:
    page = (checkout.ROOT / "docs" / "guides" / "fold.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| ([^|]+?) \|", page, re.MULTILINE))
    for flag, prefixes in SPOILS.items():
        if not prefixes:
            assert rows[flag] == "nothing"
        elif "" in prefixes:
            assert rows[flag] == "everything"
        else:
            assert set(re.findall(r"`(\w+)\*`", rows[flag])) == set(prefixes), flag


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("incomplete", set(METRICS)),
        ("pacing-error", set(METRICS)),
        ("shared-cores", set(METRICS) - {"cpu_send_process_cores"}),
        ("negative-latency", {"latency_mean_s", "latency_p999_s"}),
        ("unsteered", {"cpu_send", "cpu_recv_softirq", "cpu_recv_cores"}),
        (
            "foreign-frames",
            {"cpu_send", "cpu_recv_softirq", "cpu_recv_cores", "packets_sent_per_s"},
        ),
        ("stalled", set()),
        ("busy-host", set()),
        ("a-flag-of-tomorrow", set(METRICS)),
    ],
)
def test_a_flag_spoils_these_metrics(flag: str, expected: set[str]) -> None:
    assert spoilt(flag) == expected


def test_others_on_purpose_spoil_the_receivers_counts_alone() -> None:
    metrics = ("goodput_bps", "cpu_send", "cpu_recv", "cpu_recv_process_cores", "latency_mean_s")
    beside = fold(
        [
            record("a", flags=("overlapping",), endpoints=2, result=dict.fromkeys(metrics, 0.5)),
            record("b", flags=("overlapping",), result=dict.fromkeys(metrics, 0.5)),
        ]
    )
    assert {p.metric for p in beside.points} == {"goodput_bps", "cpu_send", "latency_mean_s"}
    assert {p.endpoints for p in beside.points} == {2}


def test_a_person_may_tolerate_or_refuse_a_flag() -> None:
    flags = ("stalled", "unsteered")
    assert spoilers(flags, "cpu_send", (), ()) == ("unsteered",)
    assert spoilers(flags, "cpu_send", ("unsteered",), ()) == ()
    assert spoilers(flags, "goodput_bps", (), ("stalled",)) == ("stalled",)
    for option in ("tolerate", "refuse"):
        with pytest.raises(RecordError, match=f"--{option} 'slow' is not a flag"):
            Settings(**{option: ("slow",)})  # type: ignore[arg-type]


def test_the_readme_says_what_a_flag_spoilt_this_time() -> None:
    runs = [
        record("a", result={"goodput_bps": 1e6, "cpu_send": 0.2}),
        record("b", result={"goodput_bps": 3e6, "cpu_send": 0.9}, flags=("unsteered",)),
    ]
    told = readme("x", "X", fold(runs).account, None)
    assert "| unsteered | 1 | `cpu_send*`, `cpu_recv*`, but `cpu_*_process_cores` |" in told
    told = readme("x", "X", fold(runs, Settings(refuse=("unsteered",))).account, None)
    assert "| unsteered | 1 | everything |" in told


def test_spoilt_metrics_are_left_out_by_run_and_named() -> None:
    folded = fold(
        [
            record("a", result={"goodput_bps": 1e6, "cpu_send": 0.2}),
            record("b", result={"goodput_bps": 3e6, "cpu_send": 0.9}, flags=("unsteered",)),
        ]
    )
    found = {point.metric: (point.value, point.n) for point in folded.points}
    assert found == {"goodput_bps": (2e6, 2), "cpu_send": (0.2, 1)}
    kept = next(item for item in folded.account.fates if item.run == "b")
    assert kept.fate == USED
    assert kept.left_out == {"cpu_send": ("unsteered",)}
    assert folded.account.flags() == {"unsteered": {"runs": 1, "spoilt": 1}}


def test_a_run_that_is_spoilt_altogether_is_kept_apart_with_the_flag() -> None:
    folded = fold([record("a"), record("b", flags=("incomplete", "stalled"))])
    assert {point.n for point in folded.points} == {1}
    assert folded.account.reasons() == {"its flags spoil every metric: incomplete": 1}


def test_disturbed_runs_stay_unless_they_are_refused() -> None:
    records = [record("a"), record("b", flags=("preempted",))]
    assert {point.n for point in fold(records).points} == {2}
    strict = fold(records, Settings(refuse=("preempted",)))
    assert {point.n for point in strict.points} == {1}
    apart = fold(records, Settings(apart=("flags",)))
    assert {point.options for point in apart.points} == {("none",), ("preempted",)}


def test_when_nothing_is_left_the_reason_is_said() -> None:
    with pytest.raises(RecordError, match="1 runs: its flags spoil every metric: incomplete"):
        fold([record("a", flags=("incomplete",))])

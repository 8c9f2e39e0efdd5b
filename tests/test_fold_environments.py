"""Environments: a dataset has one pair of hosts; differences are refused or become an axis."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fold_case import document, record
from icmodel.errors import RecordError
from icmodel.fold import Settings, fold, record_of
from icmodel.fold.axes import HOST, NOT_COMPARED, SETTING

OTHER: dict[str, Any] = {
    "hostname": "other",
    "kernel": "6.1.0",
    "kernel_cmdline": "mitigations=off",
    "cpu_model": "Another CPU",
    "cpus": 64,
    "smt": True,
    "clock_source": "hpet",
    "hypervisor": False,
    "memory_bytes": 1,
    "driver": "ixgbe",
    "firmware": "1.2",
    "governor": "powersave",
    "icprobe": "9.9.9",
    "mtu_bytes": 9000,
    "offloads": {"tso": False},
    "qdisc": "fq",
    "link_speed_bps": 1e9,
    "sysctls": {"ipv4/tcp_congestion_control": "cubic"},
    "libzmq": "4.2.0",
}


def test_everything_a_record_says_of_a_host_is_compared_or_left_out_for_a_reason() -> None:
    said = set(document("a")["environment"]["send"])
    assert said <= {*HOST, *SETTING, *NOT_COMPARED}
    assert set(OTHER) == {*HOST, *SETTING}


@pytest.mark.parametrize("name", OTHER)
def test_another_environment_is_refused_by_name(name: str) -> None:
    records = [record("a"), record("b", host={name: OTHER[name]})]
    with pytest.raises(RecordError, match=f"come from different environments: {name}") as caught:
        fold(records)
    assert "run a" in str(caught.value)
    assert "run b" in str(caught.value)
    assert f'apart=("{name}",)' in str(caught.value)


@pytest.mark.parametrize("name", [n for n in OTHER if n not in ("mtu_bytes",)])
def test_it_is_kept_apart_by_an_axis_of_its_name(name: str) -> None:
    records = [record("a"), record("b", host={name: OTHER[name]}), record("c")]
    folded = fold(records, Settings(apart=(name,)))
    assert folded.option_axes == (name,)
    counts = {point.options: point.n for point in folded.points}
    assert sorted(counts.values()) == [1, 2]  # type: ignore[type-var]
    axes = folded.document["axes"]
    assert isinstance(axes, dict)
    assert name in axes[name]["meaning"]


@pytest.mark.parametrize("name", NOT_COMPARED)
def test_names_are_not_compared(name: str) -> None:
    assert {p.n for p in fold([record("a"), record("b", host={name: "x"})]).points} == {2}


def test_memory_may_differ_by_what_a_kernel_keeps_for_itself() -> None:
    records = [
        record(n, host={"memory_bytes": 16 * 2**30 - k * 4096}) for n, k in (("a", 1), ("b", 9))
    ]
    assert {point.n for point in fold(records).points} == {2}


def test_a_setting_may_follow_the_points_own_options() -> None:
    jumbo = {"mtu_bytes": 9000}
    folded = fold([record("a"), record("b", host=jumbo, **jumbo)])
    assert folded.option_axes == ("mtu_bytes",)
    assert folded.account.explained == {"mtu_bytes": ("1500", "9000")}
    profile = fold(
        [
            record("a", offload="baseline"),
            record("b", offload="none", host={"offloads": {"tso": False}}),
        ]
    )
    assert profile.option_axes == ("offload",)
    assert "offloads.tso" in profile.account.explained


def test_an_option_of_the_tool_tells_no_setting_apart() -> None:
    with pytest.raises(RecordError, match="qdisc"):
        fold([record("a"), record("b", protocol="zeromq", io_threads=2, host={"qdisc": "noqueue"})])


def test_payload_and_load_tell_no_setting_apart() -> None:
    with pytest.raises(RecordError, match="qdisc"):
        fold([record("a"), record("b", payload_bytes=9, load_bps=5.0, host={"qdisc": "fq"})])


def test_a_host_may_not_follow_an_option() -> None:
    with pytest.raises(RecordError, match="cpu_model"):
        fold([record("a"), record("b", dscp=46, host={"cpu_model": "Another CPU"})])


def test_a_reversed_run_has_the_same_hosts() -> None:
    there, back = document("a"), document("b", reverse=True)
    there["environment"]["send"]["hostname"] = back["environment"]["recv"]["hostname"] = "left"

    folded = fold([record_of(json.dumps(there)), record_of(json.dumps(back))])
    assert folded.option_axes == ("reverse",)
    hosts = folded.document["hosts"]
    assert isinstance(hosts, list)
    assert hosts[0]["name"] == "left (caller)"


def test_what_differs_between_the_ends_is_no_difference_between_runs() -> None:

    documents = [document(name) for name in "ab"]
    for made in documents:
        made["environment"]["recv"]["kernel"] = "6.1.0"
    records = [record_of(json.dumps(made)) for made in documents]
    assert {point.n for point in fold(records).points} == {2}


def test_only_what_is_compared_can_be_kept_apart() -> None:
    with pytest.raises(RecordError, match="apart 'mac' is not compared"):
        fold([record("a")], Settings(apart=("mac",)))


def test_plans_can_be_kept_apart() -> None:
    records = [record("a", plan={"name": "Monday"}), record("b", plan={"name": "Tuesday"})]
    folded = fold(records, Settings(apart=("plan",)))
    assert {point.options for point in folded.points} == {("monday",), ("tuesday",)}

"""The lab system: features kept, left out and refused; its scale, and the cores of its hosts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from icmodel.errors import VerificationError
from icmodel.system import CreditBased, Dscp, Gates, Window, load
from icmodel.system.traffic import port_loads
from icmodel.verify.lab_system import (
    LAB_BUFFER_BYTES,
    MOST_BUSY,
    MOST_HOSTS,
    PACKET_S,
    SPIN_S,
    LabSystem,
    busy_cores,
    lab_system,
    most_members,
    placed,
    slowdown,
)
from verify_case import small


def copy_of(name: str, slower: float = 1.0, members: int | None = None) -> LabSystem:
    return lab_system(load(name), slower=slower, members=members, dataset="lab-1g-2026")


def test_a_slower_lab_system_has_the_same_loads_and_bytes() -> None:
    given, copy = load("lab-four-senders"), copy_of("lab-four-senders", 5.0)
    before = {one.port.name: one.mean_bps / one.port.rate_bps for one in port_loads(given)}
    after = {one.port.name: one.mean_bps / one.port.rate_bps for one in port_loads(copy.system)}
    assert after == pytest.approx(before)
    for name, stream in given.streams.items():
        built = copy.system.streams[name]
        assert built.payload_bytes == stream.payload_bytes
        assert built.producer is not None
        assert stream.producer is not None
        assert built.producer.message_bytes == stream.producer.message_bytes
        assert built.producer.period_s == pytest.approx(5 * stream.producer.period_s)
    assert copy.left_out == ()


def test_hosts_are_those_of_the_lab() -> None:
    copy = copy_of("lab-chain")
    assert {(one.cores, one.dataset) for one in copy.system.devices.values()} == {
        (1, "lab-1g-2026")
    }
    assert {one.buffer_bytes for one in copy.system.switches.values()} == {LAB_BUFFER_BYTES}
    assert all(one.cores == 1 for one in copy.system.streams.values())


def test_large_groups_are_built_with_fewer_members() -> None:
    given = load("industrial-line")
    copy = lab_system(given, slower=1.0, members=2, dataset="lab-1g-2026")
    sizes: dict[str, int] = {}
    for device in copy.system.devices.values():
        sizes[device.group] = sizes.get(device.group, 0) + 1
    assert max(sizes.values()) == 2
    kept = set(copy.system.devices)
    assert all({one.source, one.sink} <= kept for one in copy.system.streams.values())
    assert "at most 2 of each group are built" in copy.left_out[0]


def changed(part: str, **fields: Any) -> Any:
    """Small system with a changed field of all devices, switches, links or streams."""
    old = getattr(small(), part)
    return small(**{part: {name: replace(one, **fields) for name, one in old.items()}})


@pytest.mark.parametrize(
    ("part", "fields", "said"),
    [
        ("switches", {"latency_s": 1e-6}, "latency of switches"),
        ("switches", {"forwarding": "cut-through"}, "cut-through"),
        ("switches", {"buffer_bytes": 9e4}, "buffers of switches"),
        ("links", {"delay_s": 1e-6}, "length of cables"),
        ("devices", {"app_recv_s": 1e-6}, "the applications' own work"),
        ("streams", {"multicast": "all"}, "multicast"),
        ("streams", {"cores": 4}, "streams of several cores"),
    ],
)
def test_features_missing_in_the_lab_are_listed(part: str, fields: Any, said: str) -> None:
    copy = lab_system(changed(part, **fields), slower=1.0, members=None, dataset="lab-1g-2026")
    assert len(copy.left_out) == 1
    assert copy.left_out[0].startswith(said)


@pytest.mark.parametrize(
    ("part", "fields", "said"),
    [
        (
            "links",
            {"interconnect": "infiniband"},
            "is infiniband, but the lab's links are ethernet",
        ),
        ("links", {"name": "A<->S#1"}, "verify a system without parallel links"),
        ("ports", {"scheduler": CreditBased(idle_slopes_bps={5: 1e7})}, "scheduled by cbs"),
        (
            "ports",
            {"scheduler": Gates(windows=(Window(duration_s=1e-3, open=(5,)),))},
            "scheduled by gates",
        ),
        ("ports", {"scheduler": Dscp(classes={5: "ef"})}, "scheduled by dscp"),
        (
            "streams",
            {"protocol": "rc"},
            "sent by rc, but icprobe only sends tcp, udp, ethernet, zeromq",
        ),
        ("streams", {"options": {"offload": "off"}}, "the option offload = off"),
    ],
)
def test_a_system_that_the_lab_cannot_build_is_refused(part: str, fields: Any, said: str) -> None:
    with pytest.raises(VerificationError, match=said):
        lab_system(changed(part, **fields), slower=1.0, members=None, dataset="lab-1g-2026")


def test_a_system_without_streams_is_refused() -> None:
    with pytest.raises(VerificationError, match="so nothing can be measured: add a"):
        lab_system(small(streams={}), slower=1.0, members=None, dataset="lab-1g-2026")


def test_unlimited_streams_stay_unlimited() -> None:
    copy = copy_of("lab-two-senders", 5.0)
    assert {one.requested_goodput_bps for one in copy.system.streams.values()} == {math.inf}


@pytest.mark.parametrize(("slower", "depth"), [(1.0, 12_500), (5.0, 3076), (0.2, 62_500)])
def test_links_have_token_buckets_as_deep_as_in_the_lab(slower: float, depth: float) -> None:
    """Depth: one millisecond at the line rate, at least two packets (calibration/src/lab/shaping.rs)."""
    links = copy_of("lab-chain", slower).system.links.values()
    assert {link.burst_bytes for link in links} == {depth}


# --- scale that the machine can run ---


def test_packets_and_frames_keep_cores_busy() -> None:
    system = load("lab-two-switches")  # 50 Mb/s of 1472 B over three links
    frames = 50e6 / 8 / 1472
    truth = frames * 4 * PACKET_S + min(frames * SPIN_S, 1.0)
    assert busy_cores(system) == pytest.approx(truth)


def test_a_system_that_fits_is_not_slowed_down() -> None:
    assert slowdown(load("lab-two-senders"), 2) == 1.0
    assert slowdown(load("lab-direct"), 2) == 1.0  # rate at which lab-1g-2026 was measured


@pytest.mark.parametrize("cores", [1, 2, 8])
def test_the_factor_is_the_least_of_its_steps_that_fits(cores: int) -> None:
    system = load("imaging")
    slower = slowdown(system, cores)
    assert slower > 1
    assert busy_cores(system) / slower <= MOST_BUSY * cores
    digits = f"{slower:g}".rstrip("0")
    before = {"1": slower / 2, "2": slower / 2, "5": slower / 2.5}[digits]
    assert busy_cores(system) / before > MOST_BUSY * cores


def test_most_members_keeps_the_hosts_within_the_limit() -> None:
    assert most_members(load("imaging")) is None
    system = load("industrial-line")
    members = most_members(system)
    assert members is not None
    copy = lab_system(system, slower=1.0, members=members, dataset="lab-1g-2026").system
    more = lab_system(system, slower=1.0, members=members + 1, dataset="lab-1g-2026").system
    assert len(copy.devices) <= MOST_HOSTS < len(more.devices)


def test_the_ends_of_a_stream_work_on_different_cores() -> None:
    system = load("lab-six-streams")
    for cores in ((0, 1), (3, 5, 7, 9)):
        places = placed(system, cores)
        for stream in system.streams.values():
            assert places[stream.source] != places[stream.sink]
    assert set(placed(system, (4,)).values()) == {4}


def test_a_host_that_sends_and_receives_equally_runs_with_receivers() -> None:
    there = small()
    back = replace(
        there.streams["measured"], name="back", source="B", sink="A", path=("B->S", "S->A")
    )
    system = replace(there, streams={"there": there.streams["measured"], "back": back})
    assert placed(system, (0, 1)) == {"A": 1, "B": 1, "C": 1}

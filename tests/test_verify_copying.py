"""The copy that is built: what is kept, what is left out and named, what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from icmodel.errors import VerificationError
from icmodel.system import CreditBased, Dscp, Gates, Window, load
from icmodel.system.loads import loads
from icmodel.verify.lab import LAB_BUFFER_BYTES, Copy, copied
from verify_case import small


def copy_of(name: str, slower: float = 1.0, members: int | None = None) -> Copy:
    return copied(load(name), slower=slower, members=members, dataset="lab-1g-2026")


def test_a_slower_copy_has_the_same_loads_and_bytes() -> None:
    given, copy = load("lab-four-senders"), copy_of("lab-four-senders", 5.0)
    before = {one.port.name: one.mean_bps / one.port.rate_bps for one in loads(given)}
    after = {one.port.name: one.mean_bps / one.port.rate_bps for one in loads(copy.system)}
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


def test_of_large_groups_so_many_members_are_built() -> None:
    given = load("industrial-line")
    copy = copied(given, slower=1.0, members=2, dataset="lab-1g-2026")
    sizes: dict[str, int] = {}
    for device in copy.system.devices.values():
        sizes[device.group] = sizes.get(device.group, 0) + 1
    assert max(sizes.values()) == 2
    kept = set(copy.system.devices)
    assert all({one.source, one.sink} <= kept for one in copy.system.streams.values())
    assert "of each group at most 2 are built" in copy.left_out[0]


def changed(part: str, **fields: Any) -> Any:
    """The small system with one field of all devices, switches, links or streams changed."""
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
def test_what_the_lab_does_not_have_is_named(part: str, fields: Any, said: str) -> None:
    copy = copied(changed(part, **fields), slower=1.0, members=None, dataset="lab-1g-2026")
    assert len(copy.left_out) == 1
    assert copy.left_out[0].startswith(said)


@pytest.mark.parametrize(
    ("part", "fields", "said"),
    [
        (
            "links",
            {"interconnect": "infiniband"},
            "is infiniband, and the lab's links are ethernet",
        ),
        ("links", {"name": "A<->S#1"}, "verify a system without parallel links"),
        ("ports", {"scheduler": CreditBased(idle_slopes_bps={5: 1e7})}, "scheduled by cbs"),
        (
            "ports",
            {"scheduler": Gates(windows=(Window(duration_s=1e-3, open=(5,)),))},
            "scheduled by gates",
        ),
        ("ports", {"scheduler": Dscp(classes={5: "ef"})}, "scheduled by dscp"),
        ("streams", {"protocol": "rc"}, "sent by rc, and icprobe sends tcp, udp, ethernet, zeromq"),
        ("streams", {"options": {"offload": "off"}}, "the option offload = off"),
    ],
)
def test_what_cannot_be_built_is_refused(part: str, fields: Any, said: str) -> None:
    with pytest.raises(VerificationError, match=said):
        copied(changed(part, **fields), slower=1.0, members=None, dataset="lab-1g-2026")


def test_a_system_without_streams_is_refused() -> None:
    with pytest.raises(VerificationError, match="nothing can be measured"):
        copied(small(streams={}), slower=1.0, members=None, dataset="lab-1g-2026")


def test_what_is_unlimited_stays_so() -> None:
    copy = copy_of("lab-two-senders", 5.0)
    assert {one.requested_goodput_bps for one in copy.system.streams.values()} == {math.inf}


@pytest.mark.parametrize(("slower", "depth"), [(1.0, 12_500), (5.0, 3076), (0.2, 62_500)])
def test_links_are_buckets_as_deep_as_the_lab_s(slower: float, depth: float) -> None:
    """A millisecond of the rate, and two packets at least (calibration/src/lab/shaping.rs)."""
    links = copy_of("lab-chain", slower).system.links.values()
    assert {link.burst_bytes for link in links} == {depth}

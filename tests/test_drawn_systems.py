"""Random systems: of every kind, from idle to overloaded, valid, and the same for a seed."""

from __future__ import annotations

from functools import cache

import pytest

from drawn_systems import (
    DATASETS,
    PRODUCERS,
    SCHEDULERS,
    UDP_LIMIT,
    document,
    least_loads,
    port_loads,
    system_of,
)
from icmodel.system.network import System
from simulated_packets import MERGED
from system_simulation import Play, senders

COUNT = 250


@cache
def systems() -> tuple[System, ...]:
    return tuple(system_of(document(seed)) for seed in range(COUNT))


def test_every_kind_of_part_is_drawn() -> None:
    links = [link for one in systems() for link in one.links.values()]
    streams = [stream for one in systems() for stream in one.streams.values()]
    switches = [switch for one in systems() for switch in one.switches.values()]
    schedulers = {p.scheduler.kind for one in systems() for p in one.ports.values()}
    assert schedulers == set(SCHEDULERS)
    assert {one.producer.kind if one.producer else "" for one in streams} == {"", *PRODUCERS}
    assert {one.protocol for one in streams} == {"udp", "tcp", "ethernet"}
    assert {one.forwarding for one in switches} == {"store-and-forward", "cut-through"}
    assert {one.interconnect for one in links} == {"ethernet", "plain"}
    assert {one.dataset for one in links} == {None, *DATASETS}
    assert {one.mtu_bytes for one in links} >= {576, 1500, 9000}
    assert any(one.name.endswith("#3") for one in links)
    assert any(one.multicast for one in streams)
    assert any(one.buffer_bytes for one in switches)
    assert {one.priority for one in streams} == set(range(8))


def test_payloads_are_of_every_size() -> None:
    streams = [stream for one in systems() for stream in one.streams.values()]
    udp = {one.payload_bytes for one in streams if one.protocol == "udp"}
    assert {1472, 1473, UDP_LIMIT} <= udp
    assert min(one.payload_bytes for one in streams) == 1
    assert max(one.payload_bytes for one in streams if one.protocol == "tcp") > UDP_LIMIT
    uneven = [
        one for one in streams if one.producer and one.producer.message_bytes % one.payload_bytes
    ]
    assert len(uneven) > len(streams) / 10


def test_loads_go_from_idle_to_twenty_times_too_much() -> None:
    loads = [max(load for load, _ in port_loads(one).values()) for one in systems()]
    assert min(loads) < 0.1
    assert 10 < max(loads) < 60  # a packet a frame of TCP asks for more than what is drawn for it
    assert COUNT / 10 < sum(load > 1 for load in loads) < COUNT / 2


def test_a_seed_is_one_document() -> None:
    assert document(11) == document(11)
    assert document(11) != document(12)
    assert "dataset" not in str([document(seed, datasets=False) for seed in range(40)])


def test_loads_by_hand() -> None:
    """1 000 frames/s of 1 473 B: 1538 and 84 B of UDP; of TCP 1 563 B in 1 448 and 25 B, or full packets."""
    made = document(1)
    made["devices"] = [{"name": "a"}, {"name": "b"}]
    made["switches"], made["requirements"] = [], []
    made["links"] = [{"between": ["a", "b"], "rate_bps": 1e8}]
    stream = {
        "name": "f",
        "source": "a",
        "sink": "b",
        "payload_bytes": 1473,
        "produces": {"kind": "goodput", "goodput_bps": 8 * 1473e3},
    }
    for protocol, apart, least in (
        ("udp", 1538 + 84, 1538 + 84),
        ("tcp", 1538 + 25 + 90, 1473 * 1538 / 1448),
    ):
        system = system_of({**made, "streams": [{**stream, "protocol": protocol}]})
        assert port_loads(system)["a->b"][0] == pytest.approx(8e3 * apart / 1e8)
        assert least_loads(system)["a->b"] == pytest.approx(8e3 * least / 1e8)
        assert port_loads(system)["b->a"] == (0.0, {})
        (sender,) = senders(system, Play(cutting=MERGED))
        assert sender.period_s == pytest.approx(1e-3)

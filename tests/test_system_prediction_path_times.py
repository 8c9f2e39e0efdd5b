"""Times of paths: a lone frame switch by switch, against hand-made numbers and a packet simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn_systems import system_of
from icmodel.system import System, predict
from icmodel.system.prediction.path_times import Run, pipelined_s, storing
from icmodel.system.prediction.result import StreamPrediction
from pipeline import Hop, lone_frame_s
from system_case import ETHERNET
from system_simulation import simulate

ONE_PACKET = {"protocol": "udp", "payload_bytes": 1472}
KINDS = {"S": "store-and-forward", "C": "cut-through"}
LATENCIES = ("latency_mean_s", "latency_p99_s", "latency_max_s")


def way(
    forwarding: str,
    rates_bps: Sequence[float],
    frame: dict[str, Any],
    latency_s: float = 3e-6,
    length_m: float = 0.0,
    dataset: str | None = None,
) -> System:
    """Two hosts, the switches between them that store (S) or cut through (C), and a stream of rare frames."""
    nodes = ["a", *(f"s{k}" for k in range(len(forwarding))), "b"]
    link = {"length_m": length_m} | ({"dataset": dataset} if dataset else {})
    document: dict[str, Any] = {
        "schema_version": 1,
        "name": "way",
        "title": "one way",
        "source": "ours",
        "devices": [{"name": "a"}, {"name": "b"}],
        "links": [
            {"between": nodes[k : k + 2], "rate_bps": rate, **link}
            for k, rate in enumerate(rates_bps)
        ],
        "streams": [
            {
                "name": "f",
                "source": "a",
                "sink": "b",
                "produces": {"kind": "goodput", "goodput_bps": frame["payload_bytes"] * 8 / 10},
                **frame,
            }
        ],
    }
    switches = [
        {"name": f"s{k}", "forwarding": KINDS[kind], "latency_s": latency_s}
        for k, kind in enumerate(forwarding)
    ]
    return system_of(document | ({"switches": switches} if switches else {}))


def alone(system: System) -> StreamPrediction:
    return predict(system).streams["f"]


# Issue 28, item 3, has the 12 B of gap in each serialisation: 30.608, 33.608 and 45.912 µs. Without it as below.


@pytest.mark.parametrize(
    ("forwarding", "right_us"),
    [
        ("SC", 30.416),
        ("CS", 30.416),
        ("SCC", 33.416),
        ("CSC", 33.416),
        ("CCS", 33.416),
        ("SSC", 45.624),
        ("SCS", 45.624),
        ("CSS", 45.624),
        ("", 12.208),
        ("S", 27.416),
        ("C", 15.208),
        ("CCC", 21.208),
    ],
)
def test_a_lone_frame_is_forwarded_switch_by_switch(forwarding: str, right_us: float) -> None:
    found = alone(way(forwarding, [1e9] * (len(forwarding) + 1), ONE_PACKET))
    for name in LATENCIES:
        one = found.metrics[name]
        assert one.value == one.low == pytest.approx(right_us * 1e-6, rel=1e-9)


@pytest.mark.parametrize(
    ("forwarding", "rates", "right_us"),
    [
        ("C", (1e8, 1e9), 122.08 + 3 + 12.208),  # no cutting through to a faster line
        ("C", (1e9, 1e8), 3 + 122.08),
        ("S", (1e9, 1e8), 12.208 + 3 + 122.08),
        ("CC", (1e9, 1e8, 1e9), 3 + 122.08 + 3 + 12.208),
    ],
)
def test_cut_through_is_decided_by_pairs_of_links(
    forwarding: str, rates: tuple[float, ...], right_us: float
) -> None:
    found = alone(way(forwarding, rates, ONE_PACKET))
    assert found.metrics["latency_mean_s"].value == pytest.approx(right_us * 1e-6, rel=1e-9)


def test_a_frame_of_two_packets_pipelines_by_hand() -> None:
    """UDP of 1473 B, 1538 and 84 B on the line, over 1 Gb/s, a switch, 100 Mb/s, 0 s: the slow line sends both."""
    frame = {"protocol": "udp", "payload_bytes": 1473}
    stored = alone(way("S", (1e9, 1e8), frame, latency_s=0.0)).metrics["latency_mean_s"]
    assert stored.value == pytest.approx((12.208 + 123.04 + 5.76) * 1e-6, rel=1e-9)
    cut = alone(way("C", (1e9, 1e8), frame, latency_s=0.0)).metrics["latency_mean_s"]
    assert cut.value == pytest.approx((123.04 + 5.76) * 1e-6, rel=1e-9)


def test_a_hop_of_profinet() -> None:
    """A frame of 64 B, here a tagged one of 40 B without its tag: 5.76 + 4 µs a hop at 100 Mb/s."""
    frame = {"protocol": "ethernet", "payload_bytes": 44}
    one, two = (
        alone(way(kinds, [1e8] * (len(kinds) + 1), frame, latency_s=4e-6)).metrics["latency_mean_s"]
        for kinds in ("S", "SS")
    )
    assert two.value - one.value == pytest.approx(9.76e-6)


@given(
    hops=st.lists(
        st.tuples(st.sampled_from("SC"), st.sampled_from([1e8, 1e9, 2.5e9, 1e10])), max_size=5
    ),
    first=st.sampled_from([1e8, 1e9, 1e10]),
    protocol=st.sampled_from(["udp", "tcp", "ethernet"]),
    payload=st.integers(1, 1500)
    | st.sampled_from([1448, 1449, 1472, 1473])
    | st.integers(1, 65507),
    length_m=st.sampled_from([0.0, 50.0]),
)
def test_a_single_frame_takes_the_time_of_a_simulator(
    hops: list[tuple[str, float]], first: float, protocol: str, payload: int, length_m: float
) -> None:
    size = min(payload, 1500) if protocol == "ethernet" else payload
    frame = {"protocol": protocol, "payload_bytes": size}
    rates = [first, *(rate for _, rate in hops)]
    system = way("".join(kind for kind, _ in hops), rates, frame, length_m=length_m)
    played = simulate(system).streams["f"].frames
    predicted = alone(system)
    for name in LATENCIES:
        assert predicted.metrics[name].value == pytest.approx(played.mean_s, rel=1e-6)
        assert predicted.metrics[name].low == pytest.approx(played.least_s, rel=1e-6)


# What is added to a dataset's answer.


def mean_s(forwarding: str, rates: Sequence[float], **more: Any) -> float:
    frame = more.pop("frame", {"protocol": "tcp", "payload_bytes": 65535})
    system = way(forwarding, rates, frame, latency_s=5.9e-6, dataset=ETHERNET, **more)
    return alone(system).metrics["latency_mean_s"].value


def test_a_switch_of_the_datasets_kind_adds_nothing_and_one_of_the_other_saves_a_packet() -> None:
    stored, cut = (mean_s(kind, (1e10, 1e10)) for kind in "SC")
    assert stored - cut == pytest.approx(8 * 1526 / 1e10, rel=1e-6)
    two = mean_s("SC", (1e10, 1e10, 1e10))
    assert two == pytest.approx(stored + 5.9e-6 - 8 * 1526 / 1e10, rel=1e-9)


def test_a_slower_link_on_the_way_takes_its_time() -> None:
    """46 packets, 557 400 bits on the line, over a link of 1 Gb/s between two of 10.

    1.2208 + 557.304 + 0.3624 µs (first packet, all of them, last one), beside 55.7304 + 2 × 1.2208 µs.
    """
    more = mean_s("SS", (1e10, 1e9, 1e10)) - mean_s("SS", (1e10, 1e10, 1e10))
    assert more == pytest.approx(500.7152e-6, rel=1e-9)


@pytest.mark.parametrize("name", ["latency_min_s", "latency_mean_s", "latency_max_s"])
def test_every_latency_is_shifted_alike(name: str) -> None:
    frame = {"protocol": "tcp", "payload_bytes": 65535}
    stored, cut = (
        alone(way(kind, (1e10, 1e10), frame, latency_s=5.9e-6, dataset=ETHERNET)).metrics[name]
        for kind in "SC"
    )
    assert stored.value - cut.value == pytest.approx(8 * 1526 / 1e10, rel=1e-6)


# --- packets over lines that nothing else uses, against a twin that plays them one by one ---------


GAP = 96.0
RATES = st.sampled_from([1e8, 1e9, 2.5e9, 1e10])
RUNS = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from([672, 800, 5000, 12_304])),
    min_size=1,
    max_size=4,
)


@given(
    lines=st.lists(st.tuples(RATES, st.booleans()), min_size=1, max_size=6),
    runs=RUNS,
)
def test_runs_of_packets_take_the_time_of_packets_played_one_by_one(
    lines: list[tuple[float, bool]], runs: list[tuple[int, int]]
) -> None:
    rates = [rate for rate, _ in lines]
    stores = storing([through for _, through in lines[:-1]], rates)
    total_s = pipelined_s(
        [Run(n, np.full(len(rates), float(b))) for n, b in runs], rates, stores, GAP
    )
    packets = [bits / 8 for number, bits in runs for _ in range(number)]
    hops = [Hop(rate, through=through) for rate, through in lines]
    assert total_s == pytest.approx(lone_frame_s([packets] * len(hops), 12, hops), rel=1e-12)


@pytest.mark.parametrize(
    ("rates", "through", "expected"),
    [
        ((1e9, 1e9), True, False),
        ((1e9, 1e8), True, False),
        ((1e8, 1e9), True, True),
        ((1e9, 1e9), False, True),
    ],
)
def test_no_switch_cuts_through_to_a_faster_line(
    rates: tuple[float, float], through: bool, expected: bool
) -> None:
    assert storing([through], rates) == [expected]

"""Goodput of streams that share a port or a host, loss, and the arrival of all that is produced."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import checkout
from icmodel import dataset
from icmodel import system as rooms
from icmodel.cli import main
from icmodel.errors import NetworkError
from icmodel.estimate import Estimate
from icmodel.model import Model
from icmodel.recommend import recommend
from icmodel.requirement import MET, NOT_MET, UNDECIDED, Requirement
from icmodel.system import (
    CreditBased,
    DeficitRoundRobin,
    Fifo,
    Producer,
    Scheduler,
    Stream,
    StreamRequirement,
    StrictPriority,
    System,
    SystemPrediction,
    find_system,
    load,
    predict,
    read_system,
)
from icmodel.system.prediction.answers import Answers
from icmodel.system.prediction.goodput import arrival, overloaded_hosts
from icmodel.system.prediction.result import Arrival
from icmodel.system.traffic import overloads, packing, port_loads
from icmodel.usecase.derivation import ARRIVES, IN_TIME
from search import times
from system_case import ETHERNET, Chain
from system_simulation import Play, simulate

TRUNK_BPS = 1e9


def over_a_trunk(payload: int, times: float, *, allowed: float = 0.0) -> SystemPrediction:
    """One UDP stream that offers a multiple of what a trunk of 1 Gb/s carries, without a dataset."""
    chain = Chain((1, 1), trunk_bps=TRUNK_BPS, dataset=None)
    lone = chain.stream("s", "h0", "h1", 1.0, "udp", payload)
    system = chain.system([lone])
    ratio = packing(system).of(lone, system.links["s0<->s1"]).ratio
    rate_fps = times * TRUNK_BPS / ratio / (8 * payload)
    stream = chain.stream("s", "h0", "h1", rate_fps, "udp", payload)
    return predict(chain.system([replace(stream, allowed_shortfall_ratio=allowed)]))


def test_a_frame_of_one_packet_passes_a_port_of_half_its_rate_every_second_time() -> None:
    goodput = over_a_trunk(1472, 2.0).streams["s"].metrics["goodput_bps"]
    assert goodput.value == pytest.approx(TRUNK_BPS * 1472 / 1538, rel=1e-6)


@pytest.mark.parametrize(("packets", "times"), [(2, 1.1), (2, 2.0), (5, 1.5), (44, 1.01)])
def test_a_frame_is_lost_with_any_of_its_packets(packets: int, times: float) -> None:
    """Of the packets 1/times arrive, and of the frames at most as many; where drops are independent, a power of it."""
    payload = 1480 * packets - 8
    one = over_a_trunk(payload, times).streams["s"]
    asked, goodput = one.stream.requested_goodput_bps, one.metrics["goodput_bps"]
    assert goodput.value / asked == pytest.approx(times**-packets, rel=1e-6)
    assert goodput.high / asked == pytest.approx(1 / times, rel=1e-6)
    assert goodput.low == 0.0


def test_incomplete_frames_may_fill_the_memory_of_a_host() -> None:
    """Measured in the lab, frames of two packets at 1.24 times a line's rate: 40 % lost, and all in another pass."""
    chain = Chain((3,), dataset="lab-1g-2026", rate_bps=1e9)
    streams = [chain.stream(f"f{k}", f"h{k}", "h2", 2.6e4, "udp", 2952) for k in (0, 1)]
    for one in predict(chain.system(streams), Model(dataset.load("lab-1g-2026"))).streams.values():
        loss = one.metrics["loss_rate"]
        assert (loss.high, one.metrics["goodput_bps"].low) == (1.0, 0.0)
        assert 0.3 < loss.value < 0.5


def test_a_simulated_port_at_twice_its_rate_passes_hardly_a_whole_frame() -> None:
    chain = Chain((1, 1), trunk_bps=TRUNK_BPS, dataset=None, buffer_bytes=20_000)
    stream = chain.stream("s", "h0", "h1", 2 * TRUNK_BPS / (8 * 65_000), "udp", 65_000)
    system = chain.system([stream])
    told = predict(system).streams["s"].metrics
    seen = simulate(system, Play(drops=True, most_packets=20_000)).streams["s"]
    kept = 1 - seen.frames_lost / seen.frames_sent
    asked = stream.requested_goodput_bps
    assert told["goodput_bps"].low <= kept * asked <= told["goodput_bps"].high
    assert kept < 0.1
    assert told["goodput_bps"].value < 0.1 * asked


def test_an_allowed_loss_is_not_met_by_the_packets_that_arrive() -> None:
    """Half of the packets pass and 60 % of the data may be lost: of frames of 44 packets none need arrive."""
    assert over_a_trunk(65_000, 2.0, allowed=0.6).verdict != MET


def test_the_scheduler_of_a_switch_does_not_serve_the_queue_of_a_host() -> None:
    """Two streams of small frames on a tenth of the wire, together more than the host takes: both lose."""
    quanta = DeficitRoundRobin(quanta_bytes={6: 1538, 0: 64})
    chain = Chain((3,), scheduler=quanta)
    streams = [
        replace(chain.stream(name, source, "h2", 3.7e5, "udp", 64), priority=priority)
        for name, source, priority in (("a", "h0", 6), ("b", "h1", 0))
    ]
    found = predict(chain.system(streams), Model(ETHERNET)).streams
    losses = [found[name].metrics["loss_rate"] for name in "ab"]
    assert losses[0].value == pytest.approx(losses[1].value)
    assert losses[0].value > 0.1


MODEL = Model(ETHERNET)
PAIR = Chain((3,))
STAR = """
schema_version = 1
name = "over"
title = "One stream over a switch"
source = "made for this test"

[[devices]]
name = "a"
cores = 8

[[devices]]
name = "b"
cores = 8

[[switches]]
name = "s"
forwarding = "store-and-forward"
latency = "3 us"

[[links]]
between = ["a", "s"]
rate = "RATE"
dataset = "DATASET"

[[links]]
between = ["b", "s"]
rate = "RATE"
dataset = "DATASET"

[[streams]]
name = "x"
source = "a"
sink = "b"
"""


def star(stream: str, rate: str = "10 Gb/s", dataset: str = ETHERNET) -> str:
    """A system of one stream, by the lines of its table."""
    return STAR.replace("RATE", rate).replace("DATASET", dataset) + stream


def overloaded(protocol: str, size: str = "20 MB") -> str:
    """160 Gb/s over links of 10, with one requirement of which the overload says nothing."""
    produced = f'{{ kind = "burst", period = "1 ms", size = "{size}" }}'
    return star(
        f'produces = {produced}\nprotocol = "{protocol}"\npayload = "65507 B"\n\n[[requirements]]\n'
        'name = "in time"\nstream = "x"\nmetric = "latency_mean_s"\nat_most = "100 ms"\n'
    )


def predicted(text: str) -> SystemPrediction:
    return rooms.predict(read_system(text)[0])


@cache
def imaging(width_px: int) -> SystemPrediction:
    """The bundled system with pictures of another width."""
    return predicted(wider(width_px))


def wider(width_px: int) -> str:
    text = find_system("imaging").read_text(encoding="utf-8")
    assert "width_px = 1920" in text
    return text.replace("width_px = 1920", f"width_px = {width_px}")


def outcomes(found: SystemPrediction, name: str) -> set[str]:
    """The outcomes of a requirement."""
    return {one.verdict.outcome for one in found.judged if one.verdict.requirement.name == name}


# --- known answers -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["20 MB", "200 MB"])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_an_overload_is_not_met_whatever_else_is_required(protocol: str, size: str) -> None:
    found = predicted(overloaded(protocol, size))
    assert (found.verdict, found.exit_code) == (NOT_MET, 1)
    assert outcomes(found, "in time") == outcomes(found, ARRIVES) == {NOT_MET}
    one = found.streams["x"]
    assert one.latency_bound is None
    assert "grows without limit" in one.no_bound
    for name, estimate in one.metrics.items():
        if "latency" in name:
            assert estimate.absent, name
            assert "must carry" in estimate.why
    for link in found.links.values():
        for port in link.ports.values():
            if port.asked_ratio > 1:
                assert port.backlog_mean_bytes.absent
                assert port.backlog_bound_bytes is None


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_an_overload_ends_with_1_and_recommends_nothing(
    protocol: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "over.toml"
    path.write_text(overloaded(protocol), encoding="utf-8")
    assert main(["system", str(path)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("✗ over: not met")
    assert "grows without limit" in out
    found = recommend(path)
    assert (found.verdict, found.front, found.undecided) == (NOT_MET, (), ())
    assert main(["recommend", str(path)]) == 1
    assert "as the file has it" not in capsys.readouterr().out


@pytest.mark.parametrize(("width_px", "gbps"), [(2600, 4.79232), (19200, 35.38944)])
def test_a_use_cases_limit_is_that_of_this_systems_pictures(width_px: int, gbps: float) -> None:
    found = imaging(width_px)
    limits = {one.requirement.name: one.requirement.limit for one in found.system.requirements}
    assert limits["every picture stream arrives whole"] == pytest.approx(gbps * 1e9, rel=1e-12)
    assert found.verdict == NOT_MET
    assert outcomes(found, "every picture stream arrives whole") == {NOT_MET}
    assert outcomes(found, "pictures arrive in time on average") == {NOT_MET}
    assert outcomes(found, "control data always arrive in time") == {MET}


def test_a_limit_scales_with_ten_thousand_times_the_pixels() -> None:
    found = imaging(19_200_000)
    one = next(each for each in found.judged if each.verdict.requirement.metric == "goodput_bps")
    assert one.verdict.outcome == NOT_MET
    assert one.verdict.requirement.limit == pytest.approx(3.538944e13)


def test_a_limit_of_another_kind_of_stream_is_refused_by_name() -> None:
    text = wider(1920).replace(
        'produces = { kind = "image", width_px = 1920, height_px = 1920, depth = "32 bit", rate = "30 Hz" }',
        'produces = { kind = "unlimited" }',
    )
    named = "'every picture stream arrives whole' of the use case imaging .* of kind unlimited in the system and of kind image in the use case"
    with pytest.raises(NetworkError, match=named):
        read_system(text)


def test_an_allowed_shortfall_judges_the_latency_of_what_arrives() -> None:
    """100 pictures of 4.79 Gb/s on 4.7: 2 % of shortfall are too much, 5 % allowed are enough."""
    shares = {}
    for allowed in ("0 %", "1 %", "5 %"):
        text = star(
            'produces = { kind = "goodput", goodput = "9.6 Gb/s" }\nprotocol = "tcp"\n'
            f'payload = "65535 B"\nallowed_shortfall = "{allowed}"\ncores = 4\n\n[[requirements]]\n'
            'name = "in time"\nstream = "x"\nmetric = "latency_mean_s"\nat_most = "100 ms"\n'
        )
        found = predicted(text)
        one = found.streams["x"]
        shares[allowed] = (found.verdict, outcomes(found, "in time").pop())
        assert one.to_dict()["allowed_shortfall_ratio"] == one.stream.allowed_shortfall_ratio
        if allowed == "5 %":
            assert "counts only frames that arrive" in one.metrics["latency_mean_s"].why
    assert shares == {
        "0 %": (NOT_MET, NOT_MET),
        "1 %": (NOT_MET, NOT_MET),
        "5 %": (MET, MET),
    }


@pytest.mark.parametrize("share", ["-1 %", "101 %", "5"])
def test_a_shortfall_is_a_share(share: str) -> None:
    text = star(
        'produces = { kind = "unlimited" }\nprotocol = "tcp"\npayload = "1448 B"\n'
        f'allowed_shortfall = "{share}"\n'
    )
    with pytest.raises(NetworkError, match="allowed_shortfall"):
        read_system(text)


def test_a_stream_that_its_host_holds_back_has_no_bound_beside_a_load_of_half() -> None:
    """64 B frames by TCP: 1.022 of 1 Gb/s is asked, 417 Mb/s pass; no column has one for the other."""
    text = star(
        'produces = { kind = "burst", period = "1 ms", size = "120314 B" }\nprotocol = "tcp"\n'
        'payload = "64 B"\n',
        "1 Gb/s",
        "lab-1g-2026",
    )
    found = predicted(text)
    one, port = found.streams["x"], found.links["a<->s"].ports["a->s"]
    assert (one.bottleneck, one.latency_bound) == ("cpu", None)
    assert port.load_ratio < 0.7
    assert port.asked_ratio == pytest.approx(1.022, abs=1e-3)
    assert found.verdict == NOT_MET


# --- what is required always ---------------------------------------------------------------------


def wanted(found: SystemPrediction) -> list[tuple[str, str]]:
    return [(one.verdict.requirement.name, one.stream) for one in found.judged]


def test_what_the_file_requires_already_is_not_judged_twice() -> None:
    stream = PAIR.stream("a", "h0", "h2", 1000.0)
    asked = stream.requested_goodput_bps
    for least, more in ((asked, []), (asked * 2, []), (asked / 2, [(ARRIVES, "a")])):
        own = StreamRequirement(Requirement("own", "goodput_bps", at_least=least), "a")
        found = rooms.predict(PAIR.system([stream], (own,)), MODEL)
        assert wanted(found) == [("own", "a"), *more]


def test_an_unlimited_stream_is_required_nothing() -> None:
    found = rooms.predict(PAIR.system([PAIR.stream("a", "h0", "h2")]), MODEL)
    assert wanted(found) == []
    assert found.streams["a"].arrival == Arrival()


def test_a_sender_that_is_set_to_less_than_is_produced_falls_short() -> None:
    """6700 frames of 65535 B are 3.512676 Gb/s of the 3.538944 that pictures are (IC2012 §8.1)."""
    made = Producer("image", 1 / 30, 1920 * 1920 * 4)
    stream = replace(PAIR.stream("a", "h0", "h2", 6700.0), producer=made)
    found = rooms.predict(PAIR.system([stream]), MODEL)
    assert found.verdict == NOT_MET
    assert (
        "3.538944 Gb/s must arrive, but at most 3.513 Gb/s pass" in found.streams["a"].arrival.why
    )


def test_what_is_due_sooner_is_required_within_its_time() -> None:
    """1 MB every 10 ms takes 0.9 ms at 9.4 Gb/s: in time within 5 ms, late within 0.5."""
    for within, outcome in ((5e-3, MET), (0.5e-3, NOT_MET)):
        made = Producer("burst", 0.01, 1e6, within)
        stream = replace(PAIR.stream("a", "h0", "h2", cores=4), producer=made)
        found = rooms.predict(PAIR.system([stream]), MODEL)
        assert wanted(found) == [(ARRIVES, "a"), (IN_TIME, "a")]
        assert outcomes(found, IN_TIME) == {outcome}
        assert outcomes(found, ARRIVES) == {MET}


def test_messages_that_are_due_together_are_late_together() -> None:
    """Three of 300 kB due in 0.5 ms are 14.4 Gb/s of 10: which of them is late, nobody knows."""
    made = Producer("burst", 0.01, 3e5, 0.5e-3)
    streams = [replace(PAIR.stream(f"f{k}", f"h{k}", "h2", cores=4), producer=made) for k in (0, 1)]
    twice = replace(streams[1], name="f2")
    found = rooms.predict(PAIR.system([*streams, twice]), MODEL)
    assert outcomes(found, IN_TIME) == {NOT_MET}
    assert all("within 500 µs" in one.arrival.late for one in found.streams.values())
    assert all(not one.arrival.grows for one in found.streams.values())


def test_a_full_device_does_not_meet_its_limit_because_it_is_full() -> None:
    """Two streams of 4.6 Gb/s take 4.2 busy cores of a receiver that has four."""
    chain = Chain((3,), cores=4)
    streams = [
        chain.stream(name, source, "h2", 4e5, "tcp", 1448, cores=4)
        for name, source in (("a", "h0"), ("b", "h1"))
    ]
    limit = Requirement("the host takes all", "cpu_recv", at_most=1.0)
    found = rooms.predict(chain.system(streams, (StreamRequirement(limit, "a", "h2"),)), MODEL)
    assert {one.bottleneck_at for one in found.streams.values()} == {"h2"}
    assert found.devices["h2"].cpu.value <= 1
    assert outcomes(found, "the host takes all") == outcomes(found, ARRIVES) == {UNDECIDED}


def test_a_host_surely_has_too_few_cores_by_the_least_of_all_its_streams() -> None:
    """Three streams that take 0.5 to 0.9 of a core at 1 Gb/s: 1.5 of one core, and no more than two."""
    metrics = {
        "goodput_bps": np.array([[1e9] * 3] * 3 + [[0.0] * 3]),
        "cpu_recv_cores": np.array([[0.7] * 3, [0.5] * 3, [0.9] * 3, [0.0] * 3]),
    }
    for cores, full in ((1, True), (2, False), (None, False)):
        chain = Chain((4,), cores=cores)
        streams = [chain.stream(f"f{k}", f"h{k}", "h3", 1e9 / 8 / 65535) for k in range(3)]
        answers = Answers(3, metrics, np.zeros(3, dtype=np.int64))
        found = overloaded_hosts(chain.system(streams), answers, np.arange(3))
        assert set(found) == ({"f0", "f1", "f2"} if full else set())
        assert all("h3 needs at least 1.5 busy cores of its 1" in why for why in found.values())
        got = Estimate(0.5e9, 0.1e9, 1e9, "assumed")
        outcome = NOT_MET if full else UNDECIDED
        why = found.get("f0", "")
        assert arrival(chain.system(streams), streams[0], got, "cpu", (), why).outcome == outcome


def goodput(value: float, low: float, high: float, basis: str = "interpolated") -> Estimate:
    return Estimate(value, low, high, basis)


@pytest.mark.parametrize(
    ("got", "outcome"),
    [
        (goodput(1e9, 1e9, 1e9), MET),
        (goodput(1e9, 0.9e9, 1e9), UNDECIDED),
        (goodput(0.9e9, 0.8e9, 1.1e9), UNDECIDED),
        (goodput(0.9e9, 0.8e9, 0.95e9), NOT_MET),
        (goodput(1e9, 0.0, 1e9, "theory"), UNDECIDED),
        (goodput(math.nan, math.nan, math.nan), UNDECIDED),
    ],
)
def test_the_interval_of_the_goodput_decides_whether_everything_arrives(
    got: Estimate, outcome: str
) -> None:
    stream = PAIR.stream("a", "h0", "h2", 1e9 / 8 / 65535)
    system = PAIR.system([stream])
    assert arrival(system, stream, got, "wire", ()).outcome == outcome
    enough = replace(stream, allowed_shortfall_ratio=0.25)
    expected = outcome if got.absent or got.basis == "theory" else MET
    assert arrival(system, enough, got, "wire", ()).outcome == expected


@pytest.mark.parametrize("rate_fps", [12.5, 997.0, 1e4, 1e5])
def test_tcp_far_below_its_capacity_arrives_whole(rate_fps: float) -> None:
    """Single runs of this dataset show up to 3 % less: senders stall."""
    chain = Chain((2,), rate_bps=1e9, dataset="lab-1g-2026")
    stream = chain.stream("s", "h0", "h1", rate_fps, "tcp", 1000)
    told = predict(chain.system([stream])).streams["s"]
    assert told.arrival.outcome == MET
    ends = (told.goodput_bps.low, told.goodput_bps.value, told.goodput_bps.high)
    assert ends == pytest.approx((8000 * rate_fps,) * 3)


@pytest.mark.parametrize(("frames", "fits"), [(1, True), (20, True), (200, True), (5000, False)])
def test_a_burst_beyond_the_buffer_of_a_socket_may_be_lost(frames: int, fits: bool) -> None:
    """The dataset loses up to a third of 64 B at an unlimited rate; a socket holds 92 packets."""
    file = checkout.ROOT / "tests" / "cases" / "corners" / "burst-above-a-receive-buffer.toml"
    text = file.read_text("utf-8").replace("burst=5000", f"burst={frames}")
    system, _ = read_system(text)
    told = predict(system).streams["x"]
    assert (told.loss_rate.high > 0.2) is not fits
    assert (told.goodput_bps.low < 0.8 * told.goodput_bps.value) is not fits
    assert frames == 1 or told.message_latency_s.absent is not fits
    assert told.arrival.outcome == MET or not fits


@pytest.mark.parametrize(("size", "outcome"), [(1_000, MET), (10_000, UNDECIDED), (1e6, UNDECIDED)])
def test_one_stream_may_lose_all_if_others_fill_the_buffer(size: float, outcome: str) -> None:
    """22 bursts meet at a port. Of bursts of 10 kB 210 kB must wait, and 100 kB fit: a burst may be lost whole."""
    chain = Chain((22, 1), dataset=None)
    burst = Producer("burst", 1.0, size)
    streams = [
        replace(
            chain.stream(f"s{k}", f"h{k}", "h22", None, "udp", 1000),
            producer=burst,
            allowed_shortfall_ratio=0.6,
        )
        for k in range(22)
    ]
    system = chain.system(streams)
    told = {name: replace(one, latency_s=(0.0, 0.0)) for name, one in system.devices.items()}
    found = predict(replace(system, devices=told))
    assert {one.arrival.outcome for one in found.streams.values()} == {outcome}


# --- any system ----------------------------------------------------------------------------------


SCHEDULERS: tuple[Scheduler, ...] = (
    Fifo(),
    StrictPriority(),
    CreditBased(idle_slopes_bps={1: 1e9}),
)


@st.composite
def loaded(draw: st.DrawFn) -> System:
    """Up to five streams over one or two switches, of which a port may be asked for more than it carries."""
    chain = Chain(
        hosts=draw(st.sampled_from([(4,), (2, 2)])),
        trunk_bps=draw(st.sampled_from([1e9, 1e10])),
        dataset=draw(st.sampled_from([ETHERNET, None])),
        scheduler=draw(st.sampled_from(SCHEDULERS)),
        buffer_bytes=draw(st.sampled_from([None, 1e5])),
    )
    hosts, streams = list(chain.at), []
    for k in range(draw(st.integers(1, 5))):
        source, sink = draw(st.permutations(hosts))[:2]
        protocol = draw(st.sampled_from(["tcp", "udp"]))
        payload = draw(st.sampled_from([64, 1448, 1473, 9001, 65000]))
        gbps = draw(st.sampled_from([1e-4, 0.3, 1.1, 4.9, 9.9, 160.0, None]))
        frames = draw(st.integers(1, 50))
        made = None
        if gbps is not None:
            size = frames * payload
            made = Producer("burst", 8 * size / (gbps * 1e9), size)
        stream = chain.stream(
            f"f{k}", source, sink, None, protocol, payload, priority=draw(st.integers(0, 1))
        )
        streams.append(replace(stream, producer=made))
    late = Requirement("in time", "latency_mean_s", at_most=10.0)
    return chain.system(streams, tuple(StreamRequirement(late, one.name) for one in streams))


ANY = settings(max_examples=times(12), suppress_health_check=[HealthCheck.too_slow])


@ANY
@given(loaded())
def test_no_requirement_is_met_while_a_port_is_overloaded(system: System) -> None:
    found = rooms.predict(system, None)
    full = [one for one in overloads(port_loads(system)) if not one.within_s]
    if full:
        assert found.verdict == NOT_MET
    for one in found.streams.values():
        asked = one.stream.must_arrive_bps * (1 - 1e-9)
        if one.goodput_bps.high < asked:
            assert one.arrival.grows
        if one.goodput_bps.low < asked:
            assert found.verdict != MET
        if not one.arrival.grows:
            continue
        assert found.verdict == NOT_MET
        assert one.latency_bound is None
        judged = [each for each in found.judged if each.stream == one.stream.name]
        assert {each.verdict.outcome for each in judged} == {NOT_MET}
        assert all(each.absent for name, each in one.metrics.items() if "latency" in name)
    json.dumps(found.to_dict(), allow_nan=False)


@ANY
@given(loaded(), st.floats(0.0, 1.0))
def test_allowing_more_to_fall_short_makes_no_verdict_worse(system: System, share: float) -> None:
    order = [MET, UNDECIDED, NOT_MET]
    streams: dict[str, Stream] = {
        name: replace(one, allowed_shortfall_ratio=share) for name, one in system.streams.items()
    }
    strict = rooms.predict(system, None, worst=False)
    lax = rooms.predict(replace(system, streams=MappingProxyType(streams)), None, worst=False)
    for name, one in lax.streams.items():
        before = strict.streams[name].arrival.outcome
        assert order.index(one.arrival.outcome) <= order.index(before)


def test_the_systems_that_are_bundled_are_judged_by_what_they_produce() -> None:
    found = rooms.predict(load("lab-udp-overload"))
    assert found.verdict == NOT_MET
    assert {one.arrival.outcome for one in found.streams.values()} == {NOT_MET}

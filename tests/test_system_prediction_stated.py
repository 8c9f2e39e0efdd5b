"""Devices that state their latency and core time: known answers, mixed streams, and refused files."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icmodel.errors import NetworkError
from icmodel.estimate import BASES
from icmodel.model import Model
from icmodel.requirement import MET, NOT_MET, UNDECIDED
from icmodel.system import SystemPrediction, load, predict, read_system
from icmodel.system.prediction.bounding import MEASURED, NETWORK, STATED
from icmodel.system.prediction.result import StreamPrediction
from icmodel.verify.lab_system import lab_system
from search import times
from system_case import ETHERNET, Chain

US = 1e-6
FILE = """
schema_version = 1
name = "line"
title = "A PLC triggers cameras, which send to a computer"
source = "made for this test"

[[devices]]
name = "plc"
latency = "100 us .. 400 us"
source = "manual, page 12"

[[devices]]
name = "camera"
cores = 1
latency = "20 us .. 50 us"
core_time = "10 us .. 20 us"
source = "data sheet"

[[devices]]
name = "computer"
cores = 4

[[switches]]
name = "switch"
forwarding = "store-and-forward"
latency = "3 us"

[[links]]
between = ["plc", "switch"]
rate = "10 Gb/s"

[[links]]
between = ["camera", "switch"]
rate = "10 Gb/s"

[[links]]
between = ["computer", "switch"]
rate = "10 Gb/s"
DATASET

[[streams]]
name = "trigger"
source = "plc"
sink = "camera"
protocol = "udp"
payload = "64 B"
produces = { kind = "burst", period = "1 ms", size = "64 B" }

[[streams]]
name = "picture"
source = "camera"
sink = "computer"
protocol = "udp"
payload = "1472 B"
produces = { kind = "goodput", goodput = "PICTURE" }

[[requirements]]
name = "the trigger comes in time"
stream = "trigger"
metric = "latency_max_s"
at_most = "LIMIT"
kind = "hard"
"""
LEAST_S = 2 * (64 + 28 + 26) * 8 / 1e10 + 3 * US
"""Time of the trigger's packet on both lines and in the switch."""


def found(
    *, dataset: bool = False, picture: str = "100 Mb/s", limit: str = "500 us"
) -> SystemPrediction:
    text = FILE.replace("DATASET", 'dataset = "ethernet-10g-2012"' if dataset else "")
    text = text.replace("PICTURE", picture).replace("LIMIT", limit)
    return predict(read_system(text)[0])


def test_a_stream_between_stating_devices_needs_no_dataset() -> None:
    trigger = found().streams["trigger"]
    assert set(trigger.goodput_bps.ends) == {512e3}
    assert trigger.goodput_bps.basis == "stated"
    assert set(trigger.loss_rate.ends) == {0.0}
    assert trigger.arrival.outcome == MET
    ends = {
        "latency_min_s": (120, 120, 450),
        "latency_mean_s": (285, 120, 450),
        "latency_p99_s": (450, 120, 450),
        "latency_max_s": (450, 120, 450),
    }
    for metric, expected in ends.items():
        right = [one * US + LEAST_S for one in expected]
        assert trigger.metrics[metric].ends == pytest.approx(right, rel=1e-6)
        assert trigger.metrics[metric].basis == "stated"
        assert "plc states 100 µs – 400 µs and camera states 20 µs – 50 µs" in (
            trigger.metrics[metric].why
        )


def test_the_bound_has_its_parts_and_decides_a_hard_requirement() -> None:
    result = found()
    bound = result.streams["trigger"].latency_bound
    assert bound is not None
    assert STATED in bound.covers
    assert bound.hosts_s == pytest.approx(450 * US)
    assert bound.network_s == pytest.approx(LEAST_S, rel=1e-6)
    assert bound.value_s == bound.network_s + bound.hosts_s + bound.application_s
    (judged,) = (one for one in result.judged if one.verdict.requirement.kind == "hard")
    assert judged.verdict.outcome == MET
    assert judged.by_bound
    assert judged.parts == {
        "network_s": bound.network_s,
        "hosts_s": bound.hosts_s,
        "application_s": 0.0,
    }
    assert "in the network, 450 µs in hosts and 0 s in applications" in judged.verdict.why


@pytest.mark.parametrize(
    ("limit", "outcome"), [("460 us", MET), ("300 us", UNDECIDED), ("110 us", NOT_MET)]
)
def test_a_limit_is_met_only_beyond_the_greatest_stated_time(limit: str, outcome: str) -> None:
    (judged,) = (one for one in found(limit=limit).judged if one.verdict.requirement.kind == "hard")
    assert judged.verdict.outcome == outcome


def test_the_jitter_of_a_source_widens_what_others_wait() -> None:
    text = FILE.replace("DATASET", "").replace("PICTURE", "8 Gb/s").replace("LIMIT", "500 us")
    text = text.replace('core_time = "10 us .. 20 us"', "")
    alike = text.replace('name = "trigger"\nsource = "plc"', 'name = "trigger"\nsource = "camera"')
    alike = alike.replace('sink = "camera"', 'sink = "plc"')
    steady = alike.replace("20 us .. 50 us", "50 us")
    late, right = (predict(read_system(one)[0]).streams["trigger"] for one in (alike, steady))
    assert late.latency_bound is not None
    assert right.latency_bound is not None
    assert late.latency_bound.hosts_s == right.latency_bound.hosts_s
    assert late.latency_bound.network_s > right.latency_bound.network_s * 1.5


def test_one_stating_end_beside_a_dataset() -> None:
    """The other host takes between nothing and all of the dataset's hosts; the value has one half."""
    mixed, whole = found(dataset=True).streams["picture"], measured()
    assert mixed.goodput_bps.ends == whole.goodput_bps.ends
    for metric in ("latency_mean_s", "latency_max_s"):
        theirs, ours = whole.metrics[metric], mixed.metrics[metric]
        assert ours.high == pytest.approx(theirs.high + 50 * US)
        assert ours.low < theirs.low + 20 * US
        assert ours.low >= 20 * US
        assert {"stated", "assumed"} <= set(ours.bases)
    bound, other = mixed.latency_bound, whole.latency_bound
    assert bound is not None
    assert other is not None
    assert MEASURED in bound.covers
    assert bound.hosts_s == pytest.approx(other.hosts_s + 50 * US)
    assert not [
        name for name in mixed.metrics if name.startswith("cpu_send") and "cores" not in name
    ]
    assert mixed.metrics["cpu_send_cores"].high == pytest.approx(100e6 / (8 * 1472) * 20 * US)
    assert mixed.metrics["cpu_recv"] == whole.metrics["cpu_recv"]


def measured() -> StreamPrediction:
    text = FILE.replace("DATASET", 'dataset = "ethernet-10g-2012"').replace("PICTURE", "100 Mb/s")
    text = text.replace('latency = "20 us .. 50 us"\ncore_time = "10 us .. 20 us"\n', "")
    text = text.replace("LIMIT", "500 us").replace('source = "data sheet"\n', "")
    return predict(read_system(text)[0]).streams["picture"]


def test_one_stating_end_without_a_dataset_leaves_the_other_open() -> None:
    picture = found().streams["picture"]
    assert picture.goodput_bps.basis == "theory"
    assert picture.latency_mean_s.high == math.inf
    assert picture.latency_mean_s.low > 20 * US
    assert picture.latency_bound is not None
    assert NETWORK in picture.latency_bound.covers
    assert picture.latency_bound.hosts_s == pytest.approx(50 * US)


def test_the_core_time_loads_the_device() -> None:
    camera = found().devices["camera"]
    frames = 100e6 / (8 * 1472)
    low, high = (frames + 1000) * 10 * US, (frames + 1000) * 20 * US
    assert camera.cpu_cores.low <= low
    assert camera.cpu_cores.high == pytest.approx(high)
    assert found().devices["plc"].cpu_cores.absent
    assert "plc states no core_time" in found().devices["plc"].cpu_cores.why


@pytest.mark.parametrize(("cycle", "outcome"), [(40e3, MET), (70e3, UNDECIDED), (110e3, NOT_MET)])
def test_a_device_with_too_few_cores_passes_less(cycle: float, outcome: str) -> None:
    """10 to 20 µs of a core for each frame: 50 000 frames a second surely pass, 100 000 at most."""
    text = FILE.replace("DATASET", "").replace("PICTURE", "1 kb/s").replace("LIMIT", "500 us")
    text = text.replace('period = "1 ms"', f'period = "{1e9 / cycle:.3f} ns"')
    result = predict(read_system(text)[0])
    assert result.streams["trigger"].arrival.outcome == outcome
    if outcome != MET:
        (judged,) = (one for one in result.judged if one.verdict.requirement.kind == "hard")
        assert judged.verdict.outcome == outcome


@pytest.mark.parametrize("dataset", [False, True])
@pytest.mark.parametrize(("goodput", "outcomes"), [(700e6, UNDECIDED), (1500e6, NOT_MET)])
def test_a_stating_sender_of_a_measured_host_may_need_less_core_time(
    dataset: bool, goodput: float, outcomes: str
) -> None:
    """59 000 and 127 000 frames a second, of 50 000 to 100 000 that one core sends."""
    picture = found(dataset=dataset, picture=f"{goodput:g} b/s").streams["picture"]
    assert picture.arrival.outcome == outcomes
    assert picture.goodput_bps.value <= 1e6 / 20 * 8 * 1472 * (1 + 1e-9)
    if outcomes == UNDECIDED:
        assert picture.goodput_bps.high >= goodput * 0.99
        assert not picture.latency_bound or NETWORK in picture.latency_bound.covers


def test_an_unlimited_sender_may_fill_its_own_buffers() -> None:
    text = FILE.replace("DATASET", "").replace("PICTURE", "1 Mb/s").replace("LIMIT", "500 us")
    text = text.replace(
        '{ kind = "burst", period = "1 ms", size = "64 B" }', '{ kind = "unlimited" }'
    )
    trigger = predict(read_system(text)[0]).streams["trigger"]
    assert trigger.latency_max_s.high == math.inf
    assert trigger.latency_bound is None or NETWORK in trigger.latency_bound.covers


def test_a_dataset_for_all_streams_does_not_replace_stated_times() -> None:
    text = FILE.replace("DATASET", "").replace("PICTURE", "1 Mb/s").replace("LIMIT", "500 us")
    system, _ = read_system(text)
    alone, asked = predict(system), predict(system, Model(ETHERNET))
    assert asked.streams["trigger"].metrics == alone.streams["trigger"].metrics
    assert asked.streams["picture"].goodput_bps.basis != "theory"


@given(
    least_us=st.floats(0, 1000),
    width_us=st.floats(0, 1000),
    load=st.floats(0.01, 0.9),
    sink=st.booleans(),
)
@settings(max_examples=times(30), deadline=None)
def test_times_are_in_order_and_within_the_bound(
    least_us: float, width_us: float, load: float, sink: bool
) -> None:
    chain = Chain((4,), dataset=None)
    streams = [
        chain.stream(f"x{k}", f"h{k}", "h3", load * 1e10 / 3 / 12_304, "udp", 1472)
        for k in range(3)
    ]
    system = chain.system(streams)
    stated = (least_us * US, (least_us + width_us) * US)
    names = {*("h0", "h1", "h2"), *(("h3",) if sink else ())}
    devices = {
        name: replace(one, latency_s=stated) if name in names else one
        for name, one in system.devices.items()
    }
    result = predict(replace(system, devices=devices))
    for stream in result.streams.values():
        mean, p99, most = (stream.metrics[f"latency_{one}_s"] for one in ("mean", "p99", "max"))
        bound = stream.latency_bound
        assert bound is not None
        assert mean.value <= p99.value <= most.value <= bound.value_s * (1 + 1e-9)
        if sink:
            assert stream.latency_min_s.value <= mean.value
            assert most.high == bound.value_s
            assert mean.high <= p99.high <= most.high
        else:
            assert most.high == math.inf
        assert mean.basis in BASES


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('source = "manual, page 12"', "", "the device plc states its latency without a source"),
        ('"100 us .. 400 us"', '"400 us .. 100 us"', "is a descending range"),
        ('"100 us .. 400 us"', '"100 .. 400 us"', "has no unit"),
        ('latency = "100 us .. 400 us"', "latency_s = [4e-4, 1e-4]", "is above the greatest"),
        ('latency = "100 us .. 400 us"', "latency_s = [1e-4]", "plc"),
        ('latency = "100 us .. 400 us"', "latency_s = -1.0", "greater than or equal to 0"),
        ('latency = "100 us .. 400 us"', 'core_time = "1 us"', "states core_time without latency"),
        (
            'source = "manual, page 12"',
            'source = "manual"\ndataset = "lab-1g-2026"',
            "has both a latency of its own and a dataset",
        ),
    ],
)
def test_a_wrong_statement_is_refused(old: str, new: str, says: str) -> None:
    text = FILE.replace("DATASET", "").replace("PICTURE", "1 Mb/s").replace("LIMIT", "500 us")
    assert old in text
    with pytest.raises(NetworkError) as error:
        read_system(text.replace(old, new))
    if says != "plc":
        assert says in str(error.value)


@pytest.mark.parametrize(
    "text", ['latency = "400 us"', "latency_s = 4e-4", "latency_s = [4e-4, 4e-4]"]
)
def test_one_number_is_both_ends(text: str) -> None:
    file = FILE.replace("DATASET", "").replace("PICTURE", "1 Mb/s").replace("LIMIT", "500 us")
    system, _ = read_system(file.replace('latency = "100 us .. 400 us"', text))
    assert system.devices["plc"].latency_s == (4e-4, 4e-4)


def test_the_lab_says_that_its_hosts_stand_in() -> None:
    system = load("lab-switch")
    (name, *_) = system.devices
    stated = replace(system.devices[name], latency_s=(1e-5, 2e-5))
    system = replace(system, devices={**system.devices, name: stated})
    built = lab_system(system, slower=1.0, members=None, dataset="lab-1g-2026")
    assert any("latency stated by devices" in one for one in built.left_out)
    assert {one.latency_s for one in built.system.devices.values()} == {None}

"""Requirements of streams and devices: which of them demand everything, and what a device is judged by."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from icmodel import system as rooms
from icmodel.model import Model
from icmodel.requirement import Requirement
from icmodel.system import Producer, Stream, StreamRequirement
from icmodel.system.prediction.judging import (
    always_required,
    demands_all,
    demands_its_time,
    judge_requirements,
)
from system_case import ETHERNET, Chain

MODEL = Model(ETHERNET)
PAIR = Chain((3,))
EVEN = PAIR.stream("a", "h0", "h2", 1000.0)
ASKED_BPS = 1000 * 65535 * 8
BURSTS = replace(EVEN, producer=Producer("burst", 0.01, 1e6, 5e-3))


def limit(metric: str, of: str = "message", **side: float) -> StreamRequirement:
    return StreamRequirement(Requirement("own", metric, **side), "a", of=of)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("required", "expected"),
    [
        (limit("goodput_bps", at_least=ASKED_BPS), True),
        (limit("goodput_bps", at_least=2 * ASKED_BPS), True),
        (limit("goodput_bps", at_least=0.999 * ASKED_BPS), False),
        (limit("goodput_bps", at_most=ASKED_BPS), False),
        (limit("sent_bps", at_least=ASKED_BPS), False),
    ],
)
def test_a_goodput_of_all_that_is_produced_demands_all(
    required: StreamRequirement, expected: bool
) -> None:
    assert demands_all(EVEN, required) is expected
    assert not demands_all(PAIR.stream("a", "h0", "h2"), required)  # produces nothing of its own


def test_a_byte_every_16_s_is_a_goodput_too() -> None:
    slow = PAIR.stream("a", "h0", "h2", 1 / 16, payload_bytes=1)
    assert demands_all(slow, limit("goodput_bps", at_least=0.5))
    (implied,) = always_required(PAIR.system([slow]))
    assert (implied.requirement.metric, implied.requirement.limit) == ("goodput_bps", 0.5)


@pytest.mark.parametrize(
    ("stream", "required", "expected"),
    [
        (BURSTS, limit("latency_max_s", at_most=5e-3), True),
        (BURSTS, limit("latency_p99_s", at_most=1e-3), True),
        (BURSTS, limit("latency_max_s", at_most=5.001e-3), False),
        (BURSTS, limit("latency_max_s", at_least=5e-3), False),
        (BURSTS, limit("latency_std_s", at_most=1e-3), False),
        (BURSTS, limit("latency_max_s", "frame", at_most=5e-3), False),
        (BURSTS, limit("message_latency_s", "frame", at_most=5e-3), True),
        (EVEN, limit("latency_max_s", "frame", at_most=1e-3), True),
        (PAIR.stream("a", "h0", "h2"), limit("latency_max_s", at_most=1e-3), False),
    ],
)
def test_a_latency_of_whole_messages_within_their_time_demands_it(
    stream: Stream, required: StreamRequirement, expected: bool
) -> None:
    assert demands_its_time(stream, required) is expected


def test_what_is_due_is_required_unless_none_of_it_need_arrive() -> None:
    def implied(stream: Stream, *wanted: StreamRequirement) -> list[tuple[str, float]]:
        found = always_required(PAIR.system([stream], wanted))
        return [(one.requirement.metric, one.requirement.limit) for one in found]

    all_of_it = ("goodput_bps", 1e6 * 8 / 0.01)
    assert implied(BURSTS) == [all_of_it, ("message_latency_s", 5e-3)]
    assert implied(BURSTS, limit("latency_max_s", at_most=5e-3)) == [all_of_it]
    in_part = implied(replace(BURSTS, allowed_shortfall_ratio=0.25))
    assert [metric for metric, _ in in_part] == ["goodput_bps", "message_latency_s"]
    assert [most for _, most in in_part] == pytest.approx([0.75 * all_of_it[1], 5e-3 / 0.75])
    assert implied(replace(BURSTS, allowed_shortfall_ratio=1.0)) == []


def test_a_bound_judges_hard_limits_of_the_greatest_latency_alone() -> None:
    requirements = tuple(
        StreamRequirement(
            Requirement(f"{kind} {metric}", metric, at_most=1.0, kind=kind),
            "a",
        )
        for kind in ("hard", "firm")
        for metric in ("latency_max_s", "latency_p99_s")
    )
    found = rooms.predict(PAIR.system([EVEN], requirements), MODEL)
    by_bound = {one.verdict.requirement.name for one in found.judged if one.by_bound}
    assert by_bound == {"hard latency_max_s"}


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_message_of_two_frames_is_judged_as_a_whole(frames: int) -> None:
    """The message of a burst arrives with its last frame."""
    burst = replace(EVEN, producer=Producer("burst", 0.01, 65535.0 * frames))
    assert burst.frames_a_message == frames
    found = rooms.predict(PAIR.system([burst], (limit("latency_mean_s", at_most=1.0),)), MODEL)
    judged = next(one for one in found.judged if one.verdict.requirement.name == "own")
    stream = found.streams["a"]
    whole = stream.metrics if frames == 1 else stream.message_times
    assert judged.verdict.estimate.value == whole["latency_mean_s"].value
    assert (frames == 1) == (whole["latency_mean_s"] == stream.metrics["latency_mean_s"])


@pytest.mark.parametrize("cores", [None, 8])
def test_a_device_is_judged_by_the_streams_it_receives_or_sends(cores: int | None) -> None:
    chain = Chain((3,), cores=cores)
    ends = {"a": ("h0", "h2"), "b": ("h1", "h2"), "c": ("h2", "h0")}
    streams = [
        chain.stream(name, source, sink, 500.0, group="all", cores=1)
        for name, (source, sink) in ends.items()
    ]
    requirements = tuple(
        StreamRequirement(Requirement(metric, metric, at_most=1.0), "all", "h2")
        for metric in ("cpu_recv", "cpu_recv_cores", "cpu_send_cores", "cpu_send_user_cores")
    )
    found = rooms.predict(chain.system(streams, requirements), MODEL)
    judged = {
        one.verdict.requirement.metric: one.verdict.estimate
        for one in judge_requirements(found)
        if one.device == "h2"
    }
    for metric, names in (("cpu_recv_cores", "ab"), ("cpu_send_cores", "c")):
        each = [found.streams[name].metrics[metric] for name in names]
        assert judged[metric].ends == pytest.approx(
            tuple(math.fsum(one.ends[end] for one in each) for end in range(3))
        )
    if cores is None:
        each = [found.streams[name].metrics["cpu_recv"] for name in "ab"]
        assert judged["cpu_recv"].value == pytest.approx(sum(one.value for one in each))
    else:
        assert judged["cpu_recv"] == found.devices["h2"].cpu
    assert judged["cpu_send_user_cores"].absent

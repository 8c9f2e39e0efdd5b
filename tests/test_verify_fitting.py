"""How much slower a copy is, how many members it has, and where its hosts work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from icmodel.system import load
from icmodel.verify.comparing import (
    MOST_BUSY,
    MOST_HOSTS,
    PACKET_S,
    SPIN_S,
    busy_cores,
    most_members,
    placed,
    slowdown,
)
from icmodel.verify.lab import copied
from verify_case import small


def test_packets_and_frames_keep_cores_busy() -> None:
    system = load("lab-two-switches")  # 50 Mb/s of 1472 B over three links
    frames = 50e6 / 8 / 1472
    truth = frames * 4 * PACKET_S + min(frames * SPIN_S, 1.0)
    assert busy_cores(system) == pytest.approx(truth)


def test_what_fits_is_built_as_it_is() -> None:
    assert slowdown(load("lab-two-senders"), 2) == 1.0
    assert slowdown(load("lab-direct"), 2) == 1.0  # what lab-1g-2026 was measured at


@pytest.mark.parametrize("cores", [1, 2, 8])
def test_the_factor_is_the_least_of_its_steps_that_fits(cores: int) -> None:
    system = load("imaging")
    slower = slowdown(system, cores)
    assert slower > 1
    assert busy_cores(system) / slower <= MOST_BUSY * cores
    digits = f"{slower:g}".rstrip("0")
    before = {"1": slower / 2, "2": slower / 2, "5": slower / 2.5}[digits]
    assert busy_cores(system) / before > MOST_BUSY * cores


def test_so_many_members_that_the_hosts_are_few_enough() -> None:
    assert most_members(load("imaging")) is None
    system = load("industrial-line")
    members = most_members(system)
    assert members is not None
    copy = copied(system, slower=1.0, members=members, dataset="lab-1g-2026").system
    more = copied(system, slower=1.0, members=members + 1, dataset="lab-1g-2026").system
    assert len(copy.devices) <= MOST_HOSTS < len(more.devices)


def test_the_ends_of_a_stream_work_on_different_cores() -> None:
    system = load("lab-six-streams")
    for cores in ((0, 1), (3, 5, 7, 9)):
        places = placed(system, cores)
        for stream in system.streams.values():
            assert places[stream.source] != places[stream.sink]
    assert set(placed(system, (4,)).values()) == {4}


def test_who_sends_and_receives_alike_works_with_receivers() -> None:
    there = small()
    back = replace(
        there.streams["measured"], name="back", source="B", sink="A", path=("B->S", "S->A")
    )
    system = replace(there, streams={"there": there.streams["measured"], "back": back})
    assert placed(system, (0, 1)) == {"A": 1, "B": 1, "C": 1}

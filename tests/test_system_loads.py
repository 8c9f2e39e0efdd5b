"""Loads, overloads and cycles of ports, against sums by hand and a search that tries every circle."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.system import (
    Producer,
    Stream,
    load,
    read_system,
)
from icmodel.system.files import find_system
from icmodel.system.loads import port_cycle, port_loads


def test_a_port_carries_the_sum_of_its_streams() -> None:
    at = {one.port.name: one for one in port_loads(load("imaging"))}
    picture = 1920 * 1920 * 32 * 30 * 1538 / 1448
    assert at["switch->qfhd-display#2"].mean_bps == pytest.approx(2 * picture)
    assert at["capturing-device-3->switch"].mean_bps == pytest.approx(picture)
    assert at["capturing-device-3->switch"].ratio == pytest.approx(picture / 10e9)


def test_unlimited_streams_have_no_load() -> None:
    assert list(port_loads(load("lab-two-senders"))) == []


def two_switches(scheduler: str, priority: int) -> tuple[str, ...]:
    """What is found where 52.2 of 100 Mb/s go through a switch with a scheduler."""
    path = find_system("lab-two-switches")
    text = path.read_text(encoding="utf-8")
    text = text.replace('latency = "0 s"', f'latency = "0 s"\nscheduler = {scheduler}', 1)
    text = text.replace('protocol = "udp"', f'protocol = "udp"\npriority = {priority}')
    return tuple(finding.text for finding in read_system(text)[1])


def test_a_shaped_priority_that_asks_for_more_than_its_slope_is_overloaded() -> None:
    slope = '{ kind = "cbs", idle_slopes = { 6 = "50 Mb/s" } }'
    (told,) = two_switches(slope, 6)
    assert "the link S->T must carry 52.24 Mb/s of its 50 Mb/s at the priority 6" in told
    assert two_switches(slope, 5) == ()


def test_gates_that_are_open_for_too_short_are_overloaded() -> None:
    half = '{ kind = "gates", windows = [{ open = [0], duration = "1 ms" }, { open = [1], duration = "1 ms" }] }'
    (told,) = two_switches(half, 0)
    assert "must carry 52.24 Mb/s of its 50 Mb/s at the priority 0" in told


def bursts(*of: tuple[str, str, str]) -> tuple[str, ...]:
    """What is found where bursts of UDP (size, period, within) share a plain link of 1 Gb/s."""
    text = (
        'schema_version = 1\nname = "own"\ntitle = "own"\nsource = "a test"\n'
        '[[devices]]\nname = "a"\n[[devices]]\nname = "b"\n'
        '[[links]]\nbetween = ["a", "b"]\nrate = "1 Gb/s"\ninterconnect = "plain"\n'
    )
    for i, (size, period, within) in enumerate(of):
        text += (
            f'[[streams]]\nname = "x{i}"\nsource = "a"\nsink = "b"\nprotocol = "udp"\n'
            f'produces = {{ kind = "burst", period = "{period}", size = "{size}", within = "{within}" }}\n'
        )
    return tuple(finding.text for finding in read_system(text)[1])


def test_messages_that_no_order_of_sending_brings_in_time_are_an_overload() -> None:
    """0.6 Mb within 1 ms and 0.8 Mb within 2 ms fit 1 Gb/s; 1.6 Mb within 2 ms beside them do not."""
    first, second = ("75 kB", "10 ms", "1 ms"), ("100 kB", "10 ms", "2 ms")
    assert bursts(first, second) == ()
    (told,) = bursts(first, ("200 kB", "10 ms", "2 ms"))
    assert "must carry 1.1 Gb/s of its 1 Gb/s within 2 ms where all messages come at once" in told


def test_messages_that_come_again_before_the_others_are_due_count_again() -> None:
    """Within 2 ms come 0.9 Mb twice, the second due at 1.9 ms, and 0.3 Mb: 1.05 Gb/s."""
    (told,) = bursts(("112500 B", "1 ms", "900 us"), ("37500 B", "10 ms", "2 ms"))
    assert "must carry 1.05 Gb/s of its 1 Gb/s within 2 ms" in told


# --- cycles --------------------------------------------------------------------------------------


def stream(name: int, path: list[str]) -> Stream:
    made = Producer("burst", 1.0, 64)
    return Stream(f"x{name}", "x", "a", "b", made, "udp", 64, tuple(path))


@given(
    st.lists(
        st.permutations("abcde").flatmap(lambda p: st.integers(1, 5).map(lambda n: p[:n])),
        max_size=6,
    )
)
def test_a_cycle_is_found_if_there_is_one(paths: list[list[str]]) -> None:
    edges = {(a, b) for path in paths for a, b in pairwise(path)}
    circles = [
        circle
        for n in range(2, 6)
        for circle in permutations("abcde", n)
        if all((circle[i], circle[(i + 1) % n]) in edges for i in range(n))
    ]
    found = port_cycle(stream(i, path) for i, path in enumerate(paths))
    assert bool(found) == bool(circles)
    if found:
        assert found in circles

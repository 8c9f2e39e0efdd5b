"""Findings: cycles of ports, and one finding for the members of a group."""

from __future__ import annotations

from icmodel.system import read_system
from icmodel.system.files import find_system

RING = """
schema_version = 1
name = "ring"
title = "three switches in a ring"
source = "a test"

[[devices]]
name = "d"
count = 3

[[switches]]
name = "s"
count = 3
forwarding = "store-and-forward"
latency = "1 us"

[[links]]
between = ["s", "s"]
pairing = "each"
rate = "1 Gb/s"

[[links]]
between = ["d", "s"]
pairing = "one-to-one"
rate = "1 Gb/s"
"""
AROUND = """
[[streams]]
name = "x{i}"
source = "d-{i}"
sink = "d-{k}"
via = ["s-{i}", "s-{j}", "s-{k}"]
produces = {{ kind = "goodput", goodput = "1 Mb/s" }}
protocol = "udp"
payload = "100 B"
"""


def test_a_cycle_of_ports_is_named_and_allowed() -> None:
    around = "".join(AROUND.format(i=i, j=i % 3 + 1, k=(i + 1) % 3 + 1) for i in (1, 2, 3))
    system, (finding,) = read_system(RING + around)
    assert len(system.streams) == 3
    assert finding.kind == "looped"
    assert not finding.refused
    for port in ("s-1->s-2", "s-2->s-3", "s-3->s-1"):
        assert port in finding.text
    assert read_system(RING + AROUND.format(i=1, j=2, k=3))[1] == ()


def test_equal_faults_in_a_group_are_one_finding_with_their_count() -> None:
    path = find_system("imaging")
    text = path.read_text(encoding="utf-8").replace('rate = "10 Gb/s"', 'rate = "3 Gb/s"')
    told = [finding.text for finding in read_system(text)[1]]
    assert len(told) == 2  # pictures, and second pictures
    assert "7.518 Gb/s of its 3 Gb/s" in told[0]
    assert "(likewise " in told[0]

"""Findings: cycles of ports, and one finding for the members of a group."""

from __future__ import annotations

from pathlib import Path

import pytest

from icmodel.errors import IcmodelError
from icmodel.system import check, load, predict, read_system
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
    assert "7.518 Gb/s, more than its 3 Gb/s" in told[0]
    assert "(likewise " in told[0]


FABRICS = """\
schema_version = 1
name = "fabrics"
title = "t"
source = "t"
devices = [{name = "a", dataset = "infiniband-qdr-connectx2"}, {name = "b", dataset = "infiniband-qdr-connectx2"}]
links = [{between = ["a", "b"], interconnect = "INTERCONNECT", rate = "32 Gb/s"}]
[[streams]]
name = "x"
source = "a"
sink = "b"
protocol = "rdma-write"
payload = "65536 B"
produces = {kind = "goodput", goodput = "5 Gb/s"}
"""


@pytest.mark.parametrize(
    ("interconnect", "options", "told"),
    [
        ("infiniband", "", None),
        ("roce", 'options = {fabric = "rocev1"}', None),
        (
            "roce",
            "",
            'infiniband in infiniband-qdr-connectx2, but its link a<->b is roce: give the stream options = { fabric = "rocev1" }',
        ),
        (
            "infiniband",
            'options = {fabric = "rocev1"}',
            "has options that select roce in infiniband-qdr-connectx2",
        ),
        (
            "rapidio",
            "",
            "which was measured on ethernet, infiniband, roce, but the link a<->b is rapidio",
        ),
    ],
)
def test_rows_of_a_dataset_are_of_the_interconnect_of_the_link(
    interconnect: str, options: str, told: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "fabrics.toml"
    text = FABRICS.replace("INTERCONNECT", interconnect) + options
    path.write_text(text, encoding="utf-8")
    if told is None:
        assert check(load(path)) == ()
        return
    with pytest.raises(IcmodelError) as caught:
        load(path)
    assert told in str(caught.value)


def test_a_dataset_given_for_all_streams_does_not_answer_for_another_interconnect(
    tmp_path: Path,
) -> None:
    path = tmp_path / "fabrics.toml"
    text = FABRICS.replace("INTERCONNECT", "roce").replace(
        ', dataset = "infiniband-qdr-connectx2"', ""
    )
    path.write_text(text, encoding="utf-8")
    found = predict(load(path), dataset="infiniband-qdr-connectx2")
    assert {one.verdict.outcome for one in found.judged} == {"undecided"}
    assert "was measured on infiniband" in found.streams["x"].metrics["goodput_bps"].why

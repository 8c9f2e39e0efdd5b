"""Damaged systems: each damage of a shipped file is told in exactly one sentence, and whose fault it is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from icmodel.errors import NetworkError
from icmodel.system import find_system, load, read_system, system_names, system_schema

IMAGING, MOTION, LINE = "imaging", "motion-control", "industrial-line"
DSCP, TWO, DIRECT = "lab-dscp", "lab-two-switches", "lab-direct"

WRR = '"wrr", weights = { 5 = 16, 4 = 3, 0 = 1 }'
GATES = '"gates", windows = [{{ open = [{}], duration = "{} ms" }}]'

DAMAGES = [
    # the text itself
    (DIRECT, 'name = "lab-direct"', 'name = "lab-direct', "is not valid TOML"),
    (DIRECT, "schema_version = 1", "schema_version = 2", "schema_version is 2"),
    (DIRECT, "schema_version = 1\n", "", "schema_version is None"),
    # keys, shapes and units
    (DIRECT, "cores = 1\n\n[[devices]]", "kores = 1\n\n[[devices]]", "the key 'kores' is unknown"),
    (DIRECT, "[[links]]", "[links]", "links is {"),
    (DIRECT, 'rate = "1 Gb/s"', "rate = 1e9", "rate = 1000000000.0 has no unit"),
    (DIRECT, 'rate = "1 Gb/s"', 'rate = "1 Gb"', "is an amount where a rate is needed"),
    (DIRECT, 'rate = "1 Gb/s"\n', "", "links no. 1 has no rate"),
    (DIRECT, 'rate = "1 Gb/s"', 'rate = "0 b/s"', "links no. 1, rate_bps is 0.0"),
    (DIRECT, 'between = ["A", "B"]', 'between = ["A"]', "links no. 1, between is ['A']"),
    (DIRECT, 'title = "', 'titel = "', "the key 'titel' is unknown"),
    (DIRECT, 'name = "A"\ncores = 1', 'name = "A"\ncount = 0', "devices no. 1, count is 0"),
    (DIRECT, 'name = "A"', 'name = "my host"', "devices no. 1, name is 'my host'"),
    (DIRECT, 'payload = "16384 B"\n', "", "a source of kind unlimited has no frame size"),
    (IMAGING, 'depth = "32 bit", ', "", "streams no. 1, produces has no depth: it is needed"),
    (DIRECT, '"unlimited"', '"endless"', "has the kind 'endless': the kinds are image, samples"),
    (DIRECT, 'kind = "unlimited"', "", "streams no. 1, produces has no kind"),
    (LINE, '"strict-priority"', '"lifo"', "has the kind 'lifo': the kinds are fifo, strict-pr"),
    (LINE, "priority = 6", "priority = 9", "priority is 9"),
    (LINE, 'kind = "hard"', 'kind = "harder"', "kind is 'harder'"),
    (LINE, '"store-and-forward"', '"store"', "forwarding is 'store'"),
    (MOTION, 'within = "3 us"', 'within = "60 us"', "give within at most the cycle"),
    (LINE, 'size = "40 B" }', 'size = "40 B", within = "1 s" }', "give within at most the period"),
    # names
    (DIRECT, 'sink = "B"', 'sink = "C"', "the stream measured names 'C'"),
    (IMAGING, '"qfhd-display", "switch"', '"qfhd-dysplay", "switch"', "is qfhd-display meant"),
    (IMAGING, 'name = "recorder"', 'name = "control-unit"', "two nodes are named 'control-unit'"),
    (LINE, 'name = "position"', 'name = "set-point"', "two streams are named 'set-point-1'"),
    (IMAGING, 'usecase = "imaging"', 'usecase = "imagin"', "there is no use case"),
    (IMAGING, 'name = "picture"', 'name = "film"', "choices.streams names 'picture', but no"),
    (LINE, 'stream = "reading"', 'stream = "readings"', "is about the stream readings"),
    (LINE, '"250 us"', '"250 us"\ndevice = "drive"', "device sums a CPU metric"),
    (LINE, '"250 us"', '"250 B"', "has the unknown unit 'B'"),
    (LINE, '"picture.goodput_bps"', '"film.goodput_bps"', "no derived number 'film.goodput_bps'"),
    # how groups pair
    (
        LINE,
        'pairing = "spread"\nrate',
        "rate",
        "links no. 2 between field and cell: groups of 20 and 4",
    ),
    (
        LINE,
        '"spread"\nrate = "1 Gb/s"\nlength = "15',
        '"one-to-one"\nrate = "1 Gb/s"\nlength = "15',
        "24 and 4 nodes cannot be paired one to one",
    ),
    (DIRECT, '["A", "B"]', '["A", "A"]', "A is paired with itself"),
    (DIRECT, 'sink = "B"', 'sink = "A"', "A is paired with itself"),
    # unconnected
    (TWO, '[[links]]\nbetween = ["S", "T"]\nrate = "100 Mb/s"\n', "", "has no route from A to B"),
    (
        IMAGING,
        'between = ["recorder", "switch"]',
        'between = ["recorder-1", "switch"]',
        "no route from recorder-2 to qfhd-display (likewise 1 more)",
    ),
    (
        DSCP,
        '[[switches]]\nname = "S"',
        '[[devices]]\nname = "D"\n\n[[switches]]\nname = "S"',
        "D has no link",
    ),
    # contradictory
    (IMAGING, "interfaces = 3", "interfaces = 2", "has 3 links and interfaces = 2"),
    (LINE, '["panel", "core"]', '["panel", "core"]\nparallel = 2', "panel has 2 links and interf"),
    (DIRECT, '"lab-1g-2026"', '"lab-1g-2025"', "there is no dataset 'lab-1g-2025'"),
    (
        DIRECT,
        '"lab-1g-2026"',
        '"rapidio-tsi721"',
        "is ethernet, and rapidio-tsi721 was measured on",
    ),
    (
        DIRECT,
        '"tcp"',
        '"mpi"',
        "has the protocol mpi, of which no dataset on its route has rows (lab-1g-2026",
    ),
    (TWO, 'payload = "1472 B"', 'payload = "65508 B"', "udp carries at most 65507 B"),
    (TWO, '["S", "T"]\nrate', '["S", "T"]\nmtu = "1000 B"\nrate', "S<->T takes 1000 B"),
    (DSCP, "4 = 3, 0 = 1", "4 = 3", "the priority 0, which the wrr scheduler of S->B never serves"),
    (DSCP, "weights = { 5 = 16, 4 = 3, 0 = 1 }", "weights = { 9 = 16, 0 = 1 }", "must be"),
    (
        DSCP,
        '"wrr", weights = { 5 = 16, 4 = 3, 0 = 1 }',
        '"cbs", idle_slopes = { 6 = "90 Mb/s", 5 = "20 Mb/s" }',
        "the idle slopes of S->B add up to 110 Mb/s, more than its 100 Mb/s",
    ),
    # looped
    (TWO, 'protocol = "udp"', 'via = ["T", "S"]\nprotocol = "udp"', "passes S twice"),
    (TWO, 'protocol = "udp"', 'via = ["B"]\nprotocol = "udp"', "via B, which is not a switch"),
    # overloaded
    (TWO, '"50 Mb/s"', '"99 Mb/s"', "the interface of A at A->S must carry 103.4 Mb/s"),
    (
        TWO,
        '["S", "T"]\nrate = "100 Mb/s"',
        '["S", "T"]\nrate = "50 Mb/s"',
        "the link S->T must carry 52.24 Mb/s of its 50 Mb/s",
    ),
    (
        IMAGING,
        "parallel = 3",
        "parallel = 2",
        "of qfhd-display at switch->qfhd-display#1 must carry 11.28 Gb/s of its 10 Gb/s",
    ),
    (MOTION, 'cycle = "20 kHz", within = "3 us"', 'cycle = "20 kHz", within = "4 us"', None),
    (
        DSCP,
        '"wrr", weights = { 5 = 16, 4 = 3, 0 = 1 }',
        '"gates", windows = [{ open = [5], duration = "1 ms" }]',
        "the gates scheduler of S->B never",
    ),
    # windows: of TCP, and of gates
    (TWO, 'protocol = "udp"', 'protocol = "udp"\nwindow = "64 KiB"', "udp has no window"),
    (DIRECT, 'protocol = "tcp"', 'protocol = "tcp"\nwindow = "0 B"', "window_bytes is 0"),
    (DIRECT, 'protocol = "tcp"', 'protocol = "tcp"\nwindow = "1 ms"', "window: the size '1 ms'"),
    (DSCP, WRR, GATES.format("0, 4, 9", 1), "open no. 3 is 9: it must be less than or equal to 7"),
    (DSCP, WRR, GATES.format("0, 4, 5", 0), "windows no. 1, duration_s is 0.0: it must be greater"),
    (DSCP, WRR, GATES.format("0, 4", 1), "the priority 5, which the gates scheduler of S->B never"),
    (DSCP, WRR, GATES.format("", 1), "open is []: it must have at least 1"),
    (DSCP, WRR, '"gates", windows = []', "windows is []: it must have at least 1"),
]


def sentences(text: str, folder: Path) -> list[str]:
    """What a person is told of a system file: the refusal, or all findings."""
    try:
        findings = read_system(text, "own.toml", folder)[1]
    except NetworkError as error:
        return [str(error)]
    return [finding.text for finding in findings]


@pytest.mark.parametrize(("name", "old", "new", "said"), DAMAGES)
def test_a_damaged_file_is_refused_in_one_sentence(
    name: str, old: str, new: str, said: str | None
) -> None:
    path = find_system(name)
    whole = path.read_text(encoding="utf-8")
    assert old in whole, "the file has changed, and the damage no longer damages it"
    told = sentences(whole.replace(old, new, 1), path.parent)
    if said is None:
        assert told == []
        return
    (one,) = told
    assert said in one
    assert "\n" not in one
    assert "Traceback" not in one
    assert not re.search(r"[a-z)]\. [A-Z]", one), one


def test_there_are_more_than_forty_damages_of_all_kinds() -> None:
    assert sum(said is not None for *_, said in DAMAGES) >= 40


def test_an_overload_is_answered_and_a_contradiction_is_not(tmp_path: Path) -> None:
    text = find_system(TWO).read_text(encoding="utf-8")
    (tmp_path / "over.toml").write_text(text.replace('"50 Mb/s"', '"99 Mb/s"'), encoding="utf-8")
    (tmp_path / "wrong.toml").write_text(text.replace('"1472 B"', '"70000 B"'), encoding="utf-8")
    assert load(tmp_path / "over.toml").streams["measured"].requested_goodput_bps == pytest.approx(
        99e6
    )
    with pytest.raises(
        NetworkError, match=r"wrong\.toml, line 49: the stream measured sends 70000 B a frame"
    ):
        load(tmp_path / "wrong.toml")


def test_a_missing_system_is_refused_with_the_bundled_names() -> None:
    with pytest.raises(NetworkError, match="there is no system 'x': use imaging, "):
        load("x")


def test_a_use_case_is_looked_for_beside_the_system(tmp_path: Path) -> None:
    for name, folder in (("imaging", ".."), ("imaging", ".")):
        text = (find_system(name).parent / folder / "imaging.toml").read_text(encoding="utf-8")
        file = "case.toml" if folder == ".." else "own.toml"
        text = text.replace('usecase = "imaging"', 'usecase = "case.toml"')
        (tmp_path / file).write_text(text, encoding="utf-8")
    assert len(load(tmp_path / "own.toml").requirements) == len(load("imaging").requirements) > 0


@pytest.mark.parametrize("name", system_names())
def test_a_bundled_system_fits_the_schema(name: str) -> None:
    document = tomllib.loads(find_system(name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(system_schema()).validate(document)
    document["links"][0]["rate"] = 1e9
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(system_schema()).validate(document)


def test_the_schema_knows_both_spellings() -> None:
    links = system_schema()["$defs"]["Links"]["properties"]
    assert {"rate", "rate_bps", "length", "mtu_bytes"} <= set(links)
    quanta = system_schema()["$defs"]["DeficitRoundRobin"]["properties"]["quanta"]
    assert quanta["additionalProperties"]["type"] == "string"

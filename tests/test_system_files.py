"""Damaged systems: each damage of a shipped file is told in exactly one sentence, and whose fault it is."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import jsonschema
import pytest

from cli_case import RunIcmodel
from icmodel.cli import main
from icmodel.documents import toml
from icmodel.errors import NetworkError
from icmodel.recommend import recommend
from icmodel.requirement import MET
from icmodel.system import (
    System,
    find_system,
    load,
    new_system_text,
    predict,
    read_system,
    system_names,
    system_schema,
)
from icmodel.system.document import Devices, Links, Streams, Switches, SystemDocument
from icmodel.system.files import notes_on_system, notes_on_usecase
from icmodel.usecase import derive, load_usecase

IMAGING, MOTION, LINE = "imaging", "motion-control", "industrial-line"
DSCP, TWO, DIRECT = "lab-dscp", "lab-two-switches", "lab-direct"

WRR = '"wrr", weights = { 5 = 16, 4 = 3, 0 = 1 }'
GATES = '"gates", windows = [{{ open = [{}], duration = "{} ms" }}]'

DAMAGES = [
    # the text itself
    (DIRECT, 'name = "lab-direct"', 'name = "lab-direct', "is not valid TOML"),
    (DIRECT, "schema_version = 1", "schema_version = 2", "schema_version is 2"),
    (DIRECT, "schema_version = 1\n", "", "schema_version is missing"),
    # keys, shapes and units
    (DIRECT, "cores = 1\n\n[[devices]]", "kores = 1\n\n[[devices]]", "the key 'kores' is unknown"),
    (DIRECT, "[[links]]", "[links]", "links is {"),
    (DIRECT, 'rate = "1 Gb/s"', "rate = 1e9", "rate = 1000000000.0 has no unit"),
    (DIRECT, 'rate = "1 Gb/s"', 'rate = "1 Gb"', "is an amount where a rate is needed"),
    (DIRECT, 'rate = "1 Gb/s"\n', "", "links no. 1 has no rate"),
    (DIRECT, 'rate = "1 Gb/s"', 'rate = "0 b/s"', "links no. 1, rate_bps is 0.0"),
    (DIRECT, 'rate = "1 Gb/s"', "rate_bps = 5e-324", "rate_bps is 5e-324: it must be greater than"),
    (DIRECT, 'rate = "1 Gb/s"', "rate_bps = 2e18", "rate_bps is 2e+18: it must be less than"),
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
    (MOTION, 'within = "3 us"', 'within = "60 us"', "make within no longer than the cycle"),
    (
        LINE,
        'size = "40 B" }',
        'size = "40 B", within = "1 s" }',
        "make within no longer than the period",
    ),
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
        "rapidio-tsi721, which was measured on rapidio, but the link A<->B is ethernet",
    ),
    (
        DIRECT,
        '"tcp"',
        '"mpi"',
        "has the protocol mpi, but no dataset on its route has rows of this protocol (lab-1g-2026",
    ),
    (TWO, 'payload = "1472 B"', 'payload = "65508 B"', "udp carries at most 65507 B"),
    (
        TWO,
        '["S", "T"]\nrate',
        '["S", "T"]\nmtu = "1000 B"\nrate',
        "the next link S<->T has an MTU of 1000 B",
    ),
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
        "the link S->T must carry 52.24 Mb/s, more than its 50 Mb/s",
    ),
    (
        IMAGING,
        "parallel = 3",
        "parallel = 2",
        "of qfhd-display at switch->qfhd-display#1 must carry 11.28 Gb/s, more than its 10 Gb/s",
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


# --- the template of a system: it loads, predicts and teaches; each commented-out line is valid, too ---


TEXT = new_system_text("mine")
LINES = TEXT.splitlines()
KEY = re.compile(r"# ([a-z_]+|\[\[?[a-z.\"*]+\]\]?)( = .*)?$")


def commented_out() -> list[list[int]]:
    """Numbers of the lines of each key or table that is commented out; a table has its keys."""
    found: list[list[int]] = []
    for number, line in enumerate(LINES):
        match = KEY.match(line)
        if match is None or not (match[2] or match[1].startswith("[")):
            continue
        of_table = found and found[-1][-1] == number - 1 and LINES[found[-1][0]].startswith("# [")
        if of_table and not match[1].startswith("["):
            found[-1].append(number)
        else:
            found.append([number])
    return found


def uncommented(numbers: list[int]) -> str:
    """The template with some of its lines no longer commented out."""
    return "\n".join(
        line.removeprefix("# ") if number in numbers else line for number, line in enumerate(LINES)
    )


def test_the_template_is_predicted_unchanged_and_met() -> None:
    system, findings = read_system(TEXT)
    assert not findings
    found = predict(system)
    assert found.verdict == MET
    assert all(stream.latency_bound for stream in found.streams.values())


def test_lines_are_commented_out() -> None:
    assert len(commented_out()) >= 25
    assert sum(LINES[some[0]].startswith("# [") for some in commented_out()) == 4


@pytest.mark.parametrize(
    "numbers", commented_out(), ids=[LINES[some[0]].split(" =")[0][2:] for some in commented_out()]
)
def test_each_commented_out_line_is_valid(numbers: list[int]) -> None:
    system, findings = read_system(uncommented(numbers))
    assert not [finding for finding in findings if finding.refused]
    assert predict(system, worst=False).streams
    assert toml(uncommented(numbers)) != toml(TEXT)


def test_all_of_them_together_are_valid_and_can_be_searched(tmp_path: Path) -> None:
    text = uncommented([number for some in commented_out() for number in some])
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    found = recommend(file)
    assert found.own is not None


def test_every_key_of_the_tables_is_shown() -> None:
    shown = set(re.findall(r"(?m)^(?:# )?([a-z_]+) = ", TEXT))
    for table in (SystemDocument, Devices, Switches, Links, Streams):
        spellings = {field: text for text, field in table.text_spellings().items()}
        keys = {spellings.get(field, field) for field in table.model_fields}
        keys -= {"choices", "costs", "devices", "switches", "links", "streams", "requirements"}
        missing = (
            keys - shown - {"interconnect", "propagation_s_per_m", "usecase", "cpu_clock_ratio"}
        )
        assert not missing - {"rate"}, table


@pytest.mark.parametrize("name", ["", "Mine", "my system", "1st", "a/b", "../a"])
def test_a_wrong_name_is_refused(name: str) -> None:
    with pytest.raises(NetworkError, match="cannot name a system"):
        new_system_text(name)


def test_the_command_writes_and_never_overwrites(run_icmodel: RunIcmodel, tmp_path: Path) -> None:
    made = run_icmodel("system new my-own")
    assert (made.code, made.out) == (
        0,
        "my-own.toml: edit it, then run `icmodel system my-own.toml`\n",
    )
    file = tmp_path / "my-own.toml"
    assert file.read_text(encoding="utf-8") == new_system_text("my-own")
    assert run_icmodel("system my-own.toml").code == 0
    assert run_icmodel("system check my-own.toml").code == 0
    again = run_icmodel("system new my-own")
    assert again.code == 2
    assert "my-own.toml already exists" in again.err
    assert run_icmodel("system new my-own -o other.toml").code == 0
    assert (tmp_path / "other.toml").read_bytes() == file.read_bytes()
    assert run_icmodel("system new 'My Own'").code == 2
    assert run_icmodel("system new a -o no-such-folder/a.toml").code == 2


# --- a use case and a system of one name: what differs is told on both sides, and nothing else ----


def asking(system: System, group: str, rate_fps: float) -> System:
    """The system with the streams of a group at a rate."""
    streams = {
        name: replace(one, paced_fps=rate_fps) if one.group == group else one
        for name, one in system.streams.items()
    }
    return replace(system, streams=MappingProxyType(streams))


@pytest.mark.parametrize("name", ["imaging", "motion-control"])
def test_both_sides_say_the_same_of_streams_whose_rates_differ(name: str) -> None:
    case, system = load_usecase(name), load(name)
    told = notes_on_usecase(system)
    assert told == notes_on_system(case, derive(case), case.default_candidate)
    assert told
    for note in told:
        assert f"`icmodel evaluate {name}`" in note
        assert f"`icmodel system {name}`" in note


def test_equal_rates_and_other_names_have_nothing_to_tell() -> None:
    system = load("imaging")
    (told,) = notes_on_usecase(system)  # the control data are asked alike
    assert told.startswith("picture: ")
    assert "3.512676 Gb/s" in told
    assert "3.538944 Gb/s" in told
    assert "the produced rate" in told
    assert notes_on_usecase(asking(system, "picture", 6700.0)) == ()
    (paced,) = notes_on_usecase(asking(system, "picture", 1000.0))
    assert "524.28 Mb/s (the rate set at the sender)" in paced
    assert notes_on_usecase(replace(system, name="other", usecase=None)) == ()
    assert notes_on_usecase(load("lab-switch")) == ()
    case = load_usecase("cameras")
    assert notes_on_system(case, derive(case), case.default_candidate) == ()


def test_both_commands_tell_it(
    capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    for words in (["evaluate", "imaging"], ["system", "imaging"]):
        for more in ([], ["--json"]):
            main([*words, *more])
            assert "icmodel evaluate imaging" in " ".join(capsys.readouterr().out.split())
        report = tmp_path_factory.mktemp("report") / "imaging.md"
        main([*words, "-o", str(report)])
        assert "their verdicts may differ" in report.read_text(encoding="utf-8")
        capsys.readouterr()

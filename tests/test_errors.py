"""Mistakes of a file: one error lists all independent mistakes with lines, for every interface."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_case import RunIcmodel
from icmodel.errors import Fault, IcmodelError, Mistake, Mistakes, line_of
from icmodel.system import read_open
from icmodel.usecase import new_usecase_text
from icmodel.usecase.files import read_usecase
from icmodel.web import reports
from search import times
from web_case import Server, problem

SYSTEM = """
schema_version = 1
name = "own"
title = "a system with all kinds of parts"
source = "a test"

[[devices]]
name = "camera"
count = 3

[[devices]]
name = "display"
cores = 4
latency = "20 us .. 50 us"
source = "data sheet"

[[devices]]
name = "panel"
interfaces = 2

[[devices]]
name = "probe"

[[devices]]
name = "island"

[[devices]]
name = "islet"
interfaces = 2

[[switches]]
name = "sw"
forwarding = "store-and-forward"
latency = "2 us"

[[switches]]
name = "far"
forwarding = "store-and-forward"
latency = "2 us"
scheduler = { kind = "wrr", weights = { 0 = 1, 5 = 2 } }

[[links]]
between = ["camera", "sw"]
rate = "1 Gb/s"

[[links]]
between = ["display", "sw"]
rate = "10 Gb/s"

[[links]]
between = ["panel", "sw"]
rate = "1 Gb/s"
dataset = "lab-1g-2026"

[[links]]
between = ["probe", "sw"]
rate = "1 Gb/s"

[[links]]
between = ["island", "far"]
rate = "1 Gb/s"

[[links]]
between = ["islet", "far"]
rate = "1 Gb/s"

[[links]]
between = ["sw", "far"]
rate = "1 Gb/s"
length = "20 m"

[[streams]]
name = "picture"
source = "camera"
sink = "display"
produces = { kind = "goodput", goodput = "10 Mb/s" }
protocol = "udp"
payload = "1000 B"

[[streams]]
name = "command"
source = "panel"
sink = "camera"
produces = { kind = "burst", period = "1 ms", size = "64 B" }
protocol = "tcp"

[[streams]]
name = "far-away"
source = "island"
sink = "panel"
produces = { kind = "burst", period = "2 ms", size = "80 B" }
protocol = "udp"

[[streams]]
name = "across"
source = "islet"
sink = "display"
via = ["far", "sw"]
priority = 5
produces = { kind = "burst", period = "3 ms", size = "96 B" }
protocol = "ethernet"

[[requirements]]
name = "commands are in time"
metric = "latency_max_s"
at_most = "command.period_s"
stream = "command"

[[requirements]]
name = "pictures arrive"
metric = "goodput_bps"
at_least = "9 Mb/s"
stream = "picture"
"""


class Change(NamedTuple):
    """Changed text, words of the mistake, and the text of its line."""

    old: str
    new: str
    said: str
    line: str = ""


SYSTEM_CHANGES = (
    Change('["camera", "sw"]', '["camrea", "sw"]', "'camrea', which is neither a device"),
    Change('["probe", "sw"]', '["probe", "probe"]', "probe is paired with itself"),
    Change('["island", "far"]', '["island", "islet"]', "no route from island", 'sink = "panel"'),
    Change('protocol = "ethernet"', 'protocol = "ethernt"', "is ethernet meant"),
    Change('period = "1 ms"', 'period = "1 mz"', "unknown unit 'mz'"),
    Change('"command.period_s"', '"command.periode_s"', "no derived number 'command.periode_s'"),
    Change('title = "a', 'titel = "a', "the key 'titel' is unknown"),
    Change('dataset = "lab-1g-2026"', 'dataset = "lab-1g-2062"', "no dataset 'lab-1g-2062'"),
    Change('stream = "picture"', 'stream = "pictures"', "stream pictures, which does not exist"),
    Change('"9 Mb/s"', '"9 ms"', "'9 ms'"),
    Change("priority = 5", "priority = 4", "the wrr scheduler of far->sw never"),
    Change('source = "data sheet"\n', "", "without a source", "[[devices]]"),
    Change('length = "20 m"', "length = 20", "length = 20 has no unit"),
    Change('payload = "1000 B"', 'payload = "70000 B"', "udp carries at most 65507 B"),
    Change("count = 3", 'count = "3"', "count is '3'"),
)
"""Every key, link, stream, route, dataset, requirement and scheduler is wrong once."""

USECASE = (
    new_usecase_text("own")
    .replace('interconnect = "rest" }', 'transfer = "5 ms", interconnect = "rest" }')
    .replace("[[requirements]]", '[[streams]]\nname = "more"\nkind = "goodput"\ngoodput = "1 Mb/s"\n\n[[requirements]]', 1)
    .replace('metric = "goodput_bps"\n', 'metric = "goodput_bps"\nstream = "video"\n')
    .replace('metric = "latency_mean_s"\n', 'metric = "latency_mean_s"\nstream = "video"\n')
    .replace('metric = "cpu_recv"\n', 'metric = "cpu_recv"\nstream = "video"\n')
)  # fmt: skip
USECASE_CHANGES = (
    Change('rate = "50 Hz"', 'rate = "50 Hx"', "unknown unit 'Hx'"),
    Change('transfer = "5 ms"', 'transfer = "5 B"', "unknown unit 'B'", "parts = {"),
    Change('goodput = "1 Mb/s"', 'goodputs = "1 Mb/s"', "the key 'goodputs' is unknown"),
    Change('"response.interconnect_s"', '"response.wait_s"', "no derived number 'response.wait_s'"),
    Change('"80 %"', '"80 us"', "'80 us'"),
    Change("receives = { video = 1 }", "receives = { vidio = 1 }", "is 'vidio', which does not"),
    Change('default_candidate = "tcp"', 'default_candidate = "t"', "default_candidate is 't'"),
    Change('title = "One', 'titel = "One', "the key 'titel' is unknown"),
    Change('payload = "65535 B"', 'payload = "65535 b"', "unknown unit 'b'"),
    Change('metric = "goodput_bps"', 'metric = "goodput_pbs"', "no metric 'goodput_pbs'"),
    Change('["cpu_recv"]', '["cpu_receive"]', "minimise is 'cpu_receive'", "minimise"),
)


def read_checked(text: str, file: str) -> object:
    return read_open(text, file).checked()


def mistakes_of(read: Callable[[str, str], object], text: str) -> tuple[Mistake, ...]:
    """Mistakes found in a text; empty if it is right."""
    try:
        read(text, "own.toml")
    except IcmodelError as error:
        return error.mistakes
    return ()


def changed(text: str, changes: tuple[Change, ...]) -> str:
    for one in changes:
        assert text.count(one.old) >= 1, one.old
        text = text.replace(one.old, one.new, 1)
    return text


def check(
    read: Callable[[str, str], object], whole: str, changes: tuple[Change, ...]
) -> tuple[Mistake, ...]:
    """Each change gives exactly one mistake, with its words and line."""
    text = changed(whole, changes)
    found = mistakes_of(read, text)
    assert len(found) == len(changes), found
    for one in changes:
        (mistake,) = (each for each in found if one.said in each.message)
        if one.line != "" or one.new:
            assert mistake.line is not None
            assert (one.line or one.new) in text.splitlines()[mistake.line - 1]
    return found


@pytest.mark.parametrize("change", SYSTEM_CHANGES, ids=lambda one: one.said)
def test_each_mistake_of_a_system_is_told_at_its_line(change: Change) -> None:
    check(read_checked, SYSTEM, (change,))


@pytest.mark.parametrize("change", USECASE_CHANGES, ids=lambda one: one.said)
def test_each_mistake_of_a_use_case_is_told_at_its_line(change: Change) -> None:
    check(read_usecase, USECASE, (change,))


def test_the_whole_texts_are_right() -> None:
    assert mistakes_of(read_checked, SYSTEM) == mistakes_of(read_usecase, USECASE) == ()


@given(st.sets(st.sampled_from(SYSTEM_CHANGES), min_size=2))
@settings(max_examples=times(40), deadline=None)
def test_independent_mistakes_of_a_system_are_told_in_one_error(changes: set[Change]) -> None:
    check(read_checked, SYSTEM, tuple(changes))


@given(st.sets(st.sampled_from(USECASE_CHANGES), min_size=2))
@settings(max_examples=times(40), deadline=None)
def test_independent_mistakes_of_a_use_case_are_told_in_one_error(changes: set[Change]) -> None:
    check(read_usecase, USECASE, tuple(changes))


# --- the doors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "whole", "changes"),
    [
        ("system", SYSTEM, tuple(one for one in SYSTEM_CHANGES if "dataset" not in one.old)),
        ("evaluate", USECASE, USECASE_CHANGES),
    ],
)
def test_every_door_tells_the_same_mistakes(
    command: str,
    whole: str,
    changes: tuple[Change, ...],
    run_icmodel: RunIcmodel,
    server: Server,
) -> None:
    read = read_checked if command == "system" else read_usecase
    text = changed(whole, changes)
    found = [one._asdict() for one in check(read, whole, changes)]
    Path("own.toml").write_text(text, encoding="utf-8")
    for line in (f"{command} own.toml --json", f"{command} own.toml"):
        ended = run_icmodel(line)
        assert ended.code == 2
        head, *lines = ended.err.splitlines()
        assert head == f"icmodel: own.toml has {len(found)} mistakes:"
        assert lines == [f"- line {one['line']}: {one['message']}" for one in found]
        if ended.out:
            error = ended.json["error"]
            assert error["mistakes"] == found
            assert error["where"] == f"line {found[0]['line']}"
    told = problem(server.post(command, {"toml": text}))
    assert (told["status"], told["mistakes"]) == (422, found)
    page = (
        reports.system_page(text)
        if command == "system"
        else reports.usecase_page(text, "ethernet-10g-2012", "", False)
    )
    assert json.loads(page)["mistakes"] == found


def test_a_text_that_is_no_toml_has_one_mistake_at_its_line(run_icmodel: RunIcmodel) -> None:
    Path("own.toml").write_text('schema_version = 1\nname = = "x"\n', encoding="utf-8")
    error = run_icmodel("system own.toml --json").json["error"]
    assert error["where"] == "line 2, column 8"
    assert [one["line"] for one in error["mistakes"]] == [2]
    assert run_icmodel("predict --payload '64 KB' --json").json["error"]["mistakes"] == []


# --- collecting -------------------------------------------------------------------------------


def test_what_follows_from_a_mistake_is_not_told() -> None:
    found = Mistakes("own.toml", document={"links": [{"between": ["a", "b"]}]})
    found.add(Fault("the rate is wrong", ("links", 0, "rate_bps")))
    found.add(
        Fault("too slow", ("streams", 0, "rate_fps"), needs=(("links", "a<->b", "rate_bps"),))
    )
    found.add(Fault("no such name", ("streams", 2, "sink"), cause="x"))
    found.add(Fault("no such name either", ("requirements", 0, "stream"), cause="x"))
    with pytest.raises(IcmodelError) as told:
        found.refuse(IcmodelError)
    assert [one.message for one in told.value.mistakes] == ["the rate is wrong", "no such name"]


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("a", "b"), 3),
        (("list", 0, "rate_bps"), 6),
        (("list", 1, "rate_bps"), 9),
        (("list", 1, "inner", "x"), 11),
        (("list", 1, "inner", "y"), 10),
        (("list", 1, "missing"), 8),
        (("list", 1, "deep", "x"), 13),
        (("nowhere",), None),
        ((), None),
    ],
)
def test_a_value_has_a_line(place: tuple[int | str, ...], line: int | None) -> None:
    toml = (
        'title = """\n[[list]]"""\na.b = 1\n\n'
        '[[list]]\nrate = "1 b/s"\n\n[[list]]\nrate_bps = 1\n[list.inner]\n"x" = 1\n[list.deep]\nx = 2\n'
    )
    assert line_of(toml, place) == line


@given(st.text(max_size=300), st.lists(st.integers(0, 3) | st.text(max_size=8), max_size=4))
@settings(max_examples=times(40), deadline=None)
def test_any_place_has_a_line_of_the_text_or_none(toml: str, place: list[int | str]) -> None:
    line = line_of(toml, tuple(place))
    assert line is None or 1 <= line <= len(toml.splitlines())

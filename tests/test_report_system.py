"""The report of a whole system: what is drawn stands apart and is all there, and numbers are the prediction's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import checkout
import icmodel
from icmodel.errors import ReportError
from icmodel.estimate import percent
from icmodel.report import report_bytes
from icmodel.report.blocks import Page
from icmodel.report.html import html_text
from icmodel.report.markdown import markdown_text
from icmodel.report.system import page
from icmodel.report.system_boxes import (
    MOST_BOXES,
    MOST_MEMBERS,
    Layout,
    Place,
    layout,
    shape,
    summarise,
)
from icmodel.report.system_drawing import arranged, shortened, system_svg, width_px
from icmodel.report.system_tables import parts_rows
from icmodel.report.text import page_text
from icmodel.requirement import Requirement
from icmodel.sheets import document_pages
from icmodel.system import (
    Device,
    StreamRequirement,
    System,
    SystemPrediction,
    load,
    predict,
    system_names,
)
from icmodel.units import format_seconds
from search import times
from small_case import HOSTILE
from system_case import Chain, frozen

SVG = "{http://www.w3.org/2000/svg}"
DOCS = checkout.ROOT / "docs" / "guides"
PREDICTED = ("imaging", "motion-control", "lab-two-switches")


@pytest.fixture(scope="module")
def predicted() -> dict[str, SystemPrediction]:
    return {name: predict(load(name)) for name in PREDICTED}


def chain(hosts: tuple[int, ...], wanted: tuple[StreamRequirement, ...] = ()) -> System:
    """Hosts on a chain of switches, each sending to the last one; by theory alone."""
    made = Chain(hosts, dataset=None)
    last = f"h{sum(hosts) - 1}"
    some = [
        made.stream(f"to-{host}", host, last, 1000.0, payload_bytes=1000)
        for host in made.at
        if host != last
    ]
    return made.system(some, wanted)


# --- shape ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", system_names())
def test_every_node_is_in_one_box_and_every_link_in_one_cable(name: str) -> None:
    system = load(name)
    made = shape(system)
    members = [member for box in made.boxes for member in box.members]
    assert sorted(members) == sorted([*system.devices, *system.switches])
    links = [link.name for cable in made.cables for link in cable.links]
    assert sorted(links) == sorted(system.links)
    for cable in made.cables:
        for link in cable.links:
            assert {made.box_of[end] for end in link.ends} == set(cable.ends)
    assert len(made.boxes) <= MOST_BOXES


def test_large_groups_are_folded_and_small_ones_are_not() -> None:
    boxes = {box.title: len(box.members) for box in shape(load("industrial-line")).boxes}
    assert boxes["500 × sensor"] == 500
    assert boxes["24 × drive"] == 24
    assert boxes["camera-6"] == 1
    assert all(count == 1 or count > MOST_MEMBERS for count in boxes.values())


def ungrouped(system: System) -> System:
    """A system as other tools say it: every node a group of its own."""
    devices = {name: replace(one, group=name) for name, one in system.devices.items()}
    switches = {name: replace(one, group=name) for name, one in system.switches.items()}
    return replace(system, devices=frozen(devices), switches=frozen(switches))


@pytest.mark.parametrize(
    ("hosts", "boxes"),
    [((3, 3), 8), ((30, 30), 4), (tuple([2] * 50), 2)],
    ids=["all", "alike", "kinds"],
)
def test_what_has_no_groups_is_folded_too(hosts: tuple[int, ...], boxes: int) -> None:
    assert len(shape(ungrouped(chain(hosts))).boxes) == boxes


# --- layout -----------------------------------------------------------------------------------


def apart(places: Sequence[Place]) -> bool:
    return all(
        a.right < b.left or b.right < a.left or a.bottom < b.top or b.bottom < a.top
        for a, b in combinations(places, 2)
    )


def fits(made: Layout) -> bool:
    return all(
        one.left >= 0 and one.right <= made.width and one.top >= 0 and one.bottom <= made.height
        for one in made.places
    )


def touches(place: Place, point: tuple[float, float]) -> bool:
    return point[0] in (place.left, place.right) and place.top < point[1] < place.bottom


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 14))
    every = list(combinations(range(count), 2))
    return count, draw(st.lists(st.sampled_from(every), unique=True)) if every else []


@given(graphs())
@settings(max_examples=times(60))
def test_boxes_stand_apart_and_cables_end_at_theirs(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    count, pairs = graph
    made = layout(count, pairs, dict.fromkeys(pairs, 1.0))
    assert len(made.places) == count
    assert apart(made.places)
    assert fits(made)
    for pair, way in zip(pairs, made.routes, strict=True):
        assert way.ends == pair
        assert touches(made.places[pair[0]], way.start)
        assert touches(made.places[pair[1]], way.end)
        columns = sorted({one.left for one in made.places})
        a, b = (columns.index(made.places[box].left) for box in pair)
        assert abs(a - b) <= 1, "a cable that passes a column would cross its boxes"
    points = [point for way in made.routes for point in (way.start, way.end)]
    assert len(set(points)) == len(points), "no two cables end at one point"


@pytest.mark.parametrize("name", system_names())
def test_systems_run_from_left_to_right(name: str) -> None:
    system = load(name)
    made = shape(system)
    placed = arranged(system, made)
    assert apart(placed.places)
    assert fits(placed)
    rightwards = sum(
        min(one.requested_goodput_bps, 1e9)
        * (placed.places[made.box_of[one.sink]].left - placed.places[made.box_of[one.source]].left)
        for one in system.streams.values()
    )
    assert rightwards >= 0


# --- texts ------------------------------------------------------------------------------------


class Words(NamedTuple):
    """A text of a drawing and the rectangle it takes."""

    text: str
    place: Place


def words(svg: str) -> Iterator[Words]:
    """The numbers of the cables and the texts of the boxes, where they are drawn."""
    for element in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        styled = element.get("class", "")
        if not styled.startswith("key"):
            said = "".join(element.itertext())
            size = 15.0 if styled == "name" else 11.0
            width = float(element.get("textLength", width_px(said, size)))
            x, y = float(element.get("x", "nan")), float(element.get("y", "nan"))
            shift = {"number": 0.0}.get(styled, width / 2)
            left = x - (width if element.get("text-anchor") == "end" else shift)
            yield Words(said, Place(left, y - size * 0.8, width, size))


@pytest.mark.parametrize("name", PREDICTED)
def test_texts_stand_apart_and_inside(predicted: dict[str, SystemPrediction], name: str) -> None:
    svg = system_svg(predicted[name])
    found = list(words(svg))
    for a, b in combinations(found, 2):
        assert apart([a.place, b.place]), (a, b)
    width, height = (float(side) for side in svg.split('viewBox="0 0 ')[1].split('"')[0].split())
    assert all(one.place.left >= 0 and one.place.right <= width for one in found)
    assert all(one.place.top >= 0 and one.place.bottom <= height for one in found)
    of = summarise(predicted[name])
    for box, place in zip(of.boxes, arranged(predicted[name].system, of.shape).places, strict=True):
        inside = [one for one in found if not apart([one.place, place])]
        assert all(
            one.place.left >= place.left and one.place.right <= place.right for one in inside
        )
        assert any(one.text[:4] == box.box.title[:4] for one in inside)


@given(st.text(min_size=1, max_size=80), st.floats(60, 200))
def test_shortened_texts_fit(text: str, room: float) -> None:
    assert width_px(shortened(text, 12.5, room), 12.5) <= room


def test_members_of_a_group_are_told_apart_when_shortened() -> None:
    long = [f"a-group-with-a-very-long-name-{number}" for number in range(12)]
    assert len({shortened(name, 12.5, 130) for name in long}) == len(long)


# --- numbers ----------------------------------------------------------------------------------


def test_the_numbers_are_those_of_the_prediction(predicted: dict[str, SystemPrediction]) -> None:
    found = predicted["imaging"]
    of = summarise(found)
    for one in of.cables:
        ports = [port for link in one.cable.links for port in found.links[link.name].ports.values()]
        assert one.port.load_ratio == max(port.load_ratio for port in ports)
        assert percent(one.port.load_ratio) in one.text
    for box in of.boxes:
        if not box.box.switches:
            assert box.cpu is not None
            assert box.cpu.cpu.value == max(
                found.devices[name].cpu.value for name in box.box.members
            )
    by_title = {one.box.title: one for one in of.boxes}
    assert (
        by_title["qfhd-display"].cpu_text
        == f"CPU {percent(found.devices['qfhd-display'].cpu.value)}"
    )
    svg = system_svg(found)
    assert "→ 3 × ≤ 75 %" in svg
    made = html_text(page(found))
    assert svg.count('class="box"') == 16
    assert svg.count('class="link"') == 15, "three of the 17 interfaces are one cable"
    assert made.count('class="box"') == 16 + 6, "folded further on the first page"
    assert found.datasets["ethernet-10g-2012"] in made
    bounds = [one.latency_bound for one in found.streams.values() if one.stream.group == "control"]
    greatest = max(bound.value_s for bound in bounds if bound is not None)
    assert f"{format_seconds(greatest, 3)} (bound)" in made


def test_links_within_a_box_are_told_in_it() -> None:
    found = predict(chain(tuple([1] * 12)))
    svg = system_svg(found)
    [inner] = [one for one in summarise(found).cables if one.cable.inside]
    assert len(inner.cable.links) == 11
    assert f">inside: 11 × ≤ {percent(inner.port.load_ratio)}<" in svg
    assert svg.count('class="link"') == 1
    assert all(apart([a.place, b.place]) for a, b in combinations(words(svg), 2))


def test_marks_count_the_streams_of_a_box(predicted: dict[str, SystemPrediction]) -> None:
    of = summarise(predicted["motion-control"])
    marks = {one.box.title: dict(one.outcomes) for one in of.boxes}
    assert marks["sensor-board-1"] == {"not met": 10}
    assert marks["20 × controller"] == {"not met": 20, "undecided": 50}
    assert marks["actuator-side"] == {}


def test_the_conclusion_names_the_worst(predicted: dict[str, SystemPrediction]) -> None:
    answer = page(predicted["motion-control"]).answer
    assert answer.outcome == "not met"
    assert answer.sentence.startswith("Not met: 2 of 4 requirements are not met; the worst is “")
    assert "at most 3 µs is needed" in answer.sentence
    answer = page(predicted["lab-two-switches"]).answer
    assert answer.outcome == "undecided"
    assert dict(answer.parts)["Streams"] == "1 undecided"


def test_overload_has_a_colour_of_its_own_and_the_number_asked_for() -> None:
    made = Chain((2, 1), dataset=None)
    some = [made.stream(f"s{k}", f"h{k}", "h2", 8e5, "udp", 1000) for k in range(2)]
    found = predict(made.system(some))
    svg = system_svg(found)
    [trunk] = [one for one in summarise(found).cables if one.busiest == "s0->s1"]
    assert trunk.port.asked_ratio > 1.2
    assert percent(trunk.port.asked_ratio) in svg
    assert "over 100 % requested" in svg
    assert 'class="cable load-5"' in svg


def test_the_drawing_of_the_guide_is_that_of_today(predicted: dict[str, SystemPrediction]) -> None:
    kept = (DOCS / "system-imaging.svg").read_text(encoding="utf-8")
    assert kept == system_svg(predicted["imaging"]), "run python tools/system_drawing.py"


# --- files ------------------------------------------------------------------------------------


def test_the_ending_picks_the_form(tmp_path: Path) -> None:
    found = predict(chain((2, 1)))
    for ending in (".html", ".json", ".svg"):
        icmodel.report(found, tmp_path / f"a{ending}")
    assert {path.name for path in tmp_path.iterdir()} == {"a.html", "a.json", "a.svg"}
    icmodel.report(found, tmp_path / "b c.md")
    assert "(b%20c.svg)" in (tmp_path / "b c.md").read_text(encoding="utf-8")
    assert (tmp_path / "b c.svg").read_bytes() == (tmp_path / "a.svg").read_bytes()
    document = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    told = {key: value for key, value in document.items() if key not in ("answer", "reproduce")}
    assert told == json.loads(json.dumps(found.to_dict()))
    with pytest.raises(
        ReportError, match=r"end the name in .html, .md, .pdf, .json, .xlsx, .xml or .svg"
    ):
        icmodel.report(found, tmp_path / "a.txt")


@pytest.mark.parametrize("ending", [".html", ".md", ".json", ".svg"])
def test_the_same_system_gives_the_same_bytes(ending: str) -> None:
    made = [report_bytes(predict(chain((2, 1))), f"a{ending}") for _ in range(2)]
    assert made[0] == made[1]


def test_hostile_names_stay_texts() -> None:
    wanted = Requirement(f"in time {HOSTILE}", "latency_max_s", at_most=1e-3, source=HOSTILE)
    system = chain((2, 1), (StreamRequirement(wanted, "to-h0"),))
    devices = {
        name: Device(name, HOSTILE) if name == "h0" else one for name, one in system.devices.items()
    }
    named = replace(
        system,
        title=HOSTILE,
        name=HOSTILE,
        source=HOSTILE,
        known_limits=(HOSTILE,),
        devices=frozen(devices),
    )
    found = predict(named)
    content = page(found, file="a.html")
    svg, made = system_svg(found), html_text(content)
    assert "<script" not in svg
    assert "<script" not in made
    assert ElementTree.fromstring(svg).get("aria-label", "").startswith(HOSTILE)
    lines = markdown_text(content).replace("\\<", "").splitlines()
    assert [line.split(":")[0] for line in lines if "<script" in line] == ["- command"], "in code"


def test_the_drawing_is_an_image_with_a_name_and_its_numbers_are_tables() -> None:
    found = predict(chain((2, 1)))
    root = ElementTree.fromstring(system_svg(found))
    assert root.get("role") == "img"
    assert "3 devices, 2 switches, 4 links" in root.get("aria-label", "")
    assert all(
        group.find(f"{SVG}title") is not None
        for group in root.iter(f"{SVG}g")
        if group.get("class")
    )
    made = markdown_text(page(found, file="a.html"))
    for port in (one.busiest for one in summarise(found).cables):
        assert f"| {port.replace('>', chr(92) + '>')} |" in made


def stated(*names: str) -> SystemPrediction:
    """Two senders by theory; the devices of these names state their latency and core time."""
    requirement = Requirement("in time", "latency_max_s", at_most=1e-3, kind="hard")
    system = chain((2, 1), (StreamRequirement(requirement, "to-h0"),))
    times_s = {
        "latency_s": (20e-6, 50e-6),
        "core_time_s": (1e-6, 2e-6),
        "source": "data sheet, page 3",
    }
    devices = {
        name: replace(one, cores=1, **times_s) if name in names else one  # type: ignore[arg-type]
        for name, one in system.devices.items()
    }
    return predict(replace(system, devices=frozen(devices)))


@pytest.mark.parametrize("render", [html_text, markdown_text])
def test_the_first_page_has_the_parts_of_a_verdict(render: Callable[[Page], str]) -> None:
    found = stated("h0", "h1", "h2")
    text = " ".join(render(page(found, file="a.html")).split())
    assert "add up to 100 µs: h0 states 20 µs – 50 µs and h2 states 20 µs – 50 µs" in text
    assert "h0 states 1 µs – 2 µs of core time per frame" in text
    assert "Times stated by devices are not measured: h (data sheet, page 3)" in text
    (judged,) = (one for one in found.judged if one.parts)
    assert f"up to {format_seconds(judged.parts['network_s'], 3)}" in text


@pytest.mark.parametrize("render", [html_text, markdown_text, page_text])
def test_the_appendix_has_the_parts_of_each_time(render: Callable[[Page], str]) -> None:
    found = stated("h0", "h1", "h2")
    (judged,) = (one for one in found.judged if one.parts)
    network = format_seconds(judged.parts["network_s"], 3)
    total = format_seconds(sum(judged.parts.values()), 3)
    assert list(parts_rows(found)) == [("in time", "to-h0", network, "100 µs", "0 s", total)]
    text = render(page(found, file="a.html"))
    for part in (network, "100 µs", total, "stated times of devices", "data sheet, page 3"):
        assert part in text
    assert "theory alone" not in text.lower()


def test_a_stated_device_beside_an_unknown_host_has_its_part() -> None:
    found = stated("h0")
    assert [row[3] for row in parts_rows(found)] == ["from 50 µs"]
    made = markdown_text(page(found, file="a.html"))
    assert "h0 states 20 µs – 50 µs; the rest is not known" in made
    assert "Theory alone answers" in made


def test_only_times_that_are_bounded_have_parts() -> None:
    assert list(parts_rows(predict(chain((2, 1))))) == []


def test_a_workbook_has_the_parts_of_each_time() -> None:
    found = stated("h0", "h1", "h2")
    pages = {one.name: one.sheet for one in document_pages(found.to_dict())}
    (judged,) = (one for one in found.judged if one.parts)
    times_us = [part / 1e-6 for part in judged.parts.values()]
    ((where, name, *cells),) = pages["parts"].rows
    assert (where, name) == ("requirements / to-h0", "in time")
    assert cells == pytest.approx(times_us)
    assert "parts" not in {one.name for one in document_pages(predict(chain((2, 1))).to_dict())}
    (unknown,) = {one.name: one for one in document_pages(stated("h0").to_dict())}[
        "parts"
    ].sheet.rows
    assert unknown[3] is None

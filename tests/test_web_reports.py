"""Documents of the pages: blocks as JSON, the line of a mistake, and the path of each stream in the drawing."""

from __future__ import annotations

import json

import pytest

from icmodel.dataset import catalogue
from icmodel.system import find_system, load
from icmodel.usecase import find_usecase
from icmodel.web import reports

IMAGING = find_system("imaging").read_text(encoding="utf-8")


def line_with(toml: str, text: str) -> int:
    return next(at for at, line in enumerate(toml.splitlines(), start=1) if text in line)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('latency = "5.9 us"', 'latency = "5.9 ut"'),
        ('rate = "30 Hz"', 'rate = "30 Hx"'),
        ('sink = "qfhd-display"', 'sink = "nowhere"'),
        ("interfaces = 3", "interfaces = 0"),
        ("interfaces = 3", "interfaces = = 3"),
        ("count = 2", "cuont = 2"),
        ('forwarding = "store-and-forward"', 'forwarding = "quick"'),
    ],
)
def test_a_mistake_is_told_at_its_line(old: str, new: str) -> None:
    wrong = IMAGING.replace(old, new, 1)
    found = json.loads(reports.system_page(wrong))
    (mistake,) = found["mistakes"]
    assert mistake["message"] in found["error"]
    assert mistake["line"] == line_with(wrong, new)


def test_files_outside_the_catalogue_are_refused() -> None:
    for toml in (
        IMAGING.replace('dataset = "ethernet-10g-2012"', 'dataset = "/etc"', 1),
        IMAGING.replace('usecase = "imaging"', 'usecase = "../../secret.toml"'),
    ):
        assert json.loads(reports.system_page(toml))["error"]


def test_streams_are_drawn_along_their_path() -> None:
    found = json.loads(reports.system_page(IMAGING))
    system = load("imaging")
    boxes, links = found["svg"].count('class="box"'), found["svg"].count('class="link"')
    assert "<style" not in found["svg"]  # the policy of the pages allows none
    assert len(found["streams"]) == len(system.streams)
    for one in found["streams"]:
        stream = system.streams[one["name"]]
        assert len(one["cables"]) == len(stream.path)
        assert set(one["cables"]) < set(range(links))
        assert set(one["boxes"]) < set(range(boxes))
    assert found["outcome"] == "not met"


def test_a_use_case_has_its_verdict_and_candidates() -> None:
    text = find_usecase("imaging").read_text(encoding="utf-8")
    found = json.loads(
        reports.usecase_page(text, "ethernet-10g-2012", "tcp-two-sets-of-cores", False)
    )
    assert (found["outcome"], found["candidate"]) == ("met", "tcp-two-sets-of-cores")
    assert found["candidate"] in found["candidates"]
    kinds = {block["kind"] for section in found["sections"] for block in section["blocks"]}
    assert {"table", "heading", "items", "fold"} <= kinds
    unknown = json.loads(reports.usecase_page(text, "ethernet-10g-2012", "no such", True))
    assert unknown["candidate"] == "original"


def test_a_mistake_of_a_compared_use_case_is_told_at_its_line() -> None:
    text = find_usecase("cameras").read_text(encoding="utf-8")
    wrong = text.replace("default_candidate", "default_candidat", 1)
    (mistake,) = json.loads(reports.compare_page(None, wrong))["mistakes"]
    assert mistake["line"] == line_with(wrong, "default_candidat ")
    assert "there is no use case" in json.loads(reports.compare_page("x", None))["error"]


def test_every_dataset_has_a_page() -> None:
    for name in catalogue():
        found = json.loads(reports.dataset_page(name))
        assert [one["anchor"] for one in found["sections"]][:2] == ["metrics", "coverage"]


def test_a_validation_lists_errors_and_worst_points() -> None:
    found = json.loads(reports.validation_page("zeromq-1g-2010", "corrected"))
    errors, worst = (one["blocks"][0] for one in found["sections"][:2])
    assert errors["columns"][-1] == "inside its interval"
    assert worst["rows"]

"""JUnit XML: a test case for each requirement, green only if it is met, and always well-formed."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from icmodel.report import report
from icmodel.report.junit import junit_text
from icmodel.requirement import MET
from icmodel.system import load, predict
from icmodel.system.files import read_system
from icmodel.usecase import evaluate
from small_case import HOSTILE, small_evaluation


def failures(text: str) -> dict[str, str]:
    """Name of each test case -> type of its failure, or met."""
    suite = ElementTree.fromstring(text).find("testsuite")
    assert suite is not None
    found = {}
    for case in suite.findall("testcase"):
        failure = case.find("failure")
        found[case.attrib["name"]] = MET if failure is None else failure.attrib["type"]
    assert int(suite.attrib["tests"]) == len(found)
    assert int(suite.attrib["failures"]) == sum(kind != MET for kind in found.values())
    assert suite.attrib["skipped"] == "0"
    return found


def test_every_requirement_of_the_chosen_candidate_is_a_test_case() -> None:
    evaluation = evaluate("imaging", "ethernet-10g-2012")
    findings = evaluation.chosen.findings
    assert failures(junit_text(evaluation)) == {one.title: one.outcome for one in findings}
    assert {one.outcome for one in findings} == {"met", "not met", "undecided"}


def test_every_requirement_of_a_stream_or_device_is_a_test_case() -> None:
    prediction = predict(load("imaging"))
    expected = {
        f"{one.verdict.requirement.name}, {one.device or one.stream}": one.verdict.outcome
        for one in prediction.judged
    }
    assert failures(junit_text(prediction)) == expected


def test_a_failure_says_why(tmp_path: Path) -> None:
    text = junit_text(evaluate("imaging", "ethernet-10g-2012"))
    assert "3.512676 Gb/s (exact, derived), at least 3.538944 Gb/s" in text


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    names = failures(junit_text(small_evaluation(tmp_path)))
    assert f"it arrives {HOSTILE}" in names


def test_control_characters_do_not_break_the_file() -> None:
    system, _ = read_system(
        (Path(__file__).parent.parent / "usecases/systems/lab-switch.toml").read_text(
            encoding="utf-8"
        )
        + '\n[[requirements]]\nname = "in\\u0001time\\uFFFE"\nstream = "measured"\n'
        'metric = "latency_mean_s"\nat_most = "1 s"\n'
    )
    assert any("in\ufffdtime\ufffd" in name for name in failures(junit_text(predict(system))))


@pytest.mark.parametrize("name", ["a.xml", "b.XML"])
def test_the_extension_selects_junit_and_the_bytes_are_the_same(tmp_path: Path, name: str) -> None:
    prediction = predict(load("lab-switch"))
    report(prediction, tmp_path / name)
    assert (tmp_path / name).read_bytes() == junit_text(prediction).encode("utf-8")

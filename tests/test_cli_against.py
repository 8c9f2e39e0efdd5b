"""``--against`` and ``--update`` of ``evaluate`` and ``system``: what is told, and the exit codes."""

from __future__ import annotations

import copy
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_case import RunIcmodel
from icmodel.cli.against import KINDS, MOST_LINES, OF_VERDICTS, changes_since, read_result
from icmodel.errors import ReportError
from icmodel.schemas import output_schema
from icmodel.system import load, predict
from icmodel.usecase import evaluate
from search import times

LINES = ("evaluate imaging", "system imaging")


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("written", ["--json", "-o"])
def test_the_same_result_ends_with_0_whatever_its_verdict(
    run_icmodel: RunIcmodel, line: str, written: str
) -> None:
    if written == "-o":
        assert run_icmodel(f"{line} -o old.json").code == 1
    else:
        Path("old.json").write_text(run_icmodel(f"{line} --json").out, encoding="utf-8")
    ended = run_icmodel(f"{line} --against old.json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "imaging: not met (as before); the same verdicts, 0 changes\n"


def earlier(run_icmodel: RunIcmodel, line: str) -> Path:
    """A result in which the verdict was another one."""
    document = run_icmodel(f"{line} --json").json
    document["verdict"] = "met"
    file = Path("old.json")
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


@pytest.mark.parametrize("line", LINES)
def test_a_changed_verdict_ends_with_1_until_the_file_is_updated(
    run_icmodel: RunIcmodel, line: str
) -> None:
    file = earlier(run_icmodel, line)
    before = file.read_bytes()
    ended = run_icmodel(f"{line} --against old.json")
    assert ended.code == 1
    assert "imaging is not met, was met" in ended.out
    assert file.read_bytes() == before
    assert run_icmodel(f"{line} --against old.json --update").code == 1
    assert json.loads(file.read_bytes()) == run_icmodel(f"{line} --json").json
    assert run_icmodel(f"{line} --against old.json").code == 0


@pytest.mark.parametrize("line", LINES)
def test_the_json_of_changes_fits_its_schema(run_icmodel: RunIcmodel, line: str) -> None:
    earlier(run_icmodel, line)
    document = run_icmodel(f"{line} --against old.json --json").json
    assert document["verdict_changed"] is True
    jsonschema.Draft202012Validator(output_schema("evaluate --against")).validate(document)


def test_a_report_is_written_beside_the_changes(run_icmodel: RunIcmodel) -> None:
    earlier(run_icmodel, "evaluate imaging")
    ended = run_icmodel("evaluate imaging --against old.json -o results.xml")
    assert ended.code == 1
    assert Path("results.xml").is_file()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "run the earlier command again with -o old.json"),
        ("{}", "schema_version"),
        ('{"schema_version": 1}', "is not a complete result"),
        ("no JSON", "is not valid JSON"),
    ],
)
def test_a_damaged_file_ends_with_2_and_nothing_is_written(
    run_icmodel: RunIcmodel, content: str | None, says: str
) -> None:
    if content is not None:
        Path("old.json").write_text(content, encoding="utf-8")
    ended = run_icmodel("evaluate imaging --against old.json --update -o report.html")
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
    assert len(ended.err.splitlines()) == 1
    assert not Path("report.html").exists()
    if content is None:
        assert not Path("old.json").exists()
    else:
        assert Path("old.json").read_text(encoding="utf-8") == content


def test_update_needs_against(run_icmodel: RunIcmodel) -> None:
    ended = run_icmodel("system imaging --update")
    assert (ended.code, ended.err) == (
        2,
        "icmodel: --update needs --against: add --against FILE, or remove --update\n",
    )


# --- changes between two results: each kind is found, nothing else is, and damaged results are refused ---


@cache
def text(command: str) -> str:
    """The JSON document of a command about imaging."""
    if command == "system":
        return json.dumps(predict(load("imaging")).to_dict())
    return json.dumps(evaluate("imaging", "ethernet-10g-2012").to_dict())


def result(command: str = "evaluate") -> Any:
    """A fresh copy of the document, which a test may change."""
    return json.loads(text(command))


def kinds(old: Any, new: Any) -> list[str]:
    return [change.kind for change in changes_since(old, new).changes]


@pytest.mark.parametrize("command", ["evaluate", "system"])
def test_a_result_has_no_changes_against_itself(command: str) -> None:
    found = changes_since(result(command), result(command))
    assert found.changes == ()
    assert found.exit_code == 0
    assert "the same verdicts, 0 changes" in found.lines()[0]


def test_another_outcome_is_a_change_of_a_verdict() -> None:
    old = result()
    old["candidates"][0]["findings"][0]["outcome"] = "met"
    found = changes_since(old, result())
    assert [change.kind for change in found.changes] == ["verdict"]
    assert (found.changes[0].old, found.changes[0].new) == ("met", "not met")
    assert found.exit_code == 1
    assert "every picture stream arrives whole" in found.lines()[1]


def test_another_verdict_of_the_whole_is_told_first() -> None:
    old = result("system")
    old["verdict"] = "met"
    found = changes_since(old, result("system"))
    assert found.lines()[0].startswith("imaging: not met (was met); a verdict changed")
    assert found.lines()[1] == "- imaging is not met, was met"
    assert found.exit_code == 1


@pytest.mark.parametrize("command", ["evaluate", "system"])
def test_a_requirement_that_comes_or_goes_changes_the_verdicts(command: str) -> None:
    less = result(command)
    some = less["requirements"] if command == "system" else less["candidates"][0]["findings"]
    del some[0]
    assert kinds(less, result(command)) == ["added"]
    assert kinds(result(command), less) == ["removed"]
    assert changes_since(less, result(command)).exit_code == 1


def test_a_changed_limit_hash_and_option_are_told_and_change_no_verdict() -> None:
    old = result()
    old["candidates"][0]["findings"][1]["requirement"]["at_most"] = 0.018
    old["dataset"]["sha256"] = "0" * 64
    old["variant"] = "hybrid"
    found = changes_since(old, result())
    assert [change.kind for change in found.changes] == ["limit", "question", "dataset"]
    assert "the limit is ≤ 17 ms, was ≤ 18 ms" in found.changes[0].text
    assert found.exit_code == 0


def test_another_dataset_is_one_gone_and_one_new() -> None:
    old = result()
    old["dataset"]["id"] = "mine"
    assert kinds(old, result()) == ["dataset", "dataset"]


@given(
    factor=st.floats(0.5, 2),
    below=st.floats(0.0, 0.4),
    above=st.floats(0.0, 0.4),
    known=st.booleans(),
)
@settings(max_examples=times(60), deadline=None)
def test_a_number_changed_if_it_left_the_earlier_interval(
    factor: float, below: float, above: float, known: bool
) -> None:
    new, old = result("system"), result("system")
    now = new["streams"]["control-1"]["latency_mean_s"]["value"]
    value = now * factor if known else None
    low, high = (now * factor * (1 - below), now * factor * (1 + above)) if known else (None, None)
    old["streams"]["control-1"]["latency_mean_s"] |= {"value": value, "low": low, "high": high}
    left = not known or not (
        low is not None and high is not None and low * (1 - 1e-9) <= now <= high * (1 + 1e-9)
    )
    assert kinds(old, new) == (["value"] if left else [])


def test_a_bound_without_a_value_changed_if_the_intervals_are_apart() -> None:
    new, old = result("system"), result("system")
    new["streams"]["control-1"]["latency_std_s"] |= {"value": None, "low": 2.0, "high": 3.0}
    old["streams"]["control-1"]["latency_std_s"] |= {"value": None, "low": 0.0, "high": 2.5}
    assert kinds(old, new) == []
    old["streams"]["control-1"]["latency_std_s"]["high"] = 1.0
    assert kinds(old, new) == ["value"]


def test_the_worst_case_bound_is_compared() -> None:
    old = result("system")
    old["streams"]["control-1"]["latency_bound_s"]["value"] *= 2
    found = changes_since(old, result("system"))
    assert found.changes[0].text.startswith("worst-case latency bound, control-1: 2.575 ms, was ")


def test_equal_changes_are_one_line_and_the_list_is_short() -> None:
    old = result("system")
    for one in old["requirements"]:
        one["outcome"] = "undecided"
    for stream in old["streams"].values():
        for metric in stream.values():
            if isinstance(metric, dict) and metric.get("value"):
                metric.update(dict.fromkeys(("value", "low", "high"), 7 * metric["value"]))
    found = changes_since(old, result("system"))
    assert len(found.changes) > 60
    assert len(found.lines()) <= MOST_LINES + 2
    assert any(line.endswith("(and 5 more alike)") for line in found.lines())
    order = [KINDS.index(change.kind) for change in found.changes]
    assert order == sorted(order)


def test_the_json_form_has_all_changes() -> None:
    old = result()
    old["verdict"] = "met"
    document = changes_since(old, result()).to_dict()
    assert document["verdict"] == {"old": "met", "new": "not met"}
    assert document["verdict_changed"] is True
    assert [one["kind"] for one in document["changes"]] == ["verdict"]  # type: ignore[attr-defined]


def test_a_result_of_another_question_is_refused() -> None:
    other = result()
    other["usecase"]["name"] = "cameras"
    with pytest.raises(ReportError, match="result of icmodel evaluate cameras, not of icmodel"):
        changes_since(other, result(), "old.json")
    with pytest.raises(ReportError, match=r"old\.json is a result of icmodel system imaging"):
        changes_since(result("system"), result(), "old.json")


@pytest.mark.parametrize("version", [2, None, "1"])
def test_another_schema_version_is_refused(version: object) -> None:
    with pytest.raises(ReportError, match="schema_version"):
        changes_since({**result(), "schema_version": version}, result())


def parts(document: Any, path: tuple[Any, ...] = ()) -> Any:
    """The place of every value in a document."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from parts(value, (*path, key))


@cache
def places(command: str) -> list[tuple[Any, ...]]:
    return list(parts(result(command)))


@given(
    command=st.sampled_from(["evaluate", "system"]),
    draw=st.data(),
    damage=st.sampled_from(["gone", None, "text", -1, 10**400, math.inf, [], {}, [[]], True]),
)
@settings(max_examples=times(200), deadline=None)
def test_a_damaged_result_is_compared_or_refused_in_a_sentence(
    command: str, draw: st.DataObject, damage: object
) -> None:
    path = draw.draw(st.sampled_from(places(command)))
    old = result(command)
    table = old
    for key in path[:-1]:
        table = table[key]
    if damage == "gone":
        del table[path[-1]]
    else:
        table[path[-1]] = damage
    found, refusal = None, "earlier result"
    try:
        found = changes_since(old, result(command))
    except ReportError as error:
        refusal = str(error)
    assert "earlier result" in refusal
    assert "\n" not in refusal
    if found is not None:
        assert {change.kind for change in found.changes} <= set(KINDS)
        json.dumps(found.to_dict(), allow_nan=False)
        assert found.exit_code == any(one.kind in OF_VERDICTS for one in found.changes)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not valid JSON: .*; run the earlier command again with -o"),
        ("", "is not valid JSON: it is empty; run the earlier command again with -o"),
        ("[1]", "is not a JSON object"),
    ],
)
def test_a_file_that_is_no_result_is_refused(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "old.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ReportError, match=says):
        read_result(file)


def test_a_missing_file_says_how_to_write_the_first_one(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="run the earlier command again with -o"):
        read_result(tmp_path / "old.json")


def test_the_documents_are_not_changed() -> None:
    old, new = result(), result()
    before = copy.deepcopy((old, new))
    changes_since(old, new)
    assert (old, new) == before

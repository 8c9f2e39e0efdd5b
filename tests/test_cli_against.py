"""``--against`` and ``--update`` of ``evaluate`` and ``system``: what is told, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from cli_case import RunIcmodel
from icmodel.schemas.commands import output_schema

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
        (None, "write the first result with -o old.json"),
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

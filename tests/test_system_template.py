"""The template of a system: it loads, predicts and teaches; each commented-out line is valid, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli_case import RunIcmodel
from icmodel.documents import toml
from icmodel.errors import NetworkError
from icmodel.recommend import recommend
from icmodel.requirement import MET
from icmodel.system import new_system_text, predict, read_system
from icmodel.system.document import Devices, Links, Streams, Switches, SystemDocument

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

"""Real outputs and damaged ones: every right one is read as a person reads it, every damaged one refused.

`right.toml` names each right file with its source and the numbers a person reads in it, `damaged.toml`
each damage done to one of them, and what must be said of it.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from icmodel.cli import main
from icmodel.errors import RecordError
from icmodel.ingest import Labels, ingest, read_labels
from ingest_cases import CASES, OPTIONS_OF_TOOLS, numbers

Entry = Mapping[str, Any]
RIGHT: Mapping[str, Entry] = tomllib.loads((CASES / "right.toml").read_text(encoding="utf-8"))
DAMAGED: list[Entry] = tomllib.loads((CASES / "damaged.toml").read_text(encoding="utf-8"))["damage"]
TOOLS = {
    "imb",
    "iperf2",
    "iperf3",
    "libzmq",
    "netperf",
    "ntttcp",
    "nuttcp",
    "osu",
    "perftest",
    "qperf",
    "sockperf",
}
"""Tools with real outputs here; of zperfmq none was available, and a table has no tool."""


def tool(name: str) -> str:
    return name.partition("/")[0]


def labels(entry: Entry) -> Labels:
    """Labels that a person gives for a file that does not state them."""
    return read_labels(entry.get("labels", {}), "right.toml")


def test_there_are_sixty_right_and_forty_damaged_over_all_tools() -> None:
    assert len(RIGHT) >= 60
    assert len(DAMAGED) >= 40
    assert {tool(name) for name in RIGHT} == TOOLS
    assert {tool(damage["file"]) for damage in DAMAGED} == TOOLS
    assert min(Counter(map(tool, RIGHT)).values()) >= 3


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_a_right_file_is_read_as_a_person_reads_it_without_a_remark(name: str) -> None:
    entry = RIGHT[name]
    got = ingest([CASES / name], labels=labels(entry))
    assert got.refused == ()
    assert got.remarks == ()
    for row in entry["rows"]:
        at, said = row.get("at", {}), {key: value for key, value in row.items() if key != "at"}
        options = {"options": tuple(at["options"])} if "options" in at else {}
        found = numbers(got, **{**at, **options})
        assert {metric: found.get(metric) for metric in said} == pytest.approx(said, rel=1e-6)


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_right_files_of_one_tool_give_no_remarks(name: str) -> None:
    files = [file for file in RIGHT if tool(file) == name]
    said = {Path(file).name: labels(RIGHT[file]) for file in files}
    got = ingest([CASES / file for file in files], name, by_file=said)
    assert got.remarks == ()


def damaged(damage: Entry, folder: Path) -> Path:
    """Path of the damaged file, written into a folder."""
    source = CASES / str(damage["file"])
    text = source.read_text(encoding="utf-8")
    if "replace" in damage:
        old, new = damage["replace"]
        assert old in text, "the damage finds nothing to damage"
        text = text.replace(old, new, damage.get("times", 1))
    if "cut_at" in damage:
        before, found, _ = text.partition(damage["cut_at"])
        assert found, "the damage finds nowhere to cut"
        text = before
    if "glued_with" in damage:
        text += (CASES / str(damage["glued_with"])).read_text(encoding="utf-8")
    assert text != source.read_text(encoding="utf-8")
    file = folder / source.name
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "damage", DAMAGED, ids=[f"{damage['file']}: {damage['what']}" for damage in DAMAGED]
)
def test_a_damaged_file_is_refused_by_name(
    damage: Entry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = damaged(damage, tmp_path)
    said = labels(RIGHT[damage["file"]])
    with pytest.raises(RecordError) as caught:
        ingest([file], labels=said)
    message = str(caught.value)
    assert message.startswith(f"{file.name}: ")
    assert damage["why"] in message
    assert "\n" not in message
    assert set(re.findall(r"--[\w-]+", message)) <= OPTIONS_OF_TOOLS
    assert main(["ingest", str(file), "-o", str(tmp_path / "made")]) == 2
    assert not (tmp_path / "made").exists()
    assert file.name in capsys.readouterr().err

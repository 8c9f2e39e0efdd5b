"""One error lists all mistakes of a file, with places and their number."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_case import RunIcmodel
from icmodel.dataset import load
from icmodel.dataset.check import check_dataset
from icmodel.documents import toml, toml_text
from icmodel.errors import DatasetError, NetworkError, UseCaseError
from icmodel.system import find_system, read_system
from icmodel.usecase import new_usecase_text
from icmodel.usecase.files import read_usecase
from search import times

BAD_SYSTEM = """
schema_version = 1
name = "Bad Name"
title = "x"

[[devices]]
name = "a"
cores = "4"
latencie = "3 us"
app_send = "5 B"

[[devices]]
name = "b"
latency = "50 us .. 20 us"

[[links]]
between = ["a"]
rate = "1 GB"

[[streams]]
name = "f"
source = "a"
sink = "b"
protocol = "udp"
produces = { kind = "burst", period = "1 ms" }
priority = 9
"""


def lines_of(error: Exception) -> list[str]:
    """Mistakes listed in a message, whose first line has their number."""
    head, *lines = str(error).splitlines()
    if not lines:
        return [head.partition(": ")[2]]
    assert head.endswith(f" has {len(lines)} mistakes:")
    assert all(line.startswith("- ") for line in lines)
    return [re.sub(r"^- (line \d+: )?", "", line) for line in lines]


def test_every_mistake_of_a_system_is_told_with_its_place() -> None:
    with pytest.raises(NetworkError) as told:
        read_system(BAD_SYSTEM, "bad.toml")
    assert str(told.value).startswith("bad.toml has 10 mistakes:\n")
    places = [line.split(" is ")[0].split(": ")[0] for line in lines_of(told.value)]
    assert places == [
        "name",
        "devices no. 1, cores",
        "devices no. 1",
        "devices no. 1",
        "devices no. 2",
        "links no. 1, between",
        "links no. 1",
        "streams no. 1, produces has no size",
        "streams no. 1, priority",
        "the file has no source",
    ]
    assert "'latencie' is unknown" in str(told.value)
    assert "'5 B' has the unknown unit 'B'" in str(told.value)


def test_every_unknown_name_of_a_use_case_is_told() -> None:
    text = new_usecase_text("mine").replace('default_candidate = "tcp"', 'default_candidate = "t"')
    text = text.replace("receives = { video = 1 }", "receives = { vidio = 1 }")
    text = text.replace('device = "display" ', 'device = "displya" ')
    with pytest.raises(UseCaseError) as told:
        read_usecase(text, "mine.toml")
    assert lines_of(told.value) == [
        "default_candidate is 't', which does not exist: name one of tcp, udp",
        "a stream of the device display is 'vidio', which does not exist: name one of video",
        "the device of the requirement 'the display can take it' is 'displya', which does not exist: "
        "name one of camera, display",
    ]


def test_a_misspelt_key_is_one_mistake() -> None:
    text = new_usecase_text("mine").replace("title = ", "titel = ")
    with pytest.raises(UseCaseError) as told:
        read_usecase(text)
    (line,) = lines_of(told.value)
    assert line.startswith("the key 'titel' is unknown")


def test_one_mistake_is_one_sentence_as_before() -> None:
    text = new_usecase_text("mine").replace('kind = "firm"', 'kind = "firmly"')
    with pytest.raises(UseCaseError) as told:
        read_usecase(text, "mine.toml")
    assert str(told.value) == (
        "mine.toml, line 59: requirements no. 1, kind is 'firmly': it must be 'hard', 'firm' or 'soft'"
    )


def test_a_list_whose_items_are_wrong_is_not_called_short() -> None:
    text = new_usecase_text("mine").replace('rate = "50 Hz"', 'rate = "50 b"')
    with pytest.raises(UseCaseError) as told:
        read_usecase(text)
    assert len(lines_of(told.value)) == 1
    with pytest.raises(UseCaseError, match=r"streams is .*: it must have at least 1"):
        read_usecase(toml_text(toml(text) | {"streams": []}))


def test_every_mistake_of_a_dataset_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "ethernet-1g-2010"
    shutil.copytree(load("ethernet-1g-2010").folder, folder)
    file = folder / "dataset.toml"
    text = file.read_text(encoding="utf-8").replace('edition = "1"', "")
    file.write_text(f'license = "x"\n{text}'.replace("title = ", "title = 3 #"), encoding="utf-8")
    with pytest.raises(DatasetError) as told:
        check_dataset(folder)
    assert lines_of(told.value) == [
        "the key license is unknown: correct or remove it",
        "title is 3: input should be a valid string",
        "edition is missing: add it as data/README.md shows",
    ]


def test_every_contradiction_of_a_system_is_told(run_icmodel: RunIcmodel) -> None:
    lonely = '[[devices]]\nname = "lonely"\n\n[[devices]]\nname = "alone"\n\n[[links]]'
    text = find_system("lab-switch").read_text(encoding="utf-8").replace("[[links]]", lonely, 1)
    Path("own.toml").write_text(text, encoding="utf-8")
    ended = run_icmodel("system own.toml")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("icmodel: own.toml has 2 mistakes:\n- ")
    assert "lonely" in ended.err
    assert "alone" in ended.err


@pytest.mark.parametrize(
    ("command", "text"),
    [("system", BAD_SYSTEM), ("evaluate", 'schema_version = 1\nname = "x"\ntitle = 3\n')],
)
def test_a_file_with_mistakes_ends_with_2(run_icmodel: RunIcmodel, command: str, text: str) -> None:
    Path("own.toml").write_text(text, encoding="utf-8")
    ended = run_icmodel(f"{command} own.toml")
    assert (ended.code, ended.out) == (2, "")
    head, *lines = ended.err.splitlines()
    assert head == f"icmodel: own.toml has {len(lines)} mistakes:"
    assert all(line.startswith("- ") for line in lines)


WRONG: tuple[tuple[str, object], ...] = (
    ("kind", "no-such-kind"),
    ("no_such_key", 1),
    ("name", ""),
    ("name", 7),
)
PARTS = ("streams", "requirements", "candidates", "devices")


@given(
    broken=st.dictionaries(st.sampled_from(PARTS), st.sampled_from(WRONG), min_size=1),
    tables=st.data(),
)
@settings(max_examples=times(40), deadline=None)
def test_each_damaged_table_is_named(
    broken: dict[str, tuple[str, object]], tables: st.DataObject
) -> None:
    """An unknown key is reported together with wrong values of the same table."""
    document: dict[str, Any] = toml(new_usecase_text("mine"))
    named = []
    for part, (key, value) in broken.items():
        number = tables.draw(st.integers(0, len(document[part]) - 1))
        document[part][number][key] = value
        document[part][number]["superfluous"] = 1
        named.append(f"{part} no. {number + 1}")
    with pytest.raises(UseCaseError) as told:
        read_usecase(toml_text(document))
    lines = lines_of(told.value)
    for place in named:
        assert any(line.startswith(place) for line in lines)
    assert len(set(lines)) == len(lines)

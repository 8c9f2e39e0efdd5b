"""The pages of docs/reference that are made from the program are what the program makes now."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import build_docs_reference as reference
import checkout
import icmodel
from icmodel.dataset import catalogue
from icmodel.dataset_check import dataset_schema
from icmodel.usecase import usecase_names, usecase_schema

REFERENCE = checkout.ROOT / "docs" / "reference"
MADE = (
    "api.md",
    "cli.md",
    "dataset-format.md",
    "dataset.schema.json",
    "datasets.md",
    "probe.md",
    "usecase-format.md",
    "usecase.schema.json",
)


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return reference.pages()


def test_these_are_the_made_pages(pages: dict[str, str]) -> None:
    assert sorted(pages) == sorted(MADE)


@pytest.mark.parametrize("name", MADE)
def test_a_made_page_is_current(name: str, pages: dict[str, str]) -> None:
    committed = (REFERENCE / name).read_text(encoding="utf-8")
    assert committed == pages[name], "run: python tools/build_docs_reference.py"


def test_every_public_name_is_on_the_python_page(pages: dict[str, str]) -> None:
    for name in icmodel.__all__:
        if not name.startswith("_"):
            assert re.search(rf"(?m)^### {name}$|^\| `{name}` \|", pages["api.md"]), name


def test_every_command_is_on_the_command_line_page(pages: dict[str, str]) -> None:
    from icmodel.cli import COMMANDS

    for name in COMMANDS:
        assert f"## icmodel {name}\n" in pages["cli.md"]
    assert "## icmodel datasets check\n" in pages["cli.md"]
    assert "`--other-goodput`" in pages["cli.md"]


def test_every_dataset_is_on_its_page_with_all_its_rows(pages: dict[str, str]) -> None:
    for name in catalogue():
        data = icmodel.load(name)
        _, _, rest = pages["datasets.md"].partition(f"\n## {name}\n")
        section = rest.partition("\n## ")[0]
        counted = re.findall(r"(?m)^\| [a-z0-9-]+ \| `[a-z0-9_]+` \|.*\| (\d+) \|$", section)
        assert sum(int(count) for count in counted) == len(data.points), name
        assert data.citation in section


def test_the_schemas_are_those_the_program_publishes(pages: dict[str, str]) -> None:
    assert json.loads(pages["usecase.schema.json"]) == usecase_schema()
    assert json.loads(pages["dataset.schema.json"]) == dataset_schema()


def test_every_key_of_the_bundled_datasets_is_explained(pages: dict[str, str]) -> None:
    page = pages["dataset-format.md"]
    for name in catalogue():
        text = (checkout.ROOT / "data" / name / "dataset.toml").read_text(encoding="utf-8")
        for key in set(re.findall(r"(?m)^([a-z_]+) =", text)):
            assert f"`{key}`" in page, key


def test_every_key_of_the_bundled_use_cases_is_explained(pages: dict[str, str]) -> None:
    page = pages["usecase-format.md"]
    for name in usecase_names():
        text = (checkout.ROOT / "usecases" / f"{name}.toml").read_text(encoding="utf-8")
        for key in set(re.findall(r"(?m)^([a-z_]+) =", text)):
            assert f"`{key}`" in page, key


PROBE = checkout.ROOT / "calibration"


def test_the_probe_s_commands_are_those_of_the_binary(probe: Path) -> None:
    """The page takes them from there too; here nothing may be missing."""
    page = (REFERENCE / "probe.md").read_text(encoding="utf-8")
    made = reference.probe_commands(probe)
    assert reference.with_part(page, "commands", made) == page
    for command in ("key", "serve", "run", "campaign", "lab exec", "environment", "schema"):
        assert f"### icprobe {command}\n" in made
    assert max(map(len, made.splitlines())) <= 100


def test_every_key_of_a_record_is_on_the_page_of_the_probe(pages: dict[str, str]) -> None:
    schema = json.loads((PROBE / "record.schema.json").read_text(encoding="utf-8"))
    for part in (schema, *schema["$defs"].values()):
        for key in part.get("properties", {}):
            ends = set(part["properties"]) == {"send", "recv"}
            assert ends or f"\n| `{key}` |" in pages["probe.md"], key


def test_every_key_of_a_point_is_on_the_page_of_the_probe(pages: dict[str, str]) -> None:
    source = (PROBE / "src" / "record" / "point.rs").read_text(encoding="utf-8")
    reserved = re.search(r"RESERVED: &\[&str\] = &\[(.*?)\];", source, re.S)
    assert reserved
    keys = re.findall(r'"(\w+)"', reserved[1])
    assert len(keys) > 20
    _, _, section = pages["probe.md"].partition("\n### `point`\n")
    table = section.partition("\n#")[0]
    assert [key for key in keys if f"`{key}`" not in table] == []


def test_every_plan_and_topology_is_on_the_page_of_the_probe(pages: dict[str, str]) -> None:
    for folder in ("plans", "topologies"):
        names = [path.stem for path in (PROBE / folder).glob("*.toml")]
        assert names
        assert [name for name in names if f"\n| `{name}` |" not in pages["probe.md"]] == []


def test_a_part_without_its_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="marks of the part 'keys'"):
        reference.with_part("no marks here", "keys", "text")


def test_a_part_is_renewed_and_the_rest_is_kept() -> None:
    text = "a\n<!-- made: keys begin -->old<!-- made: keys end -->\nz\n"
    once = reference.with_part(text, "keys", "new\n")
    assert "old" not in once
    assert once.startswith("a\n")
    assert once.endswith("\nz\n")
    assert reference.with_part(once, "keys", "new\n") == once

"""The page of icprobe has every command, key, flag, plan and topology that icprobe has."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from docs_reference.markdown import with_part
from docs_reference.places import PROBE, REFERENCE
from docs_reference.probe import probe_commands, probe_page

PAGE = (REFERENCE / "probe.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page() -> str:
    return probe_page(PAGE)


def test_the_probe_s_commands_are_those_of_the_binary(probe: Path) -> None:
    """The page takes them from there too; here nothing may be missing."""
    made = probe_commands(probe)
    assert with_part(PAGE, "commands", made) == PAGE
    for command in ("key", "serve", "run", "campaign", "lab exec", "environment", "schema"):
        assert f"### icprobe {command}\n" in made
    assert max(map(len, made.splitlines())) <= 100


def test_every_key_of_a_record_is_on_the_page_of_the_probe(page: str) -> None:
    schema = json.loads((PROBE / "record.schema.json").read_text(encoding="utf-8"))
    for part in (schema, *schema["$defs"].values()):
        for key in part.get("properties", {}):
            ends = set(part["properties"]) == {"send", "recv"}
            assert ends or f"\n| `{key}` |" in page, key


def test_every_key_of_a_point_is_on_the_page_of_the_probe(page: str) -> None:
    source = (PROBE / "src" / "record" / "point.rs").read_text(encoding="utf-8")
    reserved = re.search(r"RESERVED: &\[&str\] = &\[(.*?)\];", source, re.S)
    assert reserved
    keys = re.findall(r'"(\w+)"', reserved[1])
    assert len(keys) > 20
    _, _, section = page.partition("\n### `point`\n")
    table = section.partition("\n#")[0]
    assert [key for key in keys if f"`{key}`" not in table] == []


def test_every_plan_and_topology_is_on_the_page_of_the_probe(page: str) -> None:
    for folder in ("plans", "topologies"):
        names = [path.stem for path in (PROBE / folder).glob("*.toml")]
        assert names
        assert [name for name in names if f"\n| `{name}` |" not in page] == []

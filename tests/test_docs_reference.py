"""The pages of docs/reference that are made from the program are what the program makes now."""

from __future__ import annotations

import json
import re

import pytest

import build_docs_reference as reference
import checkout
import icmodel
from icmodel.dataset import catalogue, load
from icmodel.dataset.check import dataset_schema
from icmodel.system import find_system, system_names, system_schema
from icmodel.usecase import usecase_names, usecase_schema

REFERENCE = checkout.ROOT / "docs" / "reference"
MADE = (
    "api.md",
    "cli.md",
    "dataset-format.md",
    "dataset.schema.json",
    "datasets/index.md",
    *(f"datasets/{name}.md" for name in catalogue()),
    "http.md",
    "openapi.json",
    "output.schema.json",
    "probe.md",
    "system-format.md",
    "system.schema.json",
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


def test_every_request_is_on_the_page_of_the_http_api(pages: dict[str, str]) -> None:
    for path, operations in json.loads(pages["openapi.json"])["paths"].items():
        for method in operations:
            assert f"\n## {method.upper()} {path}\n" in pages["http.md"]
    assert "| `requested_goodput` | text |" in pages["http.md"]


def test_every_dataset_has_a_page_with_all_its_rows(pages: dict[str, str]) -> None:
    for name in catalogue():
        data, page = icmodel.load(name), pages[f"datasets/{name}.md"]
        counted = re.findall(r"(?m)^\| [a-z0-9-]+ \| `[a-z0-9_]+` \|.*\| (\d+) \|$", page)
        assert sum(int(count) for count in counted) == len(data.points), name
        assert data.citation in page
        assert f"({name}.md)" in pages["datasets/index.md"]


def test_the_schemas_are_those_the_program_publishes(pages: dict[str, str]) -> None:
    assert json.loads(pages["usecase.schema.json"]) == usecase_schema()
    assert json.loads(pages["dataset.schema.json"]) == dataset_schema()
    assert json.loads(pages["system.schema.json"]) == system_schema()


def test_every_key_of_the_bundled_datasets_is_explained(pages: dict[str, str]) -> None:
    page = pages["dataset-format.md"]
    for name in catalogue():
        text = (checkout.ROOT / "data" / name / "dataset.toml").read_text(encoding="utf-8")
        metrics = load(name).metrics  # in tables of a number a metric
        for key in set(re.findall(r"(?m)^([a-z_]+) =", text)) - set(metrics):
            assert f"`{key}`" in page, key


def test_every_key_of_the_bundled_use_cases_is_explained(pages: dict[str, str]) -> None:
    page = pages["usecase-format.md"]
    for name in usecase_names():
        text = (checkout.ROOT / "usecases" / f"{name}.toml").read_text(encoding="utf-8")
        for key in set(re.findall(r"(?m)^([a-z_]+) =", text)):
            assert f"`{key}`" in page, key


def test_every_key_of_the_bundled_systems_is_explained(pages: dict[str, str]) -> None:
    page = pages["system-format.md"]
    for name in system_names():
        text = find_system(name).read_text(encoding="utf-8")
        for key in set(re.findall(r"(?m)(?:^|[{,] )([a-z_]+) =", text)):
            assert f"`{key}`" in page, key

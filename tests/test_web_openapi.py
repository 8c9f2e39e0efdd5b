"""The OpenAPI document: schemathesis asks what it allows and forbids, and checks every answer against it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import clean_environment
from icmodel.schemas import COMMANDS
from icmodel.web.docs_page import docs_page
from icmodel.web.place import Place
from icmodel.web.server import make_app
from web_case import Server

CONFIGURATION = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "404", "422", "503"]
"""
"""Texts such as payloads and names are allowed by the schema, yet no dataset may answer them."""
ANSWERED_ELSEWHERE = {"datasets check", "evaluate --against", "fit", "verify", "theory"}
"""Commands without a request."""


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return make_app(Place()).openapi()


@pytest.mark.parametrize(
    "phases",
    ["examples,fuzzing", pytest.param("examples,coverage,fuzzing", marks=pytest.mark.long)],
)
def test_schemathesis_finds_nothing(server: Server, tmp_path: Path, phases: str) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION, encoding="utf-8")
    command = "-m schemathesis.cli --config-file schemathesis.toml run --checks all --seed 1"
    bounds = f"--max-examples 2 --phases {phases} --request-timeout 60 --no-color"
    done = subprocess.run(
        [sys.executable, *command.split(), *bounds.split(), f"{server.address}openapi.json"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "passed" in done.stdout


def test_every_answer_has_a_schema_of_the_command_line(document: dict[str, Any]) -> None:
    for name in COMMANDS.keys() - ANSWERED_ELSEWHERE:
        kinds = {COMMANDS[name], *COMMANDS[name].__subclasses__()}
        assert {kind.__name__ for kind in kinds} & set(document["components"]["schemas"]), name
    for path, operations in document["paths"].items():
        for operation in operations.values():
            responses = operation["responses"]
            assert "schema" in responses["200"]["content"]["application/json"], path
            for status in set(responses) - {"200"}:
                assert list(responses[status]["content"]) == ["application/problem+json"]


def references(part: object) -> Iterator[str]:
    """Every reference in a part of the document."""
    if isinstance(part, dict):
        yield from [part["$ref"]] if isinstance(part.get("$ref"), str) else []
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from references(one)


def test_every_reference_leads_to_a_schema(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert set(references(document)) <= {f"#/components/schemas/{name}" for name in schemas}


def test_the_page_lists_every_request_without_a_script(document: dict[str, Any]) -> None:
    page = docs_page(document)
    for path in document["paths"]:
        assert f" {path}</code></h2>" in page
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert "requested_goodput" in page

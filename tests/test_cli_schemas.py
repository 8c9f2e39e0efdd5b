"""What commands print with ``--json`` is what their published schemas say."""

from __future__ import annotations

import io
import json
import shlex
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import pytest

import checkout
from icmodel.cli import main
from icmodel.dataset import catalogue, load
from icmodel.errors import ScenarioError
from icmodel.schemas import output_schema, output_schemas
from icmodel.usecase import usecase_names
from recommend_case import SMALL, opened

COMMANDS = {
    "predict": [
        "predict --payload '64 B'",
        "predict --protocol udp --payload '8 KiB' --requested-goodput '5 Gb/s' --switches 1",
        "predict --payload '256 B' --option nagle=off --variant hybrid",
        "predict --payload '64 B' --cores 8 --extrapolate",
        "predict --payload '1448 B' --endpoints 2 --other-goodput '9 Gb/s' --distance '50 m'",
    ],
    "sweep": [
        "sweep --payload '64 B, 1448 B' --cores 1,4",
        "sweep --payload '64 B' --option nagle=on,off --metric latency_mean_s",
        "sweep --payload '64 B, 100 kB' --allow-gaps --requested-goodput '1 Gb/s, unlimited'",
    ],
    "compare": [
        "compare --payload '64 B' --dataset ethernet-10g-2012,zeromq-100g-2019",
        "compare --payload '64 B' --variant corrected,appendix-h",
    ],
    "compare --usecase": [
        f"compare --usecase {name} --dataset rapidio-tsi721"
        for name in ("cameras", "motion-control")
    ],
    "evaluate": [
        f"evaluate {name} --dataset {data}"
        for name in ("cameras", "imaging", "motion-control")
        for data in ("ethernet-10g-2012", "rapidio-tsi721")
    ],
    "evaluate --against": [
        "evaluate imaging --against OLD",
        "evaluate imaging --variant hybrid --against OLD",
    ],
    "datasets list": ["datasets list"],
    "datasets show": [f"datasets show {name}" for name in catalogue()],
    "datasets points": [f"datasets points {name}" for name in catalogue()],
    "datasets check": [
        f"datasets check {shlex.quote(str(load(name).folder))}" for name in catalogue()
    ],
    "usecases list": ["usecases list"],
    "usecases show": [f"usecases show {name}" for name in usecase_names()],
    "system predict": ["system imaging"],
    "system list": ["system list"],
    "system show": ["system show imaging", "system show industrial-line"],
    "system check": ["system check lab-dscp"],
    "recommend": ["recommend motion-control", "recommend SYSTEM"],
    "verify": ["verify lab-direct --repeats 0 -o FOLDER"],
    "validate": ["validate ethernet-1g-2010 --variant corrected --most 4"],
    "theory": [
        f"theory {link} --payload '64 B, 1 KiB'"
        for link in ("ethernet", "infiniband", "roce", "rapidio")
    ],
}


JUDGING = ("evaluate", "compare --usecase", "recommend", "verify", "system imaging")
"""How lines begin whose exit code is a verdict; of all others it is 0."""


@cache
def printed(line: str) -> object:
    """The JSON document that a command prints; FOLDER, SYSTEM and OLD stand for files."""
    out = io.StringIO()
    with redirect_stdout(out), TemporaryDirectory() as folder, TemporaryDirectory() as drawn:
        opened(Path(drawn), SMALL)
        old = Path(drawn, "old.json")
        places = {"FOLDER": folder, "SYSTEM": f"{drawn}/own.toml", "OLD": str(old)}
        if "OLD" in line:
            old.write_text(json.dumps(printed("evaluate imaging")), encoding="utf-8")
        code = main([*(places.get(word, word) for word in shlex.split(line)), "--json"])
    assert code in ((0, 1, 3) if line.startswith(JUDGING) else (0,))
    document: object = json.loads(out.getvalue())
    if isinstance(document, dict) and isinstance(document.get("points"), list):
        document["points"] = document["points"][::100]
    return document


@cache
def validator(command: str) -> jsonschema.Draft202012Validator:
    """What holds documents against the schema of a command, a part of all that is checked once."""
    if command == "error":
        return jsonschema.Draft202012Validator({**output_schemas(), "$ref": "#/$defs/error"})
    return jsonschema.Draft202012Validator(schema_of(command))


@cache
def schema_of(command: str) -> dict[str, Any]:
    """The schema of a command, made once."""
    return output_schema(command)


def test_the_schemas_are_schemas() -> None:
    jsonschema.Draft202012Validator.check_schema(output_schemas())


def test_every_schema_is_tried() -> None:
    commands = {name for name in output_schemas()["$defs"] if output_of(name)}
    assert commands == set(COMMANDS) | {
        "fit",
        "ingest",
    }  # which write: their own tests give them files


def output_of(name: str) -> bool:
    """Whether a part of the schemas is of a command."""
    try:
        schema_of(name)
    except ScenarioError:
        return False
    return True


@pytest.mark.parametrize(
    ("command", "line"), [(name, line) for name, lines in COMMANDS.items() for line in lines]
)
def test_the_output_of_a_command_fits_its_schema(command: str, line: str) -> None:
    validator(command).validate(printed(line))


@pytest.mark.parametrize("name", catalogue())
def test_predictions_of_every_dataset_fit_the_schema(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = load(name)
    sizes = sorted({p.payload_bytes for p in data.points if p.payload_bytes})
    for protocol in data.protocols:
        line = f"predict --dataset {name} --variant corrected --protocol {protocol}"
        line += f" --payload '{(sizes or [64])[0]} B'"
        code = main([*shlex.split(line), "--json"])
        document = json.loads(capsys.readouterr().out)
        validator("error" if code else "predict").validate(document)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_schema_refuses_a_missing_key_and_another_version(command: str) -> None:
    document = printed(COMMANDS[command][0])
    assert isinstance(document, dict)
    schema = schema_of(command)
    required = schema["$defs"][schema["$ref"].removeprefix("#/$defs/")]["required"]
    for key in required:
        less = {name: value for name, value in document.items() if name != key}
        lacking = (
            one for one in validator(command).iter_errors(less) if one.validator == "required"
        )
        assert key in next(lacking).message
    other = {**document, "schema_version": 2}
    assert next(iter(validator(command).iter_errors(other)), None) is not None


def test_the_schemas_are_published_in_the_reference() -> None:
    page = Path(checkout.ROOT / "docs" / "reference" / "output.schema.json")
    assert json.loads(page.read_text(encoding="utf-8")) == output_schemas()

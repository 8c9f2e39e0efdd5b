"""Schemas of the JSON answers of commands (``--json``) and of the HTTP API.

Programs may rely on the required keys. Within a ``schema_version``, keys are only added, so every object allows further
keys. The output of `icmodel plot --json` is Vega-Lite, with its own schema. No command imports this package:
``to_dict()`` writes the answers, and tests compare them with these models.

Order of imports: ``parts`` (shared by answers) -> ``datasets``, ``usecases``, ``systems`` -> this file, which names the
schema of each command.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from icmodel.errors import ScenarioError
from icmodel.schemas.datasets import (
    CheckedDataset,
    Comparison,
    DatasetDocument,
    Datasets,
    Fit,
    Grid,
    Ingested,
    Prediction,
    Rows,
    Theory,
    Validation,
)
from icmodel.schemas.parts import ErrorDocument, Part
from icmodel.schemas.systems import (
    CheckedSystem,
    Recommendation,
    SystemDocument,
    SystemPrediction,
    Systems,
    Verification,
)
from icmodel.schemas.usecases import Changes, Evaluation, Interconnects, UseCaseDocument, UseCases

DIALECT = "https://json-schema.org/draft/2020-12/schema"
REFERENCE = "#/$defs/{model}"

COMMANDS: dict[str, type[Part]] = {
    "predict": Prediction,
    "sweep": Grid,
    "compare": Comparison,
    "compare --usecase": Interconnects,
    "evaluate": Evaluation,
    "evaluate --against": Changes,
    "datasets list": Datasets,
    "datasets show": DatasetDocument,
    "datasets points": Rows,
    "datasets check": CheckedDataset,
    "fit": Fit,
    "ingest": Ingested,
    "usecases list": UseCases,
    "usecases show": UseCaseDocument,
    "system predict": SystemPrediction,
    "system list": Systems,
    "system show": SystemDocument,
    "system check": CheckedSystem,
    "recommend": Recommendation,
    "verify": Verification,
    "validate": Validation,
    "theory": Theory,
}
"""Command -> pydantic model of its output with ``--json``."""


def output_schemas() -> dict[str, Any]:
    """Return one JSON Schema document. Its ``$defs`` hold the schema of each command by name."""
    models: list[Any] = [(model, "validation") for model in (*COMMANDS.values(), ErrorDocument)]
    named, document = models_json_schema(models, ref_template=REFERENCE)
    commands = {command: named[model, "validation"] for command, model in COMMANDS.items()}
    return {
        "$schema": DIALECT,
        "title": "Output of icmodel with --json, by command",
        "$defs": {
            **commands,
            "error": named[ErrorDocument, "validation"],
            **document["$defs"],
        },
    }


def output_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema of the output of one command with ``--json``.

    Raises
    ------
    ScenarioError
        If the command has no schema.

    Examples
    --------
    >>> output_schema("predict")["title"]
    'icmodel predict --json'
    """
    if command not in COMMANDS:
        raise ScenarioError(f"{command!r} has no schema: use one of {', '.join(COMMANDS)}")
    schemas = output_schemas()
    return {**schemas, "title": f"icmodel {command} --json", **schemas["$defs"][command]}

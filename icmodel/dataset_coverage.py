"""Coverage kept beside a dataset: how often its intervals held rows that were kept from the model.

`coverage.json` is written by ``icmodel validate --keep``; where it is absent, or of other rows than the
dataset has now, nobody knows, and predictions say nothing of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from icmodel.documents import json_value
from icmodel.errors import DatasetError

FILE = "coverage.json"
SCHEMA_VERSION = 1
LEAST_ROWS = 30
"""Rows kept from the model of which a share inside is told."""
PROMISED = (0.85, 0.95)
"""The share of such rows that an interval called one of 90 % has to hold."""

Kinds = Mapping[str, Mapping[str, Any]]
"""By kind of fold: how many there were, and the numbers of each metric."""


class Held(NamedTuple):
    """The share of rows kept from the model that the intervals of a metric held, and how many rows."""

    share: float
    rows: int


def read_coverage(folder: Path, sha256: str) -> Mapping[str, Kinds]:
    """What is kept by variant and kind of fold; empty where there is none of these rows.

    Raises
    ------
    DatasetError
        If the file is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        document: Any = json_value(path.read_bytes())
        same = (document["schema_version"], document["sha256"]) == (SCHEMA_VERSION, sha256)
        return dict(document["variants"]) if same else {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            f"{path} is damaged ({error}): remove it, or write it again with `icmodel validate --keep`"
        ) from error


def coverage_text(sha256: str, variants: Mapping[str, Kinds]) -> str:
    """The text of the file."""
    document = {"schema_version": SCHEMA_VERSION, "sha256": sha256, "variants": variants}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def least_held(kinds: Kinds) -> dict[str, Held]:
    """Of each metric the kind of fold whose rows were held least often."""
    found: dict[str, Held] = {}
    for trial in kinds.values():
        for metric, score in trial["metrics"].items():
            held = Held(float(score["coverage"]), int(score["intervals"]))
            found[metric] = min(found.get(metric, held), held)
    return found

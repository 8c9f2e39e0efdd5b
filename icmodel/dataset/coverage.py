"""Coverage stored with a dataset: the share of left-out rows that lie inside their predicted intervals.

``icmodel validate --keep`` writes `coverage.json`.  If the file is missing or was made for other rows,
predictions have no note on coverage.
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
"""Least number of left-out rows of a metric for which a coverage is stored."""
PROMISED = (0.85, 0.95)
"""Range in which the coverage of 90 % intervals is acceptable; below it, predictions get a note."""

Kinds = Mapping[str, Mapping[str, Any]]
"""Coverage of one variant of the model, by kind of fold: the number of folds, and the scores of each metric.

A fold is a split into training rows and test rows.
"""


class Held(NamedTuple):
    """Coverage of a metric's intervals: the share of left-out rows inside them, and the number of these rows."""

    share: float
    rows: int


def read_coverage(folder: Path, sha256: str) -> Mapping[str, Kinds]:
    """Read a dataset's stored coverage, by variant and kind of fold; empty if none is stored for its rows.

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
        found: dict[str, Kinds] = document["variants"] if same else {}
        for kinds in found.values():
            least_held(kinds)
        return found
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DatasetError(
            f"{path} is damaged ({error}): remove it, or write it again with `icmodel validate --keep`"
        ) from error


def coverage_text(sha256: str, variants: Mapping[str, Kinds]) -> str:
    """Return the text of the file coverage.json."""
    document = {"schema_version": SCHEMA_VERSION, "sha256": sha256, "variants": variants}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def least_held(kinds: Kinds) -> dict[str, Held]:
    """Return the least coverage of each metric over the kinds of folds (ways of leaving rows out)."""
    least: dict[str, Held] = {}
    for trial in kinds.values():
        for metric, score in trial["metrics"].items():
            held = Held(float(score["coverage"]), int(score["intervals"]))
            least[metric] = min(least.get(metric, held), held)
    return least

"""Cheap search, validation and race, as documents of one process or of other workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.accuracy import race
from benchmarks.accuracy.models import variant
from icmodel.dataset import Dataset
from icmodel.documents import json_text
from icmodel.recommend.recommending import recommend
from icmodel.system import OpenSystem
from icmodel.validate import ValidationOptions, document, validate
from icmodel.validate.validation import LEAVE_BREAK, LEAVE_CURVE, LEAVE_ONE
from recommend_case import opened, too_slow
from validate_case import law

CHOICES = """
[choices.streams.picture]
rate = ["6700/s", "as-produced", "whole-messages"]

[choices.streams.control]
priority = [0, 2, 4, 6]
"""
"""Choices whose search ends at the fewest changes, so that workers predict designs ahead that are never read."""
OPTIONS = ValidationOptions(kinds=(LEAVE_ONE, LEAVE_CURVE, LEAVE_BREAK), most=8)
FIELD = {name: variant(name) for name in ("appendix-h", "corrected")}


def asked(folder: Path) -> tuple[Dataset, OpenSystem]:
    """A dataset to validate and to race on, and a system to search."""
    return law(folder), opened(folder, CHOICES, too_slow())


def validated(data: Dataset, **workers: Any) -> str:
    """The validation as a document; its progress is checked."""
    told: list[tuple[int, int]] = []
    found = validate(data, None, OPTIONS, lambda *done: told.append(done), **workers)
    total = sum(trial.folds for trial in found.trials)
    assert told == [(done, total) for done in range(1, total + 1)]
    return json_text(document(found))


def searched(system: OpenSystem, **workers: Any) -> str:
    """The recommendation as a document; its progress is checked."""
    told: list[int] = []
    found = recommend(system, watch=lambda done, _: told.append(done), **workers)
    assert told == list(range(1, found.searched.checked + 1))
    assert (
        found.searched.checked < found.searched.may_meet
    )  # the search ends before the last design
    return json_text(found.to_dict())


def raced(data: Dataset, **workers: Any) -> str:
    """The race as a document."""
    found = race.race(data, FIELD, kind=LEAVE_ONE, most=4, say=lambda _: None, **workers)
    return json_text(race.document([found]))

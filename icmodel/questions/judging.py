"""Judge a use case on a dataset, and add notes on the bundled system with the same name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from icmodel.dataset import Dataset
from icmodel.system.files import notes_on_system
from icmodel.usecase import Evaluation, UseCase, evaluate


def evaluate_with_notes(
    usecase: str | Path | UseCase,
    data: Dataset | str | Path,
    variant: str | None = None,
    candidate: str | None = None,
    *,
    strict: bool = False,
    cache: bool = True,
) -> Evaluation:
    """Judge a use case like `icmodel.evaluate`, and add notes.

    If a bundled system has the same name, it may request other rates. A note names each stream with another rate.

    Raises
    ------
    UseCaseError, DatasetError
        If the use case or the dataset is missing or damaged, or the candidate does not exist.

    Examples
    --------
    >>> evaluate_with_notes("imaging", "ethernet-10g-2012").verdict
    'not met'
    """
    evaluation = evaluate(
        usecase, data, variant=variant, candidate=candidate, strict=strict, cache=cache
    )
    derived = {one.name: one for one in evaluation.derivations}
    notes = notes_on_system(evaluation.usecase, derived, evaluation.candidate)
    return replace(evaluation, notes=notes)

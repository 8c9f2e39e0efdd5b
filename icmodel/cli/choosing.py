"""The default variant of a new dataset: the one that predicts left-out rows best."""

from __future__ import annotations

from icmodel.cli.output import progress_bar
from icmodel.dataset import Dataset


def best_variant(data: Dataset) -> tuple[str, str]:
    """The variant that predicts left-out rows of a dataset best, and why; shows progress."""
    from icmodel.validate import choose  # the model, not needed for the help

    with progress_bar("left-out points") as progress:
        choice = choose(data, progress)
    return choice.variant, choice.why

"""Models for commands: a model that shows the progress of its fits, and the best variant for a new dataset."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from icmodel.cli.output import progress_bar
from icmodel.dataset import Dataset
from icmodel.model import Model


@contextmanager
def model_with_progress(data: Dataset, variant: str | None, *, cache: bool) -> Iterator[Model]:
    """Yield a model that shows the progress of its fits on a terminal."""
    if (variant or data.default_variant) != "hybrid":
        yield Model(data, variant)
        return
    with progress_bar("fitting") as watch:
        yield Model(data, variant, watch, cache=cache)


def best_variant(data: Dataset) -> tuple[str, str]:
    """Return the variant that predicts left-out rows of a dataset best, and the reason.

    Shows the progress on a terminal.
    """
    from icmodel.validate import choose  # imported here, since predictions do not need it

    with progress_bar("left-out points") as progress:
        choice = choose(data, progress)
    return choice.variant, choice.why

"""A model for a command, with a progress bar if it makes fits first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from icmodel.cli.output import progress_bar
from icmodel.dataset import Dataset
from icmodel.model import Model


@contextmanager
def fitted(data: Dataset, variant: str | None, *, cache: bool) -> Iterator[Model]:
    """A model that shows the progress of its fits on a terminal."""
    if (variant or data.default_variant) != "hybrid":
        yield Model(data, variant)
        return
    with progress_bar("fitting") as watch:
        yield Model(data, variant, watch, cache=cache)

"""Fitting: a model for a command, with a bar where it is fitted before it answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from icmodel.cli.output import progress_bar
from icmodel.dataset import Dataset
from icmodel.model import Model


@contextmanager
def fitted(data: Dataset, variant: str | None, *, cache: bool) -> Iterator[Model]:
    """A model whose fits, if its variant makes any, are drawn on a terminal as they are made."""
    if (variant or data.default_variant) != "hybrid":
        yield Model(data, variant)
        return
    with progress_bar("fitting") as watch:
        yield Model(data, variant, watch, cache=cache)

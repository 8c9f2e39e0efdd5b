"""What tests of one process share: bundled datasets, and the tables made of them.

Both are never changed once they are made. A Model of a process of its own, of another dataset, with a cache of fits
of its own or none makes its own.
"""

from __future__ import annotations

import os
from functools import cache, wraps
from pathlib import Path

import pytest

from icmodel.dataset import Dataset, find, load, shipped
from icmodel.fits import SHIPPED
from icmodel.laws import Fitting
from icmodel.model.cache import TableCache, table_cache

FITS = "ICMODEL_TEST_FITS"
"""The environment variable that names the folder in which fits are kept for this session."""
load_folder = cache(load)


@wraps(load)
def load_once(name: str | Path) -> Dataset:
    """Load a dataset; a bundled one is read once."""
    folder = find(name)
    return load_folder(folder) if folder.parent == shipped("data") else load(name)


@cache
def tables(folder: Path, variant: str) -> TableCache:
    """The tables of a bundled dataset."""
    return table_cache(load_folder(folder), variant, Fitting())


def tables_once(data: Dataset, variant: str, fitting: Fitting) -> TableCache:
    """The tables of a dataset; those of a bundled one are made once."""
    usual = fitting.cache and fitting.constants == SHIPPED
    own_fits = os.environ.get("ICMODEL_CACHE") != os.environ.get(FITS)
    bundled = data.folder.parent == shipped("data") and data is load_folder(data.folder)
    if bundled and usual and not own_fits:
        return tables(data.folder, variant)
    return table_cache(data, variant, fitting)


def share() -> None:
    """Let every test that is not about reading or making them use what is shared."""
    session = pytest.MonkeyPatch()
    session.setattr("icmodel.dataset.load", load_once)
    session.setattr("icmodel.model.model.load", load_once)  # has taken it from there already
    for user in ("icmodel.model.model", "icmodel.sheets.lookup"):
        session.setattr(f"{user}.table_cache", tables_once)
    import shared_answers  # which imports what loads datasets, so not before

    shared_answers.share(session)

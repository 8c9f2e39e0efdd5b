"""The seal of a fit: a hash of everything it is made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from icmodel.dataset import Dataset
from icmodel.fits.constants import SHIPPED, Constants

TEXTS = ("protocol", "metric", "basis")
"""Columns of a dataset's points that are texts."""
IGNORED = ("line", "source")
PROGRAM = ("fits/*.py", "theory/*.py", "tables/wire.py")
"""Modules that determine a fit: the fits themselves, and the frames on the wire."""


def seal_of(data: Dataset, constants: Constants = SHIPPED) -> str:
    """SHA-256 over the points, the dataset's description, the program that fits and its constants.

    The points are those in memory, so a dataset with rows left out or changed has another seal.
    """
    digest = hashlib.sha256(_program())
    digest.update(repr(constants).encode())
    for part in _parts(data):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def _parts(data: Dataset) -> Iterator[bytes]:
    yield data.sha256.encode()
    yield json.dumps(data.document, sort_keys=True, default=str).encode()
    yield repr((data.interconnect, sorted(data.fabrics.items()))).encode()
    for name, column in zip(data.points[0]._fields, zip(*data.points, strict=True), strict=True):
        if name in TEXTS:
            yield "\n".join(column).encode()
        elif name == "options":
            yield "\n".join(map("\t".join, column)).encode()
        elif name not in IGNORED:
            yield np.array(column, dtype=np.float64).tobytes()


@cache
def _program() -> bytes:
    """The hash of the modules that make a fit."""
    digest = hashlib.sha256()
    for pattern in PROGRAM:
        for path in sorted(Path(__file__).parents[1].glob(pattern)):
            digest.update(path.read_bytes())
    return digest.digest()

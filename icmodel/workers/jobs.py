"""Pickle jobs for workers. A pickled job only names its datasets, so it is small; the worker loads and checks them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from io import BytesIO
from typing import Any

from icmodel import __version__
from icmodel.dataset import Dataset, catalogue, find, load
from icmodel.errors import ClusterError, DatasetError


def pickled(value: object, whole: str) -> bytes:
    """Pickle a job or an item for a worker; ``whole`` names the work in messages.

    A dataset is replaced by its name or folder and its hash. If the folder now has other content, the whole dataset is
    pickled.
    """
    body = BytesIO()
    JobPickler(body, whole).dump(value)
    return body.getvalue()


def answer(version: str, whole: str, job: bytes, item: bytes) -> Any:
    """Answer one item of a job in a worker.

    Parameters
    ----------
    item : bytes
        The item, pickled by `pickled`. The other parameters are those of `prepare`.
    """
    prepare(version, whole, job)
    return _answering(job)(pickle.loads(item))


def prepare(version: str, whole: str, job: bytes) -> None:
    """Prepare a job in a worker, so that its first answer comes sooner.

    Parameters
    ----------
    version : str
        Version of icmodel that the job needs.
    whole : str
        Name of the work in messages, such as ``sweep``.
    job : bytes
        Function that makes the answering function, and its arguments; pickled by `pickled`.

    Raises
    ------
    ClusterError
        If the job needs another version of icmodel or of a dataset than this process has.
    """
    if version != __version__:
        raise ClusterError(
            f"a worker has icmodel {__version__}, and the {whole} needs {version}: install the same "
            "version on all workers"
        )
    _answering(job)


@lru_cache(maxsize=2)
def _answering(job: bytes) -> Callable[[Any], Any]:
    """Make the answering function of a job. The cache makes a worker prepare each job once."""
    make, arguments = pickle.loads(job)
    answering: Callable[[Any], Any] = make(*arguments)
    return answering


class JobPickler(pickle.Pickler):
    """Pickler that replaces each dataset by its name or folder and its hash."""

    def __init__(self, body: BytesIO, whole: str) -> None:
        super().__init__(body)
        self.whole = whole

    def reducer_override(self, value: object) -> Any:
        """Name a dataset; pickle any other value as usual."""
        if isinstance(value, Dataset) and (name := name_for_workers(value)):
            return same_dataset, (name, value.sha256, self.whole)
        return NotImplemented


def name_for_workers(data: Dataset) -> str | None:
    """Return the name or folder from which a worker loads a dataset; None if the loaded dataset would differ."""
    try:
        # An edited copy of a bundled dataset may keep its id.
        bundled = data.id in catalogue() and find(data.id).samefile(data.folder)
        name = data.id if bundled else str(data.folder.absolute())
        return name if replace(load(name), folder=data.folder) == data else None
    except (DatasetError, OSError):
        return None


def same_dataset(name: str, sha256: str, whole: str) -> Dataset:
    """Load a dataset in a worker, and check its hash.

    Raises
    ------
    ClusterError
        If the hash is not ``sha256``.
    """
    data = load(name)
    if data.sha256 != sha256:
        raise ClusterError(
            f"a worker has another dataset {name} (sha256 {data.sha256[:12]}…, and the {whole} needs "
            f"{sha256[:12]}…): copy the dataset to all workers"
        )
    return data

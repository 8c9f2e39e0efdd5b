"""Options for the workers that share the work of a command: processes of this machine, or a Dask cluster."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any

from icmodel.cli.options import option
from icmodel.errors import ScenarioError

Workers = Annotated[
    int | None, option("workers", "N", "Number of worker processes.", "this process alone")
]
Cluster = Annotated[
    str | None,
    option(
        "cluster",
        "ADDRESS",
        "Address of a Dask scheduler whose workers compute the answer, e.g. tcp://host:8786.",
    ),
]


def check_workers(workers: int | None, cluster: str | None) -> None:
    """Raise ScenarioError if both kinds of workers are given, or fewer than one process."""
    if workers is not None and cluster is not None:
        raise ScenarioError("--workers and --cluster are both given: give only one")
    if workers is not None and workers < 1:
        raise ScenarioError(f"--workers {workers} is not a number of processes: give 1 or more")


def client_of(cluster: str | None) -> AbstractContextManager[Any]:
    """Connect to the scheduler of a cluster; None without an address.

    Raises
    ------
    ClusterError
        If distributed is not installed, or no scheduler answers.
    """
    if cluster is None:
        return nullcontext()
    from icmodel.workers import connect

    client: AbstractContextManager[Any] = connect(cluster)
    return client

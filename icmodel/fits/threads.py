"""Limit linear algebra to one thread: with matrices of a few hundred rows, threads only wait for each other."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Context in which the linear algebra of numpy and SciPy uses one thread of this process.

    On a busy machine a fit takes a hundredth of the time with one thread, and the numbers are the same on all machines.
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  (its own copy of BLAS is found once it is loaded)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

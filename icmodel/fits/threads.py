"""Limit linear algebra to one thread: with a few hundred rows, further threads only wait."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Return a context manager that limits the BLAS of numpy and SciPy to one thread.

    On a busy machine, a fit with one thread takes a hundredth of the time.  The numbers are the
    same on all machines.
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  (loads SciPy's BLAS, so that the controller finds it)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

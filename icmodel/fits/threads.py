"""One thread for matrices of some hundred rows, whose threads would only wait for each other."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """While it lasts, the linear algebra below numpy and SciPy uses one thread of this process.

    On a busy machine a fit takes a hundredth of the time with it, and everywhere the same numbers.
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  (its own copy of BLAS is found once it is loaded)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

"""Base class of the benchmark's testbeds: synthetic or recorded."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Ready:
    """Base class of a testbed that needs no preparation and no cleanup."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

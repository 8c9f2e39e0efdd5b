"""Base of systems that the benchmark plays: made up, or recorded."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Ready:
    """Base of a system that needs no preparation and leaves nothing to clean up."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

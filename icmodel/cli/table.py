"""Table: rows of cells under a header, independent of how they are drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a header; columns named with a leading ``#`` hold numbers, which align right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The header."""
        return tuple(name.removeprefix("#") for name in self.columns)

    @property
    def right(self) -> tuple[bool, ...]:
        """Whether each column aligns right."""
        return tuple(name.startswith("#") for name in self.columns)

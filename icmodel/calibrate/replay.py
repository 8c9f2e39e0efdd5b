"""Replay: recorded runs answer in the place of hosts, each repeat by its own record."""

from __future__ import annotations

from collections.abc import Iterable

from icmodel.calibrate.run import Record, Run, run_of
from icmodel.calibrate.system import Ready, Refused


class Replay(Ready):
    """A system whose answers are records that were made before.

    Parameters
    ----------
    records : iterable of record
        Repeats of a run answer in the order they come in.
    description : str
        What it is a replay of.
    """

    def __init__(self, records: Iterable[Record], description: str = "replay") -> None:
        self.description = description
        self._repeats: dict[Run, list[Record]] = {}
        for record in records:
            self._repeats.setdefault(run_of(record), []).append(record)

    @property
    def runs(self) -> tuple[Run, ...]:
        """What it can answer, sorted."""
        return tuple(sorted(self._repeats))

    def repeats(self, run: Run) -> int:
        """How often a run was recorded."""
        return len(self._repeats.get(run, ()))

    def measure(self, run: Run, repeat: int) -> Record | Refused:
        """The record of this repeat; refused where there is none."""
        known = self._repeats.get(run, [])
        if repeat >= len(known):
            return Refused(f"{len(known)} repeats of it were recorded")
        return known[repeat]

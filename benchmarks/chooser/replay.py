"""Replay: a testbed that returns recorded runs, each repeat from a record of its own."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.chooser.ready import Ready
from icmodel.calibrate.runs import Record, Run, run_of
from icmodel.calibrate.testbed import Refused


class Replay(Ready):
    """Testbed that returns records made earlier.

    Parameters
    ----------
    records : iterable of record
        Repeats of a run are returned in this order.
    description : str
        Name of the system that was recorded.
    """

    def __init__(self, records: Iterable[Record], description: str = "replay") -> None:
        self.description = description
        self._repeats: dict[Run, list[Record]] = {}
        for record in records:
            self._repeats.setdefault(run_of(record), []).append(record)

    @property
    def runs(self) -> tuple[Run, ...]:
        """Recorded runs, sorted."""
        return tuple(sorted(self._repeats))

    def repeats(self, run: Run) -> int:
        """Return the number of records of a run."""
        return len(self._repeats.get(run, ()))

    def measure(self, run: Run, repeat: int) -> Record | Refused:
        """Return the record of this repeat; refuse a repeat that was not recorded."""
        known = self._repeats.get(run, [])
        if repeat >= len(known):
            return Refused(f"{len(known)} repeats of it were recorded")
        return known[repeat]

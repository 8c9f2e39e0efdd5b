"""Journal: the outcome of each seed in a file as it comes, so that a contest cut off goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.chooser.contest import Outcome

Key = Sequence[object]
"""Name of the system, seed, variant and shares: what an outcome is of."""


class Journal:
    """Outcomes in a file, one seed a line.

    What was changed in the model or the chooser since is not seen: another state wants another file.

    Parameters
    ----------
    path : Path or None
        The file; without one nothing is kept.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, list[Outcome]] = {}
        body = path.read_text(encoding="utf-8") if path is not None and path.exists() else ""
        whole = body[: body.rfind("\n") + 1]
        if path is not None and whole != body:
            path.write_text(whole, encoding="utf-8")  # a torn last line
        for line in whole.splitlines():
            said = json.loads(line)
            self._known[json.dumps(said["of"])] = [Outcome(**one) for one in said["outcomes"]]

    def known(self, key: Key) -> list[Outcome] | None:
        """The outcomes of a seed that was played; None where it was not."""
        return self._known.get(json.dumps(key))

    def keep(self, key: Key, outcomes: Sequence[Outcome]) -> None:
        """Append the outcomes of a seed, unless they are here."""
        if self._path is None or json.dumps(key) in self._known:
            return
        self._known[json.dumps(key)] = list(outcomes)
        line = json.dumps({"of": key, "outcomes": [asdict(one) for one in outcomes]})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

"""Journal: a file of the results of a long benchmark, so that an interrupted one can continue."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

Key = Sequence[object]
"""Key of a result: names and numbers that JSON can hold."""


class Journal:
    """Results in a file, one JSON document per line.

    The journal does not notice changes of the code: use a new file after a change.

    Parameters
    ----------
    path : Path or None
        Path of the file; if None, nothing is kept.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, object] = {}
        if path is not None:
            path.open("a").close()  # an unwritable file fails before hours of work
        body = path.read_text(encoding="utf-8") if path is not None and path.exists() else ""
        whole = body[: body.rfind("\n") + 1]
        if path is not None and whole != body:
            path.write_text(whole, encoding="utf-8")  # drop an incomplete last line
        for line in whole.splitlines():
            said = json.loads(line)
            self._known[json.dumps(said["of"])] = said["found"]

    def known(self, key: Key) -> object | None:
        """Return the result of a key, or None if there is none."""
        return self._known.get(json.dumps(key))

    def keep(self, key: Key, found: object) -> None:
        """Append a result, unless the journal has it."""
        if self._path is None or json.dumps(key) in self._known:
            return
        line = json.dumps({"of": key, "found": found})
        self._known[json.dumps(key)] = json.loads(line)["found"]
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

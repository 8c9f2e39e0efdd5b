"""Journal: each piece of a long benchmark in a file as it comes, so that one cut off goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

Key = Sequence[object]
"""What a piece is of: names and numbers that JSON keeps."""


class Journal:
    """Pieces in a file, one a line; each is what JSON keeps.

    What was changed in the code since is not seen: another state wants another file.

    Parameters
    ----------
    path : Path or None
        The file; without one nothing is kept.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, object] = {}
        if path is not None:
            path.open("a").close()  # what cannot be written fails before hours of work
        body = path.read_text(encoding="utf-8") if path is not None and path.exists() else ""
        whole = body[: body.rfind("\n") + 1]
        if path is not None and whole != body:
            path.write_text(whole, encoding="utf-8")  # a torn last line
        for line in whole.splitlines():
            said = json.loads(line)
            self._known[json.dumps(said["of"])] = said["found"]

    def known(self, key: Key) -> object | None:
        """The piece of a key; None where it was not made."""
        return self._known.get(json.dumps(key))

    def keep(self, key: Key, found: object) -> None:
        """Append a piece, unless it is here."""
        if self._path is None or json.dumps(key) in self._known:
            return
        line = json.dumps({"of": key, "found": found})
        self._known[json.dumps(key)] = json.loads(line)["found"]
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

"""Draw the pictures of the gallery in the docs: `python tools/gallery.py` writes them anew."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from icmodel.cli import main as icmodel

DOCS = Path(__file__).resolve().parent.parent / "docs"
COMMAND = re.compile(r"^\$ icmodel (?P<words>.+?)(?P<name>[\w-]+\.svg)(?: +# exit \d)?$", re.M)
"""Pattern of a command whose last word is the picture file that it writes."""


def names() -> list[str]:
    """Return the names of the pictures in the order of the page."""
    return [found["name"] for found in commands()]


def commands() -> list[re.Match[str]]:
    """Return every command of the page that writes a picture."""
    return list(COMMAND.finditer((DOCS / "gallery.md").read_text(encoding="utf-8")))


def main() -> None:
    """Run every command, and store its picture."""
    for found in commands():
        icmodel([*shlex.split(found["words"]), str(DOCS / "gallery" / found["name"])])


if __name__ == "__main__":
    main()

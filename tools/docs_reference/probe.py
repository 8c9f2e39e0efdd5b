"""Parts of the page of icprobe: its commands, flags, plans and topologies, and its record."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

from docs_reference.markdown import table, with_part
from docs_reference.places import BINARY, PROBE
from docs_reference.record import record_keys

CONSTANT = re.compile(r'((?:/// .+\n)+)pub const [A-Z_]+: &str = "([a-z-]+)";')
COMMANDS = re.compile(r"(?ms)^Commands:\n(.*?)\n\n")


def probe_page(text: str) -> str:
    """Return the page of icprobe with new parts: commands, record, flags, plans and topologies.

    The commands are those of the binary that `make probe` built; without it they stay unchanged.
    """
    parts = {
        "record": record_keys(),
        "flags": probe_flags(),
        "plans": table(("plan", "measures", "repeats"), list(_plans())),
        "topologies": table(("topology", "network"), list(_topologies())),
    }
    if BINARY.is_file():
        parts["commands"] = probe_commands(BINARY)
    for name, part in parts.items():
        text = with_part(text, name, part)
    return text


def probe_flags() -> str:
    """Return a table of every flag, as the source explains it."""
    source = (PROBE / "src" / "flags.rs").read_text(encoding="utf-8")
    rows = [
        (f"`{word}`", " ".join(line.removeprefix("/// ") for line in about.splitlines()))
        for about, word in CONSTANT.findall(source)
    ]
    return table(("flag", "meaning"), rows)


def probe_commands(binary: Path) -> str:
    """Return the help of every command of an icprobe binary."""
    return "\n".join(
        f"### {' '.join(('icprobe', *path))}\n\n```text\n{said}\n```\n"
        for path, said in _helps(binary, ())
    )


def _helps(binary: Path, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    said = subprocess.run(
        [binary, *path, "--help"],
        env={**os.environ, "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    yield path, "\n".join(line.rstrip() for line in said.rstrip().splitlines())
    listed = COMMANDS.search(said)
    for name in re.findall(r"(?m)^  ([a-z]+) ", listed[1]) if listed else ():
        if name != "help":
            yield from _helps(binary, (*path, name))


def _by_name(folder: str) -> list[Path]:
    return sorted((PROBE / folder).glob("*.toml"), key=lambda path: path.stem)


def _plans() -> Iterator[tuple[str, ...]]:
    for path in _by_name("plans"):
        plan = tomllib.loads(path.read_text(encoding="utf-8"))
        yield f"`{plan['name']}`", plan["description"], plan["source"]


def _topologies() -> Iterator[tuple[str, ...]]:
    for path in _by_name("topologies"):
        topology = tomllib.loads(path.read_text(encoding="utf-8"))
        yield f"`{topology['name']}`", topology["description"]

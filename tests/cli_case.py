"""Command lines that several tests run, and what they print."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import checkout
from conftest import clean_environment

CENTRAL = "ethernet-10g-2012"
TABLE_8_1 = (
    "predict --protocol tcp --payload '65535 B' --rate 6700/s --cores 4 --switches 1 --endpoints 2 "
    "--other-goodput '3.6 Gb/s'"
)
IMAGING = "evaluate imaging"


@dataclass(frozen=True)
class Printed:
    """Exit code, standard output and standard error of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The printed JSON document."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """Printed lines, cut at two or more blanks."""
        lines = [line.strip() for line in self.out.splitlines()]
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


RunIcmodel = Callable[[str], Printed]
"""The fixture ``run_icmodel``: runs a command line in an empty folder."""


def own_process(*line: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "icmodel", *line],
        cwd=cwd,
        env={**clean_environment(), "PYTHONPATH": str(checkout.ROOT), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


# --- terminals --------------------------------------------------------------------------------

END = b"\0"
"""Written to a terminal before it closes, since closing may drop what was not read yet."""


@dataclass
class Screen:
    """A terminal: what commands write to, and what they have drawn once it is closed."""

    writer: TextIO
    drawn: str = ""


@contextmanager
def terminal() -> Iterator[Screen]:
    """Open a terminal. Read what is drawn on it, and close it."""
    reader, writer = pty.openpty()
    with ThreadPoolExecutor() as beside, os.fdopen(writer, "w", encoding="utf-8") as file:
        drawn = beside.submit(_drawn, reader)
        screen = Screen(file)
        try:
            yield screen
        finally:
            file.flush()
            os.write(writer, END)
            screen.drawn = drawn.result().decode()


def _drawn(reader: int) -> bytes:
    """Read a terminal until the end mark, and close it."""
    drawn = b""
    try:
        while not drawn.endswith(END):
            drawn += os.read(reader, 65536)
    finally:
        os.close(reader)
    return drawn.removesuffix(END)

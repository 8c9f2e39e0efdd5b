"""Command lines that several tests run, and what they print."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

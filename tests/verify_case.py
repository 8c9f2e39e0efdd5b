"""Shared parts of the tests of verification: small systems, and records in icprobe's form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from icmodel.system import System, load
from icmodel.verify import VerifyOptions
from icmodel.verify.folder import Pass

DATASET = Path(__file__).parents[1] / "benchmarks" / "verified" / "lab-20m"
OPTIONS = VerifyOptions(dataset=str(DATASET), slower=5.0, repeats=0)


def small(**changes: object) -> System:
    """The bundled system of two senders, with some of its fields changed."""
    found = load("lab-two-senders")
    names = System.__dataclass_fields__
    return replace(System(**{name: getattr(found, name) for name in names}), **changes)  # type: ignore[arg-type]


def passes(*results: Mapping[str, Mapping[str, float]], overlap: float = 1.0) -> list[Pass]:
    """Passes with these results by stream."""
    return [
        Pass(number, {name: record(one) for name, one in by_stream.items()}, overlap)
        for number, by_stream in enumerate(results, start=1)
    ]


def record(result: Mapping[str, float], flags: tuple[str, ...] = ()) -> dict[str, Any]:
    """Compared parts of a record."""
    return {"result": {"window_s": 2.0, "frames_sent": 100, **result}, "flags": list(flags)}

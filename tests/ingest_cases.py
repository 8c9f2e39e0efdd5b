"""Shared parts of the tests of ingesting: cases by name, and functions to read results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import checkout
from icmodel.dataset import Interconnect
from icmodel.ingest import ColumnMap, Ingested, Labels, ingest
from icmodel.ingest.result import Number, Origin, Result, Side

CASES = checkout.ROOT / "tests" / "cases" / "ingest"
OPTIONS_OF_TOOLS = {"--full-duplex", "--out_json", "--udp-counters-64bit"}
"""Options of other tools in refusals."""
TEN_GIGABIT = Interconnect(kind="ethernet", line_rate_bps=10e9, mtu_bytes=1500)


def read(name: str, tool: str | None = None, **labels: object) -> Ingested:
    """Ingest one case, with labels in SI that its file lacks."""
    return ingest([CASES / name], tool, labels=Labels(**labels))  # type: ignore[arg-type]


def numbers(got: Ingested, **axes: object) -> dict[str, float]:
    """Values of the rows with these axes, by metric."""
    return {
        point.metric: point.value
        for point in got.points
        if all(getattr(point, name) == value for name, value in axes.items())
    }


def results(got: Ingested) -> list[Result]:
    """Results of all files."""
    return [result for file in got.taken for result in file.results]


def sides(got: Ingested) -> dict[str, Side]:
    """End that counted each metric."""
    return {number.metric: number.side for result in results(got) for number in result.numbers}


def made(
    values: Mapping[str, float], payload_bytes: int = 1000, protocol: str = "tcp", **labels: object
) -> Result:
    """Made-up result."""
    where = Labels(protocol, payload_bytes, **labels)  # type: ignore[arg-type]
    parts = tuple(Number(name, value, "receiver") for name, value in values.items())
    return Result(Origin("tool", "1", "line 1"), where, parts)


def in_files(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write files with these texts into a folder."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def tables(
    folder: Path, texts: Mapping[str, str], columns: ColumnMap, link: Interconnect | None = None
) -> Ingested:
    """Ingest tables with these texts together, as TCP."""
    files: Sequence[Path] = in_files(folder, texts)
    return ingest(files, columns=columns, labels=Labels(protocol="tcp"), link=link)

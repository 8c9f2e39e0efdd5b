"""Documents about datasets, use cases and systems, as `--json` prints them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from icmodel.dataset import AXES, Dataset, Point
from icmodel.dataset.rows import noise
from icmodel.documents import json_of
from icmodel.errors import OutOfDomain

if TYPE_CHECKING:
    from icmodel.system import Finding, System
    from icmodel.system.traffic import PortLoad
    from icmodel.usecase import UseCase

# --- datasets ---------------------------------------------------------------------------------


def dataset_entry(data: Dataset) -> dict[str, object]:
    """Return a dataset's entry in the JSON list of datasets: link, rate, protocols and number of rows."""
    return {
        "id": data.id,
        "title": data.title,
        "kind": data.interconnect.kind,
        "line_rate_bps": data.interconnect.line_rate_bps,
        "protocols": list(data.protocols),
        "rows": len(data.points),
    }


def dataset_document(data: Dataset) -> dict[str, object]:
    """Return a dataset as JSON: keys of dataset.toml, values of the axes, row counts, and scatter of repeated runs."""
    counts = Counter((point.protocol, point.metric) for point in data.points)
    values: dict[str, object] = {
        axis: list(data.option_values(axis))
        if axis in data.option_axes
        else [_json_number(number) for number in axis_numbers(data, axis)]
        for axis in measured_axes(data)
    }
    return {
        **data.document,
        "rows": len(data.points),
        "values": values,
        "metrics": {
            protocol: {m: counts[protocol, m] for m in data.metrics if counts[protocol, m]}
            for protocol in data.protocols
        },
        "bases": dict(sorted(Counter(point.basis for point in data.points).items())),
        "noise": repeat_noise(data),
    }


def _json_number(number: float) -> float | str:
    return number if math.isfinite(number) else "inf"


def measured_axes(data: Dataset) -> list[str]:
    """Return the axes of a dataset, without the protocol.

    First come the axes that all datasets have, if at least one row has a value on them. Then come all option axes.
    """
    fixed = [
        axis for axis in AXES[1:] if any(getattr(point, axis) is not None for point in data.points)
    ]
    return [*fixed, *data.option_axes]


def axis_numbers(data: Dataset, axis: str) -> list[float]:
    """Return the sorted values of a dataset's rows on a numeric axis."""
    return sorted({getattr(point, axis) for point in data.points} - {None})


Noises = dict[str, dict[str, dict[str, float]]]


def repeat_noise(data: Dataset) -> Noises:
    """Return the noise between repeats, by protocol and metric, from rows with at least two runs.

    For each row, the noise is the standard deviation of a single run (not of the mean). It is absolute for ratios, and
    relative for other metrics. In the result, ``run`` is the median over the rows, and ``rows`` is their number.
    """
    by_protocol = {
        protocol: noise(point for point in data.points if point.protocol == protocol)
        for protocol in data.protocols
    }
    return {
        protocol: {metric: {"rows": one.rows, "run": one.run} for metric, one in noises.items()}
        for protocol, noises in by_protocol.items()
        if noises
    }


def points_document(data: Dataset, rows: Sequence[Point]) -> dict[str, object]:
    """Return rows of a dataset as JSON, each with its line number in points.csv."""
    return {
        "schema_version": 1,
        "dataset": {"id": data.id, "sha256": data.sha256},
        "points": [{"line": point.line, **row_record(data, point)} for point in rows],
    }


def select_rows(
    data: Dataset, protocols: list[str], metrics: list[str], options: dict[str, str]
) -> list[Point]:
    """Return the rows with the given protocols, metrics and options. An empty list selects all.

    Raises
    ------
    OutOfDomain
        If the dataset lacks a given protocol, metric, axis or value.
    """
    for noun, names, known in (
        ("protocol", protocols, data.protocols),
        ("metric", metrics, data.metrics),
        ("axis", list(options), data.option_axes),
    ):
        for name in names:
            if name not in known:
                have = ", ".join(known) or "none"
                raise OutOfDomain(f"{data.id} has no {noun} {name!r}: it has {have}")
    for axis, value in options.items():
        values = data.option_values(axis)
        if value not in values:
            have = ", ".join(values)
            raise OutOfDomain(f"{data.id} has no rows at {axis} = {value!r}: it has {have}")
    return [
        point
        for point in data.points
        if point.protocol in (protocols or data.protocols)
        and point.metric in (metrics or data.metrics)
        and all(point.options[data.option_axes.index(axis)] == v for axis, v in options.items())
    ]


def row_record(data: Dataset, point: Point) -> dict[str, object]:
    """Return a dataset row as a mapping from column of points.csv to value. An unlimited load is ``inf``."""
    axes = {axis: getattr(point, axis) for axis in AXES}
    if point.load_bps is not None:
        axes["load_bps"] = _json_number(point.load_bps)
    rest = ("metric", "value", "std", "low", "high", "n", "basis", "source")
    options = dict(zip(data.option_axes, point.options, strict=True))
    return {**axes, **options, **{name: getattr(point, name) for name in rest}}


# --- use cases --------------------------------------------------------------------------------


def usecase_entry(case: UseCase) -> dict[str, object]:
    """Return a use case's entry in the JSON list of use cases: name, title, question, candidates."""
    candidates = [candidate.name for candidate in case.candidates]
    return {**json_of(case, "name", "title", "question"), "candidates": candidates}


def usecase_document(case: UseCase) -> dict[str, object]:
    """Return a use case as JSON: its keys, and its derived numbers."""
    from icmodel.usecase import derive  # pydantic, needed only here

    derivations = [derivation.to_dict() for derivation in derive(case).values()]
    return {**case.model_dump(mode="json"), "derivations": derivations}


# --- systems ----------------------------------------------------------------------------------


def system_entry(system: System) -> dict[str, object]:
    """Return name, title and counts of a system: devices, switches, links and streams."""
    counts = ("devices", "switches", "links", "streams")
    return {
        **json_of(system, "name", "title"),
        **{name: len(getattr(system, name)) for name in counts},
    }


def system_document(system: System, port_loads: tuple[PortLoad, ...]) -> dict[str, object]:
    """Return a system as JSON: its parts by name, in the order of the system file."""
    names = ("group", "source", "sink", "path", "priority", "kind", "multicast")
    return {
        "schema_version": 1,
        "system": system_entry(system),
        "source": system.source,
        "known_limits": list(system.known_limits),
        "nodes": {node: system.node(node).group for node in (*system.devices, *system.switches)},
        "links": {
            link.name: json_of(link, "ends", "rate_bps", "dataset")
            for link in system.links.values()
        },
        "ports": {
            load.port.name: {
                "load_bps": load.mean_bps,
                "load_ratio": load.ratio,
                "streams": [stream.name for stream in load.streams],
            }
            for load in port_loads
        },
        "streams": {stream.name: json_of(stream, *names) for stream in system.streams.values()},
        "requirements": [
            {**one.requirement.to_dict(), "stream": one.stream, "device": one.device}
            for one in system.requirements
        ],
    }


def check_document(system: System, findings: Sequence[Finding]) -> dict[str, object]:
    """Return the findings of a system check as JSON."""
    return {
        "schema_version": 1,
        "system": system_entry(system),
        "findings": [finding.to_dict() for finding in findings],
    }

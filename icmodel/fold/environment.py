"""Environments: a dataset is of one pair of hosts in one configuration, or distinguishes them by axes.

Hardware and software of a host must be the same in all records.  Its settings may differ if the
records' points already distinguish them, by their MTU or by a label such as ``offload``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from icmodel.dataset_rows import AXES
from icmodel.errors import RecordError
from icmodel.fold.axes import DERIVED, MEANINGS, cell
from icmodel.fold.record import Record

HOST = (
    "hostname",
    "kernel",
    "kernel_cmdline",
    "cpu_model",
    "cpus",
    "smt",
    "clock_source",
    "hypervisor",
    "memory_bytes",
    "driver",
    "firmware",
    "governor",
    "icprobe",
)
"""Properties that identify a host: hardware and software."""
SETTING = ("mtu_bytes", "offloads", "qdisc", "link_speed_bps", "sysctls", "libzmq")
"""Settings of a host."""
NOT_COMPARED: Mapping[str, str] = {
    "interface": "a name",
    "mac": "a name; another card shows in driver, firmware or speed",
    "receive_steering": "icprobe sets it by the cores of the run",
}
ENDS = ("caller", "responder")
LENGTH = "duration"
BY_NAME: Mapping[str, str] = {
    LENGTH: "how long the window of a run was asked to be",
    "plan": "the plan that the run belongs to",
    "flags": "the flags of the run",
}
"""Further properties that can become an option axis."""
APART = (*BY_NAME, *HOST, *(name for name in SETTING if name != "mtu_bytes"))
"""All that can."""

OPTIONS = {*AXES, *DERIVED, *MEANINGS} - {"mtu_bytes"}
"""Keys of a point that are neither host settings nor labels; any other key is a label."""

Properties = dict[str, str]
"""The properties of both hosts in one record, by name, as text."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of comparing environments.

    Parameters
    ----------
    labels : mapping
        Run -> axis -> value, for properties that become an option axis.
    meanings : mapping
        Axis -> its meaning.
    explained : mapping
        Property that differs along with an option of the points -> its values.
    """

    labels: Mapping[str, Mapping[str, str]]
    meanings: Mapping[str, str]
    explained: Mapping[str, tuple[str, ...]]


def compare(records: Sequence[Record], apart: Sequence[str]) -> Compared:
    """Compare the environments of all records.

    Parameters
    ----------
    records : sequence of Record
        The records that become rows.
    apart : sequence of str
        Properties that become an option axis each.

    Raises
    ------
    RecordError
        If a property differs that no axis, MTU or label of the points distinguishes.
    """
    if LENGTH not in apart:
        _check_lengths(records)
    found = [_properties(record) for record in records]
    names = sorted({name for one in found for name in one})
    differing = [name for name in names if len({one.get(name, "none") for one in found}) > 1]
    open_ones = [name for name in differing if _field(name) not in apart]
    explained = {}
    for name in open_ones:
        values = [one.get(name, "none") for one in found]
        if _field(name) in HOST or not _follows(values, [_labels(record) for record in records]):
            raise RecordError(_refusal(name, values, records))
        explained[name] = tuple(sorted(set(values)))
    return Compared(
        labels={
            record.run: {axis: _label(axis, record, one, differing) for axis in apart}
            for record, one in zip(records, found, strict=True)
        },
        meanings={
            axis: BY_NAME.get(axis, f"{axis} of the hosts: caller / responder") for axis in apart
        },
        explained=explained,
    )


def _check_lengths(records: Sequence[Record]) -> None:
    """Refuse repeats of a point with windows of different length.

    The greatest latency of a longer window is greater, so such runs are no repeats.
    """
    lengths: dict[str, Record] = {}
    for record in records:
        point = json.dumps(dict(record.point), sort_keys=True)
        first = lengths.setdefault(point, record)
        if first.length != record.length:
            raise RecordError(
                f"runs of one point are not alike: run {first.run} measured for {first.length} and "
                f"run {record.run} for {record.length}; fold them into two datasets, or keep them "
                f"apart by an axis with --apart {LENGTH}"
            )


def _properties(record: Record) -> Properties:
    """The properties of both ends; each offload and kernel setting is one of its own."""
    hosts = {end: dict(_words(record.host(end))) for end in ENDS}
    names = sorted(set(hosts["caller"]) | set(hosts["responder"]))
    words = {name: [hosts[end].get(name, "none") for end in ENDS] for name in names}
    return {name: " / ".join(dict.fromkeys(both)) for name, both in words.items()}


def _words(host: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name in (*HOST, *SETTING):
        value = host.get(name)
        if isinstance(value, Mapping):
            yield from ((f"{name}.{key}", _word(inner)) for key, inner in sorted(value.items()))
        elif name == "memory_bytes" and isinstance(value, int):
            yield name, f"{round(value / 2**30)} GiB"  # what the kernel reserves differs by boot
        elif value is not None:
            yield name, _word(value)


def _word(value: object) -> str:
    return cell(value) if isinstance(value, (bool, int, float, str)) else str(value)


def _field(name: str) -> str:
    return name.partition(".")[0]


def _labels(record: Record) -> tuple[tuple[str, str], ...]:
    """The options of a point that may explain different settings: its MTU and its labels."""
    point = record.point
    return tuple((name, str(point[name])) for name in sorted(point) if name not in OPTIONS)


def _follows(values: Sequence[str], reasons: Sequence[object]) -> bool:
    """Whether each of the reasons occurs with one value only, so that it explains the value."""
    return len(set(zip(reasons, values, strict=True))) == len(set(reasons))


def _refusal(name: str, values: Sequence[str], records: Sequence[Record]) -> str:
    first = next(k for k, value in enumerate(values) if value != values[0])
    return (
        f"the runs are not of one environment: {name} is {values[0]!r} in run {records[0].run} and "
        f"{values[first]!r} in run {records[first].run}; fold them into two datasets, or keep them "
        f"apart by an axis with --apart {_field(name)}"
    )


def _label(axis: str, record: Record, properties: Properties, differing: Sequence[str]) -> str:
    if axis == "plan":
        return "none" if record.document.plan is None else cell(record.document.plan.name)
    if axis == LENGTH:
        return record.length
    if axis == "flags":
        return " ".join(record.flags) or "none"
    if axis in properties:
        return properties[axis]
    parts = [
        f"{name.partition('.')[2]}={properties.get(name, 'none')}"
        for name in differing
        if _field(name) == axis
    ]
    return " ".join(parts) or "same"

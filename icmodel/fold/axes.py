"""Option axes of a folded dataset: columns for the labels of the points, and for settings that differ between records.

The hardware and software of a host must be the same in all records.  Its settings may differ if they follow from the
MTU or a label of the point, such as ``offload``.  With ``--apart``, the user turns a property into an option axis.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from icmodel.dataset.rows import AXES, REST, RUN
from icmodel.dataset.write import number_text
from icmodel.errors import RecordError
from icmodel.fold.records import Label, Record

DERIVED = ("rate_fps",)
"""Keys of a record's point that follow from other keys: the frame rate is the load divided by the payload."""

LEFT_ALONE: Mapping[str, str] = {
    "waiting": "blocking",
    "batch_frames": "1",
    "reverse": "off",
    "streams": "one-a-core",
    "body": "bytes",
    "reply_bytes": "default",
    "dscp": "none",
    "realtime_priority": "none",
    "send_buffer_bytes": "system",
    "receive_buffer_bytes": "system",
    "io_threads": "library",
    "high_water_mark": "library",
    "batch_bytes": "library",
}
"""Value of each option for runs that did not set it, if other runs of the same protocol set it."""
NOT_LABELLED = "none"
"""Value of a label for runs without it, if other runs of the same protocol have the label."""

FIRST_CHOICE: Mapping[str, str] = {"pattern": "stream", "nagle": "on"}
"""Preferred default of some option axes; it is used only if a row has this value."""

MEANINGS: Mapping[str, str] = {
    "pattern": "traffic pattern: stream, ping-pong, oneway-batch, twoway-batch, call",
    "nagle": "whether Nagle's algorithm is on (TCP)",
    "mtu_bytes": "MTU of the sender's interface",
    "streams": "connections; one-a-core: as many as cores",
    "dscp": "requested differentiated services code point",
    "send_buffer_bytes": "requested send buffer of the sockets",
    "receive_buffer_bytes": "requested receive buffer of the sockets",
    "waiting": "wait of the data threads for the network: blocking or polling",
    "batch_frames": "frames per system call",
    "reverse": "whether the responder sends",
    "body": "content of a call",
    "reply_bytes": "payload of an answer",
    "realtime_priority": "real-time priority of the data threads",
    "zeromq_socket": "types of the ZeroMQ sockets of a stream",
    "io_threads": "I/O threads of each end (ZeroMQ)",
    "high_water_mark": "high-water mark of both ends, in messages (ZeroMQ)",
    "batch_bytes": "size of the batch buffers (ZeroMQ)",
}


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
"""Properties of a record that identify a host: its hardware and software."""
SETTING = ("mtu_bytes", "offloads", "qdisc", "link_speed_bps", "sysctls", "libzmq")
"""Settings of a host in a record, such as its MTU."""
NOT_COMPARED: Mapping[str, str] = {
    "interface": "a name",
    "mac": "a name; another card shows in driver, firmware or speed",
    "receive_steering": "icprobe sets it by the cores of the run",
}
ENDS = ("caller", "responder")
LENGTH = "duration"
BY_NAME: Mapping[str, str] = {
    LENGTH: "requested length of a run's window",
    "plan": "the plan that the run belongs to",
    "flags": "the flags of the run",
}
"""Further properties of a record that can become an option axis, each with its meaning."""
APART = (*BY_NAME, *HOST, *(name for name in SETTING if name != "mtu_bytes"))
"""All properties of a record that the user can turn into an option axis."""

OPTIONS = {*AXES, *DERIVED, *MEANINGS} - {"mtu_bytes"}
"""Keys of a record's point that are axes or options; any other key, except the MTU, is a label of the campaign."""

Properties = dict[str, str]
"""Properties of both hosts in one record, by name, as text."""


@dataclass(frozen=True, slots=True)
class OptionAxes:
    """Option axes of a folded dataset, their values, and the options that all runs share.

    Parameters
    ----------
    names : tuple of str
        The axes in alphabetical order.
    cells : mapping
        Values of each run, in the order of ``names``; empty for axes that the run's protocol does not have.
    defaults : mapping
        Default of each axis: the value for a prediction that does not state the axis.
    fixed : mapping
        Options with the same value in all runs, which are not axes.
    """

    names: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    defaults: Mapping[str, str]
    fixed: Mapping[str, str]


def option_axes(records: Sequence[Record], labels: Mapping[str, Mapping[str, str]]) -> OptionAxes:
    """Find the option axes of the given records, with the value of each run on each axis.

    Parameters
    ----------
    records : sequence of Record
        Records that become rows.
    labels : mapping
        Further options that distinguish environments, by name of the run.

    Raises
    ------
    RecordError
        If an option has the name of a column.
    """
    protocols = {record.run: str(record.point["protocol"]) for record in records}
    options = {}
    for record in records:
        own = {
            column_name(record, name): cell(value)
            for name, value in record.point.items()
            if name not in (*AXES, *DERIVED) and cell(value)
        }
        options[record.run] = {**own, **labels.get(record.run, {})}

    # An option is an axis if its value differs, or if only some runs of a protocol have it.
    names: list[str] = []
    fixed: dict[str, str] = {}
    having: dict[str, set[str]] = {}
    for name in sorted({name for own in options.values() for name in own}):
        values = {own[name] for own in options.values() if name in own}
        having[name] = {protocols[run] for run, own in options.items() if name in own}
        lacking = {protocols[run] for run, own in options.items() if name not in own}
        if len(values) > 1 or having[name] & lacking:
            names.append(name)
        else:
            fixed[name] = values.pop()

    # If some runs of a protocol set an option, the other runs get the value for unset options.
    unset = {name: LEFT_ALONE.get(name, NOT_LABELLED) for name in names}
    cells = {
        run: tuple(
            own.get(name, unset[name] if protocols[run] in having[name] else "") for name in names
        )
        for run, own in options.items()
    }
    defaults = {}
    for name, *column in zip(names, *cells.values(), strict=True):
        usual = (FIRST_CHOICE.get(name, ""), unset[name])
        present = [value for value in usual if value and value in column]
        defaults[name] = present[0] if present else most_frequent(filter(None, column))
    return OptionAxes(tuple(names), cells, defaults, fixed)


def axis_entries(axes: OptionAxes, apart: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Make the entries of the option axes in dataset.toml: meaning and default of each axis.

    ``apart`` holds the meanings of the axes that separate environments.
    """
    return {
        name: {
            "meaning": MEANINGS.get(name) or apart.get(name) or "label of the campaign",
            "default": axes.defaults[name],
        }
        for name in axes.names
    }


def cell(value: Label) -> str:
    """Convert an option's value to the text of a cell in points.csv.

    Texts become lower case without commas, booleans ``on`` or ``off``, and numbers plain numbers.
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):  # an integer may be too large for a float
        return str(value)
    if isinstance(value, float):
        return number_text(value)
    return " ".join(value.lower().replace(",", " ").split())


def column_name(record: Record, name: str) -> str:
    """Name of an option's column in points.csv: lower-case letters, digits and underscores.

    Raises
    ------
    RecordError
        If no valid character is left in the name, or another column has the same name.
    """
    column = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_")
    if not column or column in (*AXES, *REST, RUN):
        raise RecordError(
            f"run {record.run} has the label {name!r}, which cannot be a column of its own in points.csv: "
            "rename the label, so that its name has a letter or digit and differs from the other columns"
        )
    return column


def most_frequent(words: Iterable[str]) -> str:
    """Find the most frequent word; among equally frequent words the first in the alphabet."""
    counts = Counter(words)
    return min(counts, key=lambda word: (-counts[word], word))


# --- environments ---


@dataclass(frozen=True, slots=True)
class Compared:
    """Result of comparing the environments (hosts and settings) of all records.

    Parameters
    ----------
    labels : mapping
        Values by run and axis, for properties that become an option axis.
    meanings : mapping
        Meaning of each axis.
    explained : mapping
        Properties of the hosts that differ only because the MTU or a label differs, each with all its values.
    """

    labels: Mapping[str, Mapping[str, str]]
    meanings: Mapping[str, str]
    explained: Mapping[str, tuple[str, ...]]


def compare(records: Sequence[Record], apart: Sequence[str]) -> Compared:
    """Compare the environments (hosts and settings) of all records, and find the axes that separate them.

    Parameters
    ----------
    records : sequence of Record
        Records that become rows.
    apart : sequence of str
        Properties of the environment that may differ between records: the user turns each into an option axis.

    Raises
    ------
    RecordError
        If hardware or software differs between records; if runs of one point measured for different times; or if a
        setting differs between records with the same MTU and labels, so that no axis of the dataset separates them.
    """
    if LENGTH not in apart:
        _check_lengths(records)
    found = [host_properties(record) for record in records]
    names = sorted({name for one in found for name in one})
    differing = [name for name in names if len({one.get(name, "none") for one in found}) > 1]

    # MTU and labels explain a setting if each combination of their values occurs with only one value of the setting.
    reasons = [
        tuple((key, str(record.point[key])) for key in sorted(record.point) if key not in OPTIONS)
        for record in records
    ]
    explained = {}
    for name in differing:
        field = name.partition(".")[0]
        if field in apart:
            continue
        values = [one.get(name, "none") for one in found]
        follows = len(set(zip(reasons, values, strict=True))) == len(set(reasons))
        if field in HOST or not follows:
            first = next(k for k, value in enumerate(values) if value != values[0])
            raise RecordError(
                f"the runs come from different environments: {name} is {values[0]!r} in run "
                f"{records[0].run} and {values[first]!r} in run {records[first].run}; fold them into "
                f'two datasets, or keep them apart by an axis with apart=("{field}",)'
            )
        explained[name] = tuple(sorted(set(values)))
    return Compared(
        labels={
            record.run: {axis: axis_label(axis, record, one, differing) for axis in apart}
            for record, one in zip(records, found, strict=True)
        },
        meanings={
            axis: BY_NAME.get(axis, f"{axis} of the hosts: caller / responder") for axis in apart
        },
        explained=explained,
    )


def _check_lengths(records: Sequence[Record]) -> None:
    """Raise RecordError if runs of one point measured over windows of different length.

    A longer window has a greater maximum latency, so such runs are not repeats.
    """
    lengths: dict[str, Record] = {}
    for record in records:
        point = json.dumps(dict(record.point), sort_keys=True)
        first = lengths.setdefault(point, record)
        if first.length != record.length:
            raise RecordError(
                f"runs of one measured point have different lengths: run {first.run} measured for {first.length} and "
                f"run {record.run} for {record.length}; fold them into two datasets, or keep them "
                f'apart by an axis with apart=("{LENGTH}",)'
            )


def host_properties(record: Record) -> Properties:
    """Collect the properties of both hosts from a record; each offload and kernel setting is a separate property."""
    hosts: dict[str, Properties] = {}
    for end in ENDS:
        words = hosts[end] = {}
        for name in (*HOST, *SETTING):
            value = record.host(end).get(name)
            if isinstance(value, Mapping):
                words |= {f"{name}.{key}": _word(inner) for key, inner in sorted(value.items())}
            elif name == "memory_bytes" and isinstance(value, int):
                words[name] = (
                    f"{round(value / 2**30)} GiB"  # the kernel reserves a different amount at each boot
                )
            elif value is not None:
                words[name] = _word(value)
    names = sorted(set().union(*hosts.values()))
    both = {name: [hosts[end].get(name, "none") for end in ENDS] for name in names}
    return {name: " / ".join(dict.fromkeys(words)) for name, words in both.items()}


def _word(value: object) -> str:
    return cell(value) if isinstance(value, (bool, int, float, str)) else str(value)


def axis_label(axis: str, record: Record, properties: Properties, differing: Sequence[str]) -> str:
    """Value of a run on an option axis that separates runs by their plan or by properties of their hosts.

    An axis may combine several properties.  For example, the value ``lro=off tso=on`` on the axis ``offloads`` combines
    two.

    Parameters
    ----------
    properties : mapping
        Properties of the run's hosts, by name.
    differing : sequence of str
        Names of the properties that differ between runs; the value of a combined axis names only these.
    """
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
        if name.partition(".")[0] == axis
    ]
    return " ".join(parts) or "same"

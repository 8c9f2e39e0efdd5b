"""Option axes: which keys of the records' points become columns, their values and defaults."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from icmodel.dataset_rows import AXES, REST, RUN
from icmodel.dataset_write import number_text
from icmodel.errors import RecordError
from icmodel.fold.record import Label, Record

DERIVED = ("rate_fps",)
"""Keys of a point that follow from others: the load is rate times payload."""

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
"""The value for runs that did not set an option which other runs of the protocol set."""
NOT_LABELLED = "none"
"""The value for runs without a label that other runs of the protocol have."""

FIRST_CHOICE: Mapping[str, str] = {"pattern": "stream", "nagle": "on"}
"""The default of an axis, if the axis has this value."""

MEANINGS: Mapping[str, str] = {
    "pattern": "who sends what when: stream, ping-pong, oneway-batch, twoway-batch, call",
    "nagle": "whether Nagle's algorithm is on (TCP)",
    "mtu_bytes": "MTU of the sender's interface",
    "streams": "connections; one-a-core: as many as cores",
    "dscp": "differentiated services code point that was asked for",
    "send_buffer_bytes": "send buffer of the sockets that was asked for",
    "receive_buffer_bytes": "receive buffer of the sockets that was asked for",
    "waiting": "how data threads wait for the network: blocking or polling",
    "batch_frames": "frames handed over in one system call",
    "reverse": "whether the end that answered is the one that sends",
    "body": "what a call carries",
    "reply_bytes": "payload of an answer",
    "realtime_priority": "real-time priority of the data threads",
    "zeromq_socket": "the ZeroMQ sockets that carry a stream",
    "io_threads": "I/O threads of each end (ZeroMQ)",
    "high_water_mark": "high-water mark of both ends, in messages (ZeroMQ)",
    "batch_bytes": "size of the batch buffers (ZeroMQ)",
}


@dataclass(frozen=True, slots=True)
class OptionAxes:
    """The option axes of a dataset, and the options that all runs share.

    Parameters
    ----------
    names : tuple of str
        The axes in alphabetical order.
    cells : mapping
        Run -> its values in the order of ``names``; empty for axes that its protocol does not have.
    defaults : mapping
        Axis -> the value that a question without it takes.
    fixed : mapping
        Options with one value in all runs, which are no axes.
    """

    names: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    defaults: Mapping[str, str]
    fixed: Mapping[str, str]


def option_axes(records: Sequence[Record], labels: Mapping[str, Mapping[str, str]]) -> OptionAxes:
    """The option axes of some records.

    Parameters
    ----------
    records : sequence of Record
        The records that become rows.
    labels : mapping
        Run -> further options by name, which distinguish environments.

    Raises
    ------
    RecordError
        If an option has the name of a column.
    """
    said = {record.run: {**_options(record), **labels.get(record.run, {})} for record in records}
    protocols = {record.run: str(record.point["protocol"]) for record in records}
    found = sorted({name for options in said.values() for name in options})
    names = tuple(name for name in found if _varies(name, said, protocols))
    spoken = {
        name: {protocols[run] for run, options in said.items() if name in options} for name in names
    }
    cells = {
        run: tuple(
            options.get(name, _left_alone(name) if protocols[run] in spoken[name] else "")
            for name in names
        )
        for run, options in said.items()
    }
    fixed = {
        name: next(options[name] for options in said.values() if name in options)
        for name in found
        if name not in names
    }
    defaults = {
        name: _default(name, [row[k] for row in cells.values()]) for k, name in enumerate(names)
    }
    return OptionAxes(names, cells, defaults, fixed)


def axis_entries(axes: OptionAxes, apart: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The entries of the option axes in dataset.toml; ``apart`` has the meanings of further axes."""
    return {
        name: {
            "meaning": MEANINGS.get(name) or apart.get(name) or "label of the campaign",
            "default": axes.defaults[name],
        }
        for name in axes.names
    }


def cell(value: Label) -> str:
    """An option's value as a cell of points.csv: lower case, no commas, on or off, plain numbers."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (int, float)):
        return number_text(value)
    return " ".join(value.lower().replace(",", " ").split())


def _options(record: Record) -> dict[str, str]:
    return {
        _column(record, name): cell(value)
        for name, value in record.point.items()
        if name not in AXES and name not in DERIVED and cell(value)
    }


def _column(record: Record, name: str) -> str:
    column = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_")
    if not column or column in (*AXES, *REST, RUN):
        raise RecordError(
            f"run {record.run} has the option {name!r}, which cannot be a column of its own: give "
            "the label another name"
        )
    return column


def _varies(name: str, said: Mapping[str, Mapping[str, str]], protocols: Mapping[str, str]) -> bool:
    values = {options[name] for options in said.values() if name in options}
    with_it = {protocols[run] for run, options in said.items() if name in options}
    without = {protocols[run] for run, options in said.items() if name not in options}
    return len(values) > 1 or bool(with_it & without)


def _left_alone(name: str) -> str:
    return LEFT_ALONE.get(name, NOT_LABELLED)


def _default(name: str, cells: Sequence[str]) -> str:
    """The usual value if present, else the one for an option not set, else the most frequent."""
    for choice in (FIRST_CHOICE.get(name, ""), _left_alone(name)):
        if choice and choice in cells:
            return choice
    return most_frequent(filter(None, cells))


def most_frequent(words: Iterable[str]) -> str:
    """The most frequent of some words, the first in the alphabet if tied."""
    counts = Counter(words)
    return min(counts, key=lambda word: (-counts[word], word))

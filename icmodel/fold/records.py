"""Read the records of icprobe. A record is the result of one run: the unchanged line, its checked parts, and its flags.

Some flags mean that a metric is wrong, or that it measures another quantity than its name states. Such metrics are left
out. Other flags mean that the hosts were disturbed. Such runs are used: leaving them out would select runs by their
results, and would understate the spread of a new run on these hosts.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from icmodel.documents import json_value
from icmodel.errors import RecordError

HOW_TO_MAKE = "give a file of `icprobe run` or `icprobe campaign`, with one JSON object per line"

Text = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Label = bool | int | float | str
MOST_LABEL = 2**63 - 1
"""Greatest whole number that icprobe writes as a condition."""


def _moment(text: str) -> str:
    """Check that a text is a date and time with a time zone, such as ``2026-01-02T03:04:05Z``."""
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError(f"{text!r} has no time zone: append Z for UTC")
    return text


Moment = Annotated[str, AfterValidator(_moment)]
End = Literal["send", "recv"]
ENDS: tuple[End, ...] = ("send", "recv")


BUSY_SHARE = 0.1
"""Share of time in use above which a core counts as busy; icprobe's limit for the flag ``busy-host``."""
MISSED_SHARE = 1e-3
"""Share of the requested load that a sender may miss; icprobe's limit for the flag ``pacing-error``."""


class Part(BaseModel):
    """Base class of a record's JSON document and its parts; keys that a class does not declare are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class ToolMark(Part):
    """Entry ``tool`` of a record: name and version of the tool that measured."""

    name: Text
    version: Text


class Background(Part):
    """Stream that the plan ran beside the measured one; ``covered`` tells whether it lasted for the whole run."""

    covered: bool


class PlanMark(Part):
    """Entry ``plan`` of a record: the campaign of the run, the measured point, and the number of the repeat."""

    name: Text
    digest: Text
    point: Text
    repeat: int
    kind: str
    held_out: bool
    background: tuple[Background, ...] = Field(default=(), strict=False)


class Hosts(Part):
    """Entry ``environment`` of a record: the properties of the sending and of the receiving host."""

    send: dict[str, Any]
    recv: dict[str, Any]


class CoreTime(Part):
    """Use of one core of a host: the shares of time in which the hypervisor took the core, and in which it was idle."""

    core: int
    steal: Number = 0.0
    idle: Number = 1.0


class Baseline(Part):
    """Use of a host's cores before a run, when the measured stream has not started."""

    cores: tuple[CoreTime, ...] = Field(default=(), strict=False)


class Modes(Baseline):
    """Use of one host's cores during the measurement window of a run; ``baseline`` has the use before the run."""

    baseline: Baseline | None = None


class RecordDocument(Part):
    """JSON document of a record, with the keys that a dataset needs; icprobe's schema describes all keys."""

    schema_version: Literal[1]
    run: Text
    started_utc: Moment
    tool: ToolMark
    point: dict[str, Label]
    settings: dict[str, Any] = Field(default_factory=dict)
    result: dict[str, Number]
    environment: Hosts
    flags: list[str]
    plan: PlanMark | None = None
    cores: dict[End, list[int]] = Field(default_factory=dict)
    cpu_modes: dict[End, Modes] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """Record of one run: its parsed document, and the line from which it was read."""

    line: str
    document: RecordDocument

    @property
    def run(self) -> str:
        """Name of the recorded run."""
        return self.document.run

    @property
    def point(self) -> Mapping[str, Label]:
        """Conditions of the run: its axes and options."""
        return self.document.point

    @property
    def result(self) -> Mapping[str, float]:
        """Measured values of the run by metric, in SI units."""
        return self.document.result

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags of the run, sorted; each names something that disturbed the run or its measurement."""
        return tuple(sorted(self.document.flags))

    @property
    def held_out(self) -> bool:
        """Whether the plan holds this run out, so that no fit may use it."""
        return self.document.plan is not None and self.document.plan.held_out

    @property
    def kind(self) -> str:
        """The run's kind in its plan, such as ``grid`` or ``search``; ``grid`` without a plan."""
        return "grid" if self.document.plan is None else self.document.plan.kind

    @property
    def others(self) -> bool:
        """Whether the conditions of the run include other streams to the same interface."""
        endpoints = self.point.get("endpoints", 1)
        return isinstance(endpoints, int) and endpoints > 1

    @property
    def steal(self) -> float:
        """Greatest share of time, 0…1, that the hypervisor took from any core in use during the run."""
        lost = [core.steal for end in ENDS for core in self._used(end, self._modes(end))]
        return max(lost, default=0.0)

    @property
    def same_cores(self) -> bool:
        """Whether competing streams ran on the sender's cores: one of these cores was busy before the run began."""
        before = self._used("send", self._modes("send").baseline or Baseline())
        busy = max((1 - core.idle for core in before), default=0.0)
        return self.others and BUSY in self.document.flags and busy > BUSY_SHARE

    def _modes(self, end: End) -> Modes:
        return self.document.cpu_modes.get(end, Modes())

    def _used(self, end: End, of: Baseline) -> list[CoreTime]:
        """Select from ``of`` the cores on which the data threads of one host (``send`` or ``recv``) ran.

        Each core comes with the shares of time in which it was idle, or taken by the hypervisor.
        """
        return [core for core in of.cores if core.core in self.document.cores.get(end, ())]

    @property
    def offered(self) -> bool:
        """Whether the load was limited, and the sender sent all of it."""
        load, sent = self.point.get("load_bps"), self.result.get("sent_bps", 0.0)
        return isinstance(load, float | int) and sent >= (1 - MISSED_SHARE) * load

    @property
    def length(self) -> str:
        """Planned length of the measurement window, as a text in frames or seconds."""
        asked = self.document.settings
        frames = asked.get("frames")
        return f"{frames} frames" if frames is not None else f"{asked.get('duration_s', '?')} s"

    @property
    def source(self) -> str:
        """Source of the rows made from this record: the plan and its point, or the run if there is no plan."""
        plan = self.document.plan
        return f"run {self.run}" if plan is None else f"plan {plan.name} point {plan.point}"

    def host(self, end: str) -> Mapping[str, Any]:
        """Properties of a host by its role, ``caller`` or ``responder``; in a reversed run the responder sends."""
        reverse = self.point.get("reverse") is True
        hosts = self.document.environment
        return hosts.send if (end == "caller") != reverse else hosts.recv


def record_of(line: str) -> Record:
    """Read the record of one run from a line of JSON.

    Raises
    ------
    RecordError
        If the line is not a record of schema version 1.
    """
    try:
        document = RecordDocument.model_validate_json(line)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in problem["loc"])
        said = f"{place} {problem['msg'][0].lower()}{problem['msg'][1:]}".strip()
        raise RecordError(f"not a record of icprobe, {said}: {HOW_TO_MAKE}") from error
    for key in ("protocol", "payload_bytes", "cores"):
        if key not in document.point:
            raise RecordError(f"not a record of icprobe, point.{key} is missing: {HOW_TO_MAKE}")
    for key, label in document.point.items():
        if isinstance(label, int) and abs(label) > MOST_LABEL:
            raise RecordError(
                f"run {document.run} has {key} of {len(str(label))} digits: the record is damaged, so remove its line"
            )
    for metric, value in document.result.items():
        if value < 0 or (metric == "loss_rate" and value > 1):
            raise RecordError(
                f"run {document.run} has {metric} {value:g}, which is impossible: the record is damaged, so remove "
                "its line"
            )
    load = document.point.get("load_bps", 1.0)
    if isinstance(load, (bool, str)) or not 0 < load < math.inf:
        raise RecordError(
            f"run {document.run} has load_bps {load!r}: it must be above 0, or absent"
        )
    return Record(line, document)


Progress = Callable[[int, int], None]
"""Type of a progress function: it is called with the number of records read so far, and the total number."""
_GZIP = b"\x1f\x8b"
LARGEST_BYTES = 2**30
"""Greatest unpacked size of a compressed file of records [B]."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Result of reading files of records: the records, the number of duplicates, and notes on omitted lines."""

    records: tuple[Record, ...]
    duplicates: int = 0
    notes: tuple[str, ...] = ()


def read_records(files: Iterable[str | Path], progress: Progress | None = None) -> Reading:
    """Read the records of all files, in order of time, each run once.

    An incomplete last line is omitted with a note: a continued campaign measures that run again.

    Parameters
    ----------
    files : iterable of paths
        Plain files, or files compressed by gzip.
    progress : callable, optional
        Called after each record with the number of records read so far, and the total number.

    Raises
    ------
    RecordError
        If a file cannot be read, or a line is not a record.
    """
    found: dict[str, Record] = {}
    notes: list[str] = []
    duplicates = 0
    opened = [(path, *numbered_lines(path)) for path in map(Path, files)]
    total, done = sum(len(lines) for _, lines, _ in opened), 0
    for path, lines, torn in opened:
        if torn:
            notes.append(f"{path.name}: the last line is incomplete and is left out")
        for number, line in lines:
            done += 1
            if progress is not None:
                progress(done, total)
            try:
                record = record_of(line)
            except RecordError as error:
                raise RecordError(f"{path} line {number}: {error}") from error
            before = found.setdefault(record.run, record)
            if before.line != line:
                raise RecordError(
                    f"{path} line {number}: run {record.run} occurs twice with different content: give "
                    "only the file that icprobe wrote"
                )
            duplicates += before is not record
    if not found:
        raise RecordError(f"the given files have no record: {HOW_TO_MAKE}")
    ordered = sorted(found.values(), key=lambda record: (record.document.started_utc, record.run))
    return Reading(tuple(ordered), duplicates, tuple(notes))


def unpacked(body: bytes, path: Path) -> bytes:
    """Decompress the bytes of a file if it is gzip; other bytes are returned unchanged.

    Raises
    ------
    RecordError
        If the gzip data are damaged, or unpack to more than `LARGEST_BYTES`.
    """
    if not body.startswith(_GZIP):
        return body
    try:
        with gzip.open(io.BytesIO(body)) as file:
            content = file.read(LARGEST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise RecordError(f"{path} is damaged gzip ({error}): copy it again") from error
    if len(content) > LARGEST_BYTES:
        raise RecordError(f"{path} unpacks to more than {LARGEST_BYTES} B: split it")
    return content


def numbered_lines(path: Path) -> tuple[list[tuple[int, str]], bool]:
    """Read the non-empty lines of a file of records, with their numbers.

    The second result tells whether an incomplete last line was omitted.
    """
    try:
        body = unpacked(path.read_bytes(), path)
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}") from error
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RecordError(f"{path} is not UTF-8 ({error.reason}): {HOW_TO_MAKE}") from error
    lines = text.split("\n")
    torn = False
    if lines[-1].strip():
        try:
            json_value(lines[-1])
        except ValueError:
            torn = True
    kept = lines[:-1] if torn else lines
    numbered = [(n, line.rstrip("\r")) for n, line in enumerate(kept, start=1) if line.strip()]
    return numbered, torn and bool(numbered)


EVERY = ("",)
"""Prefixes that match every metric."""
CPU = ("cpu_send", "cpu_recv")
LATENCIES = ("latency_",)
BESIDE = "overlapping"
"""Flag of a run whose responder served two runs at the same time."""
BESIDE_ON_PURPOSE = ("cpu_recv", "packets_received")
"""Prefixes of metrics that the flag ``overlapping`` spoils if the plan has other streams to the same interface."""
BUSY = "busy-host"
"""Flag of a run if the sending or the receiving host was busy before the run; the flag does not tell which host."""
THROUGH = ("goodput_bps", "loss_rate")
"""Metrics of a run that stay usable if other streams were sent from the sender's own cores."""

_FLAGS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "incomplete": (EVERY, "the window is empty or cut short"),
    "overlapping": (EVERY, "another run used the same responder at the same time"),
    "shared-cores": (EVERY, "both ends used the same cores, so they are not two hosts"),
    "pacing-error": (EVERY, "the sender missed the requested load"),
    "no-realtime": (EVERY, "the run did not have the requested priority"),
    "negative-latency": (LATENCIES, "the clocks contradict each other"),
    "clocks-unknown": (LATENCIES, "the offset of the clocks could not be measured"),
    "clock-bound": (LATENCIES, "the clocks may be wrong by more than half the latency"),
    "latency-truncated": (LATENCIES, "only the first frames were timed"),
    "no-steady-state": (
        LATENCIES,
        "the latency had not settled, so its mean depends on the window's length",
    ),
    "unsteered": (CPU, "CPU values mix the work of both ends"),
    "foreign-frames": ((*CPU, "packets_"), "the hosts also received frames of other senders"),
    "busy-host": ((), "the hosts had other work, whose mean is subtracted from the CPU values"),
    "preempted": ((), "other work took the core of a data thread"),
    "stalled": ((), "the whole machine stopped for a while"),
    "steal": ((), "the hypervisor took time from a core"),
}
SPOILS = {flag: prefixes for flag, (prefixes, _) in _FLAGS.items()}
"""Prefixes of the metrics that each flag makes unusable; empty for a flag that only reports a disturbed host."""
WHY = {flag: why for flag, (_, why) in _FLAGS.items()}
"""Explanation of each flag of a run, by flag: what disturbed the run or its measurement."""

PROCESS_CPU = ("cpu_send_process_cores", "cpu_recv_process_cores")
"""Metrics of the CPU time of the process alone; other work on the same cores does not change them."""
SPARE_PROCESS_CPU = ("shared-cores", "unsteered", "foreign-frames")
"""Flags that spoil CPU metrics, but not the CPU time of the process alone (`PROCESS_CPU`)."""


def spoilt_by(flag: str, metric: str, *, others: bool = False, same_cores: bool = False) -> bool:
    """Whether a flag of a run makes a metric unusable; an unknown flag makes every metric unusable.

    Parameters
    ----------
    flag, metric : str
        Names of the flag and the metric.
    others : bool
        Whether the point has other streams to the same interface. Then the flag ``overlapping`` only spoils the CPU
        load and the packet count of the receiver, since other runs at the same time are planned.
    same_cores : bool
        Whether these other streams are sent from the sender's own cores. Then the flag ``busy-host`` spoils all metrics
        but goodput and loss rate.
    """
    if same_cores and flag == BUSY:
        return metric not in THROUGH
    prefixes = BESIDE_ON_PURPOSE if others and flag == BESIDE else SPOILS.get(flag, EVERY)
    spared = metric in PROCESS_CPU and flag in SPARE_PROCESS_CPU
    return metric.startswith(prefixes) and not spared


def spoilers(
    flags: Sequence[str],
    metric: str,
    tolerate: Sequence[str],
    refuse: Sequence[str],
    *,
    others: bool = False,
    same_cores: bool = False,
) -> tuple[str, ...]:
    """Find the flags that make a metric of a run unusable, so that the metric is left out.

    Parameters
    ----------
    flags : sequence of str
        The run's flags.
    metric : str
        Name of the metric.
    tolerate : sequence of str
        Flags to ignore.
    refuse : sequence of str
        Flags that spoil every metric.
    others : bool
        Whether the plan has other streams to the same interface. If so, the flag ``overlapping`` (two runs at once)
        is intended, and spoils only the metrics of the receiver's CPU and of received packets.
    same_cores : bool
        Whether these other streams are sent from the sender's own cores. If so, the flag ``busy-host`` spoils all
        metrics except goodput and loss.
    """

    def spoils(flag: str) -> bool:
        return spoilt_by(flag, metric, others=others, same_cores=same_cores)

    return tuple(
        flag for flag in flags if flag in refuse or (flag not in tolerate and spoils(flag))
    )


WITHHELD = ("hostname", "kernel_cmdline", "mac")
"""Properties of hosts that can be withheld from stored records, since no number depends on them."""

REPLACEMENT = "withheld"
HIDDEN = (None, "", REPLACEMENT)
"""Values of a host's property that reveal nothing, so that they need not be withheld."""


def stored(record: Record, withhold: Sequence[str], digits: int | None) -> Record:
    """Redact a record to the form that is stored in the dataset's folder.

    Parameters
    ----------
    withhold : sequence of str
        Properties of the hosts to withhold, each one of `WITHHELD`.
    digits : int, optional
        Greatest number of significant digits in histograms; by default all digits stay.
    """
    shown = without(record, withhold)
    return shown if digits is None else coarser(shown, digits)


def without(record: Record, names: Sequence[str]) -> Record:
    """Copy a record with some properties of its hosts replaced by ``withheld``.

    Parameters
    ----------
    record : Record
        The record as icprobe wrote it.
    names : sequence of str
        Properties to withhold, each one of `WITHHELD`.

    Raises
    ------
    RecordError
        If a property has another form than icprobe writes, so that it cannot be replaced.
    """
    before, environment, line = record.line.partition('"environment":')
    for name in names:
        line = re.sub(rf'("{name}":\s*)"(?:[^"\\]|\\.)*"', rf'\1"{REPLACEMENT}"', line)
    line = before + environment + line
    shown = record if line == record.line else record_of(line)
    hosts = (shown.document.environment.send, shown.document.environment.recv)
    told = {name for host in hosts for name in names if host.get(name) not in HIDDEN}
    if told:
        raise RecordError(
            f"run {record.run} has {', '.join(sorted(told))} in a form that cannot be redacted: give "
            "the file that icprobe wrote"
        )
    return shown


DIGITS = '"significant_digits"'
HISTOGRAM = re.compile(DIGITS + r':\s*(\d+),\s*"buckets":\s*(\[[\d\s,\[\]]*\])')
LEAST_DIGITS, MOST_DIGITS = 1, 3


def coarser(record: Record, digits: int) -> Record:
    """Copy a record with at most ``digits`` significant digits in its histograms.

    Raises
    ------
    RecordError
        If a histogram has another form than icprobe writes, so that it cannot be reduced.
    """

    def reduced(found: re.Match[str]) -> str:
        buckets = [] if int(found[1]) <= digits else merged_buckets(json.loads(found[2]), digits)
        if not buckets:
            return found[0]
        text = json.dumps(buckets, separators=(",", ":"))
        return f'{DIGITS}:{digits},"buckets":{text}'

    line, known = HISTOGRAM.subn(reduced, record.line)
    if line.count(DIGITS) > known:
        raise RecordError(
            f"run {record.run} has a histogram in another form than icprobe writes, so its digits "
            "cannot be reduced: give the file that icprobe wrote"
        )
    return record if line == record.line else record_of(line)


def merged_buckets(buckets: list[list[int]], digits: int) -> list[list[int]]:
    """Reduce a histogram to ``digits`` significant digits by merging its buckets ``[lower, upper, count]``.

    All widths are powers of two. So each wider bucket consists of whole narrower buckets, and no count is divided.
    """
    bits = (2 * 10**digits).bit_length()
    counts: Counter[tuple[int, int]] = Counter()
    for lower, _, count in buckets:
        shift = max(0, lower.bit_length() - bits)
        start = lower >> shift << shift
        counts[start, start + (1 << shift) - 1] += count
    return [[*ends, count] for ends, count in sorted(counts.items())]

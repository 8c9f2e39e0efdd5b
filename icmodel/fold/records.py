"""Record of icprobe, the result of one run: its unchanged line, and the checked parts that a dataset needs."""

from __future__ import annotations

import gzip
import io
import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from icmodel.documents import json_value
from icmodel.errors import RecordError
from icmodel.fold.flags import BUSY

HOW_TO_MAKE = "`icprobe run` and `icprobe campaign` write records, one JSON object a line"

Text = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Label = bool | int | float | str


def _moment(text: str) -> str:
    """Check that a text is a moment with its time zone, such as ``2026-01-02T03:04:05Z``."""
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
    """Base of the parts of a record's JSON document; keys that are not declared are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class ToolMark(Part):
    """Entry ``tool`` of a record: name and version of the tool that measured."""

    name: Text
    version: Text


class Background(Part):
    """Another stream of the plan during the run; ``covered`` tells whether it ran during the whole run."""

    covered: bool


class PlanMark(Part):
    """Entry ``plan`` of a record: the place of the run in a measurement campaign."""

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
    """Use of one core of a host: shares of the time that were stolen or idle."""

    core: int
    steal: Number = 0.0
    idle: Number = 1.0


class Baseline(Part):
    """Use of a host's cores while the hosts are idle before a run."""

    cores: tuple[CoreTime, ...] = Field(default=(), strict=False)


class Modes(Baseline):
    """Use of one host's cores during the window, and while the host is idle before the run."""

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
        """Whether other streams that were active before the run used the sender's own cores."""
        before = self._used("send", self._modes("send").baseline or Baseline())
        busy = max((1 - core.idle for core in before), default=0.0)
        return self.others and BUSY in self.document.flags and busy > BUSY_SHARE

    def _modes(self, end: End) -> Modes:
        return self.document.cpu_modes.get(end, Modes())

    def _used(self, end: End, of: Baseline) -> list[CoreTime]:
        """Use of the cores on which the data threads of one host (``send`` or ``recv``) ran."""
        return [core for core in of.cores if core.core in self.document.cores.get(end, ())]

    @property
    def offered(self) -> bool:
        """Whether the load was limited and the sender offered all of it."""
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
        """Properties of the host in a role, ``caller`` or ``responder``; in a reversed run the responder sends."""
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
    for metric, value in document.result.items():
        if value < 0 or (metric == "loss_rate" and value > 1):
            raise RecordError(
                f"run {document.run} has {metric} {value:g}, which is impossible: the record is damaged"
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
        Called after each record with the number of records read and in total.

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
            notes.append(f"{path.name}: the last line was cut while it was written and is left out")
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
                    f"{path} line {number}: run {record.run} occurs twice with different content, so "
                    "one of the two was changed; give the file that icprobe wrote"
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
    torn = bool(lines[-1].strip()) and not _is_json(lines[-1])
    kept = lines[:-1] if torn else lines
    numbered = [(n, line.rstrip("\r")) for n, line in enumerate(kept, start=1) if line.strip()]
    return numbered, torn and bool(numbered)


def _is_json(line: str) -> bool:
    try:
        json_value(line)
    except ValueError:
        return False
    return True

"""Find, read and create systems: bundled systems by name, other systems by path. Compare them with use cases.

A use case states a rate for each candidate (a possible interconnect), and `icmodel evaluate` requests this
rate. `icmodel system` requests the produced rate. If the two rates differ, the verdicts may differ too. So
both commands note the difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from icmodel import units
from icmodel.dataset import catalogue, shipped
from icmodel.errors import Fault, Mistakes, NetworkError, Place, UseCaseError
from icmodel.reading import Form, SourceFile, TomlFiles, read_document, read_file
from icmodel.system.checking import Finding, check
from icmodel.system.document import SCHEMA_VERSION, SystemDocument
from icmodel.system.expansion import expand_sound_part
from icmodel.system.network import System
from icmodel.system.requirements import derive_for_system, stream_requirements
from icmodel.system.schedulers import SCHEDULERS
from icmodel.system.traffic_sources import PRODUCERS
from icmodel.usecase import (
    Derivations,
    Evaluation,
    UseCase,
    load_derived,
    load_usecase,
    usecase_names,
)
from icmodel.usecase.evaluation import at_needed_rate

SAMPLES: Mapping[str, Any] = {
    **dict.fromkeys(("name", "title", "source"), "x"),
    "devices": {"source": "x"},
    "switches": {"forwarding": "store-and-forward", "latency_s": 0.0},
    "links": {"rate_bps": 1e12},
    "streams": {
        "produces": {"kind": "goodput", "goodput_bps": 1.0},
        "protocol": "udp",
        "payload_bytes": 1,
    },
    "requirements": {"metric": "goodput_bps", "at_least": "0 b/s"},
}
"""Valid sample values that replace wrong values, so that the rest of a file can be checked."""
FORM = Form(
    SystemDocument,
    SCHEMA_VERSION,
    NetworkError,
    kinds={"scheduler": SCHEDULERS, "produces": PRODUCERS},
    example="`icmodel system new` shows an example of most keys",
    samples=lambda _: SAMPLES,
)


SYSTEMS = TomlFiles("system", "icmodel system new", shipped("usecases") / "systems", NetworkError)


def load(name: str | Path) -> System:
    """Load a system by bundled name or path. Its groups are expanded, and its streams are routed.

    Raises
    ------
    NetworkError
        If the file is missing or breaks the format, or the system has an unconnected or contradictory
        part. An overload is allowed, since an overloaded system can be predicted.

    Examples
    --------
    >>> load("imaging")
    System('imaging': 15 devices, 1 switches, 17 links, 14 streams)
    """
    path = find_system(name)
    opened = read_open(read_file(path, NetworkError), path.name, path.parent)
    return _with_file(opened.checked(), path)


def load_checked(name: str | Path) -> tuple[System, tuple[Finding, ...]]:
    """Load a system by bundled name or path, and check it; return the system and all findings.

    Raises
    ------
    NetworkError
        If the file is missing or breaks the format, so that no system can be checked.
    """
    path = find_system(name)
    system, findings = read_system(read_file(path, NetworkError), path.name, path.parent)
    return _with_file(system, path), findings


def _with_file(system: System, path: Path) -> System:
    """Copy a system with the hash of its file, and with the name of the file unless the system is bundled."""
    made_of = SYSTEMS.source(path)
    own = path.name if path.name == made_of.name else ""
    return replace(system, file=own, sha256=made_of.sha256)


def system_file(name: str | Path) -> SourceFile:
    """Return the name and hash of a system's file; ``name`` is the name of a bundled system, or a path."""
    return SYSTEMS.source(name)


def read_system(
    text: str, file: str = "the system", folder: Path | None = Path()
) -> tuple[System, tuple[Finding, ...]]:
    """Read a system from a TOML text, and check it; return the system and all findings.

    Parameters
    ----------
    file : str
        Name of the file in error messages.
    folder : Path, optional
        Folder to which the path of a use case is relative; if None, only bundled use cases and datasets are
        read.

    Raises
    ------
    NetworkError
        If the text breaks the format.
    """
    system = read_open(text, file, folder).system()
    return system, check(system)


@dataclass(frozen=True, slots=True)
class OpenSystem:
    """A system before it is expanded: its document, whose tables can be changed, and its use case.

    Parameters
    ----------
    document : SystemDocument
        Tables of the file.
    usecase : UseCase, optional
        Use case that the document names.
    blank : Mistakes
        Empty collection of mistakes, made for the name and text of the file. Each check of the system adds its
        mistakes to a copy.
    derived : mapping
        Numbers by name, such as ``picture.period_s``, that limits of the use case may refer to. They are derived from
        the system's traffic sources.
    """

    document: SystemDocument
    usecase: UseCase | None
    blank: Mistakes
    derived: Derivations = field(default_factory=dict)

    @property
    def file(self) -> str:
        """Name of the file in error messages."""
        return self.blank.file

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of all datasets that the document names for links and devices, sorted.

        Alternatives in ``choices`` are included.
        """
        document = self.document
        names = {link.dataset for link in document.links}
        names |= {device.dataset for device in document.devices}
        if document.choices is not None:
            names |= {one for links in document.choices.links.values() for one in links.dataset}
        return tuple(sorted(filter(None, names)))

    def system(self) -> System:
        """Make the system from the document: expand groups into members, and route the streams.

        Raises
        ------
        NetworkError
            If two groups cannot be paired, or a stream has no route. The message lists all mistakes of the file.
        """
        mistakes = replace(self.blank)
        system = self._sound_part(mistakes)
        mistakes.refuse(NetworkError)
        return system

    def checked(self) -> System:
        """Make the system, and refuse it if a part is unconnected or contradictory.

        Raises
        ------
        NetworkError
            For the reasons stated in `system`, or if `check` finds an unconnected or contradictory part.
        """
        mistakes = replace(self.blank)
        system = self._sound_part(mistakes)
        _add_findings(system, mistakes)
        mistakes.refuse(NetworkError)
        return system

    def _sound_part(self, mistakes: Mistakes) -> System:
        """Make the system from its valid parts, and add the mistakes of all parts to ``mistakes``.

        If there is a mistake, the valid parts are also checked as a system, and the mistakes found there are added.
        """
        requirements = stream_requirements(self.document, self.usecase, self.derived, mistakes)
        system = expand_sound_part(self.document, requirements, mistakes)
        if mistakes:
            _add_findings(system, mistakes)
        return system


def _add_findings(system: System, mistakes: Mistakes) -> None:
    for finding in check(system):
        if finding.refused:
            mistakes.add(finding.fault)


def load_open(name: str | Path) -> OpenSystem:
    """Load a system by bundled name or path, as an `OpenSystem` whose tables can be changed.

    Raises
    ------
    NetworkError
        If the file is missing or breaks the format.
    """
    path = find_system(name)
    return read_open(read_file(path, NetworkError), path.name, path.parent)


def read_open(text: str, file: str, folder: Path | None = Path()) -> OpenSystem:
    """Read a system from a TOML text, as an `OpenSystem` whose tables can be changed; see `read_system`.

    Raises
    ------
    NetworkError
        If the text breaks the format. The message has all mistakes of the file.
    """
    document, mistakes = read_document(text, file, FORM)
    if document is None:
        mistakes.refuse(NetworkError)
    assert document is not None  # `refuse` raises an error without a document
    if folder is None:
        document = _with_bundled_datasets(document, mistakes)
    usecase: UseCase | None = None
    derived: Derivations = {}
    if document.usecase is not None:
        with mistakes.at("usecase"):
            usecase = _usecase(document.usecase, folder)
            derived = derive_for_system(usecase, document)
    opened = OpenSystem(document, usecase, Mistakes(file, text, mistakes.document), derived)
    if mistakes:
        opened._sound_part(mistakes)
        mistakes.refuse(NetworkError)
    return opened


def _with_bundled_datasets(document: SystemDocument, mistakes: Mistakes) -> SystemDocument:
    """Remove all datasets from a document except bundled ones, and add a mistake for each removed dataset.

    No file of a removed dataset is read.
    """

    def bundled(name: str | None, place: Place) -> str | None:
        if name is None or name in catalogue():
            return name
        text = f"there is no dataset {name!r}: use one of {', '.join(catalogue())}"
        mistakes.add(Fault(text, place))
        return None

    changed = {
        part: tuple(
            table.model_copy(update={"dataset": bundled(table.dataset, (part, at, "dataset"))})
            for at, table in enumerate(getattr(document, part))
        )
        for part in ("links", "devices")
    }
    for key, choice in document.choices.links.items() if document.choices else ():
        for name in choice.dataset:
            bundled(name, ("choices", "links", key, "dataset"))
    return document.model_copy(update=changed)


def _usecase(name: str, folder: Path | None) -> UseCase:
    """Find a use case: a bundled one, otherwise a file in ``folder``. If ``folder`` is None, no file is read.

    Raises
    ------
    UseCaseError
        If there is no such use case.
    """
    if name in usecase_names():
        return load_usecase(name)
    if folder is None:
        raise UseCaseError(
            f"usecase = {name!r} is not bundled: use one of {', '.join(usecase_names())}"
        )
    return load_usecase(folder / name)


def find_system(name: str | Path) -> Path:
    """Path of a system's file, given a bundled name or a path.

    Raises
    ------
    NetworkError
        If no bundled system and no file has this name, or the file cannot be read.
    """
    return SYSTEMS.find(name)


def system_names() -> tuple[str, ...]:
    """Names of the bundled systems, sorted.

    >>> "imaging" in system_names()
    True
    """
    return SYSTEMS.names()


def system_schema() -> Mapping[str, Any]:
    """JSON Schema of a system file; each quantity has two keys: one for a number in SI, one for a text with a unit."""
    return SystemDocument.model_json_schema()


SAME = 1e-9
"""Relative difference up to which two requested rates count as equal."""

_load_usecase = lru_cache(maxsize=32)(load_derived)
_load_system = lru_cache(maxsize=32)(load)


def notes_on_usecase(system: System) -> tuple[str, ...]:
    """Notes for the prediction of a system: one for each stream that requests another rate than in its use case.

    The use case is the bundled one that the system names. If the system names none, it is the bundled one
    with the system's own name.
    """
    name = system.usecase or system.name
    if name not in usecase_names():
        return ()
    case, derived = _load_usecase(name)
    return tuple(_notes(case, derived, case.default_candidate, system))


def with_system_notes(evaluation: Evaluation) -> Evaluation:
    """Add notes to the evaluation of a use case, if a bundled system has the same name.

    There is one note for each stream whose rate in the bundled system differs from its rate in the use case.
    """
    derived = {one.name: one for one in evaluation.derivations}
    notes = notes_on_system(evaluation.usecase, derived, evaluation.candidate)
    return replace(evaluation, notes=notes)


def notes_on_system(case: UseCase, derived: Derivations, candidate: str) -> tuple[str, ...]:
    """Notes for the evaluation of a use case, if a bundled system has the same name.

    There is one note for each stream whose rate in the bundled system differs from its rate in the use case.
    """
    if case.name not in system_names():
        return ()
    return tuple(_notes(case, derived, candidate, _load_system(case.name)))


def _notes(case: UseCase, derived: Derivations, candidate: str, system: System) -> Iterator[str]:
    """Yield one sentence for each stream whose requested rate in the system differs from that in the use case."""
    questions = next(each for each in case.candidates if each.name == candidate).scenarios
    for name, question in questions.items():
        scenario = at_needed_rate(question.scenario(), name, derived)
        own_bps = scenario.requested_goodput_bps
        for stream in system.streams.values():
            request_bps = stream.requested_goodput_bps
            if stream.group != name or math.isclose(request_bps, own_bps, rel_tol=SAME):
                continue
            own = "rate" if question.scenario().rate_fps is not None else "least rate"
            frames = units.format_quantity("rate_fps", scenario.rate_fps or math.inf)
            other = units.format_bps(request_bps) if request_bps < math.inf else "all it can get"
            why = "the produced rate" if stream.paced_fps is None else "the rate set at the sender"
            yield (
                f"{name}: `icmodel evaluate {case.name}` asks for {units.format_bps(own_bps)} (the {own} of "
                f"its candidate {candidate}, {frames} of {scenario.payload_bytes} B), `icmodel system "
                f"{system.name}` for {other} ({why}): their verdicts may differ"
            )
            break  # one sentence for each stream of the use case


def new_system_text(name: str) -> str:
    """Commented system in TOML, as a starting point; it can be predicted unchanged.

    Each commented-out key or table is valid at its place in the file.

    Raises
    ------
    NetworkError
        If the name has other characters than lower-case letters, digits and hyphens, or does not start with a letter.

    Examples
    --------
    >>> new_system_text("my-cell").splitlines()[1]
    '# Check it with:    icmodel system check my-cell.toml'
    """
    return SYSTEMS.new_text(name, TEMPLATE)


TEMPLATE = """\
# A system for icmodel: devices, switches, the links between them, and streams over the links.
# Check it with:    icmodel system check NAME.toml
# Predict it with:  icmodel system NAME.toml -o NAME.html
# A quantity is a text with its unit ("50 m", "1 Gb/s", "64 KiB", "50 us", "30 Hz", "5 %").
# Remove the "# " before a key or a table to use it.

schema_version = 1
name = "NAME"
title = "Two cameras, a PLC and a computer on one switch"
source = "who planned it, and where the numbers come from"
# known_limits = ["the lengths of the cables are assumed"]   # sentences that the report repeats

# Devices: streams begin and end here. A group with a count has members camera-1, camera-2, ...
# A device that states its latency needs no dataset. The latency holds for each frame that the device
# sends or receives: the least and the greatest time, or one time.
[[devices]]
name = "camera"
count = 2
latency = "20 us .. 50 us"
source = "data sheet of the camera"
# core_time = "5 us"                 # time of a core for each frame, also as a range
# cores = 2                          # limits what the device can send and receive
# description = "over the conveyor"

[[devices]]
name = "plc"
latency = "100 us .. 200 us"
source = "manual of the PLC"
# scheduler = { kind = "strict-priority" }   # order of sending, as for switches

# Without a latency, the dataset of the links answers for the hosts.
[[devices]]
name = "computer"
cores = 4
# interfaces = 2                     # number of cables that may join it
# dataset = "ethernet-10g-2012"      # dataset for this host, if not that of its links: a bundled name or a folder
# cpu_clock = "1.5"                  # CPU clock divided by that of the dataset's hosts (variant hybrid)
# app_send = "2 us"                  # time per frame of the application when it sends
# app_recv = "2 us"                  # time per frame of the application when it receives

# Switches. The latency is that of the data sheet, without queues and without the reception of the packet.
[[switches]]
name = "switch"
forwarding = "store-and-forward"     # or "cut-through"
latency = "3 us"
scheduler = { kind = "strict-priority" }
# buffer = "512 KiB"                 # size at each port: packets that do not fit are lost
# ports = [{ to = "computer", scheduler = { kind = "wrr", weights = { 6 = 4, 0 = 1 } } }]   # for a single port

# Links join each member of a group with the node at the other end, full duplex.
# A link without a dataset uses theory alone.
[[links]]
between = ["camera", "switch"]
rate = "10 Gb/s"
length = "20 m"
dataset = "ethernet-10g-2012"
# medium = "fibre"                   # or "copper"; sets the delay per metre
# mtu = "1500 B"                     # largest packet, the same on all links of a route
# parallel = 1                       # cables of each pair
# pairing = "each"                   # or "one-to-one", "spread": which members are joined

[[links]]
between = ["plc", "switch"]
rate = "10 Gb/s"
length = "5 m"

[[links]]
between = ["computer", "switch"]
rate = "10 Gb/s"
length = "5 m"
dataset = "ethernet-10g-2012"

# Streams, described by their source:
#   produces = { kind = "image", width_px, height_px, depth, rate }
#   produces = { kind = "samples", samples, size, cycle }            optional: within, a deadline
#   produces = { kind = "burst", period, size }                      optional: burst (number of frames), within
#   produces = { kind = "goodput", goodput }
#   produces = { kind = "unlimited" }                                unlimited rate
# All data must arrive, unless allowed_shortfall allows a share to be lost.
[[streams]]
name = "picture"
source = "camera"
sink = "computer"
produces = { kind = "image", width_px = 640, height_px = 480, depth = "8 bit", rate = "25 Hz" }
protocol = "tcp"
payload = "65535 B"                  # useful bytes of each frame
# cores = 1                          # parallel processes at each end
# window = "256 KiB"                 # of TCP: the smaller of both socket buffers
# allowed_shortfall = "1 %"
# options = { }                      # options of the dataset, such as { nagle = "off" }

[[streams]]
name = "trigger"
source = "plc"
sink = "camera"
produces = { kind = "samples", samples = 4, size = "32 bit", cycle = "1 kHz" }
protocol = "udp"
payload = "16 B"
priority = 6                         # 0 to 7 (most urgent); a fifo scheduler ignores it
kind = "hard"                        # hard, firm or soft; shown in reports
# multicast = true                   # one stream to all sinks, copied where their paths part
# via = ["switch"]                   # switches of the route, by default the shortest

# Requirements of a stream, or of a group of streams. A hard limit of latency_max_s is judged by the
# worst-case bound. If messages take several frames, of = "frame" means a single frame.
[[requirements]]
name = "cameras are triggered in time"
stream = "trigger"
metric = "latency_max_s"
at_most = "500 us"
kind = "hard"

[[requirements]]
name = "pictures arrive within a period"
stream = "picture"
metric = "latency_mean_s"
at_most = "40 ms"
# of = "frame"
# source = "specification, section 3"

# [[requirements]]
# name = "half of the computer is left"
# stream = "picture"
# device = "computer"
# metric = "cpu_recv"
# at_most = "50 %"

# Choices for `icmodel recommend NAME.toml`: further values of a table's keys; "*" stands for all links.
# [choices.links."*"]
# rate = ["1 Gb/s", "25 Gb/s"]

# [choices.streams.picture]
# payload = ["1448 B", "16384 B"]

# Costs in any currency, for the same command.
# [costs]
# currency = "EUR"
# interface = 50
# switch = 400
"""

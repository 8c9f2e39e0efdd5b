"""NTttcp: the XML and the console text of Windows and Linux.

Windows' MB are 2^20 B, Linux' are 10^6 B; both print 10^6 b/s, which is taken and checked against
bytes and seconds. Each end writes its own file: the sender's rate of UDP says nothing of what
arrived. CPU is of the whole host. A receiver of Linux has a thread a port and one that listens, and does not
say how many connections there were.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from xml.etree import ElementTree

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.modes import Command, check_rate, command_of, over
from icmodel.ingest.readers.table import Layout, told
from icmodel.ingest.result import (
    PER_CENT,
    RECEIVER,
    SENDER,
    Assumed,
    Ends,
    Limits,
    Number,
    Origin,
    Payloads,
    Printed,
    Result,
    exact,
    printed,
)
from icmodel.ingest.source import Source, number

NAME = "ntttcp"
PROGRAM = r"ntttcp(?! +for )"
_XML = re.compile(r"(?:^|>)\s*<ntttcp([sr])\b", re.M)
_WHOLE = re.compile(r"(<(ntttcp[sr])\b.*</\2>)", re.S)
_CONSOLE = re.compile(r"NTTTCP for Linux ([0-9.]+)", re.I)
_WINDOWS = re.compile(r"^[ \t]*Copyright Version ([0-9.]+)[ \t]*$", re.M)
_CONNECTIONS = re.compile(r"(\d+) connections (?:created|tested)")
_THREADS = re.compile(r"(\d+) threads created")
_TITLE = re.compile(rf"^\s*{_CONSOLE.pattern}\s*$", re.I | re.M)
_FIELD = re.compile(r"INFO:\s+([a-z /()]+?)\s*:\s*([0-9.]+)\s*(\S*)\s*$", re.M)
_SPEEDS = {"Gbps": 10**9, "Mbps": 10**6, "Kbps": 10**3, "bps": 1}
LAYOUT = Layout(
    start=re.compile(rf"{_TITLE.pattern}|{_WINDOWS.pattern}|(?:<\?xml.*\?>)?\s*<ntttcp[sr]\b", re.I)
)
DEFAULT_BYTES, DEFAULT_UDP_BYTES = 128 * 2**10, 65507
"""Size of a write on Linux unless told otherwise (ntttcp-for-linux, const.h); of UDP the largest datagram."""
_COLUMNS = (
    "Bytes(MEG)",
    "realtime(s)",
    "Avg Frame Size",
    "Throughput(MB/s)",
    "Throughput(Buffers/s)",
    "Cycles/Byte",
    "Buffers",
    "DPCs(count/s)",
    "Pkts(num/DPC)",
    "Intr(count/s)",
    "Pkts(num/intr)",
    "Packets Sent",
    "Packets Received",
    "Retransmits",
    "Errors",
    "Avg. CPU %",
)
"""Columns of the totals that Windows prints."""
_COLUMN = re.compile("|".join(re.escape(one) for one in sorted(_COLUMNS, key=len, reverse=True)))
_TOTALS = re.compile(r"^[ \t]*#+ +Totals: +#+[ \t]*$", re.M)
_THREAD_ROW = re.compile(r"^[ \t]*\d+((?:[ \t]+[0-9.]+){3})[ \t]*$", re.M)
_CELLS = re.compile(r"[ \t]*[0-9.]+(?:[ \t]+[0-9.]+)*[ \t]*")
FRAMES = 0.01
"""How far packets times their average size and the bytes may lie apart."""
SLACK = 5e-3
"""How far the rate and bytes over seconds may lie apart beside what is rounded."""


def recognises(text: str) -> bool:
    """Whether a text looks like output of NTttcp."""
    return any(one.search(text) for one in (_XML, _TITLE, _WINDOWS))


def read(source: Source) -> list[Result]:
    """The result of a run: one end's.

    Raises
    ------
    RecordError
        If it is cut off, or the bytes do not make the rate.
    """
    if _XML.search(source.text):
        return [_of_xml(source)]
    windows = _WINDOWS.search(source.text)
    return [_of_windows(source, windows[1]) if windows else _of_linux(source)]


# --- XML --------------------------------------------------------------------------------------


def _of_xml(source: Source) -> Result:
    text = source.text
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise RecordError("its XML declares entities, which NTttcp never writes")
    try:
        root = ElementTree.fromstring(told(_WHOLE, text) or text.strip())
    except ElementTree.ParseError as error:
        raise RecordError(f"it is not valid XML ({error}): it is cut off or changed") from error

    def said(path: str) -> str:
        return (root.findtext(path) or "").strip()

    linux = "linux" in root.get("version", "")
    sends = root.tag == "ntttcps"
    udp = said("parameters/udp") == "True"
    notes = [] if udp or sends else ["the receiver's own count"]
    rate = _rate(said, linux)
    threads = len(root.findall("thread"))
    if not threads:
        notes.append("its threads are not listed: how many streams ran is not known")
    sides = ("send", SENDER) if sends else ("recv", RECEIVER)
    metric = "sent_bps" if sends else "goodput_bps"
    numbers = [Number.read(metric, rate, sides[1]), *_host_cpu(said, sides[0], notes)]
    size = said("bufferLen")
    return Result(
        origin=Origin(NAME, root.get("version", ""), source.place),
        labels=Labels(
            protocol="udp" if udp else "tcp",
            payload_bytes=int(size) if size.isdigit() and int(size) > 0 else None,
            cores=1 if threads == 1 and not (linux and not sends) else None,
            host_cores=_host_cores(said),
        ),
        numbers=tuple(numbers),
        hosts=Ends(
            sender=root.get("computername", "") if sends else "",
            receiver="" if sends else root.get("computername", ""),
        ),
        streams=None if linux and not sends else max(threads, 1),
        unless=Labels(load_bps=math.inf),
        assumed=_assumed(udp=udp) if linux else (),
        notes=tuple(notes),
    )


def _rate(said: Callable[[str], str], linux: bool) -> Printed:
    """The rate, which bytes over seconds must make; else a unit is not what this version prints."""
    rate = _printed(said("throughput[@metric='mbps']"), "the throughput", 10**6)
    size = _printed(said("total_bytes"), "total_bytes", 10**6 if linux else 2**20)
    seconds = _printed(said("realtime"), "realtime")
    if seconds.value <= 0 or rate.value <= 0:
        raise RecordError("it moved no byte or took no time: the run failed")
    check_rate(rate, over(size, seconds), f"{size.value:.0f} B in {seconds.value:g} s", SLACK)
    return rate


def _printed(text: str, what: str, factor: int | Decimal = 1) -> Printed:
    """A number with what its digits leave open; an error that names it where it is none."""
    number(text, what)
    return printed(text, factor)


def _host_cores(said: Callable[[str], str]) -> int | None:
    cores = said("cpu_cores") or said("num_processors")
    return int(cores) if cores.isdigit() and int(cores) else None


def _host_cpu(said: Callable[[str], str], end: str, notes: list[str]) -> list[Number]:
    side = SENDER if end == "send" else RECEIVER
    modes = [said(mode) for mode in ("user", "system", "softirq")]
    if all(modes):
        parts = [_printed(mode, "a CPU mode", PER_CENT) for mode in modes]
        notes.append(
            "CPU is user, system and softirq time of the whole host; cpu_busy_all counts otherwise"
        )
    elif said("cpu") and number(said("cpu"), "cpu") <= 100:
        parts = [_printed(said("cpu"), "cpu", PER_CENT)]
    else:
        if said("cpu"):
            notes.append(f"CPU of {said('cpu')} % does not say of how many cores: not taken")
        return []
    if any(part.value < 0 for part in parts):
        raise RecordError("a CPU mode is below 0 %: a number was changed")
    value = round(sum(part.value for part in parts), 8)
    return [Number(f"cpu_{end}_host", value, side, half=sum(part.half for part in parts))]


def _assumed(*, udp: bool) -> tuple[Assumed, ...]:
    """The default size of a write on Linux, which the sender's option sets."""
    return (
        Assumed("payload_bytes", DEFAULT_UDP_BYTES if udp else DEFAULT_BYTES, "the sender's -b"),
    )


# --- console ----------------------------------------------------------------------------------


def _sends(source: Source, command: Command, carries: str = "") -> bool:
    """Whether the sender wrote a text; ``carries`` says which of its packets held the bytes."""
    roles = [
        word[:2] for word in command.words if re.fullmatch(r"-[sr]\S*", word) and word[:3] != "-sb"
    ]
    if not roles and ("connections created in" in source.text or carries == "sent"):
        return True  # who connects is who sends
    if not roles and carries == "received":
        return False
    if not roles:
        raise RecordError(
            f"{source.place}: it does not say which end wrote it: keep the command line in the file, or use -x"
        )
    return roles[0] == "-s"


def _flow(moved: Printed, seconds: Printed, said: Printed) -> Printed:
    """Bytes over seconds [b/s], held against the rate that stands beside."""
    if not moved.value or not seconds.value:
        raise RecordError("it moved no byte or took no time: the run failed")
    rate = over(moved, seconds)
    check_rate(said, rate, f"{moved.value:.0f} B in {seconds.value:g} s", SLACK)
    return rate


def _of_linux(source: Source) -> Result:
    text = source.text
    fields = {name.strip(): (value, unit) for name, value, unit in _FIELD.findall(text)}
    missing = [key for key in ("test duration", "total bytes", "throughput") if key not in fields]
    if missing:
        raise RecordError(
            f"{source.place}: it has no {missing[0]!r}: the run failed or was cut off"
        )
    value, unit = fields["throughput"]
    if unit not in _SPEEDS:
        raise RecordError(f"{source.place}: its throughput has the unknown unit {unit!r}")
    size, seconds = (_printed(fields[k][0], k) for k in ("total bytes", "test duration"))
    rate = _flow(exact(size.value), seconds, _printed(value, "throughput", _SPEEDS[unit]))
    command = command_of(source, PROGRAM)
    sends = _sends(source, command)
    streams = told(_CONNECTIONS, text) or (told(_THREADS, text) or "1" if sends else "")
    notes = ["the rate is worked out of bytes and seconds, finer than what is printed"]
    cores = fields.get("cpu cores", ("", ""))[0]
    cpu = _host_cpu(lambda key: fields.get(key, ("", ""))[0], "send" if sends else "recv", notes)
    return _console(
        source,
        told(_CONSOLE, text),
        command,
        [_rate_of(rate, sends=sends), *cpu],
        notes,
        streams=int(streams) if streams else None,
        host_cores=int(cores) if cores.isdigit() else None,
        payload=command.amount("-b", small=2**10, large=2**10) if sends else None,
        assumed=_assumed(udp=command.has("-u")),
    )


def _of_windows(source: Source, version: str) -> Result:
    """The console of Windows, whose MB are 2^20 B; bytes over buffers are the size of a write."""
    text = source.text
    totals = _TOTALS.search(text)
    cells = _totals(text[totals.end() :].split("\n"), source.place) if totals else {}
    missing = [name for name in _COLUMNS[:4] if name not in cells]
    if missing or totals is None:
        what = missing[0] if totals else "Totals"
        raise RecordError(f"{source.place}: it has no {what!r}: the run failed or was cut off")
    moved = _printed(cells["Bytes(MEG)"], "Bytes(MEG)", 2**20)
    said = _printed(cells["Throughput(MB/s)"], "Throughput(MB/s)", 8 * 2**20)
    rate = _flow(moved, _printed(cells["realtime(s)"], "realtime(s)"), said)
    command = command_of(source, PROGRAM)
    sends = _sends(source, command, _carries(cells, moved))
    numbers = [_rate_of(rate, sends=sends)]
    if "Avg. CPU %" in cells:
        side = SENDER if sends else RECEIVER
        share = printed(cells["Avg. CPU %"], PER_CENT)
        numbers.append(Number.read(f"cpu_{'send' if sends else 'recv'}_host", share, side))
    payloads = None
    if buffers := float(cells.get("Buffers", 0)):
        each = f"NTttcp says {cells['Bytes(MEG)']} MB of 2^20 B in {cells['Buffers']} buffers"
        payloads = Payloads(moved.low / buffers, moved.high / buffers, each)
    return _console(
        source,
        version,
        command,
        numbers,
        [],
        streams=len(_THREAD_ROW.findall(text[: totals.start()])) or None,
        host_cores=None,
        payload=payloads.only if payloads else None,
        payloads=payloads,
        assumed=(Assumed("payload_bytes", 2**16, "-l"),),
    )


def _carries(cells: Mapping[str, str], moved: Printed) -> str:
    """Whether the packets sent or received are the bytes over the average frame; empty if both or none are."""
    frame = float(cells["Avg Frame Size"])
    counts = {
        way: float(cells.get(f"Packets {way.capitalize()}", 0)) for way in ("sent", "received")
    }
    fitting = [
        way for way, count in counts.items() if abs(count * frame / moved.value - 1) < FRAMES
    ]
    return fitting[0] if len(fitting) == 1 else ""


def _totals(lines: Sequence[str], place: str) -> dict[str, str]:
    """The cells of the totals by column; each row stands two lines below its head."""
    cells: dict[str, str] = {}
    names: list[str] = []
    for line in lines:
        if found := _COLUMN.findall(line):
            names = found
        elif names and _CELLS.fullmatch(line):
            row = line.split()
            if len(row) != len(names):
                raise RecordError(
                    f"{place}: a row of its totals has {len(row)} numbers under {len(names)} columns: it was "
                    "cut off or changed"
                )
            cells |= dict(zip(names, row, strict=True))
            names = []
    return cells


def _rate_of(rate: Printed, *, sends: bool) -> Number:
    """What an end counted: the sender what it sent, the receiver what arrived."""
    if sends:
        return Number.read("sent_bps", rate, SENDER)
    return Number.read("goodput_bps", rate, RECEIVER)


def _console(
    source: Source,
    version: str,
    command: Command,
    numbers: Sequence[Number],
    notes: Sequence[str],
    *,
    streams: int | None,
    host_cores: int | None,
    payload: float | None,
    assumed: tuple[Assumed, ...],
    payloads: Payloads | None = None,
) -> Result:
    """The result of a console's text."""
    limit = command.amount("-B", "--fq-rate-limit", small=1000, large=1000)
    return Result(
        origin=Origin(NAME, version, source.place),
        labels=Labels(
            protocol="udp" if command.has("-u") else "tcp",
            payload_bytes=int(payload) if payload else None,
            load_bps=limit,
            cores=1 if streams == 1 else None,
            host_cores=host_cores,
        ),
        numbers=tuple(numbers),
        streams=streams,
        limits=Limits(payloads=payloads),
        unless=Labels(load_bps=math.inf),
        assumed=assumed,
        notes=tuple(notes),
    )

"""NTttcp: the XML of Windows and Linux, and the console text of Linux.

Windows' MB are 2^20 B, Linux' are 10^6 B; both print 10^6 b/s, which is taken and checked against
bytes and seconds. Each end writes its own file: the sender's rate of UDP says nothing of what
arrived. CPU is of the whole host.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from xml.etree import ElementTree

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.printed import PER_CENT, Printed, exact, printed
from icmodel.ingest.readers.agreement import check_rate, over
from icmodel.ingest.readers.sections import told
from icmodel.ingest.result import RECEIVER, SENDER, Ends, Number, Origin, Result
from icmodel.ingest.source import Source, number

NAME = "ntttcp"
_XML = re.compile(r"(?:^|>)\s*<ntttcp([sr])\b", re.M)
_CONSOLE = re.compile(r"NTTTCP for Linux ([0-9.]+)", re.I)
_THREADS = re.compile(r"(\d+) (?:threads|connections) ")
_TITLE = re.compile(rf"^\s*{_CONSOLE.pattern}\s*$", re.I | re.M)
_FIELD = re.compile(r"INFO:\s+([a-z /()]+?)\s*:\s*([0-9.]+)\s*(\S*)\s*$", re.M)
_SPEEDS = {"Gbps": 10**9, "Mbps": 10**6, "Kbps": 10**3, "bps": 1}
SLACK = 5e-3
"""How far the rate and bytes over seconds may lie apart beside what is rounded."""


def recognises(text: str) -> bool:
    """Whether a text looks like output of NTttcp."""
    return _XML.search(text) is not None or _TITLE.search(text) is not None


def read(source: Source) -> list[Result]:
    """The result of a file: one end's.

    Raises
    ------
    RecordError
        If it is cut off, or the bytes do not make the rate.
    """
    return [_of_xml(source.text)] if _XML.search(source.text) else [_of_console(source.text)]


# --- XML --------------------------------------------------------------------------------------


def _of_xml(text: str) -> Result:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise RecordError("its XML declares entities, which NTttcp never writes")
    try:
        root = ElementTree.fromstring(text.strip())
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
        origin=Origin(NAME, root.get("version", ""), f"<{root.tag}>"),
        labels=Labels(
            protocol="udp" if udp else "tcp",
            payload_bytes=int(size) if size.isdigit() and int(size) > 0 else None,
            load_bps=math.inf,
            cores=threads if threads == 1 else None,
            host_cores=_host_cores(said),
        ),
        numbers=tuple(numbers),
        hosts=Ends(
            sender=root.get("computername", "") if sends else "",
            receiver="" if sends else root.get("computername", ""),
        ),
        streams=max(threads, 1),
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


# --- console ----------------------------------------------------------------------------------


def _of_console(text: str) -> Result:
    fields = {name.strip(): (value, unit) for name, value, unit in _FIELD.findall(text)}
    missing = [key for key in ("test duration", "total bytes", "throughput") if key not in fields]
    if missing:
        raise RecordError(f"it has no {missing[0]!r}: the run failed or was cut off")
    value, unit = fields["throughput"]
    if unit not in _SPEEDS:
        raise RecordError(f"its throughput has the unknown unit {unit!r}")
    size, seconds = (_printed(fields[k][0], k) for k in ("total bytes", "test duration"))
    if not size.value or not seconds.value:
        raise RecordError("it moved no byte or took no time: the run failed")
    rate = over(exact(size.value), seconds)
    said = _printed(value, "throughput", _SPEEDS[unit])
    check_rate(said, rate, f"{size.value:.0f} B in {seconds.value:g} s", SLACK)
    notes = ["the rate is worked out of bytes and seconds, finer than what is printed"]
    return _console_result(text, told(_CONSOLE, text), fields, rate, notes)


def _console_result(
    text: str, version: str, fields: dict[str, tuple[str, str]], rate: Printed, notes: list[str]
) -> Result:
    role = re.search(r"ntttcp\s.*?-(s|r)\b", text)
    if role is None and "connections created in" in text:
        sends = True  # who connects is who sends
    elif role is None:
        raise RecordError(
            "it does not say which end wrote it: keep the command line in the file, or use -x"
        )
    else:
        sends = role[1] == "s"
    end, side = ("send", SENDER) if sends else ("recv", RECEIVER)
    metric = "sent_bps" if sends else "goodput_bps"
    cores = fields.get("cpu cores", ("", ""))[0]
    streams = int(told(_THREADS, text) or 1)
    return Result(
        origin=Origin(NAME, version, "totals"),
        labels=Labels(
            protocol="udp" if re.search(r"ntttcp\s.*\s-u\b", text) else "tcp",
            load_bps=math.inf,
            cores=1 if streams == 1 else None,
            host_cores=int(cores) if cores.isdigit() else None,
        ),
        numbers=(
            Number.read(metric, rate, side),
            *_host_cpu(lambda key: fields.get(key, ("", ""))[0], end, notes),
        ),
        streams=streams,
        notes=tuple(notes),
    )

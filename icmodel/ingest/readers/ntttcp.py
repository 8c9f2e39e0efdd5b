"""Reader of NTttcp for Windows (5.33 to 5.39) and for Linux (1.3.4 to 1.4.0): the XML and the console text.

MB are 2^20 B on Windows and 10^6 B on Linux.  In the XML of both systems, rates are in 10^6 b/s.  Rates are checked
against bytes and seconds.  Each end writes its own file, so a sender's UDP rate is not a goodput.  CPU numbers cover
the whole host.  The XML lists threads.  A receiver on Linux has one thread for each port and one that listens, so its
threads do not show the number of connections.  ::

    $ ntttcp -s 192.0.2.2 -t 10
    NTTTCP for Linux 1.3.4
    22:36:42 INFO: 64 connections tested
    22:36:42 INFO: test duration    :10.36 seconds
    22:36:42 INFO: total bytes      :30629953536
    22:36:42 INFO:   throughput     :23.65Gbps
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from xml.etree import ElementTree

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.common import (
    Command,
    Layout,
    bits_per_second,
    check_last_line,
    check_rate,
    command_of,
    first_group,
    flow,
)
from icmodel.ingest.result import (
    PER_CENT,
    RECEIVER,
    SENDER,
    Assumed,
    Hosts,
    Limits,
    Number,
    Origin,
    Payloads,
    Printed,
    Result,
    exact,
    printed,
)
from icmodel.ingest.source import Source, number, require

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
"""Default size of a write in NTttcp for Linux [B] (const.h), for TCP and for UDP (the largest datagram)."""
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
"""Headings of the totals that NTttcp prints on Windows; some versions print fewer."""
_COLUMN = re.compile("|".join(re.escape(one) for one in sorted(_COLUMNS, key=len, reverse=True)))
_TOTALS = re.compile(r"^[ \t]*#+ +Totals: +#+[ \t]*$", re.M)
_THREAD_ROW = re.compile(r"^[ \t]*\d+((?:[ \t]+[0-9.]+){3})[ \t]*$", re.M)
_ENDS = re.compile(r"\.\d{3}\s*$")
"""Pattern of a complete last row of the totals: the CPU utilisation with its three decimals."""
_CELLS = re.compile(r"[ \t]*[0-9.]+(?:[ \t]+[0-9.]+)*[ \t]*")
FRAMES = 0.01
"""Relative tolerance between printed bytes and the product packets × average size."""
SLACK = 5e-3
"""Relative tolerance between the printed rate and the quotient bytes / seconds, beyond rounding."""


def recognises(text: str) -> bool:
    """Whether a text looks like output of NTttcp."""
    return any(one.search(text) for one in (_XML, _TITLE, _WINDOWS))


def read(source: Source) -> list[Result]:
    """Read the result of a run of NTttcp, as one of the two hosts counted it.

    Raises
    ------
    RecordError
        If the output is cut off, or the rate differs from bytes divided by seconds.
    """
    if _XML.search(source.text):
        return [read_xml(source)]
    return [read_windows(source) if _WINDOWS.search(source.text) else read_linux(source)]


def read_xml(source: Source) -> Result:
    """Read the result in NTttcp's XML (option ``-xml`` or ``-x``)."""
    text = source.text
    require(
        "<!DOCTYPE" not in text and "<!ENTITY" not in text,
        "its XML declares entities, which NTttcp never writes",
    )
    try:
        root = ElementTree.fromstring(first_group(_WHOLE, text) or text.strip())
    except ElementTree.ParseError as error:
        raise RecordError(
            f"the output is not valid XML ({error}): it is cut off or changed"
        ) from error

    def field(path: str) -> str:
        return (root.findtext(path) or "").strip()

    is_linux = "linux" in root.get("version", "")
    sends = root.tag == "ntttcps"
    udp = field("parameters/udp") == "True"
    notes = [] if udp or sends else ["counted by the receiver"]
    rate = _printed(field("throughput[@metric='mbps']"), "the throughput", 10**6)
    moved = _printed(field("total_bytes"), "total_bytes", 10**6 if is_linux else 2**20)
    _rate_by_bytes(moved, _printed(field("realtime"), "realtime"), rate)
    threads = len(root.findall("thread"))
    if not threads:
        notes.append("threads are not listed, so the number of streams is unknown")
    is_countable = sends or not is_linux
    host, size = root.get("computername", ""), field("bufferLen")
    host_cores = field("cpu_cores") or field("num_processors")
    return Result(
        origin=Origin(NAME, root.get("version", ""), source.place),
        labels=Labels(
            protocol="udp" if udp else "tcp",
            payload_bytes=int(size) if size.isdigit() and int(size) > 0 else None,
            cores=1 if threads == 1 and is_countable else None,
            host_cores=int(host_cores) if host_cores.isdigit() and int(host_cores) else None,
        ),
        numbers=(flow(rate, sends=sends), *_host_cpu(field, notes, sends=sends)),
        hosts=Hosts(sender=host) if sends else Hosts(receiver=host),
        streams=max(threads, 1) if is_countable else None,
        implied=Labels(load_bps=math.inf),
        assumed=_linux_default(udp=udp) if is_linux else (),
        notes=tuple(notes),
    )


def read_linux(source: Source) -> Result:
    """Read the result in the console text of NTttcp for Linux."""
    text = source.text
    fields = {name.strip(): (value, unit) for name, value, unit in _FIELD.findall(text)}
    for key in ("test duration", "total bytes", "throughput"):
        require(
            key in fields,
            f"{source.place}: the output has no {key!r}: the run failed or was cut off",
        )
    value, unit = fields["throughput"]
    require(unit in _SPEEDS, f"{source.place}: its throughput has the unknown unit {unit!r}")
    moved = exact(_printed(fields["total bytes"][0], "total bytes").value)
    seconds = _printed(fields["test duration"][0], "test duration")
    rate = _rate_by_bytes(moved, seconds, _printed(value, "throughput", _SPEEDS[unit]))
    for mode in ("user", "system", "softirq") if "cpu cores" in fields else ():
        require(
            fields.get(mode, ("", ""))[1] == "%",
            f"{source.place}: the output has 'cpu cores', but no complete {mode!r}: it was cut off",
        )
    command = command_of(source, PROGRAM)
    sends = _is_sender(source, command)
    streams = first_group(_CONNECTIONS, text)
    if not streams and sends:
        streams = first_group(_THREADS, text) or "1"
    notes = ["the rate is bytes over seconds, which have more digits than the printed rate"]
    cores = fields.get("cpu cores", ("", ""))[0]
    cpu = _host_cpu(lambda key: fields.get(key, ("", ""))[0], notes, sends=sends)
    if "cpu cores" not in fields:
        notes.append("no lines on the CPU follow the throughput: the file may be cut off")
    return _console_result(
        source,
        first_group(_CONSOLE, text),
        command,
        [flow(rate, sends=sends), *cpu],
        notes,
        streams=int(streams) if streams else None,
        host_cores=int(cores) if cores.isdigit() else None,
        payload=command.amount("-b", small=2**10, large=2**10) if sends else None,
        assumed=_linux_default(udp=command.has("-u")),
    )


def read_windows(source: Source) -> Result:
    """Read the result in the console text of NTttcp for Windows.

    Each buffer is one write, so the size of a write is the number of bytes divided by the number of buffers.
    """
    text = source.text
    totals = _TOTALS.search(text)
    if totals is None:
        raise RecordError(
            f"{source.place}: the output has no table 'Totals': the run failed or was cut off, so measure again"
        )

    if source.lines[-1].strip() and _CELLS.fullmatch(source.lines[-1]):
        check_last_line(source, _ENDS)

    # Each row of the totals is two lines below its head.
    cells: dict[str, str] = {}
    names: list[str] = []
    for line in text[totals.end() :].split("\n"):
        if heads := _COLUMN.findall(line):
            names = heads
        elif names and _CELLS.fullmatch(line):
            row = line.split()
            require(
                len(row) == len(names),
                f"{source.place}: a row of its totals has {len(row)} numbers under {len(names)} columns: it was "
                "cut off or changed",
            )
            cells |= dict(zip(names, row, strict=True))
            names = []
    for name in (*_COLUMNS[:4], "Buffers", "Packets Sent"):
        require(
            name in cells,
            f"{source.place}: the output has no {name!r}: the run failed or was cut off",
        )

    moved = _printed(cells["Bytes(MEG)"], "Bytes(MEG)", 2**20)
    rate = _printed(cells["Throughput(MB/s)"], "Throughput(MB/s)", 8 * 2**20)
    rate = _rate_by_bytes(moved, _printed(cells["realtime(s)"], "realtime(s)"), rate)
    command = command_of(source, PROGRAM)
    # Either sent or received packets carried the bytes: the kind whose count × mean frame size equals the bytes.
    frame = float(cells["Avg Frame Size"])
    directions = [
        name
        for name in ("Packets Sent", "Packets Received")
        if abs(float(cells.get(name, 0)) * frame / moved.value - 1) < FRAMES
    ]
    sends = _is_sender(source, command, directions[0] if len(directions) == 1 else "")
    numbers = [flow(rate, sends=sends)]
    if "Avg. CPU %" in cells:
        side = SENDER if sends else RECEIVER
        share = printed(cells["Avg. CPU %"], PER_CENT)
        numbers.append(Number.read(f"cpu_{'send' if sends else 'recv'}_host", share, side))
    payloads = None
    if buffers := float(cells.get("Buffers", 0)):
        counts = f"NTttcp says {cells['Bytes(MEG)']} MB of 2^20 B in {cells['Buffers']} buffers"
        payloads = Payloads(moved.low / buffers, moved.high / buffers, counts)
    return _console_result(
        source,
        first_group(_WINDOWS, text),
        command,
        numbers,
        [],
        streams=len(_THREAD_ROW.findall(text[: totals.start()])) or None,
        host_cores=None,
        payload=payloads.only if payloads else None,
        payloads=payloads,
        assumed=(Assumed("payload_bytes", 2**16, "-l"),),
    )


def _console_result(
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
    """Make the result of a console text, with the labels (conditions) that its command line sets."""
    return Result(
        origin=Origin(NAME, version, source.place),
        labels=Labels(
            protocol="udp" if command.has("-u") else "tcp",
            payload_bytes=int(payload) if payload else None,
            load_bps=command.amount("-B", "--fq-rate-limit", small=1000, large=1000),
            cores=1 if streams == 1 else None,
            host_cores=host_cores,
        ),
        numbers=tuple(numbers),
        streams=streams,
        limits=Limits(payloads=payloads),
        implied=Labels(load_bps=math.inf),
        assumed=assumed,
        notes=tuple(notes),
    )


def _printed(text: str, what: str, factor: int | Decimal = 1) -> Printed:
    """Read a number with its rounding error; ``what`` names the number in error messages."""
    number(text, what)
    return printed(text, factor)


def _rate_by_bytes(moved: Printed, seconds: Printed, rate: Printed) -> Printed:
    """Compute a rate [b/s] from bytes and seconds, and check it against the printed rate."""
    if not moved.value or not seconds.value or not rate.value:
        raise RecordError("the run moved no byte or took no time, so it failed: run it again")
    counted = bits_per_second(moved, seconds)
    check_rate(rate, counted, f"{moved.value:.0f} B in {seconds.value:g} s", SLACK)
    return counted


def _host_cpu(field: Callable[[str], str], notes: list[str], *, sends: bool) -> list[Number]:
    """Read the CPU utilisation of the whole host: the sum of user, system and softirq time, or a printed sum."""
    modes = [field(mode) for mode in ("user", "system", "softirq")]
    if all(modes):
        parts = [_printed(mode, "a CPU mode", PER_CENT) for mode in modes]
        notes.append("CPU is user, system and softirq time of the whole host, unlike cpu_busy_all")
    elif field("cpu") and number(field("cpu"), "cpu") <= 100:
        parts = [_printed(field("cpu"), "cpu", PER_CENT)]
    else:
        if field("cpu"):
            notes.append(f"CPU of {field('cpu')} % does not state its number of cores: not used")
        return []
    require(
        all(part.value >= 0 for part in parts),
        "a CPU mode is below 0 %: a number was changed, so measure again",
    )
    value = round(sum(part.value for part in parts), 8)
    half = sum(part.half for part in parts)
    metric = f"cpu_{'send' if sends else 'recv'}_host"
    return [Number(metric, value, SENDER if sends else RECEIVER, half=half)]


def _linux_default(*, udp: bool) -> tuple[Assumed, ...]:
    """Return the label ``payload_bytes`` with NTttcp's default size of a write on Linux, for outputs without a size.

    The label is marked as assumed, since the sender's option ``-b`` may have set another size.
    """
    size = DEFAULT_UDP_BYTES if udp else DEFAULT_BYTES
    return (Assumed("payload_bytes", size, "the sender's -b"),)


def _is_sender(source: Source, command: Command, carrying: str = "") -> bool:
    """Whether the sending host, not the receiving host, wrote an output of NTttcp.

    The option ``-s`` or ``-r`` in the command line decides. Without a command line, two signs show a sender: the line
    ``connections created in``, or a packet count with the name ``Packets Sent``. ``carrying`` is the name of the packet
    count in the output. If it is empty and nothing else shows the host, RecordError is raised.
    """
    roles = [
        word[:2] for word in command.words if re.fullmatch(r"-[sr]\S*", word) and word[:3] != "-sb"
    ]
    if roles:
        return roles[0] == "-s"
    if "connections created in" in source.text or carrying == "Packets Sent":
        return True
    require(
        carrying,
        f"{source.place}: the output does not say which end wrote it: keep the command line in the file, or use -x",
    )
    return False

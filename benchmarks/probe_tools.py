"""Measuring tools that measure the same stream, and parsers of their output.

All values are those of the receiver, since a sender's count says nothing about arrival.
"""

from __future__ import annotations

import json
import re
import statistics
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.probe_lab import RECEIVER, SENDER, Lab, Process, ToolError, listening

BUFFER_BYTES = 1 << 20
"""Requested size of the send and the receive buffer of every data socket."""
SECONDS = 1
"""Length of the measured window of every run [s]."""
WARM_UP_S = 0.2
"""Warm-up of icprobe before its window [s]; the other tools count from their first frame on."""
REPLY_EVERY = 10
"""sockperf logs send times of answered frames only; one frame in this many is answered."""
STALL_S = 1e-3
"""A frame sent later than this [s] shows that the sender was descheduled."""


@dataclass(frozen=True, slots=True)
class Question:
    """Question for all tools: protocol, payload, and measured quantity."""

    protocol: str
    payload_bytes: int
    measure: str
    """Measured quantity: goodput, frames, lossless, rtt/2, rtt/2 p99 or paced."""
    rate_fps: int | None = None
    batch: int = 1
    """Frames of one send call."""

    @property
    def name(self) -> str:
        """Name for tables, and key in the JSON document."""
        batch = f" x{self.batch}" if self.batch > 1 else ""
        return f"{self.protocol} {self.payload_bytes} B {self.measure}{batch}"

    @property
    def bits(self) -> int:
        """Payload of a frame in bits."""
        return 8 * self.payload_bytes

    @property
    def round_trip(self) -> bool:
        """Whether the quantity is a time of round trips, of which less is better."""
        return self.measure.startswith("rtt/2")

    @property
    def single_stream(self) -> bool:
        """Whether the quantity is a rate of a stream with one frame in each call."""
        return self.measure in ("goodput", "frames", "lossless") and self.batch == 1


@dataclass(frozen=True, slots=True)
class Delivery:
    """Rate at which the receiver of a stream took frames, and the number of lost ones."""

    received_fps: float
    lost: int


@dataclass(frozen=True, slots=True)
class Pacing:
    """Pacing of one run: achieved rate, errors of send times, and whether the sender stalled."""

    achieved_fps: float
    error_p50_s: float
    error_p99_s: float
    stalled: bool


class Tool(ABC):
    """Base class of a measuring tool, with its server on the receiving host."""

    name: str
    port: int

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    @abstractmethod
    def start(self) -> None:
        """Start the server for all runs, if the tool has one."""

    @abstractmethod
    def can(self, question: Question) -> bool:
        """Whether the tool can measure the quantity of a question."""

    @abstractmethod
    def ask(self, question: Question) -> float:
        """Measure once, and return a goodput [b/s], a frame rate [1/s] or a time [s]."""

    @abstractmethod
    def deliver(self, question: Question) -> Delivery:
        """Send a stream once, at the question's rate if it has one."""

    def sockets(self, question: Question) -> Sequence[str]:
        """Return options that give all tools the same data sockets: buffer sizes, and no Nagle."""
        return ()


class Icprobe(Tool):
    """icprobe, the tool that is judged."""

    name, port = "icprobe", 20120

    def start(self) -> None:
        """Start the responder of icprobe."""
        to = ("--bind", self.lab.address[RECEIVER], "--key", self.lab.key)
        self.lab.start(RECEIVER, (self.lab.icprobe, "serve", *to), pinned=False)
        listening(self.lab, "tcp", self.port)

    def can(self, question: Question) -> bool:
        """Return True: icprobe measures every quantity."""
        return True

    def ask(self, question: Question) -> float:
        """Measure once."""
        return icprobe_value(self.record(question), question)

    def deliver(self, question: Question) -> Delivery:
        """Send a stream once."""
        result = self.record(question)["result"]
        return Delivery(result["frames_per_s"], result["frames_lost"])

    def pace(self, question: Question) -> Pacing:
        """Measure a paced stream once."""
        return icprobe_pacing(self.record(question))

    def sockets(self, question: Question) -> Sequence[str]:
        """Return the options for buffer sizes and for no Nagle."""
        size = f"{BUFFER_BYTES} B"
        return ("--no-nagle", "--send-buffer", size, "--receive-buffer", size)

    def record(self, question: Question) -> dict[str, Any]:
        """Run icprobe once and return its record."""
        words: list[str | Path] = [self.lab.icprobe, "run", "--to", self.lab.address[RECEIVER]]
        words += ["--key", self.lab.key, "--protocol", question.protocol]
        words += ["--payload", f"{question.payload_bytes} B", "--duration", f"{SECONDS} s"]
        words += ["--warmup", f"{WARM_UP_S} s", "--baseline", "0 s", *self.sockets(question)]
        if question.batch > 1:
            words += ["--batch", str(question.batch)]
        if question.round_trip:
            words += ["--pattern", "ping-pong"]
        if question.rate_fps:
            words += ["--rate", f"{question.rate_fps}/s"]
        found: dict[str, Any] = json.loads(
            self.lab.run(SENDER, words, pinned=False, codes=(0, 1))  # 1: flagged, such as stalled
        )
        return found


def icprobe_value(record: Mapping[str, Any], question: Question) -> float:
    """Return the value that a record of icprobe has for a question."""
    result = record["result"]
    if question.measure == "rtt/2":
        return float(result["rtt_half_p50_s"])
    if question.measure == "rtt/2 p99":
        return float(result["rtt_half_p99_s"])
    goodput_bps = float(result["goodput_bps"])
    return goodput_bps if question.measure == "goodput" else goodput_bps / question.bits


def icprobe_pacing(record: Mapping[str, Any]) -> Pacing:
    """Return the pacing of a record; as for the other tools, a late frame counts as a stall."""
    pacing = record["pacing"]
    return Pacing(
        pacing["achieved_fps"],
        pacing["send_error_p50_s"],
        pacing["send_error_p99_s"],
        pacing["send_error_max_s"] > STALL_S,
    )


class Iperf3(Tool):
    """iperf3: https://github.com/esnet/iperf."""

    name, port = "iperf3", 5201

    def start(self) -> None:
        """Start the server of iperf3."""
        self.lab.start(RECEIVER, ("iperf3", "--server"))
        listening(self.lab, "tcp", self.port)

    def can(self, question: Question) -> bool:
        """Whether the question asks for a rate of a stream without batches."""
        return question.single_stream

    def ask(self, question: Question) -> float:
        """Measure once."""
        return iperf3_value(self._run(question), question)

    def deliver(self, question: Question) -> Delivery:
        """Send a stream once."""
        return iperf3_delivery(self._run(question), question)

    def _run(self, question: Question) -> str:
        """Return the JSON output of the client; ``--bitrate 0`` means no limit."""
        words = ["iperf3", "--client", self.lab.address[RECEIVER], "--json"]
        words += ["--time", str(SECONDS), "--length", str(question.payload_bytes)]
        bitrate = str((question.rate_fps or 0) * question.bits)
        words += ["--udp", "--bitrate", bitrate] if question.protocol == "udp" else []
        words += self.sockets(question)
        return self.lab.run(SENDER, words)

    def sockets(self, question: Question) -> Sequence[str]:
        """Return the options for buffer sizes, and with TCP for no Nagle."""
        nagle = () if question.protocol == "udp" else ("--no-delay",)
        return ("--window", str(BUFFER_BYTES), *nagle)


def iperf3_value(printed: str, question: Question) -> float:
    """Return the received goodput [b/s] or frame rate [1/s] of iperf3's JSON output."""
    try:
        bps = float(json.loads(printed)["end"]["sum_received"]["bits_per_second"])
    except (ValueError, KeyError) as error:
        raise ToolError(f"iperf3 printed no received rate: {printed[-300:]}") from error
    return bps if question.measure == "goodput" else bps / question.bits


def iperf3_delivery(printed: str, question: Question) -> Delivery:
    """Return the received rate, and the gaps in the sequence that the server counted."""
    fps = iperf3_value(printed, replace(question, measure="frames"))
    return Delivery(fps, json.loads(printed)["end"]["sum_received"]["lost_packets"])


class Nuttcp(Tool):
    """nuttcp: https://www.nuttcp.net."""

    name, port = "nuttcp", 5000

    def start(self) -> None:
        """Start the server of nuttcp in the foreground."""
        self.lab.start(RECEIVER, ("nuttcp", "-S", "--nofork", "-P", str(self.port)))
        listening(self.lab, "tcp", self.port)

    def can(self, question: Question) -> bool:
        """Whether the question asks for a rate of a stream without batches."""
        return question.single_stream

    def ask(self, question: Question) -> float:
        """Measure once."""
        return nuttcp_value(self._run(question), question)

    def deliver(self, question: Question) -> Delivery:
        """Send a stream once."""
        return nuttcp_delivery(self._run(question), question)

    def _run(self, question: Question) -> str:
        """Return the output of the client; ``-Ru`` removes the default limit of 1 Mb/s for UDP."""
        words = ["nuttcp", f"-T{SECONDS}", f"-l{question.payload_bytes}"]
        words += [f"-w{BUFFER_BYTES // 1024}", f"-P{self.port}", "-fparse"]
        rate = f"-R{question.rate_fps}p" if question.rate_fps else "-Ru"
        words += ["-u", rate] if question.protocol == "udp" else ["-D"]
        return self.lab.run(SENDER, (*words, self.lab.address[RECEIVER]))


def nuttcp_value(printed: str, question: Question) -> float:
    """Return the received goodput [b/s] or frame rate [1/s]; nuttcp prints 10^6 b/s."""
    rate = re.search(r"rate_Mbps=([\d.]+)", printed)
    if not rate:
        raise ToolError(f"nuttcp printed no rate: {printed[-300:]}")
    bps = float(rate[1]) * 1e6
    return bps if question.measure == "goodput" else bps / question.bits


def nuttcp_delivery(printed: str, question: Question) -> Delivery:
    """Return the received frame rate, and the receiver's count of lost frames."""
    drop = re.search(r"drop=(-?\d+)", printed)
    if not drop:
        raise ToolError(f"nuttcp printed no losses: {printed[-300:]}")
    return Delivery(nuttcp_value(printed, replace(question, measure="frames")), int(drop[1]))


class Sockperf(Tool):
    """sockperf: https://github.com/Mellanox/sockperf.

    The client sleeps for two seconds before it sends. So it is started while another tool runs, and
    is stopped (SIGSTOP) until its turn.
    """

    name, port = "sockperf", 11111

    MOST_BYTES = 65_507

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.log = lab.folder / "sockperf.csv"
        self._ready: tuple[Process, Process] | None = None

    def start(self) -> None:
        """Do nothing: the server counts from its start on, so each run starts its own."""

    def can(self, question: Question) -> bool:
        """Whether the payload fits into the largest datagram, a limit also with TCP."""
        return question.payload_bytes <= self.MOST_BYTES and question.batch == 1

    def prepare(self, question: Question) -> None:
        """Start the server of a run, and its client up to the client's sleep."""
        common = ["-i", self.lab.address[RECEIVER], "-p", str(self.port)]
        common += self.sockets(question)
        common += ["--tcp"] if question.protocol == "tcp" else []
        server = self.lab.start(RECEIVER, ("sockperf", "server", *common))
        listening(self.lab, question.protocol, self.port)
        words = ["sockperf", *self._mode(question), *common, "-t", str(SECONDS), "--dontwarmup"]
        client = self.lab.start(SENDER, (*words, "-m", str(question.payload_bytes)))
        client.hold_after("PORT")
        self._ready = server, client

    def _mode(self, question: Question) -> tuple[str, ...]:
        if question.round_trip:
            return ("ping-pong",)
        if question.measure == "paced":
            rate = ("--mps", str(question.rate_fps), "--reply-every", str(REPLY_EVERY))
            return ("under-load", *rate, "--full-log", str(self.log))
        words = ("throughput", *self.throughput(question))
        return (*words, "--mps", str(question.rate_fps)) if question.rate_fps else words

    def sockets(self, question: Question) -> Sequence[str]:
        """Return the option for buffer sizes."""
        return ("--buffer-size", str(BUFFER_BYTES))

    def throughput(self, question: Question) -> Sequence[str]:
        """Return the option that toggles Nagle's algorithm, which is on in this mode only."""
        return ("--tcp-avoid-nodelay",) if question.protocol == "tcp" else ()

    def _run(self, question: Question) -> tuple[str, str]:
        """Return the output of client and server; by default both block in the kernel."""
        if not self._ready:
            self.prepare(question)
        assert self._ready is not None
        (server, client), self._ready = self._ready, None
        return client.result(), server.interrupt()

    def ask(self, question: Question) -> float:
        """Measure once."""
        client, server = self._run(question)
        if question.round_trip:
            return sockperf_rtt_half_s(client, 99 if question.measure == "rtt/2 p99" else 50)
        fps = sockperf_delivery(client, server).received_fps
        return fps * question.bits if question.measure == "goodput" else fps

    def deliver(self, question: Question) -> Delivery:
        """Send a stream once."""
        return sockperf_delivery(*self._run(question))

    def pace(self, question: Question) -> Pacing:
        """Measure a paced stream once."""
        client, _ = self._run(question)
        log = self.log.read_text(encoding="utf-8", errors="replace")
        told = pacing_of(sockperf_send_times_s(log), REPLY_EVERY)
        return replace(told, stalled=told.stalled or sockperf_dropped(client) > 0)


def sockperf_delivery(client: str, server: str) -> Delivery:
    """Return frames handled by the server over the client's seconds [1/s], and lost ones.

    sockperf itself prints neither.
    """
    sent = re.search(r"Total of (\d+) messages sent in ([\d.]+) sec", client)
    received = re.search(r"Total (\d+) messages received and handled", server)
    if not sent or not received:
        raise ToolError(f"sockperf printed no totals: {client[-300:]} {server[-300:]}")
    return Delivery(int(received[1]) / float(sent[2]), int(sent[1]) - int(received[1]))


def sockperf_rtt_half_s(client: str, percentile: int = 50) -> float:
    """Return a percentile of sockperf's latency [s], half a round trip and printed in µs."""
    found = re.search(rf"percentile {percentile}\.000 =\s*([\d.]+)", client)
    if not found:
        raise ToolError(f"sockperf printed no percentile {percentile}: {client[-300:]}")
    return float(found[1]) * 1e-6


def sockperf_send_times_s(log: str) -> list[float]:
    """Return the send times of the answered frames [s], from the full log."""
    rows = re.findall(r"^\d+, ([\d.]+), [\d.]+, [\d.]+$", log, re.MULTILINE)
    if len(rows) < 3:
        raise ToolError(f"sockperf logged no send times: {log[-300:]}")
    return [float(row) for row in rows]


def sockperf_dropped(client: str) -> int:
    """Return the number of lost answers, which are missing from the full log."""
    dropped = re.search(r"# dropped messages = (\d+)", client)
    if not dropped:
        raise ToolError(f"sockperf printed no losses: {client[-300:]}")
    return int(dropped[1])


def pacing_of(sent_s: Sequence[float], stride: int) -> Pacing:
    """Return the pacing of the send times of every ``stride``-th frame, against a fitted grid.

    The step of the grid is the median slope of pairs half the run apart (a reduced Theil-Sen
    estimator), so that a stall does not distort it. Its origin is the frame that was least late.
    """
    half = len(sent_s) // 2
    step = statistics.median(
        (later - earlier) / half for earlier, later in zip(sent_s, sent_s[half:], strict=False)
    )
    offsets = [at - place * step for place, at in enumerate(sent_s)]
    errors = sorted(offset - min(offsets) for offset in offsets)
    achieved = stride * (len(sent_s) - 1) / (sent_s[-1] - sent_s[0])
    return Pacing(achieved, quantile(errors, 0.5), quantile(errors, 0.99), errors[-1] > STALL_S)


def quantile(ascending: Sequence[float], q: float) -> float:
    """Return the smallest value that at least the share ``q`` of values does not exceed."""
    rank = max(1, -int(-q * len(ascending) // 1))
    return ascending[rank - 1]


TOOLS: tuple[type[Tool], ...] = (Icprobe, Iperf3, Sockperf, Nuttcp)
"""All tools, icprobe first. sockperf is neither first nor last, so that it can be prepared."""

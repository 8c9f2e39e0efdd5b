"""Peer of the measuring tools that sends and receives by io_uring, compiled when it is needed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.probe_lab import RECEIVER, ROOT, SENDER, Lab, ToolError, listening, run
from benchmarks.probe_tools import BUFFER_BYTES, SECONDS, Delivery, Question, Tool

SOURCE = ROOT / "benchmarks" / "probe_uring.c"


def build(folder: Path) -> Path:
    """Compile the peer with gcc and liburing, and check that the kernel lets it open a ring.

    Raises
    ------
    ToolError
        If liburing is missing, or the kernel or a sandbox forbids io_uring.
    OSError
        If there is no gcc.
    """
    binary = folder / SOURCE.stem
    run(("gcc", "-O2", "-o", binary, SOURCE, "-luring"))
    run((binary, "--version"))
    return binary


class Uring(Tool):
    """io_uring: one request for each frame; a receiver of streams that posts many buffers."""

    name, port = "io_uring", 20130

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.binary = build(lab.folder)

    def start(self) -> None:
        """Start the server for all runs."""
        self.lab.start(RECEIVER, self._words("serve"))
        listening(self.lab, "tcp", self.port)

    def can(self, question: Question) -> bool:
        """Whether the peer can answer a question; it does not print paced send times."""
        return question.measure != "paced"

    def ask(self, question: Question) -> float:
        """Measure once."""
        if not question.round_trip:
            fps = self.deliver(question).received_fps
            return fps * question.bits if question.measure == "goodput" else fps
        return uring_rtt_half_s(self._run("ping", question), question)

    def deliver(self, question: Question) -> Delivery:
        """Send a stream once."""
        return uring_delivery(self._run("stream", question))

    def _run(self, mode: str, question: Question) -> str:
        numbers = (question.payload_bytes, SECONDS, question.rate_fps or 0, question.batch)
        return self.lab.run(SENDER, self._words(mode, question.protocol, *map(str, numbers)))

    def _words(self, mode: str, *more: str) -> Sequence[str | Path]:
        to = self.lab.address[RECEIVER]
        return (self.binary, mode, to, str(self.port), str(BUFFER_BYTES), *more)


def uring_delivery(printed: str) -> Delivery:
    """Return the rate and the losses that the receiver counted between its first and its last frame."""
    try:
        told = json.loads(printed)
        return Delivery(told["received"] / told["seconds"], round(told["sent"] - told["received"]))
    except (ValueError, LookupError, ZeroDivisionError) as error:
        raise ToolError(f"io_uring printed no received frames: {printed[-300:]}") from error


def uring_rtt_half_s(printed: str, question: Question) -> float:
    """Return half of the median or of the 99th percentile of the round trips [s]."""
    name = "rtt_p99_s" if question.measure == "rtt/2 p99" else "rtt_p50_s"
    try:
        return float(json.loads(printed)[name]) / 2
    except (ValueError, LookupError) as error:
        raise ToolError(f"io_uring printed no round trips: {printed[-300:]}") from error

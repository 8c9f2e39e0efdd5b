"""icprobe beside iperf3, nuttcp and sockperf in one lab: ``python -m benchmarks.probe``."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from benchmarks.machine import load_average, machine
from benchmarks.pairs import Document
from benchmarks.probe_contest import (
    Contest,
    Result,
    ToolRun,
    disturbance,
    hopeful,
    verdict,
)
from benchmarks.probe_lab import ToolError, find_icprobe, run, standing
from benchmarks.probe_tables import text
from benchmarks.probe_tools import (
    BUFFER_BYTES,
    SECONDS,
    TOOLS,
    Icprobe,
    Pacing,
    Question,
    Sockperf,
    Tool,
)

PAIRS = 20
RATE_FPS = 10_000
STREAMS = (
    Question("tcp", 64, "goodput"),
    Question("tcp", 1448, "goodput"),
    Question("tcp", 65_535, "goodput"),
    Question("udp", 64, "frames"),
    Question("udp", 1472, "frames"),
)
ROUND_TRIPS = (Question("udp", 64, "rtt/2"), Question("tcp", 64, "rtt/2"))
PACED = Question("udp", 64, "paced", RATE_FPS)
QUESTIONS = {question.name: question for question in (*STREAMS, *ROUND_TRIPS, PACED)}
VERSIONS = {
    "iperf3": ("iperf3", "--version"),
    "nuttcp": ("nuttcp", "-V"),
    "sockperf": ("sockperf", "--version"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen questions and print tables; return 1 if a tool is missing or failed."""
    options = _parser().parse_args(arguments)
    try:
        document = measure(options.only or list(QUESTIONS), options.pairs, options.icprobe)
    except (ToolError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    if options.json:
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(text(document), end="")
    return 0


def measure(names: Sequence[str], pairs: int, icprobe: Path | None = None) -> Document:
    """Measure some questions, and return the document that ``--json`` writes."""
    started = time.monotonic()
    binary = find_icprobe(icprobe)
    document: Document = {
        "schema_version": 1,
        "machine": machine(),
        "tools": {"icprobe": version((binary, "--version"))}
        | {name: version(words) for name, words in VERSIONS.items()},
        "window_s": SECONDS,
        "buffer_bytes": BUFFER_BYTES,
        "results": {},
    }
    with standing(binary) as lab:
        tools = [kind(lab) for kind in TOOLS]
        for tool in tools:
            tool.start()
        for name in names:
            document["results"][name] = answer(QUESTIONS[name], tools, pairs)
    document["load_average_at_end"] = load_average()
    document["seconds"] = time.monotonic() - started
    return document


def version(words: Sequence[str | Path]) -> str:
    """Return the first line of the version that a tool prints."""
    return run(words).strip().splitlines()[0]


def answer(question: Question, tools: Sequence[Tool], pairs: int) -> Document:
    """Run and judge all rounds of one question."""
    if question.measure == "paced":
        return paced(question, tools, pairs)
    more = question.measure != "rtt/2"
    runs = {tool.name: tool_run(tool, question, tool.ask) for tool in tools if tool.can(question)}
    judge = partial(hopeful, judged=Icprobe.name, more_is_better=more)
    rounds = Contest(runs, question.name).rounds(pairs, judge)
    judged = verdict(rounds, Icprobe.name, more)
    return {"measure": question.measure} | judged | disturbance(rounds)


def tool_run(tool: Tool, question: Question, ask: Callable[[Question], Result]) -> ToolRun[Result]:
    """Make the run of a tool that answers a question."""
    if isinstance(tool, Sockperf):
        return ToolRun(partial(ask, question), partial(tool.prepare, question))
    return ToolRun(partial(ask, question))


def paced(question: Question, tools: Sequence[Tool], pairs: int) -> Document:
    """Measure rate and send-time error of the two tools that pace frame by frame."""
    runs = {
        tool.name: tool_run(tool, question, tool.pace)
        for tool in tools
        if isinstance(tool, Icprobe | Sockperf)
    }
    rounds = Contest(runs, question.name).rounds(pairs)
    pacings = {name: [one.results[name] for one in rounds] for name in runs}
    return {
        "measure": question.measure,
        "asked_fps": question.rate_fps,
        "tools": {name: pacing(each, question.rate_fps or 1) for name, each in pacings.items()},
    } | disturbance(rounds)


def pacing(runs: Sequence[Pacing], asked_fps: int) -> Document:
    """Summarise runs without a stall, and separately runs with one."""
    parts = {
        "steady": [run for run in runs if not run.stalled],
        "stalled": [run for run in runs if run.stalled],
    }
    return {name: _paced_part(part, asked_fps) for name, part in parts.items()}


def _paced_part(runs: Sequence[Pacing], asked_fps: int) -> Mapping[str, object]:
    if not runs:
        return {"runs": 0}
    return {
        "runs": len(runs),
        "rate_off_worst": max(abs(run.achieved_fps / asked_fps - 1) for run in runs),
        "error_p50_s": statistics.median(run.error_p50_s for run in runs),
        "error_p99_s": statistics.median(run.error_p99_s for run in runs),
        "each": [asdict(run) for run in runs],
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.probe", description=__doc__)
    parser.add_argument(
        "--pairs", type=_count, default=PAIRS, help="number of rounds of each question"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result as JSON")
    parser.add_argument("--only", action="append", choices=list(QUESTIONS), metavar="QUESTION")
    parser.add_argument("--icprobe", type=Path, metavar="FILE", help="icprobe binary to test")
    return parser


def _count(word: str) -> int:
    count = int(word)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{word} is not 1 or more")
    return count


if __name__ == "__main__":
    sys.exit(main())

"""icprobe beside iperf3, nuttcp, sockperf and io_uring in one lab: ``python -m benchmarks.probe``."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import cast

from benchmarks.journal import Journal
from benchmarks.machine import load_average, machine
from benchmarks.pairs import Document, say, spread
from benchmarks.probe_contest import (
    Contest,
    Result,
    Round,
    ToolRun,
    disturbance,
    hopeful,
    verdict,
)
from benchmarks.probe_cpu import Meter, Reading
from benchmarks.probe_lab import Lab, ToolError, find_icprobe, run, standing
from benchmarks.probe_lossless import greatest
from benchmarks.probe_tables import cell, text
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
from benchmarks.probe_uring import Uring

PAIRS = 20
RATE_FPS = 10_000
BATCH = 32
STREAMS = (
    Question("tcp", 64, "goodput"),
    Question("tcp", 1448, "goodput"),
    Question("tcp", 65_535, "goodput"),
    Question("udp", 64, "frames"),
    Question("udp", 1472, "frames"),
    Question("udp", 64, "lossless"),
)
BATCHED = (
    Question("tcp", 64, "goodput", batch=BATCH),
    Question("udp", 64, "frames", batch=BATCH),
)
ROUND_TRIPS = (
    Question("udp", 64, "rtt/2"),
    Question("tcp", 64, "rtt/2"),
    Question("udp", 64, "rtt/2 p99"),
    Question("tcp", 64, "rtt/2 p99"),
)
PACED = Question("udp", 64, "paced", RATE_FPS)
QUESTIONS = {question.name: question for question in (*STREAMS, *BATCHED, *ROUND_TRIPS, PACED)}
VERSIONS = {
    "iperf3": ("iperf3", "--version"),
    "nuttcp": ("nuttcp", "-V"),
    "sockperf": ("sockperf", "--version"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen questions and print tables; return 1 if a tool is missing or failed."""
    options = _parser().parse_args(arguments)
    try:
        journal = Journal(options.journal)
        document = measure(options.only or list(QUESTIONS), options.pairs, options.icprobe, journal)
    except (ToolError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    if options.json:
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(text(document), end="")
    return 0


def measure(names: Sequence[str], pairs: int, icprobe: Path | None, journal: Journal) -> Document:
    """Measure questions that the journal does not have; return the document of ``--json``."""
    started = time.monotonic()
    binary = find_icprobe(icprobe)
    document: Document = {
        "schema_version": 1,
        "machine": machine(),
        "tools": {"icprobe": version((binary, "--version"))}
        | {name: version(words) for name, words in VERSIONS.items()},
        "skipped": {},
        "window_s": SECONDS,
        "buffer_bytes": BUFFER_BYTES,
        "results": {},
    }
    with standing(binary) as lab:
        tools = started_tools(lab, document)
        meter = Meter(lab)
        for name in names:
            if not rivals(QUESTIONS[name], tools):
                document["skipped"][name] = "no tool beside icprobe takes part"
                continue
            key = (name, pairs, document["tools"])
            found = journal.known(key) or answer(QUESTIONS[name], tools, pairs, meter)
            journal.keep(key, found)
            document["results"][name] = cast(Document, found)
            say("\n".join(cell(name, document["results"][name])))
    document["load_average_at_end"] = load_average()
    document["seconds"] = time.monotonic() - started
    return document


def started_tools(lab: Lab, document: Document) -> list[Tool]:
    """Start all tools; skip io_uring by name where it cannot be compiled or is forbidden."""
    tools: list[Tool] = [kind(lab) for kind in TOOLS]
    try:
        uring = Uring(lab)
    except (ToolError, OSError) as error:
        document["skipped"][Uring.name] = str(error)
        say(f"skipped {Uring.name}: {error}")
    else:
        document["tools"][Uring.name] = version((uring.binary, "--version"))
        tools.append(uring)
    for tool in tools:
        tool.start()
    return tools


def rivals(question: Question, tools: Sequence[Tool]) -> list[str]:
    """Return the tools beside icprobe that can answer a question."""
    return [tool.name for tool in tools if tool.can(question) and tool.name != Icprobe.name]


def version(words: Sequence[str | Path]) -> str:
    """Return the first line of the version that a tool prints."""
    return run(words).strip().splitlines()[0]


def answer(question: Question, tools: Sequence[Tool], pairs: int, meter: Meter) -> Document:
    """Run and judge all rounds of one question, as measured and at equal CPU."""
    if question.measure == "paced":
        return paced(question, tools, pairs)
    more = not question.round_trip
    runs = {
        tool.name: tool_run(tool, question, partial(reading, tool, meter))
        for tool in tools
        if tool.can(question)
    }
    rounds = Contest(runs, question.name).rounds(pairs, partial(contenders, more_is_better=more))
    return {
        "measure": question.measure,
        **verdict(plain(rounds), Icprobe.name, more),
        "equal_cpu": verdict(equal_cpu(rounds, more), Icprobe.name, more),
        "cores": cores(rounds),
        **disturbance(rounds),
    }


def reading(tool: Tool, meter: Meter, question: Question) -> Reading:
    """Measure once, and meter the CPU of the run that gives the value."""
    if question.measure == "lossless":
        return greatest(
            lambda fps: meter.during(partial(tool.deliver, replace(question, rate_fps=fps)))
        )
    return Reading(*meter.during(partial(tool.ask, question)))


def plain(rounds: Sequence[Round[Reading]]) -> list[Round[float]]:
    """Return the rounds with the measured values."""
    return [
        Round({name: each.value for name, each in one.results.items()}, one.others_cores)
        for one in rounds
    ]


def equal_cpu(rounds: Sequence[Round[Reading]], more_is_better: bool) -> list[Round[float]]:
    """Return the rounds with the values at equal CPU."""
    return [
        Round(
            {name: each.at_equal_cpu(more_is_better) for name, each in one.results.items()},
            one.others_cores,
        )
        for one in rounds
    ]


def contenders(rounds: Sequence[Round[Reading]], more_is_better: bool) -> set[str]:
    """Return the tools that may still become the best, as measured or at equal CPU."""
    both = (plain(rounds), equal_cpu(rounds, more_is_better))
    return set().union(*(hopeful(each, Icprobe.name, more_is_better) for each in both))


def cores(rounds: Sequence[Round[Reading]]) -> Document:
    """Return the busy cores of each tool's sender and receiver."""
    names = sorted({name for one in rounds for name in one.results})
    used = {n: [one.results[n].cores for one in rounds if n in one.results] for n in names}
    return {
        name: {
            "sender": spread([each.sender for each in runs]).to_dict(),
            "receiver": spread([each.receiver for each in runs]).to_dict(),
        }
        for name, runs in used.items()
    }


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
    parser.add_argument(
        "--journal", type=Path, metavar="FILE", help="keep each answer there, and continue from it"
    )
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

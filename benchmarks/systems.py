"""Processor time and memory of whole systems, by their size: ``python -m benchmarks.systems``."""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from benchmarks.pairs import Document, say
from icmodel.__main__ import GC_THRESHOLD
from icmodel.model import Model
from icmodel.system import predict
from icmodel.system.document import SystemDocument
from icmodel.system.expansion import expand
from icmodel.system.prediction.judging import judge_requirements

DATASET = "ethernet-10g-2012"
SIZES = ((100, 20), (1_000, 50), (3_000, 150), (10_000, 500), (30_000, 1_500), (100_000, 5_000))
"""Streams and switches, ascending: the peak memory of the process is that of the last size."""
HOSTS, BRANCHES = 4, 4
"""Hosts at each switch, and switches below each switch."""
HOST_BPS, TRUNK_BPS = 10e9, 100e9
FULLEST = 0.5
"""Load of the fullest port, without headers."""

T = TypeVar("T")


def main(arguments: Sequence[str] | None = None) -> int:
    """Predict systems of several sizes, and print what each step takes."""
    asked = _parser().parse_args(arguments)
    model = Model(DATASET)
    predict(expand(SystemDocument.model_validate(tree(1, 2, asked.seed))), model)  # builds tables
    sizes = [(streams, switches) for streams, switches in SIZES if streams <= asked.streams]
    document: Document = {
        "schema_version": 1,
        "systems": [timed(streams, switches, model, asked.seed) for streams, switches in sizes],
    }
    print(json.dumps(document, indent=2) if asked.json else text(document), end="")
    return 0


def timed(streams: int, switches: int, model: Model, seed: int) -> Document:
    """Measure CPU seconds of reading, means, means with bounds, and judging; and memory."""
    described = tree(streams, switches, seed)
    system, read_s = _cpu(lambda: expand(SystemDocument.model_validate(described)))
    means, means_s = _cpu(lambda: predict(system, model, worst=False))
    whole, whole_s = _cpu(lambda: predict(system, model))
    # Bounds limit mean latencies only.
    assert [one.goodput_bps for one in means.streams.values()] == [
        one.goodput_bps for one in whole.streams.values()
    ]
    judged, judging_s = _cpu(lambda: judge_requirements(whole))
    assert len(judged) == len(whole.judged)
    say(f"{streams:,} streams over {switches} switches: {whole_s:.2f} s of CPU")
    return {
        "streams": streams,
        "switches": switches,
        "hops": sum(len(one.path) for one in system.streams.values()),
        "bounded": sum(one.latency_bound is not None for one in whole.streams.values()),
        "read_cpu_s": read_s,
        "means_cpu_s": means_s,
        "whole_cpu_s": whole_s,
        "judging_cpu_s": judging_s,
        "memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _cpu(work: Callable[[], T]) -> tuple[T, float]:
    begin = time.process_time()
    found = work()
    return found, time.process_time() - begin


def tree(streams: int, switches: int, seed: int) -> dict[str, Any]:
    """Make the tables of a system file: a tree of switches with hosts, and random streams."""
    draw = random.Random(seed)
    hosts = [f"h{switch}-{1 + place}" for switch in range(switches) for place in range(HOSTS)]
    ends = [draw.sample(hosts, 2) for _ in range(streams)]
    most_bps = FULLEST * min(HOST_BPS / _most(ends), TRUNK_BPS / streams)
    return {
        "schema_version": 1,
        "name": "tree",
        "title": f"{streams} streams over {switches} switches",
        "source": "drawn at random",
        "devices": [{"name": f"h{switch}", "count": HOSTS} for switch in range(switches)],
        "switches": [
            {"name": f"s{switch}", "forwarding": "store-and-forward", "latency_s": 6e-6}
            for switch in range(switches)
        ],
        "links": [*_links(switches)],
        "streams": [
            {
                "name": f"stream{number}",
                "source": source,
                "sink": sink,
                "produces": {"kind": "goodput", "goodput_bps": most_bps * draw.uniform(0.2, 1.0)},
                "protocol": draw.choice(("tcp", "udp")),
                "payload_bytes": 1448,
            }
            for number, (source, sink) in enumerate(ends)
        ],
    }


def _most(ends: Sequence[Sequence[str]]) -> int:
    """Return the number of streams of the host that sends or receives the most."""
    return max(max(Counter(side).values()) for side in zip(*ends, strict=True))


def _links(switches: int) -> Iterator[dict[str, Any]]:
    for switch in range(switches):
        yield {"between": [f"h{switch}", f"s{switch}"], "rate_bps": HOST_BPS}
        if switch:
            above = f"s{(switch - 1) // BRANCHES}"
            yield {"between": [f"s{switch}", above], "rate_bps": TRUNK_BPS}


def text(document: Document) -> str:
    """Return one line of text per system."""
    lines = [
        f"{one['streams']:,} streams over {one['switches']} switches ({one['hops']:,} hops), "
        f"{one['bounded']:,} with a bound, s of CPU: {one['read_cpu_s']:.2f} to read, "
        f"{one['means_cpu_s']:.2f} the means, {one['whole_cpu_s'] - one['means_cpu_s']:.2f} the bounds, "
        f"{one['judging_cpu_s']:.2f} (within the means) judging; {one['memory_bytes'] / 2**20:,.0f} MiB"
        for one in document["systems"]
    ]
    return "\n".join(lines) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.systems", description=__doc__)
    parser.add_argument(
        "--streams", type=int, default=100_000, help="greatest number of streams of a system"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the systems")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    gc.set_threshold(GC_THRESHOLD)  # as the command icmodel does
    sys.exit(main())

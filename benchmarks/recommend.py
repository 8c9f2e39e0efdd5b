"""Time of a search over many designs: ``python -m benchmarks.recommend``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.pairs import Document
from icmodel.model import Model
from icmodel.recommend import recommend
from icmodel.system import OpenSystem, load_open
from icmodel.system.document import Choices

DATASET = "ethernet-10g-2012"
PAYLOADS = (1448, 2048, 4096, 8192, 16_384, 32_768, 65_535)
STREAM = {
    "protocol": ("tcp", "udp"),
    "payload_bytes": ("aligned", *PAYLOADS),
    "rate_fps": ("as-produced", "whole-messages"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Search the imaging system with additional choices, and print the time."""
    asked = _parser().parse_args(arguments)
    document = {"schema_version": 1, **searched(asked.payloads, asked.networks)}
    print(json.dumps(document, indent=2) if asked.json else text(document), end="")
    return 0


def searched(payloads: int, networks: int) -> Document:
    """Search ``payloads`` payloads of pictures in ``networks`` counts of interfaces."""
    file = wide(payloads, networks)
    begun = time.perf_counter(), time.process_time()
    found = recommend(file, Model(DATASET))
    wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
    return {**found.searched.to_dict(), "wall_s": wall, "cpu_s": cpu, "verdict": found.verdict}


def wide(payloads: int, networks: int) -> OpenSystem:
    """Return the imaging system with choices for pictures, cores, priorities and interfaces."""
    file = load_open("imaging")
    sizes = STREAM["payload_bytes"][: 1 + payloads]
    choices = Choices.model_validate(
        {
            "streams": {
                "picture": {**STREAM, "payload_bytes": sizes, "cores": [1, 2, 3, 4]},
                "second-picture": {**STREAM, "payload_bytes": sizes, "cores": [1, 4]},
                "control": {"protocol": ["tcp", "udp"], "priority": [0, 6]},
            },
            "devices": {"qfhd-display": {"interfaces": list(range(3, 3 + networks))}},
        }
    )
    return replace(file, document=file.document.model_copy(update={"choices": choices}))


def text(document: Document) -> str:
    """Return the result as one line of text."""
    return (
        f"{document['designs']:,} designs of imaging, {document['scored']:,} scored, "
        f"{document['checked']} predicted in full: {document['cpu_s']:.2f} s of CPU, "
        f"{document['wall_s']:.2f} s\n"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recommend", description=__doc__)
    parser.add_argument(
        "--payloads",
        type=int,
        default=len(PAYLOADS),
        help="number of payloads, besides aligned ones",
    )
    parser.add_argument("--networks", type=int, default=2, help="number of interface counts to try")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""Worst-case bounds against thousands of simulated systems: ``python -m benchmarks.bounds``."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.checking import TESTS, from_tests
from benchmarks.pairs import Document, say
from icmodel.system.bounds import Fifo, StrictPriority, bounds

if TYPE_CHECKING:
    from types import ModuleType

SIZES = ((100, 60), (10_000, 1_500))
"""Flows and ports of the large networks: 20 and 500 switches of three ports in use."""
TIMED = ("total flow", "separate flow")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare bounds with simulations and print a table; return 1 if a bound is too low."""
    asked = _parser().parse_args(arguments)
    document: Document = {"schema_version": 1, **held(modules().held, asked.systems, asked.seed)}
    document["whole"] = whole(whole_modules().held, asked.whole, asked.seed)
    document["cases"] = cases()
    document["large"] = [
        timed(flows, ports, scheduler)
        for flows, ports in SIZES
        if flows <= asked.flows
        for scheduler in (Fifo(), StrictPriority())
    ]
    print(json.dumps(document, indent=2) if asked.json else text(document), end="")
    return code(document)


def code(document: Document) -> int:
    """Return the exit code: 1 if any bound is too low."""
    return 1 if document["broken"] or document["whole"]["broken"] else 0


def modules() -> ModuleType:
    """Load random systems and their simulation from the tests."""
    from_tests("packet_simulation")
    return from_tests("bounds_systems")


def whole_modules() -> ModuleType:
    """Load random whole systems and their simulation from the tests."""
    for name in ("simulated_packets", "simulated_ports", "system_simulation", "drawn_systems"):
        from_tests(name)
    from_tests("system_contradictions")
    return from_tests("whole_bounds")


def whole(compare: Callable[[int], Any], count: int, seed: int) -> Document:
    """Compare bounds with greatest simulated values of ``count`` whole systems.

    Ratios are grouped by scheduler, forwarding and form.
    """
    ratios: dict[tuple[str, str, str], list[float]] = {}
    broken: list[str] = []
    unbounded = 0
    for done in range(count):
        one = compare(seed + done)
        broken += one.broken
        unbounded += one.unbounded
        for found in one.ratios:
            for by in ("scheduler", "forwarding", "form"):
                kind = getattr(found, by)
                if kind:
                    ratios.setdefault((found.what, by, kind), []).append(found.ratio)
        if (done + 1) % 500 == 0:
            say(f"{done + 1:,} whole systems, {len(broken)} bounds too low")
    rows = [
        {"what": what, "by": by, "kind": kind, **spread(found)}
        for (what, by, kind), found in sorted(ratios.items())
    ]
    return {"systems": count, "unbounded": unbounded, "broken": broken, "tightness": rows}


def held(compare: Callable[[int], Any], count: int, seed: int) -> Document:
    """Compare bounds with greatest simulated values of systems, by scheduler and analysis."""
    ratios: dict[tuple[str, str], list[float]] = {}
    broken: list[str] = []
    for done in range(count):
        one = compare(seed + done)
        broken += one.broken
        for what, found in one.ratios.items():
            ratios.setdefault((one.kind, what), []).extend(found)
        if (done + 1) % 1_000 == 0:
            say(f"{done + 1:,} systems, {len(broken)} bounds too low")
    rows = [
        {"scheduler": kind, "what": what, **spread(found)}
        for (kind, what), found in sorted(ratios.items())
        if min(found) < float("inf")  # the LP has hardly any bound under arbitrary multiplexing
    ]
    return {"systems": count, "seed": seed, "broken": broken, "tightness": rows}


def spread(ratios: Sequence[float]) -> dict[str, float]:
    """Return the count, and the count, least, median and 95th percentile of the finite ratios."""
    finite = sorted(ratio for ratio in ratios if ratio < float("inf"))
    return {
        "count": len(ratios),
        "finite": len(finite),
        "least": finite[0],
        "median": statistics.median(finite),
        "p95": finite[int(0.95 * (len(finite) - 1))],
    }


def cases() -> Document:
    """Return icmodel's bounds for Saihu's demo, and those that Saihu's tools print [µs]."""
    sys.path.insert(0, str(TESTS))
    try:
        known = from_tests("test_system_bounds_known")
    finally:
        sys.path.remove(str(TESTS))
    found = {}
    for title, copy in (("with the copy", True), ("without the copy", False)):
        every = modules().bounds_by_method(known.saihu(copy=copy, shaped=True))
        found[title] = {
            method: {name: 1e6 * bound.value_s for name, bound in each.items()}
            for method, each in every.items()
        }
    return {"saihu": found, "published": known.SAIHU["published_us"]["flows"]}


def timed(flows: int, ports: int, scheduler: Any) -> Document:
    """Measure the CPU time of bounds of a large network by total and separate flow analysis."""
    made = modules().large(flows, ports, scheduler)
    begin = time.process_time()
    found = bounds(made, TIMED)
    seconds = time.process_time() - begin
    say(f"{flows:,} flows over {ports:,} ports, {scheduler.name}: {seconds:.2f} s of CPU")
    return {
        "flows": flows,
        "ports": ports,
        "hops": sum(len(flow.path) for flow in made.flows.values()),
        "scheduler": scheduler.name,
        "cpu_s": seconds,
        "bounded": sum(bound.value_s < float("inf") for bound in found.values()),
    }


def text(document: Document) -> str:
    """Return the tables as text."""
    lines = [
        f"{'scheduler':<24}{'what':<24}{'count':>8}{'finite':>8}{'median':>8}{'95th':>8}{'least':>8}"
    ]
    for row in document["tightness"]:
        lines.append(
            f"{row['scheduler']:<24}{row['what']:<24}{row['count']:>8,}{row['finite']:>8,}"
            f"{row['median']:>8.2f}{row['p95']:>8.2f}{row['least']:>8.3f}"
        )
    lines += [f"too low: {sentence}" for sentence in document["broken"]]
    lines.append(f"{document['systems']:,} systems, {len(document['broken'])} bounds too low")
    lines += ["", *_whole(document["whole"])]
    lines += ["", *_saihu(document["cases"]), ""]
    lines += [
        f"{one['flows']:,} flows over {one['ports']:,} ports ({one['hops']:,} hops), "
        f"{one['scheduler']}: {one['cpu_s']:.2f} s of CPU for total and separate flow"
        for one in document["large"]
    ]
    return "\n".join(lines) + "\n"


def _whole(document: Document) -> list[str]:
    """Return the table of whole systems, and each bound that is too low."""
    lines = [f"{'whole systems':<10}{'by':>22}  {'count':>24}{'median':>8}{'95th':>8}{'least':>8}"]
    lines += [
        f"{row['what']:<10}{row['by']:<12}{row['kind']:<26}{row['count']:>8,}"
        f"{row['median']:>8.2f}{row['p95']:>8.2f}{row['least']:>8.3f}"
        for row in document["tightness"]
    ]
    lines += [f"too low: {sentence}" for sentence in document["broken"]]
    counts = (
        f"{document['systems']:,} whole systems, {document['unbounded']:,} streams without a bound"
    )
    return [*lines, f"{counts}, {len(document['broken'])} bounds too low"]


def _saihu(cases: Document) -> list[str]:
    names = list(cases["published"])
    lines = [f"{'Saihu demo, us':<44}" + "".join(f"{name:>10}" for name in names)]
    for title, methods in cases["saihu"].items():
        for method, found in methods.items():
            cells = "".join(f"{found[name]:>10.2f}" for name in names)
            lines.append(f"{f'{method}, {title}':<44}{cells}")
    for tool in cases["published"][names[0]]:
        cells = "".join(f"{cases['published'][name][tool]:>10.2f}" for name in names)
        lines.append(f"{f'{tool}, as printed':<44}{cells}")
    return lines


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bounds", description=__doc__)
    parser.add_argument("--systems", type=_count, default=10_000, help="number of random systems")
    parser.add_argument(
        "--whole", type=_count, default=5_000, help="number of random whole systems"
    )
    parser.add_argument(
        "--flows", type=_count, default=10_000, help="greatest number of flows of a large network"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first system")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser


def _count(word: str) -> int:
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{word} is not 1 or more")
    return number


if __name__ == "__main__":
    sys.exit(main())

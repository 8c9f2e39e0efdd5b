"""Make the golden records of the probe: real runs in test networks of this machine.

    make probe && sudo .venv/bin/python tools/golden_records.py

Each run is made between two hosts of a lab. Values that name this machine are then replaced by
neutral words (:data:`NEUTRAL`). All other values of a record stay unchanged, flags included.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROBE = ROOT / "calibration" / "target" / "release" / "icprobe"
GOLDEN = ROOT / "calibration" / "tests" / "golden"
LAB = "golden"
DONE = (0, 1)
"""Exit codes of icprobe: the run is done, or done and flagged."""

SHORT = ["--duration", "300 ms", "--warmup", "50 ms"]
PACED = ["--rate", "1000/s", *SHORT]
RUNS: dict[str, tuple[str, list[str]]] = {
    "udp-paced": ("direct", ["--protocol", "udp", "--payload", "1472 B", *PACED, "--raw"]),
    "tcp-unlimited": ("direct-100m", ["--protocol", "tcp", "--payload", "1448 B", *SHORT]),
    "ping-pong": (
        "direct",
        ["--protocol", "udp", "--payload", "64 B", "--pattern", "ping-pong", "--frames", "500"],
    ),
    "call": (
        "direct",
        ["--protocol", "tcp", "--payload", "800032 B", "--pattern", "call", "--body", "vector"],
    ),
    "short-frames": ("direct", ["--protocol", "udp", "--payload", "8 B", *PACED]),
    "ethernet-loss": ("loss-ethernet-10", ["--protocol", "ethernet", "--payload", "256 B", *PACED]),
    "two-clocks": ("direct-clocks", ["--protocol", "udp", "--payload", "512 B", *PACED]),
    "shared-cores": (
        "direct",
        ["--protocol", "tcp", "--payload", "256 B", "--cores", "{every core}", *PACED],
    ),
    "zeromq": ("direct", ["--protocol", "zeromq", "--payload", "256 B", *PACED]),
}
"""Name of the file -> topology, and arguments of ``icprobe run``."""

PLAN = """\
name = "golden"
description = "one point, measured until it is known well enough"
source = "repeats no experiment: it shows what a campaign adds to a record"

[defaults]
duration = "200 ms"
warmup = "50 ms"
baseline = "100 ms"

[lab]
topology = "direct-100m"
from = "A"
to = "B"

[repeats]
min = 2
max = 3
confidence = 0.95
width = 0.5
metrics = ["goodput_bps"]

[[grid]]
protocol = "udp"
payload = "1472 B"
load = "10 %"
held_out = true
"""
"""Plan of a campaign, whose records are all kept."""

NEUTRAL: dict[str, str] = {
    "hostname": "golden",
    "kernel_cmdline": "quiet",
    "boot_id": "00000000-0000-4000-8000-000000000000",
}
"""Key, anywhere in a record -> value that replaces the value of the record."""


def neutral(value: Any) -> Any:
    """Return a record, or a part of it, without the values that name this machine."""
    if isinstance(value, dict):
        return {key: NEUTRAL.get(key) or neutral(inner) for key, inner in value.items()}
    return [neutral(inner) for inner in value] if isinstance(value, list) else value


def probe(*words: str | Path) -> str:
    """Run icprobe with some arguments, and return its output."""
    done = subprocess.run([PROBE, *words], capture_output=True, text=True, check=False)
    if done.returncode not in DONE:
        raise SystemExit(f"icprobe {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


@contextlib.contextmanager
def lab(topology: str) -> Iterator[dict[str, str]]:
    """Build a lab, yield the first address of each host, and tear the lab down."""
    hosts = json.loads(probe("lab", "up", topology, "--as", LAB))["hosts"]
    try:
        yield {host["name"]: host["addresses"][0] for host in hosts}
    finally:
        probe("lab", "down", LAB)


def record(topology: str, asked: list[str], key: Path) -> str:
    """Return the record of one run from A to B."""
    cores = str(json.loads(probe("environment"))["cpus"])
    asked = [cores if word == "{every core}" else word for word in asked]
    with lab(topology) as address:
        on = ("lab", "exec", "--lab", LAB)
        serve = (*on, "B", "--", PROBE, "serve", "--bind", address["B"], "--key", key)
        answering = subprocess.Popen([PROBE, *serve], stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            call = ("run", "--to", address["B"], "--key", key, "--baseline", "200 ms")
            return probe(*on, "A", "--", PROBE, *call, *asked)
        finally:
            answering.terminate()
            answering.wait()


def campaign(folder: Path) -> str:
    """Run the campaign of :data:`PLAN`, and return its records."""
    plan, records = folder / "golden.toml", folder / "records.jsonl"
    plan.write_text(PLAN, encoding="utf-8")
    probe("campaign", plan, "-o", records, "--lab")
    return records.read_text(encoding="utf-8")


def keep(name: str, text: str) -> None:
    """Write one golden file."""
    records = [neutral(json.loads(line)) for line in text.splitlines()]
    lines = [json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in records]
    (GOLDEN / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for one, line in zip(records, lines, strict=True):
        print(f"{name}: {len(line)} B, flags {', '.join(one['flags']) or 'none'}")


def main() -> None:
    """Make the records named on the command line, or all."""
    names = sys.argv[1:] or [*RUNS, "campaign"]
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder) / "probe.key"
        probe("key", key)
        for name in names:
            keep(name, campaign(Path(folder)) if name == "campaign" else record(*RUNS[name], key))


if __name__ == "__main__":
    main()

"""Records of runs with known values, made from a real record and the changes of a test."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import checkout
from icmodel.fold import Record, record_of

GOLDEN = checkout.ROOT / "calibration" / "tests" / "golden"
_FIRST: dict[str, Any] = json.loads(
    (GOLDEN / "campaign.jsonl").read_text(encoding="utf-8").splitlines()[0]
)
RESULT: dict[str, float] = {"goodput_bps": 5e7, "latency_mean_s": 1e-4, "cpu_send": 0.25}
DIGEST = "d" * 64


def document(
    run: str,
    *,
    result: dict[str, float] | None = None,
    flags: tuple[str, ...] = (),
    host: dict[str, Any] | None = None,
    duration_s: float = 1.0,
    plan: dict[str, Any] | None = None,
    steal: float = 0.0,
    sender_idle: float = 1.0,
    **point: Any,
) -> dict[str, Any]:
    """One record as a dictionary; ``host`` changes both ends, ``point`` adds to the point.

    ``steal`` is what the hypervisor took of the receiver's core, ``sender_idle`` how idle the
    sender's core was before the run.
    A key of the point that is ``None`` is taken away.
    """
    made = copy.deepcopy(_FIRST)
    made["run"] = run
    made["started_utc"] = f"2026-01-02T03:04:{sum(map(ord, run)) % 60:02d}.000000000Z"
    made["result"] = dict(RESULT if result is None else result)
    made["flags"] = list(flags)
    made["settings"]["duration_s"] = duration_s
    made["cpu_modes"]["recv"]["cores"][made["cores"]["recv"][0]]["steal"] = steal
    made["cpu_modes"]["send"]["baseline"]["cores"][made["cores"]["send"][0]]["idle"] = sender_idle
    for end in ("send", "recv"):
        made["environment"][end].update(host or {})
    said = {"load_bps": 1e7, "nagle": None, "rate_fps": None, **point}
    made["point"] = {k: v for k, v in {**made["point"], **said}.items() if v is not None}
    if plan is None:
        del made["plan"]
    else:
        mark = {"name": "grid", "digest": DIGEST, "point": "p", "repeat": 0, "kind": "grid"}
        made["plan"] = {**mark, "held_out": False, **plan}
    return made


def line(run: str, **said: Any) -> str:
    """One record as a line."""
    return json.dumps(document(run, **said))


def record(run: str, **said: Any) -> Record:
    """One record."""
    return record_of(line(run, **said))


def held_out(run: str, **said: Any) -> Record:
    """Held-out record."""
    return record(run, plan={"held_out": True, "kind": "held-out"}, **said)


def write(path: Path, *lines: str) -> Path:
    """A file of records."""
    path.write_text("".join(f"{text}\n" for text in lines), encoding="utf-8")
    return path

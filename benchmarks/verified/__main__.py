"""``python -m benchmarks.verified predict | measure | table``: prediction first, measurement after, side by side.

`predict` writes the prediction of every system into ``predicted/``, to be committed before anything is
measured; `measure` builds and plays the systems and writes what they did into ``measured/``, in pieces of
``--minutes``; `table` prints both.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.verified.systems import DATASET, HERE, SLOWER, Asked, all_asked
from benchmarks.verified.table import text
from icmodel.verify import Verification, Wish, verify
from icmodel.verify.folder import PREDICTION, Folder

PREDICTED, MEASURED = HERE / "predicted", HERE / "measured"
REPEATS = 5
ABOUT_S = 40.0
"""Time of one system's passes."""
KEPT = ("goodput_bps", "latency_mean_s", "latency_p99_s", "latency_max_s", "loss_rate")
CPU = ("cpu_send_process_cores", "cpu_recv_process_cores")


def main(arguments: Sequence[str] | None = None) -> int:
    """Predict, measure or tell."""
    asked = _parser().parse_args(arguments)
    if asked.what == "table":
        print(text(PREDICTED, MEASURED), end="")
        return 0
    if asked.what == "predict":
        for one in all_asked():
            _predict(one, asked.work)
        return 0
    return _measure(asked.work, 60 * asked.minutes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verified", description=__doc__)
    parser.add_argument("what", choices=("predict", "measure", "table"))
    parser.add_argument("--work", type=Path, help="folder of the records", default=Path("verified"))
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no system after these")
    return parser


def _wish(repeats: int) -> Wish:
    return Wish(dataset=str(DATASET), slower=SLOWER, repeats=repeats)


def _predict(one: Asked, work: Path) -> None:
    verify(one.system, work / one.name, _wish(0))
    PREDICTED.mkdir(exist_ok=True)
    shutil.copy(work / one.name / PREDICTION, PREDICTED / f"{one.name}.json")


def _measure(work: Path, limit_s: float) -> int:
    """Measure the systems that are not measured yet, as long as there is time; 1 if some are left."""
    begun_s = time.monotonic()
    for one in all_asked():
        place = MEASURED / f"{one.name}.json"
        if place.exists():
            continue
        if time.monotonic() - begun_s + ABOUT_S > limit_s:
            return 1
        folder = work / one.name
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / PREDICTION).exists():
            raise SystemExit(f"{folder} has no prediction: run `predict` first, and commit it")
        found = verify(one.system, folder, _wish(REPEATS))
        MEASURED.mkdir(exist_ok=True)
        place.write_text(json.dumps(_told(found), indent=1) + "\n", encoding="utf-8")
        print(repr(found), flush=True)
    return 0


def _told(found: Verification) -> Mapping[str, Any]:
    """What each pass measured of each stream, and after which prediction."""
    names = tuple(found.copy.system.streams)
    passes = Folder(found.folder).passes(found.stored, names)
    return {
        "prediction_sha256": found.stored.sha256,
        "passes": [
            {
                "overlap_ratio": round(one.overlap_ratio, 4),
                "streams": {name: _result(record) for name, record in one.records.items()},
            }
            for one in passes
        ],
    }


def _result(record: Mapping[str, Any]) -> Mapping[str, Any]:
    result = record["result"]
    kept = {name: result.get(name) for name in (*KEPT, *CPU, "frames_sent", "window_s")}
    return {
        "run": record["run"],
        "started_utc": record["started_utc"],
        "flags": record["flags"],
        **kept,
    }


if __name__ == "__main__":
    sys.exit(main())

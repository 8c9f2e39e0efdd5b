"""``python -m benchmarks.verified predict | measure | table``: prediction first, measurement after, side by side.

`predict` writes the prediction of every system into ``predicted/``, to be committed before anything
is measured. `measure` builds and runs the systems, and writes the results into ``measured/``;
``--minutes`` limits one call. `table` prints both, with ``--page`` into docs/background/verified.md
as well. ``--campaign rates`` takes the systems at other rates than measured.
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

from benchmarks.verified.systems import CAMPAIGNS, HERE, Asked, Campaign
from benchmarks.verified.table import text
from icmodel.verify import Verification, VerifyOptions, verify
from icmodel.verify.folder import PREDICTION, Folder

PAGE = HERE.parents[1] / "docs" / "background" / "verified.md"
ABOUT_S = 8.0
"""Approximate time of one pass of a system [s], construction of its network included."""
KEPT = ("goodput_bps", "latency_mean_s", "latency_p99_s", "latency_max_s", "loss_rate")
CPU = ("cpu_send_process_cores", "cpu_recv_process_cores")


def main(arguments: Sequence[str] | None = None) -> int:
    """Predict, measure or print the table."""
    options = _parser().parse_args(arguments)
    campaign, work = CAMPAIGNS[options.campaign], options.work / options.campaign
    if options.what == "table":
        table = text(campaign)
        print(table, end="")
        if options.page:
            _put(PAGE, options.campaign, table)
        return 0
    if options.what == "predict":
        campaign.predicted.mkdir(exist_ok=True)
        for one in campaign.asked():
            verify(one.system, work / one.name, _wish(campaign, 0))
            stored = work / one.name / PREDICTION
            shutil.copy(stored, campaign.predicted / f"{one.name}.json")
        return 0
    return _measure(campaign, work, 60 * options.minutes)


def _put(page: Path, campaign: str, table: str) -> None:
    """Replace the text between the marks of a campaign in a page."""
    begin, end = (f"<!-- {campaign}: {edge} -->\n" for edge in ("begin", "end"))
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found, behind = rest.partition(end)
    if not found:
        raise SystemExit(f"{page} has no marks of the campaign {campaign}: add {begin}{end}")
    page.write_text(before + begin + table + end + behind, encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verified", description=__doc__)
    parser.add_argument("what", choices=("predict", "measure", "table"))
    parser.add_argument("--campaign", choices=tuple(CAMPAIGNS), default="meeting")
    parser.add_argument("--work", type=Path, help="folder of the records", default=Path("verified"))
    parser.add_argument("--page", action="store_true", help=f"put the table into {PAGE.name} too")
    parser.add_argument(
        "--minutes", type=float, default=1e9, help="start no system after this time"
    )
    return parser


def _wish(campaign: Campaign, repeats: int) -> VerifyOptions:
    return VerifyOptions(dataset=campaign.dataset, slower=campaign.slower, repeats=repeats)


def _measure(campaign: Campaign, work: Path, limit_s: float) -> int:
    """Measure the remaining systems while there is time; return 1 if some are left."""
    begun_s = time.monotonic()
    for one in campaign.asked():
        place = campaign.measured / f"{one.name}.json"
        if place.exists():
            continue
        if time.monotonic() - begun_s + ABOUT_S * campaign.repeats > limit_s:
            return 1
        found = verify(one.system, _folder(campaign, one, work), _wish(campaign, campaign.repeats))
        campaign.measured.mkdir(exist_ok=True)
        place.write_text(json.dumps(_measured_document(found), indent=1) + "\n", encoding="utf-8")
        print(repr(found), flush=True)
    return 0


def _folder(campaign: Campaign, one: Asked, work: Path) -> Path:
    """Return the folder of a verification, prepared with the committed prediction."""
    folder, made = work / one.name, campaign.predicted / f"{one.name}.json"
    if not made.exists():
        raise SystemExit(f"{made} is missing: run `predict` first, and commit it")
    if not (folder / PREDICTION).exists():
        verify(one.system, folder, _wish(campaign, 0))
        shutil.copy(made, folder / PREDICTION)
    return folder


def _measured_document(found: Verification) -> Mapping[str, Any]:
    """Return the measurements of each pass and stream, and the hash of the prediction."""
    names = tuple(found.lab.system.streams)
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

"""``python -m benchmarks.chooser``: error of a quarter of the full grid's runs over the error of all."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from benchmarks.chooser.arena import Arena, made_up, recorded
from benchmarks.chooser.contest import QUARTER, StrategyScore, contest, spread
from benchmarks.chooser.synthetic import TRUTHS, TUNING
from benchmarks.journal import Journal, Key
from icmodel import units
from icmodel.calibrate.runs import Record
from icmodel.calibrate.settings import Settings
from icmodel.calibrate.state import slim

SEEDS = 20


def main(words: Sequence[str] | None = None) -> int:
    """Run the contest and print it."""
    options = _parser().parse_args(words)
    shares = tuple(options.share or (QUARTER,))
    journal = Journal(options.journal)
    document = {}
    for name, arenas in _arenas(options):
        scores = []
        for seed, arena in arenas:
            key = [name, seed, options.variant, shares, options.noise]
            known = _known(journal, key)
            scores.append(known or _held(arena, seed, options.variant, shares))
            journal.keep(key, [asdict(one) for one in scores[-1]])
            print(f"{name}, seed {seed}: {_line(scores[-1])}", file=sys.stderr, flush=True)
        document[name] = _summary(scores)
    print(json.dumps(document, indent=2) if options.json else _text(document))
    return 0


def _known(journal: Journal, key: Key) -> list[StrategyScore]:
    """Return the scores of a seed from the journal, or an empty list."""
    found = journal.known(key)
    return [StrategyScore(**one) for one in found] if isinstance(found, list) else []


def _held(
    make: Callable[[], Arena], seed: int, variant: str, shares: tuple[float, ...]
) -> list[StrategyScore]:
    arena = make()
    aim = replace(arena.settings.aim, variant=variant)
    return contest(replace(arena, settings=replace(arena.settings, aim=aim)), seed, shares)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chooser", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument(
        "--share",
        type=float,
        action="append",
        help="share of the full grid's runs; can be repeated",
    )
    parser.add_argument("--variant", default="hybrid")
    parser.add_argument(
        "--records",
        type=Path,
        nargs="+",
        help="records to replay, of a full grid and held-out points: files, or the folder of a dataset",
    )
    parser.add_argument("--line-rate", default="1 Gb/s", help="line rate of the records' path")
    parser.add_argument("--mtu", default="1500 B", help="MTU of the records' path")
    parser.add_argument(
        "--noise",
        type=float,
        default=1.0,
        help="factor on the noise of synthetic runs; 0 is no noise (1)",
    )
    parser.add_argument(
        "--tuning", action="store_true", help="use the system that the chooser was tuned on"
    )
    parser.add_argument("--only", type=int, help="index of one synthetic system, from 0")
    parser.add_argument(
        "--journal",
        type=Path,
        help="file that stores the outcome of each seed; stored outcomes are used again",
    )
    parser.add_argument("--json", action="store_true")
    return parser


def _arenas(
    options: argparse.Namespace,
) -> list[tuple[str, list[tuple[int, Callable[[], Arena]]]]]:
    """Return, for each system, its seeds with functions that make their arenas."""
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    if options.records is not None:
        records = [record for path in options.records for record in _read(path)]
        settings = Settings.of(
            system="replay",
            line_rate_bps=units.parse_bps(options.line_rate),
            mtu_bytes=units.parse_bytes(options.mtu),
        )
        return [("replay", [(seed, partial(recorded, records, settings, seed)) for seed in seeds])]
    truths = (TUNING,) if options.tuning else TRUTHS
    some = truths if options.only is None else (truths[options.only],)
    return [
        (truth.name, [(seed, partial(made_up, truth, seed, options.noise)) for seed in seeds])
        for truth in some
    ]


def _read(path: Path) -> list[Record]:
    """Read records without their histograms, which are most of their length.

    Of a folded dataset, records that it kept apart are left out.
    """
    apart: set[str] = set()
    if path.is_dir():
        runs = json.loads((path / "folded.json").read_bytes())["runs"]
        apart = {run["run"] for run in runs if run["fate"] == "kept apart"}
        path = path / "records.jsonl.gz"
    body = path.read_bytes()
    text = gzip.decompress(body) if path.suffix == ".gz" else body
    records = (json.loads(line) for line in text.splitlines())
    return [slim(record) for record in records if record["run"] not in apart]


def _line(scores: Sequence[StrategyScore]) -> str:
    return ", ".join(f"{one.strategy} {one.runs}: {one.ratio:.2f}" for one in scores)


def _summary(seeds: Sequence[Sequence[StrategyScore]]) -> dict[str, object]:
    found: dict[str, object] = {}
    wholes = [scores[0].errors for scores in seeds]
    for column in zip(*seeds, strict=True):
        first = column[0]
        found[f"{first.strategy}, {first.share:.0%}"] = {
            "runs": first.runs,
            "ratio": spread([one.ratio for one in column]),
            "errors": {
                metric: spread([one.errors[metric] for one in column])["median"]
                for metric in first.errors
            },
            "ratios": {
                metric: spread(
                    [
                        one.errors[metric] / all_[metric]
                        for one, all_ in zip(column, wholes, strict=True)
                    ]
                )["median"]
                for metric in first.errors
            },
        }
    return found


def _text(document: dict[str, dict[str, object]]) -> str:
    lines = []
    for name, strategies in document.items():
        lines += [name, "  strategy, share    runs  ratio (quartiles)   reached  errors (ratios)"]
        for strategy, summary in strategies.items():
            ratio: dict[str, float] = summary["ratio"]  # type: ignore[index]
            error: dict[str, float] = summary["errors"]  # type: ignore[index]
            relative: dict[str, float] = summary["ratios"]  # type: ignore[index]
            errors = ", ".join(f"{name} {error[name]:.2%} ({relative[name]:.2f})" for name in error)
            lines.append(
                f"  {strategy:18} {summary['runs']:>4}  {ratio['median']:.2f} "  # type: ignore[index]
                f"({ratio['p25']:.2f}–{ratio['p75']:.2f})  {ratio['reached']}/{ratio['n']}  {errors}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

"""Coverage of the intervals of every bundled dataset, measured, and its page of the reference.

`python tools/coverage_table.py` writes docs/reference/coverage.md from docs/reference/coverage.json;
with the word `measure` it measures anew first, which takes some minutes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from icmodel.dataset import catalogue, load
from icmodel.errors import DatasetError
from icmodel.validate import Wishes, document, validate

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
MEASURED, PAGE = REFERENCE / "coverage.json", REFERENCE / "coverage.md"
VARIANTS = ("corrected", "appendix-h")
KINDS = ("leave-one-out", "held-out")
MOST, LARGE = 100, 5000
"""Points that are left out at most, drawn evenly, of a dataset with more rows than this; of others all."""
NUMBERS = ("error", "n", "median", "half_width", "coverage", "coverage_low", "coverage_high")
PROMISED = (0.85, 0.95)
"""What share of rows an interval that is called one of 90 % has to hold."""
BEGIN, END = "<!-- table of coverage: begin -->", "<!-- table of coverage: end -->"


def measured() -> dict[str, Any]:
    """Coverage by dataset, variant, kind of folds and metric."""
    return {
        "datasets": {
            name: {variant: _validated(name, variant) for variant in VARIANTS}
            for name in catalogue()
        },
    }


def _validated(name: str, variant: str) -> dict[str, Any]:
    data = load(name)
    most = MOST if len(data.points) > LARGE else None
    try:
        found = validate(data, variant, Wishes(KINDS, most=most, worst=0))
    except DatasetError:
        return {}
    folds: Any = document(found)["folds"]
    return {
        kind: {
            "folds": trial["folds"],
            "metrics": {
                metric: {key: _rounded(score[key]) for key in NUMBERS}
                for metric, score in trial["metrics"].items()
                if score["intervals"] >= 30
            },
        }
        for kind, trial in folds.items()
    }


def _rounded(value: object) -> object:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def table(found: Mapping[str, Any]) -> str:
    """One line a dataset, variant, kind of folds and metric."""
    head = (
        "| dataset | variant | folds | metric | rows | median error | median half width | covered | 95 % of it |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    )
    return head + "".join(_lines(found))


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    for name, variants in found["datasets"].items():
        for variant, kinds in variants.items():
            for kind, trial in kinds.items():
                for metric, score in trial["metrics"].items():
                    yield _line((name, variant, f"{kind}, {trial['folds']}", f"`{metric}`"), score)


def _line(words: tuple[str, ...], score: Mapping[str, Any]) -> str:
    shown = [_share(score, "median"), _share(score, "half_width")]
    ends = f"{100 * score['coverage_low']:.0f} … {100 * score['coverage_high']:.0f} %"
    mark = "" if PROMISED[0] <= round(score["coverage"], 3) <= PROMISED[1] else " !"
    covered = f"{100 * score['coverage']:.1f} %{mark}"
    return "| " + " | ".join((*words, str(score["n"]), *shown, covered, ends)) + " |\n"


def _share(score: Mapping[str, Any], key: str) -> str:
    value = score[key]
    if value is None:
        return "–"
    return f"{value:.4f}" if score["error"] == "absolute" else f"{100 * value:.2f} %"


def with_table(text: str, found: Mapping[str, Any]) -> str:
    """The page with the table between its two marks renewed."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(found)}{END}{after}"


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        text = json.dumps(measured(), indent=1, ensure_ascii=False)
        MEASURED.write_text(text + "\n", encoding="utf-8")
    known = json.loads(MEASURED.read_text(encoding="utf-8"))
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), known), encoding="utf-8")

"""Reference page of the measured coverage of the intervals of every bundled dataset.

`python tools/coverage_table.py` writes docs/reference/coverage.md from the coverage file in the
folder of each dataset. `python tools/coverage_table.py measure [DATASET]...` measures the coverage
first, by default of all datasets, which takes a quarter of an hour.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from icmodel.dataset import catalogue, load
from icmodel.dataset.dataset import FILE, PROMISED, Kinds, coverage_text
from icmodel.errors import DatasetError
from icmodel.model import VARIANTS
from icmodel.validate import ValidationOptions, validate
from icmodel.validate.document import KINDS, coverages
from icmodel.validate.validation import HELD_OUT

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "coverage.md"
MOST, LARGE = 100, 5000
"""Maximum number of left-out points, drawn evenly, of a dataset with more rows than ``LARGE``.

Of other datasets all points are left out. `hybrid`, which is fitted anew for each point, is scored
on held-out runs only if the dataset is large.
"""
BEGIN, END = "<!-- table of coverage: begin -->", "<!-- table of coverage: end -->"


def measure(name: str) -> None:
    """Write the coverage of every variant into a bundled dataset's folder, if a metric has enough rows."""
    data = load(name)
    large = len(data.points) > LARGE
    found: dict[str, Kinds] = {}
    for variant in VARIANTS:
        folds = (HELD_OUT,) if large and variant == "hybrid" else KINDS
        options = ValidationOptions(folds, most=MOST if large else None, worst=0)
        print(name, variant, file=sys.stderr)
        try:
            found[variant] = coverages(validate(data, variant, options))
        except DatasetError:
            return
    if any(trial["metrics"] for kinds in found.values() for trial in kinds.values()):
        (data.folder / FILE).write_text(coverage_text(data.sha256, found), encoding="utf-8")


def known() -> dict[str, dict[str, Kinds]]:
    """Return the stored coverage of the bundled datasets."""
    return {name: dict(load(name).coverage) for name in catalogue()}


def table(found: Mapping[str, Mapping[str, Kinds]]) -> str:
    """Return a table with a line per dataset, variant, kind of folds and metric."""
    head = (
        "| dataset | variant | folds | metric | rows | median error | median half width | covered | 95 % of it |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    )
    return head + "".join(_lines(found))


def _lines(found: Mapping[str, Mapping[str, Kinds]]) -> Iterator[str]:
    for name, variants in found.items():
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


def with_table(text: str, found: Mapping[str, Mapping[str, Kinds]]) -> str:
    """Return the page with a new table between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(found)}{END}{after}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        for dataset in sys.argv[2:] or catalogue():
            measure(dataset)
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), known()), encoding="utf-8")

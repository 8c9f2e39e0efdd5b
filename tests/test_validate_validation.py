"""Choice of a dataset's default variant by errors on left-out rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fits_case import dataset, row
from icmodel.cli import main
from icmodel.dataset import Dataset, load
from icmodel.validate import Choice, ValidationOptions, choose, validate
from icmodel.validate.validation import AT_MOST_ROWS, LEAST_ANSWERS, LEAVE_ONE, MOST_FOLDS, TIE

SIZES = tuple(int(size) for size in np.unique(np.geomspace(64, 60_000, 34).astype(int)))


def made(power: float) -> Dataset:
    """One curve of goodput: a straight line if ``power`` is 1."""
    points = [
        row("tcp", size, float("inf"), "goodput_bps", np.array([1e4 * size**power]))
        for size in SIZES
    ]
    return dataset(points)


@pytest.mark.parametrize(("power", "expected"), [(1.0, "corrected"), (0.35, "hybrid")])
def test_the_variant_with_the_smaller_errors_is_chosen(power: float, expected: str) -> None:
    seen: list[tuple[int, int]] = []
    choice = choose(made(power), lambda done, of: seen.append((done, of)))
    assert choice.variant == expected
    assert choice.why.startswith(f"the default variant is {expected}: ")
    assert seen == [(k + 1, 2 * MOST_FOLDS) for k in range(2 * MOST_FOLDS)]


def test_the_reason_says_the_ratio_of_the_median_errors() -> None:
    data = made(0.35)
    options = ValidationOptions((LEAVE_ONE,), ("goodput_bps",), most=MOST_FOLDS)
    medians = []
    for variant in ("corrected", "hybrid"):
        (trial,) = validate(data, variant, options).trials
        medians.append(trial.metrics["goodput_bps"].score.errors.median)
    ratio = medians[1] / medians[0]
    assert ratio < TIE
    assert f"are {ratio:.2f} times those of corrected" in choose(data).why


def test_few_rows_are_answered_by_corrected() -> None:
    data = made(0.35)
    few = replace(data, points=data.points[:29])
    assert choose(few) == Choice(
        "corrected",
        "the default variant is corrected: a comparison of variants needs a metric with 30 measured or "
        "tabulated rows",
    )
    assert LEAST_ANSWERS < MOST_FOLDS < AT_MOST_ROWS


def test_ingest_says_which_variant_and_why_and_keeps_what_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{size},{1e4 * size**0.35}" for size in SIZES]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["payload,goodput", *lines]) + "\n")
    columns = tmp_path / "columns.toml"
    columns.write_text(
        '[columns.payload]\nfield = "payload_bytes"\nunit = "B"\n'
        '[columns.goodput]\nfield = "goodput_bps"\nunit = "b/s"\n'
    )
    asked = [
        "ingest",
        str(table),
        "--map",
        str(columns),
        "--protocol",
        "tcp",
        "--load",
        "unlimited",
    ]
    assert main([*asked, "-o", str(tmp_path / "own")]) == 0
    said = capsys.readouterr().out
    assert "variant hybrid" in said
    assert "the default variant is hybrid: median errors" in said
    assert load(tmp_path / "own").default_variant == "hybrid"
    assert "the default variant is hybrid" in (tmp_path / "own" / "README.md").read_text()
    assert main([*asked, "--default-variant", "corrected", "-o", str(tmp_path / "said")]) == 0
    assert "default variant is" not in capsys.readouterr().out
    assert load(tmp_path / "said").default_variant == "corrected"

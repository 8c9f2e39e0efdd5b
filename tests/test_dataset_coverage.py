"""Coverage beside a dataset: what is kept is read, what is stale is not told, what is damaged is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from icmodel.cli import main
from icmodel.dataset import catalogue, load
from icmodel.dataset.dataset import FILE, Held, coverage_text, least_held
from icmodel.errors import DatasetError
from icmodel.model import VARIANTS, Model


def one_metric(share: float, rows: int = 40, metric: str = "goodput_bps") -> Mapping[str, Any]:
    """Coverage of one metric."""
    return {"folds": rows, "metrics": {metric: {"coverage": share, "intervals": rows}}}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A copy of a dataset without its coverage."""
    folder = tmp_path / "own"
    shutil.copytree(load("dds-1g").folder, folder)
    (folder / FILE).unlink()
    return folder


def notes(folder: Path, variant: str = "corrected") -> str:
    """What one prediction says besides its numbers."""
    model = Model(load(folder), variant)
    return " ".join(
        model.predict(protocol="dds", payload_bytes=1024, requested_goodput_bps=1e6).notes
    )


def keep(folder: Path, share: float, variant: str = "corrected") -> None:
    """Write a coverage of goodput beside a dataset."""
    kinds = {variant: {"leave-one-out": one_metric(share)}}
    (folder / FILE).write_text(coverage_text(load(folder).sha256, kinds), encoding="utf-8")


def test_the_kind_that_was_held_least_is_told() -> None:
    kinds = {"leave-one-out": one_metric(0.9), "held-out": one_metric(0.8, 583)}
    assert least_held(kinds) == {"goodput_bps": Held(0.8, 583)}


@pytest.mark.parametrize(("share", "weak"), [(0.8499, True), (0.85, False), (1.0, False)])
def test_an_answer_says_where_its_interval_promises_less(
    own: Path, share: float, weak: bool
) -> None:
    keep(own, share)
    said = f"of the rows left out of corrected they held goodput_bps {100 * share:.0f} % of 40"
    assert (said in notes(own)) == weak
    assert "cover less" not in notes(own, "hybrid")


def test_what_was_never_kept_is_not_told(own: Path) -> None:
    assert load(own).coverage == {}
    assert "promise" not in notes(own)


def test_coverage_of_other_rows_is_not_told(own: Path) -> None:
    keep(own, 0.5)
    document = json.loads((own / FILE).read_text(encoding="utf-8"))
    document["sha256"] = "0" * 64
    (own / FILE).write_text(json.dumps(document), encoding="utf-8")
    assert load(own).coverage == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", "[" * 5000])
def test_a_damaged_file_is_said(own: Path, text: str) -> None:
    (own / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=r"coverage\.json is damaged .*--keep"):
        load(own).coverage  # noqa: B018 - reading is what is tested


def test_validate_keeps_what_it_found(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["validate", str(own), "--folds", "leave-one-out", "--keep", "--json"]
    for variant in ("corrected", "appendix-h"):
        assert main([*words, "--variant", variant]) == 0
        found = json.loads(capsys.readouterr().out)["folds"]["leave-one-out"]["metrics"]
        told = load(own).coverage[variant]["leave-one-out"]["metrics"]
        assert told["goodput_bps"]["coverage"] == pytest.approx(
            found["goodput_bps"]["coverage"], rel=1e-3
        )
    assert set(load(own).coverage) == {"corrected", "appendix-h"}


@pytest.mark.parametrize("words", [("--metric", "goodput_bps"), ("--runs", "dds-1g")])
def test_a_part_is_not_kept(
    own: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(own), "--keep", *words]) == 2
    assert "--keep stores all metrics" in capsys.readouterr().err
    assert not (own / FILE).exists()


@pytest.mark.parametrize("name", catalogue())
def test_bundled_coverage_is_of_every_variant_and_of_the_rows_there_are(name: str) -> None:
    data = load(name)
    assert (data.folder / FILE).exists() == bool(data.coverage)
    if data.coverage:
        assert set(data.coverage) == set(VARIANTS)


def test_scores_of_another_form_are_said(own: Path) -> None:
    keep(own, 0.5)
    document = json.loads((own / FILE).read_text(encoding="utf-8"))
    for kinds in document["variants"].values():
        next(iter(kinds.values()))["metrics"]["goodput_bps"] = 1e308
    (own / FILE).write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DatasetError, match=r"coverage\.json is damaged"):
        load(own).coverage  # noqa: B018 - reading is what is tested

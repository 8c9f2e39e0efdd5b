"""`icmodel fit`, and what commands do with fits that are kept."""

from __future__ import annotations

import json
import shlex
import shutil
from functools import partial
from pathlib import Path

import jsonschema
import pytest

from icmodel.cli import main
from icmodel.dataset import catalogue, load
from icmodel.fits.fits import Fits
from icmodel.fits.store import ARRAYS, TEXT, Kept, read, seal_of
from icmodel.laws.hybrid import fit, measured_options
from icmodel.schemas import output_schema
from icmodel.tables.wire import frames_on_wire

SMALL = "ethernet-1g-2010"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A dataset of the user's own."""
    return Path(shutil.copytree(load(SMALL).folder, tmp_path / "own"))


def answer(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What `icmodel predict` prints of a dataset, by hybrid."""
    code = main(["predict", "--dataset", str(folder), "--variant", "hybrid",
                 "--payload", "100 B", "--json", *words])  # fmt: skip
    assert code == 0
    return capsys.readouterr().out


def test_a_fit_is_written_beside_the_dataset_and_reported(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = answer(own, capsys)
    assert main(["fit", str(own), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    jsonschema.validate(told, output_schema("fit"))
    assert told["seal"] == seal_of(load(own))
    assert told["metrics"] == sorted(load(own).metrics)
    assert {TEXT, ARRAYS} <= {path.name for path in own.iterdir()}
    assert answer(own, capsys) == before
    text = (own / TEXT).read_bytes()
    assert main(["fit", str(own)]) == 0
    assert f"{len(told['metrics'])} metrics fitted" in capsys.readouterr().out
    assert (own / TEXT).read_bytes() == text, "a fit made again is the same"


def test_no_cache_leaves_the_cache_empty(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ICMODEL_CACHE", str(tmp_path / "cache"))
    first = answer(own, capsys, "--no-cache")
    assert not (tmp_path / "cache").exists()
    assert answer(own, capsys) == first
    assert len(list((tmp_path / "cache").glob("*/*"))) == 2
    assert answer(own, capsys) == first


@pytest.mark.parametrize(
    "line",
    [
        "sweep --payload '100 B' --variant hybrid --dataset {own}",
        "compare --payload '100 B' --variant hybrid --dataset {own}",
        "evaluate imaging --variant hybrid --dataset {own}",
        "plot goodput_bps --variant hybrid --json --dataset {own}",
    ],
)
def test_every_command_that_fits_can_keep_nothing(
    line: str, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ICMODEL_CACHE", str(tmp_path / "cache"))
    words = shlex.split(line.format(own=own))
    assert main([*words, "--no-cache"]) in (0, 1, 3)
    assert not (tmp_path / "cache").exists()
    assert main(words) in (0, 1, 3)
    assert (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    "name", [one for one in catalogue() if load(one).default_variant == "hybrid"]
)
def test_a_dataset_that_hybrid_answers_ships_its_fit(name: str) -> None:
    """`icmodel fit NAME` in a checkout makes it anew once its points or the fits change."""
    data = load(name)
    kept = read(data.folder, seal_of(data))
    assert kept is not None, f"run `icmodel fit {name}`"
    assert kept.metrics.keys() == set(data.metrics)
    assert kept.curves


def shipped(name: str) -> Kept:
    """The fit that is kept beside a bundled dataset."""
    kept = read(load(name).folder, seal_of(load(name)))
    assert kept is not None
    return kept


def test_a_shipped_fit_equals_a_fit_made_here() -> None:
    """A metric of each kind to the digit: on another machine the search finds the same numbers."""
    data, kept = load("lab-1g-2026"), shipped("lab-1g-2026")
    made = Kept(seal_of(data))
    assert made.seal == kept.seal
    fits = Fits(data, partial(frames_on_wire, data), kept=made)
    for metric in ("goodput_bps", "latency_mean_s", "cpu_recv", "packets_sent_per_s"):
        assert fits.is_fitted(metric)
    assert {"goodput_bps", "cpu_recv"} < made.metrics.keys()
    for metric, found in made.metrics.items():
        assert found == kept.metrics[metric]


@pytest.mark.long
def test_every_shipped_fit_and_curve_equals_one_made_here() -> None:
    kept, made = shipped("lab-1g-2026"), fit(load("lab-1g-2026"))
    assert made.text() == kept.text()
    assert made.curves.keys() == kept.curves.keys()


def test_options_are_those_of_the_rows_and_the_defaults_first() -> None:
    found = measured_options(load("lab-1g-2026"))
    assert found[0] == {}
    assert {"nagle": "off"} in found
    assert len(found) == len({tuple(one.items()) for one in found})


def test_a_place_that_cannot_be_written_is_one_sentence(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / TEXT).mkdir()
    assert main(["fit", str(own)]) == 2
    assert str(own / TEXT) in capsys.readouterr().err

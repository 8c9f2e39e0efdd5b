"""Where fits are kept: beside a dataset, in a cache that several processes share, and no longer than they hold."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import checkout
import icmodel.fits.store
from conftest import clean_environment
from fits_case import few
from icmodel import Model
from icmodel.dataset import Dataset
from icmodel.fits.store import ARRAYS, TEXT, Kept, Store
from icmodel.laws.hybrid import fit
from icmodel.scenario import scenario

LAB = few()
"""Few rows: what is kept of a fit does not depend on their number."""
ASKED = scenario(protocol="udp", payload="700 B")
METRICS = ["goodput_bps", "latency_mean_s"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setenv("ICMODEL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    """A made-up lab in a folder with nothing beside it."""
    (tmp_path / "data").mkdir()
    return replace(LAB, folder=tmp_path / "data")


def fits_made(data: Dataset) -> int:
    """How many fits a question made."""
    told: list[int] = []
    Model(data, "hybrid", lambda done, _: told.append(done)).predict(ASKED, metrics=METRICS)
    return len(told)


def test_the_second_model_fits_nothing_and_answers_the_same(cache: Path, data: Dataset) -> None:
    first = Model(data, "hybrid").predict(ASKED, metrics=METRICS)
    assert fits_made(data) == 0
    assert Model(data, "hybrid").predict(ASKED, metrics=METRICS) == first
    assert Model(data, "hybrid", cache=False).predict(ASKED, metrics=METRICS) == first
    assert len(list(cache.glob("*/" + TEXT))) == 1


def test_without_a_cache_nothing_is_written(cache: Path, data: Dataset) -> None:
    Model(data, "hybrid", cache=False).predict(ASKED, metrics=METRICS)
    assert not cache.exists()
    assert not list(data.folder.iterdir())


def test_a_fit_beside_the_dataset_is_read_and_never_written(cache: Path, data: Dataset) -> None:
    without = Model(data, "hybrid").predict(ASKED, metrics=METRICS)
    shutil.rmtree(cache)
    fit(data).write(data.folder)
    written = {path: path.read_bytes() for path in data.folder.iterdir()}
    assert fits_made(data) == 0
    assert Model(data, "hybrid").predict(ASKED, metrics=METRICS) == without
    assert {path: path.read_bytes() for path in data.folder.iterdir()} == written
    assert not cache.exists()


def test_what_a_fit_beside_lacks_goes_into_the_cache(cache: Path, data: Dataset) -> None:
    fit(data).write(data.folder)
    model = Model(data, "hybrid")
    far = scenario(protocol="tcp", payload="64 KiB")
    model.predict(far, outside="extrapolate", metrics=METRICS)
    assert len(list(cache.glob("*/" + ARRAYS))) == 1


def test_other_points_have_fits_of_their_own(cache: Path, data: Dataset) -> None:
    Model(data, "hybrid").predict(ASKED, metrics=METRICS)
    for changed in (
        replace(data, points=data.points[:-1]),
        replace(data, points=(*data.points[:-1], data.points[-1]._replace(value=1.0))),
        replace(data, document={**data.document, "title": "another"}),
        replace(data, interconnect=replace(data.interconnect, line_rate_bps=2e9)),
    ):
        assert fits_made(changed) > 0
    assert len(list(cache.glob("*/" + TEXT))) == 5


def test_a_damaged_fit_is_said_and_made_anew(cache: Path, data: Dataset) -> None:
    first = Model(data, "hybrid").predict(ASKED, metrics=METRICS)
    (text,) = cache.glob("*/" + TEXT)
    text.write_text(text.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    with pytest.warns(UserWarning, match=r"damaged .*: it is made again"):
        again = Model(data, "hybrid").predict(ASKED, metrics=METRICS)
    assert again == first
    assert fits_made(data) == 0


def test_a_cache_that_cannot_be_is_no_error(data: Dataset, cache: Path) -> None:
    cache.write_text("a file stands in its place", encoding="utf-8")
    Model(data, "hybrid").predict(ASKED, metrics=METRICS)
    assert cache.is_file()


def test_the_cache_is_bounded_and_the_longest_unused_goes(
    data: Dataset, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = 3 * 8 * 2000  # bytes of a curve of numbers that do not compress
    monkeypatch.setattr(icmodel.fits.store, "MOST_BYTES", 3 * one)
    rng = np.random.default_rng(1)
    kept = []
    for title in "abcdef":
        store = Store(replace(data, document={"title": title}), cache=True)
        store.save(Kept(store.seal, {}, {b"k" * 16: rng.random((3, 2000))}))
        kept.append(cache / store.seal[:32])
        time.sleep(0.01)
    left = [folder for folder in kept if folder.exists()]
    assert left == kept[-len(left) :]
    assert 1 <= len(left) <= 3


def test_processes_side_by_side_leave_one_whole_fit(cache: Path, tmp_path: Path) -> None:
    script = (
        "from dataclasses import replace; from pathlib import Path; from fits_case import few;"
        "from icmodel import Model;"
        "data = replace(few(), folder=Path('.'));"
        "told = Model(data, 'hybrid').predict("
        f"protocol='udp', payload='700 B', metrics={METRICS});"
        "print(told.latency_mean_s.value)"
    )
    environment = {
        **clean_environment(),
        "ICMODEL_CACHE": str(cache),
        "PYTHONPATH": f"{checkout.ROOT}:{checkout.ROOT / 'tests'}",
    }
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", script],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    said = {one.communicate(timeout=120)[0] for one in running}
    assert {one.returncode for one in running} == {0}
    assert len(said) == 1
    assert not math.isnan(float(said.pop()))
    (folder,) = cache.iterdir()
    assert sorted(path.name for path in folder.iterdir()) == [TEXT, ARRAYS]
    assert fits_made(replace(LAB, folder=tmp_path)) == 0

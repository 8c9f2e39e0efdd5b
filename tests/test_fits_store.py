"""Where fits are kept: beside a dataset, in a cache that several processes share, and no longer than they hold."""

from __future__ import annotations

import ast
import io
import json
import math
import random
import re
import shutil
import subprocess
import sys
import time
import tokenize
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import checkout
import icmodel
import icmodel.fits.store
from conftest import clean_environment
from fits_case import few, lab
from icmodel import Model
from icmodel.dataset import Dataset
from icmodel.fits.fits import Fits
from icmodel.fits.store import ARRAYS, PROGRAM, TEXT, DamagedFit, Kept, Store, code_of, read
from icmodel.laws.hybrid import fit
from icmodel.scenario import scenario
from icmodel.tables.wire import frames_on_wire

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
    with pytest.warns(UserWarning, match=r"damaged .*; fitting again"):
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
        for _ in range(2)
    ]
    said = {one.communicate(timeout=120)[0] for one in running}
    assert {one.returncode for one in running} == {0}
    assert len(said) == 1
    assert not math.isnan(float(said.pop()))
    (folder,) = cache.iterdir()
    assert sorted(path.name for path in folder.iterdir()) == [TEXT, ARRAYS]
    assert fits_made(replace(LAB, folder=tmp_path)) == 0


# --- the seal ---


@pytest.mark.parametrize("pattern", PROGRAM)
def test_the_seal_leaves_out_docstrings_and_comments_and_no_code(pattern: str) -> None:
    for path in Path(icmodel.__file__).parent.glob(pattern):
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                lines[line - 1] = lines[line - 1][:column]
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Expr(ast.Constant(str())):
                    assert node.end_lineno is not None
                    lines[node.lineno - 1 : node.end_lineno] = [""] * (
                        node.end_lineno - node.lineno + 1
                    )
        expected = [line.rstrip() for line in lines if line.strip()]
        assert code_of(source).splitlines() == expected, path


# --- kept fits ---


LAB_KEPT = lab()
SEAL = "5ea1" * 16


@pytest.fixture(scope="module")
def made() -> Kept:
    """Fits of all metrics, of one that has none, and two curves."""
    kept = Kept(SEAL)
    fits = Fits(LAB_KEPT, partial(frames_on_wire, LAB_KEPT), kept=kept)
    for metric in (*LAB_KEPT.metrics, "no_such_metric_s"):
        fits.fitted_metric(metric)
    kept.curves[b"a" * 16] = np.array([[1.0, 2.0], [0.5, 1.5], [1.5, np.inf]])
    kept.curves[b"b" * 16] = np.array([[3.0], [2.0], [4.0]])
    return kept


def test_what_is_written_is_read_again(made: Kept, tmp_path: Path) -> None:
    made.write(tmp_path)
    found = read(tmp_path, SEAL)
    assert found is not None
    assert found.metrics == made.metrics
    assert found.metrics["no_such_metric_s"] is None
    assert found.curves.keys() == made.curves.keys()
    for key, ends in made.curves.items():
        np.testing.assert_array_equal(found.curves[key], ends)


def test_the_same_is_written_as_the_same_bytes(made: Kept, tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        made.write(tmp_path / name)
        texts.append((tmp_path / name / TEXT).read_bytes())
    assert texts[0] == texts[1]


def test_fits_from_kept_numbers_are_those_that_were_searched_for(made: Kept) -> None:
    carrier = partial(frames_on_wire, LAB_KEPT)
    again = Fits(LAB_KEPT, carrier, kept=Kept(SEAL, dict(made.metrics)))
    first = Fits(LAB_KEPT, carrier)
    for metric in LAB_KEPT.metrics:
        one, other = first.fitted_metric(metric), again.fitted_metric(metric)
        assert one is not None
        assert other is not None
        for a, b in zip(one.at(one.fit.sites), other.at(one.fit.sites), strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_is_told_of_a_fit_adds_up(made: Kept) -> None:
    for one in made.metrics.values():
        if one is not None:
            assert sum(one.weights.values()) == pytest.approx(1.0, abs=1e-3)
            assert set(one.costs) == {point.protocol for point in LAB_KEPT.points}
            assert all(cost >= 0 for costs in one.costs.values() for cost in costs)


def test_another_seal_is_another_fit(made: Kept, tmp_path: Path) -> None:
    assert read(tmp_path, SEAL) is None
    made.write(tmp_path)
    assert read(tmp_path, "other") is None


def test_arrays_of_another_seal_are_left_out(made: Kept, tmp_path: Path) -> None:
    Kept("other", {}, dict(made.curves)).write(tmp_path)
    arrays = (tmp_path / ARRAYS).read_bytes()
    made.write(tmp_path)
    (tmp_path / ARRAYS).write_bytes(arrays)
    found = read(tmp_path, SEAL)
    assert found is not None
    assert (found.metrics.keys(), found.curves) == (made.metrics.keys(), {})


@pytest.mark.parametrize("name", [TEXT, ARRAYS])
def test_damage_is_an_error_that_names_the_folder_and_never_another_answer(
    made: Kept, name: str, tmp_path: Path
) -> None:
    made.write(tmp_path)
    whole = (tmp_path / name).read_bytes()
    rng = random.Random(name)
    for kind in range(40):
        place = rng.randrange(len(whole))
        body = whole[:place] if kind % 2 else whole[:place] + b"\x00\xff" + whole[place + 2 :]
        (tmp_path / name).write_bytes(body)
        with suppress(DamagedFit):
            found = read(tmp_path, SEAL)
            # What is damaged is not read, such as the names of files in the archive.
            assert name == ARRAYS
            assert found is not None
            assert all(np.array_equal(found.curves[key], made.curves[key]) for key in found.curves)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(DamagedFit, match=re.escape(f"stored fit in {tmp_path} is damaged (")):
        read(tmp_path, SEAL)


def test_nothing_that_is_read_is_executed(made: Kept, tmp_path: Path) -> None:
    made.write(tmp_path)
    evil = np.empty(1, dtype=object)
    evil[0] = pytest.fail
    np.savez(tmp_path / ARRAYS, seal=evil, keys=evil, points=evil, ends=evil)
    with pytest.raises(DamagedFit, match="pickle"):
        read(tmp_path, SEAL)


def test_a_text_that_lacks_something_is_damaged(made: Kept, tmp_path: Path) -> None:
    made.write(tmp_path)
    document = json.loads((tmp_path / TEXT).read_text(encoding="utf-8"))
    del document["metrics"]["latency_mean_s"]["kernels"][0]
    for broken in ({**document, "metrics": {"latency_mean_s": {}}}, {"schema_version": 1}):
        (tmp_path / TEXT).write_text(json.dumps(broken), encoding="utf-8")
        with pytest.raises(DamagedFit):
            read(tmp_path, SEAL)


@pytest.mark.parametrize("part", ["costs", "weights"])
def test_a_text_in_place_of_a_number_is_damaged(made: Kept, part: str, tmp_path: Path) -> None:
    made.write(tmp_path)
    document = json.loads((tmp_path / TEXT).read_text(encoding="utf-8"))
    numbers = document["metrics"]["latency_mean_s"][part]
    numbers["other"] = ["\ud800"] if part == "costs" else "\ud800"
    (tmp_path / TEXT).write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DamagedFit):
        read(tmp_path, SEAL)


def test_a_name_that_is_no_unicode_is_written_again(made: Kept, tmp_path: Path) -> None:
    strange = Kept(SEAL, {"\ud800": made.metrics["latency_mean_s"]})
    strange.write(tmp_path)
    again = read(tmp_path, SEAL)
    assert again is not None
    assert again.metrics == strange.metrics


def test_one_takes_over_what_it_lacks(made: Kept) -> None:
    mine = Kept(SEAL, {"latency_mean_s": None}, {b"b" * 16: np.zeros((3, 1))})
    mine.add(made)
    assert mine.metrics["latency_mean_s"] is None
    assert mine.metrics.keys() == made.metrics.keys()
    assert (mine.curves[b"b" * 16] == 0).all()
    assert mine.curves.keys() == made.curves.keys()

"""Kept fits: what is written is read again, and damage is named."""

from __future__ import annotations

import json
import random
import re
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fits_case import lab
from icmodel.fits.fits import Fits
from icmodel.fits.store import ARRAYS, TEXT, DamagedFit, Kept, read
from icmodel.tables.wire import frames_on_wire

LAB = lab()
SEAL = "5ea1" * 16


@pytest.fixture(scope="module")
def made() -> Kept:
    """Fits of all metrics, of one that has none, and two curves."""
    kept = Kept(SEAL)
    fits = Fits(LAB, partial(frames_on_wire, LAB), kept=kept)
    for metric in (*LAB.metrics, "no_such_metric_s"):
        fits.of(metric)
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
    carrier = partial(frames_on_wire, LAB)
    again = Fits(LAB, carrier, kept=Kept(SEAL, dict(made.metrics)))
    first = Fits(LAB, carrier)
    for metric in LAB.metrics:
        one, other = first.of(metric), again.of(metric)
        assert one is not None
        assert other is not None
        for a, b in zip(one.at(one.fit.sites), other.at(one.fit.sites), strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_is_told_of_a_fit_adds_up(made: Kept) -> None:
    for one in made.metrics.values():
        if one is not None:
            assert sum(one.weights.values()) == pytest.approx(1.0, abs=1e-3)
            assert set(one.costs) == {point.protocol for point in LAB.points}
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
    with pytest.raises(DamagedFit, match=re.escape(f"kept in {tmp_path} is damaged (")):
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


def test_one_takes_over_what_it_lacks(made: Kept) -> None:
    mine = Kept(SEAL, {"latency_mean_s": None}, {b"b" * 16: np.zeros((3, 1))})
    mine.add(made)
    assert mine.metrics["latency_mean_s"] is None
    assert mine.metrics.keys() == made.metrics.keys()
    assert (mine.curves[b"b" * 16] == 0).all()
    assert mine.curves.keys() == made.curves.keys()

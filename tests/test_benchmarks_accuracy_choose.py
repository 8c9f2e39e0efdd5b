"""Choosing constants: the least loss is found, and who is scored has not chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy.choose import (
    BLEND,
    INTERVALS,
    Choice,
    Unseen,
    choose,
    chosen,
    held,
    middle,
    text,
)
from benchmarks.accuracy.evidence import Evidence, evidences
from benchmarks.accuracy.made_up import ALONE, RDMA, SPARSE, made_up
from fits_case import sites
from icmodel.dataset import load
from icmodel.fits import SHIPPED, Constants
from icmodel.fits.fit import Candidates
from icmodel.fits.kernel import MeasuredSites

WANTED = replace(middle(BLEND), power=10.0, octaves=0.7, root=0.25)


def test_the_search_finds_the_least_loss_of_constants_that_add_up() -> None:
    def loss(constants: Constants, name: str) -> float:
        off = [getattr(constants, key) - getattr(WANTED, key) for key in BLEND]
        return float(np.abs(off).sum()) + (name == "other")

    assert chosen(loss, ["one", "other"], BLEND, middle(BLEND)) == WANTED


def test_a_search_sees_the_named_datasets_alone() -> None:
    def loss(constants: Constants, name: str) -> float:
        return abs(constants.power - {"low": 3.0, "high": 10.0}[name])

    start = middle(BLEND)
    assert chosen(loss, ["low"], BLEND, start).power == 3.0
    assert chosen(loss, ["high"], BLEND, start).power == 10.0


def test_evidence_is_the_blend_of_what_was_told_without_the_row() -> None:
    """Two candidates, one always right, one 10 % too long; the row says what the first says."""
    where, asked = sites([16, 64, 256, 1024]), sites([512])
    errors = np.array([[1e-9] * 4, [0.1] * 4])
    told = Candidates(
        MeasuredSites(where, ()).distances(asked), np.array([[1.0], [1.1]]), np.ones(1)
    )
    one = Evidence(MeasuredSites(where, ()), errors, told, np.array([1.0]), np.array([2.0]), sign=1)
    assert one.off(Constants(power=10.0)) == pytest.approx(0.0, abs=1e-9)
    assert one.off(Constants(power=0.0)) == pytest.approx(2 * np.expm1(0.05))
    slower = replace(one, sign=-1)
    assert slower.off(Constants(power=0.0)) == pytest.approx(-2 * np.expm1(-0.05))


@pytest.mark.long
def test_each_dataset_is_left_to_the_others_and_what_is_gathered_is_kept(tmp_path: Path) -> None:
    names = ("tcp-connectx7", "rmi-1g-2009")
    found = choose(names, tmp_path)
    assert len(list(tmp_path.iterdir())) == 3  # two datasets, and the choice
    assert choose(names, tmp_path) == found
    assert found.without.keys() == set(names)
    assert found.without["tcp-connectx7"] == choose(names[1:], tmp_path).every
    assert found.without["rmi-1g-2009"] == choose(names[:1], tmp_path).every
    printed = text(found)
    assert printed.splitlines()[0].split() == ["chosen", *BLEND, *INTERVALS]
    assert "without tcp-connectx7" in printed
    for inside, far, n in found.beside.values():
        assert 0 <= far <= n - inside <= n


def test_of_a_dataset_that_chose_nothing_what_ships_is_unseen() -> None:
    own = made_up(RDMA, SPARSE, ALONE, seed=0)
    assert Unseen(None)(own) == SHIPPED
    choice = Choice(SHIPPED, {"tcp-connectx7": WANTED}, {})
    assert choice.unseen(load("tcp-connectx7")) == WANTED
    assert choice.unseen(own) == SHIPPED


def test_a_step_that_gains_too_little_is_not_taken() -> None:
    def loss(constants: Constants, name: str) -> float:
        return 0.001 * abs(constants.power - 10.0) + abs(constants.octaves - 3.0)

    found = chosen(loss, ["one"], BLEND, middle(BLEND), gain=0.02)
    assert (found.power, found.octaves) == (middle(BLEND).power, 3.0)


@pytest.mark.long
def test_rows_beside_a_break_are_held_by_intervals_that_are_wide_enough() -> None:
    breaks = evidences(made_up(RDMA, 30, ALONE, seed=0)).breaks
    constants = Constants(doubt=0.0, power=0.0)
    own = [one.evidence for one in breaks]
    right = [
        replace(one, evidence=replace(o, truth=o.predicted.log_time[0]))
        for one, o in zip(breaks, own, strict=True)
    ]
    wrong = [
        replace(one, evidence=replace(o, truth=o.predicted.log_time[0] + 90.0))
        for one, o in zip(breaks, own, strict=True)
    ]
    n = sum(len(o.truth) for o in own)
    assert held(wrong, constants) == (0, n, n)
    assert held(right, constants)[1:] == (0, n)
    assert held([], constants) == (0, 0, 0)

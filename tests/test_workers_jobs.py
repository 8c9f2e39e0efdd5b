"""Jobs of workers are small, and a worker with another version or dataset refuses them."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pytest

from icmodel import __version__
from icmodel.dataset import Dataset, load
from icmodel.errors import ClusterError, DatasetError
from icmodel.model import Model
from icmodel.validate import ValidationOptions
from icmodel.validate.validation import HELD_OUT, LEAVE_ONE, Plan
from icmodel.workers import answer, name_for_workers, pickled, prepare, same_dataset

CENTRAL = "ethernet-10g-2012"


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load(CENTRAL)


def adding(data: Dataset, number: int) -> Callable[[int], int]:
    """A job whose worker counts rows, and adds a number."""
    return lambda item: len(data.points) + number + item


def test_a_job_is_small_and_its_answer_the_same(data: Dataset) -> None:
    job = pickled((adding, (data, 1)), "sum")
    assert len(job) < 300
    assert answer(__version__, "sum", job, pickled(2, "sum")) == len(data.points) + 3


def test_models_and_plans_of_folds_are_small_too(data: Dataset) -> None:
    model, plan = (
        Model(data, "hybrid"),
        Plan(LEAVE_ONE, data, ("goodput_bps",), ValidationOptions()),
    )
    assert len(plan) > 20
    for one in (model, plan):
        assert len(body := pickled(one, "test")) < 1000
        assert pickle.loads(body) == one
    again: Plan = pickle.loads(pickled(plan, "test"))
    assert [again[at].name for at in (0, -1 + len(plan))] == [
        plan[0].name,
        plan[len(plan) - 1].name,
    ]
    with pytest.raises(IndexError):
        plan[len(plan)]
    assert len(Plan(HELD_OUT, data, (), ValidationOptions())) == 0


def test_a_dataset_that_no_folder_has_is_sent_with_its_rows(data: Dataset) -> None:
    few = replace(data, points=data.points[:50])
    assert name_for_workers(few) is None
    assert pickle.loads(pickled(few, "test")) == few
    nowhere = replace(data, id="made-up", folder=Path("nowhere"))
    assert name_for_workers(nowhere) is None


def test_an_edited_copy_of_a_bundled_dataset_is_named_by_its_folder(
    data: Dataset, tmp_path: Path
) -> None:
    copy = tmp_path / CENTRAL
    shutil.copytree(data.folder, copy)
    assert name_for_workers(data) == CENTRAL
    assert name_for_workers(load(copy)) == str(copy)


def test_workers_of_another_version_or_dataset_refuse_in_one_sentence(data: Dataset) -> None:
    job, item = pickled((attrgetter, ("points",)), "sweep"), pickled(data, "sweep")
    assert answer(__version__, "sweep", job, item) == data.points
    with pytest.raises(ClusterError, match=r"a worker has icmodel .* and the sweep needs 9\.9"):
        answer("9.9", "sweep", b"not even a pickle", item)
    with pytest.raises(ClusterError, match=r"and the sweep needs 9\.9"):
        prepare("9.9", "sweep", b"not even a pickle")
    with pytest.raises(ClusterError, match=r"a worker has another dataset .* and the search needs"):
        same_dataset(CENTRAL, "0" * 64, "search")
    with pytest.raises(DatasetError, match="there is no dataset"):
        same_dataset("no-such", data.sha256, "search")


def test_a_worker_whose_rows_differ_is_found_by_their_hash(tmp_path: Path) -> None:
    """The folder changes after the job was made, like a different folder on another machine."""
    folder = tmp_path / "own"
    shutil.copytree(load("rmi-1g-2009").folder, folder)
    job = pickled((adding, (load(folder), 1)), "validation")
    shutil.rmtree(folder)
    shutil.copytree(load("zeromq-1g-2010").folder, folder)
    with pytest.raises(ClusterError, match="and the validation needs"):
        answer(__version__, "validation", job, pickled(0, "validation"))

"""Workers of every kind give the answers of one process, in its order, also if one is lost; missing ones are reported."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import checkout
import icmodel
from cluster_case import cluster, connected
from icmodel.cli import main
from icmodel.dataset import Dataset
from icmodel.errors import ClusterError
from icmodel.sweep import sweep_to_file
from icmodel.system import OpenSystem
from icmodel.validate import validate
from icmodel.workers import Work, connect, pool
from search import mostly_long
from sweep_case import BLOCK, CENTRAL, FORMATS, QUESTION, content
from workers_case import OPTIONS, asked, raced, searched, validated

POOL = importlib.import_module("icmodel.workers")
SUM = Work("sum", "number")
HUGE = str(10**20)
NOBODY = "tcp://127.0.0.1:9"
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def halves(number: int) -> Callable[[int], float]:
    """Job that divides an item by a number, and refuses one item."""

    def half(item: int) -> float:
        if item == 13:
            raise ClusterError("thirteen")
        return item / number

    return half


@pytest.mark.parametrize("threads", [1, 3])
def test_answers_come_in_order_and_refusals_in_their_place(threads: int) -> None:
    with pool(SUM, threads=threads) as team:
        ask = team.job(halves, 2)
        assert list(ask(range(10))) == [item / 2 for item in range(10)]
        assert list(ask([])) == []
        found = ask([1, 13, 4])
        assert next(found) == 0.5
        with pytest.raises(ClusterError, match="thirteen"):
            next(found)


@pytest.mark.parametrize(("threads", "most"), [(1, 1), (2, 2 * POOL.AHEAD)])
def test_few_items_are_begun_ahead_and_none_by_one_process(threads: int, most: int) -> None:
    begun: list[int] = []

    def items() -> Iterator[int]:
        for item in range(10):
            begun.append(item)
            yield item

    with pool(SUM, threads=threads) as team:
        answers = team.job(halves, 2)(items())
        assert begun == []
        next(answers)
        assert begun == list(range(most))


# --- the same answers ---------------------------------------------------------------------------

PARTS: dict[str, Callable[..., str]] = {
    "validation": lambda data, system, **workers: validated(data, **workers),
    "search": lambda data, system, **workers: searched(system, **workers),
    "race": lambda data, system, **workers: raced(data, **workers),
}


@pytest.fixture(scope="module")
def asked_of_all(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, OpenSystem]:
    return asked(tmp_path_factory.mktemp("asked"))


@pytest.fixture(scope="module")
def own(asked_of_all: tuple[Dataset, OpenSystem]) -> dict[str, str]:
    """The answers of this process."""
    return {name: part(*asked_of_all) for name, part in PARTS.items()}


@pytest.mark.parametrize("part", mostly_long(tuple(PARTS), ("search",)))
def test_processes_find_what_one_process_finds(
    part: str, asked_of_all: tuple[Dataset, OpenSystem], own: dict[str, str]
) -> None:
    assert PARTS[part](*asked_of_all, workers=1) == own[part]


@dataclass(frozen=True)
class Cluster:
    """A cluster of two workers, and its client."""

    address: str
    workers: list[subprocess.Popen[bytes]]
    client: Any


@pytest.fixture(scope="module")
def dask() -> Iterator[Cluster]:
    with cluster(2) as (address, workers), connected(address, 2) as client:
        yield Cluster(address, workers, client)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("icmodel.sweep"), "BLOCK_POINTS", BLOCK)


@pytest.fixture(scope="module")
def model() -> icmodel.Model:
    return icmodel.Model(CENTRAL, "corrected")


def test_a_cluster_validates_searches_and_races_alike(
    dask: Cluster, asked_of_all: tuple[Dataset, OpenSystem], own: dict[str, str], tmp_path: Path
) -> None:
    assert own == {name: part(*asked_of_all, client=dask.client) for name, part in PARTS.items()}

    # By the command line, which connects by itself.
    data, place = asked_of_all[0], tmp_path / "found.json"
    words = ["--folds", ",".join(OPTIONS.kinds), "--most", str(OPTIONS.most), "-o", str(place)]
    assert main(["validate", str(data.folder), *words, "--cluster", dask.address]) == 0
    assert place.read_text() == own["validation"]


def test_a_cluster_sweeps_into_the_same_bytes_also_if_a_worker_is_lost(
    model: icmodel.Model, dask: Cluster, tmp_path: Path
) -> None:
    for extension in FORMATS:
        own = sweep_to_file(model, tmp_path / f"own{extension}", **QUESTION)
        there = tmp_path / f"cluster{extension}"
        sweep_to_file(model, there, client=dask.client, **QUESTION)
        assert content(own) == content(there)

    def kill(done: int, total: int) -> None:
        if done > total / 4:
            dask.workers[0].kill()

    lost = tmp_path / "lost.csv"
    sweep_to_file(model, lost, client=dask.client, progress=kill, **QUESTION)
    assert dask.workers[0].wait(10) != 0
    assert content(lost) == content(tmp_path / "own.csv")

    # By the command line, which connects by itself.
    words = ["--payload", "64 B, 1448 B", "--cluster", dask.address]
    assert main(["sweep", *words, "-o", str(tmp_path / "line.parquet")]) == 0
    assert pq.read_table(tmp_path / "line.parquet").num_rows == 2


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("other", ["version", "dataset"])
def test_workers_of_another_version_or_dataset_are_refused(
    other: str, model: icmodel.Model, tmp_path: Path
) -> None:
    package = shutil.copytree(checkout.ROOT / "icmodel", tmp_path / "icmodel")
    if other == "version":
        (tmp_path / "data").symlink_to(checkout.ROOT / "data")
        (tmp_path / "usecases").symlink_to(checkout.ROOT / "usecases")
        face = package / "__init__.py"
        text = face.read_text(encoding="utf-8")
        face.write_text(text.replace(icmodel.__version__, "9.9"), encoding="utf-8")
        said = "a worker has icmodel 9.9, and the (sweep|validation) needs"
    else:
        shutil.copytree(icmodel.load("rmi-1g-2009").folder, tmp_path / "data" / CENTRAL)
        said = "a worker has another dataset .*, and the (sweep|validation) needs"
    with cluster(1, tmp_path) as (address, _), connected(address, 1) as client:
        with pytest.raises(ClusterError, match=said):
            sweep_to_file(model, tmp_path / "grid.csv", client=client, **QUESTION)
        with pytest.raises(ClusterError, match=said):
            validate(model.data, "corrected", OPTIONS, client=client)


@pytest.mark.parametrize("command", [["recommend", "imaging"], ["validate", "rmi-1g-2009"]])
def test_commands_refuse_impossible_workers(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(POOL, "WAIT_S", 1)
    for words, said in (
        (["--workers", "2", "--cluster", NOBODY], "--workers and --cluster are both given"),
        (["--workers", "0"], "--workers 0 is not a number of processes: give 1 to 1000"),
        (["--workers", HUGE], f"--workers {HUGE} is not a number of processes: give 1 to 1000"),
        (["--cluster", NOBODY], f"no Dask scheduler answers at {NOBODY}"),
    ):
        assert main([*command, *words]) == 2
        told = capsys.readouterr().err
        assert said in told
        assert told.count("\n") == 1


def test_a_missing_scheduler_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(POOL, "WAIT_S", 1)
    with pytest.raises(ClusterError, match="no Dask scheduler answers"):
        connect(NOBODY)

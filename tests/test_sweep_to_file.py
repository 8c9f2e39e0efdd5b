"""Sweeps into files: equal bytes from every worker, also after kills; and errors for other paths."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import icmodel
from icmodel.cli import main
from icmodel.errors import ClusterError, OutOfDomain, ReportError
from icmodel.sweep import Axis, Grid, grid_of, sweep, sweep_id, sweep_to_file
from icmodel.sweep.files import MANIFEST, block_columns, write_grid_csv
from icmodel.sweep.grid import Blocks
from search import mostly_long
from sweep_case import BLOCK, CENTRAL, FORMATS, QUESTION, content

RUNNING = importlib.import_module("icmodel.sweep")


@pytest.fixture(scope="module")
def model() -> icmodel.Model:
    return icmodel.Model(CENTRAL, "corrected")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RUNNING, "BLOCK_POINTS", BLOCK)


def asked(model: icmodel.Model) -> Grid:
    """The grid of the question."""
    ranges = {k: v for k, v in QUESTION.items() if k not in ("outside", "metrics")}
    return grid_of(model, ranges, "nan", QUESTION["metrics"], intervals=True)


# --- blocks -----------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 6), max_size=4), st.integers(1, 40))
def test_blocks_are_consecutive_and_cover_the_grid(sizes: list[int], most: int) -> None:
    axes = tuple(Axis(f"a{k}", tuple(range(size))) for k, size in enumerate(sizes))
    end = 0
    for number, block in enumerate(Blocks(axes, most)):
        assert (block.number, block.start) == (number, end)
        assert 0 < block.stop - block.start <= most
        end = block.stop
    assert end == len(Grid(axes))


# --- the same bytes whoever answers -----------------------------------------------------------


@pytest.mark.parametrize("extension", FORMATS)
def test_a_file_holds_what_the_sweep_in_memory_says(
    model: icmodel.Model, extension: str, tmp_path: Path
) -> None:
    whole = sweep(model, **QUESTION)
    path = sweep_to_file(model, tmp_path / f"grid{extension}", **QUESTION)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    if extension == ".zarr":
        with xr.open_zarr(path) as store:
            xr.testing.assert_identical(store.load().drop_attrs(), whole.drop_attrs())
            assert store.attrs == whole.attrs
            assert store["goodput_bps"].attrs["units"] == "bit/s"
        return
    everything = asked(model).blocks(10**9)[0]
    columns = block_columns(everything, whole)
    write_grid_csv(columns, tmp_path / "whole.csv")
    if extension == ".csv":
        assert path.read_bytes() == (tmp_path / "whole.csv").read_bytes()
        return
    table = pq.read_table(path)
    assert table.schema.names == columns.names
    goodput = [None if value != value else value for value in whole.goodput_bps.values.ravel()]
    assert table["goodput_bps"].to_pylist() == goodput
    assert (path / MANIFEST).is_file()


def test_processes_and_threads_write_the_same_bytes(model: icmodel.Model, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    threads = sweep_to_file(
        model,
        tmp_path / "threads.parquet",
        progress=lambda done, total: told.append((done, total)),
        **QUESTION,
    )
    processes = sweep_to_file(model, tmp_path / "processes.parquet", workers=2, **QUESTION)
    assert content(threads) == content(processes)
    assert told[-1] == (308, 308)
    assert told == sorted(told)


# --- interruptions ----------------------------------------------------------------------------

SCRIPT = """
import importlib, sys
import icmodel
from icmodel.sweep import sweep_to_file
importlib.import_module("icmodel.sweep").BLOCK_POINTS = {block}
def say(done, total):
    print(done, flush=True)
sweep_to_file(icmodel.Model({central!r}, "corrected"), sys.argv[1], progress=say, **{question!r})
"""


def started(path: Path) -> subprocess.Popen[str]:
    """A process that sweeps into a file, and prints the points that are done."""
    script = SCRIPT.format(block=BLOCK, central=CENTRAL, question=QUESTION)
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("extension", mostly_long(FORMATS, (".zarr",)))
def test_a_killed_sweep_goes_on_and_ends_with_the_same_bytes(
    model: icmodel.Model, extension: str, tmp_path: Path
) -> None:
    own = sweep_to_file(model, tmp_path / f"own{extension}", **QUESTION)
    path = tmp_path / f"killed{extension}"
    with started(path) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGKILL)
    assert not path.exists()  # no reader sees half a file
    told: list[int] = []
    sweep_to_file(model, path, progress=lambda done, total: told.append(done), **QUESTION)
    assert int(lines[-1]) < told[0] < 308  # finished blocks are kept
    assert content(path) == content(own)


@pytest.mark.parametrize("extension", mostly_long(FORMATS, (".csv",)))
def test_what_lies_behind_the_finished_blocks_is_dropped(
    model: icmodel.Model, extension: str, tmp_path: Path
) -> None:
    """State after a kill between writing a block and recording it."""
    path = tmp_path / f"grid{extension}"
    own = sweep_to_file(model, tmp_path / f"own{extension}", **QUESTION)

    class Stop(Exception):  # noqa: N818
        pass

    def stop(done: int, total: int) -> None:
        if done > 100:
            raise Stop

    with pytest.raises(Stop):
        sweep_to_file(model, path, progress=stop, **QUESTION)
    partial = path.with_name(f"{path.name}.partial")
    if extension == ".csv":
        with partial.open("a") as file:
            file.write("half a li")
    elif extension == ".parquet":
        (partial / "part-000020.parquet").write_bytes(b"half")
    sweep_to_file(model, path, **QUESTION)
    assert content(path) == content(own)


def test_a_limit_of_file_size_is_one_sentence_and_keeps_the_finished_blocks(
    model: icmodel.Model, tmp_path: Path
) -> None:
    own = sweep_to_file(model, tmp_path / "own.csv", **QUESTION)
    path = tmp_path / "full.csv"
    limit = own.stat().st_size // 2
    script = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        + SCRIPT.format(block=BLOCK, central=CENTRAL, question=QUESTION)
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    last = run.stderr.strip().splitlines()[-1]
    assert "ReportError" in last
    assert "blocks are kept: repeat the command to continue" in last
    told: list[int] = []
    sweep_to_file(model, path, progress=lambda done, total: told.append(done), **QUESTION)
    assert told[0] > 100
    assert content(path) == content(own)


# --- refusals ---------------------------------------------------------------------------------


def test_a_partial_file_of_another_sweep_is_kept_and_named(
    model: icmodel.Model, tmp_path: Path
) -> None:
    path = tmp_path / "grid.csv"

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep_to_file(model, path, progress=stop, **QUESTION)
    with pytest.raises(ReportError, match="belongs to another sweep"):
        sweep_to_file(model, path, **{**QUESTION, "cores": "1"})
    journal = path.with_name("grid.csv.progress")
    progress = json.loads(journal.read_text())
    journal.write_text(json.dumps({**progress, "blocks": 10**6}))  # more than the other sweep has
    with pytest.raises(ReportError, match="belongs to another sweep"):
        sweep_to_file(model, path, **{**QUESTION, "cores": "1"})
    for damaged in ("{", {"bytes": 1e400}, {"blocks": -1}, {"blocks": 1.0}, {"bytes": -1}):
        text = damaged if isinstance(damaged, str) else json.dumps({**progress, **damaged})
        journal.write_text(text)
        with pytest.raises(ReportError, match="is damaged: remove it"):
            sweep_to_file(model, path, **QUESTION)
    journal.write_text(json.dumps({**progress, "bytes": 10**9}))
    with pytest.raises(ReportError, match="shorter than the 1000000000 B that were written"):
        sweep_to_file(model, path, **QUESTION)


@pytest.mark.parametrize("extension", [".parquet", ".zarr"])
def test_a_lost_file_of_a_finished_block_is_named(
    model: icmodel.Model, tmp_path: Path, extension: str
) -> None:
    """Otherwise a continued sweep would miss the points of that block."""
    path = tmp_path / f"grid{extension}"

    def stop(done: int, total: int) -> None:
        if done > 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep_to_file(model, path, progress=stop, **QUESTION)
    partial = path.with_name(f"{path.name}.partial")
    lost = min(partial.glob({".parquet": "part-*", ".zarr": "bottleneck/[0-9]*"}[extension]))
    lost.unlink()
    with pytest.raises(
        ReportError, match=f"lacks the file .*{lost.name} of a finished block: remove"
    ):
        sweep_to_file(model, path, **QUESTION)
    path.with_name(f"{path.name}.progress").unlink()
    sweep_to_file(model, path, **QUESTION)
    assert path.exists()


def test_a_refused_point_is_named_and_leaves_nothing(model: icmodel.Model, tmp_path: Path) -> None:
    question = {**QUESTION, "outside": "refuse", "payload": "64 B..65535 B:11"}
    with pytest.raises(OutOfDomain) as refused:
        sweep(model, **question)
    for workers in (None, 1):
        with pytest.raises(OutOfDomain) as again:
            sweep_to_file(model, tmp_path / "grid.csv", workers=workers, **question)
        assert "the first such point" in str(again.value)
        assert str(again.value) == str(refused.value)
    assert not list(tmp_path.iterdir())


def test_foreign_folders_and_formats_are_refused(model: icmodel.Model, tmp_path: Path) -> None:
    (tmp_path / "mine.zarr").mkdir()
    with pytest.raises(ReportError, match="a folder not written by icmodel sweep"):
        sweep_to_file(model, tmp_path / "mine.zarr", **QUESTION)
    with pytest.raises(ReportError, match="unsupported file extension for a large sweep"):
        sweep_to_file(model, tmp_path / "grid.xlsx", **QUESTION)
    with pytest.raises(ReportError, match="no folder"):
        sweep_to_file(model, tmp_path / "none" / "grid.csv", **QUESTION)
    assert main(["sweep", "--payload", "64 B", "--workers", "2"]) == 2
    both = ["--workers", "2", "--cluster", "tcp://127.0.0.1:9", "-o", str(tmp_path / "grid.csv")]
    assert main(["sweep", "--payload", "64 B", *both]) == 2


def test_an_earlier_sweep_is_replaced(model: icmodel.Model, tmp_path: Path) -> None:
    for extension in FORMATS:
        path = tmp_path / f"grid{extension}"
        sweep_to_file(model, path, **{**QUESTION, "cores": "1"})
        first = content(path)
        sweep_to_file(model, path, **QUESTION)
        assert content(path) != first


def test_a_lost_process_is_one_sentence_and_keeps_the_finished_blocks(
    model: icmodel.Model, tmp_path: Path
) -> None:
    def kill(done: int, total: int) -> None:
        for child in multiprocessing_children():
            os.kill(child, signal.SIGKILL)

    with pytest.raises(ClusterError, match="a worker process ended before its answer"):
        sweep_to_file(model, tmp_path / "grid.csv", workers=2, progress=kill, **QUESTION)
    told: list[int] = []
    sweep_to_file(
        model, tmp_path / "grid.csv", progress=lambda done, total: told.append(done), **QUESTION
    )
    assert told[0] > 14


def multiprocessing_children() -> list[int]:
    import multiprocessing

    return [one.pid for one in multiprocessing.active_children() if one.pid is not None]


def test_the_sweep_id_changes_with_whatever_decides_the_bytes() -> None:
    axes = (Axis("protocol", ("tcp",), fixed=True), Axis("payload_bytes", (64, 1448)))
    grid = Grid(axes)
    told = {
        sweep_id("1", "a" * 64, "corrected", grid, ".csv", 10),
        sweep_id("2", "a" * 64, "corrected", grid, ".csv", 10),
        sweep_id("1", "b" * 64, "corrected", grid, ".csv", 10),
        sweep_id("1", "a" * 64, "hybrid", grid, ".csv", 10),
        sweep_id("1", "a" * 64, "corrected", Grid(axes[1:]), ".csv", 10),
        sweep_id("1", "a" * 64, "corrected", replace(grid, outside="nan"), ".csv", 10),
        sweep_id("1", "a" * 64, "corrected", grid, ".zarr", 10),
        sweep_id("1", "a" * 64, "corrected", grid, ".csv", 11),
    }
    assert len(told) == 8

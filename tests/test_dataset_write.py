"""Writing datasets: sealed and sorted, loaded as written, and complete or not at all."""

from __future__ import annotations

import csv
import hashlib
import io
import random
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import checkout
from icmodel.dataset import Point, catalogue, load, read_document
from icmodel.dataset.check import check_dataset
from icmodel.dataset.write import number_text, write_dataset
from icmodel.errors import DatasetError, IcmodelError

DOCUMENT: dict[str, object] = {
    "title": "Two sizes",
    "id": "small",
    "edition": "1",
    "default_variant": "corrected",
    "default_protocol": "tcp",
    "licence": "free",
    "citation": "A person.",
    "tool": {"name": "ruler", "version": "1"},
    "interconnect": {"kind": "ethernet", "line_rate_bps": 1e9, "mtu_bytes": 1500},
    "hosts": [{"name": "one"}],
    "axes": {
        "payload_bytes": {"meaning": "useful bytes", "unit": "B"},
        "zone": {"meaning": "where", "default": "in"},
        "bend": {"meaning": "how", "default": "none"},
    },
}
AXES = ("zone", "bend")
"""Axes not in alphabetical order; the writer sorts them."""


def point(payload: int, metric: str = "goodput_bps", value: float = 1e8, **others: object) -> Point:
    base = Point(
        0, "tcp", payload, float("inf"), 1, 0, 1, None, ("in", "none"), metric, value,
        None, None, None, None, "measured", "here",
    )  # fmt: skip
    return base._replace(**others)  # type: ignore[arg-type]


POINTS = [point(1024), point(64, value=1.5e7), point(64, "latency_mean_s", 1.25e-5, std=1e-7, n=3)]
HELD_OUT = {
    "b": [point(128, value=2.5e7, n=1), point(128, "latency_mean_s", 2e-5, n=1)],
    "a": [point(512, n=1)],
}


@pytest.mark.parametrize("name", [name for name in catalogue() if name != "lab-1g-2026"])
def test_a_bundled_dataset_written_anew_is_the_same(name: str, tmp_path: Path) -> None:
    """`lab-1g-2026` is rebuilt byte for byte from its records (`test_data_lab_1g_2026`)."""
    data = load(name)
    points = list(data.points)
    random.Random(1).shuffle(points)
    held_out = data.held_out_runs
    write_dataset(tmp_path / name, data.document, data.option_axes, points, held_out=held_out)
    again = check_dataset(tmp_path / name)
    assert [p._replace(line=0) for p in again.points] == [p._replace(line=0) for p in data.points]
    unsealed = {**again.document, "sha256": data.sha256}
    assert unsealed == data.document
    assert again.held_out == data.held_out


def test_rows_are_sorted_columns_in_order_and_numbers_exact(tmp_path: Path) -> None:
    write_dataset(tmp_path / "small", DOCUMENT, AXES, POINTS)
    assert (tmp_path / "small" / "points.csv").read_text() == (
        "protocol,payload_bytes,load_bps,cores,switches,endpoints,other_goodput_bps,bend,zone,"
        "metric,value,std,low,high,n,basis,source\n"
        "tcp,64,inf,1,0,1,,none,in,goodput_bps,15000000,,,,,measured,here\n"
        "tcp,64,inf,1,0,1,,none,in,latency_mean_s,0.0000125,0.0000001,,,3,measured,here\n"
        "tcp,1024,inf,1,0,1,,none,in,goodput_bps,100000000,,,,,measured,here\n"
    )
    data = check_dataset(tmp_path / "small")
    assert data.option_axes == ("bend", "zone")
    assert list(read_document(data.folder))[:4] == ["schema_version", "id", "title", "edition"]


@given(st.floats(0, allow_infinity=False))
def test_a_number_comes_back_as_it_was(number: float) -> None:
    text = number_text(number)
    assert float(text) == number
    assert re.fullmatch(r"\d+(\.\d+)?", text)


def test_the_same_question_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, points in (("x", POINTS), ("y", POINTS[::-1])):
        write_dataset(tmp_path / name, DOCUMENT, AXES, points, held_out=HELD_OUT)
    for file in ("points.csv", "dataset.toml", "held-out.csv"):
        assert (tmp_path / "x" / file).read_bytes() == (tmp_path / "y" / file).read_bytes()


# --- held-out runs -----------------------------------------------------------------------------


@pytest.fixture
def held(tmp_path: Path) -> Path:
    write_dataset(tmp_path / "small", DOCUMENT, AXES, POINTS, held_out=HELD_OUT)
    return tmp_path / "small"


def test_held_out_runs_come_back_apart_from_the_points(held: Path) -> None:
    data = check_dataset(held)
    assert list(data.held_out_runs) == ["a", "b"]
    assert [(p.payload_bytes, p.metric) for p in data.held_out] == [
        (512, "goodput_bps"),
        (128, "goodput_bps"),
        (128, "latency_mean_s"),
    ]
    assert all(p.n == 1 and p.options == ("none", "in") for p in data.held_out)
    assert len(data.points) == len(POINTS)


def test_held_out_rows_begin_with_their_run(held: Path) -> None:
    table = list(csv.reader(io.StringIO((held / "held-out.csv").read_text())))
    points = (held / "points.csv").read_text().splitlines()[0].split(",")
    assert table[0] == ["run", *points]
    assert [row[0] for row in table[1:]] == ["a", "b", "b"]


def test_a_changed_held_out_file_is_refused_when_it_is_asked_for(held: Path) -> None:
    path = held / "held-out.csv"
    path.write_bytes(path.read_bytes().replace(b"25000000", b"26000000"))
    assert len(load(held).points) == len(POINTS)
    with pytest.raises(DatasetError, match=r"held-out\.csv does not match the sha256"):
        _ = load(held).held_out
    with pytest.raises(DatasetError, match=r"held-out\.csv does not match the sha256"):
        check_dataset(held)


def test_a_missing_held_out_file_is_named(held: Path) -> None:
    (held / "held-out.csv").unlink()
    with pytest.raises(DatasetError, match=r"held-out\.csv cannot be read"):
        _ = load(held).held_out


def test_a_wrong_count_of_runs_is_named(held: Path) -> None:
    path = held / "dataset.toml"
    path.write_text(path.read_text().replace("runs = 2", "runs = 3"))
    with pytest.raises(DatasetError, match=r"has 2 runs, but dataset\.toml has runs = 3"):
        _ = load(held).held_out


@pytest.mark.parametrize(
    ("pattern", "new", "told"),
    [
        (r"^run,", "trial,", "line 1: the columns must be run, protocol"),
        (r"\nb,", "\n,", "name the run in every row"),
        (r"\na,", "\nc,", "sort the rows by run first"),
        (r",512,", ",0,", "line 2: payload_bytes '0' is not a whole number"),
        (r"\n(?s:.)*", "\n", "has no rows"),
    ],
)
def test_a_damaged_held_out_row_is_named(held: Path, pattern: str, new: str, told: str) -> None:
    path, document = held / "held-out.csv", held / "dataset.toml"
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text(re.sub(pattern, new, path.read_text(), count=1))
    after = hashlib.sha256(path.read_bytes()).hexdigest()
    document.write_text(document.read_text().replace(before, after))
    with pytest.raises(DatasetError, match=re.escape(told)):
        _ = load(held).held_out


def test_held_out_runs_that_went_leave_no_file_behind(held: Path) -> None:
    write_dataset(held, DOCUMENT, AXES, POINTS)
    assert not (held / "held-out.csv").exists()
    assert check_dataset(held).held_out == ()


# --- whole or not at all -----------------------------------------------------------------------


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_breaks_the_format_changes_nothing(held: Path) -> None:
    before = files(held)
    with pytest.raises(DatasetError, match="goodput_bps of the same point") as caught:
        write_dataset(held, DOCUMENT, AXES, [point(64), point(64)])
    assert "payload_bytes 64" in str(caught.value)
    with pytest.raises(DatasetError, match=re.escape(f"{held / 'points.csv'} line 2")):
        write_dataset(held, DOCUMENT, AXES, [point(64, "cpu_send", 1.5)])
    with pytest.raises(DatasetError, match=re.escape(f"{held / 'dataset.toml'}: title")):
        write_dataset(held, {**DOCUMENT, "title": ""}, AXES, POINTS)
    with pytest.raises(IcmodelError, match="cannot be written as TOML"):
        write_dataset(held, {**DOCUMENT, "title": None}, AXES, POINTS)
    assert files(held) == before
    assert [path.name for path in held.parent.iterdir()] == ["small"]


def test_files_of_others_stay_and_named_ones_are_written(held: Path) -> None:
    (held / "notes.txt").write_text("mine")
    write_dataset(held, DOCUMENT, AXES, POINTS, {"README.md": b"# Small\n"})
    assert (held / "notes.txt").read_text() == "mine"
    assert (held / "README.md").read_bytes() == b"# Small\n"
    assert check_dataset(held)


@pytest.mark.parametrize("name", ["points.csv", "../up", "a/b", ".hidden", "dataset.toml"])
def test_a_file_beside_needs_a_plain_name_of_its_own(held: Path, name: str) -> None:
    with pytest.raises(DatasetError, match="use a name without a folder"):
        write_dataset(held, DOCUMENT, AXES, POINTS, {name: b""})


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "small").write_text("")
    with pytest.raises(DatasetError, match="small is a file"):
        write_dataset(tmp_path / "small", DOCUMENT, AXES, POINTS)


def test_a_half_replaced_folder_does_not_load_and_is_mended_by_writing_again(held: Path) -> None:
    other = held.parent / "other"
    write_dataset(other, {**DOCUMENT, "id": "other"}, AXES, POINTS[:2])
    shutil.copy(other / "points.csv", held / "points.csv")
    with pytest.raises(DatasetError, match="does not match the sha256"):
        load(held)
    write_dataset(held, DOCUMENT, AXES, POINTS[:2])
    assert check_dataset(held)


def test_the_schema_knows_held_out_runs(held: Path) -> None:
    path = held / "dataset.toml"
    path.write_text(path.read_text().replace('file = "held-out.csv"', 'file = "other.csv"'))
    with pytest.raises(DatasetError, match=r"held_out\.file"):
        check_dataset(held)


def test_the_tests_write_nothing_into_data() -> None:
    assert sorted(p.name for p in (checkout.ROOT / "data").iterdir() if p.is_dir()) == list(
        catalogue()
    )

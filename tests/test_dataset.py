"""Datasets: bundled ones load, damage is named, and rows are found and selected."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
import shutil
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import checkout
from icmodel.cli import main
from icmodel.dataset import (
    AXES,
    FILE_BASES,
    HOW_TO_LIST,
    METRIC_ENDINGS,
    RATIOS,
    REST,
    Dataset,
    Interconnect,
    build,
    catalogue,
    find,
    load,
    read_document,
    read_points,
    shipped,
)
from icmodel.dataset.dataset import FILE, Held, coverage_text, least_held
from icmodel.errors import DatasetError
from icmodel.model import VARIANTS, Model
from search import times
from small_case import small_dataset

DATA = checkout.ROOT / "data"
NAME = "ethernet-1g-2010"
"""Dataset with two option axes, of which tests damage copies."""

Table = list[list[str]]
"""The cells of points.csv; the header is row 0, so the line in the file is one more."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return shutil.copytree(DATA / NAME, tmp_path / NAME)


@pytest.fixture(scope="module")
def central() -> Dataset:
    return load("ethernet-10g-2012")


def reseal(folder: Path, body: bytes) -> None:
    """Write points.csv and its seal."""
    (folder / "points.csv").write_bytes(body)
    change(folder, r'sha256 = "[0-9a-f]{64}"', f'sha256 = "{hashlib.sha256(body).hexdigest()}"')


def change(folder: Path, pattern: str, new: str) -> None:
    """Replace the only match of a pattern in dataset.toml."""
    path = folder / "dataset.toml"
    text, count = re.subn(pattern, new, path.read_text(encoding="utf-8"))
    assert count == 1, f"{pattern!r} stands {count} times"
    path.write_text(text, encoding="utf-8")


def cells(folder: Path) -> Table:
    text = (folder / "points.csv").read_text(encoding="utf-8")
    return list(csv.reader(io.StringIO(text)))


def rewrite(folder: Path, table: Table) -> None:
    """Write cells as points.csv and seal them."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    reseal(folder, text.getvalue().encode())


def line_of(table: Table, metric: str) -> int:
    """The line of the first row of a metric."""
    return 1 + next(k for k, row in enumerate(table) if row[table[0].index("metric")] == metric)


def refusal(folder: Path, file: str, line: int | None = None) -> str:
    """Message of loading a dataset, without the file and the given line."""
    with pytest.raises(DatasetError) as caught:
        load(folder)
    said = str(caught.value)
    assert "\n" not in said
    start = str(folder / file) + ("" if line is None else f" line {line}: ")
    assert said.startswith(start), said
    return said[len(start) :]


# --- the bundled datasets ----------------------------------------------------------------------


def test_the_catalogue_is_the_folders_of_data() -> None:
    folders = sorted(path.name for path in DATA.iterdir() if path.is_dir())
    assert list(catalogue()) == folders
    assert len(folders) >= 12
    assert shipped("data") == DATA


@pytest.mark.parametrize("name", catalogue())
def test_a_bundled_dataset_loads_whole(name: str) -> None:
    data, folder = load(name), DATA / name
    lines = (folder / "points.csv").read_text(encoding="utf-8").splitlines()
    assert len(data.points) == len(lines) - 1
    assert [point.line for point in data.points] == list(range(2, len(lines) + 1))
    assert (data.id, data.folder) == (name, folder)
    assert data.sha256 == hashlib.sha256((folder / "points.csv").read_bytes()).hexdigest()


@pytest.mark.parametrize("name", catalogue())
def test_a_bundled_dataset_says_what_it_is(name: str) -> None:
    data = load(name)
    readme = (DATA / name / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# ")
    assert len(readme.split()) > 100
    assert all((data.title, data.citation, data.licence, data.known_limits))
    assert list(data.protocols) == sorted({point.protocol for point in data.points})
    assert data.default_protocol in data.protocols
    assert data.default_variant in {"corrected", "appendix-h", "hybrid"}


@pytest.mark.parametrize("name", catalogue())
def test_every_bundled_row_is_one_sourced_number(name: str) -> None:
    for point in load(name).points:
        assert point.basis in FILE_BASES
        assert point.source.strip() == point.source != ""
        assert math.isfinite(point.value)
        assert point.metric in RATIOS or point.metric.endswith(METRIC_ENDINGS)
        if point.basis == "assumed":
            assert point.low is not None
            assert point.high is not None
            assert point.low <= point.value <= point.high


@pytest.mark.parametrize("name", catalogue())
def test_every_cell_comes_through_as_it_stands(name: str) -> None:
    table = cells(DATA / name)
    for row, point in zip(table[1:], load(name).points, strict=True):
        told = [point.protocol, *point[2:8], *point.options, *point[9:]]
        for text, value in zip(row, told, strict=True):
            if isinstance(value, str) or value is None:
                assert text == (value or "")
            else:
                assert float(text) == value


@pytest.mark.parametrize("name", catalogue())
def test_every_default_has_rows(name: str) -> None:
    data = load(name)
    for axis in data.option_axes:
        default = data.option_defaults[axis]
        empty = any(not p.options[data.option_axes.index(axis)] for p in data.points)
        assert default in data.option_values(axis) or empty, axis
    assert data.select(data.default_protocol, {})


# --- finding -----------------------------------------------------------------------------------


def test_a_dataset_is_found_by_name_by_folder_and_by_its_document(copy: Path) -> None:
    assert find(NAME) == DATA / NAME
    assert find(copy) == find(str(copy)) == find(copy / "dataset.toml") == copy
    assert load(copy / "dataset.toml").points == load(NAME).points


def test_a_folder_here_goes_before_a_bundled_name(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy.parent)
    assert find(NAME).resolve() == copy.resolve()
    monkeypatch.chdir(copy)
    assert find(NAME) == DATA / NAME
    assert find("dataset.toml").resolve() == copy.resolve()


@pytest.mark.parametrize("name", ["ethernet-99g", "x" * 40, f"../data/{NAME}", f"{NAME}/", "a\0b"])
def test_an_unknown_name_names_the_remedy(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError) as caught:
        load(name)
    assert str(caught.value) == f"there is no dataset {name!r}: {HOW_TO_LIST}"
    assert "icmodel datasets list" in HOW_TO_LIST


def test_a_name_too_long_for_a_file_is_refused() -> None:
    with pytest.raises(DatasetError, match="cannot be read"):
        find("x" * 5000)


def test_a_folder_without_a_document_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=rf"{tmp_path} has no dataset\.toml.*points\.csv"):
        load(tmp_path)


def test_a_dataset_without_points_is_refused(copy: Path) -> None:
    (copy / "points.csv").unlink()
    assert refusal(copy, "points.csv") == " cannot be read: No such file or directory"


# --- the seal ----------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(1, 255))
@settings(max_examples=times(20))
def test_one_changed_byte_breaks_the_seal(
    tmp_path_factory: pytest.TempPathFactory, where: int, flip: int
) -> None:
    folder = shutil.copytree(DATA / NAME, tmp_path_factory.mktemp("copy") / NAME)
    body = bytearray((folder / "points.csv").read_bytes())
    body[where % len(body)] ^= flip
    (folder / "points.csv").write_bytes(body)
    said = refusal(folder, "points.csv")
    assert "does not match the sha256" in said
    assert "--seal" in said


@pytest.mark.parametrize("kept", [0, 1, 1000, -1])
def test_a_truncated_file_breaks_the_seal(copy: Path, kept: int) -> None:
    body = (copy / "points.csv").read_bytes()
    (copy / "points.csv").write_bytes(body[:kept])
    assert "changed or cut" in refusal(copy, "points.csv")


def test_a_dataset_without_a_seal_is_refused(copy: Path) -> None:
    change(copy, r'sha256 = "[0-9a-f]{64}"\n', "")
    assert "does not match the sha256" in refusal(copy, "points.csv")


# --- rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "text", "told"),
    [
        ("protocol", "", "protocol is empty"),
        (
            "payload_bytes",
            "0",
            "payload_bytes '0' is not a whole number from 1 to 9007199254740992",
        ),
        (
            "payload_bytes",
            "1.5",
            "payload_bytes '1.5' is not a whole number from 1 to 9007199254740992",
        ),
        (
            "payload_bytes",
            "-64",
            "payload_bytes '-64' is not a whole number from 1 to 9007199254740992",
        ),
        (
            "payload_bytes",
            "²",
            "payload_bytes '²' is not a whole number from 1 to 9007199254740992",
        ),
        ("load_bps", "1 Gb/s", "load_bps '1 Gb/s' is not a number in SI"),
        ("load_bps", "-1", "load_bps '-1' is out of range"),
        ("load_bps", "-inf", "load_bps '-inf' is out of range"),
        ("load_bps", "nan", "load_bps 'nan' is out of range"),
        ("cores", "0", "cores '0' is not a whole number from 1 to 9007199254740992"),
        ("cores", "inf", "cores 'inf' is not a whole number from 1 to 9007199254740992"),
        ("switches", "none", "switches 'none' is not a whole number from 0 to 9007199254740992"),
        ("endpoints", "0", "endpoints '0' is not a whole number from 1 to 9007199254740992"),
        ("other_goodput_bps", "-5", "other_goodput_bps '-5' is out of range"),
        ("value", "", "value is empty: every row needs a number"),
        ("value", "12,5", "value '12,5' is not a number in SI"),
        ("value", "fast", "value 'fast' is not a number in SI"),
        ("value", "1_000", "value '1_000' is not a number in SI"),
        ("value", " 1000", "value ' 1000' is not a number in SI"),
        ("value", "١٠٠٠", "value '١٠٠٠' is not a number in SI"),
        ("value", "-1", "value '-1' is out of range: give a finite number, 0 or more"),
        ("value", "nan", "value 'nan' is out of range: give a finite number, 0 or more"),
        ("value", "inf", "value 'inf' is out of range: give a finite number, 0 or more"),
        ("value", "1e999", "value '1e999' is out of range: give a finite number, 0 or more"),
        ("std", "-0.1", "std '-0.1' is out of range"),
        ("std", "?", "std '?' is not a number in SI"),
        ("low", "nan", "low 'nan' is out of range"),
        ("high", "inf", "high 'inf' is out of range"),
        ("n", "0", "n '0' is not a whole number from 1 to 9007199254740992"),
        ("n", "five", "n 'five' is not a whole number from 1 to 9007199254740992"),
        ("basis", "", f"basis '' is not one of {', '.join(FILE_BASES)}"),
        ("basis", "guessed", f"basis 'guessed' is not one of {', '.join(FILE_BASES)}"),
        ("basis", "interpolated", "basis 'interpolated' is not one of"),
        ("basis", "extrapolated", "basis 'extrapolated' is not one of"),
        ("source", "", "source is empty: every row needs a source"),
        ("metric", "goodput", "metric 'goodput' has no unit: it must be one of"),
        ("metric", "", "metric '' has no unit"),
        ("metric", "latency_ms", "metric 'latency_ms' has no unit"),
        (
            "metric",
            "latency_p5_s",
            "the metric 'latency_p5_s' is unclear: write latency_p05_s for 5 %, or latency_p50_s for 50 %",
        ),
    ],
)
def test_a_damaged_cell_is_named(copy: Path, column: str, text: str, told: str) -> None:
    table = cells(copy)
    line = line_of(table, "goodput_bps")
    table[line - 1][table[0].index(column)] = text
    rewrite(copy, table)
    assert refusal(copy, "points.csv", line).startswith(told)


@pytest.mark.parametrize(
    ("metric", "damage", "told"),
    [
        ("goodput_bps", {"value": "10", "low": "11"}, "not between low 11.0 and high 10.0"),
        ("goodput_bps", {"value": "10", "high": "9"}, "not between low 10.0 and high 9.0"),
        ("goodput_bps", {"value": "10", "low": "5", "high": "8"}, "not between low 5.0 and high 8"),
        ("cpu_send", {"value": "1.01"}, "cpu_send 1.01 is above 1: a ratio must be from 0 to 1"),
        ("cpu_send", {"value": "0.9", "high": "1.2"}, "cpu_send 1.2 is above 1"),
        ("cpu_send", {"value": "99"}, "cpu_send 99.0 is above 1"),
        ("cpu_send", {"basis": "assumed"}, "an assumed row needs low and high"),
        ("goodput_bps", {"basis": "assumed", "low": "0"}, "an assumed row needs low and high"),
        ("goodput_bps", {"basis": "assumed", "high": "1e9"}, "an assumed row needs low and high"),
    ],
)
def test_cells_that_contradict_each_other_are_named(
    copy: Path, metric: str, damage: dict[str, str], told: str
) -> None:
    table = cells(copy)
    line = line_of(table, metric)
    for column, text in damage.items():
        table[line - 1][table[0].index(column)] = text
    rewrite(copy, table)
    assert told in refusal(copy, "points.csv", line)


@pytest.mark.parametrize(
    ("metric", "given"),
    [
        ("goodput_bps", {"value": "0"}),
        ("goodput_bps", {"value": "9", "low": "9", "high": "9"}),
        ("goodput_bps", {"basis": "assumed", "value": "9", "low": "0", "high": "10"}),
        ("cpu_send", {"value": "1", "high": "1"}),
        ("cpu_send_cores", {"value": "7.9"}),
        ("goodput_bps", {"source": 'the "best", table 3'}),
    ],
)
def test_what_is_just_allowed_loads(copy: Path, metric: str, given: dict[str, str]) -> None:
    table = cells(copy)
    line = line_of(table, metric)
    for column, text in given.items():
        table[line - 1][table[0].index(column)] = text
    rewrite(copy, table)
    point = load(copy).points[line - 2]
    for column, text in given.items():
        assert str(getattr(point, column)).removesuffix(".0") == text


@pytest.mark.parametrize("line", [2, 50, 256])
def test_a_cut_row_is_named(copy: Path, line: int) -> None:
    table = cells(copy)
    table[line - 1] = table[line - 1][:-2]
    rewrite(copy, table)
    assert "the row has 15 cells, but the header has 17; the row is cut" in refusal(
        copy, "points.csv", line
    )


def test_a_stray_comma_is_named(copy: Path) -> None:
    table = cells(copy)
    table[9].insert(5, "")
    rewrite(copy, table)
    assert "18 cells, but the header has 17" in refusal(copy, "points.csv", 10)


@pytest.mark.parametrize("line", [2, 100, 257])
def test_a_blank_line_is_named(copy: Path, line: int) -> None:
    lines = (copy / "points.csv").read_bytes().splitlines(keepends=True)
    reseal(copy, b"".join([*lines[: line - 1], b"\n", *lines[line - 1 :]]))
    assert refusal(copy, "points.csv", line).startswith("the row has 0 cells")


def test_an_open_quote_is_named(copy: Path) -> None:
    body = (copy / "points.csv").read_bytes()
    reseal(copy, body.rstrip(b"\n") + b',"')
    assert refusal(copy, "points.csv", 256).startswith("not CSV")


def test_bytes_that_are_no_text_are_named(copy: Path) -> None:
    lines = (copy / "points.csv").read_bytes().splitlines(keepends=True)
    lines[6] = lines[6].replace(b"NIC2010", b"NIC\xff2010")
    reseal(copy, b"".join(lines))
    assert refusal(copy, "points.csv", 7).startswith("not UTF-8")


def test_rows_out_of_order_are_named(copy: Path) -> None:
    table = cells(copy)
    table[20], table[21] = table[21], table[20]
    rewrite(copy, table)
    assert "sort the rows by the columns from left to right" in refusal(copy, "points.csv", 22)


def test_two_rows_of_one_point_are_named(copy: Path) -> None:
    table = cells(copy)
    table.insert(21, list(table[20]))
    table[21][table[0].index("value")] = "5"
    rewrite(copy, table)
    assert refusal(copy, "points.csv", 22) == "a second row for the same point and metric"


def row(**given: str) -> list[str]:
    """Row without options."""
    plain = {"protocol": "tcp", "metric": "goodput_bps", "value": "1", "basis": "measured"}
    cells = plain | {"source": "a test"} | given
    return [cells.get(column, "") for column in (*AXES, *REST)]


def read(*rows: list[str]) -> list[int | float | None]:
    """Loads of rows that are read in the given order."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[*AXES, *REST], *rows])
    points, options = read_points(Path("points.csv"), text.getvalue().encode())
    assert options == ()
    return [point.load_bps for point in points]


def test_empty_cells_come_first_and_unlimited_last() -> None:
    loads = ("", "0", "9", "10", "1000000000", "inf")
    rows = [row(payload_bytes="64", load_bps=load) for load in loads]
    assert read(*rows) == [None, 0, 9, 10, 1e9, math.inf]
    for k in range(1, len(rows)):
        with pytest.raises(DatasetError, match=f"line {k + 2}: the row belongs above"):
            read(*rows[: k - 1], rows[k], rows[k - 1], *rows[k + 1 :])


@pytest.mark.parametrize(
    "columns",
    [
        ["protocol"],
        [*AXES, *REST][:-1],
        [*AXES, *REST, "remark"],
        [*AXES[::-1], *REST],
        [*AXES, *REST[::-1]],
        [*AXES, "zeta", "alpha", *REST],
        [*AXES, "alpha", "alpha", *REST],
        [*(name.upper() for name in AXES), *REST],
    ],
)
def test_wrong_columns_are_named(columns: list[str]) -> None:
    body = (",".join(columns) + "\n").encode()
    with pytest.raises(DatasetError) as caught:
        read_points(Path("points.csv"), body)
    said = str(caught.value)
    assert said.startswith(f"points.csv line 1: the columns must be {', '.join(AXES)}, then")
    assert said.endswith(f"found {', '.join(columns)}")


def test_a_byte_order_mark_is_no_part_of_the_first_column() -> None:
    body = ("\ufeff" + ",".join([*AXES, *REST]) + "\n").encode()
    with pytest.raises(DatasetError, match="has no rows"):
        read_points(Path("points.csv"), body)


def test_an_empty_file_has_no_columns() -> None:
    with pytest.raises(DatasetError, match=r"points\.csv line 1: the columns must be"):
        read_points(Path("points.csv"), b"")


def test_a_file_of_columns_alone_has_no_rows(copy: Path) -> None:
    rewrite(copy, cells(copy)[:1])
    assert refusal(copy, "points.csv") == " has no rows: a dataset needs at least one"


@given(st.data())
@settings(max_examples=times(40))
def test_whatever_stands_in_the_file_is_read_whole_or_refused(data: st.DataObject) -> None:
    path, whole = DATA / NAME / "points.csv", load(NAME)
    body = path.read_bytes()
    first = data.draw(st.integers(0, len(body)))
    last = first + data.draw(st.integers(0, 40))
    new = data.draw(
        st.binary(max_size=12) | st.sampled_from((b",", b'"', b"\n", b"\r", b"\0", b"-"))
    )
    damaged = body[:first] + new + body[last:]
    try:
        points, _ = read_points(path, damaged)
    except DatasetError as error:
        told = str(error)
        assert told.startswith(f"{path} line ")
        return
    assert len(points) == len(list(csv.reader(io.StringIO(damaged.decode(), newline="")))) - 1
    before = body[:first].count(b"\n") - 1
    assert points[: max(before, 0)] == whole.points[: max(before, 0)]


# --- dataset.toml ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "new", "told"),
    [
        ("schema_version = 1", "schema_version = 2", " has schema_version 2: this icmodel reads version 1"),
        ("schema_version = 1", 'schema_version = "1"', " has schema_version '1'"),
        ("schema_version = 1\n", "", " has schema_version None: this icmodel reads version 1"),
        ("schema_version = 1", "schema_version 1", " is not valid TOML: "),
        (r"\[tool\]", "[tool", " is not valid TOML: "),
        ('protocols = .*', 'protocols = ["tcp", "udp"]', " lists the protocols ['tcp', 'udp'], "),
        ('protocols = .*', "protocols = []", " lists the protocols [], but points.csv has ['tcp']"),
        ('\nprotocols = .*', "", " lists the protocols None, but points.csv has ['tcp']"),
        ('protocols = .*', 'protocols = "tcp"', " lists the protocols 'tcp', "),
        ('(default_protocol) = .*', r'\1 = "udp"', ": default_protocol 'udp' has no rows"),
        (r"\[axes.offload\]", "[axes.other]", ": the axis offload of points.csv needs [axes.off"),
        (r'(?s)(\[axes.machine\]\n.*?)\ndefault', r"\1\nfault", ": the axis machine of points.csv"),
        (r"(?s)\[axes.machine\]\nmeaning", "[axes.machine]\nm", ": the axis machine of points.csv"),
        ('\nid = .*', "\nid = 3", ": id must be a text, found 3"),
        ('\ntitle = .*', '\ntitle = ""', ": title must be a text, found ''"),
        ('\ndefault_variant = .*', "", ": default_variant must be a text, found None"),
        ('kind = "ethernet"\n', "", ": kind must be a text, found None"),
        (r"\[interconnect\]\n", "", ": kind must be a text, found None"),
        (r"(?m)^line_rate_bps = .*", "line_rate_bps = -1", ": line_rate_bps must be finite and 0"),
        (r"(?m)^line_rate_bps = .*", "line_rate_bps = 1e-310", ": line_rate_bps must be 1 to 1e18"),
        (r"(?m)^line_rate_bps = .*", "line_rate_bps = nan", ": line_rate_bps must be finite and 0"),
        (r"(?m)^line_rate_bps = .*", "line_rate_bps = inf", ": line_rate_bps must be finite and 0"),
        (r"(?m)^line_rate_bps = .*", 'line_rate_bps = "1G"', ": line_rate_bps must be a number in"),
        (r"(?m)^line_rate_bps = .*", "line_rate_bps = true", ": line_rate_bps must be a number in"),
        (r"(?m)^mtu_bytes = .*", "mtu_bytes = inf", ": mtu_bytes must be finite and 0 or more"),
        (r"(?m)^mtu_bytes = .*", f"mtu_bytes = 1{'0' * 400}", ": mtu_bytes must be finite and 0"),
    ],
)  # fmt: skip
def test_a_wrong_document_is_named(copy: Path, pattern: str, new: str, told: str) -> None:
    change(copy, pattern, new)
    assert refusal(copy, "dataset.toml").startswith(told)


def test_a_document_that_is_no_text_is_named(copy: Path) -> None:
    path = copy / "dataset.toml"
    path.write_bytes(path.read_bytes() + b"# \xff\n")
    assert refusal(copy, "dataset.toml").startswith(" is not valid TOML: ")


TABLES = ("axes", "interconnect", "variants", "fabrics")
LISTS = ("stated_limits", "absences")


@pytest.mark.parametrize("wrong", [3, "text", True, [1], ["x"]])
@pytest.mark.parametrize("key", [*TABLES, *LISTS])
def test_a_table_of_the_wrong_type_is_named(key: str, wrong: object) -> None:
    told = rf"\[{key}\] must be a table" if key in TABLES else rf"\[\[{key}\]\] must be a list of"
    with pytest.raises(DatasetError, match=told):
        built(lambda document: document.update({key: wrong}))


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ({"metric": "cpu_send", "source": "x", "max": "0.5"}, "max must be a number in SI"),
        ({"metric": "cpu_send", "source": "x", "max": True}, "max must be a number in SI"),
        ({"metric": "cpu_send", "source": "x", "min": -0.5}, "min must be finite and 0 or more"),
        ({"metric": "cpu_send", "source": "x", "min": math.nan}, "min must be finite and 0"),
        ({"metric": 3, "source": "x", "max": 0.5}, "metric must be a text, found 3"),
        ({"metric": "cpu_send", "max": 0.5}, "source must be a text, found None"),
    ],
)
def test_a_stated_limit_of_the_wrong_type_is_named(limit: dict[str, object], told: str) -> None:
    with pytest.raises(DatasetError, match=rf"dataset\.toml: {told}"):
        built(lambda document: document.update(stated_limits=[limit]))


def test_stated_limits_are_open_where_nothing_is_stated() -> None:
    limits = [
        {"metric": "cpu_send", "protocol": "tcp", "max": 1, "source": "a"},
        {"metric": "latency_mean_s", "min": 1e-6, "source": "b"},
    ]
    told = built(lambda document: document.update(stated_limits=limits)).stated_limits
    assert [(t.metric, t.protocol, t.minimum, t.maximum, t.source) for t in told] == [
        ("cpu_send", "tcp", 0.0, 1.0, "a"),
        ("latency_mean_s", None, 1e-6, math.inf, "b"),
    ]


def test_the_first_protocol_is_the_default_where_none_is_named() -> None:
    assert built(lambda document: document.pop("default_protocol")).default_protocol == "tcp"


def built(edit: Callable[[dict[str, Any]], object]) -> Dataset:
    """The dataset with an edited dataset.toml."""
    document: dict[str, Any] = read_document(DATA / NAME)
    edit(document)
    body = (DATA / NAME / "points.csv").read_bytes()
    return build(DATA / NAME, document, body, "")


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(("axis", "kind", "metric", "min", "x")), inner, max_size=3
        )
    ),
    max_leaves=4,
)


@given(st.data())
@settings(max_examples=times(40))
def test_whatever_stands_in_the_document_is_taken_or_refused(data: st.DataObject) -> None:
    document: dict[str, Any] = read_document(DATA / NAME)
    keys = [*document, "variants", "fabrics", "stated_limits", "absences"]
    key = data.draw(st.sampled_from(keys))
    if isinstance(inner := document.get(key), dict) and data.draw(st.booleans()):
        inner[data.draw(st.sampled_from([*inner, "ip_version", "mtu_bytes"]))] = data.draw(ODD)
    else:
        document[key] = data.draw(ODD)
    body = "\n".join((DATA / NAME / "points.csv").read_text().splitlines()[:4]).encode()
    try:
        rows = len(build(DATA / NAME, document, body, "").points)
    except DatasetError as error:
        told = str(error)
        assert told.startswith(f"{DATA / NAME / 'dataset.toml'}")
    else:
        assert rows == 3


# --- links -------------------------------------------------------------------------------------


def test_the_link_is_what_the_document_says() -> None:
    central = load("ethernet-10g-2012")
    assert central.interconnect == Interconnect(
        "ethernet", 1e10, 1500, 5.9e-6, 4.27e-9, 1.0, ip_version=4, tcp_timestamps=True
    )
    assert load(NAME).interconnect == Interconnect("ethernet", 1e9, 1500, tcp_timestamps=False)


def test_an_option_can_choose_the_link() -> None:
    data = load("infiniband-qdr-connectx2")
    qdr = Interconnect("infiniband", 32e9, 4096)
    assert data.link({}) == data.link({"fabric": "qdr"}) == qdr
    assert data.link({"fabric": "rocev1"}) == Interconnect("roce", 1e10)
    assert data.link({"fabric": "1gbe", "server": "zynq"}) == Interconnect("ethernet", 1e9)


def test_without_fabrics_every_option_has_the_same_link() -> None:
    data = load(NAME)
    assert data.fabrics == {}
    assert data.link({"offload": "checksum"}) is data.interconnect


@pytest.mark.parametrize(
    ("fabric", "told"),
    [
        ({"axis": "offload"}, "kind must be a text"),
        ({"kind": "ethernet"}, "axis must be a text"),
        ({"axis": "offload", "kind": "ethernet", "mtu_bytes": "x"}, "mtu_bytes must be a number"),
        (3, r"\[checksum\] must be a table"),
    ],
)
def test_a_wrong_fabric_is_named(fabric: object, told: str) -> None:
    with pytest.raises(DatasetError, match=told):
        built(lambda document: document.update(fabrics={"checksum": fabric}))


# --- selecting ---------------------------------------------------------------------------------


def test_the_values_of_an_axis_are_those_of_its_rows(central: Dataset) -> None:
    assert central.option_axes == ("nagle", "priority", "read", "test")
    assert central.option_values("nagle") == ("off", "on")
    assert load(NAME).option_values("offload") == (
        "baseline",
        "checksum",
        "checksum-gso",
        "checksum-tso-sg",
    )


@pytest.mark.parametrize("name", catalogue())
def test_every_selection_is_what_a_plain_filter_finds(name: str) -> None:
    data = load(name)
    asked: list[dict[str, str]] = [{}]
    asked += [{axis: value} for axis in data.option_axes for value in data.option_values(axis)]
    for protocol in data.protocols:
        for options in asked:
            assert data.select(protocol, options) == tuple(
                point for point in data.points if fits(data, point.options, options)
                and point.protocol == protocol
            )  # fmt: skip


def fits(data: Dataset, has: tuple[str, ...], asked: dict[str, str]) -> bool:
    for axis, value in zip(data.option_axes, has, strict=True):
        default = data.option_defaults[axis]
        if value not in ({"", default} if asked.get(axis, default) == default else {asked[axis]}):
            return False
    return True


@pytest.mark.parametrize("name", catalogue())
def test_a_default_said_aloud_selects_what_it_does_unsaid(name: str) -> None:
    data = load(name)
    for protocol in data.protocols:
        unsaid = data.select(protocol, {})
        for axis, value in data.option_defaults.items():
            if value:
                assert data.select(protocol, {axis: value}) == unsaid


def test_an_option_matches_exactly_and_its_default_empty_cells_too(
    tmp_path: Path,
) -> None:
    data = with_options(tmp_path, ["", "off", "on"], default="on")
    assert [p.options for p in data.select("tcp", {})] == [("",), ("on",)]
    assert [p.options for p in data.select("tcp", {"nagle": "on"})] == [("",), ("on",)]
    assert [p.options for p in data.select("tcp", {"nagle": "off"})] == [("off",)]
    assert data.select("udp", {}) == ()


def test_an_empty_default_leaves_named_rows_out(tmp_path: Path) -> None:
    data = with_options(tmp_path, ["", "off", "on"], default="")
    assert [p.options for p in data.select("tcp", {})] == [("",)]
    assert data.option_values("nagle") == ("off", "on")


def with_options(folder: Path, values: list[str], default: str) -> Dataset:
    """The small dataset with an option axis that has these values in its first rows."""
    small = small_dataset(folder).folder
    table = cells(small)
    where = len(AXES)
    first = table[1]
    new = [[*first[:where], value, *first[where:]] for value in values]
    with (small / "dataset.toml").open("a", encoding="utf-8") as document:
        document.write(f'[axes.nagle]\nmeaning = "Nagle"\ndefault = "{default}"\n')
    rewrite(small, [[*table[0][:where], "nagle", *table[0][where:]], *new])
    return load(small)


def test_an_unknown_axis_is_refused_with_those_there_are(central: Dataset) -> None:
    with pytest.raises(DatasetError) as caught:
        central.select("tcp", {"naggle": "on"})
    assert str(caught.value) == (
        "ethernet-10g-2012 has no axis 'naggle': its option axes are nagle, priority, read, test; "
        "leave naggle out or use another dataset"
    )
    with pytest.raises(DatasetError, match="its option axes are none"):
        load("rapidio-tsi721").select("tcp", {"nagle": "on"})


@pytest.mark.parametrize("value", ["maybe", "", "ON"])
def test_an_unknown_value_is_refused_with_those_there_are(central: Dataset, value: str) -> None:
    told = f"ethernet-10g-2012 has no rows at nagle = {value!r}: it has off, on"
    with pytest.raises(DatasetError, match=re.escape(told)):
        central.select("tcp", {"nagle": value})


# --- what a dataset tells ----------------------------------------------------------------------


def test_a_dataset_tells_its_metrics_and_its_texts(tmp_path: Path) -> None:
    data = small_dataset(tmp_path)
    document = tomllib.loads((data.folder / "dataset.toml").read_text(encoding="utf-8"))
    assert data.metrics == ("cpu_recv", "goodput_bps", "latency_max_s", "latency_mean_s")
    assert data.citation == document["citation"]
    assert data.licence == document["licence"]
    assert list(data.known_limits) == document["known_limits"]
    assert dict(data.document) == document


def test_texts_that_are_not_there_are_empty() -> None:
    def without(document: dict[str, Any]) -> None:
        for key in ("citation", "licence", "known_limits", "absences"):
            document.pop(key, None)

    data = built(without)
    assert (data.citation, data.licence, data.known_limits, data.absences) == ("", "", (), ())


def test_absences_and_variants_come_from_the_document(central: Dataset) -> None:
    assert {(a["protocol"], a["metric"]) for a in central.absences} >= {
        ("ethernet", "latency_mean_s"),
        ("ethernet", "cpu_send"),
    }
    assert all(absence["reason"] for absence in central.absences)
    assert list(central.variants) == ["appendix-h"]
    assert central.variants["appendix-h"]["payload_bytes"][:3] == [1, 2, 4]  # type: ignore[index]


def test_a_loaded_dataset_cannot_be_changed(central: Dataset) -> None:
    with pytest.raises(TypeError, match="does not support item assignment"):
        central.option_defaults["nagle"] = "off"  # type: ignore[index]
    with pytest.raises(AttributeError):
        central.id = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        central.points[0].value = 1.0  # type: ignore[misc]


@pytest.mark.parametrize("name", catalogue())
def test_every_dataset_says_whose_numbers_they_are(name: str) -> None:
    data = load(name)
    tool = data.document["tool"]
    assert isinstance(tool, dict)
    assert data.whose.startswith(f"these are numbers of {tool['name']}: ")


@pytest.mark.parametrize("spread", ['"x"', "[[]]", "-1.0", "nan"])
def test_a_spread_between_sessions_is_a_number(spread: str) -> None:
    data = load("lab-1g-2026")
    table = tomllib.loads(f"spread = {{ goodput_bps = {spread} }}")
    damaged = replace(data, document={**data.document, "between_sessions": table})
    with pytest.raises(DatasetError, match="goodput_bps must be"):
        damaged.between_sessions  # noqa: B018 - reading is what is tested


# --- coverage beside a dataset: what is kept is read, what is stale is not told, what is damaged is said ---


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
    """Notes and reasons of a prediction."""
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
    said = f"intervals of corrected cover less than 90 %: goodput_bps {100 * share:.0f} % of 40"
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
    assert "--keep stores the coverage of all metrics" in capsys.readouterr().err
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

"""Tables with a mapping of columns: CSV and XLSX, units, and refusals."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.cli import main
from icmodel.dataset.check import check_dataset
from icmodel.errors import RecordError
from icmodel.ingest import Ingested, Labels, column_map, ingest, read_mapping
from icmodel.ingest.table import Column, sheet_rows
from ingest_cases import CASES, in_files, numbers

TABLE = CASES / "table"
SIZE = {"field": "payload_bytes", "unit": "B"}
GOODPUT = {"field": "goodput_bps", "unit": "Mb/s"}


def mapped(tmp_path: Path, text: str, columns: Mapping[str, object], **more: object) -> Ingested:
    """Results of a table given as text, with protocol TCP."""
    files = in_files(tmp_path, {"table.csv": text})
    mapping = column_map({"columns": columns, **more}, "test")
    return ingest(files, columns=mapping, labels=Labels(protocol="tcp"))


@pytest.mark.parametrize("name", ["goodput.csv", "goodput.xlsx"])
def test_a_table_in_units_of_its_own(name: str) -> None:
    mapping = read_mapping(TABLE / "goodput_sheet.toml")
    got = ingest([TABLE / name], columns=mapping, labels=Labels(protocol="tcp"))
    assert numbers(got, payload_bytes=4096) == {
        "goodput_bps": 3200e6,
        "frames_per_s": 97656.25,
        "rtt_half_mean_s": 30.25e-6,
        "cpu_recv": 0.55,
    }
    assert {point.basis for point in got.points} == {"tabulated"}
    assert all("table 3" in point.source for point in got.points)
    assert {point.n for point in got.points} == {None}


def test_a_comma_may_be_the_decimal_point() -> None:
    mapping = read_mapping(TABLE / "german.toml")
    [point] = ingest([TABLE / "german.csv"], columns=mapping, labels=Labels(protocol="tcp")).points
    assert (point.payload_bytes, point.value) == (1024, 1234.5e6)


@pytest.mark.parametrize(
    ("cell", "value"), [("1.234,5", 1234.5), ("1.234", 1234.0), ("12,5", 12.5)]
)
def test_points_group_thousands_if_a_comma_is_the_decimal_point(
    tmp_path: Path, cell: str, value: float
) -> None:
    text = f"size;goodput\n64;{cell}\n"
    got = mapped(tmp_path, text, {"size": SIZE, "goodput": GOODPUT}, delimiter=";", decimal=",")
    assert numbers(got) == {"goodput_bps": value * 1e6}


@pytest.mark.parametrize("cell", ["1234.5", "1.5", "0.25", "1,5.2"])
def test_a_point_that_groups_no_thousands_is_refused(tmp_path: Path, cell: str) -> None:
    text = f"size;goodput\n64;{cell}\n"
    with pytest.raises(RecordError, match="line 2, column 'goodput'"):
        mapped(tmp_path, text, {"size": SIZE, "goodput": GOODPUT}, delimiter=";", decimal=",")


def test_ranges_counts_options_and_loads(tmp_path: Path) -> None:
    got = mapped(
        tmp_path,
        "size,load,goodput,least,most,runs,nagle,proto\n64,unlimited,10,9,11,5,On,udp\n",
        {
            "size": SIZE,
            "load": {"field": "load_bps", "unit": "Gb/s"},
            "goodput": GOODPUT,
            "least": {"field": "low", "of": "goodput_bps", "unit": "Mb/s"},
            "most": {"field": "high", "of": "goodput_bps", "unit": "Mb/s"},
            "runs": {"field": "n", "of": "goodput_bps"},
            "nagle": {"field": "nagle", "option": True},
        },
    )
    [point] = got.points
    assert (point.low, point.value, point.high, point.n) == (9e6, 10e6, 11e6, 5)
    assert (point.load_bps, point.options) == (float("inf"), ("on",))


def test_empty_cells_and_rows_are_skipped(tmp_path: Path) -> None:
    columns = {"size": SIZE, "goodput": GOODPUT, "cpu": {"field": "cpu_recv", "unit": "%"}}
    got = mapped(tmp_path, "size,goodput,cpu\n64,10,\n,,\n128,20,30\n", columns)
    assert numbers(got, payload_bytes=64) == {"goodput_bps": 10e6}
    assert numbers(got, payload_bytes=128) == {"goodput_bps": 20e6, "cpu_recv": 0.3}


@given(st.integers(1, 65507), st.decimals(1, 9000, places=3))
def test_a_number_comes_through_exactly(size: int, megabits: Decimal) -> None:
    column = Column("goodput", "goodput_bps", "Mb/s")
    assert column.parse(str(megabits)) == float(Decimal(str(megabits)) * 10**6)
    assert Column("size", "payload_bytes", "B").parse(str(size)) == size


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({}, "has no"),
        ({"size": {"unit": "B"}}, "has no field"),
        ({"size": {"field": "payload_bytes"}}, "has no unit"),
        ({"size": {"field": "payload_bytes", "unit": "KB"}}, "unclear prefix"),
        ({"size": {"field": "goodput"}}, "use an axis"),
        ({"size": {"field": "cpu_recv", "unit": "percent"}}, "in % or 1"),
        ({"size": {"field": "low", "of": "goodput_bps", "unit": "b/s"}}, "no column is mapped"),
        ({"size": {**SIZE, "colour": "red"}}, "unknown key"),
        ({"size": SIZE, "length": SIZE}, "'size' and 'length' are both mapped to payload_bytes"),
        ({"run 1": GOODPUT, "run 2": GOODPUT}, "each run in a row of its own"),
    ],
)
def test_the_error_of_a_wrong_mapping_names_the_allowed_keys(
    columns: dict[str, object], reason: str
) -> None:
    with pytest.raises(RecordError, match=reason):
        column_map({"columns": columns}, "mapping.toml")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("bytes,goodput\n64,10\n", "no column 'size'"),
        ("size,goodput,size\n64,10,64\n", "more than one column"),
        ("size,goodput\n64,ten\n", "line 2, column 'goodput': 'ten' is not a number"),
        ("size,goodput\n64,-1\n", "not a number of 0 or more: correct the cell"),
        ("size,goodput\n64.5,10\n", "whole number"),
        ("size,goodput\n64,\n", "no value of any metric"),
        ("size,goodput\n", "no rows"),
        ('size,goodput\n64,"10\n', "not CSV"),
        ("size,goodput\n,10\n", "payload_bytes"),
        ("size,goodput\n64,1,5\n", "line 2 has 3 cells under 2 names"),
    ],
)
def test_a_wrong_table_names_line_and_column(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        mapped(tmp_path, text, {"size": SIZE, "goodput": GOODPUT})


def test_a_sheet_is_chosen_by_name() -> None:
    body = (TABLE / "goodput.xlsx").read_bytes()
    assert next(iter(sheet_rows(body, ""))) == ["notes"]
    assert next(iter(sheet_rows(body, "results")))[0] == "Size (KiB)"
    with pytest.raises(RecordError, match="its sheets are about, results"):
        list(sheet_rows(body, "other"))


def test_a_broken_spreadsheet_is_refused(tmp_path: Path) -> None:
    body = (TABLE / "goodput.xlsx").read_bytes()
    with pytest.raises(RecordError, match="XLSX"):
        list(sheet_rows(body[: len(body) // 2], ""))
    empty = tmp_path / "empty.xlsx"
    with zipfile.ZipFile(empty, "w") as book:
        book.writestr("word/document.xml", "<a/>")
    with pytest.raises(RecordError, match="XLSX"):
        list(sheet_rows(empty.read_bytes(), ""))


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row r="2"><c r="B2" t="inlineStr"><is><t>a</t><t>b</t></is></c>{cell}</row>'
    "</sheetData></worksheet>"
)


def book(path: Path, cell: str) -> bytes:
    """Minimal workbook with one sheet."""
    start = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    link = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook {start} xmlns:r="{link}"><sheets><sheet name="s" r:id="x"/></sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            '<Relationships><Relationship Id="x" Target="/xl/one.xml"/></Relationships>',
        )
        archive.writestr("xl/one.xml", SHEET.format(cell=cell))
    return path.read_bytes()


def test_gaps_in_a_sheet_stay_gaps(tmp_path: Path) -> None:
    body = book(tmp_path / "gaps.xlsx", '<c r="D2"><v>7</v></c>')
    assert list(sheet_rows(body, "")) == [[], ["", "ab", "", "7"]]


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ('<c r="D2" t="e"><v>#DIV/0!</v></c>', "error #DIV/0!"),
        ('<c r="D2" t="s"><v>9</v></c>', "a text that is missing in the file"),
        ('<c r="XFE2"><v>7</v></c>', "last column"),
    ],
)
def test_a_cell_without_a_value_is_refused(tmp_path: Path, cell: str, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        list(sheet_rows(book(tmp_path / "wrong.xlsx", cell), ""))


def test_the_command_takes_a_mapping(tmp_path: Path) -> None:
    line = ["ingest", str(TABLE / "goodput.csv"), "--map", str(TABLE / "goodput.toml")]
    assert main([*line, "--protocol", "tcp", "-o", str(tmp_path / "table3")]) == 0
    assert len(check_dataset(tmp_path / "table3").points) == 8


@pytest.mark.parametrize("damage", ["a part cut in its middle", "a part with a password"])
def test_a_damaged_part_of_a_workbook_is_one_sentence(damage: str, tmp_path: Path) -> None:
    body = bytearray((TABLE / "goodput.xlsx").read_bytes())
    with zipfile.ZipFile(io.BytesIO(body)) as book:
        part = book.getinfo("xl/workbook.xml")
    if damage.endswith("password"):
        entry = body.rindex(b"PK\x01\x02", 0, body.rindex(b"xl/workbook.xml"))
        body[entry + 8] |= 1
        body[part.header_offset + 6] |= 1
    else:
        start = part.header_offset + 30 + len(part.filename)
        body[start : start + 40] = b"\xff" * 40
    (tmp_path / "own.xlsx").write_bytes(body)
    with pytest.raises(RecordError, match="not a readable XLSX file"):
        ingest([tmp_path / "own.xlsx"], columns=read_mapping(TABLE / "goodput_sheet.toml"))

"""Sheets of scenarios: answered as `predict` answers, own columns kept, reasons in their own cells."""

from __future__ import annotations

import csv
import math
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icmodel.cli import main
from icmodel.cli.output import write_csv
from icmodel.dataset import VARIANTS, catalogue, load
from icmodel.documents import FORMULA, harmless, plain
from icmodel.errors import IcmodelError, ReportError, ScenarioError
from icmodel.model import Model
from icmodel.sheets import (
    Cell,
    Sheet,
    answer_sheet,
    read_sheet,
    write_sheet,
    write_template,
)
from icmodel.sheets.document import document_pages
from icmodel.sheets.sheet import ANSWERS, library
from icmodel.usecase import evaluate
from search import times

DATASET = "ethernet-10g-2012"
DATA = load(DATASET)
HEAD = ("camera", "protocol", "payload [B]", "rate [1/s]", "requested goodput", "cores", "note")
ROWS: tuple[tuple[Cell, ...], ...] = (
    ("left", "tcp", 1448, 1000, None, 4, "=1+1"),
    ("right", "udp", "8 KiB", None, "5 Gb/s", None, None),
    ("far", "tcp", None, 5, None, None, None),
    (None, None, None, None, None, None, None),
    ("odd", "tcp", "12 apples", None, None, None, None),
    ("many", "tcp", 1448, None, None, 999, None),
    ("typo", "tpc", 1448, None, None, None, None),
)


@pytest.fixture(scope="module")
def answered() -> Sheet:
    return answer_sheet(Sheet(HEAD, ROWS), DATASET)


def by_head(sheet: Sheet, row: int) -> dict[str, Cell]:
    return dict(zip(sheet.head, sheet.rows[row], strict=True))


def test_own_columns_keep_their_place_and_cells(answered: Sheet) -> None:
    assert answered.head[: len(HEAD)] == HEAD
    assert tuple(row[: len(HEAD)] for row in answered.rows) == ROWS


def test_a_row_has_the_numbers_of_predict(answered: Sheet) -> None:
    model = Model(DATASET)
    asked = (
        {"protocol": "tcp", "payload_bytes": 1448, "rate_fps": 1000.0, "cores": 4},
        {"protocol": "udp", "payload": "8 KiB", "requested_goodput": "5 Gb/s"},
    )
    for row, question in enumerate(asked):
        found, cells = model.predict(**question), by_head(answered, row)  # type: ignore[arg-type]
        assert (cells["limited by"], cells["why"]) == (found.bottleneck, None)
        for one in ANSWERS:
            estimate = found.metrics.get(one.metric)
            if estimate is None or estimate.absent:
                continue
            value, low, high, basis = (cells[head] for head in one.heads)
            numbers = [n / one.si for n in (estimate.value, estimate.low, estimate.high)]
            assert [value, low, high] == pytest.approx(numbers, rel=1e-12)
            assert basis == estimate.basis


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (2, "payload is empty: give bytes"),
        (4, "unknown unit 'apples'"),
        (5, "999 cores are outside ethernet-10g-2012"),
        (6, "has no protocol 'tpc'"),
    ],
)
def test_a_row_without_an_answer_gives_the_reason(answered: Sheet, row: int, reason: str) -> None:
    cells = by_head(answered, row)
    assert reason in str(cells["why"])
    assert cells["goodput [Gb/s]"] is None


def test_an_empty_row_stays_empty(answered: Sheet) -> None:
    assert set(answered.rows[3]) == {None}


def test_a_column_chooses_dataset_and_variant_of_each_row() -> None:
    head = ("dataset", "variant", "protocol", "payload [B]")
    rows = (
        (DATASET, "appendix-h", "tcp", 1448),
        ("lab-1g-2026", "corrected", "tcp", 1448),
        ("nowhere", None, "tcp", 1448),
    )
    found = answer_sheet(Sheet(head, rows))
    for row, (dataset, variant) in enumerate(
        ((DATASET, "appendix-h"), ("lab-1g-2026", "corrected"))
    ):
        truth = Model(dataset, variant).predict(protocol="tcp", payload_bytes=1448).goodput_bps
        assert by_head(found, row)["goodput [Gb/s]"] == pytest.approx(truth.value / 1e9, rel=1e-12)
    assert "there is no dataset 'nowhere'" in str(by_head(found, 2)["why"])


def test_extrapolation_answers_beyond_the_rows() -> None:
    sheet = Sheet(("protocol", "payload [B]"), (("ethernet", 1501),))
    refused = by_head(answer_sheet(sheet, DATASET), 0)
    assert refused["why"]
    wide = Sheet(("protocol", "payload [B]", "cores"), (("tcp", 1448, 6),))
    cells = by_head(answer_sheet(wide, DATASET, extrapolate=True), 0)
    assert cells["goodput basis"] == "extrapolated"


def test_answering_again_changes_nothing(answered: Sheet) -> None:
    assert answer_sheet(answered, DATASET) == answered


@pytest.mark.parametrize("ending", [".xlsx", ".csv"])
def test_a_file_comes_back_as_it_was_written(answered: Sheet, tmp_path: Path, ending: str) -> None:
    place = tmp_path / f"answers{ending}"
    write_sheet(answered, place)
    again = read_sheet(place)
    assert again.head == answered.head
    for row, truth in zip(again.rows, answered.rows, strict=True):
        for cell, true in zip(row, truth, strict=True):
            if isinstance(true, (int, float)):
                assert float("nan" if cell is None else cell) == pytest.approx(true, rel=1e-9)
            else:
                assert (cell or None) == true


def test_texts_are_never_formulas(answered: Sheet, tmp_path: Path) -> None:
    place = tmp_path / "answers.xlsx"
    write_sheet(answered, place)
    with zipfile.ZipFile(place) as book:
        page = book.read("xl/worksheets/sheet1.xml").decode()
    assert "=1+1" in page
    assert "<f>" not in page


@given(st.text(min_size=1, max_size=12))
@settings(max_examples=times(60))
def test_no_text_of_a_csv_file_is_a_formula(text: str) -> None:
    cell = harmless(text)
    assert plain(cell) == text
    if cell.startswith(FORMULA):
        assert math.isfinite(float(cell.replace(",", ".", 1)))


def test_numbers_of_a_csv_file_stay_as_they_are(tmp_path: Path) -> None:
    place = tmp_path / "answers.csv"
    write_sheet(Sheet(("=HYPERLINK(1)", "x"), (("-3,5", -3.5), ("+1e3", 1), ("@a", None))), place)
    assert place.read_text().splitlines() == ["'=HYPERLINK(1),x", '"-3,5",-3.5', "+1e3,1", "'@a,"]
    assert read_sheet(place).head == ("=HYPERLINK(1)", "x")


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
@settings(max_examples=times(20))
def test_any_text_comes_back_from_xlsx(texts: list[str]) -> None:
    kept = ["".join(c for c in one if c >= " " and not "\ud800" <= c <= "\udfff") for one in texts]
    with TemporaryDirectory() as folder:
        place = Path(folder) / "texts.xlsx"
        write_sheet(Sheet(("payload [B]", "text"), tuple((1, f"x{one}") for one in kept)), place)
        assert [row[1] for row in read_sheet(place).rows] == [f"x{one}" for one in kept]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_a_sheet_end_as_on_any_system(tmp_path: Path, end: str) -> None:
    place = tmp_path / "scenarios.csv"
    place.write_bytes(end.join(("protocol,payload [B]", "tcp,1448", "")).encode())
    assert read_sheet(place).rows == (("tcp", "1448"),)


def test_a_cell_that_csv_cannot_hold_is_one_sentence(tmp_path: Path) -> None:
    place = tmp_path / "scenarios.csv"
    place.write_text("protocol,payload [B]\ntcp," + "9" * (csv.field_size_limit() + 1))
    with pytest.raises(ReportError, match=r"is not CSV \(field larger than"):
        read_sheet(place)


def test_semicolons_and_decimal_commas_are_read_and_written(tmp_path: Path) -> None:
    place = tmp_path / "scenarios.csv"
    body = "price;protocol;payload [B];rate [1/s]\n3,5;tcp;1448;1000,5\n"
    place.write_bytes(body.encode("utf-8-sig"))
    sheet = read_sheet(place)
    assert sheet.rows == (("3,5", "tcp", "1448", "1000,5"),)
    write_sheet(answer_sheet(sheet, DATASET), place)
    line = place.read_text("utf-8").splitlines()[1]
    assert line.startswith("3,5;tcp;1448;1000,5;0,0115")


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (("protocol", "rate"), "no column is a payload"),
        (("payload [B]", "payload_bytes"), "two columns are payload_bytes"),
    ],
)
def test_a_head_without_one_payload_is_refused(head: tuple[str, ...], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        answer_sheet(Sheet(head, ()), DATASET)


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("a.ods", b"x", "unsupported file extension"),
        ("a.csv", b"", "is empty"),
        ("a.xlsx", b"", "is empty"),
        ("a.csv", b"\x80\x81", "not text in UTF-8"),
        ("a.xlsx", b"payload", "not an XLSX file"),
    ],
)
def test_a_damaged_file_is_one_sentence(
    tmp_path: Path, name: str, body: bytes, message: str
) -> None:
    place = tmp_path / name
    place.write_bytes(body)
    with pytest.raises(ReportError, match=message):
        read_sheet(place)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="cannot be read"):
        read_sheet(tmp_path / "none.csv")


def test_a_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("icmodel.sheets.files.LARGEST_BYTES", 2**20)
    place = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/worksheets/sheet1.xml", b"\0" * 2**21)
    with pytest.raises(ReportError, match="unpacks to more than"):
        read_sheet(place)


def test_the_stated_size_of_a_part_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("icmodel.sheets.files.LARGEST_BYTES", 2**20)
    place = tmp_path / "liar.xlsx"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/worksheets/sheet1.xml", b"\0" * 2**21)
    body = place.read_bytes()
    place.write_bytes(body.replace((2**21).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(ReportError, match="unpacks to more than"):
        read_sheet(place)


def test_a_cell_at_the_far_corner_is_refused_before_memory_is_allocated(tmp_path: Path) -> None:
    place = tmp_path / "corner.xlsx"
    with library("xlsxwriter").Workbook(place) as book:
        page = book.add_worksheet()
        page.write_string(0, 0, "payload [B]")
        page.write_number(1_048_575, 16_383, 1)
    with pytest.raises(ReportError, match="row 1048576 and column 16384"):
        read_sheet(place)


@pytest.mark.parametrize(
    ("part", "old", "new", "told"),
    [
        ("xl/worksheets/sheet1.xml", b'r="A2"', b'r="A4294967290"', "row 4294967290"),
        ("xl/worksheets/sheet1.xml", b'r="A2"', b'r="AAAA2"', "column 18279"),
        ("xl/worksheets/sheet1.xml", b'<row r="2"', b'<row r="4000000000"', "row 4000000000"),
        (
            "xl/sharedStrings.xml",
            b'uniqueCount="',
            b'uniqueCount="900000000000',
            "states that it has 9000",
        ),
    ],
)
def test_a_stated_place_or_number_of_texts_is_refused_before_memory_is_allocated(
    part: str, old: bytes, new: bytes, told: str, tmp_path: Path
) -> None:
    """Found by fuzzing: the process ended without a word."""
    _change_part(tmp_path / "damaged.xlsx", part, old, new)
    with pytest.raises(ReportError, match=told):
        read_sheet(tmp_path / "damaged.xlsx")


def test_rows_without_cells_may_end_a_sheet_and_cells_without_a_place_may_not(
    tmp_path: Path,
) -> None:
    """LibreOffice writes the last row for its format alone."""
    last, place = b'<row r="1048576" ht="12.8"/></sheetData>', tmp_path / "last.xlsx"
    _change_part(place, "xl/worksheets/sheet1.xml", b"</sheetData>", last)
    assert len(read_sheet(place).rows) == 1
    cells = b'<row r="1048576">' + b"<c><v>1</v></c>" * 50 + b"</row></sheetData>"
    _change_part(place, "xl/worksheets/sheet1.xml", b"</sheetData>", cells)
    with pytest.raises(ReportError, match="row 1048576 and column 50"):
        read_sheet(place)


def _change_part(place: Path, part: str, old: bytes, new: bytes) -> None:
    """Write a sheet of one scenario, with a text in one part of its file replaced."""
    write_sheet(Sheet(("payload [B]", "camera"), ((1448, "left"),)), place)
    with zipfile.ZipFile(place) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    assert old in parts[part]
    parts[part] = parts[part].replace(old, new)
    with zipfile.ZipFile(place, "w") as book:
        for name, body in parts.items():
            book.writestr(name, body)


def test_a_template_offers_datasets_and_protocols_and_can_be_read(tmp_path: Path) -> None:
    place = tmp_path / "scenarios.xlsx"
    write_template(place, catalogue(), ("tcp", "udp"))
    with zipfile.ZipFile(place) as book:
        page = book.read("xl/worksheets/sheet1.xml").decode()
        texts = book.read("xl/sharedStrings.xml").decode()
    assert "dataValidation" in page
    assert all(name in texts for name in (*catalogue(), "udp"))
    sheet = read_sheet(place)
    assert sheet.rows == ()
    assert answer_sheet(sheet, DATASET).rows == ()


cells = st.one_of(
    st.none(), st.text(max_size=8), st.floats(allow_nan=False), st.integers(-5, 10**6)
)


@settings(max_examples=times(20))
@given(rows=st.lists(st.tuples(cells, cells, cells, cells), max_size=4))
def test_any_cell_gives_an_answer_or_a_reason(rows: list[tuple[Cell, ...]]) -> None:
    sheet = Sheet(("protocol", "payload", "rate [1/s]", "cores"), tuple(rows))
    found = answer_sheet(sheet, DATA)
    for row, answer in zip(rows, found.rows, strict=True):
        empty = all(cell is None or cell == "" for cell in row)
        assert empty or answer[-1] is not None or answer[found.head.index("limited by")] is not None


@pytest.mark.parametrize("cell", [True, "nan", "inf", -5, 0, 1e30, "", "x"])
@pytest.mark.parametrize("head", ["payload [B]", "cores", "rate [1/s]"])
def test_an_impossible_cell_costs_its_own_row_alone(cell: Cell, head: str) -> None:
    heads = ("payload [B]", "cores", "rate [1/s]")
    good = (1448.0, 4, 1000)
    bad = tuple(cell if name == head else value for name, value in zip(heads, good, strict=True))
    found = answer_sheet(Sheet(heads, (good, bad)), DATA)
    assert by_head(found, 0)["goodput [Gb/s]"] == pytest.approx(0.011584)
    answered = by_head(found, 1)[
        "limited by"
    ]  # so many frames are an overload, and an empty cell is no limit
    assert bool(answered) == (
        (head, cell) in {("cores", ""), ("rate [1/s]", ""), ("rate [1/s]", 1e30)}
    )
    assert bool(by_head(found, 1)["why"]) != bool(answered)


def test_a_misspelt_request_is_refused_and_not_answered_as_none() -> None:
    sheet = Sheet(("payload [B]", "requsted goodput [Gb/s]"), ((1473, 160),))
    with pytest.raises(ScenarioError, match="write 'requested goodput'"):
        answer_sheet(sheet, DATA)


def test_a_column_of_ones_own_is_never_replaced_by_an_answer() -> None:
    with pytest.raises(ScenarioError, match="has the heading of an answer"):
        answer_sheet(Sheet(("payload [B]", "goodput [Gb/s]"), ((1448, 7.5),)), DATA)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", [DATASET, "lab-1g-2026"])
def test_every_variant_answers_a_sheet_as_single_questions(name: str, variant: str) -> None:
    data = load(name)
    rows: list[tuple[Cell, ...]] = [
        (protocol, payload, goodput)
        for protocol in data.protocols
        for payload in (1, 1448, 1473, 65535)
        for goodput in (None, 0.01, 0.9, 160.0)
    ]
    head = ("protocol", "payload [B]", "requested goodput [Gb/s]")
    found, model = answer_sheet(Sheet(head, tuple(rows)), data, variant), Model(data, variant)
    reasons: list[tuple[Cell, str]] = []
    for place, (protocol, payload, goodput) in enumerate(rows):
        cells = by_head(found, place)
        asked: dict[str, Any] = {"protocol": protocol, "payload_bytes": payload}
        if isinstance(goodput, float):
            asked["requested_goodput_bps"] = goodput * 1e9
        try:
            truth = model.predict(**asked)
        except IcmodelError as error:
            reasons.append((cells["why"], str(error)))
            continue
        assert cells["limited by"] == truth.bottleneck
        for one in ANSWERS:
            estimate = truth.metrics.get(one.metric)
            if estimate is None or estimate.absent:
                assert cells.get(one.heads[0]) is None
                continue
            numbers = [estimate.value / one.si, estimate.low / one.si, estimate.high / one.si]
            shown = [cells[name] for name in one.heads[:3]]
            for cell, number in zip(shown, numbers, strict=True):
                assert (
                    cell is None
                    if not math.isfinite(number)
                    else cell == pytest.approx(number, rel=1e-9)
                )
    assert all(cell == reason for cell, reason in reasons)


# --- the command ------------------------------------------------------------------------------


def test_the_command_answers_a_file_and_counts_what_it_could_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenarios, answers = tmp_path / "scenarios.csv", tmp_path / "answers.xlsx"
    scenarios.write_text("camera,payload [B],rate [1/s]\nleft,1448,1000\nright,9000000,10\n")
    assert main(["predict", "--from", str(scenarios), "-o", str(answers)]) == 2
    assert "2 rows, 1 without an answer" in capsys.readouterr().out
    sheet = read_sheet(answers)
    assert sheet.head[:3] == ("camera", "payload [B]", "rate [1/s]")
    assert by_head(sheet, 0)["goodput [Gb/s]"] == pytest.approx(0.011584)
    scenarios.write_text("payload [B]\n1448\n")
    assert main(["predict", "--from", str(scenarios), "-o", str(answers)]) == 0


def test_the_command_writes_a_template_that_it_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = tmp_path / "scenarios.xlsx"
    assert main(["predict", "--template", str(template)]) == 0
    assert "predict --from" in capsys.readouterr().out
    assert main(["predict", "--from", str(template), "-o", str(tmp_path / "a.csv")]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--from", "scenarios.csv"), "--from needs a file for the answers"),
        (("--from", "scenarios.csv", "-o", "a.pdf"), "unsupported file extension"),
        (("--from", "none.csv", "-o", "a.csv"), "cannot be read"),
        (("--from", "scenarios.csv", "-o", "a.csv", "--rate", "5/s"), "are columns of the file"),
    ],
)
def test_the_command_refuses_in_a_sentence(
    options: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios.csv").write_text("payload [B]\n1448\n")
    assert main(["predict", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) <= 2


@pytest.mark.parametrize(
    "command",
    [
        ("predict", "--payload", "1448 B"),
        ("sweep", "--payload", "64 B, 1448 B", "--cores", "1,4"),
        ("compare", "--protocol", "tcp,udp", "--payload", "1448 B"),
        ("datasets", "list"),
        ("validate", "ethernet-1g-2010", "--metric", "rtt_half_mean_s", "--most", "3"),
    ],
)
def test_a_workbook_of_a_command_holds_the_cells_of_its_csv(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    book, text = tmp_path / "answer.xlsx", tmp_path / "answer.csv"
    for path in (book, text):
        assert main([*command, "-o", str(path)]) == 0
    one, other = read_sheet(book), read_sheet(text)
    assert one.head == other.head
    assert len(one.rows) == len(other.rows)
    for cells, truth in zip(one.rows, other.rows, strict=True):
        for cell, true in zip(cells, truth, strict=True):
            if isinstance(cell, float):
                assert cell == pytest.approx(float(str(true)), rel=1e-12)
            else:
                assert (cell or "") == (true if true not in ("nan", "inf", None) else "")


@pytest.mark.parametrize(
    ("command", "sheets"),
    [
        (["evaluate", "imaging"], "summary verdicts answers intervals basis sources"),
        (["system", "lab-udp-overload"], "summary verdicts answers intervals basis sources"),
        (
            ["recommend", "lab-udp-overload"],
            "summary designs verdicts answers intervals basis sources",
        ),
    ],
)
def test_a_verdict_is_written_as_sheets_of_numbers(
    command: list[str], sheets: str, tmp_path: Path
) -> None:
    place = tmp_path / "verdict.xlsx"
    assert main([*command, "-o", str(place)]) in (0, 1, 3)
    book = library("python_calamine").CalamineWorkbook.from_path(str(place))
    assert book.sheet_names == sheets.split()
    head, *rows = book.get_sheet_by_name("verdicts").to_python()
    document = tmp_path / "verdict.json"
    main([*command, "-o", str(document)])
    assert len(rows) == document.read_text().count('"limiting"')
    value, high, unit = (head.index(name) for name in ("value", "high", "unit"))
    goodputs = [row for row in rows if row[unit] == "Gb/s" and row[value] != ""]
    assert goodputs
    assert all(0 <= row[value] <= row[high] * (1 + 1e-9) < 100 for row in goodputs)


def test_a_sweep_over_one_parameter_has_charts_and_formats(tmp_path: Path) -> None:
    place = tmp_path / "sweep.xlsx"
    assert (
        main(["sweep", "--protocol", "tcp", "--payload", "64 B..8 KiB:5log", "-o", str(place)]) == 0
    )
    with zipfile.ZipFile(place) as book:
        names = book.namelist()
        page, styles = (
            book.read(f"xl/{name}.xml").decode() for name in ("worksheets/sheet1", "styles")
        )
    assert sum(name.startswith("xl/charts/chart") for name in names) >= 3
    assert 'state="frozen"' in page
    assert "<autoFilter" in page
    assert "Gb/s" in styles
    sheet = read_sheet(place)
    assert all(isinstance(row[sheet.head.index("goodput_bps")], float) for row in sheet.rows)


def test_a_prediction_has_sheets_of_intervals_basis_and_sources(tmp_path: Path) -> None:
    place = tmp_path / "prediction.xlsx"
    question = ["predict", "--protocol", "tcp", "--payload", "1448 B", "-o", str(place)]
    assert main(question) == 0
    book = library("python_calamine").CalamineWorkbook.from_path(str(place))
    assert book.sheet_names == ["answers", "intervals", "basis", "sources"]
    truth = Model(DATASET).predict(protocol="tcp", payload="1448 B")
    rows = {row[1]: row for row in book.get_sheet_by_name("intervals").to_python()[1:]}
    low, value, high = rows["mean latency"][2:5]
    ends = [end * 1e6 for end in truth.latency_mean_s.ends]
    assert [value, low, high] == pytest.approx(ends, rel=1e-12)
    assert len(book.get_sheet_by_name("sources").to_python()) == 1 + len(truth.rows)


def test_texts_of_any_command_are_no_formulas(tmp_path: Path) -> None:
    place = tmp_path / "own.csv"
    with place.open("w", encoding="utf-8", newline="") as file:
        write_csv([{"@name": "=cmd()", "value": -1.5}, {"@name": None, "value": "-7"}], file)
    assert place.read_text().splitlines() == ["'@name,value", "'=cmd(),-1.5", ",-7"]


@pytest.mark.parametrize("dataset", catalogue())
def test_an_evaluation_on_any_dataset_has_its_sources(dataset: str) -> None:
    document = evaluate("motion-control", dataset).to_dict()
    *_, last = document_pages(document)
    assert last.name == "sources"
    assert last.sheet.rows

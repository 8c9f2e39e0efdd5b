"""Tables, JSON, CSV and files: the forms of an answer, apart from any command."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from cli_case import RunIcmodel
from icmodel.cli.output import (
    Answer,
    Section,
    Table,
    check_file,
    emit,
    json_text,
    progress_bar,
    text_of,
    write_csv,
    write_file,
)
from icmodel.errors import ReportError
from icmodel.estimate import fixed

TABLE = Table(("name", "#µ"), (("a", "1"), ("long name", "22")))


def answer(**more: object) -> Answer:
    return Answer(
        sections=lambda: [Section("", TABLE)],
        document=lambda: {"value": 1.5, "text": "µ", "none": None},
        **more,  # type: ignore[arg-type]
    )


def test_plain_tables_are_aligned_and_sections_stand_apart() -> None:
    text = text_of([Section("first", TABLE), Section("", ("one", "two"))])
    assert text == "first\nname        µ\na           1\nlong name  22\n\none\ntwo\n"


def test_a_table_without_rows_is_its_header() -> None:
    assert text_of([Section("", Table(("a", "b"), ()))]) == "a  b\n"


def test_json_keeps_letters_and_refuses_nan_and_infinity() -> None:
    assert json_text({"µ": None}) == '{\n  "µ": null\n}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"x": float("nan")})


def test_csv_has_a_header_and_empty_cells() -> None:
    file = io.StringIO()
    write_csv([{"a": 1, "b": None}, {"a": "x, y", "b": 0.1}], file)
    assert file.getvalue() == 'a,b\n1,\n"x, y",0.1\n'
    nothing = io.StringIO()
    write_csv([], nothing)
    assert nothing.getvalue() == ""


@pytest.mark.parametrize("ending", [".json", ".JSON", ".txt"])
def test_the_extension_selects_the_format(ending: str, tmp_path: Path) -> None:
    emit(answer(), as_json=False, output=tmp_path / f"a{ending}")
    text = (tmp_path / f"a{ending}").read_text(encoding="utf-8")
    assert text == (text_of([Section("", TABLE)]) if ending == ".txt" else json_text(ANSWER))


ANSWER = {"value": 1.5, "text": "µ", "none": None}


def test_json_and_a_file_can_both_be_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(answer(), as_json=True, output=tmp_path / "a.txt")
    assert capsys.readouterr().out == json_text(ANSWER)
    assert (tmp_path / "a.txt").is_file()


def test_only_formats_of_an_answer_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"'.*a.csv'.*use .json or .txt"):
        emit(answer(), as_json=False, output=tmp_path / "a.csv")
    emit(answer(records=lambda: [{"a": 1}]), as_json=False, output=tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == b"a\n1\n"
    emit(
        answer(files={".nc": lambda path: path.write_bytes(b"x")}),
        as_json=False,
        output=tmp_path / "a.nc",
    )
    assert (tmp_path / "a.nc").read_bytes() == b"x"
    with pytest.raises(ReportError, match=r"use \.md"):
        check_file(tmp_path / "a", [".md"])


def test_nothing_is_left_of_a_file_that_fails(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("old", encoding="utf-8")
    bad = Answer(sections=list, document=lambda: {"x": float("inf")})
    with pytest.raises(ValueError, match="not JSON compliant"):
        emit(bad, as_json=False, output=tmp_path / "a.json")
    assert [(p.name, p.read_text("utf-8")) for p in tmp_path.iterdir()] == [("a.json", "old")]


def test_an_interrupted_file_leaves_the_old_one(tmp_path: Path) -> None:
    def interrupted(path: Path) -> None:
        path.write_text("half", encoding="utf-8")
        raise KeyboardInterrupt

    (tmp_path / "a.txt").write_text("old", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "a.txt", {".txt": interrupted})
    assert [(p.name, p.read_text("utf-8")) for p in tmp_path.iterdir()] == [("a.txt", "old")]


@pytest.mark.parametrize("place", ["nowhere/a.txt", "folder.txt"])
def test_a_place_that_cannot_be_written_is_named(place: str, tmp_path: Path) -> None:
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(ReportError, match=f"{place} cannot be written: .*another place"):
        emit(answer(), as_json=False, output=tmp_path / place)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.txt"]
    assert list((tmp_path / "folder.txt").iterdir()) == []


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0.00"), (1e-9, "<0.01"), (0.0099, "<0.01"), (0.01, "0.01"), (1.239, "1.24")],
)
def test_no_number_but_0_is_printed_as_0(number: float, text: str) -> None:
    assert fixed(number, 2) == text


def test_no_progress_is_drawn_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("sweep") as progress:
        assert progress is None
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "line",
    [
        "predict --payload '1448 B' -o {file}.json",
        "compare --payload '1448 B' --json -o {file}.csv",
        "sweep --payload '64 B, 1448 B' -o {file}.xlsx",
        "datasets list -o {file}.txt",
        "usecases list --json -o {file}.csv",
        "system list -o {file}.json",
        "system export lab-direct -o {file}.json",
        "system lab-direct --json -o {file}.html",
        "evaluate imaging --json -o {file}.md",
        "plot goodput_bps --json -o {file}.svg",
        "theory ethernet --payload '1448 B' -o {file}.csv",
        "validate ethernet-1g-2010 --folds leave-one-out --most 1 --metric rtt_half_mean_s --plot {file}.svg",
    ],
)
def test_a_written_file_is_named_on_standard_error(
    line: str, run_icmodel: RunIcmodel, tmp_path: Path
) -> None:
    printed = run_icmodel(line.format(file="own"))
    (made,) = tmp_path.iterdir()
    assert printed.err == f"{made.name}: written\n"
    assert "written" not in printed.out

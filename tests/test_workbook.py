"""Living workbook: recalculated by LibreOffice, it answers what the model answers."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.workbook import calculation_of, compare, random_questions, recalculated
from icmodel.cli import main
from icmodel.dataset import catalogue, load
from icmodel.errors import OutOfDomain
from icmodel.model import Model
from icmodel.requirement import Requirement, judge, while_all_passes
from icmodel.scenario import NO_OPTIONS
from icmodel.sheets.calculation import PLACE, questions_workbook
from icmodel.sheets.formulas import INPUTS, answers, steps, text
from icmodel.sheets.lookup import lookup_of
from icmodel.sheets.sheet import Cell, unit_of_metric
from icmodel.sheets.workbook import AT_LEAST, keywords_of, write_living_workbook
from search import mostly_long, times

QUESTIONS = {"ethernet-10g-2012": 60, "rapidio-tsi721": 20}  # benchmarks.workbook asks all datasets
"""Datasets whose formulas LibreOffice computes, each with its number of questions."""
DATASET = "ethernet-10g-2012"
LIMITS = {"goodput_bps": 3.0, "latency_mean_s": 60.0, "latency_max_s": 10_000.0, "cpu_recv": 90.0}
ASKED: dict[str, dict[str, Cell]] = {
    "met": {"protocol": "tcp", "payload": 65535, "rate": 6700, "switches": 1},
    "lossy": {"protocol": "udp", "payload": 8192, "requested": 5.0, "endpoints": 3, "other": 6.2},
    "overloaded": {"payload": 1448, "requested": 0.5, "endpoints": 3, "other": 9.8},
    "refused": {"protocol": "ethernet", "payload": 1501},
}
BRIEF = ("rapidio-tsi721", "lossy", "overloaded")
"""One of `QUESTIONS`, and those of `ASKED`, which `make test` tries."""
FUNCTIONS = {
    *(
        "ABS",
        "AND",
        "CHAR",
        "COUNTA",
        "COUNTIF",
        "EXP",
        "IF",
        "IFERROR",
        "INDEX",
        "INT",
        "ISNUMBER",
    ),
    *("LN", "MATCH", "MAX", "MIN", "NA", "NOT", "OR", "ROUND", "SUBSTITUTE"),
}
"""Functions that Excel 2016 and LibreOffice both have; a workbook uses no other."""

pytestmark = pytest.mark.skipif(
    shutil.which("soffice") is None,
    reason="LibreOffice is not installed (apt-get install libreoffice-calc-nogui)",
)


def drawn(name: str) -> list[tuple[Cell, ...]]:
    data = load(name)
    return random_questions(data, lookup_of(data, NO_OPTIONS), QUESTIONS[name], seed=7)


Stored = Callable[[str], Path]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """Workbooks by name, each computed and stored by LibreOffice once, which starts once for those of ``BRIEF``."""

    folder = tmp_path_factory.mktemp("workbooks")

    def written(name: str) -> Path:
        place = folder / f"{name}.xlsx"
        if name in QUESTIONS:
            found = lookup_of(load(name), NO_OPTIONS)
            place.write_bytes(questions_workbook(found, drawn(name)))
        else:
            write_living_workbook(place, load(DATASET), question=ASKED[name], limits=LIMITS)
        return place

    @cache
    def computed(names: tuple[str, ...]) -> dict[str, Path]:
        return dict(zip(names, recalculated([written(name) for name in names]), strict=True))

    return lambda name: computed(BRIEF if name in BRIEF else (name,))[name]


@pytest.mark.parametrize("name", mostly_long(QUESTIONS, BRIEF[:1]))
def test_recalculated_formulas_answer_as_the_model(stored: Stored, name: str) -> None:
    data = load(name)
    sheet = calculation_of(stored(name))
    found = compare(data, lookup_of(data, NO_OPTIONS), drawn(name), sheet)
    assert found.differing == ()
    assert found.greatest < 1e-9, found.where
    assert found.numbers > 20 * QUESTIONS[name] / 2
    assert found.refused < QUESTIONS[name]


def cells(place: Path, sheet: str) -> list[list[Any]]:
    import python_calamine

    book = python_calamine.CalamineWorkbook.from_path(str(place))
    return book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)


@pytest.mark.parametrize("name", mostly_long(ASKED, BRIEF[1:]))
def test_stored_values_are_those_that_libreoffice_computes(stored: Stored, name: str) -> None:
    written = stored(name).parent.parent / stored(name).name
    for sheet in ("question", "curve"):
        for own, computed in zip(cells(written, sheet), cells(stored(name), sheet), strict=False):
            for k, (cell, again) in enumerate(zip(own, computed, strict=False)):
                if sheet == "question" and k in (1, 7) and cell == "":
                    continue  # verdicts and notes of typed limits are computed on opening
                assert again == (pytest.approx(cell, rel=1e-9) if isinstance(cell, float) else cell)


@pytest.mark.parametrize("name", mostly_long(ASKED, BRIEF[1:]))
def test_verdicts_are_those_of_icmodel(stored: Stored, name: str) -> None:
    data, question = load(DATASET), ASKED[name]
    rows = {row[0]: row for row in cells(stored(name), "question") if row and row[0]}
    metrics = answers(lookup_of(data, NO_OPTIONS))
    if name == "refused":
        with pytest.raises(OutOfDomain) as error:
            Model(data, "corrected").predict(**keywords_of(question))
        assert rows["answer"][1] == str(error.value)
        assert rows["verdict"][1] == "undecided"
        return
    found = Model(data, "corrected").predict(**keywords_of(question))
    labels = list(rows)[list(rows).index("metric") + 1 :]
    outcomes = []
    for metric, label in zip(metrics, labels, strict=False):
        if metric not in LIMITS:
            assert rows[label][7] == ""
            continue
        limit = LIMITS[metric] * unit_of_metric(metric).si
        least, most = (limit, None) if metric in AT_LEAST else (None, limit)
        estimate = found.metrics[metric]
        if metric.startswith("latency_"):
            asked = found.scenario.requested_goodput_bps
            estimate = while_all_passes(estimate, found.goodput_bps, asked)
        verdict = judge(Requirement("typed", metric, at_least=least, at_most=most), estimate)
        assert rows[label][7] == verdict.outcome, metric
        outcomes.append(verdict.outcome)
    worst = next(one for one in ("not met", "undecided", "met") if one in outcomes)
    assert rows["verdict"][1] == worst


@pytest.mark.parametrize("name", mostly_long(catalogue(), set(catalogue()) - {"lab-1g-2026"}))
def test_formulas_use_only_known_steps_and_functions(name: str) -> None:
    found = lookup_of(load(name), NO_OPTIONS)
    every = list(steps(found))
    names = {*INPUTS, *(step.name for step in every)}
    assert len(names) == len(INPUTS) + len(every)
    for step in every:
        assert set(PLACE.findall(step.formula)) <= names
        without_texts = re.sub(r'"[^"]*"', "", step.formula)
        assert set(re.findall(r"([A-Z][A-Z0-9.]*)\(", without_texts)) <= FUNCTIONS
        assert all(len(literal) <= 255 for literal in re.findall(r'"([^"]*)"', step.formula))
        assert len(step.formula) < 8000


@given(st.text(max_size=600))
@settings(max_examples=times(60))
def test_any_text_is_literals_that_excel_allows(words: str) -> None:
    formula = text(words)
    assert not PLACE.findall(formula)
    literals = re.fullmatch(
        r'("(?:[^"]|"")*"|CHAR\(91\))(?:&("(?:[^"]|"")*"|CHAR\(91\)))*', formula
    )
    assert literals is not None
    pieces = re.findall(r'"((?:[^"]|"")*)"|CHAR\((91)\)', formula)
    assert (
        "".join(chr(int(code)) if code else part.replace('""', '"') for part, code in pieces)
        == words
    )
    assert all(len(part.replace('""', '"')) <= 255 for part, _ in pieces)


def test_the_command_names_protocols_without_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "model.xlsx"
    assert main(["workbook", "infiniband-qdr-connectx2", "-o", str(place)]) == 0
    assert "no rows of tcp at the default options" in capsys.readouterr().out
    assert place.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere", "-o", "model.xlsx"], "no dataset 'nowhere'"),
        ([DATASET, "-o", "model.ods"], "unsupported file extension"),
        ([DATASET, "-o", "model.xlsx", "--option", "colour=red"], "colour"),
        ([DATASET, "-o", "model.xlsx", "--option", "nagle=sometimes"], "nagle"),
    ],
)
def test_wrong_questions_are_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workbook", *arguments]) == 2
    shown = capsys.readouterr().err
    assert sentence in shown
    assert shown.count("\n") == 1

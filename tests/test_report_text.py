"""Text for a terminal: blocks as aligned and wrapped lines, and the answer of evaluate."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.report.blocks import (
    Bar,
    Bars,
    Block,
    Cell,
    Facts,
    Figure,
    Figures,
    Fold,
    Heading,
    Items,
    Markup,
    Picture,
    Table,
    Text,
)
from icmodel.report.evaluation import page
from icmodel.report.text import blocks_text, evaluation_text, page_text
from icmodel.requirement import MET, NOT_MET
from icmodel.usecase import Evaluation, evaluate
from small_case import small_evaluation


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    return small_evaluation(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def imaging() -> Evaluation:
    return evaluate("imaging", "ethernet-10g-2012")


# --- blocks -----------------------------------------------------------------------------------

NUMBERS = Table(
    "Numbers",
    ("name", "value"),
    ((Cell("a"), Cell("1 s")), (Cell("bc", note="b"), Cell("10 s"))),
    numbers=("value",),
)


@pytest.mark.parametrize(
    ("block", "lines"),
    [
        (Text("A paragraph."), ["A paragraph."]),
        (Heading("h", MET, note="n"), ["✓ met  h (n)"]),
        (Items("Some", ("one", "two")), ["Some:", "- one", "- two"]),
        (Items("", ("one",)), ["- one"]),
        (Facts((("name", "value"),)), ["name: value"]),
        (NUMBERS, ["Numbers", "name    value", "a         1 s", "bc (b)   10 s"]),
        (Table("", ("", ""), ((Cell("", outcome=NOT_MET), Cell("x")),)), ["✗ not met  x"]),
        (Bars("Bounds", (Bar("cpu", "1 s", 0.5, "decides"),)), ["Bounds", "cpu  1 s  decides"]),
        (
            Figures((Figure("t", "A plot.", "alt", {}, NUMBERS),)),
            ["A plot.", "Numbers", "name    value", "a         1 s", "bc (b)   10 s"],
        ),
        (
            Picture("A drawing.", "Two boxes.", Markup("<svg/>"), "a.svg"),
            ["Two boxes.", "A drawing."],
        ),
        (Fold("More", (Facts((("a", "b"),)),), MET), ["✓ met  More", "  a: b"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_block_has_its_lines(block: Block, lines: list[str]) -> None:
    assert blocks_text([block]).splitlines() == lines


WORDS = st.lists(st.text("abcd", min_size=1, max_size=12), max_size=30).map(" ".join)


@given(st.lists(st.tuples(st.text("abcd", min_size=1, max_size=12), WORDS), min_size=1))
def test_lines_fit_and_lose_no_word(pairs: list[tuple[str, str]]) -> None:
    rows = tuple((Cell(name), Cell(text)) for name, text in pairs)
    text = blocks_text([Table("", ("", ""), rows)], width=60)
    assert max(map(len, text.splitlines())) <= 60
    assert text.split() == " ".join(f"{name} {value}" for name, value in pairs).split()


def test_a_whole_report_is_text_too(small: Evaluation) -> None:
    content = page(small)
    text = page_text(content, width=80)
    for section in content.sections:
        assert f"\n\n{section.title}\n" in text


# --- the answer of evaluate -------------------------------------------------------------------


def test_the_text_answers_first_and_fits_its_width(imaging: Evaluation) -> None:
    text = evaluation_text(imaging, why=True, width=80)
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    for said in (
        "Based on ethernet-10g-2012, variant corrected, candidate original.",
        "✗ not met Not met, on derived goodput: original misses 3 of 7",
        "picture.goodput_bps 3.538944 Gb/s 1920 × 1920 × 32 b × 30 Hz",
        "mean latency 113 µs",
        "receiving CPU 15.8 %",
        "goodput is the least of: request 3.512676 Gb/s",
    ):
        assert said in flat, said
    assert "\033" not in text


def test_the_short_text_has_the_verdict_and_what_would_mend_it(imaging: Evaluation) -> None:
    lines = evaluation_text(imaging).splitlines()
    assert len(lines) <= 32  # five of them read whole pictures beside the requirements
    assert max(map(len, lines)) <= 100
    flat = " ".join(" ".join(lines).split())
    for finding in imaging.chosen.findings:
        assert finding.verdict.requirement.name in flat
    for said in (
        "3.512676 Gb/s (exact, derived), at least 3.538944 Gb/s; 0.74 % short; 6751 frames/s",
        "pictures arrive in time on average: grows without limit, at most 17 ms",
        "measure cpu_recv of tcp at 65535 B",
        "latency_max_s of 17.18 ms (IC2012 table 4-4), beyond the limit of 1 requirement",
        "✗ original, ? tcp-whole-pictures, ✓ tcp-two-sets-of-cores, ? udp-aligned",
        "known limits: 9 of ethernet-10g-2012, 5 of imaging: --why",
    ):
        assert said in flat, said


def test_a_file_cannot_command_the_terminal(small: Evaluation) -> None:
    title = "\033[2Jclear\a"
    hostile = replace(small, usecase=small.usecase.model_copy(update={"title": title}))
    text = evaluation_text(hostile)
    assert text.startswith("�[2Jclear�: Does it go?")

"""Reports as PDF: one page first, the same bytes, names printed literally, nothing read and nothing fetched."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typst
from hypothesis import given, settings
from hypothesis import strategies as st

import checkout
import icmodel
from conftest import run
from icmodel.errors import ReportError
from icmodel.report import report_bytes
from icmodel.report.blocks import (
    Block,
    Cell,
    Conclusion,
    Facts,
    Front,
    Items,
    Page,
    Section,
    Table,
    Text,
)
from icmodel.report.masthead import Logo, Masthead
from icmodel.report.pdf import (
    LABELS,
    LINE_WIDTH,
    column_widths,
    light,
    page_images,
    pdf_bytes,
    plain,
    printable,
)
from icmodel.requirement import MET, SIGNS
from reported import BRIEF, MAKERS, answer, page
from search import mostly_long, times
from small_case import HOSTILE

SOURCE = (checkout.ROOT / "icmodel" / "report" / "page.typ").read_bytes()
MARKUP = [
    '#panic("run")',
    '#import "@preview/cetz:0.3.0"',
    '#read("/etc/passwd") #image("x.png")',
    "*bold* _it_ `raw` $x^2$ <label> @ref // comment /* */ \\ ~ -- --- ... 'quote' \"quote\"",
    "= Heading",
    "#{ while true {} }",
    HOSTILE,
]
"""Names that would be code or markup of typst if they were not strings."""


def small_page(name: str, sections: tuple[Section, ...] = (), head: Masthead | None = None) -> Page:
    """A page whose every text is a given name."""
    cell = Cell(name, note=name, name=name)
    table = Table(name, (name, "verdict"), ((cell, Cell("", outcome=MET)),), numbers=("verdict",))
    front = Front(table, name, table, None, (name,), ((name, name),), (name,), ((name, name),))
    answered = Conclusion(MET, name, ())
    return Page(name, name, name, answered, sections, name, front, head or Masthead(author=name))


def headings(content: Page) -> list[str]:
    """Texts of the headings that typst sets."""
    document = json.dumps({**plain(content), "signs": SIGNS, "labels": LABELS})
    found = json.loads(
        typst.query(
            SOURCE,
            "heading.where(level: 1)",
            field="body",
            sys_inputs={"page": document},
            ignore_system_fonts=True,
        )
    )
    return [re.sub("\u200b", "", one["text"]) for one in found if "text" in one]


@pytest.mark.parametrize("name", mostly_long(MAKERS, BRIEF))
def test_the_first_page_is_one_page(name: str) -> None:
    assert len(page_images(replace(page(name), sections=()), ppi=20)) == 1


def test_the_appendix_begins_on_a_page_of_its_own() -> None:
    content = page("system lab-udp-overload")
    notes = Section("a", "Notes", (Text("One line."),))
    assert len(page_images(replace(content, sections=(notes,)), ppi=20)) == 2
    wide = replace(content, sections=(page("system imaging").sections[0], notes))
    assert len(page_images(wide, ppi=20)) == 2


@pytest.mark.parametrize(
    "name",
    mostly_long(
        ("evaluate imaging", "system imaging", "recommend lab-priorities"), ("system imaging",)
    ),
)
def test_the_same_answer_gives_the_same_tagged_bytes(name: str) -> None:
    made = pdf_bytes(page(name))
    assert made == pdf_bytes(page(name))
    assert made.startswith(b"%PDF-")
    assert b"/StructTreeRoot" in made or b"/MarkInfo" in made
    assert b"pdfuaid" in made, "PDF/UA-1, which typst checks"


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    script = """
import icmodel
from icmodel.system import load, predict
icmodel.report(predict(load("lab-udp-overload")), "a.pdf")
"""
    path = {"PYTHONPATH": str(checkout.ROOT), "PYTHONHASHSEED": "7", "TZ": "UTC-7"}
    run(sys.executable, "-c", script, cwd=tmp_path, env=path)
    here = report_bytes(answer("system lab-udp-overload"), "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes() == here


def test_names_of_any_script_are_set() -> None:
    assert pdf_bytes(small_page("相机 сенсор Κάμερα")).startswith(b"%PDF-")
    assert b"pdfuaid" in pdf_bytes(small_page("сенсор Κάμερα é ß ü"))


def test_title_author_and_date_are_set() -> None:
    content = replace(
        page("evaluate imaging"), masthead=Masthead(author="A. Person", date="2026-11-25")
    )
    made = pdf_bytes(content)
    assert b"A. Person" in made
    assert b"Imaging systems" in made
    assert b"2026-11-25" in made
    assert b"CreateDate" not in pdf_bytes(page("evaluate imaging")), "no date unless given"


@pytest.mark.parametrize("name", MARKUP)
def test_markup_in_a_name_is_printed_as_it_stands(name: str) -> None:
    content = small_page(name)
    assert headings(content) == [" ".join(name.split())]
    assert pdf_bytes(content)


@given(st.text(min_size=1, max_size=300))
@settings(max_examples=times(30))
def test_any_text_can_be_set(text: str) -> None:
    sections = (
        Section(
            "a", text or "-", (Text(text), Items(text, (text,)), Facts(((text, text),), code=True))
        ),
    )
    assert pdf_bytes(small_page(text, sections))


@given(st.text(alphabet=st.characters(), max_size=200))
def test_printable_texts_keep_their_words(text: str) -> None:
    import unicodedata

    shown = printable(text)
    assert not any(unicodedata.category(char)[0] == "C" and char != "\u200b" for char in shown)
    kept = [char for char in text if unicodedata.category(char)[0] != "C" and not char.isspace()]
    assert [char for char in shown if char not in "\u200b\ufffd" and not char.isspace()] == [
        char for char in kept if char != "\ufffd"
    ]


@given(st.lists(st.lists(st.text(max_size=60), min_size=3, max_size=3), min_size=1, max_size=5))
def test_columns_share_the_line_and_short_ones_are_whole(rows: list[list[str]]) -> None:
    table = Table("", ("a", "b", "c"), tuple(tuple(map(Cell, row)) for row in rows))
    widths = column_widths(table)
    longest = [max(1, *(len(row[index]) for row in rows)) for index in range(3)]
    assert sum(widths) <= LINE_WIDTH + 1e-9
    for width, length in zip(widths, longest, strict=True):
        assert width >= min(length, LINE_WIDTH / 3)


def test_long_names_and_many_rows_still_make_one_page() -> None:
    long = "averylongname" * 40
    cell = Cell(long[:80], note=long[:80])
    rows = tuple(
        (cell, Cell("1 Gb/s", note="0.9 – 1.1 Gb/s"), Cell("", outcome=MET)) for _ in range(8)
    )
    table = Table(long[:90], ("requirement", "value", "verdict"), rows)
    three = (long[:230],) * 3
    facts = tuple((name, long[:230]) for name in ("interfaces", "cores", "cost"))
    front = Front(table, long[:90], table, None, three, facts, three, (("command", long), *facts))
    content = replace(small_page("Title"), front=front, title=long[:100], question=long[:300])
    assert len(page_images(content, ppi=20)) == 1


def test_every_block_has_its_rule_in_the_layout() -> None:
    import typing

    for block in typing.get_args(Block):
        assert f'block.kind == "{block.__name__}"'.encode() in SOURCE, block


def test_a_drawing_has_its_light_colours_and_no_variable() -> None:
    [drawn] = [
        block
        for section in page("system imaging").sections
        for block in section.blocks
        if hasattr(block, "svg")
    ]
    made = light(drawn.svg)
    assert "var(" not in made
    assert "@media" not in made
    assert light("<svg/>") == "<svg/>"


def test_a_logo_that_cannot_be_drawn_is_one_sentence() -> None:
    for logo in (Logo("svg", b"<svg"), Logo("png", b"\x89PNG\r\n\x1a\nxx")):
        with pytest.raises(ReportError, match="cannot make the PDF"):
            pdf_bytes(small_page("a", head=Masthead(logo=logo)))


def test_without_typst_the_message_names_the_extra(tmp_path: Path) -> None:
    script = """
import sys; sys.modules["typst"] = None
from icmodel.cli import main
sys.exit(main(["evaluate", "imaging", "-o", "imaging.pdf"]) != 2)
"""
    said = run(
        sys.executable, "-c", f"{script}", cwd=tmp_path, env={"PYTHONPATH": str(checkout.ROOT)}
    )
    assert said == ""
    assert list(tmp_path.iterdir()) == []


def test_a_pdf_is_written_by_its_ending(tmp_path: Path) -> None:
    icmodel.report(answer("system lab-udp-overload"), tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF-")
    assert [path.name for path in tmp_path.iterdir()] == ["a.pdf"]

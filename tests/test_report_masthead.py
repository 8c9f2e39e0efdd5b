"""Author, project, revision, date and the house template of a report: options, keys and their errors."""

from __future__ import annotations

import base64
import re
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.cli import main
from icmodel.errors import ReportError
from icmodel.report import page_of
from icmodel.report.html import html_text
from icmodel.report.masthead import ACCENT, EPOCH, MOST_LOGO_BYTES, PNG, Masthead, masthead
from icmodel.report.pdf import pdf_bytes
from reported import answer
from search import mostly_long

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10" width="20" height="10"><rect width="20" height="10"/></svg>'
NAME = "evaluate imaging"


def png() -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return len(data).to_bytes(4, "big") + checked + zlib.crc32(checked).to_bytes(4, "big")

    head = (1).to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    pixels = zlib.compress(b"\x00\x7f")
    return PNG + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def template(folder: Path, text: str) -> Path:
    path = folder / "house.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_template_gives_what_the_options_do_not(tmp_path: Path) -> None:
    (tmp_path / "logo.svg").write_text(SVG, encoding="utf-8")
    path = template(
        tmp_path,
        "organisation = 'Us'\nlogo = 'logo.svg'\naccent = '#8a1c5a'\nfooter = 'Ours'\nauthor = 'A'\nproject = 'P'\n",
    )
    head = masthead(author="B", template=path)
    assert (head.organisation, head.author, head.project, head.footer) == ("Us", "B", "P", "Ours")
    assert head.logo is not None
    assert head.logo.content == SVG.encode()
    assert list(head.words()) == ["--author", "B", "--project", "P", "--template", "house.toml"]


@pytest.mark.parametrize("logo", mostly_long(("logo.svg", "logo.png"), ("logo.svg",)))
def test_logo_colour_and_footer_are_printed(tmp_path: Path, logo: str) -> None:
    (tmp_path / "logo.svg").write_text(SVG, encoding="utf-8")
    (tmp_path / "logo.png").write_bytes(png())
    keys = f"organisation = 'Us <b>'\nlogo = '{logo}'\naccent = '#8a1c5a'\nfooter = 'Ours & more'\n"
    head = masthead(template=template(tmp_path, keys))
    content = page_of(answer(NAME), head)
    made = html_text(content)
    assert "--house: #8a1c5a" in made
    assert "<p>Ours &amp; more</p>" in made
    assert "Us &lt;b&gt;" in made
    [address] = re.findall(r'<img src="data:image/[a-z+]+;base64,([^"]+)"', made)
    assert base64.b64decode(address) == (tmp_path / logo).read_bytes()
    assert "img-src data:" in made
    printed = pdf_bytes(content)
    assert b"#8a1c5a" not in printed, "the colour is a number in the file"
    assert len(printed) > len(pdf_bytes(page_of(answer(NAME)))), "the logo is in the file"


def test_without_a_logo_the_page_loads_no_picture() -> None:
    made = html_text(page_of(answer(NAME)))
    assert "<img" not in made
    assert "img-src" not in made
    assert f"--house: {ACCENT}" in made


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "colour = 'red'",
            "house.toml: the key 'colour' is unknown: the keys are organisation, logo",
        ),
        ("organisation = 3", "house.toml: organisation is 3: write a text in quotes"),
        ("footer = ' '", "house.toml: footer is ' ': write a text"),
        ("accent = 'red'", "house.toml: accent 'red' is not a colour"),
        ("accent = '#fff;}x{'", "house.toml: accent '#fff;}x{' is not a colour"),
        ("logo = 'none.svg'", "house.toml: logo 'none.svg' cannot be read"),
        ("logo = 'text.svg'", "house.toml: logo 'text.svg' is neither SVG nor PNG"),
        ("logo = 'bomb.svg'", "house.toml: logo 'bomb.svg' is neither SVG nor PNG"),
        ("logo = 'large.png'", "house.toml: logo 'large.png' has more than 1 MB"),
        ("logo = '.'", "house.toml: logo '.' cannot be read"),
        ('logo = "\\u0000"', "house.toml: logo '\\x00' cannot be read: embedded null byte"),
        ("organisation = ", "is not valid TOML"),
    ],
)
def test_a_wrong_template_is_one_sentence_at_its_key(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "text.svg").write_text("no picture", encoding="utf-8")
    (tmp_path / "bomb.svg").write_text(f"<!DOCTYPE a [<!ENTITY a 'aa'>]>{SVG}", encoding="utf-8")
    (tmp_path / "large.png").write_bytes(PNG + bytes(MOST_LOGO_BYTES))
    with pytest.raises(ReportError) as refusal:
        masthead(template=template(tmp_path, text))
    assert told in str(refusal.value)


def test_the_date_is_given_or_that_of_the_build_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(EPOCH, raising=False)
    assert masthead().date == ""
    monkeypatch.setenv(EPOCH, "1795564800")
    assert masthead().date == "2026-11-25"
    assert masthead(date="2020-01-02").date == "2020-01-02"
    monkeypatch.setenv(EPOCH, "soon")
    with pytest.raises(ReportError, match="SOURCE_DATE_EPOCH is 'soon'"):
        masthead()
    for wrong in ("25.11.2026", "2026-13-01", "", "today"):
        with pytest.raises(ReportError, match="write year, month and day"):
            masthead(date=wrong)


@given(*[st.text(min_size=1, max_size=20)] * 3)
def test_the_words_of_a_masthead_give_it_again(author: str, project: str, revision: str) -> None:
    head = Masthead(author=author, project=project, revision=revision)
    words, values = list(head.words()), {}
    while words:
        name, equals, value = words.pop(0).partition("=")
        values[name.removeprefix("--")] = value if equals else words.pop(0)
    assert masthead(**values) == head


@pytest.mark.parametrize(
    "line",
    [
        ["evaluate", "imaging", "--author", "A"],
        ["evaluate", "imaging", "--author", "A", "-o", "a.json"],
        ["system", "lab-switch", "--revision", "A", "-o", "a.svg"],
        ["compare", "--usecase", "imaging", "--project", "A"],
        ["recommend", "lab-priorities", "--date", "2026-11-25"],
        ["validate", "dds-1g", "--template", "a.toml", "-o", "a.csv"],
    ],
)
def test_options_of_a_report_need_a_report(
    line: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(line) == 2
    assert "is for reports only: add -o" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []

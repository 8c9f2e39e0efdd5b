"""The report in a browser: offline, silent, as wide as a phone, in light and dark."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from icmodel.report import report
from icmodel.report.html import html_text
from icmodel.system import load, predict
from icmodel.usecase import evaluate
from reported import BRIEF, MAKERS
from reported import page as reported_page
from search import mostly_long
from small_case import HOSTILE, small_evaluation

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDTHS = {"phone": 390, "desk": 1280}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    evaluations = {
        "imaging": evaluate("imaging", "ethernet-10g-2012"),
        "motion-control": evaluate("motion-control", "infiniband-qdr-connectx2"),
        "small": small_evaluation(folder),
    }
    for name, evaluation in evaluations.items():
        report(evaluation, folder / f"{name}.html")
    report(predict(load("imaging")), folder / "system.html")
    return {name: folder / f"{name}.html" for name in (*evaluations, "system")}


def opened(
    browser: Browser, path: Path, width: int, scheme: str = "light"
) -> tuple[Page, list[str]]:
    """A page in a new offline context, and everything it asked for or complained of."""
    context = browser.new_context(
        viewport={"width": width, "height": 844},
        offline=True,
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    heard: list[str] = []
    page.on("request", lambda request: heard.append(request.url))
    page.on("console", lambda message: heard.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.goto(path.as_uri())
    return page, heard


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
@pytest.mark.parametrize(
    "name", mostly_long(("imaging", "motion-control", "small", "system"), ("imaging", "system"))
)
def test_the_page_is_quiet_and_fits(
    browser: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    page, heard = opened(browser, pages[name], width)
    assert heard == [pages[name].as_uri()]
    page.evaluate("document.querySelectorAll('summary').forEach(folded => folded.click())")
    assert page.locator("details:not([open])").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("getComputedStyle(document.body).overflowX") == "visible"
    assert heard == [pages[name].as_uri()]
    page.context.close()


def test_the_parts_can_be_found(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = opened(browser, pages["imaging"], WIDTHS["desk"])
    assert page.get_by_role("heading", level=1).inner_text() == "Imaging systems"
    headings = page.get_by_role("heading", level=2).all_inner_texts()
    assert headings[1:3] == ["Verdicts", "Limits of validity"]
    assert page.get_by_role("img").count() >= 4
    assert page.get_by_role("img").first.get_attribute("aria-label")
    table = page.get_by_role("table", name="Requirements of original")
    assert table.get_by_role("row").count() == 8
    assert "0.74 % short" in table.inner_text()
    page.get_by_role("link", name="Limits of validity").click()
    assert page.url.endswith("#limits")
    page.context.close()


def test_tables_stay_tables_on_a_phone(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = opened(browser, pages["imaging"], WIDTHS["phone"])
    table = page.get_by_role("table", name="Requirements of original")
    assert table.get_by_role("row").count() == 8
    assert table.get_by_role("cell").first.is_visible()
    page.context.close()


def test_dark_is_dark_in_the_plots_too(browser: Browser, pages: dict[str, Path]) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        page, _ = opened(browser, pages["imaging"], WIDTHS["desk"], scheme)
        colours[scheme] = page.evaluate(
            """() => [document.body, document.querySelector('.plot text')].map(
                 (element, i) => getComputedStyle(element)[i ? 'fill' : 'backgroundColor'])"""
        )
        page.context.close()
    assert colours["light"][0] == "rgb(255, 255, 255)"
    for light, dark in zip(colours["light"], colours["dark"], strict=True):
        assert light != dark


def test_paper_shows_what_is_folded(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = opened(browser, pages["imaging"], 700)
    row = page.locator("#rows details td").first
    assert not row.is_visible()
    page.emulate_media(media="print")
    assert row.is_visible()
    assert not page.locator("nav").is_visible()
    page.context.close()


def printed_pages(browser: Browser, path: Path) -> int:
    """Number of A4 pages on which Chromium prints a file."""
    page, _ = opened(browser, path, 800)
    made = page.pdf(prefer_css_page_size=True, print_background=True)
    page.context.close()
    return len(re.findall(rb"/Type\s*/Page\b", made))


@pytest.mark.parametrize("name", mostly_long(MAKERS, BRIEF))
def test_the_first_page_is_one_printed_page(browser: Browser, tmp_path: Path, name: str) -> None:
    content = replace(reported_page(name), sections=())
    (tmp_path / "a.html").write_text(html_text(content), encoding="utf-8")
    footer = 1  # the line that names icmodel follows the last section
    assert printed_pages(browser, tmp_path / "a.html") <= 1 + footer


def test_a_printed_drawing_fits_the_paper(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = opened(browser, pages["system"], 688)  # 182 mm, the width of A4 within its margins
    page.emulate_media(media="print")
    edges = page.evaluate(
        """() => [...document.querySelectorAll('.system-drawing')].map(svg => {
             const box = svg.getBoundingClientRect();
             return [box.left, box.right, document.documentElement.clientWidth, box.height];
           })"""
    )
    assert len(edges) == 2
    assert all(left >= 0 and right <= width and height > 50 for left, right, width, height in edges)
    page.context.close()


def test_texts_of_files_stay_texts(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = opened(browser, pages["small"], WIDTHS["desk"])
    assert page.get_by_role("heading", level=1).inner_text() == f"Small {HOSTILE}"
    page.context.close()


def test_a_system_is_drawn_within_its_place(browser: Browser, pages: dict[str, Path]) -> None:
    page, _ = opened(browser, pages["system"], WIDTHS["desk"], "dark")
    drawn = page.get_by_role("img", name="Imaging: 15 devices")
    assert drawn.count() == 2, "folded on the first page, and whole"
    outside = page.evaluate(
        """() => {
             return [...document.querySelectorAll('.system-drawing text')].filter(text => {
               const whole = text.closest('.system-drawing').getBoundingClientRect();
               const one = text.getBoundingClientRect();
               return one.left < whole.left || one.right > whole.right || one.bottom > whole.bottom;
             }).map(text => text.textContent);
           }"""
    )
    assert outside == []
    beyond = page.evaluate(
        """() => [...document.querySelectorAll('.system-drawing .box')].filter(box => {
             const edge = [...box.querySelectorAll('rect')].pop().getBoundingClientRect();
             return [...box.querySelectorAll('text')].some(text => {
               const one = text.getBoundingClientRect();
               return one.left < edge.left || one.right > edge.right;
             });
           }).map(box => box.textContent)"""
    )
    assert beyond == []
    fill = page.evaluate("getComputedStyle(document.querySelector('.system-drawing .paper')).fill")
    assert fill != "rgb(255, 255, 255)"
    page.context.close()

"""The pages of a running ``icmodel serve`` in a browser: asked, dragged, shared, edited, printed, and accessible."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from cli_case import RunIcmodel

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

    from web_case import Server

    View = tuple[ViewportSize, Literal["light", "dark"]]

DESK: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
TRIES = 50
"""Number of looks at a page that is being drawn, a tenth of a second apart."""
QUESTION = "#/?dataset=ethernet-10g-2012&payload=1448+B"
PAGES = {
    "what-if": f"{QUESTION}&need=goodput+%E2%89%A5+3+Gb%2Fs&pin=dataset%3Drmi-loopback%26payload%3D64%2BB",
    "use cases": "#/usecases?name=motion-control",
    "systems": "#/systems?name=lab-udp-overload&stream=measured",
    "datasets": "#/datasets?id=zeromq-100g-2019",
    "compare": "#/compare?name=motion-control",
    "validation": "#/validation?dataset=zeromq-1g-2010",
}
MOST_BYTES = 300_000


@dataclass
class Visit:
    """A page in a browser, the address of its server, and everything that it complained of or asked elsewhere."""

    page: Page
    address: str
    heard: list[str] = field(default_factory=list)

    def go(self, place: str) -> None:
        self.page.goto("about:blank")  # a new place in the same page would be no new visit
        self.page.goto(self.address + place)
        self.settle()

    def settle(self) -> None:
        """Wait until every answer is shown."""
        # The page's policy allows no evaluation of texts, so a selector waits and no function.
        self.page.locator("html[data-pending='0']:not(:has(.waiting))").wait_for(state="attached")

    def tile(self, words: str) -> str:
        """Text of the answer's tile for a metric."""
        return " ".join(self.page.locator(".tile", has_text=words).first.inner_text().split())


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Visit]:
    """A visit that must end without a complaint and without a request to another machine."""
    context = browser.new_context(
        viewport=DESK,
        permissions=["clipboard-read", "clipboard-write"],
        accept_downloads=True,
    )
    address = server.address
    visit = Visit(context.new_page(), address)
    page, heard = visit.page, visit.heard
    page.on("console", lambda message: heard.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((address, "blob:", "data:"))
            else heard.append(request.url)
        ),
    )
    yield visit
    context.close()
    assert heard == []


# --- what if ----------------------------------------------------------------------------------


def test_an_answer_follows_what_is_typed(visit: Visit, run_icmodel: RunIcmodel) -> None:
    visit.go(QUESTION)
    assert "9.4106" in visit.tile("goodput")
    visit.page.get_by_label("Payload", exact=True).fill("64 B")
    visit.page.get_by_label("Requested goodput", exact=True).fill("1 Gb/s")
    visit.settle()
    assert visit.tile("goodput").startswith("goodput 1Gb/s exact")
    assert "limited by the request" in visit.page.locator(".limited").inner_text()
    printed = run_icmodel("predict --payload '64 B' --requested-goodput '1 Gb/s'")
    _, value, interval, basis = next(row for row in printed.rows if row[:1] == ["mean latency"])
    assert visit.tile("mean latency") == f"mean latency {value.replace(' ', '')} {interval} {basis}"


def test_a_refusal_stands_at_its_field(visit: Visit) -> None:
    visit.go(QUESTION)
    payload = visit.page.get_by_label("Payload", exact=True)
    payload.fill("64 KB")
    visit.settle()
    assert payload.get_attribute("aria-invalid") == "true"
    assert "KiB" in visit.page.locator("#p-payload").inner_text()
    assert visit.page.locator(".tile").count() == 0  # a stale number would be a wrong answer
    payload.fill("64 KiB")
    visit.page.get_by_label("Cores", exact=True).fill("9")
    visit.settle()
    assert payload.get_attribute("aria-invalid") is None
    assert "no answer" in visit.page.locator(".refused").inner_text().lower()


def test_a_slider_and_its_keys(visit: Visit) -> None:
    visit.go(QUESTION)
    slider = visit.page.get_by_label("Payload, slider")
    slider.focus()
    for _ in range(3):
        slider.press("ArrowLeft")
    visit.settle()
    shown = visit.page.get_by_label("Payload", exact=True).input_value()
    assert re.fullmatch(r"1[0-9]{3} B", shown)
    assert shown != "1448 B"
    assert f"payload={shown.replace(' ', '+')}" in visit.page.url


def test_the_marker_is_dragged_and_undone(visit: Visit) -> None:
    visit.go(QUESTION)
    payload = visit.page.get_by_label("Payload", exact=True)
    marker = visit.page.get_by_role("slider", name="operating point")
    box = marker.bounding_box()
    assert box is not None
    visit.page.mouse.move(box["x"] + 11, box["y"] + 60)
    visit.page.mouse.down()
    for step in range(1, 9):
        visit.page.mouse.move(box["x"] + 11 - 30 * step, box["y"] + 60)
    visit.page.mouse.up()
    visit.settle()
    dragged = payload.input_value()
    assert 64 < int(dragged.removesuffix(" B")) < 512
    assert marker.get_attribute("aria-valuetext", timeout=1000).startswith(dragged)  # type: ignore[union-attr]
    assert "9.4106" not in visit.tile("goodput")
    visit.page.get_by_role("button", name="Undo").click()
    visit.settle()
    assert payload.input_value() == "1448 B"
    assert "9.4106" in visit.tile("goodput")
    visit.page.keyboard.press("Control+Shift+z")
    visit.settle()
    assert payload.input_value() == dragged
    marker.focus()
    marker.press("End")
    visit.settle()
    assert payload.input_value() == "65535 B"


def test_requirements_are_judged_by_the_server(visit: Visit) -> None:
    visit.go(QUESTION)
    for text in (
        "goodput ≥ 3 Gb/s",
        "latency max <= 1 us",
        "mean latency at most 2.2 ms",
        "speed > 3",
    ):
        visit.page.get_by_label("Requirement").fill(text)
        visit.page.get_by_label("Requirement").press("Enter")
    visit.settle()
    shown = visit.page.locator(".needs li").all_inner_texts()
    assert "met" in shown[0]
    assert "goodput ≥ 3 Gb/s" in shown[0]
    assert "not met" in shown[1]
    assert "undecided" in shown[2]
    assert "'speed' is not a metric here" in shown[3]
    visit.page.get_by_role("button", name="Remove speed > 3").click()
    visit.settle()
    assert visit.page.locator(".needs li").count() == 3


def test_a_link_shares_pins_and_other_datasets(visit: Visit) -> None:
    visit.go(QUESTION)
    page = visit.page
    page.get_by_role("button", name="Pin").click()
    page.get_by_label("Payload", exact=True).fill("256 B")
    page.get_by_label("Payload", exact=True).press("Tab")
    page.get_by_label("Add", exact=True).select_option(label="variant appendix-h")
    visit.settle()
    beside = page.get_by_role("region", name="Questions side by side")
    heads = beside.locator("thead th").all_inner_texts()
    assert [head.split("\n")[0] for head in heads] == [
        "this question",
        "appendix-h, tcp",
        "payload 1448 B",
    ]
    page.get_by_role("button", name="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    texts = beside.inner_text()
    visit.go("#/usecases")
    visit.go(link.removeprefix(visit.address))
    assert beside.inner_text() == texts
    page.reload()
    visit.settle()
    assert beside.inner_text() == texts
    page.get_by_role("button", name="Ask payload 1448 B").click()
    visit.settle()
    assert page.get_by_label("Payload", exact=True).input_value() == "1448 B"


def test_copies_answer_the_same(visit: Visit, run_icmodel: RunIcmodel) -> None:
    visit.go(f"{QUESTION}&rate=6700%2Fs&option.nagle=off")
    copied = {}
    for what in ("command line", "Python", "row for Excel"):
        visit.page.get_by_role("button", name=f"Copy {what}").click()
        copied[what] = visit.page.evaluate("navigator.clipboard.readText()")
    program, *words = shlex.split(copied["command line"])
    assert program == "icmodel"
    answer = run_icmodel(shlex.join([*words, "--json"])).json
    names: dict[str, Any] = {}
    exec(copied["Python"].replace("print(", "shown = ("), names)
    assert names["shown"] == (answer["goodput_bps"]["value"], answer["bottleneck"])
    head, row = (line.split("\t") for line in copied["row for Excel"].splitlines())
    cells = dict(zip(head, row, strict=True))
    assert float(cells["goodput [Gb/s]"]) * 1e9 == pytest.approx(answer["goodput_bps"]["value"])
    assert (cells["payload"], cells["nagle"]) == ("1448 B", "off")


def test_curves_over_load_and_cores_and_why(visit: Visit) -> None:
    visit.go(f"{QUESTION}&requested_goodput=2+Gb%2Fs&over=load&show=latency_mean_s")
    page = visit.page
    marker = page.get_by_role("slider", name="operating point: requested goodput")
    marker.focus()
    marker.press("ArrowRight")
    visit.settle()
    assert page.get_by_label("Requested goodput", exact=True).input_value().startswith("2.1")
    page.get_by_label("over", exact=True).select_option("cores")
    visit.settle()
    page.get_by_role("slider", name="operating point: cores").press("Home")
    visit.settle()
    assert page.get_by_label("Cores", exact=True).input_value() == "1"
    page.get_by_text("The numbers of the plot").click()
    table = page.get_by_role("region", name="The numbers of the plot")
    assert table.get_by_role("row").count() >= 4
    page.get_by_text("Why", exact=True).click()
    page.get_by_role("region", name="Rows of the dataset").wait_for()
    why = page.locator(".why").inner_text()
    assert "stack" in why
    assert "benchmark" in why
    assert "IC2012" in why


# --- use cases and systems --------------------------------------------------------------------


def test_a_verdict_follows_a_changed_number(visit: Visit, tmp_path: Path) -> None:
    visit.go("#/usecases?name=imaging&candidate=original")
    page = visit.page
    verdict = page.get_by_role("region", name="The verdict")
    assert "not met" in verdict.inner_text()
    assert "6751 frames/s" in verdict.inner_text()
    rates = page.locator(".quantities input", has_not=page.locator("x")).all()
    rate = next(one for one in rates if one.input_value() == "6700/s")
    rate.fill("6751/s")
    rate.press("Enter")
    page.locator(".verdict:not(.not-met)").wait_for()
    assert "not met" not in verdict.inner_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as TOML").click()
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    assert saved.name == "imaging.toml"
    assert '"6751/s"' in saved.read_text(encoding="utf-8")


def test_a_system_is_edited_and_its_errors_stand_at_their_line(visit: Visit) -> None:
    visit.go("#/systems?name=imaging")
    page = visit.page
    page.locator("[data-stream=picture-3]").click()
    assert "capturing-device-3->switch" in page.locator(".stream").inner_text()
    assert page.locator(".picture .link.way").count() == 2
    assert page.locator(".picture .box.way").count() == 3
    assert "stream=picture-3" in page.url
    page.get_by_role("tab", name="TOML").click()
    text = page.get_by_label("The system as TOML")
    toml = text.input_value()
    text.fill(toml.replace('length = "25 m"', 'length = "25 km/h"', 1))
    page.locator("#toml-problem:not(:empty)").wait_for()
    line = toml[: toml.index('length = "25 m"')].count("\n") + 1
    assert page.locator("#toml-problem").inner_text().startswith(f"Line {line}: ")
    assert "unknown unit" in page.locator("#toml-problem").inner_text()
    text.fill(toml.replace('rate = "30 Hz"', 'rate = "60 Hz"'))
    page.locator("body:not(:has(.stale)) #toml-problem:empty").wait_for(state="attached")
    assert "not met" in page.locator("[data-stream=picture-3]").inner_text()
    assert "requested" in page.locator(".picture svg").text_content()  # type: ignore[operator]


@pytest.mark.long
def test_an_own_use_case_is_compared(visit: Visit, tmp_path: Path) -> None:
    visit.go("#/usecases?name=motion-control")
    page = visit.page
    page.get_by_role("tab", name="TOML").click()
    text = page.get_by_label("The use case as TOML")
    text.fill(re.sub(r"^title = .*", 'title = "My drives"', text.input_value(), flags=re.MULTILINE))
    page.locator("h1", has_text="My drives").wait_for()
    page.get_by_role("link", name="On every interconnect").click()
    page.locator("#links").wait_for()
    assert page.locator("h1").inner_text() == "My drives"
    own = tmp_path / "own.toml"
    own.write_text(text.input_value().replace("My drives", "Drives of a file"), encoding="utf-8")
    page.get_by_text("The use case: edit it").click()
    page.locator("input[type=file]").set_input_files(own)
    page.locator("h1", has_text="Drives of a file").wait_for()
    page.get_by_role("tab", name="TOML").click()
    text.fill(
        text.input_value().replace('kind = "hard"', 'kind = "harder"').replace("title", "titel")
    )
    page.locator("#toml-problem:not(:empty)").wait_for()
    told = page.locator("#toml-problem li").all_inner_texts()
    assert len(told) == page.locator(".mark").count() >= 2
    assert all(one.startswith("Line ") for one in told)


def test_texts_of_files_stay_texts(visit: Visit) -> None:
    visit.go("#/systems?name=lab-direct")
    page = visit.page
    page.get_by_role("tab", name="TOML").click()
    text = page.get_by_label("The system as TOML")
    hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
    text.fill(
        re.sub(r'^title = ".*"', f"title = '{hostile}'", text.input_value(), flags=re.MULTILINE)
    )
    page.locator("h1", has_text="<img").wait_for()
    assert page.locator("main img, main script").count() == 0
    assert page.title() == "Systems · icmodel"


# --- datasets ---------------------------------------------------------------------------------


def test_files_of_other_tools_are_dropped(visit: Visit, tmp_path: Path) -> None:
    good, bad = tmp_path / "throughput.txt", tmp_path / "notes.txt"
    good.write_text(
        "message size: 64 [B]\nmessage count: 1000000\nmean throughput: 1212000 [msg/s]\n"
        "mean throughput: 620.544 [Mb/s]\n"
    )
    bad.write_text("nothing that a tool printed\n")
    visit.go("#/datasets")
    page = visit.page
    page.locator("#results").set_input_files([good, bad])
    visit.settle()
    assert "throughput.txt" in page.locator("#taken").inner_text()
    refused = page.locator("#refused").inner_text()
    assert "Refused files (1)" in refused
    assert "notes.txt" in refused
    page.get_by_label("Line rate").fill("100 Mb/s")
    page.get_by_role("button", name="Read the files").click()
    page.locator("#taken").wait_for(state="detached")
    visit.settle()
    assert "No file could be used" in page.locator("main").inner_text()
    assert "2 files are refused" in page.locator("main").inner_text()


def test_a_dataset_shows_where_it_extrapolates(visit: Visit) -> None:
    visit.go("#/datasets?id=ethernet-10g-2012")
    page = visit.page
    page.get_by_role("button", name="zeromq-1g-2010").click()
    visit.settle()
    assert (
        "outside this range, on a pale background, it is extrapolated"
        in page.locator(".curves").inner_text()
    )
    page.get_by_label("Metric").last.select_option("goodput_bps")
    assert "rows" in page.locator("main").inner_text()
    assert page.get_by_role("region", name="Rows of points.csv").get_by_role("row").count() > 20


def test_a_dataset_is_drawn_with_the_switches_it_was_measured_with(visit: Visit) -> None:
    visit.go("#/datasets?id=zeromq-100g-2019")
    assert "The whole curve is extrapolated." in visit.page.locator(".curves").inner_text()


# --- every page -------------------------------------------------------------------------------


VIEWS: tuple[View, ...] = ((DESK, "light"), (PHONE, "dark"), (DESK, "dark"), (PHONE, "light"))
"""Sizes of the window and colour schemes."""


@pytest.mark.parametrize(("name", "at"), list(zip(PAGES, (0, 1) * 3, strict=True)))
def test_a_page_is_accessible_and_not_wider_than_its_window(
    visit: Visit, name: str, at: int
) -> None:
    check_page(visit, name, VIEWS[at : at + 1])


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_wide_and_narrow_light_and_dark(visit: Visit, name: str) -> None:
    check_page(visit, name, VIEWS)


def check_page(visit: Visit, name: str, views: tuple[View, ...]) -> None:
    """Check a page with axe in each view, and its width at both sizes."""
    from axe_playwright_python.sync_playwright import Axe

    visit.go(PAGES[name])
    page = visit.page
    page.evaluate(
        "[...document.querySelectorAll('details')].slice(0, 4).forEach(one => one.open = true)"
    )
    page.emulate_media(reduced_motion="reduce")
    for size in (DESK, PHONE):
        page.set_viewport_size(size)
        # Plots are drawn again for the new size; a page that stays wider fails.
        for _ in range(TRIES):  # the page's policy allows no script that waits in the page
            if page.evaluate("document.documentElement.scrollWidth") == size["width"]:
                break
            page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
        # A navigation higher than its box would have a vertical scrollbar.
        heights = "(({ scrollHeight, clientHeight }) => [scrollHeight, clientHeight])"
        content, box = page.evaluate(f"{heights}(document.querySelector('.bar nav'))")
        assert content == box
    for size, scheme in views:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        bad = [
            f"{one['id']}: {one['nodes'][0]['html'][:160]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert bad == [], (size, scheme)


def test_every_control_is_reached_and_seen_by_keyboard(visit: Visit) -> None:
    visit.go(QUESTION)
    page = visit.page
    wanted = page.locator(
        "a:visible, button:visible:enabled, input:visible:enabled, select:visible, summary:visible, [tabindex='0']:visible"
    ).count()
    page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(wanted + 3):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                """() => {
                  const one = document.activeElement, style = getComputedStyle(one);
                  return [one.outerHTML.slice(0, 90), style.outlineStyle !== 'none' || one.type === 'file'];
                }"""
            )[0]
        )
    assert len(reached) >= wanted - 1
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") is not None


def test_paper_has_the_answer_and_no_controls(visit: Visit) -> None:
    visit.go(f"{QUESTION}&need=goodput+%E2%89%A5+3+Gb%2Fs")
    page = visit.page
    page.emulate_media(media="print")
    assert not page.locator("nav").first.is_visible()
    assert not page.get_by_role("button", name="Pin").is_visible()
    assert page.locator(".why table").first.is_visible()
    assert page.locator(".needs").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_the_payload_is_small_and_the_colours_can_be_chosen(visit: Visit) -> None:
    sizes: list[int] = []
    visit.page.on("response", lambda response: sizes.append(len(response.body())))
    visit.go(QUESTION)
    assert sum(sizes) < MOST_BYTES
    ground = "getComputedStyle(document.body).backgroundColor"
    colours = [visit.page.evaluate(ground)]
    button = visit.page.locator(".theme")
    for _ in range(2):
        button.click()
        colours.append(visit.page.evaluate(ground))
    assert colours[0] == colours[1] != colours[2]
    visit.page.reload()
    assert visit.page.evaluate(ground) == colours[2]

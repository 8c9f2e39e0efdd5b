"""Reports: what they say, in which order, escaped, offline, the same bytes, whole or not at all."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

import checkout
import icmodel
from conftest import run
from icmodel.errors import ReportError
from icmodel.plotting import GRID, INK, PAPER, QUIET
from icmodel.report import json_page, report, report_bytes
from icmodel.report.blocks import Figures
from icmodel.report.evaluation import figures as show_figures
from icmodel.report.interconnects import TONES
from icmodel.report.markdown import escape
from icmodel.report.text import evaluation_text
from icmodel.report.vega import COLOURS
from icmodel.requirement import MET, NOT_MET, UNDECIDED
from icmodel.usecase import Evaluation, evaluate
from search import mostly_long
from small_case import HOSTILE, small_evaluation

SECTIONS = [
    "Verdicts",
    "Limits of validity",
    "What is required",
    "Predictions",
    "Why",
    "Plots",
    "Dataset rows used",
    "Sources",
]


def html_page(answer: Evaluation) -> str:
    return report_bytes(answer, "report.html").decode()


def markdown_page(answer: Evaluation) -> str:
    return report_bytes(answer, "report.md").decode()


CSS = (checkout.ROOT / "icmodel" / "report" / "page.css").read_text(encoding="utf-8")
BLOCKED = 'import sys; sys.modules["vl_convert"] = None; '
"""A Python in which the extra that draws is not installed."""


class Reader(HTMLParser):
    """Text, headings, addresses and the balance of the tags of a page."""

    VOID = frozenset({"meta", "br", "hr"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.headings: list[tuple[str, str]] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = dict(attrs)
        self.addresses += [value or "" for key, value in attrs if key in {"href", "src", "data"}]
        if "id" in found:
            self.ids.append(found["id"] or "")
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in {"h1", "h2", "h3", "h4"}:
            self.headings.append((tag, ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        for name in {"h1", "h2", "h3", "h4"} & set(self.open):
            self.headings[-1] = (name, self.headings[-1][1] + data)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    return small_evaluation(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def imaging() -> Evaluation:
    return evaluate("imaging", "ethernet-10g-2012")


@pytest.fixture(scope="module")
def page(imaging: Evaluation) -> str:
    return html_page(imaging)


@pytest.fixture(scope="module")
def markdown(imaging: Evaluation) -> str:
    return markdown_page(imaging)


@pytest.fixture(scope="module")
def document(imaging: Evaluation) -> str:
    return json_page(imaging)


@pytest.fixture(scope="module")
def small_pages(small: Evaluation) -> dict[str, str]:
    """The reports of the small case by their endings."""
    return {".html": html_page(small), ".md": markdown_page(small), ".json": json_page(small)}


# --- writing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".html", ".md", ".json"])
def test_a_report_is_written_by_its_ending(
    small: Evaluation, small_pages: dict[str, str], tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"report{ending}"
    report(small, path)
    assert path.read_text(encoding="utf-8") == small_pages[ending]
    assert [name.name for name in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["report.txt", "report", "report.htm", "html"])
def test_another_ending_is_refused_and_nothing_written(
    small: Evaluation, tmp_path: Path, name: str
) -> None:
    with pytest.raises(
        ReportError,
        match=r"unsupported report format.*\.html, \.md, \.pdf, \.json, \.xlsx or \.xml",
    ) as refusal:
        report(small, tmp_path / name)
    assert name in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


def test_an_answer_without_a_report_is_one_sentence(tmp_path: Path) -> None:
    answer = icmodel.Model("ethernet-10g-2012").predict(payload="1448 B")
    with pytest.raises(ReportError, match="a Prediction has no report: give one of"):
        report(answer, tmp_path / "x.html")  # type: ignore[arg-type]


def test_a_missing_folder_is_one_sentence(small: Evaluation, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="cannot be written: there is no folder"):
        report(small, tmp_path / "missing" / "report.md")


def test_a_report_replaces_a_file_whole_and_leaves_a_folder_alone(
    small: Evaluation, tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    path.write_text("old", encoding="utf-8")
    report(small, path)
    assert json.loads(path.read_text(encoding="utf-8"))["verdict"] == NOT_MET
    folder = tmp_path / "folder.md"
    folder.mkdir()
    with pytest.raises(ReportError, match="cannot be written"):
        report(small, folder)
    assert sorted(name.name for name in tmp_path.iterdir()) == ["folder.md", "report.json"]


def test_the_same_question_gives_the_same_bytes_in_another_process(
    markdown: str, document: str, tmp_path: Path
) -> None:
    """There one follows the other. Pages of several processes are compared where writing one is timed."""
    script = """
import icmodel
evaluation = icmodel.evaluate("imaging", "ethernet-10g-2012")
for name in ("report.json", "report.md"):
    icmodel.report(evaluation, name)
"""
    path = {"PYTHONPATH": str(checkout.ROOT), "PYTHONHASHSEED": "7"}
    run(sys.executable, "-c", script, cwd=tmp_path, env=path)
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == markdown
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == document


def test_importing_the_room_loads_nothing_heavy(tmp_path: Path) -> None:
    script = """
import json, sys
import icmodel.report
print(json.dumps(sorted(sys.modules)))
"""
    found = run(sys.executable, "-c", script, cwd=tmp_path, env={"PYTHONPATH": str(checkout.ROOT)})
    heavy = {"numpy", "pydantic", "xarray", "vl_convert", "icmodel.usecase", "icmodel.model"}
    assert set(json.loads(found)) & heavy == set()


# --- the page ---------------------------------------------------------------------------------


def test_the_page_is_in_order_and_well_formed(page: str) -> None:
    read = Reader(page)
    assert read.open == []
    assert read.headings[0] == ("h1", "Imaging systems")
    assert [text for tag, text in read.headings if tag == "h2"][1:] == SECTIONS
    levels = [int(tag[1]) for tag, _ in read.headings]
    assert all(below <= above + 1 for above, below in pairwise(levels))
    assert len(read.ids) == len(set(read.ids))


def test_the_page_needs_nothing_from_anywhere(page: str) -> None:
    read = Reader(page)
    assert read.addresses
    assert [address for address in read.addresses if not address.startswith("#")] == []
    assert {address[1:] for address in read.addresses} <= set(read.ids)
    assert {"script", "link", "iframe", "img", "object", "embed"} & set(read.tags) == set()
    assert not re.search(r"@import|url\(", page)
    assert "default-src &#x27;none&#x27;; style-src &#x27;unsafe-inline&#x27;" in page


def test_the_page_says_what_the_evaluation_says(imaging: Evaluation, page: str) -> None:
    text = Reader(page).text
    for derivation in (*imaging.derivations, *imaging.chosen.derivations):
        assert derivation.text in text
        assert derivation.formula in text
    for finding in imaging.chosen.findings:
        assert finding.verdict.requirement.name in text
    for said in (
        "3.512676 Gb/s",
        "0.74 % short",
        "6751 frames/s is the least rate that achieves it",
        "113.1657 µs",  # table 8-2 and 49 m more of cable at 4.27 ns/m
        "serialisation",
        "stack",
        imaging.usecase.question,
        imaging.usecase.citation,
        imaging.data.citation,
        imaging.data.licence,
        imaging.data.sha256,
        icmodel.__version__,
        "icmodel evaluate imaging --dataset ethernet-10g-2012 --variant corrected",
        *imaging.data.known_limits,
        *imaging.usecase.known_limits,
        *(row.source for row in imaging.chosen.answers[0].prediction.rows),  # type: ignore[union-attr]
    ):
        assert said in text, said


def test_the_page_has_its_plots_with_texts_in_place_of_them(page: str) -> None:
    read = Reader(page)
    assert read.tags.count("svg") == read.tags.count("figcaption") - page.count('class="bars"')
    assert read.tags.count("svg") >= 4
    for alt in re.findall(r'role="img" aria-label="([^"]*)"', page):
        assert re.match(r"Line plot: .+, predicted on ethernet-10g-2012, corrected\.", alt)
    assert len(re.findall(r'role="img"', page)) == read.tags.count("svg")
    assert read.tags.count("caption") == read.tags.count("table")


def test_the_numbers_of_a_plot_are_its_points_and_the_scenario(small: Evaluation) -> None:
    figures = [block for block in show_figures(small) if isinstance(block, Figures)]
    table = figures[0].figures[0].numbers
    assert [name.removeprefix("#") for name in table.columns] == [
        "payload",
        "predicted",
        "based on",
        "benchmarked",
        "theory bound",
    ]
    cells = [[cell.text for cell in row] for row in table.rows]
    assert [row[0] for row in cells] == ["64 B", "1024 B", "4096 B", "1024 B, this scenario"]
    assert cells[1][1].startswith("600 Mb/s (540 – 6")
    assert cells[1][3] == "600 Mb/s at unlimited rate (measured)"
    assert cells[3][1] == "200 Mb/s (exact)"


def test_no_outcome_is_told_by_colour_alone(page: str) -> None:
    badges = re.findall(r'<span class="badge [a-z-]+">(.*?)</span> ([a-z ]+)</span>', page)
    assert {(re.sub("<.*?>", "", sign), name) for sign, name in badges} == {
        ("✓", "met"),
        ("✗", "not met"),
        ("?", "undecided"),
    }


@pytest.mark.parametrize("ending", [".html", ".md"])
def test_texts_of_files_mean_nothing_to_the_format(
    small_pages: dict[str, str], ending: str
) -> None:
    made = small_pages[ending]
    if ending == ".html":
        read = Reader(made)
        assert "script" not in read.tags
        assert read.text.count(HOSTILE) >= 10
        return
    assert "<script" not in re.sub(r"\\.", "", made)
    shown = made.replace("\\", "")
    assert shown.count(HOSTILE) >= 10
    lines = [line for line in made.splitlines() if line.startswith("| ")]
    assert "".join(lines).count(escape(HOSTILE)) >= 5


def test_every_table_of_the_markdown_has_as_many_cells_as_heads(
    small_pages: dict[str, str],
) -> None:
    width = None
    rows = 0
    for line in small_pages[".md"].splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        if cells is not None and width is not None:
            assert cells == width, line
            rows += 1
        width = cells
    assert rows > 30


def test_the_markdown_has_the_same_parts(markdown: str) -> None:
    assert re.findall(r"(?m)^## (.+)$", markdown) == ["The answer", *SECTIONS]
    assert markdown.startswith("# Imaging systems\n")
    assert "**✗ not met** – Not met, on derived goodput: original misses 3 of 7" in markdown
    assert "Numbers of the plot: goodput" in markdown


def test_the_json_begins_with_its_version_and_holds_the_evaluation(
    imaging: Evaluation, document: str
) -> None:
    held = json.loads(document)
    assert next(iter(held)) == "schema_version"
    told = json.loads(json.dumps(imaging.to_dict()))
    assert {key: held[key] for key in told} == told
    assert held["answer"]["Margin"] == "0.74 % short"
    assert held["reproduce"]["icmodel"] == icmodel.__version__
    assert [plot["spec"]["$schema"] for plot in held["plots"]]


def test_without_the_extra_the_page_has_the_numbers_and_says_how_to_get_plots(
    tmp_path: Path,
) -> None:
    script = (
        BLOCKED
        + """
import icmodel
icmodel.report(icmodel.evaluate("motion-control", "ethernet-10g-2012"), "plain.html")
"""
    )
    run(sys.executable, "-c", script, cwd=tmp_path, env={"PYTHONPATH": str(checkout.ROOT)})
    read = Reader((tmp_path / "plain.html").read_text(encoding="utf-8"))
    assert "svg" not in read.tags
    assert "install icmodel[report], which brings vl-convert-python" in read.text
    assert "Numbers of the plot: goodput" in read.text
    assert [text for tag, text in read.headings if tag == "h2"][1:] == SECTIONS


def test_a_candidate_without_an_answer_is_reported_with_the_reason(tmp_path: Path) -> None:
    nowhere = small_evaluation(tmp_path, "nowhere")
    for made in (html_page(nowhere), markdown_page(nowhere).replace("\\", "")):
        text = Reader(made).text if made.startswith("<!") else made
        assert "small-1g has no protocol 'smoke'" in text
        assert "No plot: " in text
        assert "There is no prediction for nowhere." in text
    assert json.loads(json_page(nowhere))["plots"] == []


def test_assumed_rows_are_counted(small: Evaluation, small_pages: dict[str, str]) -> None:
    rows = small.chosen.answers[0].prediction.rows  # type: ignore[union-attr]
    assumed = sum(row.basis == "assumed" for row in rows)
    assert assumed > 0
    said = f"{assumed} of the {len(rows)} rows under slow are assumed"
    assert said in Reader(small_pages[".html"]).text


# --- the style --------------------------------------------------------------------------------


def test_every_colour_of_a_plot_follows_the_theme(page: str) -> None:
    drawn = set(re.findall(r'(fill|stroke)="(#[0-9a-f]{6})"', page))
    assert {colour for _, colour in drawn} <= {
        *COLOURS.values(),
        *TONES.values(),
        INK,
        QUIET,
        GRID,
        PAPER,
    }
    for kind, colour in drawn:
        assert f'.plot [{kind}="{colour}"]' in CSS, (kind, colour)


def luminance(colour: str) -> float:
    """Relative luminance of a colour, WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def themes() -> list[dict[str, str]]:
    """The colours of each theme: light, dark, paper."""
    found = re.findall(r":root \{(.*?)\}", CSS, re.S)
    themes = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block)) for block in found]
    return [themes[0] | theme for theme in themes]


@pytest.mark.parametrize("theme", themes(), ids=["light", "dark", "paper"])
def test_every_text_can_be_read_in_every_theme(theme: dict[str, str]) -> None:
    pairs = [("ink", "paper"), ("quiet", "paper"), ("accent", "paper"), ("quiet", "raised")]
    for outcome in ("met", "not-met", "undecided"):
        tint = f"{outcome}-tint"
        pairs += [(outcome, tint), ("paper", outcome), ("ink", tint), ("quiet", tint)]
    pairs += [("here", "paper")]
    for text, ground in pairs:
        assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
    for line in ("predicted", "theory", "requested", "limit", "here"):
        assert contrast(theme[line], theme["paper"]) >= 3, line


@cache
def judged(data: str) -> tuple[Evaluation, ...]:
    """The use case that has a candidate for other links, once for each of its candidates."""
    names = [candidate.name for candidate in evaluate("motion-control", data).usecase.candidates]
    return tuple(evaluate("motion-control", data, candidate=name) for name in names)


@pytest.mark.parametrize(
    "made",
    mostly_long(
        (html_page, markdown_page, json_page, evaluation_text), (markdown_page, evaluation_text)
    ),
)
@pytest.mark.parametrize("data", ["rapidio-tsi721", "infiniband-qdr-connectx2"])
def test_every_candidate_can_be_reported_on_other_datasets(
    made: Callable[[Evaluation], str], data: str
) -> None:
    assert len(judged(data)) > 1
    for evaluation in judged(data):
        assert evaluation.verdict in (MET, NOT_MET, UNDECIDED)
        assert evaluation.chosen.name in made(evaluation)

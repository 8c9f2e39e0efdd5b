"""The first page of every report: what it must say, that it says no more, and that its command repeats it."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import checkout
from icmodel.cli import main
from icmodel.report import report_bytes
from icmodel.report.blocks import MOST_CHANGES, MOST_DOUBTS, MOST_NUMBERS, Cell, Front, Page
from icmodel.report.front import MOST_NAME, MOST_SENTENCE
from icmodel.report.html import html_text
from icmodel.report.markdown import escape, markdown_text
from icmodel.report.masthead import masthead
from icmodel.report.pdf import plain, printable
from icmodel.requirement import OUTCOMES
from icmodel.system import SystemPrediction
from icmodel.units import parse
from icmodel.usecase import Evaluation
from reported import BRIEF, MAKERS, answer, page
from search import mostly_long
from small_case import small_evaluation


def front_of(content: Page) -> Front:
    assert content.front is not None
    return content.front


def outcomes(front: Front) -> list[str]:
    return [row[-1].outcome for row in front.numbers.rows]


@pytest.mark.parametrize("name", mostly_long(MAKERS, BRIEF))
def test_the_first_page_has_its_parts_and_is_short(name: str) -> None:
    content = page(name)
    front = front_of(content)
    assert 0 < len(front.numbers.rows) <= MOST_NUMBERS
    assert 1 <= len(front.doubts) <= MOST_DOUBTS
    assert 1 <= len(front.change) <= MOST_CHANGES
    assert len(set(front.doubts)) == len(front.doubts)
    assert front.buy
    facts = dict(front.repeat)
    assert facts["command"].startswith("icmodel ")
    assert any(text.startswith("sha256 ") for text in facts.values())
    texts = [*front.doubts, *front.change, *(text for _, text in front.buy)]
    assert all(0 < len(text) <= MOST_SENTENCE for text in texts)
    assert all(len(row[0].text) <= MOST_NAME for row in front.numbers.rows)
    assert content.answer.outcome in OUTCOMES


@pytest.mark.parametrize(
    "name", [name for name in MAKERS if name.startswith(("evaluate", "system"))]
)
def test_every_requirement_of_the_first_page_is_in_the_result_and_the_worst_are_there(
    name: str,
) -> None:
    found, front = answer(name), front_of(page(name))
    if isinstance(found, SystemPrediction) and not found.judged:
        assert {row[-1].text for row in front.numbers.rows} == {"not judged"}
        return
    ranks = [OUTCOMES.index(outcome) for outcome in outcomes(front)]
    assert ranks == sorted(ranks, reverse=True), "the worst first"
    if isinstance(found, Evaluation):
        judged = [(one.verdict.requirement.name, one.outcome) for one in found.chosen.findings]
    else:
        assert isinstance(found, SystemPrediction)
        worst: dict[str, str] = {}
        for one in found.judged:
            outcome, required = one.verdict.outcome, one.verdict.requirement.name
            worst[required] = max(worst.get(required, outcome), outcome, key=OUTCOMES.index)
        judged = list(worst.items())
    told = [(row[0].text, row[-1].outcome) for row in front.numbers.rows]
    assert len(told) == min(len(judged), MOST_NUMBERS)
    assert set(told) <= set(judged)
    assert OUTCOMES[ranks[0]] == found.verdict
    left = sorted((OUTCOMES.index(outcome) for _, outcome in judged), reverse=True)[MOST_NUMBERS:]
    assert bool(left) == bool(front.more)
    if left:
        assert f"{len(left)} more requirement" in front.more


def front_texts(front: Front) -> Iterator[str]:
    """Every text of a first page that all formats print."""
    tables = [front.numbers, *([front.parts] if front.parts is not None else [])]
    cells: list[Cell] = [cell for table in tables for row in table.rows for cell in row]
    for table in tables:
        yield from (table.caption, *table.columns)
    yield from (text for cell in cells for text in (cell.text, cell.note))
    yield from (*front.change, *front.doubts, front.more)
    yield from (text for _, text in (*front.buy, *front.repeat))


def strings(value: object) -> Iterator[str]:
    """Every text in the JSON from which typst sets the page."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


@pytest.mark.parametrize("name", mostly_long(MAKERS, BRIEF))
def test_every_format_says_the_same(name: str) -> None:
    from html import unescape

    content = page(name)
    made = unescape(html_text(content))
    marked = markdown_text(content)
    unmarked = marked.replace("\\", "")
    set_by_typst = set(strings(plain(content)))
    for text in filter(None, front_texts(front_of(content))):
        assert text in made, text
        assert escape(text).replace("\\", "") in unmarked, text
        assert printable(text) in set_by_typst, text
    for text in (content.title, content.question, content.answer.sentence):
        assert text in made
        assert escape(text) in marked
        assert printable(text) in set_by_typst


@pytest.mark.parametrize(
    "line",
    [
        "evaluate imaging",
        "evaluate imaging --candidate tcp-two-sets-of-cores --strict",
        "evaluate motion-control --dataset mpi-csd3 --variant hybrid",
        "system lab-udp-overload --variant appendix-h --dataset ethernet-10g-2012 --cycles fixed-point",
        "compare --usecase imaging --dataset ethernet-1g-2010",
        "recommend lab-priorities",
        "validate dds-1g --folds leave-one-out --metric goodput_bps --most 4 --worst 2 --variant corrected",
    ],
)
def test_the_printed_command_writes_the_same_report_again(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "house.toml").write_text("organisation = 'Us'\nfooter = 'Ours'\n", encoding="utf-8")
    head = (
        "--author 'A. & B.' --project=-x --revision 'B 2' --date 2026-11-25 --template house.toml"
    )
    code = main(shlex.split(f"{line} {head} -o first.md"))
    assert code in (0, 1, 3), capsys.readouterr().err
    first = Path("first.md").read_bytes()
    [command] = [text for text in first.decode().splitlines() if text.startswith("- command: ")]
    Path("first.md").unlink()
    words = shlex.split(command.removeprefix("- command: ").strip("`"))
    assert words[0] == "icmodel"
    assert main(words[1:]) == code
    assert Path("first.md").read_bytes() == first


def test_the_command_of_own_files_works_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made, folder = tmp_path / "made here", tmp_path / "elsewhere"
    made.mkdir()
    folder.mkdir()
    small = small_evaluation(made)
    shutil.copy(
        checkout.ROOT / "usecases" / "systems" / "lab-udp-overload.toml", made / "my own.toml"
    )
    [case] = made.glob("small*.toml")
    case = case.rename(made / "another name.toml")
    shutil.copytree(small.data.folder, folder / small.data.folder.name)
    for file in made.glob("*.toml"):
        shutil.copy(file, folder)
    monkeypatch.chdir(tmp_path)
    for first in (
        ["evaluate", str(case), "--dataset", str(small.data.folder), "-o", "report.html"],
        [
            "system",
            str(made / "my own.toml"),
            "--dataset",
            str(small.data.folder),
            "-o",
            "report.html",
        ],
    ):
        code = main(first)
        assert code in (1, 3), capsys.readouterr().err
        html = Path("report.html").read_text(encoding="utf-8")
        command = html.split("<dt>command</dt><dd><code>")[1].split("</code>")[0]
        words = shlex.split(command.replace("&#x27;", "'"))
        assert str(tmp_path) not in html, "no report names a folder of this machine"
        with monkeypatch.context() as there:
            there.chdir(folder)
            assert main(words[1:]) == code
        assert (folder / "report.html").read_text(encoding="utf-8") == html


def test_a_change_of_the_file_changes_its_hash(tmp_path: Path) -> None:
    small = small_evaluation(tmp_path)
    assert small.file is not None
    facts = dict(front_of(page("evaluate imaging")).repeat)
    assert facts["imaging"] != f"sha256 {small.file.sha256}"


def test_a_masthead_is_printed_in_every_format() -> None:
    head = masthead(author="A. Person", project="Hall 7", revision="B", date="2026-11-25")
    found = answer("evaluate imaging")
    for file in ("a.html", "a.md"):
        made = report_bytes(found, file, head).decode()
        assert "Hall 7 · A. Person · revision B · 2026-11-25" in made
        assert "--revision B" in made


def test_a_part_that_nothing_supports_is_not_known() -> None:
    front = front_of(page("evaluate imaging on mpi-csd3"))
    assert front.parts is not None
    cells = [[cell.text for cell in row[1:3]] for row in front.parts.rows]
    assert cells == [["not known", "not known"]] * 2, "the dataset has no such protocol"
    alone = front_of(page("system lab-switch"))
    assert alone.parts is not None
    assert [row[2].text for row in alone.parts.rows] == ["not known"] * 2, "theory knows no hosts"


def test_the_parts_of_a_latency_sum_to_its_mean() -> None:
    found = answer("evaluate imaging, met")
    assert isinstance(found, Evaluation)
    parts = front_of(page("evaluate imaging, met")).parts
    assert parts is not None
    stream = found.chosen.decisive.stream
    [one] = [each for each in found.chosen.answers if each.stream == stream]
    assert one.prediction is not None
    shown = [
        parse("s", text.removeprefix("takes ").removeprefix("add "))
        for text in (parts.rows[1][1].text, parts.rows[1][2].text)
    ]
    assert sum(shown) == pytest.approx(one.prediction.latency_mean_s.value, rel=1e-3)

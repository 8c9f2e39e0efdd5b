"""Tables keep to the width of a terminal, and lose nothing for it."""

from __future__ import annotations

import re
import shlex
from contextlib import redirect_stdout
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_case import terminal
from icmodel.cli import main
from icmodel.cli.output import COLUMN_PADDING, fit_to_width, stacked
from icmodel.table import Table
from search import mostly_long

WORDS = st.text("abcdefgh", min_size=1, max_size=9)
CELLS = st.lists(WORDS, max_size=8).map(" ".join) | st.lists(WORDS, max_size=4).map("_".join)
NUMBERS = st.floats(0, 1e9).map(lambda value: f"{value:.6g} Gb/s")


@st.composite
def tables(draw: st.DrawFn) -> Table[str]:
    count = draw(st.integers(1, 7))
    names = tuple(f"{draw(st.sampled_from(['#', '']))}{draw(CELLS)}_{at}" for at in range(count))
    cells = (NUMBERS if name.startswith("#") else CELLS for name in names)
    return Table(names, tuple(draw(st.lists(st.tuples(*cells), max_size=4))))


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@given(tables(), st.integers(20, 200))
def test_a_fitted_table_keeps_to_the_width_and_loses_nothing(table: Table[str], width: int) -> None:
    narrow = fit_to_width(table, width)
    if narrow is None:
        return
    columns = list(zip(narrow.names, *narrow.rows, strict=True))
    wide = [max(len(line) for cell in column for line in cell.split("\n")) for column in columns]
    assert sum(wide) + COLUMN_PADDING * len(wide) <= max(width, 0)
    for before, after in zip((table.names, *table.rows), (narrow.names, *narrow.rows), strict=True):
        assert [*map(squeezed, before)] == [*map(squeezed, after)]
    for row in narrow.rows:
        for right, cell in zip(narrow.right, row, strict=True):
            assert not right or "\n" not in cell  # a number stays whole
    assert narrow.right == table.right


@given(tables(), st.integers(60, 200))
def test_stacked_rows_keep_to_the_width_and_lose_nothing(table: Table[str], width: int) -> None:
    lines = stacked(table, width)
    assert all(len(line) <= width for line in lines)
    told = squeezed("".join(lines))
    assert all(squeezed(cell) in told for row in table.rows for cell in row)


@given(tables())
def test_a_table_that_fits_is_unchanged(table: Table[str]) -> None:
    assert fit_to_width(table, 10_000) is table


def on_terminal(line: str, width: int, folder: Path, code: int = 0) -> str:
    """What a command draws on a terminal of a width."""
    with terminal() as screen, pytest.MonkeyPatch.context() as place:
        place.setenv("TERM", "xterm")
        place.setenv("COLUMNS", str(width))
        place.chdir(folder)
        with redirect_stdout(screen.writer):
            assert main(shlex.split(line)) == code
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.drawn.replace("\r", ""))


WIDTHS = (60, 80, 120)
LINES = (
    "predict --payload '64 B'",
    "predict --payload '64 B' --all --why",
    "sweep --payload '64 B, 1448 B' --cores 1,4",
    "datasets list",
    "datasets show ethernet-10g-2012",
    "validate ethernet-1g-2010 --variant corrected --metric rtt_half_mean_s",
    "compare --payload '64 B' --variant corrected,appendix-h",
)
DRAWN = list(product(LINES, WIDTHS))
BRIEF = [one for one in DRAWN if one[1] == min(WIDTHS) or not one[0].startswith("validate")]
"""What takes a second is drawn at the width that leaves the least room."""


@pytest.mark.parametrize(("line", "width"), mostly_long(DRAWN, BRIEF))
def test_a_command_keeps_to_the_width_of_the_terminal(
    line: str, width: int, tmp_path: Path
) -> None:
    drawn = on_terminal(line, width, tmp_path)
    assert max(map(len, drawn.split("\n"))) <= width
    if line.endswith("--all --why"):
        assert "4.589844 M/s" in drawn  # a number is never broken
        assert "latency_mean_s" in squeezed(drawn)


@pytest.mark.parametrize(
    ("line", "heading", "code"),
    [
        ("compare --usecase imaging --rates 1 --dataset ethernet-1g-2010", "one by one", 1),
        ("compare --payload '1448 B' --protocol tcp,udp", "notes", 0),
        (
            "sweep --payload '64 B, 256 B' --dataset zeromq-100g-2019 --switches 1",
            "* extrapolated",
            0,
        ),
    ],
)
def test_texts_are_wrapped_once_to_the_width_of_the_terminal(
    line: str, heading: str, code: int, tmp_path: Path
) -> None:
    drawn = on_terminal(line, 60, tmp_path, code)
    _, _, lines = drawn.partition(heading)
    texts = lines.partition("\n\n")[0].split("\n")[1:]
    assert any(one.startswith("  ") for one in texts), drawn
    assert all(re.match(r"  |- |[0-9]+\. ", one) for one in texts), drawn


@pytest.mark.parametrize("words", ["", " --why"])
def test_an_evaluation_keeps_to_the_width_of_the_terminal(words: str, tmp_path: Path) -> None:
    drawn = on_terminal(f"evaluate imaging{words}", 80, tmp_path, 1)
    assert max(map(len, drawn.split("\n"))) <= 80

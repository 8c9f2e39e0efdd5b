"""Messages name parameters in Python, options on the command line, and keys over HTTP."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import typer

import checkout
from icmodel.calibrate.settings import Grid, Setup
from icmodel.calibrate.testbed import SshPair
from icmodel.cli import main
from icmodel.cli.ingest import app
from icmodel.errors import RecordError
from icmodel.fold import Settings
from icmodel.ingest import Labels, ingest
from icmodel.questions.doors import OPTIONS, in_options
from icmodel.web.bodies import in_keys
from ingest_cases import CASES, OPTIONS_OF_TOOLS

ROOMS_OF_COMMANDS = {"cli", "web", "questions"}
"""Rooms that no Python function passes: their words are those of the command line."""
OWNERS: Mapping[str, Callable[..., object]] = {
    "Labels": Labels,
    "Setup": Setup,
    "Grid": Grid,
    "SshPair": SshPair,
    "": ingest,
}
"""Class or function of a parameter in a message."""
PYTHON = re.compile(r"(?:Labels|ColumnMap|Setup|Grid|SshPair)\(|\b(?:tool|by_file|apart)=")
"""Parameter of Python in a message."""


def sources() -> Iterator[str]:
    """Text of each module that a Python function passes."""
    package = checkout.ROOT / "icmodel"
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in ROOMS_OF_COMMANDS:
            yield path.read_text(encoding="utf-8")


def raised(source: str) -> Iterator[str]:
    """Messages of the errors that a module raises, without commands in backquotes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and node.exc is not None:
            parts = [one.value for one in ast.walk(node.exc) if isinstance(one, ast.Constant)]
            yield re.sub("`[^`]*`", "", "".join(map(str, parts)))


def test_no_error_of_a_python_function_names_an_option_of_the_command_line() -> None:
    every = [text for source in sources() for text in raised(source)]
    assert len(every) > 500
    named = {option for text in every for option in re.findall(r"--[a-z][\w-]*", text)}
    assert named <= OPTIONS_OF_TOOLS


@pytest.mark.parametrize("pattern", OPTIONS)
def test_a_replaced_parameter_exists_and_occurs_in_a_message(pattern: str) -> None:
    owner, name = re.findall(r"(?:(\w+)\\\()?\b([a-z_]+)=", pattern)[-1]
    known = Settings if name == "apart" else OWNERS[owner]
    assert name in inspect.signature(known).parameters
    # A group stands for a value that the module inserts.
    parts = [re.sub(r"\\(.)", r"\1", part) for part in re.split(r"\(\\.\+\)", pattern)]
    spellings = ["".join(parts), "".join(parts).replace("{", "{{").replace("}", "}}")]
    inserted = re.compile(r"\{[^{}]+\}".join(map(re.escape, parts)))
    assert any(
        inserted.search(source) or any(one in source for one in spellings) for source in sources()
    )


def told() -> Iterator[str]:
    """Refusals, notes and reasons for all files of the corpus, without labels."""
    for file in sorted(CASES.rglob("*")):
        if file.is_file() and file.suffix not in (".toml", ".xlsx"):
            try:
                got = ingest([file])
            except RecordError as error:
                yield str(error)
            else:
                yield from (*got.notes, *(one.reason for one in got.refused))


def test_ingest_names_a_parameter_in_the_words_of_each_door() -> None:
    own = {name for one in typer.main.get_command(app).params for name in one.opts}
    own.discard("--help")
    option = re.compile(rf"(?<![\w-])(?:{'|'.join(own)})(?![\w-])")
    texts = list(told())
    for text in texts:
        assert not option.search(text), text
        assert not PYTHON.search(in_options(text)), text
        keyed = re.sub("`[^`]*`", "", in_keys(text))
        assert not PYTHON.search(keyed), text
        assert not option.search(keyed), text
    named = {name for text in texts for name in re.findall(r"(\w+)=", text)}
    assert {"tool", "columns", "by_file", "protocol", "payload_bytes", "host_cores"} <= named


def test_the_command_names_its_option_where_python_names_its_parameter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "unknown.txt"
    file.write_text("nothing\n", encoding="utf-8")
    with pytest.raises(RecordError, match='name the tool with tool="NAME", or map the columns'):
        ingest([file])
    assert main(["ingest", str(file), "-o", str(tmp_path / "made")]) == 2
    sentence = capsys.readouterr().err
    assert "with --tool, or map the columns of a table with `icmodel ingest --map`" in sentence


def test_a_dataset_of_the_command_names_its_options(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    unknown = tmp_path / "unknown.txt"
    unknown.write_text("nothing\n", encoding="utf-8")
    files = [str(CASES / "iperf3" / "tcp.json"), str(unknown)]
    assert main(["ingest", *files, "-o", str(folder)]) == 2
    written = "".join(file.read_text(encoding="utf-8") for file in folder.iterdir())
    assert "with --tool, or map" in written
    assert not PYTHON.search(written)

"""The command line as a whole: help, version, pipes, terminals and files."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import checkout
import icmodel
from cli_case import CENTRAL, TABLE_8_1, RunIcmodel, own_process, terminal
from conftest import clean_environment
from icmodel.cli import COMMANDS, main
from test_docs import documents, executed, steps

PATHS = [
    (),
    *((name,) for name in COMMANDS),
    *(("datasets", name) for name in ("list", "show", "points", "check")),
    *(("usecases", name) for name in ("list", "show", "new")),
    *(("system", name) for name in ("predict", "list", "show", "check", "import", "export")),
    *(("theory", name) for name in ("ethernet", "infiniband", "roce", "rapidio")),
]


@pytest.mark.parametrize("path", PATHS)
def test_help_explains_and_shows_examples(run_icmodel: RunIcmodel, path: tuple[str, ...]) -> None:
    printed = run_icmodel(" ".join((*path, "--help")))
    assert printed.code == 0
    assert printed.out.startswith(f"Usage: {' '.join(('icmodel', *path))} ")
    examples = [line.strip() for line in printed.out.splitlines() if line.startswith("  icmodel ")]
    assert examples
    assert printed.out.split("\n\n")[1].strip()


def examples() -> Iterator[str]:
    """The examples of all help texts that need no file of one's own."""
    from icmodel.cli import app

    import typer  # isort: skip

    def texts(command: Any) -> Iterator[str]:
        yield command.help
        context = typer.Context(command)
        names = command.list_commands(context) if hasattr(command, "list_commands") else []
        for name in names:
            yield from texts(command.get_command(context, name))

    for text in texts(typer.main.get_command(app)):
        joined = text.replace("\\\n", " ")
        for line in joined.splitlines():
            own = any(word in line for word in OF_ONES_OWN)
            if line.strip().startswith("icmodel ") and not own:
                yield " ".join(line.split())


OF_ONES_OWN = ("my-", "path/of", "COMMAND", "icmodel serve", "--against", " > ")
"""Words of examples that need a file, a server or a shell; the guides show and run them."""
JUDGES = re.compile(" (evaluate|recommend|verify|compare --usecase|system imaging) ")


def examples_no_document_shows() -> list[str]:
    """The others are run, and what they print is compared, where `test_docs` runs that document."""
    shown = [
        shlex.split(step.command.partition(" # exit")[0])
        for name in documents()
        for block in executed(name)
        if block.language == "console"
        for step in steps(block)
        if step.command.startswith("icmodel ")
    ]
    return [line for line in sorted(set(examples())) if shlex.split(line) not in shown]


@pytest.mark.parametrize("line", examples_no_document_shows())
def test_the_examples_of_the_help_work(
    line: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = main(shlex.split(line)[1:])
    printed = capsys.readouterr()
    assert code in ((0, 1, 3) if JUDGES.search(line) else (0,)), printed.err
    said = printed.err.splitlines()
    assert said in ([], [f"{one.name}: written" for one in tmp_path.iterdir()])


def test_the_version_is_printed(run_icmodel: RunIcmodel, tmp_path: Path) -> None:
    assert run_icmodel("--version").out == f"icmodel {icmodel.__version__}\n"
    assert own_process("--version", cwd=tmp_path).stdout == f"icmodel {icmodel.__version__}\n"


def test_tables_are_drawn_on_a_terminal_and_plain_when_piped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "icmodel", *shlex.split("predict --payload '1448 B' --why")]
    environment = {
        **clean_environment(),
        "PYTHONPATH": str(checkout.ROOT),
        "TERM": "xterm-256color",
        "COLUMNS": "140",
    }
    with terminal() as screen:
        subprocess.run(command, cwd=tmp_path, env=environment, stdout=screen.writer, check=True)
    piped = own_process(*shlex.split("predict --payload '1448 B' --why"), cwd=tmp_path).stdout
    assert "─" in screen.drawn
    assert "9.4106 Gb/s" in screen.drawn
    assert "─" not in piped
    assert "\x1b" not in piped
    assert "9.4106 Gb/s" in piped


@pytest.mark.parametrize("line", [f"datasets points {CENTRAL}", f"{TABLE_8_1} --json", "--help"])
def test_a_closed_pipe_is_no_error(line: str, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "icmodel", *shlex.split(line)],
            cwd=tmp_path,
            env={**clean_environment(), "PYTHONPATH": str(checkout.ROOT)},
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 141


def test_a_file_replaces_an_older_one_whole(run_icmodel: RunIcmodel, tmp_path: Path) -> None:
    old = tmp_path / "answer.json"
    old.write_text("old", encoding="utf-8")
    link = tmp_path / "other.json"
    os.link(old, link)
    assert run_icmodel("predict --payload '1448 B' -o answer.json").code == 0
    assert json.loads(old.read_text("utf-8"))["variant"] == "corrected"
    assert link.read_text("utf-8") == "old"  # a new file took the place, the old one is untouched


def test_a_device_is_written_in_place(run_icmodel: RunIcmodel, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as cat:
        assert run_icmodel("predict --payload '1448 B' -o pipe.txt").code == 0
        read, _ = cat.communicate()
    assert read == run_icmodel("predict --payload '1448 B'").out
    assert pipe.is_fifo()

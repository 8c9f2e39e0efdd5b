"""What README.md, CONTRIBUTING.md, docs/ and usecases/ show is run.

The convention, told to writers in CONTRIBUTING.md:

- a ``console`` block is run: lines after ``$ `` are the commands (``\\`` continues one), a closing
  ``# exit N`` says the expected exit code, other lines are printed lines that must appear in this
  order, blanks aside, with ``...`` for anything;
- a ``python`` block is run, and a ``pycon`` block as a doctest; the blocks of a document share
  their names;
- a block with ``title="NAME"`` is written to the file of that name;
- any other block is only shown.

All blocks of one document run from top to bottom in one empty folder.  What is one ``icmodel`` command and
nothing else is run in this process, which saves its start; that the installed command starts is tested apart.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import checkout
from conftest import clean_environment, run
from icmodel.cli import main

FENCE = re.compile(r"^(?P<indent> *)```(?P<words>.*)$")
TITLE = re.compile(r'title="(?P<name>[^"]+)"')
EXIT = re.compile(r"#\s*exit (?P<code>\d+)\s*$")
DOCTEST = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
EXECUTED = ("console", "python", "pycon")
ONLY_A_SHELL = re.compile(r"[|&;<>()$`*?~]")
COLUMNS = "100"


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, its language and its text."""

    where: str
    language: str
    title: str
    text: str


@dataclass(frozen=True)
class Step:
    """One command of a console block, and what the block says of it."""

    command: str
    code: int
    printed: tuple[str, ...]


def blocks(text: str, name: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text, the indented ones too."""
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        if opened := FENCE.match(line):
            indent, words = opened["indent"], opened["words"]
            body = []
            for _, inside in lines:
                if inside.strip() == "```":
                    break
                body.append(inside.removeprefix(indent))
            title = TITLE.search(words)
            language = words.split()[0].strip("{}.") if words.strip() else ""
            yield Block(
                f"{name} line {number}",
                language,
                title["name"] if title else "",
                "\n".join(body) + "\n",
            )


def steps(block: Block) -> Iterator[Step]:
    """The commands of a console block."""
    joined = block.text.replace("\\\n", " ")
    for part in re.split(r"(?m)^\$ ", joined)[1:]:
        command, *printed = part.splitlines()
        said = EXIT.search(command)
        shown = tuple(line for line in printed if line.strip())
        yield Step(" ".join(command.split()), int(said["code"]) if said else 0, shown)


def shows(expected: tuple[str, ...], printed: str) -> str:
    """The first expected line that is not printed after the ones before it, or nothing."""
    left = [" ".join(line.split()) for line in printed.splitlines()]
    for line in expected:
        pattern = ".*".join(map(re.escape, " ".join(line.split()).split("...")))
        while left and not re.fullmatch(pattern, left[0]):
            left.pop(0)
        if not left and pattern != ".*":
            return line
    return ""


def documents() -> list[str]:
    """Every Markdown file for people, without the notes that belong to one dataset."""
    return [
        name.as_posix()
        for name in checkout.files()
        if name.suffix == ".md" and name.parts[0] != "data" and "cases" not in name.parts
    ]


def executed(name: str) -> list[Block]:
    text = (checkout.ROOT / name).read_text(encoding="utf-8")
    return [block for block in blocks(text, name) if block.language in EXECUTED or block.title]


def uses_the_probe(name: str) -> bool:
    """Whether a command of a document runs icprobe, or lets icmodel look for it."""
    commands = [
        step.command
        for block in executed(name)
        if block.language == "console"
        for step in steps(block)
    ]
    return any(re.match(r"icprobe |icmodel calibrate --check", command) for command in commands)


def run_console(block: Block, folder: Path) -> None:
    for step in steps(block):
        if step.command.startswith("make "):
            is_a_target_of_make(step.command)
        else:
            run_step(step, block, folder)


def is_a_target_of_make(command: str) -> None:
    """Look it up only: CI runs ``make test``, and a test of the wheel runs ``make verdict``."""
    run(*command.split("#")[0].split(), "--dry-run", cwd=checkout.ROOT)


def run_step(step: Step, block: Block, folder: Path) -> None:
    words = shlex.split(step.command, comments=True)
    if words[0] == "icmodel" and not ONLY_A_SHELL.search(step.command):
        code, printed = run_here(words[1:], folder)
    else:
        code, printed = run_in_bash(step.command, folder)
    said = f"{block.where}: $ {step.command}\nexit {code}\n{printed}"
    assert code == step.code, f"{said}\nexpected exit {step.code}"
    missing = shows(step.printed, printed)
    assert not missing, f"{said}\nnot printed: {missing}"


def run_here(arguments: list[str], folder: Path) -> tuple[int, str]:
    """The exit code of ``icmodel`` with these arguments, and what it printed."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as place:
        place.chdir(folder)
        place.setenv("COLUMNS", COLUMNS)
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = main(arguments)
    printed.seek(0)
    return code, printed.read()


def run_in_bash(command: str, folder: Path) -> tuple[int, str]:
    """The exit code of a command line, and what it printed."""
    folders = (str(Path(sys.executable).parent), os.environ["PATH"], str(checkout.PROBE.parent))
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**clean_environment(), "PATH": os.pathsep.join(folders), "COLUMNS": COLUMNS},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout


def run_python(block: Block, names: dict[str, object]) -> None:
    code = compile(block.text, block.where, "exec")
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, names)


def run_pycon(block: Block, names: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, names, block.where, block.where, 0)
    told = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=DOCTEST)
    runner.run(test, out=told.write, clear_globs=False)
    names.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0, told.getvalue()


@pytest.mark.parametrize("name", [name for name in documents() if executed(name)])
def test_what_a_document_shows_is_so(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if uses_the_probe(name):
        request.getfixturevalue("probe")
    assert shutil.which("icmodel", path=str(Path(sys.executable).parent)), (
        "there is no icmodel beside this Python: `make develop` installs it"
    )
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in executed(name):
        if block.title:
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            run_console(block, tmp_path)
        elif block.language == "python":
            run_python(block, names)
        else:
            run_pycon(block, names)


def test_the_first_command_of_the_readme_starts_the_installed_one(tmp_path: Path) -> None:
    """As in a shell; all others are run in this process."""
    first = next(
        step
        for block in executed("README.md")
        if block.language == "console"
        for step in steps(block)
        if step.command.startswith("icmodel ")
    )
    code, printed = run_in_bash(first.command, tmp_path)
    assert code == first.code
    assert not shows(first.printed, printed)


def test_the_readme_shows_the_two_commands() -> None:
    commands = [
        step.command
        for block in executed("README.md")
        if block.language == "console"
        for step in steps(block)
        if step.command.startswith("make ")
    ]
    assert commands == ["make verdict", "make test"]


def test_every_kind_of_documentation_is_there() -> None:
    for kind in ("start", "tutorial", "guides", "reference", "background"):
        assert (checkout.ROOT / "docs" / kind / "index.md").is_file()


def test_the_page_on_the_architecture_names_files_that_exist() -> None:
    """Paths are relative to the repository, the package, its room of systems, or the crate."""
    text = (checkout.ROOT / "docs" / "background" / "architecture.md").read_text(encoding="utf-8")
    roots = [checkout.ROOT / root for root in ("", "icmodel", "icmodel/system", "calibration/src")]
    named = {
        name for name in re.findall(r"`([\w./*-]+)`", text) if re.search(r"/|\.(py|css|typ)$", name)
    }
    assert len(named) > 60
    missing = {
        name for name in named if not any(any(root.glob(name.rstrip("/"))) for root in roots)
    }
    assert not missing


SAMPLE = """
Text.

```console
$ icmodel evaluate \\
    imaging   # exit 1
goodput   not met
...
$ true
```

- in a list

    ```toml title="own.toml"
    a = 1
    ```

```sh
rm -rf everything
```
"""


def test_blocks_and_steps_are_found() -> None:
    console, toml, shown = blocks(SAMPLE, "sample.md")
    assert (console.where, console.language) == ("sample.md line 4", "console")
    assert (toml.title, toml.text, shown.language) == ("own.toml", "a = 1\n", "sh")
    first, second = steps(console)
    assert first == Step("icmodel evaluate imaging # exit 1", 1, ("goodput   not met", "..."))
    assert second == Step("true", 0, ())


@pytest.mark.parametrize(
    ("expected", "printed", "missing"),
    [
        (("a  b",), "x\n a b \n", ""),
        (("a", "c"), "a\nb\nc\n", ""),
        (("a", "..."), "a\n", ""),
        (("goodput ... Gb/s",), "goodput 3.5 Gb/s\n", ""),
        (("c", "a"), "a\nb\nc\n", "a"),
        (("a",), "ab\n", "a"),
        (("goodput ... Gb/s",), "goodput 3.5 Mb/s\n", "goodput ... Gb/s"),
    ],
)
def test_a_printed_line_that_is_missing_is_named(
    expected: tuple[str, ...], printed: str, missing: str
) -> None:
    assert shows(expected, printed) == missing


@pytest.mark.parametrize("text", ["$ false", "$ true # exit 1", "$ echo a\nb"])
def test_a_console_block_that_is_not_so_fails(text: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="sample"):
        run_console(Block("sample", "console", "", f"{text}\n"), tmp_path)


def test_a_session_that_is_not_so_fails() -> None:
    run_pycon(Block("sample", "pycon", "", ">>> 1 + 1\n2\n"), {})
    with pytest.raises(AssertionError, match="Expected"):
        run_pycon(Block("sample", "pycon", "", ">>> 1 + 1\n3\n"), {})

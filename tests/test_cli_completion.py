"""Completion in real shells, the manual page in groff, errors as JSON, and what icmodel alone says."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import pytest
import typer

from icmodel.cli import START, app, main
from icmodel.cli.completion import (
    KINDS,
    bash_script,
    fish_script,
    manual,
    sentence,
    walk,
    zsh_script,
)
from icmodel.dataset import VARIANTS, catalogue
from icmodel.schemas import output_schemas
from icmodel.system import system_names
from icmodel.usecase import usecase_names

COMMANDS = tuple(walk(typer.main.get_command(app)))
Run = Callable[[str], Any]
ZSH = """
compadd() {{ shift; print -l -- "$@"; }}
_files() {{ print FILES; }}
_describe() {{ local name=${{@[-1]}}; print -l -- "${{(@P)name}}"; }}
{script}
words=({words})
CURRENT=$#words
_icmodel
"""
"""Calls the function as zsh's widget does, and prints what would be offered."""


def shell(name: str) -> str:
    """Path of a shell."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name}")
    return found


def printed(name: str, script: str) -> list[str]:
    """Lines that a shell prints for a script, without reading the user's files."""
    quiet = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[name]
    with TemporaryDirectory() as folder:  # without files to offer
        done = subprocess.run(
            [shell(name), *quiet, "-c", script],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stderr == ""
    return done.stdout.splitlines()


@cache
def offered(name: str, line: str) -> set[str]:
    """What a shell offers at the end of a line; files in the folder are left out."""
    words = line.split(" ")
    if name == "bash":
        split = shlex.join(words)
        asked = f"COMP_WORDS=({split}); COMP_CWORD={len(words) - 1}; _icmodel; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return {word for word in printed("bash", f"{bash_script(COMMANDS)}\n{asked}") if word}
    if name == "zsh":
        script = ZSH.format(script=zsh_script(COMMANDS), words=shlex.join(words))
        found = {word.partition(":")[0] for word in printed("zsh", script)}
        return {word for word in found - {"FILES"} if word.startswith(words[-1])}
    script = f"{fish_script(COMMANDS)}\ncomplete -C {shlex.quote(line)}"
    return {word.partition("\t")[0] for word in printed("fish", script)}


SHELLS = ("bash", "zsh", "fish")
LINES = {
    "icmodel ev": {"evaluate"},
    "icmodel datasets ": {"list", "show", "points", "check"},
    "icmodel evaluate im": {"imaging"},
    "icmodel system predict ": set(system_names()),
    "icmodel usecases show ": set(usecase_names()),
    "icmodel datasets show ": set(catalogue()),
    "icmodel predict --dataset ethernet-1": {"ethernet-10g-2012", "ethernet-1g-2010"},
    "icmodel predict --payload 64 --variant ": set(VARIANTS),
    "icmodel predict --protocol ud": {"udp"},
    "icmodel predict --option nagle": {"nagle=off", "nagle=on"},
    "icmodel predict --requested": {"--requested-goodput"},
    "icmodel predict --rate ": set(),
    "icmodel plot goodput_bps --over ": {"payload", "load", "cores"},
    "icmodel plot latency_m": {"latency_max_s", "latency_mean_s", "latency_min_s"},
    "icmodel datasets points ethernet-10g-2012 --metric loss": {"loss_rate"},
    "icmodel theory roce --vers": {"--version"},
    "icmodel completion ": set(KINDS),
}


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("line", LINES)
def test_a_shell_completes(name: str, line: str) -> None:
    assert offered(name, line) == LINES[line]


LEAVES = ("icmodel", "icmodel predict", "icmodel datasets points", "icmodel theory roce")


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("path", LEAVES)
def test_every_option_of_a_command_is_offered(name: str, path: str) -> None:
    (command,) = (one for one in COMMANDS if one.path == path)
    names = {word for option in command.options for word in option.names}
    assert offered(name, f"{path} --") == {word for word in names if word.startswith("--")}


@pytest.mark.parametrize("name", SHELLS)
def test_every_command_is_offered(name: str) -> None:
    assert offered(name, "icmodel ") >= {*COMMANDS[0].commands}


@pytest.mark.parametrize("name", SHELLS)
def test_every_option_with_its_command_is_in_the_script(name: str) -> None:
    script = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}[name](COMMANDS)
    for command in COMMANDS:
        assert command.path in script
        for option in command.options:
            assert option.names[-1].lstrip("-") in script


def test_bash_completes_behind_an_equals_sign() -> None:
    """Bash splits ``--dataset=eth`` into three words."""
    assert offered("bash", "icmodel predict --variant = hy") == {"hybrid"}
    assert offered("bash", "icmodel predict --variant =") == set(VARIANTS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_prints_what_it_makes(kind: str, run_icmodel: Run) -> None:
    made = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script, "man": manual}[kind]
    answer = run_icmodel(f"completion {kind}")
    assert (answer.code, answer.out) == (0, made(COMMANDS))
    assert main(["completion", "tcsh"]) == 2


@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_a_script_can_be_sourced_where_nothing_else_is(name: str) -> None:
    script = {"zsh": zsh_script, "fish": fish_script}[name](COMMANDS)
    assert printed(name, script) == []


# --- the manual page --------------------------------------------------------------------------


def test_groff_sets_the_manual_page_without_a_warning() -> None:
    done = subprocess.run(
        [shell("groff"), "-man", "-Kutf8", "-Tutf8", "-ww", "-P-cbou"],
        input=manual(COMMANDS),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    page = done.stdout
    lines = [" ".join(line.split()) for line in page.splitlines()]
    for command in COMMANDS[1:]:
        path = command.path.removeprefix("icmodel ")
        assert any(line.startswith(f"{path} ") for line in lines), path
        for option in command.options:
            assert any(line.startswith(f"{', '.join(option.names)}") for line in lines)
    assert 'icmodel predict --payload "1448 B" --rate 6700/s --all --why' in lines
    assert "--switches 1 --endpoints 2" in page
    assert "Exit codes" in page


# --- errors as JSON ---------------------------------------------------------------------------

ERRORS = {
    "predict --payload '0 B' --json": ("ScenarioError", "icmodel predict"),
    "predict --payload '65536 B' --json": ("OutOfDomain", "icmodel predict"),
    "predict --payload '64 KB' --json": ("UnitError", "icmodel predict"),
    "predict --json --jsn": ("UsageError", "icmodel predict"),
    "datasets show nowhere --json": ("DatasetError", "icmodel datasets"),
    "datasets shw --json": ("UsageError", "icmodel datasets"),
    "evaluate --json": ("UsageError", "icmodel evaluate"),
    "evaluate damaged.toml --json": ("UseCaseError", "line 2, column 8"),
    "system damaged.toml --json": ("NetworkError", "line 2, column 8"),
    "predikt --json": ("IcmodelError", "icmodel"),
    "--json": ("UsageError", "icmodel"),
    "compare --dataset nowhere --payload '64 B' --json": ("DatasetError", "icmodel compare"),
    "predict --payload '64 B' --json -o table.gif": ("ReportError", "icmodel predict"),
}


@pytest.mark.parametrize("line", ERRORS)
def test_an_error_is_json_too(line: str, run_icmodel: Run) -> None:
    Path("damaged.toml").write_text("schema_version = 1\nname = \n", encoding="utf-8")
    answer = run_icmodel(line)
    kind, where = ERRORS[line]
    assert answer.code == 2
    document = json.loads(answer.out)
    schema = {**output_schemas(), "$ref": "#/$defs/error"}
    jsonschema.Draft202012Validator(schema).validate(document)
    error = document["error"]
    assert (error["kind"], error["where"]) == (kind, where)
    assert answer.err == f"icmodel: {error['message']}\n"


@pytest.mark.parametrize("path", [one.path for one in COMMANDS if not one.commands])
def test_every_command_with_json_says_an_unknown_option_as_json(
    path: str, run_icmodel: Run
) -> None:
    answer = run_icmodel(f"{path.removeprefix('icmodel ')} --no-such-option --json")
    assert answer.code == 2
    error = json.loads(answer.out)["error"]
    assert error["kind"] == "UsageError"
    assert "--no-such-option" in error["message"]


def test_without_json_nothing_is_printed_on_standard_output(run_icmodel: Run) -> None:
    answer = run_icmodel("predict --payload '0 B'")
    assert (answer.code, answer.out) == (2, "")


# --- alone ------------------------------------------------------------------------------------


def test_icmodel_alone_says_where_to_begin(run_icmodel: Run) -> None:
    answer = run_icmodel("")
    assert (answer.code, answer.out, answer.err) == (0, START, "")
    lines = answer.out.splitlines()
    assert len(lines) <= 12
    assert all(len(line) <= 100 for line in lines)
    commands = [line.strip().split("  ")[0] for line in lines if line.startswith("  icmodel ")]
    assert len(commands) == 5
    for command in commands:
        assert run_icmodel(f"{command.split()[1]} --help").code == 0, command


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Protocol, e.g. tcp. More follows.", "Protocol, e.g. tcp"),
        ("Goodput, i.e. payload bits [default: 3]", "Goodput, i.e. payload bits"),
        ("Line rate of 1 Gb/s (assumed). Else none.", "Line rate of 1 Gb/s (assumed)"),
    ],
)
def test_a_description_is_the_first_sentence_of_the_help(text: str, first: str) -> None:
    assert sentence(text) == first

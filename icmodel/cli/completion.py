"""``icmodel completion``: completion scripts for shells, and the manual page.

A script is static: it contains all commands, options and names, and never starts icmodel.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from icmodel import __version__
from icmodel.cli.options import make_app
from icmodel.cli.output import print_text
from icmodel.errors import ScenarioError

app = make_app()

KINDS = ("bash", "zsh", "fish", "man")
FILES = "FILES"
"""Placeholder in a list of offered values. The shell replaces it by paths of files and folders."""

Kind = Annotated[
    str,
    typer.Argument(
        metavar="KIND",
        help="bash, zsh or fish for a completion script; man for the manual page.",
    ),
]


@app.command(short_help="Print a completion script for a shell, or the manual page.")
def completion(kind: Kind, ctx: typer.Context) -> None:
    """Print a script for completion by Tab in bash, zsh or fish; or print the manual page.

    The script is static, so it does not slow the start of the shell. It holds the names of datasets,
    use cases, systems, variants and protocols. So print it again after an update of icmodel.

    \b
    icmodel completion bash > ~/.local/share/bash-completion/completions/icmodel
    icmodel completion zsh > ~/.zfunc/_icmodel
    icmodel completion fish > ~/.config/fish/completions/icmodel.fish
    icmodel completion man > ~/.local/share/man/man1/icmodel.1
    """  # noqa: D301
    if kind not in KINDS:
        raise ScenarioError(f"there is no completion for {kind!r}: use one of {', '.join(KINDS)}")
    write = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script, "man": manual}[kind]
    print_text(write(tuple(walk(ctx.find_root().command))))


# --- commands ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter:
    """Option or argument of a command: spellings, help, placeholder and offered values.

    An argument has no spellings. A switch (option without a value) has no placeholder.
    """

    names: tuple[str, ...]
    help: str
    metavar: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """Command with its path (``icmodel datasets show``), texts, parameters and names of its subcommands."""

    path: str
    help: str
    short_help: str
    options: tuple[Parameter, ...]
    arguments: tuple[Parameter, ...]
    commands: tuple[str, ...]


def walk(top: object) -> Iterator[Command]:
    """Yield the command ``icmodel`` and all commands below it."""
    offered = offered_values()

    def below(command: object, path: str, parent: typer.Context | None) -> Iterator[Command]:
        assert isinstance(command, TyperCommand | TyperGroup)
        context = typer.Context(command, parent, info_name=path, **command.context_settings)
        options, arguments = [], []
        for one in command.get_params(context):
            assert isinstance(one, TyperOption | TyperArgument)
            text = one.help or ""
            metavar = "" if getattr(one, "is_flag", False) else one.make_metavar(context)
            if isinstance(one, TyperArgument):
                key = f"{path.split()[1]} {metavar}" if metavar == "NAME" else metavar
                arguments.append(Parameter((), text, metavar, offered.get(key, ())))
            else:
                values = (FILES,) if metavar in ("FILE", "DIR") else offered.get(one.opts[-1], ())
                names = tuple(sorted(one.opts, key=len))  # the order of -h and --help varies
                options.append(Parameter(names, text, metavar, values))
        inner = command.list_commands(context) if isinstance(command, TyperGroup) else ()
        short = command.get_short_help_str(90)
        parameters = tuple(options), tuple(arguments)
        yield Command(path, command.help or "", short, *parameters, tuple(inner))
        for name in inner:
            assert isinstance(command, TyperGroup)
            yield from below(command.get_command(context, name), f"{path} {name}", context)

    yield from below(top, "icmodel", None)


def offered_values() -> dict[str, tuple[str, ...]]:
    """Return a dict: option (``--dataset``) or placeholder of an argument (``DATASET``) -> values to offer."""
    from icmodel.dataset import VARIANTS, catalogue, load
    from icmodel.system import system_names
    from icmodel.usecase import load_usecase, usecase_names

    data = [load(name) for name in catalogue()]
    cases = [load_usecase(name) for name in usecase_names()]
    metrics = tuple(sorted({metric for one in data for metric in one.metrics}))
    options = {
        f"{axis}={value}"
        for one in data
        for axis in one.option_axes
        for value in one.option_values(axis)
    }
    return {
        "DATASET": (*catalogue(), FILES),
        "KIND": KINDS,
        "METRIC": metrics,
        "SYSTEM": (*system_names(), FILES),
        "USECASE": (*usecase_names(), FILES),
        "datasets NAME": (*catalogue(), FILES),
        "usecases NAME": (*usecase_names(), FILES),
        "FILE": (FILES,),
        "FILE...": (FILES,),
        "RECORDS...": (FILES,),
        "--candidate": tuple(sorted({one.name for case in cases for one in case.candidates})),
        "--dataset": (*catalogue(), FILES),
        "--default-variant": VARIANTS,
        "--metric": metrics,
        "--option": tuple(
            sorted(option for option in options if re.fullmatch(r"[\w=.-]+", option))
        ),
        "--over": ("payload", "load", "cores"),
        "--protocol": tuple(sorted({name for one in data for name in one.protocols})),
        "--solve": ("rate", "payload", "cores"),
        "--usecase": (*usecase_names(), FILES),
        "--variant": VARIANTS,
    }


def sentence(text: str) -> str:
    """Return the first sentence of a help text, without the stated default value."""
    plain = " ".join(text.partition(" [default: ")[0].split())
    return re.split(r"(?<=[a-z)\"])(?<!\be\.g)(?<!\bi\.e)\.(?: |$)", plain)[0].rstrip(".")


def options_by_values(commands: tuple[Command, ...]) -> dict[tuple[str, ...], list[str]]:
    """Group the options that offer the same values: values -> options, each with its command.

    An option is written as in ``icmodel predict:--dataset``.
    """
    places: dict[tuple[str, ...], list[str]] = {}
    for command in commands:
        for option in command.options:
            if option.metavar:
                there = [f"{command.path}:{name}" for name in option.names]
                places.setdefault(option.values, []).extend(there)
    return places


def next_words(command: Command) -> tuple[str, ...]:
    """Return the possible next words after a command: its subcommands, or values of its argument."""
    return command.commands or tuple(value for one in command.arguments for value in one.values)


# --- bash and zsh -----------------------------------------------------------------------------

BASH = """\
# icmodel {version}: completion for bash, printed by `icmodel completion bash`
_icmodel() {{
    local at=icmodel cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} options= values= i
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${{COMP_WORDS[i]}}" in
            {paths}) at="$at ${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$at" in
{commands}
    esac
    if [[ $cur == -* ]]; then
        values=$options
    fi
    case "$at:$prev" in
{values}
    esac
    COMPREPLY=()
    if [[ " $values " == *" {files} "* ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        values=${{values/{files}/}}
    fi
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -W "$values" -- "$cur")
}}
complete -F _icmodel icmodel
"""


def bash_script(commands: tuple[Command, ...]) -> str:
    """Return the completion script for bash."""
    rows = []
    for one in commands:
        options = " ".join(name for option in one.options for name in option.names)
        words = " ".join(next_words(one))
        rows.append(
            f"        {quoted(one.path)}) options={quoted(options)} values={quoted(words)} ;;"
        )
    values = [
        f"        {'|'.join(map(quoted, places))}) values={quoted(' '.join(words))} ;;"
        for words, places in options_by_values(commands).items()
    ]
    return BASH.format(
        version=__version__,
        paths="|".join(quoted(one.path) for one in commands[1:]),
        commands="\n".join(rows),
        values="\n".join(values),
        files=FILES,
    )


ZSH = """\
#compdef icmodel
# icmodel {version}: completion for zsh, printed by `icmodel completion zsh`
_icmodel() {{
    local at=icmodel cur=${{words[CURRENT]}} prev=${{words[CURRENT-1]}} i
    local -a options commands values
    for ((i = 2; i < CURRENT; i++)); do
        case "$at ${{words[i]}}" in
            {paths}) at="$at ${{words[i]}}" ;;
        esac
    done
    case "$at:$prev" in
{values}
    esac
    case "$at" in
{commands}
    esac
    if [[ $cur == -* ]]; then
        _describe -o option options
    elif (( ${{#commands}} )); then
        _describe command commands
    else
        compadd -- ${{values:#{files}}}
        if (( ${{values[(I){files}]}} )); then _files; fi
    fi
}}
if [[ ${{zsh_eval_context[-1]}} == loadautofunc ]]; then
    _icmodel "$@"
elif (( $+functions[compdef] )); then
    compdef _icmodel icmodel
fi
"""


def zsh_script(commands: tuple[Command, ...]) -> str:
    """Return the completion script for zsh, with a description of each option and command."""
    texts = {one.path: one.short_help for one in commands}
    rows = []
    for one in commands:
        options = " ".join(
            quoted(f"{name}:{sentence(option.help)}")
            for option in one.options
            for name in option.names
        )
        inner = " ".join(
            quoted(f"{name}:{sentence(texts[f'{one.path} {name}'])}") for name in one.commands
        )
        words = " ".join(() if one.commands else map(quoted, next_words(one)))
        rows.append(
            f"        {quoted(one.path)}) options=({options}) commands=({inner}) values=({words}) ;;"
        )
    values = []
    for taken, places in options_by_values(commands).items():
        names = " ".join(quoted(word) for word in taken if word != FILES)
        body = [
            f"compadd -- {names}" if names else "",
            "_files" if FILES in taken else "",
            "return",
        ]
        shown = "; ".join(filter(None, body))
        values.append(f"        {'|'.join(map(quoted, places))}) {shown} ;;")
    return ZSH.format(
        version=__version__,
        paths="|".join(quoted(one.path) for one in commands[1:]),
        commands="\n".join(rows),
        values="\n".join(values),
        files=FILES,
    )


def quoted(text: str) -> str:
    """Return a text in single quotes for bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


# --- fish -------------------------------------------------------------------------------------

FISH = """\
# icmodel {version}: completion for fish, printed by `icmodel completion fish`
function __icmodel_at
    set -l at icmodel
    for word in (commandline -opc)[2..]
        switch "$at $word"
            case {paths}
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c icmodel -f
{rows}
"""


def fish_script(commands: tuple[Command, ...]) -> str:
    """Return the completion script for fish, with a description of each option and command."""

    def fish(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    texts = {one.path: one.short_help for one in commands}
    rows = []
    for one in commands:
        start = f"complete -c icmodel -n {fish(f'__icmodel_at {fish(one.path)}')}"
        for name in one.commands:
            text = sentence(texts[f"{one.path} {name}"])
            rows.append(f"{start} -a {name} -d {fish(text)}")
        for argument in one.arguments:
            rows.append(f"{start} {fish_values(argument.values)}".rstrip())
        for option in one.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = ""
            if option.metavar:
                value = f" -r {fish_values(option.values)}".rstrip()
            rows.append(f"{start} {names}{value} -d {fish(sentence(option.help))}")
    paths = " ".join(fish(one.path) for one in commands[1:])
    return FISH.format(version=__version__, paths=paths, rows="\n".join(rows))


def fish_values(values: tuple[str, ...]) -> str:
    """Return arguments for fish's command ``complete`` that offer the given values, such as ``-f -a 'tcp udp'``.

    If `FILES` is among the values, fish also offers file names.
    """
    names = " ".join(value for value in values if value != FILES)
    shown = f"-a {shlex.quote(names)}" if names else ""
    return f"{'-F' if FILES in values else '-f'} {shown}".rstrip()


# --- the manual page --------------------------------------------------------------------------

MANUAL = r"""
.TH ICMODEL 1 "" "icmodel {version}" "User Commands"
.SH NAME
icmodel \- predict whether an interconnect carries a use case
.SH SYNOPSIS
.B icmodel
.I COMMAND
.RI [ OPTION ]...
.SH DESCRIPTION
{description}
.SH COMMANDS
{commands}
.SH EXIT STATUS
.TP
.B 0
Done, and every requirement is met.
.TP
.B 1
A requirement is not met.
.TP
.B 2
The question was wrong, or the data are damaged.
.TP
.B 3
A requirement is undecided.
.SH ENVIRONMENT
.TP
.B ICMODEL_CACHE
Folder of stored fits.
.TP
.B ICMODEL_TRACEBACK
If set, a defect prints its traceback.
"""


def manual(commands: tuple[Command, ...]) -> str:
    """Return the manual page in roff: every command with its arguments, options and examples."""
    parts = []
    for one in commands[1:]:
        usage = " ".join([*(argument.metavar for argument in one.arguments), "[OPTION]..."])
        parts.append(f".SS {roff(one.path.removeprefix('icmodel '))} {roff(usage)}")
        parts.append(roff_text(one.help))
        for option in one.options:
            names = ", ".join(rf"\fB{roff(name)}\fR" for name in option.names)
            value = rf" \fI{roff(option.metavar)}\fR" if option.metavar else ""
            parts.append(f".TP\n{names}{value}\n{roff(' '.join(option.help.split()))}")
    return MANUAL.lstrip().format(
        version=__version__, description=roff_text(commands[0].help), commands="\n".join(parts)
    )


def roff_text(text: str) -> str:
    """Convert a help text to roff. A paragraph with a leading backspace character keeps its line breaks."""
    parts = []
    for paragraph in text.strip().split("\n\n"):
        if paragraph.startswith("\b"):
            lines = "\n".join(map(roff, paragraph.removeprefix("\b").strip().splitlines()))
            parts.append(f".PP\n.nf\n.RS 4\n{lines}\n.RE\n.fi")
        else:
            parts.append(f".PP\n{roff(' '.join(paragraph.split()))}")
    return "\n".join(parts)


def roff(text: str) -> str:
    """Escape one line of text for roff, the format of manual pages."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped

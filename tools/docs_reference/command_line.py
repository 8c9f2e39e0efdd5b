"""Page of the command line: every command of the typer app."""

from __future__ import annotations

import typing
from collections.abc import Iterator

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from docs_reference.markdown import MADE, one_line, prose, table

Command = TyperCommand | TyperGroup
Parameter = TyperArgument | TyperOption


def cli_page() -> str:
    """Make the page: every command of the typer app with its arguments and options."""
    from icmodel.cli import app  # the top floor, only here

    intro = "Every command prints `--help`. Quantities are texts with a [unit](units.md).\n"
    top = typing.cast("Command", typer.main.get_command(app))
    commands = "".join(_command(path, one) for path, one in _commands(top))
    return f"# Command line\n\n{MADE}\n{intro}\n{commands}".rstrip() + "\n"


def _commands(
    command: Command, path: tuple[str, ...] = ("icmodel",)
) -> Iterator[tuple[tuple[str, ...], Command]]:
    yield path, command
    if isinstance(command, TyperGroup):
        context = typer.Context(command, info_name=path[-1])
        for name in command.list_commands(context):
            inner = typing.cast("Command", command.get_command(context, name))
            if not inner.hidden:
                yield from _commands(inner, (*path, name))


def _command(path: tuple[str, ...], command: Command) -> str:
    context = typer.Context(command, info_name=" ".join(path))
    usage = " ".join([" ".join(path), *command.collect_usage_pieces(context)])
    found = typing.cast("list[Parameter]", command.get_params(context))
    shown = [one for one in found if one.name != "help" and not one.hidden]
    head = f"## {' '.join(path)}\n\n" if len(path) > 1 else ""
    text = prose(command.help or "")
    parts = [f"{head}```text\n{usage}\n```\n", f"{text}\n" if text else ""]
    rows = [_parameter(one, context) for one in shown]
    parts.append(table(("argument or option", "value", "meaning", "default"), rows))
    return "\n".join(part for part in parts if part) + "\n"


def _parameter(one: Parameter, context: typer.Context) -> tuple[str, ...]:
    if isinstance(one, TyperArgument):
        names, metavar = f"`{one.make_metavar(context)}`", ""
    else:
        names = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
        metavar = "" if one.is_flag else f"`{one.make_metavar(context)}`"
    meaning, _, default = one_line(one.help or "").partition(" [default: ")
    default = "needed" if one.required else default.rstrip("]")
    return names, metavar, meaning, default

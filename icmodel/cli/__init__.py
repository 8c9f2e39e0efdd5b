"""The command line: arguments come in, each command parses them, calls one function and prints its answer.

`main` alone turns errors into a sentence and an exit code.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from icmodel import __version__
from icmodel.cli.output import PipeClosed
from icmodel.errors import IcmodelError, is_of_the_place, unwritable

COMMANDS = (
    "predict",
    "sweep",
    "evaluate",
    "compare",
    "datasets",
    "usecases",
    "system",
    "recommend",
    "theory",
    "plot",
    "fold",
    "ingest",
    "fit",
    "calibrate",
    "verify",
    "validate",
)
"""Each is the module of its name here, imported when it is used."""

DONE, WRONG, DEFECT, INTERRUPTED, PIPE_CLOSED = 0, 2, 70, 130, 141
"""Exit codes beside those of a verdict (1 not met, 3 undecided)."""

_USAGE: tuple[type[Exception], type[Exception]] = typer.BadParameter.__mro__[1:3]  # type: ignore[assignment]
"""Exception of typer for a command line it cannot read, whichever click it brings."""


class Commands(TyperGroup):
    """The commands, each imported only when it is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, or none."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"{__name__}.{cmd_name}")
        return typer.main.get_command(module.app)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command a line asks for."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise IcmodelError(
                f"there is no command {args[0]!r}: the commands are {', '.join(COMMANDS)}"
            )
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _say_version(asked: bool) -> None:
    if asked:
        print(f"icmodel {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def icmodel(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Will this interconnect carry my use case: goodput, latency, CPU load and loss, predicted.

    Every quantity is written with its unit ("9.4 Gb/s", "64 KiB", "50 us", "6700/s"), and every
    answer says what it rests on. Exit codes: 0 done and every requirement met, 1 a requirement not
    met, 3 undecided, 2 the question was wrong or the data damaged.

    \b
    icmodel predict --protocol tcp --payload "65535 B" --rate 6700/s --switches 1
    icmodel evaluate imaging
    icmodel COMMAND --help
    """  # noqa: D301


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (that of this process by default) and return its exit code."""
    if arguments is not None:
        return _run(arguments)
    warnings.showwarning = _warn  # type: ignore[assignment]
    # Before numpy is imported: the matrices of a fit are small, and its threads would only wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # no µ on this terminal: better ? than nothing
    code = _run(None)
    gc.freeze()  # the process ends now: nothing is left to look for
    return code


def _warn(message: Warning | str, *_: object) -> None:
    """Print a warning in one line, without its place in the program."""
    print(f"icmodel: {message}", file=sys.stderr)  # noqa: T201


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = app(arguments, prog_name="icmodel", standalone_mode=False)
        sys.stdout.flush()
    except IcmodelError as error:
        return _say(str(error), WRONG)
    except _USAGE as error:
        words = sys.argv[1:] if arguments is None else arguments
        return _say(_usage_sentence(error, words), WRONG)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (PipeClosed, BrokenPipeError):
        return _end_quietly()
    except SystemExit:  # typer's own end of a broken pipe
        return _end_quietly()
    except Exception as error:
        return _unforeseen(error)
    return code if isinstance(code, int) else DONE


def _unforeseen(error: Exception) -> int:
    """Report an error that no room handles: an interruption, a fault of the machine, or else a defect."""
    if _interrupted(error):
        return INTERRUPTED
    if isinstance(error, OSError) and is_of_the_place(error):
        if error.filename is None:
            _end_quietly()
        return _say(unwritable(error.filename or "the output", error), WRONG)
    if os.environ.get("ICMODEL_TRACEBACK"):
        raise error
    return _say(
        f"icmodel has a defect, {type(error).__name__}: {' '.join(str(error).split())}; please "
        "report it with what ICMODEL_TRACEBACK=1 prints",
        DEFECT,
    )


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused an error, as when it came while a library was being imported."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _say(sentence: str, code: int) -> int:
    print(f"icmodel: {sentence}", file=sys.stderr)  # noqa: T201
    return code


def _usage_sentence(error: Exception, words: Sequence[str]) -> str:
    """One sentence with typer's error about a command line, and where to look."""
    told: str = error.format_message()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    named = [word for word in words[:1] if word in COMMANDS]
    command = context.command_path if context is not None else " ".join(["icmodel", *named])
    said = " ".join(told.split()).replace(". Did you mean", ", did you mean").rstrip(".?")
    return f"{said[:1].lower()}{said[1:]}; `{command} --help` says what is allowed"


def _end_quietly() -> int:
    """Discard further output, if nobody reads it or it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED

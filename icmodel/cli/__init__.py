"""Command line. Each command parses its arguments, calls one function and prints the answer.

Only `main` turns errors into sentences and exit codes.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from icmodel import __version__
from icmodel.cli.output import PipeClosed, json_text, print_text
from icmodel.errors import IcmodelError, Mistake, is_disk_error, unwritable

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
    "workbook",
    "completion",
    "serve",
)
"""Names of the commands. Each is a module of `icmodel.cli`, imported on first use."""

DONE, WRONG, DEFECT, INTERRUPTED, PIPE_CLOSED = 0, 2, 70, 130, 141
"""Exit codes: done, wrong question, defect of icmodel, Ctrl-C, and closed pipe.

Verdicts have two further codes: 1 for not met, and 3 for undecided.
"""

_USAGE: tuple[type[Exception], type[Exception]] = typer.BadParameter.__mro__[1:3]  # type: ignore[assignment]
"""Exceptions that typer raises for an invalid command line, whether typer uses its own click or an installed one."""


_PLACE = re.compile(r"(?:\((?:at )?|, |- )(line \d+(?:, column \d+)?)(?:\)|: )")
"""Pattern of a location in a file, such as ``(line 3, column 5)``, in an error message."""


class Commands(TyperGroup):
    """Group of all commands. It imports the module of a command on first use."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command with this name, or None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"{__name__}.{cmd_name}")
        return typer.main.get_command(module.app)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the first word of a command line names.

        Raises
        ------
        IcmodelError
            If no command has this name.
        """
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


def print_version(wanted: bool) -> None:
    """If ``--version`` is given, print the version of icmodel and exit."""
    if wanted:
        print(f"icmodel {__version__}")  # noqa: T201
        raise typer.Exit


START = """\
icmodel predicts whether an interconnect carries a use case. Begin with one of these:

  icmodel predict --payload "1448 B" --rate 6700/s  one stream: goodput, latency, CPU load, loss
  icmodel evaluate imaging                          a use case: met, not met or undecided
  icmodel system imaging                            a whole system
  icmodel datasets list                             the measurements behind the predictions
  icmodel ingest --help                             your own measurements, by iperf3 or other tools

All commands: icmodel --help. Completion by Tab and the manual page: icmodel completion --help
"""
"""Text printed by ``icmodel`` without a command."""


@app.callback(invoke_without_command=True)
def icmodel(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Predict whether an interconnect carries a use case: goodput, latency, CPU load and loss.

    Write every quantity with its unit ("9.4 Gb/s", "64 KiB", "50 us", "6700/s"). Every answer names
    its basis (kind of evidence). Exit codes: 0 done and every requirement met, 1 a requirement not met, 3 undecided,
    2 the question was wrong or the data are damaged.

    \b
    icmodel predict --protocol tcp --payload "65535 B" --rate 6700/s --switches 1
    icmodel evaluate imaging
    icmodel COMMAND --help
    """  # noqa: D301
    if ctx.invoked_subcommand is None:
        print_text(START)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code of the command.

    Without ``arguments``, the command line of this process is run. In the example, ``--solve`` has an unknown value. So
    the command prints an error on standard error, and the exit code is 2.

    Examples
    --------
    >>> main(["predict", "--payload", "1448 B", "--solve", "size"])
    2
    """
    if arguments is not None:
        return _run(arguments)

    def print_warning(message: Warning | str, *_: object) -> None:
        """Print a warning on one line, without file name and line number."""
        print(f"icmodel: {message}", file=sys.stderr)  # noqa: T201

    warnings.showwarning = print_warning  # type: ignore[assignment]
    # Set before numpy is imported: the matrices of a fit are small, so more BLAS threads would only wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller, as by `>&-`
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # if the terminal has no µ, print ?
    code = _run(None)
    gc.freeze()  # the process ends now, so the last garbage collection is skipped
    return code


def _run(arguments: Sequence[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code = app(arguments, prog_name="icmodel", standalone_mode=False)
        sys.stdout.flush()
    except IcmodelError as error:
        from icmodel.questions.doors import in_options  # rarely needed

        sentence = with_option(in_options(str(error)), words)
        return _fail(type(error).__name__, sentence, WRONG, words, error.mistakes)
    except _USAGE as error:
        return _fail("UsageError", usage_sentence(error, words), WRONG, words)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (
        PipeClosed,
        BrokenPipeError,
        SystemExit,
    ):  # typer raises SystemExit for a broken pipe
        return _discard_output()
    except Exception as error:
        return report_unexpected(error, words)
    return code if isinstance(code, int) else DONE


def report_unexpected(error: Exception, words: Sequence[str]) -> int:
    """Report an error that is no `IcmodelError`, and return the exit code.

    Such an error is a full disk, a defect of icmodel, or Ctrl-C while Python imports a module.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return INTERRUPTED
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, OSError) and is_disk_error(error):
        if error.filename is None:
            _discard_output()
        sentence = unwritable(error.filename or "the output", error)
        return _fail("ReportError", sentence, WRONG, words)
    if os.environ.get("ICMODEL_TRACEBACK"):
        raise error
    sentence = (
        f"icmodel has a defect, {type(error).__name__}: {' '.join(str(error).split())}; please "
        "report it with the traceback that ICMODEL_TRACEBACK=1 prints"
    )
    return _fail("Defect", sentence, DEFECT, words)


def with_option(sentence: str, words: Sequence[str]) -> str:
    """If an error message begins with the name of a parameter, replace the name by the option that the user typed.

    Examples
    --------
    >>> with_option("payload '0 B' is not possible", ["predict", "--payload", "0 B"])
    "--payload '0 B' is not possible"
    """
    from icmodel.scenario import TEXT_SPELLINGS

    spellings = {si_name: name for name, (si_name, _) in TEXT_SPELLINGS.items()}
    name, _, rest = sentence.partition(" ")
    option = f"--{spellings.get(name, name).replace('_', '-')}"
    typed = any(word.partition("=")[0] == option for word in words)
    is_parameter = name in spellings or "_" in name or rest[:1] == "'"
    return f"{option} {rest}" if typed and is_parameter else sentence


def usage_sentence(error: Exception, words: Sequence[str]) -> str:
    """Return an error of typer as one sentence, ending with ``; `icmodel predict --help` lists the arguments``."""
    message: str = error.format_message()  # type: ignore[attr-defined]
    message = " ".join(message.split()).replace(". Did you mean", ", did you mean").rstrip(".?")
    context = getattr(error, "ctx", None)
    command = command_of(words) if context is None else context.command_path
    return f"{message[:1].lower()}{message[1:]}; `{command} --help` lists the arguments"


def command_of(words: Sequence[str]) -> str:
    """Return ``icmodel predict`` for the words ``["predict", "--json"]``, and ``icmodel`` if no command is named."""
    return " ".join(["icmodel", *(word for word in words[:1] if word in COMMANDS)])


def _fail(
    kind: str,
    sentence: str,
    code: int,
    words: Sequence[str],
    mistakes: Sequence[Mistake] = (),
) -> int:
    """Print an error on standard error, and return the exit code ``code``.

    With ``--json``, the error is also printed as a JSON document on standard output. If the error names a position in
    a file, the document's key ``where`` holds this position, such as ``line 3, column 5``. Otherwise, the key holds the
    command, such as ``icmodel predict``.
    """
    if "--json" in words:
        place = _PLACE.search(sentence)
        where = place[1] if place else command_of(words)
        found = [one._asdict() for one in mistakes]
        error = {"kind": kind, "message": sentence, "where": where, "mistakes": found}
        try:
            print_text(json_text({"error": error}))
        except PipeClosed:
            _discard_output()
    print(f"icmodel: {sentence}", file=sys.stderr)  # noqa: T201
    return code


def _discard_output() -> int:
    """Discard all further output after a closed pipe or a failed write. Return the exit code for a closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED

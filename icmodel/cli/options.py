"""Command-line options that several commands share: for questions, workers and reports."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from icmodel import units
from icmodel.cli.output import Writer
from icmodel.errors import IcmodelError, ReportError, ScenarioError
from icmodel.estimate import plural
from icmodel.questions.words import (
    DATASET_HELP,
    DEFAULT_DATASET,
    OWN,
    PROTOCOL_HELP,
    VARIANT_HELP,
    Question,
    given_options,
    option_field,
)
from icmodel.ranges import MOST_WORKERS
from icmodel.scenario import Scenario

if TYPE_CHECKING:
    from icmodel.report import Answer
    from icmodel.report.masthead import Masthead


class App(typer.Typer):
    """Typer application with commands of the class `OnceCommand`."""

    def command(self, name: str | None = None, **settings: Any) -> Any:
        """Return a decorator that makes a function a command."""
        return super().command(name, cls=OnceCommand, **settings)


class OnceCommand(TyperCommand):
    """Command that refuses an option given twice if it takes only one value. Click would take the last value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a command line, and store the parameters in ``ctx``, click's context of the command.

        Raises
        ------
        IcmodelError
            If an option that takes only one value is given twice.
        """
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        once = [
            one
            for one in order
            if isinstance(one, TyperOption) and not (one.multiple or one.is_flag)
        ]
        twice = next((one for one in once if once.count(one) > 1), None)
        if twice is not None and not ctx.resilient_parsing:
            raise IcmodelError(f"{max(twice.opts, key=len)} is given twice: keep one")
        return super().parse_args(ctx, args)


def make_app(group: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """Make the typer application for the commands of one module."""
    return App(cls=group, add_completion=False, rich_markup_mode=None)


def option(name: str, metavar: str, text: str, default: str = "", **more: Any) -> Any:
    """Make a command-line option with a value. Further arguments (``more``) are passed to `typer.Option`.

    If the text ``default`` is given, the help ends with it: ``[default: 10 min]``.
    """
    shown = f"{text} [default: {default}]" if default else text
    return typer.Option(f"--{name}", metavar=metavar, help=shown, show_default=False, **more)


DatasetName = Annotated[str, option("dataset", "NAME", DATASET_HELP, DEFAULT_DATASET)]
VariantName = Annotated[str | None, option("variant", "NAME", VARIANT_HELP, OWN)]
ProtocolName = Annotated[str | None, option("protocol", "NAME", PROTOCOL_HELP, OWN)]
DatasetNames = Annotated[
    list[str] | None, option("dataset", "NAMES", DATASET_HELP, DEFAULT_DATASET)
]
VariantNames = Annotated[list[str] | None, option("variant", "NAMES", VARIANT_HELP, OWN)]
ProtocolNames = Annotated[list[str] | None, option("protocol", "NAMES", PROTOCOL_HELP, OWN)]
Extrapolate = Annotated[
    bool,
    typer.Option(
        "--extrapolate",
        help="Also answer beyond the measured range. Notes name the axis and the distance from the range.",
    ),
]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        help="Do not use the cache folder of fitted models (variant hybrid only).",
    ),
]
Every = Annotated[bool, typer.Option("--all", help="Show every metric and every note.")]
OneDataset = Annotated[str, typer.Argument(metavar="DATASET", help=DATASET_HELP)]
SystemName = Annotated[
    str,
    typer.Argument(metavar="SYSTEM", help="Name of a bundled system or path of a TOML file."),
]
DatasetForAll = Annotated[
    str | None,
    option(
        "dataset",
        "NAME",
        "Dataset for all streams, by name or folder. It replaces the datasets in the system file.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Write a file; its extension selects the format."
    ),
]


# --- a dataclass of options -------------------------------------------------------------------

Command = Callable[..., Any]


def expand_options(kind: type, name: str) -> Callable[[Command], Command]:
    """Return a decorator that gives a command an option for each field of the dataclass ``kind``.

    The command itself has a single parameter ``name`` in their place. It receives a ``kind`` object that holds the
    values of all these options.

    Parameters
    ----------
    kind : type
        Dataclass; `option_field` makes its fields.
    """
    hints = get_type_hints(kind)
    expanded = [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=one.default,
            annotation=Annotated[hints[one.name], option_of(one)],
        )
        for one in fields(kind)
    ]

    def decorate(command: Command) -> Command:
        def with_options(**values: Any) -> Any:
            options = kind(**{parameter.name: values.pop(parameter.name) for parameter in expanded})
            return command(**{name: options}, **values)

        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            parameters += expanded if parameter.name == name else [parameter]
        keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
        with_options.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        with_options.__annotations__ = {one.name: one.annotation for one in keyword}
        with_options.__doc__, with_options.__name__ = command.__doc__, command.__name__
        return with_options

    return decorate


def option_of(one: Field[Any]) -> Any:
    """Make the command-line option of a dataclass field; `option_field` makes such a field."""
    words = one.metadata
    name, text = words["name"] or one.name.replace("_", "-"), words["description"]
    if not words["metavar"]:
        return typer.Option(f"--{name}", help=text)
    shown = words["shown"] or str(one.default or "")
    return option(name, words["metavar"], text, shown, **words["more"])


with_question = expand_options(Question, "question")
"""Decorator that replaces the command's parameter ``question`` by the options of a scenario."""


# --- texts ------------------------------------------------------------------------------------


def question_text(asked: Scenario) -> str:
    """Return the question of a scenario as one line of text.

    Examples
    --------
    >>> question_text(Scenario("tcp", 1448, rate_fps=6700.0))
    'tcp, 1448 B a frame, 6700/s (77.6128 Mb/s), 0 switches'
    """
    rate = "unlimited rate"
    if asked.rate_fps is not None:
        goodput = units.format_bps(asked.requested_goodput_bps)
        rate = f"{units.format_rate(asked.rate_fps)} ({goodput})"
    parts = [f"{asked.protocol}, {asked.payload_bytes} B a frame, {rate}"]
    if asked.cores is not None:
        parts.append(plural(asked.cores, "core"))
    parts.append(plural(asked.switches, "switch"))
    if asked.endpoints > 1:
        others = units.format_bps(asked.other_goodput_bps)
        parts.append(f"{asked.endpoints} endpoints ({others} of others)")
    if asked.distance_m is not None:
        parts.append(units.format_metres(asked.distance_m))
    if asked.line_rate_bps is not None:
        parts.append(f"a link of {units.format_bps(asked.line_rate_bps)}")
    if asked.cpu_clock_ratio != 1.0:
        parts.append(f"{asked.cpu_clock_ratio:g} times the CPU clock")
    work, size = asked.work, asked.payload_bytes
    for end, seconds in (("sending", work.sending_s(size)), ("receiving", work.receiving_s(size))):
        if seconds:
            time = units.format_seconds(seconds, 4)
            parts.append(f"{time} of the application {end} a frame")
    return ", ".join([*parts, *(f"{axis} = {value}" for axis, value in asked.options.items())])


Workers = Annotated[
    int | None, option("workers", "N", "Number of worker processes.", "this process alone")
]
Cluster = Annotated[
    str | None,
    option(
        "cluster",
        "ADDRESS",
        "Address of a Dask scheduler whose workers compute the answer, e.g. tcp://host:8786.",
    ),
]


def check_workers(workers: int | None, cluster: str | None) -> None:
    """Raise ScenarioError if both --workers and --cluster are given, or the number of workers is impossible."""
    if workers is not None and cluster is not None:
        raise ScenarioError("--workers and --cluster are both given: give only one")
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise ScenarioError(
            f"--workers {workers} is not a number of processes: give 1 to {MOST_WORKERS}"
        )


def client_of(cluster: str | None) -> AbstractContextManager[Any]:
    """Context manager: its value is a client of the Dask scheduler at the address ``cluster``.

    If ``cluster`` is None, the value is None.

    Raises
    ------
    ClusterError
        If distributed is not installed, or no scheduler answers.
    """
    if cluster is None:
        return nullcontext()
    from icmodel.workers import connect

    client: AbstractContextManager[Any] = connect(cluster)
    return client


@dataclass(frozen=True, slots=True)
class MastheadChoice:
    """Options for the first page of a report, as the texts that the user typed."""

    author: str | None = option_field("NAME", "Author, printed on the first page of a report.")
    project: str | None = option_field("NAME", "Project, printed on the first page of a report.")
    revision: str | None = option_field("TEXT", "Revision, printed on the first page of a report.")
    date: str | None = option_field(
        "DATE", "Date of a report, e.g. 2026-11-25.", "date in SOURCE_DATE_EPOCH, or no date"
    )
    template: Path | None = option_field(
        "FILE",
        "TOML file with an organisation's name, logo, accent colour and footer for a report.",
    )

    def masthead(self, output: Path | None) -> Masthead:
        """Return the masthead (header of the first page) for the report file ``output``.

        Commands call this before they compute, so that a wrong option is reported at once.

        Raises
        ------
        ReportError
            If an option is given without a report, an option or the template is wrong, or typst is missing for a PDF.
        """
        from icmodel.report import PAGE_FILES  # rarely needed

        ending = "" if output is None else output.suffix.lower()
        if ending not in PAGE_FILES:
            for name in given_options(self):
                raise ReportError(
                    f"--{name} is for reports only: add -o with a name that ends in "
                    f"{', '.join(PAGE_FILES[:-1])} or {PAGE_FILES[-1]}, or leave --{name} out"
                )
        from icmodel.report.masthead import PLAIN, masthead

        if ending == ".pdf":
            from icmodel.report.pdf import typst

            typst()
        return masthead(**given_options(self)) if ending in PAGE_FILES else PLAIN


with_masthead = expand_options(MastheadChoice, "head")
"""Decorator that replaces the command's parameter ``head`` by the options of a report's first page."""


def page_writers(
    answer: Callable[[], Answer], output: Path | None, masthead: Masthead
) -> dict[str, Writer]:
    """Return a dict: file extension -> function that writes the report of an answer to a path.

    A report prints its own file name. This is always the name of ``output``, even if the path is that of a temporary
    file.
    """
    from icmodel.report import PAGE_FILES, report_bytes

    def write(path: Path) -> None:
        assert output is not None  # a writer is called for the file of -o
        path.write_bytes(report_bytes(answer(), output.name, masthead))

    return dict.fromkeys(PAGE_FILES, write)

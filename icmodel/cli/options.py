"""Options that several commands share, their values in SI, and questions as text."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from icmodel import units
from icmodel.errors import ScenarioError
from icmodel.estimate import plural
from icmodel.scenario import Scenario

DEFAULT_DATASET = "ethernet-10g-2012"
OWN, BEST = "the dataset's own", "the variant that predicts left-out rows best"

DATASET_HELP = "Name of a bundled dataset or path of a folder."
VARIANT_HELP = "Variant of the model: corrected, hybrid or appendix-h."
PROTOCOL_HELP = "Name of a protocol in the dataset, e.g. tcp."
PAYLOAD_HELP = 'Useful bytes of one frame, e.g. "1448 B".'
OPTION_HELP = "Value of an option axis of the dataset, e.g. nagle=off; can be repeated."


def make_app(group: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """Make the typer application for the commands of one module."""
    return typer.Typer(cls=group, add_completion=False, rich_markup_mode=None)


def option(name: str, metavar: str, text: str, default: str = "", **more: Any) -> Any:
    """Make an option with a value.

    The help states ``default``. ``more`` is passed on to typer.
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
        help="Do not use the cache folder of fits (hybrid only).",
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
        "Dataset for all streams, by name or folder, in place of the datasets that the system file names.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Write a file; its extension selects the format."
    ),
]


# --- a dataclass of options -------------------------------------------------------------------


def option_field(
    metavar: str, text: str, shown: str = "", *, default: Any = None, name: str = "", **more: Any
) -> Any:
    """A field of a dataclass that is an option of a command; see `expand_options`.

    Parameters
    ----------
    metavar : str
        Placeholder of the value in the help; empty for a switch.
    text : str
        Help of the option.
    shown : str
        Text of the default in the help; if empty, the default itself is shown.
    name : str
        Name of the option; if empty, the name of the field.
    more
        Further arguments of `typer.Option`.
    """

    def make(field_name: str) -> Any:
        option_name = name or field_name.replace("_", "-")
        if not metavar:
            return typer.Option(f"--{option_name}", help=text)
        return option(option_name, metavar, text, shown or str(default or ""), **more)

    return field(default=default, metadata={"option": make})


Command = Callable[..., Any]


def expand_options(kind: type, name: str) -> Callable[[Command], Command]:
    """Decorate a command: its parameter ``name`` becomes one option for each field of ``kind``.

    The fields of ``kind`` are made with `option_field`. The command receives one value of ``kind``.
    """
    hints = get_type_hints(kind)
    expanded = [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=one.default,
            annotation=Annotated[hints[one.name], one.metadata["option"](one.name)],
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


def given_options(options: Any) -> dict[str, Any]:
    """Return the fields of a dataclass of options that are not None, by name."""
    values = {one.name: getattr(options, one.name) for one in fields(options)}
    return {name: value for name, value in values.items() if value is not None}


# --- the question -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """Parameters of a scenario, as texts of the command line; a missing parameter is None."""

    payload: str | None = option_field("SIZE", PAYLOAD_HELP)
    rate: str | None = option_field(
        "RATE", 'Frames per second, e.g. "6700/s".', "as fast as it goes"
    )
    requested_goodput: str | None = option_field(
        "RATE", 'Requested goodput, e.g. "3.5 Gb/s"; replaces --rate.'
    )
    cores: str | None = option_field(
        "N", "Number of parallel processes, one per core.", "the greatest measured number"
    )
    switches: str | None = option_field("N", "Number of switches on the path.", "0")
    endpoints: str | None = option_field(
        "N", "Number of senders into the receiving interface, including this one.", "1"
    )
    other_goodput: str | None = option_field(
        "RATE", 'Total goodput that the other senders request, e.g. "3.6 Gb/s".', "0"
    )
    distance: str | None = option_field("LENGTH", 'Cable length, e.g. "50 m".', "as measured")
    line_rate: str | None = option_field(
        "RATE", 'Line rate of another link, e.g. "25 Gb/s" (hybrid only).', "as measured"
    )
    cpu_clock: str | None = option_field(
        "RATIO", 'CPU clock relative to that of the measured hosts, e.g. "1.5" (hybrid only).', "1"
    )
    app_send: str | None = option_field(
        "TIME", "Application time per frame at the sender (hybrid only).", "0 s"
    )
    app_recv: str | None = option_field(
        "TIME", "Application time per frame at the receiver (hybrid only).", "0 s"
    )
    app_send_per_byte: str | None = option_field(
        "TIME", 'Application time per byte at the sender, e.g. "0.3 ns" (hybrid only).', "0 s"
    )
    app_recv_per_byte: str | None = option_field(
        "TIME", "Application time per byte at the receiver (hybrid only).", "0 s"
    )
    option: list[str] | None = option_field("KEY=VALUE", OPTION_HELP)

    def texts(self) -> dict[str, str]:
        """Return the given parameters as texts by name, without the option axes."""
        return {name: text for name, text in given_options(self).items() if name != "option"}

    def option_values(self) -> dict[str, str]:
        """Return the values of the option axes by name.

        Raises
        ------
        ScenarioError
            If an option is not of the form KEY=VALUE, or an axis is given twice.
        """
        return parse_key_values(self.option)

    def parameters(self, protocol: str, payload: str | None = None) -> dict[str, Any]:
        """Return the arguments of `icmodel.scenario.scenario`.

        ``payload`` is used if the question has no payload.

        Raises
        ------
        ScenarioError
            If there is no payload, or a count is not a whole number.
        """
        values: dict[str, Any] = dict(self.texts())
        if payload is not None:
            values.setdefault("payload", payload)
        if "payload" not in values:
            raise ScenarioError('the question has no payload: give one, e.g. --payload "1448 B"')
        for name in ("cores", "switches", "endpoints"):
            if name in values:
                values[name] = parse_count(name, str(values[name]))
        return {"protocol": protocol, **values, "options": self.option_values()}


with_question = expand_options(Question, "question")
"""Decorate a command: its parameter ``question`` becomes the options of a scenario."""


# --- values -----------------------------------------------------------------------------------


def parse_count(name: str, text: str, least: int = 0) -> int:
    """Parse the whole number of an option.

    Raises
    ------
    ScenarioError
        If the text is not a whole number, or the number is below ``least``.

    Examples
    --------
    >>> parse_count("cores", "4")
    4
    """
    if not re.fullmatch(r"[0-9]{1,18}", text.strip()) or int(text) < least:
        allowed = f"of at least {least}" if least else "such as 2"
        raise ScenarioError(
            f"--{name} {text!r} is not possible: give a whole number {allowed}, without a unit"
        )
    return int(text)


def parse_key_values(texts: list[str] | None) -> dict[str, str]:
    """Parse texts ``KEY=VALUE`` into the value of each axis.

    Raises
    ------
    ScenarioError
        If a text is not of the form KEY=VALUE, or an axis is given twice.

    Examples
    --------
    >>> parse_key_values(["nagle=off", "kernel = 5.4"])
    {'nagle': 'off', 'kernel': '5.4'}
    """
    values: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise ScenarioError(
                f"--option {text!r} is not KEY=VALUE: write an axis of the dataset and its value, "
                "such as nagle=off"
            )
        if name in values:
            raise ScenarioError(f"--option {name} is given twice: keep one")
        values[name] = value
    return values


def split_names(texts: list[str] | None) -> list[str]:
    """Return the names given by a repeated option or separated by commas, each name once.

    Raises
    ------
    ScenarioError
        If the option was given without a name.

    Examples
    --------
    >>> split_names(["tcp, udp", "tcp"])
    ['tcp', 'udp']
    """
    names = [name.strip() for text in texts or () for name in text.split(",")]
    if texts and not any(names):
        raise ScenarioError(f"{texts[0]!r} contains no name: give a name, or leave the option out")
    return list(dict.fromkeys(name for name in names if name))


# --- texts ------------------------------------------------------------------------------------


def question_text(asked: Scenario) -> str:
    """Return a question in words, on one line.

    Examples
    --------
    >>> question_text(Scenario("tcp", 1448, rate_fps=6700.0))
    'tcp, 1448 B a frame, 6700/s (77.6128 Mb/s), 0 switches'
    """
    rate = "as fast as it goes"
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

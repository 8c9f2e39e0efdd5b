"""Question: the options that several commands share, and their values in SI."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from icmodel import units
from icmodel.errors import ScenarioError
from icmodel.estimate import plural
from icmodel.scenario import ApplicationWork, Scenario

DEFAULT_DATASET = "ethernet-10g-2012"

DATASET_HELP = "Name of a bundled dataset or path of a folder."
VARIANT_HELP = "Variant of the model: corrected, hybrid or appendix-h."
OWN, BEST = "the dataset's own", "what predicts left-out rows best"
PROTOCOL_HELP = "Protocol as the dataset names it."


def option(name: str, metavar: str, text: str, default: str = "", **more: Any) -> Any:
    """An option with a value; its help states the default."""
    said = f"{text} [default: {default}]" if default else text
    return typer.Option(f"--{name}", metavar=metavar, help=said, show_default=False, **more)


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
        "--extrapolate", help="Answer beyond what was measured, marked with axis and distance."
    ),
]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache", help="Keep no fit in the user's cache folder, and read none (hybrid)."
    ),
]
Every = Annotated[bool, typer.Option("--all", help="Every metric and every note.")]
OneDataset = Annotated[
    str, typer.Argument(metavar="DATASET", help="Bundled name or path of a folder.")
]
SystemName = Annotated[
    str, typer.Argument(metavar="SYSTEM", help="Bundled name or path of a TOML file.")
]
Speaks = Annotated[
    str | None,
    option("dataset", "NAME", f"{DATASET_HELP} It speaks for every stream.", "the system's"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write a file; its ending says the form."),
]


def given(
    metavar: str, text: str, said: str = "", default: Any = None, name: str = "", **more: Any
) -> Any:
    """A field of a dataclass that is an option of a command, named as the field; see `shares`.

    Its help states ``said`` as the default, or else ``default``. Without ``metavar`` it is a switch.
    ``more`` is passed on to typer.
    """

    def made(field_name: str) -> Any:
        named = name or field_name.replace("_", "-")
        if not metavar:
            return typer.Option(f"--{named}", help=text)
        return option(named, metavar, text, said or str(default or ""), **more)

    return field(default=default, metadata={"option": made})


PAYLOAD_HELP = 'Useful bytes of one frame, e.g. "1448 B".'
OPTION_HELP = "A further axis of the dataset; can be repeated."


@dataclass(frozen=True, slots=True)
class Question:
    """The parameters of a scenario, as typed; ``None`` for those not given."""

    payload: str | None = given("SIZE", PAYLOAD_HELP)
    rate: str | None = given("RATE", 'Frames per second, e.g. "6700/s".', "as fast as it goes")
    requested_goodput: str | None = given("RATE", 'Instead of --rate, e.g. "3.5 Gb/s".')
    cores: str | None = given("N", "Parallel processes, one a core.", "the most measured")
    switches: str | None = given("N", "Switches on the path.", "0")
    endpoints: str | None = given("N", "Senders into the interface, this one included.", "1")
    other_goodput: str | None = given(
        "RATE", 'What the others ask for in sum, e.g. "3.6 Gb/s".', "0"
    )
    distance: str | None = given("LENGTH", 'Length of cable, e.g. "50 m".', "as measured")
    line_rate: str | None = given(
        "RATE", 'Of another link, e.g. "25 Gb/s" (hybrid).', "as measured"
    )
    cpu_clock: str | None = given("RATIO", 'Of other hosts, e.g. "1.5" (hybrid).', "1")
    app_send: str | None = given(
        "TIME", "The application adds to a frame at the sender (hybrid).", "0 s"
    )
    app_recv: str | None = given("TIME", "And at the receiver (hybrid).", "0 s")
    app_send_per_byte: str | None = given("TIME", 'Besides for each byte, e.g. "0.3 ns".', "0 s")
    app_recv_per_byte: str | None = given("TIME", "And at the receiver.", "0 s")
    option: list[str] | None = given("KEY=VALUE", OPTION_HELP)

    def options(self) -> dict[str, str]:
        """The options by name.

        Raises
        ------
        ScenarioError
            If one is not KEY=VALUE, or is given twice.
        """
        return read_options(self.option)

    def texts(self) -> dict[str, str]:
        """The given parameters without the options, as texts by name."""
        return {name: text for name, text in typed(self).items() if name != "option"}

    def words(self, protocol: str, payload: str | None = None) -> dict[str, Any]:
        """The question as `icmodel.scenario.scenario` takes it.

        ``payload`` is the default payload.

        Raises
        ------
        ScenarioError
            If there is no payload, or a count is not a whole number.
        """
        said: dict[str, Any] = dict(self.texts())
        if payload is not None:
            said.setdefault("payload", payload)
        if "payload" not in said:
            raise ScenarioError('the question has no payload: give one, e.g. --payload "1448 B"')
        for name in ("cores", "switches", "endpoints"):
            if name in said:
                said[name] = count(name, str(said[name]))
        return {"protocol": protocol, **said, "options": self.options()}


def typed(options: Any) -> dict[str, Any]:
    """Those fields of a dataclass of options that were given, by name."""
    values = {one.name: getattr(options, one.name) for one in fields(options)}
    return {name: value for name, value in values.items() if value is not None}


def count(name: str, text: str) -> int:
    """A count of the command line.

    Raises
    ------
    ScenarioError
        If it is no whole number.
    """
    if not re.fullmatch(r"[0-9]{1,18}", text.strip()):
        raise ScenarioError(
            f"--{name} {text!r} is not possible: give a whole number such as 2, without a unit"
        )
    return int(text)


def room(group: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """A typer application for the commands of one module."""
    return typer.Typer(cls=group, add_completion=False, rich_markup_mode=None)


def read_options(given: list[str] | None) -> dict[str, str]:
    """The value of each axis of some texts ``KEY=VALUE``.

    Raises
    ------
    ScenarioError
        If one is no KEY=VALUE, or is given twice.
    """
    read: dict[str, str] = {}
    for text in given or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise ScenarioError(
                f"--option {text!r} is not KEY=VALUE: write an axis of the dataset and its value, "
                "such as nagle=off"
            )
        if name in read:
            raise ScenarioError(f"--option {name} is given twice: keep one")
        read[name] = value
    return read


Command = Callable[..., Any]


def shares(kind: type, name: str) -> Callable[[Command], Command]:
    """Give a command every field of a dataclass as an option; it takes them as one parameter."""
    hints = get_type_hints(kind)
    spread = [_parameter(one, hints[one.name]) for one in fields(kind)]

    def give(command: Command) -> Command:
        def shared(**given: Any) -> Any:
            one = kind(**{parameter.name: given.pop(parameter.name) for parameter in spread})
            return command(**{name: one}, **given)

        own = inspect.signature(command, eval_str=True).parameters
        merged: list[inspect.Parameter] = []
        for parameter in own.values():
            merged += spread if parameter.name == name else [parameter]
        keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in merged]
        shared.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        shared.__annotations__ = {one.name: one.annotation for one in keyword}
        shared.__doc__, shared.__name__ = command.__doc__, command.__name__
        return shared

    return give


def _parameter(one: Field[Any], hint: Any) -> inspect.Parameter:
    """A field of options, made with `given`, as a parameter of a command."""
    annotation = Annotated[hint, one.metadata["option"](one.name)]
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(one.name, kind, default=one.default, annotation=annotation)


asks = shares(Question, "question")
"""Give a command the options of a scenario; it takes them as its parameter ``question``."""


def check_variant(name: str) -> None:
    """Refuse an unknown variant, before a dataset is made with it.

    Raises
    ------
    ScenarioError
        Naming the known variants.
    """
    from icmodel.model import VARIANTS  # the model, not needed for the help

    if name not in VARIANTS:
        raise ScenarioError(f"there is no variant {name!r}: it is one of {', '.join(VARIANTS)}")


def listed(given: list[str] | None) -> list[str]:
    """Names given by repeating an option, with commas, or both; each once.

    Raises
    ------
    ScenarioError
        If the option was given without a name.
    """
    names = [name.strip() for text in given or () for name in text.split(",")]
    if given and not any(names):
        raise ScenarioError(f"{given[0]!r} holds no name: give one, or leave the option out")
    return list(dict.fromkeys(name for name in names if name))


def question_text(asked: Scenario) -> str:
    """A question in one line."""
    rate = "as fast as it goes" if asked.rate_fps is None else _rate_text(asked)
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
    parts += _work_texts(asked.work, asked.payload_bytes)
    parts += [f"{axis} = {value}" for axis, value in asked.options.items()]
    return ", ".join(parts)


def _work_texts(work: ApplicationWork, payload_bytes: int) -> list[str]:
    """The application's work per frame, as text."""
    ends = {"sending": work.sending_s(payload_bytes), "receiving": work.receiving_s(payload_bytes)}
    return [
        f"{units.format_seconds(seconds, 4)} of the application {end} a frame"
        for end, seconds in ends.items()
        if seconds
    ]


def _rate_text(asked: Scenario) -> str:
    rate = units.format_rate(asked.rate_fps or 0.0)
    return f"{rate} ({units.format_bps(asked.requested_goodput_bps)})"


def quantity_text(metric: str, value: float | None) -> str:
    """A value of a metric with its unit; a dash if there is none."""
    return "–" if value is None else units.format_quantity(metric, value)

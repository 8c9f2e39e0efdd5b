"""Question in words: its parameters as texts with units, with descriptions and defaults."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from icmodel.errors import ScenarioError
from icmodel.ranges import MOST, VALID_RANGES, parse_whole

DEFAULT_DATASET = "ethernet-10g-2012"
OWN, BEST = "the dataset's own", "the variant that best predicts left-out rows"

DATASET_HELP = "Name of a bundled dataset or path of a folder."
VARIANT_HELP = "Variant of the model: corrected, hybrid or appendix-h."
PROTOCOL_HELP = "Name of a protocol in the dataset, e.g. tcp."
PAYLOAD_HELP = 'Useful bytes of one frame, e.g. "1448 B".'
OPTION_HELP = "Value of an option axis of the dataset, e.g. nagle=off; can be repeated."


def option_field(
    metavar: str, text: str, shown: str = "", *, default: Any = None, name: str = "", **more: Any
) -> Any:
    """Make a dataclass field for a command-line option; see `icmodel.cli.options.expand_options`.

    Parameters
    ----------
    metavar : str
        Placeholder of the value in the help; empty for a switch.
    text : str
        Description of the field.
    shown : str
        Text of the default in the help; if empty, the default itself is shown.
    name : str
        Name of the option; if empty, the name of the field.
    more
        Further arguments of the option.
    """
    words = {"metavar": metavar, "description": text, "shown": shown, "name": name, "more": more}
    return field(default=default, metadata=words)


def given_options(options: Any) -> dict[str, Any]:
    """Return the given options (dataclass fields other than None), by name."""
    values = {one.name: getattr(options, one.name) for one in fields(options)}
    return {name: value for name, value in values.items() if value is not None}


# --- the question -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """Parameters of a scenario, as texts of the command line. A missing parameter is None."""

    payload: str | None = option_field("SIZE", PAYLOAD_HELP)
    rate: str | None = option_field("RATE", 'Frames per second, e.g. "6700/s".', "unlimited")
    requested_goodput: str | None = option_field(
        "RATE", 'Requested goodput, e.g. "3.5 Gb/s", in place of a frame rate.'
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
        "RATE", 'Line rate of another link, e.g. "25 Gb/s" (variant hybrid only).', "as measured"
    )
    cpu_clock: str | None = option_field(
        "RATIO",
        'CPU clock relative to that of the measured hosts, e.g. "1.5" (variant hybrid only).',
        "1",
    )
    app_send: str | None = option_field(
        "TIME",
        "Time that the application adds per frame at the sender (variant hybrid only).",
        "0 s",
    )
    app_recv: str | None = option_field(
        "TIME",
        "Time that the application adds per frame at the receiver (variant hybrid only).",
        "0 s",
    )
    app_send_per_byte: str | None = option_field(
        "TIME",
        'Time that the application adds per byte at the sender, e.g. "0.3 ns" (variant hybrid only).',
        "0 s",
    )
    app_recv_per_byte: str | None = option_field(
        "TIME",
        "Time that the application adds per byte at the receiver (variant hybrid only).",
        "0 s",
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
        """Return the arguments of `icmodel.scenario.scenario`. If the question has no payload, ``payload`` is used.

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
                values[name] = parse_count(name, str(values[name]), int(VALID_RANGES[name].least))
        return {"protocol": protocol, **values, "options": self.option_values()}


# --- values -----------------------------------------------------------------------------------


def parse_count(name: str, text: str, least: int = 0, most: int = MOST) -> int:
    """Parse the whole number of a command-line option.

    Raises
    ------
    ScenarioError
        If the text is not a whole number from ``least`` to ``most``.

    Examples
    --------
    >>> parse_count("cores", "4")
    4
    """
    try:
        return parse_whole(text, least, most)
    except ScenarioError as error:
        raise ScenarioError(f"--{name} {error}") from None


def parse_key_values(texts: list[str] | None) -> dict[str, str]:
    """Parse texts ``KEY=VALUE`` into a mapping from option axis to value.

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
    """Return the names in a repeated option or in a text with commas, each name once.

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

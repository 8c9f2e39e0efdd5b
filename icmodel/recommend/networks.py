"""Networks of a search: all combinations of the choices for devices, switches and links."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.errors import NetworkError
from icmodel.system import OpenSystem, System
from icmodel.system.document import (
    EVERY_LINK,
    Choices,
    Devices,
    Links,
    Switches,
    SystemDocument,
)

Change = Callable[[SystemDocument, object], SystemDocument]
SETTINGS = {
    "devices": {"cores": "cores"},
    "switches": {"forwarding": "forwarding", "latency_s": "latency", "scheduler": "scheduler"},
    "links": {"rate_bps": "rate", "dataset": "dataset", "interconnect": "interconnect"},
}
"""Keys of a system file for which choices are possible, each with its name in results, by part of the document."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """Parameter of a network that can be chosen, such as the rate of a link.

    Parameters
    ----------
    options : tuple
        Options of the parameter, the file's own first.
    change : callable
        Function (document, option) -> document with that option.
    """

    name: str
    options: tuple[object, ...]
    change: Change

    def text(self, option: object) -> str:
        """Convert an option of this parameter to text, with its unit."""
        kind = self.name.rpartition(".")[2]
        if kind == "rate" and isinstance(option, float):
            return units.format_bps(option)
        if kind == "latency" and isinstance(option, float):
            return units.format_seconds(option)
        return str(getattr(option, "kind", option))


@dataclass(frozen=True, slots=True)
class Network:
    """Network with one option of each parameter: its document, its system, and its differences from the file."""

    open: OpenSystem
    system: System
    changed: Mapping[str, str]


def networks(file: OpenSystem, parameters: tuple[Parameter, ...]) -> Iterator[Network]:
    """Yield the network of every combination of options.

    The file's own network comes first, then the others in the order of their number of differences.
    """
    for count in range(len(parameters) + 1):
        for chosen in itertools.combinations(parameters, count):
            for options in itertools.product(*(parameter.options[1:] for parameter in chosen)):
                document, changed = file.document, {}
                for parameter, option in zip(chosen, options, strict=True):
                    document = parameter.change(document, option)
                    changed[parameter.name] = parameter.text(option)
                opened = replace(file, document=document)
                yield Network(opened, opened.system(), changed)


def parameters(document: SystemDocument, choices: Choices) -> tuple[Parameter, ...]:
    """List the parameters of the network for which the file gives choices, sorted by name.

    The first option of a parameter is the file's own. It is ``None`` if several tables of that name have different
    values.
    """
    found = []
    for part, labels in SETTINGS.items():
        for name, chosen in getattr(choices, part).items():
            tables = [table for table in getattr(document, part) if _is_named(table, name)]
            owner = "links" if name == EVERY_LINK else name
            for key, label in labels.items():
                if options := getattr(chosen, key):
                    values = [getattr(table, key) for table in tables]
                    own = values[0] if all(value == values[0] for value in values) else None
                    change = _setting(part, name, key)
                    found.append(Parameter(f"{owner}.{label}", _options(own, options), change))
    for name, device in choices.devices.items():
        if device.interfaces:
            links = [link for link in document.links if name in link.between]
            if len(links) != 1:
                raise NetworkError(
                    f"the interfaces of {name} are a choice, but {len(links)} tables of links name "
                    "it: choose interfaces only of devices that exactly one table names"
                )
            options = _options(links[0].parallel, device.interfaces)
            found.append(Parameter(f"{name}.interfaces", options, _cabling(links[0])))
    several = (parameter for parameter in found if len(parameter.options) > 1)
    return tuple(sorted(several, key=lambda parameter: parameter.name))


def _options(own: object, chosen: tuple[object, ...]) -> tuple[object, ...]:
    """List the options of a parameter: the file's own first, then the others in a fixed order."""
    others = {str(option): option for option in chosen if option != own}
    return (own, *(others[text] for text in sorted(others, key=lambda text: (len(text), text))))


def _cabling(link: Links) -> Change:
    """Make a function that changes a link's number of parallel cables, and the interfaces of devices at its ends."""

    def change(document: SystemDocument, count: object) -> SystemDocument:
        assert isinstance(count, int)
        more = count - link.parallel
        devices = tuple(
            table.model_copy(update={"interfaces": max(table.interfaces + more, 1)})
            if table.name in link.between
            else table
            for table in document.devices
        )
        changed = document.model_copy(update={"devices": devices})
        return _setting("links", link.key, "parallel")(changed, count)

    return change


def _setting(part: str, name: str, key: str) -> Change:
    """Make a function that changes a key in all tables of the given name in one part of a document."""

    def change(document: SystemDocument, value: object) -> SystemDocument:
        tables = tuple(
            table.model_copy(update={key: value}) if _is_named(table, name) else table
            for table in getattr(document, part)
        )
        return document.model_copy(update={part: tables})

    return change


def _is_named(table: Devices | Switches | Links, name: str) -> bool:
    return name in (EVERY_LINK, table.key if isinstance(table, Links) else table.name)

"""Networks: the choices for devices, switches and links, and every combination of these."""

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
    DeviceChoices,
    Devices,
    LinkChoices,
    Links,
    SwitchChoices,
    Switches,
    SystemDocument,
)

Change = Callable[[SystemDocument, object], SystemDocument]
NodeOrLinkChoices = DeviceChoices | SwitchChoices | LinkChoices
SETTINGS = {
    "devices": {"cores": "cores"},
    "switches": {"forwarding": "forwarding", "latency_s": "latency", "scheduler": "scheduler"},
    "links": {"rate_bps": "rate", "dataset": "dataset", "interconnect": "interconnect"},
}
"""What may be chosen of tables, by their part of the document: keys, and how each is called."""


@dataclass(frozen=True, slots=True)
class Knob:
    """One choice in the network.

    Parameters
    ----------
    options : tuple
        Its options, the file's own first.
    change : callable
        Gives the document with another option.
    """

    name: str
    options: tuple[object, ...]
    change: Change


def knobs(document: SystemDocument, choices: Choices) -> tuple[Knob, ...]:
    """Every choice in the network, by name."""
    found = [
        knob
        for part in SETTINGS
        for name, one in getattr(choices, part).items()
        for knob in _settings(document, part, name, one)
    ]
    found += [
        _interfaces(document, name, one.interfaces)
        for name, one in choices.devices.items()
        if one.interfaces
    ]
    return tuple(sorted((one for one in found if len(one.options) > 1), key=lambda one: one.name))


def _settings(
    document: SystemDocument, part: str, name: str, one: NodeOrLinkChoices
) -> Iterator[Knob]:
    """The choices for the tables of a name, the file's own first; ``None`` where that is not the same in all."""
    tables = [table for table in getattr(document, part) if _is_named(table, name)]
    for key, label in SETTINGS[part].items():
        given = getattr(one, key)
        if given:
            values = [getattr(table, key) for table in tables]
            own = values[0] if all(value == values[0] for value in values) else None
            who = "links" if name == EVERY_LINK else name
            yield Knob(f"{who}.{label}", _options(own, given), _setting(part, name, key))


def _options(own: object, given: tuple[object, ...]) -> tuple[object, ...]:
    others = {str(option): option for option in given if option != own}
    return (own, *(others[text] for text in sorted(others, key=lambda text: (len(text), text))))


def _interfaces(document: SystemDocument, name: str, counts: tuple[int, ...]) -> Knob:
    """How many cables lead from each device to its only neighbour."""
    links = [link for link in document.links if name in link.between]
    if len(links) != 1:
        raise NetworkError(
            f"the interfaces of {name} may be chosen, and {len(links)} tables of links name it: "
            "choose them where exactly one does"
        )
    return Knob(f"{name}.interfaces", _options(links[0].parallel, counts), _cables(links[0]))


def _cables(link: Links) -> Change:
    """A number of parallel cables, with interfaces for them at both ends."""

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
    """Set a key of the tables of a name."""

    def change(document: SystemDocument, value: object) -> SystemDocument:
        tables = tuple(
            table.model_copy(update={key: value}) if _is_named(table, name) else table
            for table in getattr(document, part)
        )
        return document.model_copy(update={part: tables})

    return change


def _is_named(table: Devices | Switches | Links, name: str) -> bool:
    return name in (EVERY_LINK, table.key if isinstance(table, Links) else table.name)


@dataclass(frozen=True, slots=True)
class Network:
    """The network with one option of each choice: its document, its system, and its differences."""

    open: OpenSystem
    system: System
    changed: Mapping[str, str]


def networks(file: OpenSystem, some: tuple[Knob, ...]) -> Iterator[Network]:
    """Every combination of options, the file's own first, then by the number of differences."""
    for count in range(len(some) + 1):
        for turned in itertools.combinations(some, count):
            for options in itertools.product(*(knob.options[1:] for knob in turned)):
                document, changed = file.document, {}
                for knob, option in zip(turned, options, strict=True):
                    document = knob.change(document, option)
                    changed[knob.name] = _text(knob.name, option)
                one = replace(file, document=document)
                yield Network(one, one.system(), changed)


def _text(name: str, option: object) -> str:
    kind = name.rpartition(".")[2]
    if kind == "rate" and isinstance(option, float):
        return units.format_bps(option)
    if kind == "latency" and isinstance(option, float):
        return units.format_seconds(option)
    return str(getattr(option, "kind", option))

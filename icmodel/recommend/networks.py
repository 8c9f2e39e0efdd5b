"""Networks: the choices for devices, switches and links, and every combination of these."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.errors import NetworkError
from icmodel.system import OpenSystem, System
from icmodel.system.choices import EVERY_LINK, Choices, DeviceChoices, LinkChoices, SwitchChoices
from icmodel.system.document import Devices, Links, Switches, SystemDocument

Change = Callable[[SystemDocument, object], SystemDocument]


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
    found = itertools.chain(
        *(_of_device(document, *named) for named in choices.devices.items()),
        *(_of_switch(document, *named) for named in choices.switches.items()),
        *(_of_links(document, *named) for named in choices.links.items()),
    )
    return tuple(sorted((one for one in found if len(one.options) > 1), key=lambda one: one.name))


def _options(own: object, given: tuple[object, ...]) -> tuple[object, ...]:
    others = {str(option): option for option in given if option != own}
    return (own, *(others[text] for text in sorted(others, key=lambda text: (len(text), text))))


def _of_device(document: SystemDocument, name: str, one: DeviceChoices) -> Iterator[Knob]:
    table = next(table for table in document.devices if table.name == name)
    if one.cores:
        yield Knob(
            f"{name}.cores",
            _options(table.cores, one.cores),
            _setting("devices", _named(name), "cores"),
        )
    if one.interfaces:
        links = [link for link in document.links if name in link.between]
        if len(links) != 1:
            raise NetworkError(
                f"the interfaces of {name} may be chosen, and {len(links)} tables of links name it: "
                "choose them where exactly one does"
            )
        yield Knob(
            f"{name}.interfaces", _options(links[0].parallel, one.interfaces), _cables(links[0])
        )


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
        return _setting("links", lambda table: table.key == link.key, "parallel")(changed, count)

    return change


def _of_switch(document: SystemDocument, name: str, one: SwitchChoices) -> Iterator[Knob]:
    table = next(table for table in document.switches if table.name == name)
    for key in ("forwarding", "latency_s", "scheduler"):
        if getattr(one, key):
            options = _options(getattr(table, key), getattr(one, key))
            yield Knob(
                f"{name}.{key.removesuffix('_s')}", options, _setting("switches", _named(name), key)
            )


def _of_links(document: SystemDocument, name: str, one: LinkChoices) -> Iterator[Knob]:
    tables = [table for table in document.links if name in (EVERY_LINK, table.key)]
    for key in ("rate_bps", "dataset", "interconnect"):
        if getattr(one, key):
            own = {getattr(table, key) for table in tables}
            first: object = own.pop() if len(own) == 1 else None  # None: each as the file has it
            options = _options(first, getattr(one, key))
            label = f"{'links' if name == EVERY_LINK else name}.{key.removesuffix('_bps')}"
            yield Knob(
                label,
                options,
                _setting("links", lambda table: name in (EVERY_LINK, table.key), key),
            )


def _named(name: str) -> Callable[[Devices | Switches | Links], bool]:
    return lambda table: getattr(table, "name", "") == name


def _setting(part: str, chosen: Callable[..., bool], key: str) -> Change:
    """Set a key of the chosen tables."""

    def change(document: SystemDocument, value: object) -> SystemDocument:
        tables = tuple(
            table.model_copy(update={key: value}) if chosen(table) else table
            for table in getattr(document, part)
        )
        return document.model_copy(update={part: tables})

    return change


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

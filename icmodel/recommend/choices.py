"""Choices of a search for designs: variants of each ``[[streams]]`` table of a system file, and networks.

A variant is a choice of protocol, payload, rate, cores and priority. A network is a choice of one option for each
parameter of devices, switches and links, such as a link's rate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace

from icmodel import units
from icmodel.errors import NetworkError
from icmodel.model import Model
from icmodel.system import OpenSystem, Stream, System
from icmodel.system.document import (
    ALIGNED,
    AS_PRODUCED,
    EVERY_LINK,
    WHOLE_MESSAGES,
    Choices,
    Devices,
    Links,
    StreamChoices,
    Streams,
    Switches,
    SystemDocument,
)
from icmodel.system.prediction.answers import dataset_of
from icmodel.system.traffic import wire

Models = Model | Mapping[str, Model]
"""Type of the models of a search: one model for all streams, or one for each dataset that the system names."""
MOST_PAYLOAD_BYTES = 65_535
"""Greatest aligned payload [B] if no payload was measured: the TCP payload in IC2012 §8.1."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Variant of a ``[[streams]]`` table: one choice of protocol, payload, rate, cores and priority.

    If payload or rate is ``None``, the traffic source determines it.
    """

    protocol: str
    payload_bytes: int | None
    rate_fps: float | None
    cores: int | None
    priority: int

    def texts(self) -> dict[str, str]:
        """Return the value of each parameter of this variant as text, by the parameter's name."""
        payload, rate = self.payload_bytes, self.rate_fps
        return {
            "protocol": self.protocol,
            "payload": "as produced" if payload is None else units.format_bytes(payload),
            "rate": "as produced" if rate is None else units.format_rate(rate),
            "cores": "one connection" if self.cores is None else str(self.cores),
            "priority": str(self.priority),
        }

    def changed(self, own: Variant) -> dict[str, str]:
        """Return the values of this variant that differ from the file's own variant, as text by parameter."""
        mine, theirs = self.texts(), own.texts()
        return {name: text for name, text in mine.items() if text != theirs[name]}

    def order(self) -> tuple[str, float, float, float, int]:
        """Return a sort key: protocol, payload, rate, cores, priority; a missing number comes first.

        Variants (settings of one stream) sorted by this key have the same order, whatever the order of the choices in
        the file.
        """
        known = (self.payload_bytes, self.rate_fps, self.cores)
        payload, rate, cores = (-1.0 if value is None else float(value) for value in known)
        return self.protocol, payload, rate, cores, self.priority

    def apply(self, table: Streams) -> Streams:
        """Copy a ``[[streams]]`` table with the protocol, payload, rate, cores and priority of this variant."""
        return table.model_copy(update=asdict(self))


def variants(
    table: Streams, choices: StreamChoices, system: System, models: Models
) -> tuple[Variant, ...]:
    """List all variants of a ``[[streams]]`` table in a network, the file's own first.

    Payloads that the protocol cannot carry, and priorities that a port on the route never serves, are left out.
    """
    own = Variant(table.protocol, table.payload_bytes, table.rate_fps, table.cores, table.priority)
    stream = next(one for one in system.streams.values() if one.group == table.name)
    found = {own}
    for protocol in {own.protocol, *choices.protocol}:
        sent_by = replace(stream, protocol=protocol)
        for payload in _payloads(own, choices, system, sent_by, models):
            rates = {own.rate_fps}
            for rate in choices.rate_fps:
                made = table.produces.producer(payload) if rate == WHOLE_MESSAGES else None
                if isinstance(rate, float | int):
                    rates.add(float(rate))
                elif (
                    made is None or payload is None
                ):  # None stands for the rate of the traffic source
                    rates.add(None)
                else:
                    rates.add(math.ceil(made.message_bytes / payload) / made.period_s)
            rest = itertools.product(
                rates, {own.cores, *choices.cores}, {own.priority, *choices.priority}
            )
            found |= {Variant(protocol, payload, *each) for each in rest}
    ports = [system.ports[name].scheduler for name in stream.path]
    served = {one for one in found if all(port.serves(one.priority) for port in ports)}
    return (own, *sorted(served - {own}, key=Variant.order))


def _payloads(
    own: Variant, choices: StreamChoices, system: System, stream: Stream, models: Models
) -> set[int | None]:
    """Return the payloads [B] among which a search chooses for a stream: its own and those listed in ``choices``.

    If the choices include aligned payloads (frames that fill their packets), some of them are added: the payloads that
    fill 1, 2, 4, 8, … packets, and the greatest aligned payload in the measured range.
    """
    on = wire(stream.protocol, system.links_of(stream)[0])
    sizes: set[int | None] = {own.payload_bytes}
    sizes |= {size for size in choices.payload_bytes if not isinstance(size, str)}
    if ALIGNED in choices.payload_bytes and on.framing is not None:
        model = _model_of(system, stream, models)
        points = () if model is None else model.data.points
        measured = [p.payload_bytes for p in points if p.protocol == stream.protocol]
        most = max((size for size in measured if size), default=MOST_PAYLOAD_BYTES)
        full = on.framing.aligned_payloads(most).tolist()
        doubled = (1 << power for power in range(len(full).bit_length()))
        sizes |= {*(full[count - 1] for count in doubled if count <= len(full)), *full[-1:]}
    greatest = on.greatest_payload_bytes()
    return {size for size in sizes if size is None or greatest is None or size <= greatest}


def _model_of(system: System, stream: Stream, models: Models) -> Model | None:
    if isinstance(models, Model):
        return models
    return models.get(dataset_of(system, stream) or "")


def default_choices(document: SystemDocument, system: System, models: Models) -> Choices:
    """Make the choices for a system file without the table ``[choices]``, from the datasets of its streams.

    A stream can have each measured protocol and core count, each aligned payload (frames that fill their packets), and
    the rate of its source. If the source itself sets the frame size (each message is one frame), the payload is fixed.
    """
    streams = {}
    for table in document.streams:
        stream = next(one for one in system.streams.values() if one.group == table.name)
        model = _model_of(system, stream, models)
        cores = () if model is None else sorted({p.cores for p in model.data.points if p.cores})
        framed = table.produces.frame_bytes() is not None
        streams[table.name] = StreamChoices(
            protocol=() if model is None else tuple(model.data.protocols),
            payload_bytes=() if framed else (ALIGNED,),
            rate_fps=(AS_PRODUCED,),
            cores=tuple(cores),
        )
    return Choices(streams=streams)


Change = Callable[[SystemDocument, object], SystemDocument]
SETTINGS = {
    "devices": {"cores": "cores"},
    "switches": {"forwarding": "forwarding", "latency_s": "latency", "scheduler": "scheduler"},
    "links": {"rate_bps": "rate", "dataset": "dataset", "interconnect": "interconnect"},
}
"""Keys of a system file that can have choices, by part of the document; each key with its name in results."""


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
        """Convert one of the possible values (`options`) of this parameter to text, with its unit."""
        kind = self.name.rpartition(".")[2]
        if kind == "rate" and isinstance(option, float):
            return units.format_bps(option)
        if kind == "latency" and isinstance(option, float):
            return units.format_seconds(option)
        return str(getattr(option, "kind", option))


@dataclass(frozen=True, slots=True)
class Network:
    """Network (devices, switches and links) of a design, with one option chosen for each parameter.

    ``open`` is the system file with these options, as a document that can be changed, and ``system`` the system built
    from it. ``changed`` maps each parameter that differs from the original file to the chosen option, as text.
    """

    open: OpenSystem
    system: System
    changed: Mapping[str, str]


def networks(file: OpenSystem, parameters: tuple[Parameter, ...]) -> Iterator[Network]:
    """Yield the network of every combination of options.

    The file's own network comes first, then networks with one difference from it, then with two, and so on.
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
    """List the parameters of the network for which the system file gives choices, sorted by name.

    The first option of a parameter is its present value: the one in the file's ``[[devices]]``, ``[[switches]]`` or
    ``[[links]]`` tables. If several tables have different present values, the first option is ``None``.
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
                    f"[choices] varies the interfaces of {name}, which must be named in exactly one [[links]] table, "
                    f"but is named in {len(links)}: remove this choice, or name {name} in exactly one table"
                )
            options = _options(links[0].parallel, device.interfaces)
            found.append(Parameter(f"{name}.interfaces", options, _cabling(links[0])))
    several = (parameter for parameter in found if len(parameter.options) > 1)
    return tuple(sorted(several, key=lambda parameter: parameter.name))


def _options(own: object, chosen: tuple[object, ...]) -> tuple[object, ...]:
    """List the options of a parameter: its value in the system file (``own``) first, then the others in ``chosen``.

    The others are sorted as texts: shorter texts first, and texts of equal length alphabetically. So 4 is before 16.
    """
    others = {str(option): option for option in chosen if option != own}
    return (own, *(others[text] for text in sorted(others, key=lambda text: (len(text), text))))


def _cabling(link: Links) -> Change:
    """Make a function that changes a link's number of parallel cables.

    A further cable needs a further interface at each end. So the function also adds as many interfaces to the devices
    at both ends as cables to the link, or removes as many.
    """

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
    """Make a function that sets a key in every table of a given name in a system file.

    Parameters
    ----------
    part : str
        List that holds the tables: ``devices``, ``switches`` or ``links``.
    name : str
        Name of the tables.
    key : str
        Key to set.
    """

    def change(document: SystemDocument, value: object) -> SystemDocument:
        tables = tuple(
            table.model_copy(update={key: value}) if _is_named(table, name) else table
            for table in getattr(document, part)
        )
        return document.model_copy(update={part: tables})

    return change


def _is_named(table: Devices | Switches | Links, name: str) -> bool:
    return name in (EVERY_LINK, table.key if isinstance(table, Links) else table.name)

"""Variants: the choices for a table of streams, all of them together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from icmodel import units
from icmodel.model import Model
from icmodel.system import Stream, System
from icmodel.system.document import (
    ALIGNED,
    AS_PRODUCED,
    WHOLE_MESSAGES,
    Burst,
    Choices,
    Samples,
    StreamChoices,
    Streams,
    SystemDocument,
    producer,
)
from icmodel.system.packing import wire
from icmodel.system.prediction.answers import dataset_of

Speakers = Model | Mapping[str, Model]
"""The model of all streams, or models by the name of their dataset in the system."""
MOST_PAYLOAD_BYTES = 65_535
"""The greatest aligned payload if no dataset states a measured range: TCP's of IC2012 §8.1."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One choice for a table of streams; ``rate_fps`` of ``None`` is as produced."""

    protocol: str
    payload_bytes: int | None
    rate_fps: float | None
    cores: int | None
    priority: int

    def told(self) -> dict[str, str]:
        """The whole choice, as text."""
        payload, rate = self.payload_bytes, self.rate_fps
        return {
            "protocol": self.protocol,
            "payload": "as produced" if payload is None else units.format_bytes(payload),
            "rate": "as produced" if rate is None else units.format_rate(rate),
            "cores": "one connection" if self.cores is None else str(self.cores),
            "priority": str(self.priority),
        }

    def changed(self, own: Variant) -> dict[str, str]:
        """Its differences from the file, as text."""
        mine, theirs = self.told(), own.told()
        return {name: text for name, text in mine.items() if text != theirs[name]}

    def order(self) -> tuple[str, float, float, float, int]:
        """Sort key that does not depend on the file's order."""
        known = (self.payload_bytes, self.rate_fps, self.cores)
        payload, rate, cores = (-1.0 if value is None else float(value) for value in known)
        return self.protocol, payload, rate, cores, self.priority

    def of_table(self, table: Streams) -> Streams:
        """The table with this choice."""
        return table.model_copy(update=asdict(self))


def own_variant(table: Streams) -> Variant:
    """The file's own choice for a table of streams."""
    return Variant(table.protocol, table.payload_bytes, table.rate_fps, table.cores, table.priority)


def variants(
    table: Streams, given: StreamChoices, system: System, speakers: Speakers
) -> tuple[Variant, ...]:
    """All choices for a table of streams in a network, the file's own first.

    Payloads that the protocol cannot carry, and priorities that a port on the route never serves, are left out.
    """
    own = own_variant(table)
    stream = next(one for one in system.streams.values() if one.group == table.name)
    found = {own}
    for protocol in {own.protocol, *given.protocol}:
        for payload in _payloads(own, given, system, replace(stream, protocol=protocol), speakers):
            rates = {_rate_fps(table, payload, rate) for rate in given.rate_fps} | {own.rate_fps}
            rest = itertools.product(
                rates, {own.cores, *given.cores}, {own.priority, *given.priority}
            )
            found |= {Variant(protocol, payload, *each) for each in rest}
    ports = [system.ports[name].scheduler for name in stream.path]
    served = {one for one in found if all(port.serves(one.priority) for port in ports)}
    return (own, *sorted(served - {own}, key=Variant.order))


def _payloads(
    own: Variant, given: StreamChoices, system: System, stream: Stream, speakers: Speakers
) -> set[int | None]:
    on = wire(stream.protocol, system.links_of(stream)[0])
    sizes: set[int | None] = {own.payload_bytes}
    sizes |= {one for one in given.payload_bytes if not isinstance(one, str)}
    if ALIGNED in given.payload_bytes and on.framing is not None:
        sizes |= _aligned(on.framing.aligned_payloads(_measured(system, stream, speakers)).tolist())
    most = on.greatest_payload_bytes()
    return {one for one in sizes if one is None or most is None or one <= most}


def _aligned(full: list[int]) -> set[int | None]:
    """Payloads that fill 1, 2, 4, 8 ... packets, and the greatest."""
    doubled = (1 << power for power in range(len(full).bit_length()))
    return {*(full[count - 1] for count in doubled if count <= len(full)), *full[-1:]}


def _measured(system: System, stream: Stream, speakers: Speakers) -> int:
    """Greatest measured payload of a stream's protocol [B]."""
    model = _model_of(system, stream, speakers)
    points = () if model is None else model.data.points
    sizes = [p.payload_bytes for p in points if p.protocol == stream.protocol and p.payload_bytes]
    return max(sizes, default=MOST_PAYLOAD_BYTES)


def _model_of(system: System, stream: Stream, speakers: Speakers) -> Model | None:
    if isinstance(speakers, Model):
        return speakers
    return speakers.get(dataset_of(system, stream) or "")


def _rate_fps(table: Streams, payload_bytes: int | None, given: float | str) -> float | None:
    """Frames per second [1/s]; ``None`` as produced, also if a message is one frame."""
    if given == AS_PRODUCED:
        return None
    if given != WHOLE_MESSAGES:
        return float(given)
    made = producer(table.produces, payload_bytes)
    if made is None or payload_bytes is None:
        return None
    return math.ceil(made.message_bytes / payload_bytes) / made.period_s


def usual(document: SystemDocument, system: System, speakers: Speakers) -> Choices:
    """The search space if the file has no choices: what its datasets have for its streams.

    Measured protocols and core counts, aligned payloads unless a frame is a message, and the
    produced rate.
    """
    streams = {}
    for table in document.streams:
        stream = next(one for one in system.streams.values() if one.group == table.name)
        model = _model_of(system, stream, speakers)
        cores = () if model is None else sorted({p.cores for p in model.data.points if p.cores})
        framed = isinstance(table.produces, Samples | Burst)
        streams[table.name] = StreamChoices(
            protocol=() if model is None else tuple(model.data.protocols),
            payload_bytes=() if framed else (ALIGNED,),
            rate_fps=(AS_PRODUCED,),
            cores=tuple(cores),
        )
    return Choices(streams=streams)

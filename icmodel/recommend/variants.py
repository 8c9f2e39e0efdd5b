"""Variants of a table of streams: every combination of its choices (protocol, payload, rate, cores, priority)."""

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
    Choices,
    StreamChoices,
    Streams,
    SystemDocument,
)
from icmodel.system.packing import wire
from icmodel.system.prediction.answers import dataset_of

Models = Model | Mapping[str, Model]
"""Type of the models of a search: one model for all streams, or one for each dataset that the system names."""
MOST_PAYLOAD_BYTES = 65_535
"""Limit of aligned payloads [B] if no payload was measured: the payload of TCP in IC2012 §8.1."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Variant of a table of streams: one choice of protocol, payload, rate, cores and priority.

    If payload or rate is ``None``, the traffic source determines it.
    """

    protocol: str
    payload_bytes: int | None
    rate_fps: float | None
    cores: int | None
    priority: int

    def texts(self) -> dict[str, str]:
        """Convert this variant to texts, by parameter."""
        payload, rate = self.payload_bytes, self.rate_fps
        return {
            "protocol": self.protocol,
            "payload": "as produced" if payload is None else units.format_bytes(payload),
            "rate": "as produced" if rate is None else units.format_rate(rate),
            "cores": "one connection" if self.cores is None else str(self.cores),
            "priority": str(self.priority),
        }

    def changed(self, own: Variant) -> dict[str, str]:
        """Differences between this variant and the file's own, as text by parameter."""
        mine, theirs = self.texts(), own.texts()
        return {name: text for name, text in mine.items() if text != theirs[name]}

    def order(self) -> tuple[str, float, float, float, int]:
        """Sort key, independent of the order in the file."""
        known = (self.payload_bytes, self.rate_fps, self.cores)
        payload, rate, cores = (-1.0 if value is None else float(value) for value in known)
        return self.protocol, payload, rate, cores, self.priority

    def apply(self, table: Streams) -> Streams:
        """Copy a table of streams with the protocol, payload, rate, cores and priority of this variant."""
        return table.model_copy(update=asdict(self))


def variants(
    table: Streams, choices: StreamChoices, system: System, models: Models
) -> tuple[Variant, ...]:
    """List all variants of a table of streams in a network, the file's own first.

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
                elif made is None or payload is None:  # the source's rate, even for whole messages
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
    """Return the payloads of a stream [B]: the file's own, the listed choices, and aligned payloads if chosen.

    Aligned payloads fill 1, 2, 4, 8, … packets; the last is the greatest aligned one within the measured range.
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

    A stream can have each measured protocol and core count, each aligned payload, and the rate of its source. If each
    frame is a message, the payload is fixed.
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

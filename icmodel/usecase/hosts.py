"""Interfaces of devices: the number that each device needs, and the streams that share an interface."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from icmodel import units
from icmodel.estimate import Prediction
from icmodel.requirement import ROUNDING
from icmodel.usecase.derivation import (
    Derivation,
    Derivations,
    exact,
    needed_goodput,
)
from icmodel.usecase.document import Candidate, Device, UseCase
from icmodel.usecase.result import Answer

Load = Mapping[str, int]
"""Load of one interface: number of streams by stream name (a name can stand for several equal streams)."""


@dataclass(frozen=True, slots=True)
class Interfaces:
    """Network interfaces of one device: actual number, and number that its streams need (``None`` if unknown).

    ``received`` and ``sent`` have one entry for each different load of an interface: a mapping from a stream's name to
    the number of streams of this name that the interface receives or sends. Interfaces with equal loads share an entry.
    No stream is divided between interfaces.
    """

    device: Device
    count: int
    needed: Derivation | None
    received: tuple[Load, ...]
    sent: tuple[Load, ...]

    @property
    def too_few(self) -> bool:
        """Whether the device's streams need more interfaces than the device has."""
        return self.needed is not None and self.count < self.needed.value

    def shared(
        self, stream: str, loads: tuple[Load, ...], derived: Derivations
    ) -> SharedInterface | None:
        """Of the interfaces that carry a stream, find the one whose other streams need the most goodput.

        ``loads`` is either `received` or `sent`. Each element describes one interface: it maps the name of a stream to
        the number of streams with this name that the interface receives or sends. The result is ``None`` if no
        interface carries the stream.
        """
        busiest = max(
            (load for load in loads if stream in load),
            key=lambda load: _others_bps(stream, load, derived),
            default=None,
        )
        if busiest is None:
            return None
        endpoints = Derivation(
            f"{stream}.endpoints",
            sum(busiest.values()),
            " + ".join(f"{n} {name}" for name, n in busiest.items()),
            f"streams that meet at one of the {self.count} interface(s) of {self.device.name}",
        )
        others_bps = _others_bps(stream, busiest, derived)
        parts = [
            (n, needed_goodput(name, derived).value) for name, n in _others(stream, busiest).items()
        ]
        formulas = (endpoints, _others_derivation(stream, others_bps, parts))
        return SharedInterface(sum(busiest.values()), others_bps, formulas, busiest)


def _others(stream: str, load: Load) -> Load:
    """Copy the load of an interface (number of streams by name) without one stream of the given name."""
    others = {**load, stream: load[stream] - 1}
    return {name: n for name, n in others.items() if n}


def _others_bps(stream: str, load: Load, derived: Derivations) -> float:
    others = _others(stream, load).items()
    return math.fsum(n * needed_goodput(name, derived).value for name, n in others)


@dataclass(frozen=True, slots=True)
class SharedInterface:
    """Busiest interface on a stream's path.

    ``endpoints`` is the number of all streams that meet there. ``load`` lists these streams: it maps the name of a
    stream to the number of streams with this name. ``other_goodput_bps`` is the goodput of all streams there except the
    stream in question [b/s].
    """

    endpoints: int
    other_goodput_bps: float
    derivations: tuple[Derivation, ...]
    load: Load

    def is_full(self, capacities_bps: Mapping[str, Fraction], derived: Derivations) -> bool:
        """Whether the streams together need more goodput than the interface carries.

        If they do, frames of all streams wait in the queue of the interface, even those of a stream that gets enough
        goodput. Streams without an entry in ``capacities_bps`` are not counted.
        """
        parts = (
            n * needed_goodput(name, derived).value / float(capacities_bps[name])
            for name, n in self.load.items()
            if name in capacities_bps
        )
        return math.fsum(parts) > 1 + ROUNDING


def interfaces(
    case: UseCase,
    candidate: Candidate,
    capacities_bps: Mapping[str, Fraction],
    derived: Derivations,
) -> dict[str, Interfaces]:
    """Return the interfaces of each device: as many as the file states, or as many as the device's streams need.

    The scenario of a stream may state in ``endpoints`` how many streams meet at an interface. If the file states no
    number of interfaces, a device then gets enough of them that each receives at most so many streams of this name.

    Parameters
    ----------
    capacities_bps : mapping
        Greatest goodput of each stream alone over one interface [b/s]; streams of unknown goodput are missing.
    """
    found = {}
    for device in case.devices:
        pieces = {
            verb: _pieces(case, handled, capacities_bps, derived)
            for verb, handled in (("received", device.receives), ("sent", device.sends))
        }
        needed = _needed_interfaces(device, pieces, capacities_bps, derived)
        least = 1 if needed is None else int(needed.value)
        for stream, n in device.receives.items():
            question = candidate.scenarios.get(stream)
            if question is None or question.endpoints is None:
                continue
            least = max(least, math.ceil(case.connections(stream, n) / question.endpoints))
        count = device.interfaces or least
        received, sent = (_spread(pieces[verb], count) for verb in ("received", "sent"))
        found[device.name] = Interfaces(device, count, needed, received, sent)
    return found


@dataclass(frozen=True, slots=True)
class _Piece:
    """Streams of one name at one device; all have the same size.

    ``number`` is how many they are. ``size`` is the fraction of an interface that a single stream needs. If this
    fraction is unknown, ``size`` is the goodput of a single stream [b/s].
    """

    stream: str
    number: int
    size: Fraction


def _pieces(
    case: UseCase,
    handled: Mapping[str, int],
    capacities_bps: Mapping[str, Fraction],
    derived: Derivations,
) -> list[_Piece]:
    """Return the streams that a device sends or receives, the largest first.

    The size of a stream is its needed goodput divided by its greatest goodput over one interface (``capacities_bps``).
    If this capacity is unknown for one of the streams, all sizes are needed goodputs [b/s].
    """
    known = capacities_bps.keys() >= handled.keys()
    pieces = []
    for name, n in handled.items():
        goodput_bps = exact(needed_goodput(name, derived).value)
        size = goodput_bps / (capacities_bps[name] if known else 1)
        pieces.append(_Piece(name, min(case.connections(name, n), n), size))
    return sorted(pieces, key=lambda piece: piece.size, reverse=True)


def _needed_interfaces(
    device: Device,
    pieces: Mapping[str, list[_Piece]],
    capacities_bps: Mapping[str, Fraction],
    derived: Derivations,
) -> Derivation | None:
    """Return the number of interfaces that one device needs for sending or for receiving, whichever is more.

    A direction with a single stream is left out: a stream is never divided, so one interface is enough. A direction is
    also left out if the greatest goodput of one of its streams over one interface is unknown. The result is ``None`` if
    both directions are left out.
    """
    counts = {
        verb: _count(_packed(handled, Fraction(1)))
        for verb, handled in pieces.items()
        if sum(piece.number for piece in handled) > 1
        and all(piece.stream in capacities_bps for piece in handled)
    }
    if not counts:
        return None
    verb = max(counts, key=lambda name: counts[name])
    parts = " + ".join(
        f"{piece.number} × {needed_goodput(piece.stream, derived).text} / "
        f"{units.format_bps(float(capacities_bps[piece.stream]))}"
        for piece in pieces[verb]
    )
    return Derivation(
        f"{device.name}.interfaces",
        counts[verb],
        f"{parts}, without dividing a stream",
        f"interfaces that one {device.name} needs for its {verb} streams",
    )


Packed = list[tuple[int, Fraction, dict[str, int]]]
"""Groups of interfaces with equal loads: number of interfaces, size still free on each, and load of each."""


def _packed(pieces: list[_Piece], size: Fraction) -> Packed:
    """Pack streams into interfaces of equal size by first fit, the largest stream first.

    A stream larger than an interface takes an interface of its own.
    """
    packed: Packed = []
    for piece in pieces:
        rest, before, packed = piece.number, packed, []
        for number, free, load in [*before, (rest, size, {})]:
            fitting = max(math.floor(free / piece.size), 0 if load else 1)
            full, last = divmod(min(rest, number * fitting), fitting) if fitting else (0, 0)
            for some, each in ((full, fitting), (1 if last else 0, last)):
                if some:
                    packed.append((some, free - each * piece.size, {**load, piece.stream: each}))
            if load and number > full + bool(last):
                packed.append((number - full - bool(last), free, load))
            rest -= full * fitting + last
    return packed


def _count(packed: Packed) -> int:
    return sum(number for number, *_ in packed)


def _spread(pieces: list[_Piece], count: int) -> tuple[Load, ...]:
    """Spread streams over ``count`` interfaces, so that the fullest one is as little loaded as possible.

    A bisection finds the least size of an interface that suffices: by first fit, all streams fit into ``count``
    interfaces of this size (MULTIFIT of Coffman, Garey and Johnson, SIAM Journal on Computing 7, 1978).
    """
    enough = sum((piece.number * piece.size for piece in pieces), Fraction(0))
    least = max([enough / count, *(piece.size for piece in pieces)])
    packed = _packed(pieces, least)
    if _count(packed) > count:
        packed = _packed(pieces, enough)
        for _ in range(BISECTIONS):
            middle = (least + enough) / 2
            tried = _packed(pieces, middle)
            if _count(tried) > count:
                least = middle
            else:
                enough, packed = middle, tried
    return tuple(load for _, _, load in packed)


BISECTIONS = 30
"""Number of bisection steps in the search for the least size of interfaces into which all streams fit."""


def capacities_alone(answers: Mapping[str, Answer]) -> dict[str, Fraction]:
    """Return, for each stream, the goodput that one interface carries without other streams [b/s]."""
    return {
        stream: exact(min(bounds))
        for stream, answer in answers.items()
        if (bounds := own_bounds(answer.prediction))
    }


def own_bounds(prediction: Prediction | None) -> list[float]:
    """Return two limits of a stream's goodput [b/s]: what its line carries, and the most that benchmarks reached.

    These limits depend neither on the requested rate nor on other streams. The result is empty without a predicted
    goodput.
    """
    if prediction is None or prediction.metrics["goodput_bps"].absent:
        return []
    own = [prediction.bounds[name] for name in ("wire", "benchmark") if name in prediction.bounds]
    return [bound for bound in own if 0 < bound < math.inf]


# --- streams that share an interface ------------------------------------------------------------


def shared_interface(
    case: UseCase,
    candidate: Candidate,
    stream: str,
    found: Mapping[str, Interfaces],
    derived: Derivations,
) -> SharedInterface | None:
    """Find the interface at which a stream meets the most goodput of other streams.

    Receiving interfaces are searched. The interfaces of a sender are searched only if the sender has fewer interfaces
    than its streams need. If the scenario states the number of streams at the interface (``endpoints``) but not their
    goodput, all of them are assumed to be streams of the same name. The result is ``None`` if the stream shares no
    interface, or if the scenario states both ``endpoints`` and ``other_goodput``.
    """
    question = candidate.scenarios[stream]
    if question.endpoints is not None and question.other_goodput_bps is not None:
        return None
    busiest = max(
        (
            shared
            for at in found.values()
            for loads in (at.received, at.sent if at.too_few else ())
            if (shared := at.shared(stream, loads, derived)) is not None
        ),
        key=lambda shared: shared.other_goodput_bps,
        default=None,
    )
    if busiest is None or busiest.endpoints == 1 or question.endpoints == 1:
        return None
    if question.endpoints is None:
        return busiest
    needed, others = needed_goodput(stream, derived).value, question.endpoints - 1
    others_bps = others * needed
    formula = _others_derivation(stream, others_bps, [(others, needed)])
    load = {stream: question.endpoints}
    return SharedInterface(question.endpoints, others_bps, (formula,), load)


def _others_derivation(
    stream: str, others_bps: float, parts: list[tuple[int, float]]
) -> Derivation:
    return Derivation(
        f"{stream}.other_goodput_bps",
        others_bps,
        " + ".join(f"{n} × {units.format_bps(goodput_bps)}" for n, goodput_bps in parts),
        "goodput that the other streams there need",
    )


# --- results ------------------------------------------------------------------------------------


def interface_derivations(found: Mapping[str, Interfaces]) -> tuple[Derivation, ...]:
    """Return the numbers of interfaces for the report.

    For each kind of device, these are the number of interfaces that one device needs, and the greatest number of streams
    on one interface. The total number of interfaces of all devices is also among them. If the needed number is unknown
    for every device, the result is empty.
    """
    needed = [at.needed for at in found.values() if at.needed is not None]
    if not needed:
        return ()
    counts = [(at.device.count, at.count) for at in found.values()]
    total = Derivation(
        "devices.interfaces",
        sum(devices * count for devices, count in counts),
        " + ".join(f"{devices} × {count}" for devices, count in counts),
        "total number of interfaces",
    )
    streams = (
        Derivation(
            f"{at.device.name}.{stream}-per-interface",
            max(load.get(stream, 0) for load in at.received),
            f"{n} on {at.count} interface(s), spread evenly",
            f"{stream} on one interface of {at.device.name}",
        )
        for at in found.values()
        if at.needed is not None
        for stream, n in at.device.receives.items()
        if n > 1
    )
    return (*needed, total, *streams)


def interface_notes(found: Mapping[str, Interfaces]) -> tuple[str, ...]:
    """Return notes on devices that have fewer interfaces than their streams need."""
    return tuple(
        f"one {name} has {at.count} interface(s), but its streams need {int(at.needed.value)}"
        for name, at in found.items()
        if at.needed is not None and at.too_few
    )

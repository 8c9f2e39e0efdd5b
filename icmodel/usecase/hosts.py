"""Interfaces of devices: how many their streams need, and which streams share one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from icmodel import units
from icmodel.errors import UseCaseError
from icmodel.estimate import Prediction
from icmodel.usecase.derivation import (
    Derivation,
    Derivations,
    exact,
    needed_goodput,
    source_goodput,
)
from icmodel.usecase.document import Candidate, Device, UseCase
from icmodel.usecase.result import Answer

Answers = Mapping[str, Answer]


@dataclass(frozen=True, slots=True)
class Meeting:
    """The streams at the busiest interface that a stream passes, including that stream."""

    endpoints: int
    other_goodput_bps: float
    derivations: tuple[Derivation, ...]


@dataclass(frozen=True, slots=True)
class Interfaces:
    """How many interfaces one device of a kind has, and how many its streams need."""

    device: Device
    has: int
    needed: Derivation | None

    @property
    def too_few(self) -> bool:
        """Whether its streams need more interfaces than it has."""
        return self.needed is not None and self.has < self.needed.value


def interfaces(
    case: UseCase, candidate: Candidate, carried: Mapping[str, Fraction], made: Derivations
) -> dict[str, Interfaces]:
    """The interfaces of each device: what the file says, else what its streams need.

    ``carried`` is the goodput [b/s] that one interface carries of each stream, where it is known.
    Where a candidate says how many endpoints meet at one, a device has enough for that.

    Raises
    ------
    UseCaseError
        If a candidate says fewer endpoints than the file lets meet at one interface.
    """
    return {
        device.name: _interfaces_of(case, candidate, device, _needed(device, carried, made))
        for device in case.devices
    }


def _interfaces_of(
    case: UseCase, candidate: Candidate, device: Device, needed: Derivation | None
) -> Interfaces:
    least = 1 if needed is None else int(needed.value)
    for stream, n in device.receives.items():
        asked = candidate.scenarios.get(stream)
        if asked is None or asked.endpoints is None:
            continue
        streams = case.connections(stream, n)
        if (
            device.interfaces is not None
            and math.ceil(streams / device.interfaces) > asked.endpoints
        ):
            raise UseCaseError(
                f"the candidate {candidate.name} says endpoints = {asked.endpoints} for {stream}, "
                f"but {streams} of them meet at the {device.interfaces} interface(s) of one "
                f"{device.name}: correct one of the two, or leave endpoints out"
            )
        least = max(least, math.ceil(streams / asked.endpoints))
    return Interfaces(device, device.interfaces or least, needed)


def carried_alone(answers: Answers) -> dict[str, Fraction]:
    """Capacity of one interface for each stream [b/s]: the least of the stream's own bounds."""
    return {
        stream: exact(min(own))
        for stream, answer in answers.items()
        if (own := own_bounds(answer.prediction))
    }


def own_bounds(prediction: Prediction | None) -> list[float]:
    """Bounds of the goodput [b/s] without the request and the share; none without a goodput."""
    if prediction is None or prediction.metrics["goodput_bps"].absent:
        return []
    own = [prediction.bounds[name] for name in ("wire", "benchmark") if name in prediction.bounds]
    return [bound for bound in own if 0 < bound < math.inf]


def _needed(
    device: Device, carried: Mapping[str, Fraction], made: Derivations
) -> Derivation | None:
    """Interfaces that one device needs, for sending or for receiving, whichever is more."""
    shares = {
        verb: _share(handled, carried, made)
        for verb, handled in (("received", device.receives), ("sent", device.sends))
        if max(handled.values(), default=0) > 1 and all(stream in carried for stream in handled)
    }
    if not shares:
        return None
    verb = max(shares, key=lambda name: shares[name][0])
    share, formula = shares[verb]
    return Derivation(
        f"{device.name}.interfaces",
        math.ceil(share),
        f"{formula}, rounded up",
        f"interfaces that one {device.name} needs for what is {verb}",
    )


def _share(
    handled: Mapping[str, int], carried: Mapping[str, Fraction], made: Derivations
) -> tuple[Fraction, str]:
    parts = []
    formulas = []
    for stream, n in handled.items():
        goodput = n * source_goodput(stream, made)
        parts.append(goodput / carried[stream])
        formulas.append(
            f"{units.format_bps(float(goodput))} / {units.format_bps(float(carried[stream]))}"
        )
    return sum(parts, Fraction(0)), " + ".join(formulas)


def interface_derivations(found: Mapping[str, Interfaces]) -> tuple[Derivation, ...]:
    """Derivations of the interfaces that each device needs or has, and of their total."""
    needed = [one.needed for one in found.values() if one.needed is not None]
    if not needed:
        return ()
    counts = [(one.device.count, one.has) for one in found.values()]
    total = Derivation(
        "devices.interfaces",
        sum(count * has for count, has in counts),
        " + ".join(f"{count} × {has}" for count, has in counts),
        "interfaces in all",
    )
    return (*needed, total, *_per_interface(found))


def _per_interface(found: Mapping[str, Interfaces]) -> tuple[Derivation, ...]:
    """Derivations of the streams at the busiest interface of each device that receives several."""
    return tuple(
        Derivation(
            f"{one.device.name}.{stream}-per-interface",
            math.ceil(n / one.has),
            f"{n} / {one.has}, rounded up",
            f"{stream} on one interface of {one.device.name}",
        )
        for one in found.values()
        if one.needed is not None
        for stream, n in one.device.receives.items()
        if n > 1
    )


def meeting(
    case: UseCase,
    candidate: Candidate,
    stream: str,
    found: Mapping[str, Interfaces],
    made: Derivations,
) -> Meeting | None:
    """The streams that share a stream's interface, unless the candidate gives them; ``None`` if none.

    Streams are spread evenly over the interfaces of a device that receives them, or that sends them over fewer than
    they need.
    """
    asked = candidate.scenarios[stream]
    if asked.endpoints is not None and asked.other_goodput_bps is not None:
        return None
    met = [
        _meeting_at(case, stream, one, handled, made)
        for one in found.values()
        for handled in (one.device.receives, one.device.sends if one.too_few else {})
        if stream in handled
    ]
    busiest = max(met, key=lambda one: one.other_goodput_bps, default=None)
    if busiest is None or busiest.endpoints == 1:
        return None
    if asked.endpoints is None:
        return busiest
    return _given_endpoints(stream, asked.endpoints, made) if asked.endpoints > 1 else None


def _given_endpoints(stream: str, endpoints: int, made: Derivations) -> Meeting:
    """As many endpoints as the candidate gives, each with the goodput that this stream needs."""
    one = needed_goodput(stream, made).value
    others = (endpoints - 1) * one
    return Meeting(endpoints, others, (_others(stream, others, [(endpoints - 1, one)]),))


def _meeting_at(
    case: UseCase, stream: str, at: Interfaces, handled: Mapping[str, int], made: Derivations
) -> Meeting:
    counts = {name: math.ceil(case.connections(name, n) / at.has) for name, n in handled.items()}
    endpoints = sum(counts.values())
    beside = counts | {stream: counts[stream] - 1}
    parts = [(n, needed_goodput(name, made).value) for name, n in beside.items() if n]
    others = math.fsum(n * one for n, one in parts)
    formula = " + ".join(f"{n} {name}" for name, n in counts.items())
    meaning = f"streams that meet at one of the {at.has} interface(s) of {at.device.name}"
    crowd = Derivation(f"{stream}.endpoints", endpoints, formula, meaning)
    return Meeting(endpoints, others, (crowd, _others(stream, others, parts)))


def _others(stream: str, others_bps: float, parts: list[tuple[int, float]]) -> Derivation:
    return Derivation(
        f"{stream}.other_goodput_bps",
        others_bps,
        " + ".join(f"{n} × {units.format_bps(one)}" for n, one in parts),
        "what the others there need",
    )


def interface_notes(found: Mapping[str, Interfaces]) -> tuple[str, ...]:
    """Notes on devices that have fewer interfaces than their streams need."""
    return tuple(
        f"one {name} has {one.has} interface(s), and its streams need {int(one.needed.value)}"
        for name, one in found.items()
        if one.needed is not None and one.too_few
    )

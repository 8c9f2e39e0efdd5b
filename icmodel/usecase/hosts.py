"""Compute how many interfaces each device needs, and which streams share an interface."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from icmodel import units
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


@dataclass(frozen=True, slots=True)
class Interfaces:
    """Network interfaces of one device: actual number, and number that its streams need (``None`` if unknown)."""

    device: Device
    count: int
    needed: Derivation | None

    @property
    def too_few(self) -> bool:
        """Whether the device's streams need more interfaces than the device has."""
        return self.needed is not None and self.count < self.needed.value

    def shared(
        self, case: UseCase, stream: str, handled: Mapping[str, int], derived: Derivations
    ) -> SharedInterface:
        """Return the busiest interface that a stream shares with other streams of the device.

        The device's streams are assumed to be spread evenly over its interfaces.

        Parameters
        ----------
        handled : mapping
            Name of a stream -> number of streams of that name that the device sends or receives.
        """
        counts = {
            name: math.ceil(case.connections(name, n) / self.count) for name, n in handled.items()
        }
        others = counts | {stream: counts[stream] - 1}
        parts = [(n, needed_goodput(name, derived).value) for name, n in others.items() if n]
        others_bps = math.fsum(n * goodput_bps for n, goodput_bps in parts)
        endpoints = Derivation(
            f"{stream}.endpoints",
            sum(counts.values()),
            " + ".join(f"{n} {name}" for name, n in counts.items()),
            f"streams that meet at one of the {self.count} interface(s) of {self.device.name}",
        )
        formulas = (endpoints, _others_derivation(stream, others_bps, parts))
        return SharedInterface(sum(counts.values()), others_bps, formulas)


@dataclass(frozen=True, slots=True)
class SharedInterface:
    """Busiest interface on a stream's path: number of streams, and goodput of all other streams there [b/s]."""

    endpoints: int
    other_goodput_bps: float
    derivations: tuple[Derivation, ...]


def interfaces(
    case: UseCase,
    candidate: Candidate,
    capacities_bps: Mapping[str, Fraction],
    derived: Derivations,
) -> dict[str, Interfaces]:
    """Return the interfaces of each device: as stated in the file, or as many as the device's streams need.

    If a scenario states ``endpoints`` and the device states no interfaces, the number of interfaces is chosen so that
    at most ``endpoints`` streams of the same name share an interface.

    Parameters
    ----------
    capacities_bps : mapping
        Goodput of each stream over one interface [b/s]; streams with an unknown goodput are missing.
    """
    found = {}
    for device in case.devices:
        needed = _needed_interfaces(device, capacities_bps, derived)
        least = 1 if needed is None else int(needed.value)
        for stream, n in device.receives.items():
            question = candidate.scenarios.get(stream)
            if question is None or question.endpoints is None:
                continue
            least = max(least, math.ceil(case.connections(stream, n) / question.endpoints))
        found[device.name] = Interfaces(device, device.interfaces or least, needed)
    return found


def _needed_interfaces(
    device: Device, capacities_bps: Mapping[str, Fraction], derived: Derivations
) -> Derivation | None:
    """Return the number of interfaces that one device needs for sending or for receiving, whichever is more.

    The result is ``None`` if the device handles at most one stream, or a capacity is unknown.
    """
    shares = {}
    for verb, handled in (("received", device.receives), ("sent", device.sends)):
        if sum(handled.values()) > 1 and capacities_bps.keys() >= handled.keys():
            goodputs = {name: n * source_goodput(name, derived) for name, n in handled.items()}
            shares[verb] = (
                sum((goodputs[name] / capacities_bps[name] for name in handled), Fraction(0)),
                " + ".join(
                    f"{units.format_bps(float(goodputs[name]))} / "
                    f"{units.format_bps(float(capacities_bps[name]))}"
                    for name in handled
                ),
            )
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


def capacities_alone(answers: Mapping[str, Answer]) -> dict[str, Fraction]:
    """Return, for each stream, the goodput that one interface carries without other streams [b/s]."""
    return {
        stream: exact(min(bounds))
        for stream, answer in answers.items()
        if (bounds := own_bounds(answer.prediction))
    }


def own_bounds(prediction: Prediction | None) -> list[float]:
    """Return the limits that the wire and the benchmarks set for a stream's goodput [b/s].

    These limits do not depend on the requested rate or on other streams. The result is empty without a predicted
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
    """Return the busiest interface on a stream's path, with the other streams there.

    The result is ``None`` if no other stream uses the interface, or if the scenario states both ``endpoints`` and
    ``other_goodput``.

    Streams are spread evenly over the interfaces of a receiving device. At a sending device, streams share interfaces
    only if the device has fewer interfaces than its streams need. Such streams are also spread evenly.
    """
    question = candidate.scenarios[stream]
    if question.endpoints is not None and question.other_goodput_bps is not None:
        return None
    busiest = max(
        (
            at.shared(case, stream, handled, derived)
            for at in found.values()
            for handled in (at.device.receives, at.device.sends if at.too_few else {})
            if stream in handled
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
    return SharedInterface(question.endpoints, others_bps, (formula,))


def _others_derivation(
    stream: str, others_bps: float, parts: list[tuple[int, float]]
) -> Derivation:
    return Derivation(
        f"{stream}.other_goodput_bps",
        others_bps,
        " + ".join(f"{n} × {units.format_bps(goodput_bps)}" for n, goodput_bps in parts),
        "what the others there need",
    )


# --- results ------------------------------------------------------------------------------------


def interface_derivations(found: Mapping[str, Interfaces]) -> tuple[Derivation, ...]:
    """Return the derived numbers of interfaces: per device, in total, and streams per interface.

    The result is empty if the number of interfaces needed is unknown for every device.
    """
    needed = [at.needed for at in found.values() if at.needed is not None]
    if not needed:
        return ()
    counts = [(at.device.count, at.count) for at in found.values()]
    total = Derivation(
        "devices.interfaces",
        sum(devices * count for devices, count in counts),
        " + ".join(f"{devices} × {count}" for devices, count in counts),
        "interfaces in all",
    )
    streams = (
        Derivation(
            f"{at.device.name}.{stream}-per-interface",
            math.ceil(n / at.count),
            f"{n} / {at.count}, rounded up",
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
        f"one {name} has {at.count} interface(s), and its streams need {int(at.needed.value)}"
        for name, at in found.items()
        if at.needed is not None and at.too_few
    )

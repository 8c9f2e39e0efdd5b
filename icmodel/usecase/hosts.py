"""What all streams of one host ask of it: interfaces, and whether the candidate counted them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from icmodel import units
from icmodel.estimate import Prediction
from icmodel.usecase.derivation import Derivation, Derivations, exact, source_goodput
from icmodel.usecase.document import Device, UseCase
from icmodel.usecase.result import Answer

Answers = Mapping[str, Answer]


def host_derivations(case: UseCase, answers: Answers, made: Derivations) -> tuple[Derivation, ...]:
    """Interfaces each device needs, and all of them together; needs a goodput to divide by."""
    carried = _carried(answers)
    needed = [_interfaces(device, carried, made) for device in case.devices]
    found = [derivation for derivation in needed if derivation is not None]
    if not found:
        return ()
    counts = [
        (device.count, device.interfaces if one is None else int(one.value))
        for device, one in zip(case.devices, needed, strict=True)
    ]
    total = Derivation(
        "devices.interfaces",
        sum(count * interfaces for count, interfaces in counts),
        " + ".join(f"{count} × {interfaces}" for count, interfaces in counts),
        "interfaces in all",
    )
    return (*found, total, *_shares(case, answers, found))


def _carried(answers: Answers) -> dict[str, Fraction]:
    """Goodput [b/s] one interface carries of each stream: the least bound that is its own."""
    return {
        stream: exact(min(own))
        for stream, answer in answers.items()
        if (own := _own_bounds(answer.prediction))
    }


def _own_bounds(prediction: Prediction | None) -> list[float]:
    """Bounds of the goodput but for what is asked and what others take; none without goodput."""
    if prediction is None or prediction.metrics["goodput_bps"].absent:
        return []
    own = [bound for name, bound in prediction.bounds.items() if name not in ("request", "share")]
    return [bound for bound in own if 0 < bound < math.inf]


def _interfaces(
    device: Device, carried: Mapping[str, Fraction], made: Derivations
) -> Derivation | None:
    """Interfaces a device needs for what it sends or receives, whichever is more."""
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
        max(device.interfaces, math.ceil(share)),
        f"{formula}, rounded up",
        f"interfaces of one {device.name} for what is {verb}",
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


def _shares(case: UseCase, answers: Answers, found: list[Derivation]) -> tuple[Derivation, ...]:
    """Streams that meet on the busiest interface of each device that receives several."""
    interfaces = {derivation.name: int(derivation.value) for derivation in found}
    shares = []
    for device in case.devices:
        count = interfaces.get(f"{device.name}.interfaces")
        for stream, n in device.receives.items():
            if count is None or n == 1 or case.stream(stream).kind == "samples":
                continue
            shares.append(
                Derivation(
                    f"{device.name}.{stream}-per-interface",
                    math.ceil(n / count),
                    f"{n} / {count}, rounded up",
                    f"streams {stream} on one interface of {device.name}",
                )
            )
    return tuple(shares)


def host_notes(case: UseCase, answers: Answers, hosts: tuple[Derivation, ...]) -> tuple[str, ...]:
    """Where a candidate counts fewer endpoints than its own streams put on one interface."""
    shares = {one.name: int(one.value) for one in hosts}
    notes = []
    for device in case.devices:
        for stream in device.receives:
            sending = shares.get(f"{device.name}.{stream}-per-interface", 1)
            answer = answers.get(stream)
            if answer is not None and answer.asked.endpoints < sending:
                notes.append(
                    f"{sending} streams {stream} meet on one interface of {device.name}, but the "
                    f"candidate says endpoints = {answer.asked.endpoints}: what it is told is "
                    "for fewer"
                )
    return tuple(notes)

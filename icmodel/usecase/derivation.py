"""Derivation: every number that follows from the use case alone, with its formula.

The rules are those of the source of the bundled use cases, "High speed local area interconnects"
(IC2012) §1.4.3 and §8: a stream of pictures needs width × height × depth × rate; samples that must
all be there within a time need their bits over that time less the delay of the cable; n
connections that share samples with an imbalance of i carry (1 + i)/n of them each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from icmodel import units
from icmodel.errors import UnitError, UseCaseError
from icmodel.reading import quantity_kind
from icmodel.usecase.document import (
    Budget,
    Device,
    GoodputStream,
    ImageStream,
    Medium,
    SampleStream,
    Stream,
    UseCase,
)

MEDIUM_DELAY = "medium.delay_s"
ARRIVING = "arriving_goodput_bps"


@dataclass(frozen=True, slots=True)
class Derivation:
    """A number that follows from others: ``value`` in SI, as the suffix of ``name`` says."""

    name: str
    value: float
    formula: str
    meaning: str

    @property
    def quantity(self) -> str:
        """The last part of the name: ``goodput_bps`` of ``picture.goodput_bps``."""
        return self.name.rpartition(".")[2]

    @property
    def text(self) -> str:
        """The value for people, with its unit."""
        return shown(self.quantity, self.value)

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "name": self.name,
            "value": self.value,
            "text": self.text,
            "formula": self.formula,
            "meaning": self.meaning,
        }


Derivations = Mapping[str, Derivation]
"""Derived numbers by name, in the order of derivation."""


def lookup(made: Derivations, name: str) -> Derivation:
    """The derived number of a name.

    Raises
    ------
    UseCaseError
        If there is none.
    """
    if name not in made:
        known = ", ".join(made) or "none"
        raise UseCaseError(
            f"there is no derived number {name!r}: this use case has {known}; name one of them, "
            "or write a quantity with its unit"
        )
    return made[name]


def _add(
    made: dict[str, Derivation], name: str, value: Fraction | int, formula: str, meaning: str
) -> Fraction:
    """Add a number to those derived, and return it exactly."""
    try:
        number: float = value if isinstance(value, int) else float(value)
    except OverflowError:
        raise UseCaseError(
            f"{name} is {formula}, which is beyond all numbers: give smaller ones"
        ) from None
    made[name] = Derivation(name, number, formula, meaning)
    return Fraction(value)


def exact(value: float) -> Fraction:
    """The decimal number that a float was written as, so that 50 ms − 33 ms is exactly 17 ms."""
    return Fraction(repr(value))


def shown(quantity: str, value: float) -> str:
    """A value for people; a name without a unit is a count."""
    try:
        return units.format_quantity(quantity, value)
    except UnitError:
        return units.format_count(value)


# --- the use case alone -----------------------------------------------------------------------


def derive(usecase: UseCase) -> Derivations:
    """Every number that follows from the use case alone.

    Raises
    ------
    UseCaseError
        If a name is not derived, a budget does not add up, or a cable's delay exceeds the time given.
    """
    made: dict[str, Derivation] = {}
    if usecase.medium is not None:
        _derive_medium(usecase.medium, made)
    for budget in usecase.budgets:
        _derive_budget(budget, made)
    for stream in usecase.streams:
        _derive_stream(stream, _sources(stream, usecase.devices), made)
        _derive_work(usecase, stream.name, made)
    _derive_devices(usecase.devices, made)
    return MappingProxyType(made)


def _derive_medium(medium: Medium, made: dict[str, Derivation]) -> None:
    per_metre = units.format_quantity("propagation_s_per_m", medium.propagation_s_per_m)
    _add(
        made,
        MEDIUM_DELAY,
        exact(medium.distance_m) * exact(medium.propagation_s_per_m),
        f"{units.format_metres(medium.distance_m)} × {per_metre}",
        "delay of the longest cable",
    )


def _time(value: float | str, made: Derivations) -> Fraction:
    if isinstance(value, str):
        derivation = lookup(made, value)
        if quantity_kind(derivation.quantity) != "s":
            raise UseCaseError(f"{value} is {derivation.text}, where a time is needed")
        return exact(derivation.value)
    return exact(value)


def _derive_budget(budget: Budget, made: dict[str, Derivation]) -> None:
    if budget.cycle_hz is not None:
        total = _add(
            made,
            f"{budget.name}.total_s",
            1 / exact(budget.cycle_hz),
            f"1 / {units.format_hertz(budget.cycle_hz)}",
            "time of one cycle",
        )
    else:
        total = _time(budget.total_s or 0.0, made)
    times = {
        part: exact(units.parse_seconds(text))
        for part, text in budget.parts.items()
        if text != "rest"
    }
    rest = total - sum(times.values())
    if rest < 0 or (rest > 0 and len(times) == len(budget.parts)):
        raise UseCaseError(
            f"the parts of the budget {budget.name} add up to "
            f"{units.format_seconds(float(total - rest))} of "
            f'{units.format_seconds(float(total))}: make them equal, or one part "rest"'
        )
    taken = " − ".join(units.format_seconds(float(t)) for t in (total, *times.values()))
    for part in budget.parts:
        stated = f"stated, of {units.format_seconds(float(total))}"
        formula = stated if part in times else taken
        _add(made, f"{budget.name}.{part}_s", times.get(part, rest), formula, f"time for {part}")


def _sources(stream: Stream, devices: tuple[Device, ...]) -> tuple[int, str]:
    """The number of sources of a stream, and its formula."""
    sending = [device for device in devices if stream.name in device.sends]
    counted = sum(device.count * device.sends[stream.name] for device in sending)
    if stream.count is not None and sending and counted != stream.count:
        raise UseCaseError(
            f"the stream {stream.name} says count = {stream.count}, its devices send {counted}: "
            "correct one of the two, or remove count"
        )
    if not sending:
        return (stream.count, "stated") if stream.count else (1, "one, as nothing else is said")
    formula = " + ".join(f"{d.count} {d.name} × {d.sends[stream.name]}" for d in sending)
    return counted, formula


def _derive_stream(stream: Stream, sources: tuple[int, str], made: dict[str, Derivation]) -> None:
    count, formula = sources
    _add(made, f"{stream.name}.count", count, formula, "sources at the same time")
    if isinstance(stream, SampleStream):
        _derive_samples(stream, count, made)
        _derive_arriving(stream, made)
        return
    one = _derive_image(stream, made) if isinstance(stream, ImageStream) else _plain(stream, made)
    total = f"{count} × {units.format_bps(float(one))}"
    _add(made, f"{stream.name}.total_goodput_bps", count * one, total, "all streams together")
    _derive_arriving(stream, made)


def _derive_arriving(stream: Stream, made: dict[str, Derivation]) -> None:
    """The goodput that must arrive, where the file allows less than all."""
    if stream.allowed_shortfall_ratio:
        needed, allowed = needed_goodput(stream.name, made), stream.allowed_shortfall_ratio
        _add(
            made,
            f"{stream.name}.{ARRIVING}",
            exact(needed.value) * (1 - exact(allowed)),
            f"{needed.text} × (1 − {units.format_ratio(allowed)})",
            "goodput of one stream that must arrive",
        )


def _plain(stream: GoodputStream, made: dict[str, Derivation]) -> Fraction:
    goodput = exact(stream.goodput_bps)
    return _add(made, f"{stream.name}.goodput_bps", goodput, "stated", "goodput of one stream")


def _derive_image(stream: ImageStream, made: dict[str, Derivation]) -> Fraction:
    pixels = f"{stream.width_px} × {stream.height_px} × {units.format_bits(stream.depth_bits)}"
    bits = stream.width_px * stream.height_px * exact(stream.depth_bits)
    _add(made, f"{stream.name}.picture_bytes", bits / 8, pixels, "one picture")
    return _add(
        made,
        f"{stream.name}.goodput_bps",
        bits * exact(stream.rate_hz),
        f"{pixels} × {units.format_hertz(stream.rate_hz)}",
        "goodput of one stream",
    )


def _derive_samples(stream: SampleStream, count: int, made: dict[str, Derivation]) -> None:
    name = stream.name
    bits = _add(
        made,
        f"{name}.cycle_bits",
        count * exact(stream.size_bits),
        f"{count} × {units.format_bits(stream.size_bits)}",
        "all samples of one cycle",
    )
    if stream.cycle_hz is not None:
        within = 1 / exact(stream.cycle_hz)
    else:
        within = _time(stream.within_s or 0.0, made)
    _derive_goodput(stream, bits, within, "", made)
    if MEDIUM_DELAY in made:
        left = _less_delay(within, made[MEDIUM_DELAY], name)
        _derive_goodput(stream, bits, left, "_at_distance", made)
    _derive_connection(stream, count, made)


def _less_delay(within: Fraction, delay: Derivation, stream: str) -> Fraction:
    left = within - exact(delay.value)
    if left <= 0:
        raise UseCaseError(
            f"the cable alone takes {delay.text} of the {units.format_seconds(float(within))} "
            f"the samples {stream} have: shorten the distance or give them longer"
        )
    return left


def _derive_connection(stream: SampleStream, count: int, made: dict[str, Derivation]) -> None:
    name = stream.name
    share = Fraction(count, stream.connections) * (1 + exact(stream.imbalance_ratio))
    samples = math.ceil(share)
    _add(
        made,
        f"{name}.connection_samples",
        samples,
        f"{count} / {stream.connections}{_imbalance(stream)}",
        "samples of the busiest connection",
    )
    _add(
        made,
        f"{name}.payload_bytes",
        math.ceil(samples * exact(stream.size_bits) / 8),
        f"{samples} × {units.format_bits(stream.size_bits)} / 8",
        "payload of one connection",
    )


def _derive_goodput(
    stream: SampleStream, bits: Fraction, time: Fraction, where: str, made: dict[str, Derivation]
) -> None:
    """Goodput of all samples within a time, and of one connection's share of it."""
    less_delay = ", less the delay of the cable" if where else ""
    total = _add(
        made,
        f"{stream.name}.total_goodput{where}_bps",
        bits / time,
        f"{units.format_bits(float(bits))} / {units.format_seconds(float(time))}",
        f"all samples in time{less_delay}",
    )
    share = (1 + exact(stream.imbalance_ratio)) / stream.connections
    _add(
        made,
        f"{stream.name}.goodput{where}_bps",
        total * share,
        f"{units.format_bps(float(total))} / {stream.connections}{_imbalance(stream)}",
        f"goodput of one connection{less_delay}",
    )


def _imbalance(stream: SampleStream) -> str:
    ratio = stream.imbalance_ratio
    return f" × (1 + {units.format_ratio(ratio)})" if ratio else ""


def _derive_work(usecase: UseCase, stream: str, made: dict[str, Derivation]) -> None:
    """What the applications at both ends add to a frame, where any adds something."""
    for name, value in usecase.work(stream).to_dict().items():
        if value:
            said = [
                f"{units.format_quantity(name, own)} of {device.name}"
                for device in usecase.devices
                if (own := device.work(stream).to_dict()[name])
            ]
            formula = f"the most of {', '.join(said)}" if len(said) > 1 else f"stated, {said[0]}"
            _add(made, f"{stream}.{name}", exact(value), formula, "what the application adds")


def _derive_devices(devices: tuple[Device, ...], made: dict[str, Derivation]) -> None:
    if not devices:
        return
    counts = " + ".join(str(device.count) for device in devices)
    _add(made, "devices.endpoints", sum(d.count for d in devices), counts, "endpoints in all")
    for device in devices:
        for verb, handled in (("received", device.receives), ("sent", device.sends)):
            if max(handled.values(), default=0) > 1:
                total, formula = handled_goodput(handled, made)
                _add(
                    made,
                    f"{device.name}.{verb}_goodput_bps",
                    total,
                    formula,
                    f"{verb} by one of them",
                )


def handled_goodput(handled: dict[str, int], made: Derivations) -> tuple[Fraction, str]:
    """Goodput of the streams or samples one device handles, and its formula."""
    shares = [(n, source_goodput(stream, made)) for stream, n in handled.items()]
    formula = " + ".join(f"{n} × {units.format_bps(float(one))}" for n, one in shares)
    return sum((n * one for n, one in shares), Fraction(0)), formula


def source_goodput(stream: str, made: Derivations) -> Fraction:
    """Goodput of one source of a stream: one stream, or one sample's share."""
    count = made[f"{stream}.count"].value
    total = f"{stream}.total_goodput_at_distance_bps"
    total = total if total in made else f"{stream}.total_goodput_bps"
    return exact(made[total].value) / int(count)


def needed_goodput(stream: str, made: Derivations) -> Derivation:
    """Goodput required of one scenario: of one stream, or of one connection at its distance."""
    distant = f"{stream}.goodput_at_distance_bps"
    return made[distant if distant in made else f"{stream}.goodput_bps"]


def arriving_goodput(stream: str, made: Derivations) -> Derivation:
    """Goodput of one scenario that must arrive: all that is produced, but for the allowed shortfall."""
    return made.get(f"{stream}.{ARRIVING}") or needed_goodput(stream, made)


def produced_bps(stream: Stream, made: Derivations) -> float:
    """Goodput [b/s] below which what one scenario produces waits longer and longer.

    Samples that must be there within a time, whose cycle is not said, may have any time after that: 0.
    """
    if isinstance(stream, SampleStream):
        each = made[f"{stream.name}.goodput_bps"].value if stream.cycle_hz is not None else 0.0
        return each * (1 - stream.allowed_shortfall_ratio)
    return arriving_goodput(stream.name, made).value

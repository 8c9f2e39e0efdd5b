"""Compute the derived numbers of a use case, such as the goodput of a stream, and convert requirements to SI units.

Each derived number has a formula.  The rules come from "High speed local area interconnects" (IC2012) §1.4.3 and §8,
the source of the bundled use cases:

- The goodput of pictures is width × height × depth × rate.
- Samples are blocks of data, sent together, that must all arrive within a time limit.  Their goodput is
  (bits of all samples) / (time limit − delay of the cable).
- If n connections share N samples with an imbalance of i, the busiest connection carries N (1 + i) / n samples,
  rounded up.

A requirement in the use case file states its limit as a quantity with a unit, or as the name of a derived number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from icmodel import units
from icmodel.errors import Fault, Mistakes, Place, UnitError, UseCaseError
from icmodel.frozen import FrozenMapping
from icmodel.message import MESSAGE_METRICS
from icmodel.reading import is_reference, quantity_kind
from icmodel.requirement import ROUNDING, Requirement
from icmodel.usecase.document import (
    Budget,
    ImageStream,
    Limit,
    SampleStream,
    Stream,
    UseCase,
)

MEDIUM_DELAY = "medium.delay_s"
ARRIVING = "arriving_goodput_bps"
NUMBERS = "numbers"
"""Last key of a place (path of keys in the file) that stands for all derived numbers of a stream."""
OF_DEVICES = ("received_goodput_bps", "sent_goodput_bps")
"""Derived quantities of a device: received goodput and sent goodput, each summed over the device's streams."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """A number computed from other numbers, with its calculation as a text (``formula``).

    The ending of ``name`` is the SI unit of ``value``: ``picture.goodput_bps`` is in b/s. Counts have no unit.
    """

    name: str
    value: float
    formula: str
    meaning: str

    @property
    def quantity(self) -> str:
        """Last part of the name, a quantity with its SI unit, such as ``goodput_bps`` in ``picture.goodput_bps``."""
        return self.name.rpartition(".")[2]

    @property
    def text(self) -> str:
        """Value as text with its unit; a count has no unit."""
        try:
            return units.format_quantity(self.quantity, self.value)
        except UnitError:
            return units.format_count(self.value)

    def to_dict(self) -> dict[str, object]:
        """Convert the derivation to a dict for JSON."""
        return {
            "name": self.name,
            "value": self.value,
            "text": self.text,
            "formula": self.formula,
            "meaning": self.meaning,
        }


Derivations = Mapping[str, Derivation]
"""Derived numbers by name, in the order of derivation."""


def derive(usecase: UseCase) -> Derivations:
    """Compute the numbers that follow from a use case alone, such as goodputs and time limits.

    Returns
    -------
    mapping of Derivation
        Derived numbers in SI units, by name, such as ``picture.goodput_bps``.

    Raises
    ------
    UseCaseError
        If a named number does not exist, a budget does not add up, or a cable's delay exceeds the allowed time.
        The message lists all such mistakes.

    Examples
    --------
    >>> from icmodel.usecase import derive, load_usecase
    >>> number = derive(load_usecase("imaging"))["picture.goodput_bps"]
    >>> number.text, number.formula
    ('3.538944 Gb/s', '1920 × 1920 × 32 b × 30 Hz')
    """
    mistakes = Mistakes(usecase.name)
    derived = derive_sound_part(usecase, mistakes)
    mistakes.refuse(UseCaseError)
    return derived


def derive_sound_part(usecase: UseCase, mistakes: Mistakes) -> Derivations:
    """Compute derived numbers like `derive`. Leave out numbers with a mistake, and collect the mistakes."""
    derived: dict[str, Derivation] = {}
    if (medium := usecase.medium) is not None:
        per_metre = units.format_quantity("propagation_s_per_m", medium.propagation_s_per_m)
        with mistakes.at("medium"):
            _add(
                derived,
                MEDIUM_DELAY,
                exact(medium.distance_m) * exact(medium.propagation_s_per_m),
                f"{units.format_metres(medium.distance_m)} × {per_metre}",
                "delay of the longest cable",
            )
    for number, budget in enumerate(usecase.budgets):
        _derive_budget(budget, ("budgets", number), derived, mistakes)
    for number, stream in enumerate(usecase.streams):
        _derive_stream(usecase, stream, ("streams", number), derived, mistakes)
        if f"{stream.name}.total_goodput_bps" not in derived:
            mistakes.forget(("streams", number, NUMBERS))
    if usecase.devices:
        counts = [device.count for device in usecase.devices]
        formula = " + ".join(map(str, counts))
        _add(derived, "devices.endpoints", sum(counts), formula, "total number of endpoints")
    for number, device in enumerate(usecase.devices):
        for verb, handled in (("received", device.receives), ("sent", device.sends)):
            known = all(f"{stream}.total_goodput_bps" in derived for stream in handled)
            if known and max(handled.values(), default=0) > 1:
                total, formula = handled_goodput(handled, derived)
                name = f"{device.name}.{verb}_goodput_bps"
                with mistakes.at("devices", number):
                    _add(derived, name, total, formula, f"{verb} by one {device.name}")
    return FrozenMapping(derived)


def _derive_budget(
    budget: Budget, place: Place, derived: dict[str, Derivation], mistakes: Mistakes
) -> None:
    """Compute the time of each part of a budget [s], and add it to ``derived``.

    The part ``rest`` gets the total minus all other parts.
    """
    times: dict[str, Fraction] = {}
    for part, text in budget.parts.items():
        with mistakes.at(*place, "parts", part):
            if text != "rest":
                times[part] = exact(units.parse_seconds(text))
    needs = tuple((*place, "parts", part) for part in budget.parts)
    with mistakes.at(*place, "total_s", needs=reference(budget.total_s)):
        if budget.cycle_hz is None:
            total = _time(budget.total_s or 0.0, derived)
        else:
            cycle, formula = (
                1 / exact(budget.cycle_hz),
                f"1 / {units.format_hertz(budget.cycle_hz)}",
            )
            total = _add(derived, f"{budget.name}.total_s", cycle, formula, "time of one cycle")
        with mistakes.at(
            *place, "parts", needs=((*place, "total_s"), (*place, "cycle_hz"), *needs)
        ):
            rest = total - sum(times.values())
            if rest < 0 or (rest > 0 and len(times) == len(budget.parts)):
                raise UseCaseError(
                    f"the parts of the budget {budget.name} add up to "
                    f"{units.format_seconds(float(total - rest))}, but its total is "
                    f'{units.format_seconds(float(total))}: make both equal, or set one part to "rest"'
                )
            taken = " − ".join(units.format_seconds(float(t)) for t in (total, *times.values()))
            for part in budget.parts:
                stated = f"stated, of {units.format_seconds(float(total))}"
                formula = stated if part in times else taken
                name = f"{budget.name}.{part}_s"
                _add(derived, name, times.get(part, rest), formula, f"time for {part}")


def _derive_stream(
    usecase: UseCase,
    stream: Stream,
    place: Place,
    derived: dict[str, Derivation],
    mistakes: Mistakes,
) -> None:
    """Add the derived numbers of one stream: number of sources, goodputs, and times that the application adds."""
    name = stream.name

    # Sources that are active at the same time: stated, or counted from the devices.
    count, formula = (stream.count, "stated") if stream.count else (1, "one by default")
    sending = [device for device in usecase.devices if name in device.sends]
    if sending:
        stated, count = stream.count, sum(device.count * device.sends[name] for device in sending)
        formula = " + ".join(f"{d.count} {d.name} × {d.sends[name]}" for d in sending)
        if stated not in (None, count):
            text = (
                f"the stream {name} has count = {stated}, but its devices send {count}: correct one of "
                "the two, or remove count"
            )
            needs = (("devices", None, "sends"), ("devices", None, "count"))
            mistakes.add(Fault(text, (*place, "count"), needs))
            count, formula = 1, ""
    _add(derived, f"{name}.count", count, formula, "sources at the same time")

    within = stream.within_s if isinstance(stream, SampleStream) else None
    key = {"samples": "within_s", "image": "rate_hz", "goodput": "goodput_bps"}[stream.kind]
    with mistakes.at(*place, key, needs=(("medium",), *reference(within))):
        _derive_goodput(usecase, stream, count, derived)


def _derive_goodput(
    usecase: UseCase, stream: Stream, count: int, derived: dict[str, Derivation]
) -> None:
    """Add derived numbers of a stream to ``derived``: the goodputs it needs, and its application's times per frame."""
    name = stream.name
    goodput, formula = Fraction(0), "stated"
    if isinstance(stream, SampleStream):
        _derive_samples(stream, count, derived)
    elif isinstance(stream, ImageStream):
        pixels = f"{stream.width_px} × {stream.height_px} × {units.format_bits(stream.depth_bits)}"
        bits = stream.width_px * stream.height_px * exact(stream.depth_bits)
        _add(derived, f"{name}.picture_bytes", bits / 8, pixels, "one picture")
        goodput = bits * exact(stream.rate_hz)
        formula = f"{pixels} × {units.format_hertz(stream.rate_hz)}"
    else:
        goodput = exact(stream.goodput_bps)
    if not isinstance(stream, SampleStream):
        _add(derived, f"{name}.goodput_bps", goodput, formula, "goodput of one stream")
        formula = f"{count} × {units.format_bps(float(goodput))}"
        total = f"{name}.total_goodput_bps"
        _add(derived, total, count * goodput, formula, "all streams together")

    if allowed := stream.allowed_shortfall_ratio:
        needed = needed_goodput(name, derived)
        _add(
            derived,
            f"{name}.{ARRIVING}",
            exact(needed.value) * (1 - exact(allowed)),
            f"{needed.text} × (1 − {units.format_ratio(allowed)})",
            "goodput of one stream that must arrive",
        )

    for key, value in usecase.work(name).to_dict().items():
        if value:
            shares = [
                f"{units.format_quantity(key, own)} of {device.name}"
                for device in usecase.devices
                if (own := device.work(name).to_dict()[key])
            ]
            several = len(shares) > 1
            formula = f"greatest of {', '.join(shares)}" if several else f"stated, {shares[0]}"
            _add(derived, f"{name}.{key}", exact(value), formula, "time that the application adds")


def _derive_samples(stream: SampleStream, count: int, derived: dict[str, Derivation]) -> None:
    """Add the derived numbers of a stream of samples to ``derived``.

    Two goodputs are needed for arrival within the time limit: that of all samples, and that of the busiest connection's
    samples. If the delay of the cable is known, a second pair of goodputs (``..._at_distance_bps``) is added, for the
    time limit minus this delay. Further numbers are the sample count and the payload of the busiest connection.
    """
    name, size = stream.name, units.format_bits(stream.size_bits)
    extra = stream.imbalance_ratio
    imbalance = f" × (1 + {units.format_ratio(extra)})" if extra else ""
    bits = _add(
        derived,
        f"{name}.cycle_bits",
        count * exact(stream.size_bits),
        f"{count} × {size}",
        "all samples of one cycle",
    )

    if stream.cycle_hz is not None:
        within = 1 / exact(stream.cycle_hz)
    else:
        within = _time(stream.within_s or 0.0, derived)
    times = [("", within, "")]
    if MEDIUM_DELAY in derived:
        delay = derived[MEDIUM_DELAY]
        times.append(("_at_distance", within - exact(delay.value), ", less the delay of the cable"))
        if within <= exact(delay.value):
            raise UseCaseError(
                f"the cable takes {delay.text}, but the samples {name} must arrive within "
                f"{units.format_seconds(float(within))}: give a shorter distance or more time"
            )
    busiest = Fraction(count, stream.connections) * (1 + exact(extra))
    samples = math.ceil(busiest)
    for where, time, less_delay in times:
        total = _add(
            derived,
            f"{name}.total_goodput{where}_bps",
            bits / time,
            f"{units.format_bits(float(bits))} / {units.format_seconds(float(time))}",
            f"all samples in time{less_delay}",
        )
        shared = f"{units.format_bps(float(total))} / {stream.connections}{imbalance}"
        whole = f"{samples} × {size} / {units.format_seconds(float(time))}"
        _add(
            derived,
            f"{name}.goodput{where}_bps",
            samples * exact(stream.size_bits) / time,
            shared if samples == busiest else whole,
            f"goodput of one connection{less_delay}",
        )

    _add(
        derived,
        f"{name}.connection_samples",
        samples,
        f"{count} / {stream.connections}{imbalance}",
        "samples of the busiest connection",
    )
    _add(
        derived,
        f"{name}.payload_bytes",
        math.ceil(samples * exact(stream.size_bits) / 8),
        f"{samples} × {size} / 8",
        "payload of one connection",
    )


def _add(
    derived: dict[str, Derivation], name: str, value: Fraction | int, formula: str, meaning: str
) -> Fraction:
    """Add a number to the derived numbers under its name, and return its exact value."""
    try:
        number: float = value if isinstance(value, int) else float(value)
    except OverflowError:
        raise UseCaseError(
            f"{name} is {formula}, which exceeds the floating-point range: give smaller numbers"
        ) from None
    derived[name] = Derivation(name, number, formula, meaning)
    return Fraction(value)


def exact(value: float) -> Fraction:
    """Return the decimal number that a float prints as, without rounding, so that 50 ms − 33 ms is exactly 17 ms."""
    return Fraction(repr(value))


def _time(value: float | str, derived: Derivations) -> Fraction:
    """Return a time [s] as an exact fraction; ``value`` is the time as a number, or the name of a derived time."""
    if isinstance(value, str):
        derivation = lookup(derived, value)
        if quantity_kind(derivation.quantity) != "s":
            raise UseCaseError(
                f"{value} is {derivation.text}, but a time is needed: name a derived time, or write "
                "a time with its unit"
            )
        return exact(derivation.value)
    return exact(value)


def reference(value: float | str | None) -> tuple[Place, ...]:
    """Return the keys of the file on which a derived number depends.

    ``value`` is the name of the derived number, such as ``response.interconnect_s``. If ``value`` is a number, the
    result is empty. If one of the keys is wrong, the derived number cannot be computed. Then only the wrong key is
    reported.
    """
    if not isinstance(value, str):
        return ()
    part, _, quantity = value.partition(".")
    lists = ("budgets", "streams", "devices")
    return (
        ("usecase",),
        ("budgets", part, "total_s"),
        ("budgets", part, "cycle_hz"),
        ("budgets", part, "parts", quantity.removesuffix("_s")),
        ("streams", part, "kind"),
        ("streams", part, "produces", "kind"),
        ("streams", None if quantity in OF_DEVICES else part, NUMBERS),
        *((one, None, "name") for one in lists),
        *([("medium",)] if value == MEDIUM_DELAY else []),
    )


# --- questions about derived numbers ------------------------------------------------------------


def lookup(derived: Derivations, name: str) -> Derivation:
    """Look up a derived number by name.

    Raises
    ------
    UseCaseError
        If no derived number has that name.
    """
    if name not in derived:
        known = ", ".join(derived) or "none"
        raise UseCaseError(
            f"there is no derived number {name!r}: this use case has {known}; name one of them, "
            "or write a quantity with its unit"
        )
    return derived[name]


def handled_goodput(handled: dict[str, int], derived: Derivations) -> tuple[Fraction, str]:
    """Return the goodput of the streams or samples that one device handles [b/s], and its formula."""
    shares = [(n, source_goodput(stream, derived)) for stream, n in handled.items()]
    formula = " + ".join(f"{n} × {units.format_bps(float(goodput))}" for n, goodput in shares)
    return sum((n * goodput for n, goodput in shares), Fraction(0)), formula


def source_goodput(stream: str, derived: Derivations) -> Fraction:
    """Return the goodput of one source of a stream [b/s]; a source is, for example, one camera or one sample."""
    count = derived[f"{stream}.count"].value
    total = f"{stream}.total_goodput_at_distance_bps"
    total = total if total in derived else f"{stream}.total_goodput_bps"
    return exact(derived[total].value) / int(count)


def needed_goodput(stream: str, derived: Derivations) -> Derivation:
    """Return the goodput that the network must carry for one stream.

    A stream of samples has several connections, so the result is for the connection with the most samples. Samples must
    arrive within a time limit. The delay of the longest cable shortens the time left, so it raises the goodput.
    """
    distant = f"{stream}.goodput_at_distance_bps"
    return derived[distant if distant in derived else f"{stream}.goodput_bps"]


def arriving_goodput(stream: str, derived: Derivations) -> Derivation:
    """Return the goodput that must arrive on one stream or connection: needed goodput × (1 − allowed shortfall)."""
    return derived.get(f"{stream}.{ARRIVING}") or needed_goodput(stream, derived)


def produced_bps(stream: Stream, derived: Derivations) -> float:
    """Return the produced goodput that must arrive on one stream or connection, as a mean over time [b/s].

    If the network carries less than this goodput, the queue of the sender grows without limit. For a stream of samples
    without the key ``cycle``, the result is 0: the file does not state how often samples are sent.
    """
    if isinstance(stream, SampleStream):
        goodput = (
            derived[f"{stream.name}.goodput_bps"].value if stream.cycle_hz is not None else 0.0
        )
        return goodput * (1 - stream.allowed_shortfall_ratio)
    return arriving_goodput(stream.name, derived).value


GOODPUT = "goodput_bps"
ARRIVES = "what is produced arrives"
"""Name of the implied requirement of every stream: all data produced by its source must arrive."""
IN_TIME = "what is produced arrives within its time"
"""Name of the implied requirement of samples with a time ``within``."""
MEAN_LATENCY = "latency_mean_s"
NO_LESS = (MEAN_LATENCY, "latency_max_s", *MESSAGE_METRICS)
"""Latencies that are never below the mean latency of a frame."""
RequiredLimits = tuple[tuple[Limit, Requirement], ...]
"""Type of requirements in two forms: as written in the document, and with the limit in SI units."""


def required(case: UseCase, derived: Derivations) -> RequiredLimits:
    """Return the requirements of a use case: those that the file states, then those that every file implies.

    Implied requirements are:

    - All data of a stream arrives, except for the share ``allowed_shortfall``.
    - Samples with a time limit ``within`` arrive within this time on average.

    An implied requirement is left out if the file already requires at least as much.
    """
    stated = tuple(zip(case.requirements, requirements(case.requirements, derived), strict=True))
    implied = []
    for stream in case.streams:
        own = [limit for limit in stated if case.stream_of(limit[0]) == stream.name]
        least = arriving_goodput(stream.name, derived)
        demanded = [one.at_least for _, one in own if one.metric == GOODPUT]
        if least.value > 0 and not any(one is not None and one >= least.value for one in demanded):
            implied.append(
                Limit(
                    name=ARRIVES,
                    metric=GOODPUT,
                    at_least=least.name,
                    kind="firm",
                    stream=stream.name,
                    source="required of every stream; allowed_shortfall permits some loss",
                )
            )
        if not isinstance(stream, SampleStream) or stream.within_s is None or least.value <= 0:
            continue
        within_s = float(_time(stream.within_s, derived))
        times = [one.at_most for _, one in own if one.metric in NO_LESS]
        if not any(one is not None and one <= within_s * (1 + ROUNDING) for one in times):
            within = stream.within_s
            implied.append(
                Limit(
                    name=IN_TIME,
                    metric=MEAN_LATENCY,
                    at_most=within if isinstance(within, str) else f"{within!r} s",
                    kind="firm",
                    stream=stream.name,
                    source="required of samples with the key within",
                )
            )
    return (*stated, *zip(implied, requirements(implied, derived), strict=True))


def requirements(limits: Iterable[Limit], derived: Derivations) -> tuple[Requirement, ...]:
    """Convert requirements of a document to requirements with limits in SI units, in the same order.

    Raises
    ------
    UseCaseError
        If the limit of a requirement is the name of an unknown number, or its unit does not fit the metric.
    """
    mistakes = Mistakes("the use case")
    made = [
        checked_requirement(limit, ("requirements", number), derived, mistakes)
        for number, limit in enumerate(limits)
    ]
    mistakes.refuse(UseCaseError)
    return tuple(made)


def checked_requirement(
    limit: Limit, place: Place, derived: Derivations, mistakes: Mistakes
) -> Requirement:
    """Convert a requirement of a document to one with limits in SI units.

    The message on a wrong limit is added to ``mistakes``. The result then has the limit "at least 0", so that other
    checks can go on.
    """
    values: dict[str, float | None] = {}
    for side in ("at_least", "at_most"):
        text: str | None = getattr(limit, side)
        needs = ((*place, "metric"), *(reference(text) if text and is_reference(text) else ()))
        with mistakes.at(*place, side, needs=needs):
            values[side] = None if text is None else _limit_value(limit, text, derived)
    if len(values) == 2:
        with mistakes.at(*place):
            return Requirement(
                limit.name, limit.metric, **values, kind=limit.kind, source=limit.source
            )
    return Requirement(limit.name, limit.metric, at_least=0.0)


def _limit_value(limit: Limit, text: str, derived: Derivations) -> float:
    """Return a limit in SI units, given as a quantity with a unit or as the name of a derived number.

    The unit must be that of the limited metric.
    """
    kind: str | None = quantity_kind(limit.metric) or "ratio"
    if limit.metric.endswith("_cores"):
        kind = None
    if is_reference(text):
        try:
            derivation = lookup(derived, text)
        except UseCaseError as error:
            raise UseCaseError(f"the requirement {limit.name!r}: {error}") from error
        if quantity_kind(derivation.quantity) != kind:
            raise UseCaseError(
                f"the requirement {limit.name!r} compares {limit.metric} with {text} = {derivation.text}, which has "
                "another unit: name a number with the unit of the metric"
            )
        return derivation.value
    if kind is None:
        number = text.removesuffix("cores").removesuffix("core").strip()
        if number == text or not number.replace(".", "", 1).isdecimal():
            raise UseCaseError(
                f"the requirement {limit.name!r}: {text!r} is not a number of cores: write a text "
                'such as "1.5 cores"'
            )
        return float(number)
    try:
        return units.QUANTITIES[kind](text)
    except UnitError as error:
        raise UseCaseError(f"the requirement {limit.name!r}: {error}") from error

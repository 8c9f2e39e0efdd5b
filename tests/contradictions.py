"""What answers may never say, looked for in many answers at once.

Each rule reads the answers to one batch of questions and yields what contradicts it.  Nothing here
knows how the model comes to its numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drawn import Batch
from icmodel.dataset import Dataset, Point
from icmodel.errors import IcmodelError
from icmodel.estimate import BASES, Estimate, Prediction
from icmodel.model import Model
from icmodel.tables.wire import FRAMED, Wire

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SLACK = 1e-9
"""Relative: products and differences of what is told are rounded."""
PARTS = {"value": "", "low": "_low", "high": "_high"}
TIMES = ("latency", "rtt_half", "rtt")
BY_FLOW = ("goodput_bps", "sent_bps", "shortfall_bps", "loss_rate", "frames_per_s")
"""Metrics that follow from goodput and loss, so need no rows of their own."""
LEAST_SHARE = 0.02
"""Of an equal share: below this a stream's goodput is no answer but an artefact."""
PACKET_SPREAD = 0.02
"""By how much packets of a carried request may miss theory's: no row of datagrams or frames misses
them by more than 1.4 % (the ends of a window), of other protocols none of a carried load passes them."""
CPU_TIME_ERROR = 0.01
"""Relative: of a process that never sleeps rows say up to 1.003 of its one core."""
ANSWERED_ALIKE = 1e-9
"""Relative: ``predict`` asks by the rate, so the request of ``predict_many`` may differ in its last
places; beside a row of 0 that is much of the answer, but next to nothing."""
NOTHING = 1e-15


@dataclass(frozen=True)
class Contradiction:
    """One rule broken in a batch: the first question it is broken by, and how many there are."""

    rule: str
    dataset: str
    variant: str
    question: Mapping[str, object]
    numbers: Mapping[str, object]
    count: int

    def __str__(self) -> str:
        asked = ", ".join(f"{name}={value!r}" for name, value in self.question.items())
        told = ", ".join(f"{name} {value}" for name, value in self.numbers.items())
        return f"{self.rule}: {self.dataset} {self.variant} ({self.count} like it): {asked}: {told}"


@dataclass(frozen=True)
class Told:
    """The answers of a model to a batch."""

    model: Model
    asked: Batch
    columns: Mapping[str, Floats]

    @property
    def data(self) -> Dataset:
        return self.model.data

    def taken(self, where: Bools) -> Told:
        """Some of the answers."""
        asked = {name: column[where] for name, column in self.asked.columns.items()}
        told = {name: column[where] for name, column in self.columns.items()}
        return replace(self, asked=self.asked.changed(**asked), columns=told)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics of which there are answers with intervals."""
        return tuple(name for name in self.columns if f"{name}_basis" in self.columns)

    def __getitem__(self, name: str) -> Floats:
        """A column, NaN where the dataset has no such metric."""
        return self.columns.get(name, np.full(len(self.asked), np.nan))

    def part(self, metric: str, part: str) -> Floats:
        """A metric at its value, low or high."""
        return self[metric + PARTS[part]]

    @property
    def request_bps(self) -> Floats:
        return self.asked.columns["requested_goodput_bps"]

    def wire(self) -> Wire:
        """Theory of the protocol at the asked options and line rate."""
        link = self.data.link(self.asked.options)
        if "line_rate_bps" in self.asked.hosts:
            link = replace(link, line_rate_bps=self.asked.hosts["line_rate_bps"])
        return Wire(self.asked.protocol, link)

    def broken(self, rule: str, where: Bools, **numbers: Floats) -> Iterator[Contradiction]:
        """What contradicts a rule, if anything does."""
        places = np.flatnonzero(where)
        if not len(places):
            return
        first = int(places[0])
        shown = {name: column[first].item() for name, column in numbers.items()}
        question = {**self.asked.question(first), "outside": self.asked.outside}
        if question["outside"] == "nan":
            del question["outside"]
        yield Contradiction(rule, self.data.id, self.model.variant, question, shown, len(places))


Rule = Callable[[Told], Iterator[Contradiction]]


def ask(model: Model, batch: Batch) -> Told | None:
    """The answers to a batch; none where the dataset has no rows at its options."""
    try:
        answers = model.predict_many(threads=1, **batch.keywords())
    except IcmodelError:
        return None
    return Told(
        model,
        batch,
        {str(name): column.to_numpy() for name, column in answers.data_vars.variables.items()},
    )


def refused_by_predict_too(model: Model, batch: Batch) -> list[Contradiction]:
    """What ``predict_many`` refuses as a whole, ``predict`` refuses."""
    outside = "extrapolate" if batch.outside == "extrapolate" else "refuse"
    for index in range(min(len(batch), 5)):
        question = batch.question(index)
        try:
            model.predict(outside=outside, **question)
        except IcmodelError:
            continue
        numbers = {"predict": "answers", "predict_many": "refuses all"}
        return [
            Contradiction(
                "h only many refuses", model.data.id, model.variant, question, numbers, len(batch)
            )
        ]
    return []


def above(greater: Floats, less: Floats, slack: float = SLACK) -> Bools:
    """Where a number passes another by more than rounding; nowhere where one is absent."""
    return np.asarray(greater > less + slack * np.abs(less) + NOTHING)


# --- a: each number by itself ---------------------------------------------------------------------


def numbers_are_possible(told: Told) -> Iterator[Contradiction]:
    """low ≤ value ≤ high, there together, finite, not negative; ratios at most 1."""
    for name in told.metrics:
        value, low, high = (told.part(name, part) for part in PARTS)
        numbers = {name: value, f"{name}_low": low, f"{name}_high": high}
        there = ~np.isnan(value)
        ends = (np.isnan(low) == ~there) & (np.isnan(high) == ~there)
        yield from told.broken("a ends where a value is", ~ends, **numbers)
        finite = np.isfinite(value) & np.isfinite(low) & np.isfinite(high)
        yield from told.broken("a finite", there & ~finite, **numbers)
        yield from told.broken("a low ≤ value ≤ high", (low > value) | (value > high), **numbers)
        yield from told.broken("a not negative", low < 0, **numbers)
        if is_ratio(name):
            yield from told.broken("a ratio at most 1", above(high, np.ones_like(high)), **numbers)


def is_ratio(metric: str) -> bool:
    """Whether a metric lies within 0…1."""
    return metric == "loss_rate" or (metric.startswith("cpu_") and not metric.endswith("_cores"))


# --- b: times -------------------------------------------------------------------------------------


def times_are_in_order(told: Told) -> Iterator[Contradiction]:
    """Theory's least ≤ least ≤ mean ≤ greatest, and quantiles between, at value, low and high."""
    for time in TIMES:
        quantiles = [name for name in told.metrics if re.fullmatch(rf"{time}_p\d+_s", name)]
        quantiles.sort(key=lambda name: float(f"0.{name.split('_p')[-1].removesuffix('_s')}"))
        ends = f"{time}_min_s", f"{time}_max_s"
        for inner in ([f"{time}_mean_s"], quantiles):
            for part in PARTS:
                yield from _in_order(told, [ends[0], *inner, ends[1]], part)


def _in_order(told: Told, chain: list[str], part: str) -> Iterator[Contradiction]:
    """Each name of a chain at least what is before it, those absent left out."""
    one_way = chain[0].startswith("latency_")
    least = least_latency_s(told) if one_way else np.full(len(told.asked), np.nan)
    before = least
    for name in chain:
        here = told.part(name, part)
        shown = {f"{name} {part}": here, "at least": before}
        yield from told.broken("b theory's least ≤ a latency", above(least, here), **shown)
        later = above(before, here) & ~above(least, here)
        yield from told.broken(f"b order of {chain[0].removesuffix('_min_s')}", later, **shown)
        before = np.fmax(before, here)


def least_latency_s(told: Told) -> Floats:
    """Theory's least one-way latency [s]; NaN where the link's rate is not known."""
    path, columns = told.wire(), told.asked.columns
    link = path.link
    if link.line_rate_bps is None:
        return np.full(len(told.asked), np.nan)
    cable = np.full(len(told.asked), link.cable_length_m or 0.0)
    distance = np.where(np.isnan(columns["distance_m"]), cable, columns["distance_m"])
    switched = columns["switches"] * (link.switch_latency_s or 0.0)
    alone = path.lone_frame_s(columns["payload_bytes"])
    return np.asarray(alone + distance * (link.propagation_s_per_m or 0.0) + switched)


# --- c: what flows --------------------------------------------------------------------------------


def flows_agree(told: Told) -> Iterator[Contradiction]:
    """Goodput, sent, loss and shortfall say the same thing, at their values and at their ends."""
    request, loss = told.request_bps, told["loss_rate"]
    kept = np.where(np.isnan(loss), 1.0, 1.0 - loss)
    most = np.where(np.isinf(request) & (kept == 0), np.inf, request * kept)
    value, sent = told["goodput_bps"], told["sent_bps"]
    numbers = {"goodput": value, "sent": sent, "loss": loss}
    yield from told.broken("c goodput ≤ request (1 − loss)", above(value, most), **numbers)
    lost = (sent > 0) & (np.abs(loss - (1 - value / sent)) > SLACK)
    yield from told.broken("c loss = 1 − goodput / sent", lost, **numbers)
    for part in PARTS:
        yield from _flow_is_possible(told, part)
    yield from _ends_agree(told)


def _flow_is_possible(told: Told, part: str) -> Iterator[Contradiction]:
    """No more arrives than is sent or the wire takes, no more is sent than requested."""
    path, payload = told.wire(), told.asked.columns["payload_bytes"]
    bound = path.goodput_bound_bps(payload, path.serialisation_s(payload))
    goodput, sent = told.part("goodput_bps", part), told.part("sent_bps", part)
    numbers = {f"goodput {part}": goodput, f"sent {part}": sent, "theory": bound}
    yield from told.broken("c goodput ≤ theory", above(goodput, bound), **numbers)
    yield from told.broken("c goodput ≤ request", above(goodput, told.request_bps), **numbers)
    yield from told.broken("c goodput ≤ sent", above(goodput, sent), **numbers)
    yield from told.broken("c sent ≤ request", above(sent, told.request_bps), **numbers)


def _ends_agree(told: Told) -> Iterator[Contradiction]:
    """The shortfall stands opposite to what is sent; loss spans what lies between the ends."""
    request = told.request_bps
    for part, opposite in (("value", "value"), ("low", "high"), ("high", "low")):
        sent, short = told.part("sent_bps", opposite), told.part("shortfall_bps", part)
        expected = np.where(np.isinf(request), 0.0, np.maximum(request - sent, 0.0))
        expected[np.isnan(sent)] = np.nan
        yield from told.broken(
            "c shortfall = request − sent",
            np.abs(short - expected) > SLACK * np.where(np.isinf(request), 1.0, request) + 1e-6,
            **{f"shortfall {part}": short, f"sent {opposite}": sent},
        )
    low, high = told["goodput_bps_low"], told["goodput_bps_high"]
    sent_low, sent_high = told["sent_bps_low"], told["sent_bps_high"]
    least, most = told["loss_rate_low"], told["loss_rate_high"]
    numbers = {
        "goodput_low": low,
        "goodput_high": high,
        "sent_low": sent_low,
        "sent_high": sent_high,
        "loss_low": least,
        "loss_high": most,
    }
    unlost = (most == 0) & (
        (np.abs(sent_low - low) > 1e-9 * low) | (np.abs(sent_high - high) > 1e-9 * high)
    )
    yield from told.broken("c lossless: goodput = sent at the ends", unlost, **numbers)
    yield from told.broken(
        "c least sent (1 − most loss) ≤ least goodput",
        above(sent_low * (1 - most), low, 1e-6),
        **numbers,
    )
    yield from told.broken(
        "c most goodput ≤ most sent (1 − least loss)",
        above(high, sent_high * (1 - least), 1e-4),
        **numbers,
    )


# --- d: packets -----------------------------------------------------------------------------------


def packets_fit_frames(told: Told) -> Iterator[Contradiction]:
    """Packets of a carried request are its frames' packets; no fewer than full ones need."""
    for name in ("packets_sent_per_s", "packets_received_per_s"):
        value, low, high = (told.part(name, part) for part in PARTS)
        if np.isnan(value).all():
            continue
        yield from told.broken(
            f"d no {name} without rows of the protocol",
            ~np.isnan(value) & (not has_rows(told.data, told.asked.protocol, name)),
            **{name: value},
        )
        yield from _packets_of_frames(told, name, value, low, high)


def _packets_of_frames(
    told: Told, name: str, value: Floats, low: Floats, high: Floats
) -> Iterator[Contradiction]:
    """What arrives was in packets, and a carried request is in no others.

    A frame lost before the line was in no packet.
    """
    path, payload = told.wire(), told.asked.columns["payload_bytes"]
    if path.link.kind != "ethernet":
        return
    goodput, request = told["goodput_bps"], told.request_bps
    frames = goodput / (8 * payload)
    own, least = frames * path.packets(payload), frames * path.least_packets(payload)
    numbers = {name: value, "low": low, "high": high, "frames": frames, "own": own, "least": least}
    carried = np.isfinite(request) & (goodput > 0) & ~above(request, goodput)
    if told.asked.protocol in FRAMED:
        out = above(low, own, PACKET_SPREAD) | above(own, high, PACKET_SPREAD)
        yield from told.broken("d packets = frames × packets a frame", carried & out, **numbers)
    if told.asked.protocol in (*FRAMED, "tcp"):  # the headers of what runs over TCP are not known
        more = carried & above(value, own, PACKET_SPREAD)
        yield from told.broken("d packets ≤ frames × packets a frame", more, **numbers)
    fewer = above(least, value, PACKET_SPREAD)
    yield from told.broken("d packets ≥ those of a full stream", fewer, **numbers)


def has_rows(data: Dataset, protocol: str, metric: str) -> bool:
    """Whether a dataset has any row of a metric of a protocol."""
    return any(p.metric == metric and p.protocol == protocol for p in data.points)


# --- e: cores -------------------------------------------------------------------------------------


def no_more_cores_are_busy_than_asked(told: Told) -> Iterator[Contradiction]:
    """Busy cores, of the hosts and of the processes, stay within the cores asked.

    Rows may miss that by the error of measuring CPU time.  Where they miss it by more, what the
    system does for a process it did on other cores too, and the processes' are no limit.
    """
    asked = told.asked.columns["cores"]
    for name in told.metrics:
        if re.fullmatch(r"cpu_\w+_cores", name):
            busiest = _busiest(told.data, told.asked.protocol, name)
            most = asked * (busiest if busiest <= 1 + CPU_TIME_ERROR else np.inf)
            for part in PARTS:
                busy = told.part(name, part)
                yield from told.broken(
                    f"e {name} ≤ cores", above(busy, most), **{f"{name} {part}": busy}
                )


def _busiest(data: Dataset, protocol: str, metric: str) -> float:
    """The most of its cores that any row of a metric says were busy; at least all of them."""
    shares = [
        p.value / p.cores
        for p in data.points
        if p.metric == metric and p.protocol == protocol and p.cores
    ]
    return max(1.0, *shares) if shares else 1.0


# --- f, j: more offered ---------------------------------------------------------------------------


def more_of_others_never_gives_more(told: Told) -> Iterator[Contradiction]:
    """Goodput does not rise with what the others offer, nor with how many they are; shares are sane."""
    endpoints = told.asked.columns["endpoints"]
    others = told.asked.columns["other_goodput_bps"]
    shared = endpoints > 1
    if not shared.any():
        return
    for name, batch in {
        "others' goodput": told.asked.changed(
            other_goodput_bps=np.where(shared, others * 1.37 + 1e5, 0.0)
        ),
        "endpoints": told.asked.changed(endpoints=np.where(shared, endpoints + 1, endpoints)),
    }.items():
        more = ask(told.model, batch)
        if more is not None:
            for part in PARTS:
                yield from _risen(told, more, f"f goodput rises with {name}", shared, part)
            if name == "endpoints" and not _measured_shared(told):
                yield from _heads_counted(told, more, shared)
    yield from _sane_share(told, shared)


def _risen(told: Told, more: Told, rule: str, where: Bools, part: str) -> Iterator[Contradiction]:
    less, greater = told.part("goodput_bps", part), more.part("goodput_bps", part)
    shown = {f"goodput {part}": less, f"with more {part}": greater}
    yield from told.broken(rule, where & above(greater, less), **shown)


def _heads_counted(told: Told, more: Told, shared: Bools) -> Iterator[Contradiction]:
    """One sender more that offers nothing more takes no more than the part that each has.

    Where one other sender could offer as much as all others do: of many, each a little, the same.
    """
    size, endpoints = len(told.asked), told.asked.columns["endpoints"]
    lone = told.asked.changed(endpoints=np.ones(size), other_goodput_bps=np.zeros(size))
    full = ask(told.model, lone.changed(requested_goodput_bps=np.full(size, np.inf)))
    if full is None:
        return
    able = told.asked.columns["other_goodput_bps"] <= full["goodput_bps"]
    less, greater = told["goodput_bps"], more["goodput_bps"]
    fewer = above(less * endpoints / (endpoints + 1), greater)
    shown = {"goodput": less, "with one sender more": greater}
    yield from told.broken("f heads count, not what they offer", shared & able & fewer, **shown)


def _measured_shared(told: Told) -> bool:
    """Whether rows at these options say what a stream gets beside others."""
    rows = told.data.select(told.asked.protocol, told.asked.options)
    return any((p.endpoints or 1) > 1 for p in rows if p.metric == "goodput_bps")


def no_time_at_an_overloaded_interface(told: Told) -> Iterator[Contradiction]:
    """Nobody measured a stream beside others who overload the interface with it: its times are unknown."""
    asked, rate, size = told.asked.columns, told.wire().link.line_rate_bps, len(told.asked)
    shared = (asked["endpoints"] > 1) & (asked["other_goodput_bps"] > 0)
    if not shared.any():
        return
    lone = told.asked.changed(endpoints=np.ones(size), other_goodput_bps=np.zeros(size))
    if (alone := ask(told.model, lone)) is None:
        return
    own = np.fmin(told.request_bps, alone["goodput_bps"])
    load = (own + asked["other_goodput_bps"]) / (np.inf if rate is None else rate)
    held_back = above(alone["goodput_bps"], told["goodput_bps"])
    for name in told.metrics:
        if name.startswith(("latency_", "rtt_")):
            rule = "f a time beside others who overload the interface"
            unknown = shared & ((load > 1 + 1e-9) | held_back)
            yield from told.broken(rule, unknown & ~np.isnan(told[name]), **{name: told[name]})


def _sane_share(told: Told, shared: Bools) -> Iterator[Contradiction]:
    """No more than alone; no artefact of a rule: at least a part of what a just share would be.

    The lesser of two that are thought just: the same for every sender, and in proportion to what
    each offers.
    """
    size = len(told.asked)
    lone = told.asked.changed(endpoints=np.ones(size), other_goodput_bps=np.zeros(size))
    alone = ask(told.model, lone)
    full = ask(told.model, lone.changed(requested_goodput_bps=np.full(size, np.inf)))
    if alone is None or full is None:
        return
    goodput, limit = told["goodput_bps"], full["goodput_bps"]
    offered = np.minimum(told.request_bps, limit)
    others = told.asked.columns["other_goodput_bps"]
    just = np.minimum(1 / told.asked.columns["endpoints"], offered / (offered + others)) * limit
    least = LEAST_SHARE * np.minimum(alone["goodput_bps"], just)
    shown = {"goodput": goodput, "just": just, "alone": alone["goodput_bps"]}
    yield from told.broken("f a share of next to nothing", shared & (goodput < least), **shown)
    more = shared & above(goodput, alone["goodput_bps"])
    yield from told.broken("f more than alone", more, **shown)


def more_requested_never_gives_less(told: Told) -> Iterator[Contradiction]:
    """Goodput does not fall with the requested load, unless rows say that overload loses."""
    if shows_overload(told):
        return
    request = told.request_bps
    more = ask(told.model, told.asked.changed(requested_goodput_bps=request * 1.21))
    if more is None:
        return
    less, greater = told["goodput_bps"], more["goodput_bps"]
    yield from told.broken(
        "j goodput falls with the request", above(less, greater), goodput=less, with_more=greater
    )


def shows_overload(told: Told) -> bool:
    """Whether a row of the protocol says that offering more may deliver less."""
    return any(
        (point.metric == "goodput_bps" and point.load_bps not in (None, np.inf))
        or (point.metric == "loss_rate" and point.value > 0)
        for point in told.data.points
        if point.protocol == told.asked.protocol
    )


# --- g: defaults ----------------------------------------------------------------------------------


def a_default_said_changes_nothing(told: Told) -> Iterator[Contradiction]:
    """Said aloud, each default by itself gives the bits of the question that leaves it out."""
    for name, batch in _said(told):
        yield from _same_bits(told, batch, f"g saying {name}")
    ordinary = _all_defaults(told.asked)
    unlimited = ordinary & np.isinf(told.request_bps)
    for where, needed in ((ordinary, NEEDED), (unlimited, NEEDED[:1])):
        part = told.taken(where)
        if len(part.asked):
            kept = {name: part.asked.columns[name] for name in needed}
            yield from _same_bits(part, replace(part.asked, columns=kept), "g saying all defaults")


NEEDED = ("payload_bytes", "requested_goodput_bps")
"""What has no default, and what has none but to be unlimited."""


def _all_defaults(asked: Batch) -> Bools:
    """Questions that say nothing but the defaults of the numbers that have one."""
    columns = asked.columns
    alone = (columns["endpoints"] == 1) & (columns["other_goodput_bps"] == 0)
    unsaid = np.isnan(columns["cores"]) & np.isnan(columns["distance_m"])
    return np.asarray(alone & unsaid & (columns["switches"] == 0))


def _same_bits(told: Told, batch: Batch, rule: str) -> Iterator[Contradiction]:
    """The same questions in other words get the same answers to the bit."""
    again = ask(told.model, batch)
    if again is None:
        yield from told.broken(f"{rule} refuses", np.ones(len(told.asked), dtype=bool))
        return
    both = told.columns.keys() & again.columns.keys()
    for column in sorted(told.columns.keys() | again.columns.keys()):
        if column.endswith("_basis") and column not in both:
            continue  # absent in the one, and NaN in the other
        one, other = told[column], again[column]
        differs = ~((one == other) | (np.isnan(one) & np.isnan(other)))
        if differs.any():
            numbers = {f"{column} unsaid": one, f"{column} said": other}
            yield from told.broken(f"{rule} changes the answer", differs, **numbers)
            return


def _said(told: Told) -> Iterator[tuple[str, Batch]]:
    """The batch with one default said; of an axis, where the protocol has rows at its default."""
    asked, data = told.asked, told.data
    for at, axis in enumerate(data.option_axes):
        default = data.option_defaults[axis]
        known = any(p.protocol == asked.protocol and p.options[at] == default for p in data.points)
        if axis not in asked.options and default and known:
            yield f"{axis}={default}", replace(asked, options={**asked.options, axis: default})
    if np.isnan(asked.columns["cores"]).any() and (most := default_cores(told)):
        cores = np.where(np.isnan(asked.columns["cores"]), most, asked.columns["cores"])
        yield "cores", asked.changed(cores=cores)
    rate = data.interconnect.line_rate_bps
    if told.model.variant == "hybrid" and not asked.hosts and not data.fabrics and rate:
        yield "line_rate", replace(asked, hosts={"line_rate_bps": rate, "cpu_clock_ratio": 1.0})


def default_cores(told: Told) -> int | None:
    """The cores that ``predict`` says it took where none were said."""
    for index in np.flatnonzero(np.isnan(told.asked.columns["cores"]))[:5]:
        with suppress(IcmodelError):
            return predicted(told, int(index)).scenario.cores
    return None


# --- h: one and many ------------------------------------------------------------------------------


def one_answer_is_many(told: Told, count: int = 10) -> Iterator[Contradiction]:
    """``predict`` and ``predict_many`` tell and refuse the same, with the same ends and basis."""
    for index in range(min(count, len(told.asked))):
        here = np.arange(len(told.asked)) == index
        try:
            one = predicted(told, index)
        except IcmodelError:
            present = [name for name in told.metrics if not np.isnan(told[name][index])]
            if present or told.asked.outside == "extrapolate":
                numbers = {name: told[name] for name in present[:3]}
                yield from told.broken("h only many answers", here, **numbers)
            continue
        for name in told.metrics:
            estimate = one.metrics.get(name)
            yield from _same(told, here, index, name, estimate)
        every = told.asked.metrics is None
        missing = [
            name
            for name, e in one.metrics.items()
            if every and not e.absent and name not in told.metrics
        ]
        for name in missing:
            yield from told.broken(f"h only one has {name}", here)


def predicted(told: Told, index: int) -> Prediction:
    """What ``predict`` says to one of the questions."""
    asked = told.asked
    outside = "extrapolate" if asked.outside == "extrapolate" else "refuse"
    return told.model.predict(outside=outside, metrics=asked.metrics, **asked.question(index))


def codes_are_texts(told: Told) -> Iterator[Contradiction]:
    """Protocol and options as codes in arrays ask what they ask as texts."""
    asked, data = told.asked, told.data
    size = len(asked)
    coded: dict[str, Any] = {
        axis: np.full(size, data.option_values(axis).index(value))
        for axis, value in asked.options.items()
    }
    coded["protocol"] = np.full(size, data.protocols.index(asked.protocol))
    try:
        again = told.model.predict_many(threads=1, **{**asked.keywords(), **coded})
    except IcmodelError:
        yield from told.broken("h codes are refused", np.ones(size, dtype=bool))
        return
    for name in told.metrics:
        for part in PARTS:
            text, code = told.part(name, part), again[name + PARTS[part]].to_numpy()
            differ = np.abs(text - code) > ANSWERED_ALIKE * np.abs(text) + NOTHING
            differ |= np.isnan(text) != np.isnan(code)
            yield from told.broken("h codes are answered otherwise", differ, text=text, code=code)


def _same(
    told: Told, here: Bools, index: int, name: str, estimate: Estimate | None
) -> Iterator[Contradiction]:
    code = int(told[f"{name}_basis"][index])
    basis = BASES[code] if code >= 0 else ""
    if estimate is None or estimate.absent:
        yield from told.broken(
            f"h only many has {name}", here & ~np.isnan(told[name]), many=told[name]
        )
        return
    for part in PARTS:
        one, many = getattr(estimate, part), told.part(name, part)
        differ = np.abs(many - one) > ANSWERED_ALIKE * abs(one) + NOTHING
        yield from told.broken(
            f"h {name} {part}",
            here & (differ | np.isnan(many)),
            many=many,
            one=np.full(len(many), one),
        )
    if basis != estimate.basis:
        yield from told.broken(f"h basis of {name}", here, many=told[f"{name}_basis"])


def refusals_agree(model: Model, question: Mapping[str, object]) -> list[Contradiction]:
    """One question of any kind, impossible ones too: both refuse it, with one reason, or neither."""
    found = []
    for outside in ("refuse", "extrapolate"):
        one = refusal(model.predict, {**question, "outside": outside})
        many = refusal(model.predict_many, {**question, "outside": outside})
        rule = ""
        if (one is None) != (many is None):
            rule = f"h only {'many' if one is None else 'one'} refuses ({outside})"
        elif one is not None and many is not None and one.split(";")[0] not in many:
            rule = f"h many refuses without the reason of one ({outside})"
        if rule:
            asked = {**question, "outside": outside}
            told = {"predict": one or "answers", "predict_many": many or "answers"}
            found.append(Contradiction(rule, model.data.id, model.variant, asked, told, 1))
    return found


def refusal(verb: Callable[..., object], question: Mapping[str, object]) -> str | None:
    """Why a question is refused; none if it is answered."""
    try:
        verb(**question)
    except IcmodelError as error:
        return str(error)
    return None


# --- i: basis -------------------------------------------------------------------------------------


def a_basis_is_of_its_rows(told: Told) -> Iterator[Contradiction]:
    """Measured and tabulated only at payloads of such rows; beyond all rows, extrapolated."""
    payload = told.asked.columns["payload_bytes"]
    for name in told.metrics:
        code = told[f"{name}_basis"]
        there = ~np.isnan(told[name])
        yield from told.broken("i a value has a basis", there & (code < 0), basis=code)
        points = rows_behind(told, name)
        known = np.array([p.payload_bytes for p in points if p.payload_bytes is not None])
        if len(known) == 0 or len(known) < len(points):
            if not points:
                none = there & (code <= BASES.index("tabulated"))
                yield from told.broken(f"i {name} without a row", none, basis=code)
            continue
        for basis in ("measured", "tabulated"):
            at = [p.payload_bytes or 0 for p in points if p.basis == basis]
            lying = there & (code == BASES.index(basis)) & ~np.isin(payload, at)
            yield from told.broken(f"i {name} is not {basis}", lying, payload=payload)
        beyond = there & ((payload < known.min()) | (payload > known.max()))
        if name == "loss_rate":
            beyond &= told["loss_rate_high"] > 0
        short = beyond & (code != BASES.index("extrapolated"))
        yield from told.broken(
            f"i {name} beyond its payloads is extrapolated", short, payload=payload, basis=code
        )


def beyond_all_rows_is_extrapolated(told: Told) -> Iterator[Contradiction]:
    """Core counts without a goodput, and loads below the lowest one, are beyond the data."""
    asked, last = told.asked.columns, BASES.index("extrapolated")
    counts = {p.cores for p in rows_behind(told, "goodput_bps") if p.cores is not None}
    if counts:
        other = ~np.isnan(asked["cores"]) & ~np.isin(asked["cores"], list(counts))
        code = told["goodput_bps_basis"]
        wrong = other & ~np.isnan(told["goodput_bps"]) & (code != last)
        yield from told.broken("i cores never measured are extrapolated", wrong, basis=code)
    carried = (asked["endpoints"] == 1) & ~above(told.request_bps, told["goodput_bps"])
    for name in told.metrics:  # a request that is not carried is answered by an unlimited load
        if name.startswith(("latency_", "rtt_", "cpu_")) and not name.endswith("_cores"):
            loads = [p.load_bps for p in rows_behind(told, name) if p.load_bps is not None]
            least = min(loads, default=0.0)
            code = told[f"{name}_basis"]
            wrong = carried & (told.request_bps < least * (1 - SLACK)) & ~np.isnan(told[name])
            wrong &= bool(np.isfinite(least)) & (code != last)
            yield from told.broken(f"i {name} below all loads is extrapolated", wrong, basis=code)


def rows_behind(told: Told, metric: str) -> list[Point]:
    """Rows of the protocol on which a metric may stand."""
    names = {metric, metric.removesuffix("_cores")}
    if metric in BY_FLOW:
        names |= {"goodput_bps", "loss_rate"}
    return [p for p in told.data.points if p.protocol == told.asked.protocol and p.metric in names]


def explanations_add_up(told: Told, count: int = 5) -> Iterator[Contradiction]:
    """The latency's terms sum to it; the least bound is the goodput."""
    for index in range(min(count, len(told.asked))):
        here = np.arange(len(told.asked)) == index
        try:
            one = predicted(told, index)
        except IcmodelError:
            continue
        why = one.explain()
        mean, goodput = one.latency_mean_s.value, one.goodput_bps.value
        total = sum(why.latency_terms.values())
        if not np.isnan(mean) and abs(total - mean) > 1e-9 * mean:
            yield from told.broken(
                "i terms sum to the mean",
                here,
                mean=np.full(here.shape, mean),
                terms=np.full(here.shape, total),
            )
        bounds = [bound for bound in why.goodput_bounds.values() if not np.isnan(bound)]
        if not np.isnan(goodput) and abs(min(bounds, default=np.inf) - goodput) > 1e-9 * goodput:
            yield from told.broken(
                "i the least bound is the goodput",
                here,
                goodput=np.full(here.shape, goodput),
                **{name: np.full(here.shape, bound) for name, bound in why.goodput_bounds.items()},
            )


ALWAYS: tuple[Rule, ...] = (
    numbers_are_possible,
    a_default_said_changes_nothing,
    one_answer_is_many,
    codes_are_texts,
)
"""What holds of every variant."""
RULES: tuple[Rule, ...] = (
    *ALWAYS,
    times_are_in_order,
    flows_agree,
    packets_fit_frames,
    no_more_cores_are_busy_than_asked,
    more_of_others_never_gives_more,
    no_time_at_an_overloaded_interface,
    more_requested_never_gives_less,
    a_basis_is_of_its_rows,
    beyond_all_rows_is_extrapolated,
    explanations_add_up,
)
"""What holds of the variants that mend Appendix H."""
BROKEN_BY_THE_ORIGINAL = {
    "a ratio at most 1": "Appendix H tells a utilisation above 1 (erratum E6)"
}
"""Rules that ``appendix-h`` breaks by what it is, each with the reason."""


def contradictions(model: Model, batch: Batch) -> list[Contradiction]:
    """All contradictions in the answers of a model to a batch of questions."""
    told = ask(model, batch)
    if told is None:
        return refused_by_predict_too(model, batch)
    original = model.variant == "appendix-h"
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        found = [wrong for rule in (ALWAYS if original else RULES) for wrong in rule(told)]
    return [wrong for wrong in found if not original or wrong.rule not in BROKEN_BY_THE_ORIGINAL]

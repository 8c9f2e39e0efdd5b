"""The lanes of a system and its streams as flows over them: ports, interfaces and processors in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.dataset import Dataset
from icmodel.errors import IcmodelError, OutOfDomain
from icmodel.estimate import BASES, Estimate, absent, plural
from icmodel.laws.metrics import ALWAYS
from icmodel.model import Model
from icmodel.model.domain import RELIABLE
from icmodel.scenario import ApplicationWork, Scenario
from icmodel.system.network import Port, Stream, System
from icmodel.system.packing import Packing
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Dscp,
    Fifo,
    Gates,
    StrictPriority,
    WeightedRoundRobin,
)
from icmodel.system.sharing.allocation import (
    Allocation,
    Classes,
    Discipline,
    Flows,
    Lanes,
    Windows,
    differentiated,
    gated,
    shaped,
    share,
    strict_priority,
    weighted,
)
from icmodel.system.sharing.loss import NOWHERE
from icmodel.usecase.judging import as_one_connection

if TYPE_CHECKING:
    import xarray

PROCESSOR, OWN_CORES, PORT, INTERFACE = "processor", "own cores", "port", "interface"
HOSTS = (PROCESSOR, OWN_CORES)
"""Lanes of a host's cores: all of them, and those that a stream with work of its application may take."""
ORIGIN = 3
"""The first hops of a flow are its sender's own: its processor, its own cores and its interface."""


Lane = tuple[str, str, int]
"""Kind, place and class."""
Hop = tuple[Lane, float]
"""A lane on the way of a stream, and how much of it 1 b/s takes."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A system as flows over lanes, and which lane is what: its kind, where it is, its class."""

    lanes: Lanes
    flows: Flows
    keys: Sequence[Lane]

    def allocation(self, offered_bps: Floats, windows: Windows) -> Allocation:
        """What every stream gets when it asks for this much [b/s] and has such a window."""
        return share(replace(self.flows, offered_bps=offered_bps), self.lanes, windows)

    def by_place(self, of_lanes: Floats | Ints) -> dict[tuple[str, str], float]:
        """Sums of a number of each lane over all classes, by kind and place."""
        found: dict[tuple[str, str], float] = {}
        for (kind, where, _), value in zip(self.keys, of_lanes.tolist(), strict=True):
            found[kind, where] = found.get((kind, where), 0.0) + value
        return found


def is_elastic(stream: Stream) -> bool:
    """Whether a stream gives way to what it meets, and loses nothing."""
    return stream.protocol in RELIABLE


def shared(system: System, packed: Packing, alone: Answers, capacity_bps: Floats) -> Shared:
    """The lanes and flows of a system.

    Parameters
    ----------
    alone : Answers
        Of each stream without the others, as it asks.
    capacity_bps : array (streams,)
        What each reaches alone as fast as it goes; infinite where nobody knows.
    """
    streams = list(system.streams.values())
    paths = [
        list(_hops(system, stream, packed, k, alone, capacity_bps))
        for k, stream in enumerate(streams)
    ]
    numbered: dict[Lane, int] = {}
    width = max((len(path) for path in paths), default=0)
    path = np.full((len(streams), width), NOWHERE)
    usage = np.zeros((len(streams), width))
    sent: set[tuple[object, ...]] = set()
    with_first = sent_with(streams)
    for k, hops in enumerate(paths):
        for place, hop in enumerate(hops):
            if hop is None:
                continue
            lane, used = hop
            path[k, place] = numbered.setdefault(lane, len(numbered))
            once = (lane, streams[k].multicast_key)
            copied = lane[0] == PORT and streams[k].multicast is not None and once in sent
            copied |= place < ORIGIN - 1 and with_first[k] != k  # its sender does the work once
            usage[k, place] = 0.0 if copied else used
            sent.add(once)
    elastic = np.array([is_elastic(stream) for stream in streams], dtype=bool)
    none = np.zeros(len(streams))
    flows = Flows(none, np.ones(len(streams)), elastic, path, usage, ORIGIN, with_first)
    return Shared(_lanes(system, streams, list(numbered)), flows, list(numbered))


def sent_with(streams: Sequence[Stream]) -> Ints:
    """The first stream of the multicast set that leaves by the same port, (streams,)."""
    first: dict[tuple[object, ...], int] = {}
    sent = [first.setdefault((*one.multicast_key, one.path[0]), k) for k, one in enumerate(streams)]
    return np.array(sent, dtype=np.int64)


def _hops(
    system: System,
    stream: Stream,
    packed: Packing,
    index: int,
    alone: Answers,
    capacity_bps: Floats,
) -> Iterator[Hop | None]:
    """The lanes of a stream in their order: the source's cores, ports, the sink's interface, its cores."""
    yield from _cores(system, stream, index, alone, "send")
    for name in stream.path:
        port = system.ports[name]
        ratio = packed.of(stream, system.links[port.link]).ratio
        priority = 0 if isinstance(port.scheduler, Fifo) else stream.priority
        yield (PORT, name, priority), ratio
    most = float(capacity_bps[index])
    yield ((INTERFACE, port.name, priority), 1 / most) if 0 < most < np.inf else None
    yield from _cores(system, stream, index, alone, "recv")


def _cores(
    system: System, stream: Stream, index: int, alone: Answers, side: str
) -> Iterator[Hop | None]:
    """The cores of one end: all of a host that says how many it has, and those that the stream may take.

    A dataset that speaks for the stream counts its application's work, and holds it to its own cores.  Of others
    only that work is known: a core handles one frame at a time.
    """
    device = system.devices[stream.source if side == "send" else stream.sink]
    own_s = device.app_send_s if side == "send" else device.app_recv_s
    goodput = float(alone.value("goodput_bps")[index])
    busy = float(alone.value(f"cpu_{side}_cores")[index])
    used = busy / goodput if busy > 0 and goodput > 0 else own_s / (8 * stream.payload_bytes)
    if not used > 0:
        yield from (None, None)
        return
    yield None if device.cores is None else ((PROCESSOR, device.name, 0), used)
    own = OWN_CORES, f"{device.name} for {stream.name}", 0
    yield (own, used / (stream.cores or 1)) if math.isnan(goodput) else None


def _lanes(system: System, streams: Sequence[Stream], keys: Sequence[Lane]) -> Lanes:
    """What each lane can carry; classes of a port share its rate, and alike what its receiver takes."""
    numbers: dict[tuple[str, str], int] = {}
    disciplines: dict[int, Discipline] = {}
    sizes = _packet_sizes(system, streams)
    for kind, where, _ in keys:
        if kind in HOSTS or (kind, where) in numbers:
            continue
        number = numbers[kind, where] = len(numbers)
        rule = _discipline(system.ports[where], sizes[where])
        if rule is not None:
            rate = system.ports[where].rate_bps
            disciplines[number] = rule if kind == PORT else partial(_scaled, rule=rule, to_bps=rate)
    return Lanes(
        capacity=np.array([_capacity(system, kind, where) for kind, where, _ in keys]),
        port=np.array([numbers.get(key[:2], NOWHERE) for key in keys], dtype=np.int64),
        priority=np.array([priority for _, _, priority in keys], dtype=np.int64),
        disciplines=disciplines,
    )


def _capacity(system: System, kind: str, where: str) -> float:
    if kind == PORT:
        return system.ports[where].rate_bps
    return float(system.devices[where].cores or 1) if kind == PROCESSOR else 1.0


def _scaled(whole: float, asked: Classes, *, rule: Discipline, to_bps: float) -> dict[int, float]:
    """A rule of a port's rate for parts of a whole."""
    scale = to_bps / whole
    given = rule(to_bps, {one: part * scale for one, part in asked.items()})
    return {one: value / scale for one, value in given.items()}


def _packet_sizes(system: System, streams: Sequence[Stream]) -> Mapping[str, Mapping[int, float]]:
    """Mean packet of each priority at each port [B], as turns of frames weigh them."""
    sizes: dict[str, dict[int, list[float]]] = {}
    for stream in streams:
        most = min(link.mtu_bytes for link in system.links_of(stream))
        for port in stream.path:
            here = sizes.setdefault(port, {}).setdefault(stream.priority, [])
            here.append(min(stream.payload_bytes, most))
    return {
        port: {priority: sum(some) / len(some) for priority, some in here.items()}
        for port, here in sizes.items()
    }


def _discipline(port: Port, sizes: Mapping[int, float]) -> Discipline | None:
    """How the classes of a port share its rate; ``None`` where all wait in one queue."""
    match port.scheduler:
        case StrictPriority():
            return strict_priority
        case CreditBased(idle_slopes_bps=slopes):
            return partial(shaped, slopes_bps=slopes)
        case DeficitRoundRobin(quanta_bytes=quanta):
            return partial(weighted, weights={k: float(v) for k, v in quanta.items()})
        case WeightedRoundRobin(weights=frames):
            return partial(weighted, weights={k: v * sizes.get(k, 1.0) for k, v in frames.items()})
        case Dscp(classes=behaviours):
            return partial(differentiated, behaviours=behaviours)
        case Gates(windows=windows):
            return partial(gated, windows=[(one.duration_s, one.open) for one in windows])
    return None


def meeting(found: Shared, allocation: Allocation, lanes: Ints) -> tuple[Ints, Floats, Floats]:
    """What each stream meets at one lane: how many streams cross it, what it has there, and the others [b/s].

    Parameters
    ----------
    lanes : array of int (streams,)
        The lane of each; ``NOWHERE`` where it meets nobody.
    """
    path = found.flows.path
    crossed = (path != NOWHERE) & (found.flows.usage > 0)
    size = len(found.keys) + 1
    total = np.bincount(path[crossed], allocation.entering_bps[crossed], size)
    count = np.bincount(path[crossed], minlength=size)
    own = np.where(path == lanes[:, None], allocation.entering_bps, 0.0).max(axis=1, initial=0.0)
    others = np.where(lanes == NOWHERE, 0.0, np.maximum(total[lanes] - own, 0.0))
    return count[lanes], own, others


ENDS = ("", "_low", "_high", "_basis")
ASKED = (
    *(f"latency_{one}_s" for one in ("min", "p50", "p90", "p99", "p999", "max")),
    *(f"rtt_half_{one}_s" for one in ("mean", "p50", "p99", "max")),
    *(f"rtt_{one}_s" for one in ("mean", "p50", "p99", "max")),
    *(f"cpu_{side}_process_cores" for side in ("send", "recv")),
)
"""What is asked beside what every prediction has, where a dataset has it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What speaks for streams, where not the system says it: a model or dataset for all, a variant, kept fits.

    Models by the name that the system gives their dataset are taken as they are.
    """

    dataset: Model | Dataset | str | Path | Mapping[str, Model] | None = None
    variant: str | None = None
    cache: bool = True

    def model(self, dataset: Model | Dataset | str | Path) -> Model:
        """The model of a dataset."""
        if isinstance(dataset, Model):
            return dataset
        return Model(dataset, self.variant, cache=self.cache)


@dataclass(frozen=True, slots=True)
class Speaker:
    """A dataset with some options, the streams it speaks for, and their questions.

    ``streams`` are indices in the system's order; ``columns`` the questions without what else meets
    them.
    """

    model: Model
    options: Mapping[str, str]
    streams: Ints
    columns: Mapping[str, Floats]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spoken:
    """All speakers of a system; why nobody speaks for a stream, by index; and those streams' number."""

    size: int
    speakers: tuple[Speaker, ...]
    silent: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Answers:
    """What datasets say of all streams: by metric an array (value, low, high, basis; streams).

    NaN where they do not; ``bottleneck`` are codes, −1 where nobody speaks.
    """

    size: int
    metrics: Mapping[str, Floats]
    bottleneck: Ints
    whose: Mapping[int, str] = field(default_factory=dict)

    def value(self, metric: str) -> Floats:
        """The values of a metric, NaN where there are none, (streams,)."""
        return np.asarray(self.ends(metric)[0])

    def ends(self, metric: str) -> Floats:
        """Value, low, high and code of the basis, (4, streams)."""
        known = self.metrics.get(metric)
        return np.full((4, self.size), np.nan) if known is None else known

    def estimate(self, metric: str, stream: int) -> Estimate:
        """One number as an Estimate; where it is absent the reason."""
        value, low, high, basis = self.ends(metric)[:, stream].tolist()
        if value != value:
            return absent(f"{self.whose.get(stream, 'theory alone')} gives no {metric} here")
        return Estimate(value, low, high, BASES[int(basis)])


def spoken(system: System, choice: Choice) -> Spoken:
    """The dataset that speaks for each stream: that of its sink's host, of its source's, else of its links."""
    models = dict(choice.dataset) if isinstance(choice.dataset, Mapping) else {}
    for_all = None if isinstance(choice.dataset, Mapping) else choice.dataset
    chosen = None if for_all is None else choice.model(for_all)
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[int]] = {}
    streams, silent = list(system.streams.values()), {}
    for index, stream in enumerate(streams):
        name = dataset_of(system, stream) if chosen is None else chosen.data.id
        if name is None:
            silent[index] = (
                "no dataset speaks for it: this is what its links allow, by theory alone"
            )
        else:
            groups.setdefault((name, tuple(sorted(stream.options.items()))), []).append(index)
    speakers = []
    for (name, options), members in groups.items():
        model = models[name] = chosen or models.get(name) or choice.model(name)
        fitted, notes = _fitted(system, model, {k: streams[k] for k in members}, dict(options))
        silent |= {k: why for k, why in fitted.items() if isinstance(why, str)}
        known = {k: one for k, one in fitted.items() if isinstance(one, Scenario)}
        if known:
            speakers.append(_speaker(model, dict(options), known, notes))
    return Spoken(len(streams), tuple(speakers), silent)


def dataset_of(system: System, stream: Stream) -> str | None:
    """The dataset that speaks for a stream: of its sink's host, of its source's, else of its last link that has one."""
    hosts = (system.devices[stream.sink].dataset, system.devices[stream.source].dataset)
    links = [link.dataset for link in reversed(system.links_of(stream))]
    return next((name for name in (*hosts, *links) if name is not None), None)


def _fitted(
    system: System, model: Model, streams: Mapping[int, Stream], options: Mapping[str, str]
) -> tuple[Mapping[int, Scenario | str], tuple[str, ...]]:
    """What a dataset is asked of each stream, or why it refuses; and notes on all of them.

    As `Model.fit_question` has it, nothing is left out but delays, which the system adds by itself.
    """
    kinds: dict[Scenario, Scenario | str] = {}
    found: dict[int, Scenario | str] = {}
    notes: dict[str, None] = {}
    for k, stream in streams.items():
        one = _scenario(system, model, stream, options)
        kind = _kind(one)
        if kind not in kinds:
            try:
                kinds[kind], told = model.fit_question(kind)
                notes |= dict.fromkeys(told)
            except IcmodelError as refused:
                kinds[kind] = str(refused)
        fit = kinds[kind]
        few = few_cores(system, stream, one)
        found[k] = few or (fit if isinstance(fit, str) else _as_fitted(one, fit))
        if stream.cores is None and one.cores is not None:
            notes[f"streams that say no cores use one, by {model.data.id}: one connection"] = None
    return found, tuple(notes)


def few_cores(system: System, stream: Stream, asked: Scenario) -> str:
    """Why a stream cannot use the cores that are asked for it: its hosts have fewer; empty where they have them."""
    ends = (system.devices[end] for end in (stream.source, stream.sink))
    counts = {device.name: device.cores for device in ends if device.cores is not None}
    name = min(counts, key=lambda one: counts[one], default="")
    if asked.cores is None or not name or asked.cores <= counts[name]:
        return ""
    return (
        f"the stream {stream.name} asks for {plural(asked.cores, 'core')}, and {name} has "
        f"{counts[name]}: give the stream at most that many"
    )


def _scenario(system: System, model: Model, stream: Stream, options: Mapping[str, str]) -> Scenario:
    """What is asked of a stream; without cores it is one connection, where the dataset counts them."""
    links = system.links_of(stream)
    rate = min(links[0].rate_bps, links[-1].rate_bps)
    own = model.data.link(options).line_rate_bps
    length = sum(link.length_m for link in links)
    source, sink = (system.devices[end] for end in (stream.source, stream.sink))
    asked = Scenario(
        protocol=stream.protocol,
        payload_bytes=stream.payload_bytes,
        rate_fps=stream.rate_fps,
        cores=stream.cores,
        switches=len(stream.path) - 1,
        distance_m=length or None,
        options=tuple(sorted(options.items())),
        line_rate_bps=None if own is None or rate == own else rate,
        cpu_clock_ratio=min(source.cpu_clock_ratio, sink.cpu_clock_ratio),
        work=ApplicationWork(source.app_send_s, sink.app_recv_s),
    )
    return as_one_connection(asked, model)


def _kind(one: Scenario) -> Scenario:
    """A scenario that stands for all that a dataset has the same axes and rules for."""
    distance_m = None if one.distance_m is None else 1.0
    return replace(one, payload_bytes=1, rate_fps=None, distance_m=distance_m)


def _as_fitted(one: Scenario, kind: Scenario) -> Scenario:
    """A scenario without the delays that are left out of its kind."""
    distance_m = None if kind.distance_m is None else one.distance_m
    return replace(one, switches=kind.switches, distance_m=distance_m)


def _speaker(
    model: Model, options: Mapping[str, str], asked: Mapping[int, Scenario], notes: tuple[str, ...]
) -> Speaker:
    """The questions of some streams as columns."""
    rows = [_row(model, one) for one in asked.values()]
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return Speaker(model, options, np.array(list(asked)), columns, notes)


def _row(model: Model, one: Scenario) -> dict[str, float]:
    def said(value: float | None) -> float:
        return np.nan if value is None else float(value)

    return {
        "protocol": model.data.protocols.index(one.protocol),
        "payload_bytes": float(one.payload_bytes),
        "rate_fps": np.inf if one.rate_fps is None else one.rate_fps,
        "cores": said(one.cores),
        "switches": float(one.switches),
        "distance_m": said(one.distance_m),
        "line_rate_bps": said(one.line_rate_bps),
        "cpu_clock_ratio": one.cpu_clock_ratio,
        **one.work.to_dict(),
    }


# --- asking -----------------------------------------------------------------------------------


def ask(spoken: Spoken, changed: Mapping[str, Floats]) -> Answers:
    """What every speaker says of its streams, with some parameters of all streams changed (streams,)."""
    metrics: dict[str, Floats] = {}
    bottleneck = np.full(spoken.size, -1)
    whose: dict[int, str] = {}
    for speaker in spoken.speakers:
        columns = {**speaker.columns}
        columns |= {name: values[speaker.streams] for name, values in changed.items()}
        if "endpoints" in columns:
            alone = columns["endpoints"] == 1
            columns["other_goodput_bps"] = np.where(alone, 0.0, columns["other_goodput_bps"])
        questions: dict[str, object] = {**columns, "protocol": columns["protocol"].astype(np.int64)}
        found = _answer(speaker, questions)
        if found is None:
            continue
        for name in _metrics(found):
            place = metrics.setdefault(name, np.full((len(ENDS), spoken.size), np.nan))
            for row, ending in enumerate(ENDS):
                place[row, speaker.streams] = found[name + ending].values
        bottleneck[speaker.streams] = found["bottleneck"].values
        whose |= dict.fromkeys(speaker.streams.tolist(), speaker.model.data.id)
    return Answers(spoken.size, metrics, bottleneck, whose)


def _answer(speaker: Speaker, questions: Mapping[str, object]) -> xarray.Dataset | None:
    """The metrics that are told; fewer where the dataset has some at other options only, or none at all."""
    data = speaker.model.data
    extra = tuple(name for name in ASKED if name in data.metrics and name not in ALWAYS)
    for metrics in ((*ALWAYS, "bottleneck", *extra), (*ALWAYS, "bottleneck")):
        try:
            return speaker.model.predict_many(
                outside="nan",
                metrics=metrics,
                options=speaker.options,
                **questions,  # type: ignore[arg-type]
            )
        except OutOfDomain:
            continue
    return None


def _metrics(found: xarray.Dataset) -> Iterator[str]:
    for name in map(str, found):
        if f"{name}_basis" in found:
            yield name


def refusals(system: System, spoken: Spoken, answers: Answers) -> dict[int, str]:
    """Why a dataset answers nothing of a stream it speaks for, by index; alike streams are asked once."""
    reasons: dict[Scenario, str] = {}
    streams, found = list(system.streams.values()), dict(spoken.silent)
    goodput = answers.value("goodput_bps")
    for speaker in spoken.speakers:
        for k in speaker.streams[np.isnan(goodput[speaker.streams])].tolist():
            one = streams[k]
            asked = replace(_scenario(system, speaker.model, one, speaker.options), rate_fps=None)
            if asked not in reasons:
                reasons[asked] = _refusal(speaker, asked)
            found[k] = reasons[asked]
    return found


def _refusal(speaker: Speaker, scenario: Scenario) -> str:
    try:
        asked, _ = speaker.model.fit_question(scenario)
        speaker.model.predict(asked, metrics=())  # goodput alone says why
    except IcmodelError as error:
        return str(error)
    return f"{speaker.model.data.id} has no goodput there"

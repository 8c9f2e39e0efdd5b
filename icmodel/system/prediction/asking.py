"""Which dataset speaks for each stream of a system, and what it is asked: one table of questions a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.dataset import Dataset
from icmodel.errors import IcmodelError, OutOfDomain
from icmodel.estimate import BASES, Estimate, absent
from icmodel.laws.metrics import ALWAYS
from icmodel.model import Model
from icmodel.scenario import Scenario
from icmodel.system.network import Stream, System

if TYPE_CHECKING:
    import xarray

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
    them; ``sharing`` is where the dataset has a rule for that.
    """

    model: Model
    options: Mapping[str, str]
    streams: Ints
    columns: Mapping[str, Floats]
    sharing: Floats
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
        known = [k for k in members if streams[k].protocol in model.data.protocols]
        for k in set(members) - set(known):
            silent[k] = f"{model.data.id} has no protocol {streams[k].protocol}: theory alone"
        if known:
            spoken_for = {k: streams[k] for k in known}
            speakers.append(_speaker(system, model, dict(options), spoken_for))
    return Spoken(len(streams), tuple(speakers), silent)


def dataset_of(system: System, stream: Stream) -> str | None:
    """The dataset that speaks for a stream: of its sink's host, of its source's, else of its last link that has one."""
    hosts = (system.devices[stream.sink].dataset, system.devices[stream.source].dataset)
    links = [link.dataset for link in reversed(system.links_of(stream))]
    return next((name for name in (*hosts, *links) if name is not None), None)


def _speaker(
    system: System, model: Model, options: Mapping[str, str], streams: Mapping[int, Stream]
) -> Speaker:
    """The questions of some streams, without what the dataset has no axis or rule for."""
    fitted: dict[Scenario, tuple[Scenario, tuple[str, ...]]] = {}
    asked, sharing = [], []
    notes: dict[str, None] = {}
    for stream in streams.values():
        one = _scenario(system, model, stream, options)
        kind = _kind(one)
        if kind not in fitted:
            fitted[kind] = model.fit_question(kind)
            notes |= dict.fromkeys(fitted[kind][1])
        asked.append(_row(model, stream, one, fitted[kind][0]))
        sharing.append(fitted[kind][0].endpoints > 1)
    columns = {name: np.array([row[name] for row in asked]) for name in asked[0]}
    known = dict(fitted[next(iter(fitted))][0].options)
    return Speaker(model, known, np.array(list(streams)), columns, np.array(sharing), tuple(notes))


def _scenario(system: System, model: Model, stream: Stream, options: Mapping[str, str]) -> Scenario:
    links = system.links_of(stream)
    rate = min(links[0].rate_bps, links[-1].rate_bps)
    own = model.data.link(options).line_rate_bps if not options else None
    own = own or model.data.interconnect.line_rate_bps
    length = sum(link.length_m for link in links)
    clock = min(system.devices[end].cpu_clock_ratio for end in (stream.source, stream.sink))
    return Scenario(
        protocol=stream.protocol,
        payload_bytes=stream.payload_bytes,
        rate_fps=stream.rate_fps,
        cores=stream.cores,
        switches=len(stream.path) - 1,
        distance_m=length or None,
        options=tuple(sorted(options.items())),
        line_rate_bps=None if own is None or rate == own else rate,
        cpu_clock_ratio=clock,
    )


def _kind(one: Scenario) -> Scenario:
    """A scenario that stands for all that a dataset has the same axes and rules for."""
    distance_m = None if one.distance_m is None else 1.0
    return replace(one, payload_bytes=1, rate_fps=None, endpoints=2, distance_m=distance_m)


def _row(model: Model, stream: Stream, one: Scenario, fitted: Scenario) -> dict[str, float]:
    def said(value: float | None) -> float:
        return np.nan if value is None else float(value)

    return {
        "protocol": model.data.protocols.index(stream.protocol),
        "payload_bytes": float(one.payload_bytes),
        "rate_fps": np.inf if one.rate_fps is None else one.rate_fps,
        "cores": said(fitted.cores),
        "switches": float(fitted.switches),
        "distance_m": said(None if fitted.distance_m is None else one.distance_m),
        "line_rate_bps": said(fitted.line_rate_bps),
        "cpu_clock_ratio": fitted.cpu_clock_ratio,
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
            columns["endpoints"] = np.where(speaker.sharing, columns["endpoints"], 1.0)
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
    reasons: dict[tuple[object, ...], str] = {}
    streams, found = list(system.streams.values()), dict(spoken.silent)
    goodput = answers.value("goodput_bps")
    for speaker in spoken.speakers:
        for k in speaker.streams[np.isnan(goodput[speaker.streams])].tolist():
            one = streams[k]
            kind = (one.protocol, one.payload_bytes, one.cores, len(one.path))
            if kind not in reasons:
                reasons[kind] = _refusal(system, speaker, one)
            found[k] = reasons[kind]
    return found


def _refusal(system: System, speaker: Speaker, stream: Stream) -> str:
    try:
        asked, _ = speaker.model.fit_question(
            _scenario(system, speaker.model, stream, speaker.options)
        )
        speaker.model.predict(asked, metrics=())  # goodput alone says why
    except IcmodelError as error:
        return str(error)
    return f"{speaker.model.data.id} has no goodput there"

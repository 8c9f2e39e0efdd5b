"""What a dataset can be asked, by protocol, and the messages that refuse the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from icmodel import scenario as words
from icmodel.arrays import Bools, Floats, Ints, if_else
from icmodel.dataset import Dataset, Interconnect, Point
from icmodel.errors import ScenarioError
from icmodel.scenario import OTHERS_WITHOUT_ENDPOINTS, POSSIBLE, WORK, Possible, Scenario
from icmodel.tables import Frames, Questions, Tables, Work

Number = TypeVar("Number", np.float64, np.int64, np.bool_)


class ProtocolDomain(NamedTuple):
    """What one protocol of a dataset can be asked.

    ``answered`` tells whether it has any rows; ``cores`` are the counts at which its goodput was
    measured, ``other_cores`` those at which only other metrics were.
    """

    protocol: str
    answered: bool
    cores: tuple[int, ...]
    other_cores: tuple[int, ...]
    least_switches: int
    most_switches: float
    distance: bool
    sharing: bool

    @property
    def default_cores(self) -> int:
        """The greatest measured count; 0 where the dataset does not state it."""
        return max(self.cores, default=0)

    def answering_cores(self, asked: int) -> int:
        """The requested count if any metric was measured at it, else the nearest count with a goodput."""
        if asked in self.other_cores:
            return asked
        return min(self.cores, key=lambda count: (abs(count - asked), count), default=0)


def protocol_domain(protocol: str, points: Sequence[Point], link: Interconnect) -> ProtocolDomain:
    """What a protocol can be asked: counts that its rows have, and rules that need a property of the link."""
    goodput = [point for point in points if point.metric == "goodput_bps"]
    every = {p.cores for p in points if p.cores is not None}
    counts = {p.cores for p in goodput if p.cores is not None} or every
    switches = [p.switches or 0 for p in goodput or points] or [0]
    most = max((point.switches or 0 for point in points), default=0)
    return ProtocolDomain(
        protocol,
        bool(points),
        tuple(sorted(counts)),
        tuple(sorted(every - counts)),
        min(switches),
        np.inf if link.switch_latency_s is not None else most,
        link.propagation_s_per_m is not None and link.cable_length_m is not None,
        bool(goodput),
    )


def problems(data: Dataset, domain: ProtocolDomain, asked: Scenario) -> dict[str, str]:
    """Parameters of a scenario without axis or rule in the dataset, each with the message that refuses it.

    None where the dataset has no rows at all at these options, which then refuses the question.
    """
    found: dict[str, str] = {}
    if not domain.answered:
        return found
    if asked.cores is not None and not domain.cores:
        found["cores"] = (
            f"{data.id} does not state how many cores {asked.protocol} used: leave cores out"
        )
    if asked.endpoints > 1 and not domain.sharing:
        found["endpoints"] = (
            f"{data.id} has no goodput of {asked.protocol} to share: leave endpoints out"
        )
    if asked.switches < domain.least_switches:
        found["switches"] = (
            f"{data.id} measured {asked.protocol} with switches = {domain.least_switches}: ask for "
            f"that, not for {asked.switches}"
        )
    if asked.switches > domain.most_switches:
        found["switches"] = (
            f"{data.id} has neither rows with {asked.switches} switches nor a switch latency: "
            "leave switches out, or take a dataset that has"
        )
    if asked.distance_m is not None and not domain.distance:
        found["distance_m"] = (
            f"{data.id} states no cable length or propagation: leave distance out, or take a "
            "dataset that does"
        )
    return found


def of_protocol(numbers: NDArray[Number], protocol: Ints) -> NDArray[Number]:
    """Numbers by protocol for each question, (n,), or (1,) for all if there is one protocol."""
    return numbers if len(numbers) == 1 else numbers.take(protocol)


class Domains:
    """The domains of several protocols as arrays, for the core counts of some tables."""

    def __init__(self, domains: Sequence[ProtocolDomain], counts: tuple[int, ...]) -> None:
        self.answered = np.array([one.answered for one in domains])
        self.default = np.array([float(one.default_cores) for one in domains])
        self.least_switches = np.array([one.least_switches for one in domains])
        self.most_switches = np.array([one.most_switches for one in domains])
        self.distance = np.array([one.distance for one in domains])
        self.sharing = np.array([one.sharing for one in domains])
        self.has_cores = np.array([bool(one.cores) for one in domains])
        self.width = max(counts, default=0) + 2
        nearest = np.zeros((len(domains), self.width), dtype=np.int64)
        exact = np.zeros((len(domains), self.width), dtype=bool)
        for row, one in enumerate(domains):
            for asked in range(self.width):
                best = one.answering_cores(asked)
                nearest[row, asked] = counts.index(best) if best in counts else 0
                exact[row, asked] = asked in (one.cores or (0,))
        self.nearest, self.exact = nearest.reshape(-1), exact.reshape(-1)

    def cores(self, protocol: Ints, asked: Floats) -> tuple[Floats, Ints, Bools]:
        """Requested counts (defaults filled in), the index of the nearest measured count, and whether they differ."""
        missing = np.isnan(asked)
        if missing.any():
            asked = if_else(missing, self.default.take(protocol), asked)
        place = protocol * self.width + np.clip(asked, 0, self.width - 1).astype(np.int64)
        whole = np.rint(asked) == asked
        return asked, self.nearest.take(place), ~(self.exact.take(place) & whole)

    def unanswerable(
        self, protocol: Ints, cores: Floats, switches: Floats, endpoints: Floats, distance: Floats
    ) -> Bools:
        """Which questions are of a protocol without rows, or use a parameter without a rule."""
        wrong = switches < of_protocol(self.least_switches, protocol)
        wrong |= switches > of_protocol(self.most_switches, protocol)
        for has, used in (
            (self.answered, True),
            (self.has_cores, ~np.isnan(cores)),
            (self.distance, ~np.isnan(distance)),
            (self.sharing, endpoints > 1),
        ):
            if not has.all():
                wrong |= used & ~has.take(protocol)
        return wrong


Column = NDArray[np.generic]

DEFAULTS: Mapping[str, float] = {
    "rate_fps": np.inf,
    "requested_goodput_bps": np.inf,
    "cores": np.nan,
    "switches": 0.0,
    "endpoints": 1.0,
    "other_goodput_bps": 0.0,
    "distance_m": np.nan,
    "line_rate_bps": np.nan,
    "cpu_clock_ratio": 1.0,
    **dict.fromkeys(WORK, 0.0),
}
"""Values of numeric parameters that are left out; NaN is the dataset's own."""
RELIABLE = ("tcp",)
"""Protocols that by definition lose no frames that the application sees (IC2012 §7.1.4)."""
DENSE = 1 << 17
"""Up to this payload [B] theory for many questions is looked up by payload, computed once for each."""


class Placer:
    """Places blocks of questions on tables.

    Parameters
    ----------
    size : int
        Total number of questions: for many, theory is computed once for each payload.
    """

    def __init__(self, tables: Tables, domains: Domains, size: int) -> None:
        self.tables, self.domains = tables, domains
        wires = tables.wires
        self.greatest = np.array([wire.greatest_payload_bytes() or np.inf for wire in wires])
        self.lossy = np.array([wire.protocol not in RELIABLE for wire in wires])
        last = int(tables.axes.knots[-1]) + 1
        self.width = last + 1 if last <= DENSE and size > last else 0
        self._frame = lru_cache(maxsize=1024)(self._one_frame)
        if self.width:
            payload = np.tile(np.arange(self.width, dtype=float), len(wires))
            protocol = np.repeat(np.arange(len(wires)), self.width)
            theory = self._theory(protocol, np.maximum(payload, 1.0))
            self.dense = theory.columns

    def place(self, columns: Mapping[str, Column], size: int) -> tuple[Questions, Bools]:
        """Place questions, columns of ``size`` rows by SI name; also which of them the dataset cannot answer.

        Raises
        ------
        ScenarioError
            If a request is no rate or goodput.  The other columns have passed :func:`check` or are a Scenario's.
        """
        given = {
            name: columns[name].astype(np.float64, copy=False)
            if name in columns
            else np.full(size, DEFAULTS[name])
            for name in ("cores", "switches", "endpoints", "other_goodput_bps", "distance_m")
        }
        protocol = columns["protocol"].astype(np.int64, copy=False)
        payload = columns["payload_bytes"].astype(np.float64, copy=False)
        request = _request(columns, payload)
        asked_cores, cores, beyond = self.domains.cores(protocol, given["cores"])
        refused = payload > of_protocol(self.greatest, protocol)
        if not self.tables.extend:
            refused |= beyond
        limits = [given[name] for name in ("cores", "switches", "endpoints", "distance_m")]
        refused |= self.domains.unanswerable(protocol, *limits)
        extra = given["distance_m"] - (self.tables.link.cable_length_m or 0.0)
        return Questions(
            protocol=protocol,
            payload_bytes=payload,
            request_bps=request,
            cores=cores,
            cores_count=asked_cores,
            switches=given["switches"].astype(np.int64),
            endpoints=given["endpoints"],
            others_bps=given["other_goodput_bps"],
            extra_distance_m=if_else(np.isnan(extra), 0.0, extra),
            frames=self._frames(protocol, payload),
            lossy=self.lossy.take(protocol),
            work=_work(columns, payload),
        ), refused

    def _frames(self, protocol: Ints, payload: Floats) -> Frames:
        """Theory of the frames; for payloads that are too large that of the greatest possible one."""
        if len(payload) == 1:
            return self._frame(int(protocol[0]), float(payload[0]))
        if not self.width or (self.tables.extend and payload.max() >= self.width):
            return self._theory(protocol, payload)
        place = protocol * self.width + np.minimum(payload, self.width - 1).astype(np.int64)
        return Frames(self.dense, place)

    def _one_frame(self, protocol: int, payload_bytes: float) -> Frames:
        return self._theory(np.array([protocol]), np.array([payload_bytes]))

    def _theory(self, protocol: Ints, payload: Floats) -> Frames:
        possible = np.minimum(payload, of_protocol(self.greatest, protocol))
        found = Frames(np.empty((5, len(payload))))
        for index, wire in enumerate(self.tables.wires):
            here = np.flatnonzero(protocol == index)
            if len(here):
                asked = possible[here]
                found.wire_s[here] = seconds = wire.serialisation_s(asked)
                found.greatest_bps[here] = wire.goodput_bound_bps(asked, seconds)
                found.packets[here] = wire.packets(asked)
                found.least_packets[here] = wire.least_packets(asked)
                found.lone_s[here] = wire.lone_frame_s(asked)
        return found


def columns_of(asked: Scenario, protocols: tuple[str, ...]) -> dict[str, Column]:
    """One question as columns of length 1."""
    given: dict[str, float | None] = {
        "protocol": protocols.index(asked.protocol),
        "payload_bytes": asked.payload_bytes,
        "rate_fps": asked.rate_fps,
        "cores": asked.cores,
        "switches": asked.switches,
        "endpoints": asked.endpoints,
        "other_goodput_bps": asked.other_goodput_bps,
        "distance_m": asked.distance_m,
        **(asked.work.to_dict() if asked.work else {}),
    }
    return {name: np.array([value]) for name, value in given.items() if value is not None}


def _work(columns: Mapping[str, Column], payload: Floats) -> Work | None:
    """Time that the application adds to each frame; ``None`` where it adds none."""
    if not says_work(columns):
        return None
    said = {
        name: columns[name].astype(np.float64) if name in columns else np.zeros(len(payload))
        for name in WORK
    }
    return Work(
        said["app_send_s"] + said["app_send_s_per_byte"] * payload,
        said["app_recv_s"] + said["app_recv_s_per_byte"] * payload,
    )


def says_work(columns: Mapping[str, Column]) -> bool:
    """Whether the application adds work to any frame."""
    return any(name in columns and columns[name].any() for name in WORK)


def work_of(columns: Mapping[str, Column], size: int) -> Bools:
    """The questions in which the application adds work, (n,)."""
    found = np.zeros(size, dtype=bool)
    for name in WORK:
        if name in columns:
            found |= columns[name].astype(bool)
    return found


def _request(columns: Mapping[str, Column], payload: Floats) -> Floats:
    """Rate × payload × 8 [b/s], equal to Scenario's to the last bit; infinite is unlimited."""
    asked = next((name for name in words.REQUESTS if name in columns), None)
    if asked is None:
        return np.full(len(payload), np.inf)
    rate = columns[asked].astype(np.float64, copy=False)
    if not rate.min() > 0:
        raise ScenarioError(POSSIBLE[asked].refusal(asked, rate[~(rate > 0)][0].item()))
    if asked == "requested_goodput_bps":
        rate = rate / (payload * 8)
    request = rate * payload * 8
    whole = np.rint(request)
    with np.errstate(invalid="ignore"):  # unlimited
        beside = np.abs(request - whole) <= words.ROUNDING * np.spacing(request)
    np.copyto(request, whole, where=beside)
    return request


def _between(column: Column, possible: Possible) -> bool:
    """Whether the least and the greatest of a column say that all of it is possible."""
    if not column.size or (possible.whole and column.dtype.kind not in "iu"):
        return False
    ends = np.array([column.min(), column.max()])
    return bool(possible.allows(ends).all())


def check(columns: Mapping[str, Column]) -> None:
    """Refuse what no dataset could answer, as Scenario does for one question.

    NaN stands for the dataset's own value; a parameter that is left out is never wrong.
    """
    for name in (name for name in POSSIBLE if name in columns and name not in words.REQUESTS):
        if _between(columns[name], POSSIBLE[name]):
            continue
        column, possible = columns[name].astype(np.float64), POSSIBLE[name]
        allowed = possible.allows(column)
        if np.isnan(DEFAULTS.get(name, 0.0)):
            allowed |= np.isnan(column)
        if not allowed.all():
            raise ScenarioError(possible.refusal(name, columns[name][~allowed][0].item()))
    others = columns.get("other_goodput_bps")
    if others is not None and (others.astype(bool) & (columns.get("endpoints", 1) == 1)).any():
        raise ScenarioError(OTHERS_WITHOUT_ENDPOINTS)

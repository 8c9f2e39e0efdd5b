"""Domain of a dataset: the questions that the dataset can answer, and the messages that refuse other questions.

One set of rules checks single questions and arrays of questions.  A `Placer` converts questions to table indices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from icmodel.arrays import Bools, Floats, Ints, fast_where
from icmodel.dataset import Dataset, Interconnect, Point
from icmodel.errors import ScenarioError
from icmodel.ranges import DEFAULTS, REQUESTS, VALID_RANGES, WORK, requested_goodput
from icmodel.scenario import Scenario
from icmodel.tables import Frames, Questions, Tables, Work

Number = TypeVar("Number", np.float64, np.int64, np.bool_)
Column = NDArray[np.generic]
RELIABLE = ("tcp",)
"""Protocols that resend lost packets, so that the application loses no frames (IC2012 §7.1.4)."""
DENSE = 1 << 17
"""Greatest number of payloads (0 B, 1 B, 2 B …) for which theory is computed in advance.

Large blocks of questions then look it up.
"""
MANY = 8
"""Greatest number of payloads per question of a block for which theory is computed in advance.

If a block has fewer questions, theory is computed for each question instead.
"""
LIMITING = ("cores", "switches", "endpoints", "distance_m")
"""Parameters of a question for which a dataset needs rows or a rule."""
BEYOND = 'or set extrapolate of predict, compare or sweep (in Python outside="extrapolate")'
"""End of the error message if a question is outside the measured range, but can be extrapolated."""


class ProtocolDomain(NamedTuple):
    """Questions that one protocol of a dataset can answer.

    ``answered`` tells whether the protocol has rows; without rows it answers no question.

    ``cores`` are the core counts at which the goodput was measured.  If no goodput row states a count, they are the
    core counts of all metrics.  ``other_cores`` are the core counts at which only other metrics were measured.

    ``least_switches`` and ``most_switches`` bound the number of switches.  ``distance`` tells whether another cable
    length can be predicted.  ``sharing`` tells whether the protocol has goodput rows, so that the goodput can be
    divided among several endpoints at the interface.
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
    def has_cores(self) -> bool:
        """Whether the dataset states core counts."""
        return bool(self.cores)

    @property
    def default_cores(self) -> int:
        """Core count of a question that gives none: the greatest measured count, or 0 if no row states a core count."""
        return max(self.cores, default=0)

    def answering_cores(self, cores: int) -> int:
        """Measured core count whose rows answer for a requested core count; 0 if the dataset states no core counts.

        It is the requested count if any metric was measured at it.  Otherwise it is the nearest count at which the
        goodput was measured; if two are equally near, the lower one.
        """
        if cores in self.other_cores:
            return cores
        return min(self.cores, key=lambda count: (abs(count - cores), count), default=0)


def protocol_domain(protocol: str, points: Sequence[Point], link: Interconnect) -> ProtocolDomain:
    """Find which questions a protocol can answer, from its rows and from properties of the link."""
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


# --- rules ----------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """Rule that refuses a question because of the value of ``parameter``.

    ``breaks`` is a function of a `ProtocolDomain` and of the parameters in `LIMITING`; it returns whether a question
    breaks the rule.  The parameters are numbers or arrays, NaN if left out.

    An error message consists of ``fact`` and ``fix``.  Some callers change the parameter instead of refusing the
    question; their note consists of ``fact`` and ``change``.  The three texts are templates with the fields ``data``,
    ``domain`` and ``scenario``.
    """

    parameter: str
    breaks: Callable[[Any, Mapping[str, Any]], Any]
    fact: str
    fix: str
    change: str = ""

    @property
    def message(self) -> str:
        """Template of the message that refuses a question."""
        return f"{self.fact}: {self.fix}"

    @property
    def note(self) -> str:
        """Template of the note that tells the user how a question was changed instead of refused."""
        return f"{self.fact}: {self.change}"


RULES = (
    Rule(
        "cores",
        lambda domain, q: ~np.isnan(q["cores"]) & np.logical_not(domain.has_cores),
        "{data} does not state how many cores {scenario.protocol} used",
        "leave cores out",
    ),
    Rule(
        "endpoints",
        lambda domain, q: (q["endpoints"] > 1) & np.logical_not(domain.sharing),
        "{data} has no goodput of {scenario.protocol} to divide among endpoints",
        "leave endpoints out",
    ),
    Rule(
        "switches",
        lambda domain, q: q["switches"] < domain.least_switches,
        "{data} measured {scenario.protocol} with switches = {domain.least_switches} only, not with "
        "{scenario.switches}",
        "set switches = {domain.least_switches}",
        "predicted with switches = {domain.least_switches}",
    ),
    Rule(
        "switches",
        lambda domain, q: q["switches"] > domain.most_switches,
        "{data} has neither rows with {scenario.switches} switches nor a switch latency",
        "leave switches out, or use a dataset that has either",
        "predicted with switches = {domain.most_switches}",
    ),
    Rule(
        "distance_m",
        lambda domain, q: ~np.isnan(q["distance_m"]) & np.logical_not(domain.distance),
        "{data} states no cable length or propagation",
        "leave distance out, or use a dataset that states one",
        "predicted without distance",
    ),
)


def problems(
    data: Dataset, domain: ProtocolDomain, scenario: Scenario, *, changed: bool = False
) -> dict[str, str]:
    """Check the parameters of a scenario: map each parameter that breaks a rule to an error message.

    With ``changed=True``, the message is a note that tells how icmodel changes the parameter.  If the protocol has no
    rows at the scenario's options, the result is empty: such a question is refused when its look-up tables are made.
    """
    if not domain.answered:
        return {}
    values = {name: getattr(scenario, name) for name in LIMITING}
    numbers = {name: np.nan if value is None else value for name, value in values.items()}
    texts = {"data": data.id, "domain": domain, "scenario": scenario}
    return {
        rule.parameter: (rule.note if changed else rule.message).format(**texts)
        for rule in RULES
        if rule.breaks(domain, numbers)
    }


def impossible_payload(scenario: Scenario, greatest: float) -> str:
    """Message that refuses a payload above the protocol's own limit [B]."""
    return (
        f"payload {scenario.payload_bytes} B is impossible for {scenario.protocol}: its limit is "
        f"{greatest:.0f} B; split the frame"
    )


def unmeasured_cores(data: Dataset, domain: ProtocolDomain, scenario: Scenario) -> str:
    """Message that refuses a core count at which the dataset has no goodput."""
    return (
        f"{scenario.cores} cores are outside {data.id}: goodput of {scenario.protocol} was measured with "
        f"{', '.join(map(str, domain.cores))}; use one of these counts, {BEYOND}"
    )


class Domains:
    """Domains (see `ProtocolDomain`) of several protocols as arrays, to check many questions together.

    Each array has one element for each protocol. ``counts`` has the core counts for which there are look-up tables.
    """

    def __init__(self, domains: Sequence[ProtocolDomain], counts: tuple[int, ...]) -> None:
        self.answered = np.array([one.answered for one in domains])
        self.default = np.array([float(one.default_cores) for one in domains])
        self.limits = {
            name: np.array([getattr(one, name) for one in domains])
            for name in ("has_cores", "least_switches", "most_switches", "distance", "sharing")
        }
        # Keep only the rules that the most demanding values break.  No question can break any other rule.
        demanding = {"cores": 1.0, "endpoints": np.inf, "distance_m": 0.0}
        extremes = [demanding | {"switches": switches} for switches in (0.0, np.inf)]
        limits = _Limits(**self.limits)
        self.rules = [
            rule for rule in RULES if any(rule.breaks(limits, asked).any() for asked in extremes)
        ]
        self.width = max(counts, default=0) + 2
        nearest = np.zeros((len(domains), self.width), dtype=np.int64)
        exact = np.zeros((len(domains), self.width), dtype=bool)
        for row, one in enumerate(domains):
            for requested in range(self.width):
                best = one.answering_cores(requested)
                nearest[row, requested] = counts.index(best) if best in counts else 0
                exact[row, requested] = requested in (one.cores or (0,))
        self.nearest, self.exact = nearest.reshape(-1), exact.reshape(-1)

    def cores(self, protocol: Ints, requested: Floats) -> tuple[Floats, Ints, Bools]:
        """Look up the core count of each question; the results are three arrays (n,).

        The arrays are the requested count (or the default count), the index of the nearest measured count, and a mask
        of counts that were not measured.
        """
        missing = np.isnan(requested)
        if missing.any():
            requested = fast_where(missing, self.default.take(protocol), requested)
        place = protocol * self.width + np.clip(requested, 0, self.width - 1).astype(np.int64)
        whole = np.rint(requested) == requested
        return requested, self.nearest.take(place), ~(self.exact.take(place) & whole)

    def refused(self, protocol: Ints, limiting: Mapping[str, Floats]) -> Bools:
        """Mask (n,) of refused questions.

        A question is refused if its protocol has no rows, or if a parameter breaks a rule, such as too few switches.
        """
        limits = {name: of_protocol(numbers, protocol) for name, numbers in self.limits.items()}
        domain = _Limits(**limits)
        refused = np.zeros(len(protocol), dtype=bool)
        refused |= ~of_protocol(self.answered, protocol)
        for rule in self.rules:
            refused |= rule.breaks(domain, limiting)
        return refused


class _Limits(NamedTuple):
    """Limits that rules compare with questions: fields of `ProtocolDomain` as arrays.

    To check questions, an array has one element for each question: the limit of its protocol. To find the rules that a
    question could break at all, it has one element for each protocol.
    """

    has_cores: Bools
    least_switches: Ints
    most_switches: Floats
    distance: Bools
    sharing: Bools


def of_protocol(numbers: NDArray[Number], protocol: Ints) -> NDArray[Number]:
    """Look up a number for each of n questions by its protocol: ``numbers[protocol]``, array (n,).

    ``numbers`` has one number for each protocol, and ``protocol`` (n,) the index of each question's protocol.  If there
    is only one protocol, the result is ``numbers`` itself, array (1,), which broadcasts to all questions.
    """
    return numbers if len(numbers) == 1 else numbers.take(protocol)


# --- placing --------------------------------------------------------------------------------------


class Placed(NamedTuple):
    """Block of n questions, converted for look-ups in tables.

    ``limiting`` has the values (n,) of parameters that a dataset may be unable to predict, such as the number of
    switches; NaN if left out.  Two masks (n,) mark questions that need special treatment: ``too_large`` marks payloads
    above the limit of the protocol, and ``other_cores`` core counts at which the dataset has no goodput.
    """

    questions: Questions
    limiting: Mapping[str, Floats]
    too_large: Bools
    other_cores: Bools


class Placer:
    """Converter of blocks of questions to indices into look-up tables.

    It also computes numbers of each question's frame by theory, such as the time on the wire.  For large blocks, it
    computes these numbers once for every possible payload, and looks them up afterwards.
    """

    def __init__(self, tables: Tables, domains: Domains) -> None:
        self.tables, self.domains = tables, domains
        wires = tables.wires
        self.greatest = np.array([wire.greatest_payload_bytes() or np.inf for wire in wires])
        self.lossy = np.array([wire.protocol not in RELIABLE for wire in wires])
        self._lone_frame = lru_cache(maxsize=1024)(
            lambda protocol, payload: self._theory(np.array([protocol]), np.array([payload]))
        )
        self.width = int(tables.axes.knots[-1]) + 2

    @cached_property
    def dense(self) -> Floats:
        """Table of theoretical numbers of a frame, such as its wire time: array (5, protocols × ``width``).

        The first axis has the five fields of `Frames`. The second axis has the payloads from 0 B to ``width`` - 1 B for
        the first protocol, then for the second, and so on. No question has a payload of 0 B, so the numbers for 0 B
        are those for 1 B.
        """
        count = len(self.tables.wires)
        payload = np.tile(np.arange(self.width, dtype=float), count)
        protocol = np.repeat(np.arange(count), self.width)
        return self._theory(protocol, np.maximum(payload, 1.0)).columns

    def place(self, columns: Mapping[str, Column]) -> Placed:
        """Convert n questions to indices into look-up tables.

        ``columns`` maps the name of a parameter in SI, such as ``requested_goodput_bps``, to its values (n,).
        ``protocol``, ``payload_bytes`` and ``requested_goodput_bps`` are required; other parameters have defaults.
        """
        payload = columns["payload_bytes"].astype(np.float64, copy=False)
        protocol = columns["protocol"].astype(np.int64, copy=False)
        size = len(payload)
        limiting = {
            name: float_column(columns, name, size) for name in (*LIMITING, "other_goodput_bps")
        }
        cores, core_index, other_cores = self.domains.cores(protocol, limiting["cores"])
        work = None
        if adds_work(columns).any():
            times = {name: float_column(columns, name, size) for name in WORK}
            work = Work(
                times["app_send_s"] + times["app_send_s_per_byte"] * payload,
                times["app_recv_s"] + times["app_recv_s_per_byte"] * payload,
            )
        questions = Questions(
            protocol=protocol,
            payload_bytes=payload,
            requested_goodput_bps=columns["requested_goodput_bps"].astype(np.float64, copy=False),
            core_index=core_index,
            cores=cores,
            switches=limiting["switches"].astype(np.int64),
            endpoints=limiting["endpoints"],
            other_goodput_bps=limiting["other_goodput_bps"],
            distance_m=limiting["distance_m"],
            frames=self._frames(protocol, payload),
            lossy=self.lossy.take(protocol),
            work=work,
        )
        too_large = payload > of_protocol(self.greatest, protocol)
        return Placed(questions, limiting, too_large, other_cores)

    def _frames(self, protocol: Ints, payload: Floats) -> Frames:
        """Wire time, packets and goodput bound of each question's frame, by theory.

        If a payload exceeds the protocol's limit, the result is that of the greatest possible payload.
        """
        if len(payload) == 1:
            return self._lone_frame(int(protocol[0]), float(payload[0]))
        few = len(payload) * MANY < self.width or self.width > DENSE
        if few or (self.tables.extend and payload.max() >= self.width):
            return self._theory(protocol, payload)
        place = protocol * self.width + np.minimum(payload, self.width - 1).astype(np.int64)
        return Frames(self.dense, place)

    def _theory(self, protocol: Ints, payload: Floats) -> Frames:
        possible = np.minimum(payload, of_protocol(self.greatest, protocol))
        found = Frames(np.empty((5, len(payload))))
        for index, wire in enumerate(self.tables.wires):
            here = np.flatnonzero(protocol == index)
            if len(here):
                payloads = possible[here]
                found.wire_s[here] = seconds = wire.serialisation_s(payloads)
                found.greatest_bps[here] = wire.goodput_bound_bps(payloads, seconds)
                found.packets[here] = wire.packets(payloads)
                found.least_packets[here] = wire.least_packets(payloads)
                found.lone_s[here] = wire.lone_frame_s(payloads)
        return found


def columns_of(scenario: Scenario, protocols: tuple[str, ...]) -> dict[str, Column]:
    """Convert a scenario to arrays of length 1, by parameter name with SI unit, such as ``payload_bytes``."""
    values: dict[str, float | None] = {
        "protocol": protocols.index(scenario.protocol),
        "payload_bytes": scenario.payload_bytes,
        "requested_goodput_bps": scenario.requested_goodput_bps,
        "cores": scenario.cores,
        "switches": scenario.switches,
        "endpoints": scenario.endpoints,
        "other_goodput_bps": scenario.other_goodput_bps,
        "distance_m": scenario.distance_m,
        **(scenario.work.to_dict() if scenario.work else {}),
    }
    return {name: np.array([value]) for name, value in values.items() if value is not None}


def float_column(columns: Mapping[str, Column], name: str, size: int) -> Floats:
    """Values of one parameter as floats, array (size,); a parameter without a column has its default everywhere."""
    if name in columns:
        return columns[name].astype(np.float64, copy=False)
    return np.full(size, DEFAULTS[name])


def request_column(columns: Mapping[str, Column]) -> Floats:
    """Requested goodput of each question [b/s], infinite for unlimited.

    Raises
    ------
    ScenarioError
        If a rate or goodput is not above 0.
    """
    payload = columns["payload_bytes"].astype(np.float64, copy=False)
    name = next((name for name in REQUESTS if name in columns), None)
    if name is None:
        return np.full(len(payload), np.inf)
    rate = columns[name].astype(np.float64, copy=False)
    if not rate.min() > 0:
        raise ScenarioError(VALID_RANGES[name].refusal(name, rate[~(rate > 0)][0].item()))
    if name == "requested_goodput_bps":
        rate = rate / (payload * 8)
    return np.asarray(requested_goodput(rate, payload))


def adds_work(columns: Mapping[str, Column]) -> Bools:
    """Mask (n,) of the questions in which the application itself needs core time for each frame.

    `WORK` names the columns with the times that the application needs. If ``columns`` has none of them, the result is
    ``[False]``, which broadcasts to all questions.
    """
    marks = [columns[name].astype(bool) for name in WORK if name in columns]
    return np.logical_or.reduce(marks) if marks else np.zeros(1, dtype=bool)

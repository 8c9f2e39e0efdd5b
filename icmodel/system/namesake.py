"""Namesakes: a use case and a system of one name, and the streams of which they ask different rates.

An evaluation asks for the rate that its candidate gives, a system for what is produced: both may be right and
come to different verdicts.  Each says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from icmodel import units
from icmodel.system.files import load, system_names
from icmodel.system.network import System
from icmodel.usecase import Derivations, UseCase, load_derived, usecase_names
from icmodel.usecase.evaluation import at_needed_rate

SAME = 1e-9
"""Relative difference up to which two requests are one."""


def beside_usecase(system: System) -> tuple[str, ...]:
    """What a system says of the bundled use case that it names, or whose name it has, if their rates differ."""
    name = system.usecase or system.name
    if name not in usecase_names():
        return ()
    case, made = _usecase(name)
    return tuple(_differences(case, made, case.default_candidate, system))


def beside_system(case: UseCase, made: Derivations, candidate: str) -> tuple[str, ...]:
    """What an evaluation says of the bundled system of the use case's name, if their rates differ."""
    if case.name not in system_names():
        return ()
    return tuple(_differences(case, made, candidate, _system(case.name)))


@lru_cache(maxsize=32)
def _usecase(name: str) -> tuple[UseCase, Derivations]:
    return load_derived(name)


@lru_cache(maxsize=32)
def _system(name: str) -> System:
    return load(name)


def _differences(case: UseCase, made: Derivations, candidate: str, system: System) -> Iterator[str]:
    """A sentence for each group of streams of one name whose requests differ."""
    asked = next(one for one in case.candidates if one.name == candidate).scenarios
    for name, question in asked.items():
        alike = [one for one in system.streams.values() if one.group == name]
        requests = [one.requested_goodput_bps for one in alike]
        scenario = at_needed_rate(question.scenario(), name, made)
        own_bps = scenario.requested_goodput_bps
        other = next((k for k, one in enumerate(requests) if not _same(one, own_bps)), None)
        if other is None:
            continue
        own = "rate" if question.scenario().rate_fps is not None else "least rate"
        frames = units.format_quantity("rate_fps", scenario.rate_fps or math.inf)
        why = "what is produced" if alike[other].paced_fps is None else "its rate"
        yield (
            f"{name}: `icmodel evaluate {case.name}` asks for {units.format_bps(own_bps)} (the {own} of its candidate "
            f"{candidate}, {frames} of {scenario.payload_bytes} B), `icmodel system {system.name}` for "
            f"{_text(requests[other])} ({why}): their verdicts may differ"
        )


def _same(one: float, other: float) -> bool:
    return one == other or math.isclose(one, other, rel_tol=SAME)


def _text(request_bps: float) -> str:
    return units.format_bps(request_bps) if math.isfinite(request_bps) else "all it can get"

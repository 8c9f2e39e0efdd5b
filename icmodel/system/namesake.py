"""Namesakes: notes on a use case and a system with the same name whose streams request different rates.

The evaluation of a use case requests the rate stated for its candidate (a possible interconnect). The
prediction of a system requests the produced rate. Both may be right, but come to different verdicts. So
both outputs note the difference.
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
"""Greatest relative difference of two requested rates that count as equal."""

_load_usecase = lru_cache(maxsize=32)(load_derived)
_load_system = lru_cache(maxsize=32)(load)


def notes_on_usecase(system: System) -> tuple[str, ...]:
    """Notes for a system's prediction: its streams that request another rate in the bundled use case.

    The system is compared with the use case that it names, by default the use case with the system's name.
    """
    name = system.usecase or system.name
    if name not in usecase_names():
        return ()
    case, derived = _load_usecase(name)
    return tuple(_notes(case, derived, case.default_candidate, system))


def notes_on_system(case: UseCase, derived: Derivations, candidate: str) -> tuple[str, ...]:
    """Notes for a use case's evaluation: its streams that request another rate in the system of the same name.

    Only bundled systems are compared.
    """
    if case.name not in system_names():
        return ()
    return tuple(_notes(case, derived, candidate, _load_system(case.name)))


def _notes(case: UseCase, derived: Derivations, candidate: str, system: System) -> Iterator[str]:
    """Yield a sentence for each stream of a use case if the system requests another rate for this stream."""
    questions = next(each for each in case.candidates if each.name == candidate).scenarios
    for name, question in questions.items():
        scenario = at_needed_rate(question.scenario(), name, derived)
        own_bps = scenario.requested_goodput_bps
        for stream in system.streams.values():
            request_bps = stream.requested_goodput_bps
            if stream.group != name or math.isclose(request_bps, own_bps, rel_tol=SAME):
                continue
            own = "rate" if question.scenario().rate_fps is not None else "least rate"
            frames = units.format_quantity("rate_fps", scenario.rate_fps or math.inf)
            other = units.format_bps(request_bps) if request_bps < math.inf else "all it can get"
            why = "what is produced" if stream.paced_fps is None else "its rate"
            yield (
                f"{name}: `icmodel evaluate {case.name}` asks for {units.format_bps(own_bps)} (the {own} of "
                f"its candidate {candidate}, {frames} of {scenario.payload_bytes} B), `icmodel system "
                f"{system.name}` for {other} ({why}): their verdicts may differ"
            )
            break  # one sentence per stream of the use case

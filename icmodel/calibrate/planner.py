"""Planner of a calibration: it chooses the runs of each step from the settings and the runs of earlier steps."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from icmodel.calibrate.choose import Purpose, choose
from icmodel.calibrate.grid import candidates, domain, ends, first_runs, pilot
from icmodel.calibrate.rows import table
from icmodel.calibrate.runs import Record, Run, is_disturbed, is_spoilt, observed, run_of
from icmodel.calibrate.score import Score, scores, worst
from icmodel.calibrate.settings import Settings
from icmodel.calibrate.state import Done
from icmodel.calibrate.surface import Surface, carried, edges, overloaded, surfaces
from icmodel.calibrate.verdict import Standing, asked_runs, own_runs, required_metrics, standing
from icmodel.errors import CalibrationError
from icmodel.usecase import load_usecase

MOST_SPOILT = 3
"""Number of records without a usable metric after which a run is not measured again."""
LAST_OPENING = 3
"""Last step of a calibration whose runs are fixed by rule; runs of later steps are chosen by their gain."""

Turn = tuple[Run, int]
"""One measurement of a plan: a run, and the number of its repeat, counted from 0."""


@dataclass(frozen=True, slots=True)
class Decided:
    """Plan of a calibration step: the runs to measure, or the reason to stop.

    ``scores`` are the model's errors before the step; ``standing`` is the verdict of a use case so far.
    """

    turns: tuple[Turn, ...] = ()
    reason: str = ""
    scores: tuple[Score, ...] = ()
    standing: Standing | None = None


class Planner:
    """Planner that chooses the runs of each calibration step from the settings and the earlier steps."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.variant = settings.aim.variant
        self.case = None if settings.aim.usecase is None else load_usecase(settings.aim.usecase)
        self.metrics = tuple(
            dict.fromkeys((*settings.aim.metrics, *required_metrics(settings.aim.usecase)))
        )

    def decide(self, step: int, before: Sequence[Done]) -> Decided:
        """Plan a calibration step from the runs done in earlier steps."""
        if step == 0:
            return Decided(((pilot(self.settings), 0),))
        counts = Counter(one.run for one in before)
        most_steal = self.settings.sampling.most_steal
        records = [
            one.record for one in before if one.record and not is_disturbed(one.record, most_steal)
        ]
        # runs that the hosts refused, and runs with three records without a usable metric
        spoilt = Counter(one.run for one in before if one.record and is_spoilt(one.record))
        refused = {run for run, count in spoilt.items() if count >= MOST_SPOILT}
        refused |= {one.run for one in before if one.record is None}
        every = candidates(self.settings, self._reference_bps(before))
        grid = [run for run in every if run not in refused]
        opening = self.opening(step, records, grid)
        if step == 1:
            own = own_runs(self.case, self.settings) if self.case else ()
            first = dict.fromkeys(run for run in (*own, *opening) if run not in refused)
            repeats = range(self.settings.sampling.repeats)
            opening = [run for repeat in repeats for run in first if repeat >= counts[run]]
        if opening:
            random.Random(self.settings.sampling.seed).shuffle(opening)
            return Decided(_turns(opening, counts))
        return self._next(records, counts, grid, refused)

    def opening(self, step: int, records: Sequence[Record], grid: Sequence[Run]) -> list[Run]:
        """Runs of steps 1 to 3, which are fixed by rule; in later steps, only disturbed runs to repeat.

        Step 1 measures the capacity.  Step 2 measures both ends of every curve within capacity.  Step 3 measures runs
        next to saturation and in overload.  With a use case step 3 is left out, since the verdict guides the choice.
        Runs of step 1 that the hypervisor disturbed are repeated in every step until one is undisturbed.
        """
        if step == 1:
            return first_runs(grid, self.settings)
        have = {run_of(record) for record in records}
        found = [] if self.settings.sampling.most_steal is None else first_runs(grid, self.settings)
        if step < LAST_OPENING:
            found += ends(carried(self._known(records), grid))
        elif step == LAST_OPENING and not self.case:
            known = self._known(records)
            found += [*edges(known, grid), *overloaded(known, grid)]
        return [run for run in dict.fromkeys(found) if run not in have]

    def _next(
        self,
        records: Sequence[Record],
        counts: Counter[Run],
        grid: Sequence[Run],
        refused: set[Run],
    ) -> Decided:
        data = table(records, self.settings)
        judged = scores(data, self.variant, self.settings.aim.metrics)
        stand = (
            None if self.case is None else standing(self.case, data, self.variant, self.settings)
        )
        reason = self._reason(judged, stand)
        if reason:
            return Decided((), reason, judged, stand)
        undecided = stand.decisions if stand else ()
        wanted = sorted({*grid, *asked_runs(undecided)} - refused)
        chosen = self.choose(records, wanted, Purpose(domain(grid), undecided))
        return Decided(_turns(chosen, counts), "" if chosen else "exhausted", judged, stand)

    def choose(
        self, records: Sequence[Record], wanted: Sequence[Run], purpose: Purpose
    ) -> tuple[Run, ...]:
        """Choose the next runs among candidates within capacity, and candidates that may decide a requirement."""
        known = self._known(records)
        asked = {one.run for one in purpose.decisions}
        able = asked | set(carried(known, wanted))
        return choose(
            known, [one for one in wanted if one in able], purpose, self.settings.sampling.batch
        )

    def _known(self, records: Sequence[Record]) -> dict[str, Surface]:
        return surfaces(observed(records, self.metrics), self.settings.setup.mtu_bytes)

    def _reason(self, judged: Sequence[Score], stand: Standing | None) -> str:
        if stand is not None and stand.decided:
            return "verdict"
        limit, error = self.settings.aim.error_ratio, worst(judged)
        every = all(one.count for one in judged)
        if limit is not None and every and not math.isnan(error) and error <= limit:
            return "error"
        return ""

    def _reference_bps(self, before: Sequence[Done]) -> float:
        """Load that corresponds to a share of 1 [b/s]: the line rate, or the goodput of the first record."""
        if self.settings.setup.line_rate_bps is not None:
            return self.settings.setup.line_rate_bps
        for one in before:
            if one.record is not None and "goodput_bps" in one.record["result"]:
                return float(f"{one.record['result']['goodput_bps']:.1e}")
        raise CalibrationError(
            f"the first run was refused ({before[0].why if before else 'none was made'}): ask "
            "for protocols and cores that both hosts have, or give the line rate"
        )


def _turns(runs: Sequence[Run], counts: Counter[Run]) -> tuple[Turn, ...]:
    """Number the repeats of runs: pair each run with the number of its earlier measurements (``counts``)."""
    seen = Counter(counts)
    turns = []
    for run in runs:
        turns.append((run, seen[run]))
        seen[run] += 1
    return tuple(turns)

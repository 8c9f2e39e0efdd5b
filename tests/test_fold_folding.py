"""Spread between sessions, estimated from records with a known spread."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from fold_case import document, record
from icmodel.dataset import load
from icmodel.fold import Record, Settings, fold, record_of
from icmodel.fold.folding import LEAST_POINTS
from icmodel.model import Model

RUN, SESSION = 0.03, 0.12
"""Standard deviation of a run within its session, and of session means."""


def measured(points: int, sessions: int, runs: int = 3, seed: int = 1) -> list[Record]:
    """Runs of the same points in several hours."""
    random = np.random.default_rng(seed)
    found = []
    for point in range(points):
        for session in range(sessions):
            shift = random.normal(0, SESSION)
            for run in range(runs):
                off = shift + random.normal(0, RUN)
                result = {
                    "goodput_bps": 5e7,
                    "latency_mean_s": 1e-4 * math.exp(off),
                    "cpu_send": 0.4 + off / 4,
                }
                made = document(f"{point}-{session}-{run}", result=result, payload_bytes=64 + point)
                made["started_utc"] = f"2026-01-02T{3 + session:02d}:{run:02d}:{point % 60:02d}Z"
                found.append(record_of(json.dumps(made)))
    return found


def table(records: list[Record]) -> dict[str, Any]:
    found = fold(records, Settings(id="own")).document.get("between_sessions")
    return found if isinstance(found, dict) else {}


def test_the_spread_between_sessions_is_found_beside_that_of_runs() -> None:
    found = table(measured(60, 3))
    assert (found["sessions"], found["points"]) == (3, 60)
    assert found["spread"]["latency_mean_s"] == pytest.approx(SESSION, rel=0.25)
    assert found["spread"]["cpu_send"] == pytest.approx(SESSION / 4, rel=0.25)
    assert "goodput_bps" not in found["spread"]  # all runs had the same value


def test_sessions_that_differ_no_more_than_runs_do_have_none() -> None:
    records = measured(60, 1, runs=6)
    moved = []
    for one in records:
        made = json.loads(one.line)
        if int(made["run"].rsplit("-", 1)[1]) > 2:
            made["started_utc"] = made["started_utc"].replace("T03", "T09")
        moved.append(record_of(json.dumps(made)))
    spread = table(moved)["spread"].get("latency_mean_s", 0.0)
    assert spread < RUN


@pytest.mark.parametrize(("points", "sessions"), [(60, 1), (LEAST_POINTS - 1, 3)])
def test_of_one_session_or_few_points_nothing_is_said(points: int, sessions: int) -> None:
    assert table(measured(points, sessions)) == {}


def test_a_short_pause_is_no_other_session() -> None:
    records = [record(f"{k}", payload_bytes=64 + k % 20) for k in range(60)]
    assert table(records) == {}


@pytest.mark.parametrize("variant", ["corrected", "hybrid"])
def test_intervals_hold_for_another_session(variant: str, tmp_path: Any) -> None:
    """Nine in ten runs of new sessions lie in their intervals, also between measured payloads."""
    from icmodel.fold import write_folded

    records = measured(24, 3)
    data = write_folded(tmp_path / "own", fold(records, Settings(id="own")))
    assert data.between_sessions["latency_mean_s"] == pytest.approx(SESSION, rel=0.5)
    random = np.random.default_rng(9)
    model = Model(load(data.folder), variant)
    inside = [
        found.low <= run <= found.high
        for payload in range(64, 88)
        for found in [told(model, payload)]
        for run in 1e-4 * np.exp(random.normal(0, math.hypot(SESSION, RUN), 20))
    ]
    assert 0.85 <= np.mean(inside) < 1.0  # with 24 rows, ranks and doubt widen the intervals


def told(model: Model, payload: int) -> Any:
    return model.predict(
        protocol=model.data.default_protocol, payload_bytes=payload, requested_goodput_bps=1e7
    ).latency_mean_s


def test_a_dataset_that_does_not_say_has_none() -> None:
    assert load("ethernet-10g-2012").between_sessions == {}

"""The benchmark of an application's own work: what counts as calm, and what its record predicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.application.__main__ import HERE
from benchmarks.application.measure import RUNS, Run, read_runs
from benchmarks.application.predicted import LEARNED, Case, cases, reached, record, text
from icmodel.estimate import Estimate
from icmodel.estimate.statistics import median


def run(goodput_bps: float, rate_fps: int | None = None, others: float = 0.0) -> Run:
    return Run(1, "iperf3", "tcp", 64, rate_fps, goodput_bps, others)


def test_disturbed_and_paced_runs_do_not_count() -> None:
    runs = [run(1.0), run(3.0), run(100.0, others=0.5), run(200.0, rate_fps=10)]
    assert reached(runs) == {("iperf3", "tcp", 64): 2.0}


def test_a_folder_without_runs_has_none(tmp_path: Path) -> None:
    assert read_runs(tmp_path / RUNS) == []


@pytest.mark.parametrize(
    ("real_bps", "held", "strictly"),
    [(9.0e8, True, True), (9.415e8, True, False), (9.5e8, False, False), (7e8, False, False)],
)
def test_only_the_depth_of_the_bucket_may_pass_beyond_the_line(
    real_bps: float, held: bool, strictly: bool
) -> None:
    told = Estimate(9e8, 8e8, 9.41e8, "derived")
    case = Case("iperf3", "tcp", 1448, told, real_bps, theory_bps=9.41e8)
    assert (case.held, case.held_strictly) == (held, strictly)


def test_the_record_is_predicted_as_the_page_says() -> None:
    model, known = record(HERE)
    found = list(cases(model, known))
    assert {case.tool for case in found} == {"iperf3", "sockperf"}
    assert {case.protocol for case in found} == {"tcp", "udp"}
    assert not {case.payload_bytes for case in found} & set(LEARNED)
    assert len(found) == 24
    assert median(abs(case.error) for case in found) < 0.02
    hosts = [case for case in found if not case.fills_the_wire]
    assert median(abs(case.error) for case in hosts) < 0.1
    assert sum(case.held for case in found) >= 0.8 * len(found)
    printed = text(model, known)
    assert printed.count(" B ") >= len(found)
    assert "inside the 90 % interval" in printed

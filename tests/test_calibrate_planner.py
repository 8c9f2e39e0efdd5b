"""Choosing runs for a verdict: undecided requirements, and runs that decide them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.chooser.synthetic import TUNING, Noise, Synthetic
from icmodel.calibrate import Progress, Run, Settings, calibrate
from icmodel.calibrate.planner import (
    own_runs,
    refuse_undecidable,
    required_metrics,
    standing,
    undecided_runs,
)
from icmodel.calibrate.runs import candidates, ends
from icmodel.calibrate.state import table
from icmodel.errors import CalibrationError, UseCaseError
from icmodel.usecase import load_usecase

USECASE = """
schema_version = 1
name = "stream"
title = "One stream"
question = "Does it arrive in time?"
source = "a test"
default_candidate = "udp"

[[streams]]
name = "data"
kind = "goodput"
goodput = "{goodput}"

[[requirements]]
name = "it arrives"
stream = "data"
metric = "goodput_bps"
at_least = "data.goodput_bps"

[[requirements]]
name = "it arrives in time"
stream = "data"
metric = "latency_mean_s"
at_most = "{limit}"

[[candidates]]
name = "udp"
description = "frames of 1000 B"

[candidates.scenarios.data]
protocol = "udp"
payload = "1000 B"
requested_goodput = "{goodput}"
"""
ASKED = Run("udp", 1000, 5e8)
TRUE_S = TUNING.result(ASKED)["latency_mean_s"]
NOISE = Noise(latency=0.02)


@pytest.fixture
def usecase(tmp_path: Path) -> Any:
    def write(limit_s: float) -> str:
        path = tmp_path / "stream.toml"
        limit = f"{limit_s * 1e6:.3f} us"
        path.write_text(USECASE.format(goodput="500 Mb/s", limit=limit), encoding="utf-8")
        return str(path)

    return write


def settings(usecase: str | None, **more: Any) -> Settings:
    words: dict[str, Any] = {
        "system": Synthetic(TUNING, 1, NOISE).description,
        "protocols": ("udp",),
        "loads": (0.01, 0.1, 0.9, math.inf),
        "line_rate_bps": TUNING.line_rate_bps,
        "variant": "corrected",
        "usecase": usecase,
        **more,
    }
    return Settings.of(**words)


def test_an_undecided_requirement_is_a_limit_at_its_run(usecase: Any) -> None:
    asked = settings(usecase(TRUE_S))
    system = Synthetic(TUNING, 1, NOISE)
    runs = (*ends(candidates(asked, TUNING.line_rate_bps)), ASKED)
    records = [system.measure(run, 0) for run in runs]
    case = load_usecase(asked.aim.usecase or "")
    assert own_runs(case, asked) == (ASKED,)
    data = table(records, asked)  # type: ignore[arg-type]
    found = standing(case, data, "corrected", asked)
    assert not found.decided
    assert undecided_runs(found.decisions) == (ASKED,)
    limits = {one.metric: one.limit for one in found.decisions}
    assert limits["latency_mean_s"] == pytest.approx(math.log(TRUE_S), abs=1e-3)
    assert set(found.requirements.values()) == {"undecided"}
    assert required_metrics(asked.aim.usecase) == ("goodput_bps", "latency_mean_s")
    assert required_metrics(None) == ()


@pytest.mark.parametrize(("factor", "verdict"), [(3.0, "met"), (0.3, "not met")])
def test_the_loop_ends_when_the_verdict_is_there(
    factor: float, verdict: str, usecase: Any, tmp_path: Path
) -> None:
    asked = settings(usecase(factor * TRUE_S), budget_s=200.0)
    told: list[Progress] = []
    system = Synthetic(TUNING, 1, NOISE)
    result = calibrate(system, asked, tmp_path / "lab", told.append)
    assert (result.reason, result.progress.verdict) == ("verdict", verdict)
    assert verdict in result.progress.requirements.values()
    assert result.progress.spent_s < 200


def test_runs_are_chosen_where_the_verdict_falls(usecase: Any, tmp_path: Path) -> None:
    """A limit equal to the true value stays undecided, and takes all runs."""
    asked = settings(usecase(TRUE_S), budget_s=120.0)
    system = Synthetic(TUNING, 1, NOISE)
    result = calibrate(system, asked, tmp_path / "lab")
    assert result.reason == "budget"
    marks = [(one["plan"]["name"], one["point"]) for one in result.records]
    later = [point for name, point in marks if int(name.rpartition(" ")[2]) > 2]
    near = [point for point in later if 250 <= point["payload_bytes"] <= 4100]
    assert len(near) > 0.6 * len(later)


def test_a_use_case_that_is_missing_is_said_before_anything_is_made(tmp_path: Path) -> None:
    asked = settings("no-such-use-case")
    with pytest.raises(UseCaseError):
        calibrate(Synthetic(TUNING, 1, NOISE), asked, tmp_path / "lab")
    assert not (tmp_path / "lab").exists()


# --- what no run can decide ---------------------------------------------------------------------


def test_a_use_case_that_no_run_can_decide_is_refused(usecase: Any) -> None:
    case = load_usecase(usecase(TRUE_S))
    refuse_undecidable(case, settings(None))
    with pytest.raises(
        CalibrationError, match="data: udp is not measured, so give Grid\\(protocols="
    ):
        refuse_undecidable(case, settings(None, protocols=("tcp",)))
    with pytest.raises(CalibrationError, match="frames of 1000 B are outside the range"):
        refuse_undecidable(case, settings(None, most_payload_bytes=512))


def test_a_use_case_that_some_runs_can_decide_is_not_refused() -> None:
    motion = load_usecase("motion-control")
    refuse_undecidable(motion, settings(None, protocols=("tcp",), cores=4))
    with pytest.raises(CalibrationError, match="4 cores are needed, so give Setup\\(cores=4\\)"):
        refuse_undecidable(motion, settings(None, protocols=("tcp",)))


def test_a_switch_is_no_reason_since_it_is_left_out(usecase: Any) -> None:
    refuse_undecidable(load_usecase("imaging"), settings(None, protocols=("tcp",), cores=4))
    with pytest.raises(CalibrationError, match="picture and control: tcp is not measured"):
        refuse_undecidable(load_usecase("imaging"), settings(None, cores=4))

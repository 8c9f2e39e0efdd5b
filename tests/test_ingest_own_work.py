"""Time that a program adds to a frame, fitted to its goodput in a lab with known costs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fits_case
import icmodel
from icmodel.cli import main
from icmodel.dataset import Dataset
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import Estimate
from icmodel.ingest.own_work import Compared, fit_costs, own_work
from icmodel.model import Model
from icmodel.scenario import ApplicationWork
from search import times

MODEL = Model(fits_case.lab(noise=0.002), "hybrid")
ADDED = ApplicationWork(send_s=4e-6, send_s_per_byte=0.5e-9)


def program(work: ApplicationWork, payloads: tuple[int, ...] = (64, 256, 1024)) -> Dataset:
    """Goodput of a program with this work in the lab."""
    points = []
    for payload in payloads:
        size = np.array([float(payload)])
        ends = (
            (fits_case.SEND, work.sending_s(payload)),
            (fits_case.RECEIVE, work.receiving_s(payload)),
        )
        each = max(float(fits_case.cost_s(size, "tcp", costs)[0]) + added for costs, added in ends)
        values = np.array([8 * payload / each])
        points.append(fits_case.row("tcp", payload, math.inf, "goodput_bps", values))
    return replace(fits_case.dataset(points), id="program")


def test_a_known_work_is_found_again() -> None:
    [found] = own_work(MODEL, program(ADDED))
    assert (found.protocol, found.end) == ("tcp", "send")
    assert found.frame_s.value == pytest.approx(4e-6, rel=0.03)
    assert found.byte_s.value == pytest.approx(0.5e-9, rel=0.5)
    assert found.frame_s.low <= 4e-6 <= found.frame_s.high
    assert found.byte_s.low <= 0.5e-9 <= found.byte_s.high


def test_what_is_found_predicts_the_other_payloads() -> None:
    [found] = own_work(MODEL, program(ADDED, (64, 1024)))
    for point in program(ADDED, (256, 512, 1448)).points:
        told = MODEL.predict(icmodel.Scenario("tcp", point.payload_bytes or 0, work=found.work))
        assert told.goodput_bps.value == pytest.approx(point.value, rel=0.05)


def test_the_same_may_be_taken_to_be_done_at_the_receiver() -> None:
    [found] = own_work(MODEL, program(ApplicationWork(recv_s=6e-6)), "recv")
    assert found.work.recv_s == pytest.approx(6e-6, rel=0.03)
    assert found.work.send_s == 0
    assert "app_recv_s" in found.to_dict()
    with pytest.raises(ScenarioError, match="use one of send, recv"):
        own_work(MODEL, program(ADDED), "both")


def test_runs_that_fill_the_wire_say_nothing() -> None:
    fast = fits_case.lab(payloads=(32768, 65000), protocols=("tcp",))
    with pytest.raises(ScenarioError, match="do not fill the wire"):
        own_work(MODEL, fast)


def test_a_variant_that_knows_no_work_is_refused() -> None:
    with pytest.raises(OutOfDomain, match="the variant hybrid"):
        own_work(Model(MODEL.data, "corrected"), program(ADDED))


TIMES = st.floats(0.0, 1e-5)


@settings(max_examples=times(50))
@given(
    frame=TIMES,
    byte=st.floats(0.0, 1e-8),
    host=st.lists(st.floats(1e-7, 1e-5), min_size=2, max_size=6),
)
def test_an_exact_line_is_found_and_nothing_is_below_zero(
    frame: float, byte: float, host: list[float]
) -> None:
    compared = [
        Compared(64 << k, own + frame + byte * (64 << k), Estimate(own, own, own, "derived"))
        for k, own in enumerate(host)
    ]
    found = fit_costs(compared)
    for told, real in zip(found, (frame, byte), strict=True):
        assert told.value == pytest.approx(real, rel=1e-3, abs=1e-12)
        assert 0 <= told.low <= told.value <= told.high


def test_a_program_faster_than_the_tool_adds_nothing() -> None:
    host = Estimate(2e-6, 1.9e-6, 2.1e-6, "derived")
    frame, byte = fit_costs([Compared(64, 1e-6, host), Compared(128, 1.1e-6, host)])
    assert (frame.value, byte.value) == (0.0, 0.0)


def test_a_program_as_fast_as_an_uncertain_host_may_still_add_something() -> None:
    compared = [
        Compared(payload, 0.99 * own, Estimate(own, 0.9 * own, 1.1 * own, "derived"))
        for payload, own in ((64, 1e-6), (128, 1.01e-6))
    ]
    frame, byte = fit_costs(compared)
    assert (frame.value, byte.value) == (0.0, 0.0)
    assert 0.01e-6 < frame.high < 0.1e-6
    assert byte.high > 0.0


def test_ingest_says_what_a_tool_adds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """80 Mb/s of 64 B are 6.4 us a frame; the lab of 2026 needs less than 1 us of them itself."""
    table = tmp_path / "table.csv"
    table.write_text("size,rate\n64,80\n256,300\n", encoding="utf-8")
    columns = tmp_path / "columns.toml"
    columns.write_text(
        '[columns.size]\nfield = "payload_bytes"\nunit = "B"\n'
        '[columns.rate]\nfield = "goodput_bps"\nunit = "Mb/s"\n',
        encoding="utf-8",
    )
    words = [
        "ingest",
        str(table),
        "--map",
        str(columns),
        "--protocol",
        "tcp",
        "--load",
        "unlimited",
    ]
    words += ["--default-variant", "corrected", "--own-work-over", "lab-1g-2026"]
    assert main([*words, "-o", str(tmp_path / "tool")]) == 0
    assert "Time per frame that the tool adds" in capsys.readouterr().out
    assert main([*words, "-o", str(tmp_path / "again"), "--json"]) == 0
    [work] = json.loads(capsys.readouterr().out)["own_work"]
    assert 5e-6 < work["app_send_s"]["value"] < 6.4e-6
    assert [one["payload_bytes"] for one in work["payloads"]] == [64, 256]

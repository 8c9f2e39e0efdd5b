"""The chooser against brute force, and the surfaces it asks against refitting by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.chooser.synthetic import TRUTHS, TUNING, Synthetic
from icmodel.calibrate.between import Between
from icmodel.calibrate.choose import Decision, Purpose, choose
from icmodel.calibrate.grid import (
    breaks,
    candidates,
    domain,
    first_runs,
    loads,
    packets,
    payload_limit,
    payloads,
    pilot,
)
from icmodel.calibrate.observed import Observed, observed, scaled
from icmodel.calibrate.replay import Replay
from icmodel.calibrate.run import Run, run_of
from icmodel.calibrate.settings import Settings
from icmodel.calibrate.surface import Kernel, Surface, surfaces
from icmodel.calibrate.system import Refused
from icmodel.errors import RecordError

SETTINGS = Settings(system="made up", line_rate_bps=1e10)
METRICS = ("goodput_bps", "latency_mean_s", "cpu_send", "cpu_recv")


def measured(runs: tuple[Run, ...]) -> dict[str, Observed]:
    system = Synthetic(TUNING, 3)
    return observed([system.measure(run, 0) for run in runs], METRICS)  # type: ignore[misc]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Surface]:
    inner = candidates(SETTINGS, 1e10)[::5]
    runs = tuple(dict.fromkeys((*first_runs(SETTINGS, 1e10), *inner)))
    return surfaces(measured(runs), SETTINGS.mtu_bytes)


# --- the grid ---------------------------------------------------------------------------------


def test_breaks_are_where_a_packet_is_full() -> None:
    assert breaks("tcp", 1500)[:2] == (1448, 2896)
    assert breaks("udp", 1500)[:2] == (1472, 2952)
    assert breaks("zeromq", 1500)[0] == 1439
    assert breaks("ethernet", 9000) == (46, 9000)


@pytest.mark.parametrize("protocol", ["tcp", "udp", "zeromq"])
@pytest.mark.parametrize("mtu_bytes", [1500, 9000])
def test_a_byte_above_a_break_takes_a_packet_more(protocol: str, mtu_bytes: int) -> None:
    for at in breaks(protocol, mtu_bytes):
        assert packets(protocol, at + 1, mtu_bytes) == packets(protocol, at, mtu_bytes) + 1
    assert packets("ethernet", mtu_bytes, mtu_bytes) == 1


def test_candidates_stand_on_both_sides_of_breaks_and_fit() -> None:
    found = candidates(SETTINGS, 1e10)
    sizes = {run.payload_bytes for run in found if run.protocol == "udp"}
    assert {32, 1472, 1473, 2952, 2953, 65507} <= sizes
    assert max(sizes) == 65507
    assert max(payloads("ethernet", replace(SETTINGS, protocols=("ethernet",)))) == 1500
    assert set(first_runs(SETTINGS, 1e10)) <= set(found)
    assert pilot(SETTINGS) in found
    limits = {payload_limit(run.protocol, SETTINGS) for run in domain(SETTINGS, 1e10)}
    assert limits == {65535, 65507}


def test_loads_are_shares_of_the_line_rate_with_two_digits() -> None:
    assert loads(SETTINGS, 9.37e9) == (9.4e6, 9.4e7, 9.4e8, 4.7e9, 8.4e9, math.inf)


def test_a_run_is_asked_and_recognised() -> None:
    run = Run("tcp", 1448, 9.4e8, 2)
    words = run.words()
    assert words == (
        *("--protocol", "tcp", "--payload", "1448 B", "--cores", "2", "--load", "940000000 b/s"),
    )
    point = {"protocol": "tcp", "payload_bytes": 1448, "cores": 2, "load_bps": 9.4e8}
    assert run_of({"point": point}) == run
    assert "--load" not in Run("tcp", 1).words()
    assert len({Run("tcp", size).identity for size in range(1, 100)}) == 99
    with pytest.raises(RecordError, match="does not say its point"):
        run_of({"point": {}})


# --- surfaces ---------------------------------------------------------------------------------


def test_a_surface_finds_a_law_it_was_shown_in_part() -> None:
    """Time a frame = a + b per packet + c per byte, without noise: the rest is found within 2 %."""
    runs = tuple(Run("udp", size) for size in payloads("udp", SETTINGS))
    value = [scaled("goodput_bps", _law(run)) for run in runs]
    shown = [index for index in range(len(runs)) if index % 2 == 0 or index > len(runs) - 3]
    seen = Observed(
        "goodput_bps",
        tuple(runs[index] for index in shown),
        np.array([value[index] for index in shown]),
        np.ones(len(shown)),
        math.nan,
    )
    mean, _ = Surface(seen, SETTINGS.mtu_bytes).predict(runs)
    assert np.max(np.abs(mean - np.array(value))) < 0.02


def _law(run: Run) -> float:
    count = packets(run.protocol, run.payload_bytes, SETTINGS.mtu_bytes)
    return 8 * run.payload_bytes / (2e-6 + 1e-6 * count + 2e-10 * run.payload_bytes)


def test_leaving_out_in_closed_form_is_refitting(fitted: dict[str, Surface]) -> None:
    surface = fitted["latency_mean_s"]
    seen = surface.seen
    for index in (0, 7, len(seen.runs) - 1):
        keep = [other for other in range(len(seen.runs)) if other != index]
        rest = Observed(
            seen.metric,
            tuple(seen.runs[other] for other in keep),
            seen.values[keep],
            seen.repeats[keep],
            seen.spread,
        )
        again = Surface(rest, SETTINGS.mtu_bytes, surface.capacity, surface.kernel, surface.level)
        mean, _ = again.predict([seen.runs[index]])
        assert seen.values[index] - mean[0] == pytest.approx(surface.left_out()[index], rel=1e-4)


def test_repeats_say_the_noise() -> None:
    system = Synthetic(TUNING, 1)
    runs = [Run("udp", 1024, 1e8), Run("udp", 2048, 1e8)]
    records = [system.measure(run, repeat) for run in runs for repeat in range(400)]
    seen = observed(records, METRICS)["latency_mean_s"]  # type: ignore[arg-type]
    assert seen.spread == pytest.approx(0.08, rel=0.1)
    assert list(seen.repeats) == [400.0, 400.0]


def test_spoilt_metrics_are_not_looked_at() -> None:
    system = Synthetic(TUNING, 1)
    records = [system.measure(Run("udp", size), 0) for size in (64, 128, 256)]
    flagged = [{**record, "flags": ["no-steady-state"]} for record in records]  # type: ignore[dict-item]
    assert "goodput_bps" in observed(flagged, METRICS)
    assert "latency_mean_s" not in observed(flagged, METRICS)
    assert surfaces({}, 1500) == {}


# --- choosing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [Run("udp", 300, 1e9), Run("tcp", 1448), Run("tcp", 64)])
def test_what_a_run_takes_away_in_closed_form_is_refitting(
    run: Run, fitted: dict[str, Surface]
) -> None:
    """A run is put in by hand, and the deviation at some places worked out anew."""
    surface = fitted["goodput_bps"]
    asked = domain(SETTINGS, 1e10)[::7]
    cross = surface.covariance(asked, [run])[:, 0]
    own = surface.covariance([run], [run])[0, 0] + surface.kernel.noise**2
    before = surface.predict(asked)[1] ** 2
    after = _after(surface, run, asked) ** 2
    assert before - cross**2 / own == pytest.approx(after, rel=1e-2, abs=1e-7)


def _after(surface: Surface, run: Run, asked: tuple[Run, ...]) -> np.ndarray:
    seen = surface.seen
    if run in seen.runs:
        repeats = seen.repeats + np.array([1.0 if one == run else 0.0 for one in seen.runs])
        more = replace(seen, repeats=repeats)
    else:
        more = Observed(
            seen.metric,
            (*seen.runs, run),
            np.append(seen.values, seen.values.mean()),
            np.append(seen.repeats, 1.0),
            seen.spread,
        )
    again = Surface(more, SETTINGS.mtu_bytes, surface.capacity, surface.kernel)
    return again.predict(asked)[1]


STRAIGHT = tuple(Run("udp", 2**power) for power in range(5, 16))


def test_between_two_points_of_a_curve_the_greatest_bend_is_next() -> None:
    """Ends and middle are known of a curve that is flat, then steep: the middle of that is next."""
    values = np.array([0.0] * 6 + [1.0, 2.0, 3.0, 4.0, 5.0])
    whole = Observed("goodput_bps", STRAIGHT, values, np.ones(11), math.nan)
    kernel = Kernel(2.0, (8.0, 6.0, 4.0, 1.0), 0.01)
    ends = replace(
        whole,
        runs=(STRAIGHT[0], STRAIGHT[5], STRAIGHT[10]),
        values=values[[0, 5, 10]],
        repeats=np.ones(3),
    )
    bent = Between(Surface(ends, 1500, kernel=kernel), STRAIGHT, STRAIGHT)
    bent.measure(2)
    gains = bent.gains(np.full(11, 0.2))
    assert gains[[0, 2, 5, 10]].max() < gains[[1, 3, 4, 6, 7, 8, 9]].min()
    assert gains[7] > gains[6] > gains[5]


def test_a_repeat_takes_away_noise_and_less_each_time() -> None:
    kernel = Kernel(1.0, (8.0, 6.0, 4.0, 1.0), 0.1)
    seen = Observed("cpu_send", STRAIGHT, np.zeros(11), np.ones(11), math.nan)
    between = Between(Surface(seen, 1500, kernel=kernel), STRAIGHT, STRAIGHT)
    gains = []
    for _ in range(4):
        gains.append(float(between.gains(np.zeros(11))[4]))
        between.measure(4)
    assert gains == sorted(gains, reverse=True)
    assert gains[0] == pytest.approx((1 - 1 / math.sqrt(2)) / 11, rel=1e-6)


def test_several_runs_differ_and_come_from_the_candidates(fitted: dict[str, Surface]) -> None:
    found = candidates(SETTINGS, 1e10)
    chosen = choose(fitted, found, Purpose(domain(SETTINGS, 1e10)), 6)
    assert len(chosen) == 6
    assert set(chosen) <= set(found)
    assert len(set(chosen)) > 3
    assert choose(fitted, found, Purpose(domain(SETTINGS, 1e10)), 6) == chosen
    assert choose({}, found, Purpose(()), 6) == ()


def test_a_decision_is_measured_where_it_falls(fitted: dict[str, Surface]) -> None:
    """A limit just beside what is thought: only runs close to it can decide."""
    where = Run("udp", 300, 1e9)
    mean, spread = fitted["latency_mean_s"].predict([where])
    limit = float(mean[0] - 0.5 * spread[0])
    purpose = Purpose(domain(SETTINGS, 1e10), (Decision(where, "latency_mean_s", limit),))
    found = (*candidates(SETTINGS, 1e10), where)
    near = [run for run in choose(fitted, found, purpose, 3) if run.protocol == "udp"]
    assert near
    assert all(100 <= run.payload_bytes <= 900 for run in near)


def test_what_no_run_can_decide_does_not_count(fitted: dict[str, Surface]) -> None:
    far = Decision(Run("udp", 300, 1e9), "latency_mean_s", math.log(1e9))
    whole = Purpose(domain(SETTINGS, 1e10))
    found = candidates(SETTINGS, 1e10)
    only = {"goodput_bps": fitted["goodput_bps"]}
    assert choose(only, found, replace(whole, decisions=(far,)), 2) == choose(only, found, whole, 2)


# --- replay -----------------------------------------------------------------------------------


def test_a_replay_answers_with_each_record_once() -> None:
    system = Synthetic(TRUTHS[0], 1)
    run = Run("tcp", 64)
    records = [system.measure(run, repeat) for repeat in range(2)]
    with Replay(records) as replay:  # type: ignore[arg-type]
        assert replay.runs == (run,)
        assert [replay.measure(run, repeat) for repeat in range(2)] == records
        refused = replay.measure(run, 2)
        assert isinstance(refused, Refused)
        assert "2 repeats" in refused.why
        assert isinstance(replay.measure(Run("tcp", 65), 0), Refused)

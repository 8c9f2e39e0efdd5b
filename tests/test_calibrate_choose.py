"""The chooser against brute force, and its surfaces against refits by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.chooser.replay import Replay
from benchmarks.chooser.synthetic import TRUTHS, TUNING, Synthetic
from icmodel.calibrate.choose import (
    FEW,
    LABELS,
    WITHIN,
    Axes,
    Decision,
    Purpose,
    Surface,
    choose,
    near_saturation,
    overloaded,
    surface,
    surfaces,
    within_capacity,
)
from icmodel.calibrate.planner import scores
from icmodel.calibrate.runs import (
    Observed,
    Run,
    breaks,
    candidates,
    domain,
    ends,
    first_runs,
    loads,
    observed,
    packets,
    payload_limit,
    payloads,
    pilot,
    run_of,
    scaled,
)
from icmodel.calibrate.settings import Grid, Settings
from icmodel.calibrate.state import table
from icmodel.calibrate.testbed import Refused
from icmodel.errors import RecordError
from icmodel.fits.kernel import MeasuredSites
from icmodel.fits.observations import Observations
from icmodel.fits.process import process

SETTINGS = Settings.of(system="made up", line_rate_bps=1e10)
GRID = candidates(SETTINGS, 1e10)
METRICS = ("goodput_bps", "latency_mean_s", "cpu_send", "cpu_recv")


def measured(runs: tuple[Run, ...]) -> dict[str, Observed]:
    system = Synthetic(TUNING, 3)
    return observed([system.measure(run, 0) for run in runs], METRICS)  # type: ignore[misc]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Surface]:
    runs = tuple(dict.fromkeys((*ends(GRID), *first_runs(GRID, SETTINGS), *GRID[::5])))
    return surfaces(measured(runs), SETTINGS.setup.mtu_bytes)


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
        below, above = packets([Run(protocol, at), Run(protocol, at + 1)], mtu_bytes)
        assert above == below + 1
    assert packets([Run("ethernet", mtu_bytes)], mtu_bytes) == 1


def test_candidates_stand_on_both_sides_of_breaks_and_fit() -> None:
    sizes = {run.payload_bytes for run in GRID if run.protocol == "udp"}
    assert {32, 1472, 1473, 2952, 2953, 65507} <= sizes
    assert max(sizes) == 65507
    assert max(payloads("ethernet", replace(SETTINGS, grid=Grid(("ethernet",))))) == 1500
    assert pilot(SETTINGS) in GRID
    assert {run.payload_bytes for run in ends(GRID)} == {32, 65507, 65535}
    limits = {payload_limit(run.protocol, SETTINGS) for run in domain(GRID)}
    assert limits == {65535, 65507}


def test_the_first_round_goes_as_fast_as_it_goes_and_brackets_the_first_break() -> None:
    found = first_runs(GRID, SETTINGS)
    assert set(found) <= set(GRID)
    assert all(run.unlimited for run in found)
    sizes = [run.payload_bytes for run in found if run.protocol == "tcp"]
    assert len(sizes) == 6
    assert {32, 1448, 1449, 65535} <= set(sizes)
    only = [Run("ethernet", size) for size in (64, 1500)]
    alone = replace(SETTINGS, grid=Grid(("ethernet",)))
    assert first_runs(only, alone) == only


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
    with pytest.raises(RecordError, match="has no complete table"):
        run_of({"point": {}})


# --- surfaces ---------------------------------------------------------------------------------


def test_a_surface_finds_a_law_it_was_shown_in_part() -> None:
    """Time per frame = a + b per packet + c per byte, without noise: predicted within 2 %."""
    runs = tuple(Run("udp", size) for size in payloads("udp", SETTINGS))
    value = [scaled("goodput_bps", _law(run)) for run in runs]
    shown = [index for index in range(len(runs)) if index % 2 == 0 or index > len(runs) - 3]
    seen = Observed("goodput_bps", runs, np.array(value)).part(shown)
    mean, _ = surface(seen, Axes(SETTINGS.setup.mtu_bytes)).predict(runs)
    assert np.max(np.abs(mean - np.array(value))) < 0.02


def _law(run: Run) -> float:
    count = int(packets([run], SETTINGS.setup.mtu_bytes)[0])
    return 8 * run.payload_bytes / (2e-6 + 1e-6 * count + 2e-10 * run.payload_bytes)


def test_repeats_say_the_noise() -> None:
    system = Synthetic(TUNING, 1)
    runs = [Run("udp", size, 1e8) for size in (1024, 2048)]
    records = [system.measure(run, repeat) for run in runs for repeat in range(200)]
    seen = observed(records, METRICS)["latency_mean_s"]  # type: ignore[arg-type]
    assert len(seen.runs) == len(seen.values) == 400
    found = surface(seen, Axes(SETTINGS.setup.mtu_bytes))
    assert math.sqrt(found.noise) == pytest.approx(0.08, rel=0.15)


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
    """A run is added by hand, and the deviation at some places is computed again."""
    known = fitted["goodput_bps"]
    asked = domain(GRID)[::7]
    cross = known.covariance(asked, [run])[:, 0]
    own = known.covariance([run], [run])[0, 0] + known.noise
    before = known.predict(asked)[1] ** 2
    after = _after(known, run, asked) ** 2
    assert before - cross**2 / own == pytest.approx(after, rel=1e-6, abs=1e-12)


def _after(before: Surface, run: Run, asked: tuple[Run, ...]) -> np.ndarray:
    known = before.process
    sites = before.axes.sites((*before.seen.runs, run))
    nothing = np.zeros(len(sites))
    rows = Observations(sites, nothing, nothing, nothing)
    apart = MeasuredSites(sites, LABELS).distances(sites)
    more = process(known.mechanism, known.kernel, rows, apart, nothing)
    again = replace(before, process=replace(more, scale=known.scale), sites=sites)
    return again.predict(asked)[1]


def test_what_the_path_does_not_carry_is_not_asked_for(fitted: dict[str, Surface]) -> None:
    """Loads a fifth above capacity are left out, loads a fifth below it are kept."""
    kept = set(within_capacity(fitted, GRID))
    for run in GRID:
        able = TUNING.result(replace(run, load_bps=math.inf))["goodput_bps"]
        assert run in kept or not run.load_bps < 0.8 * able
        assert run not in kept or run.unlimited or run.load_bps < 1.2 * able
    assert within_capacity({}, GRID) == list(GRID)


def test_edges_are_where_the_path_begins_to_carry_a_load(fitted: dict[str, Surface]) -> None:
    """The first run carries its load; a slightly smaller payload does not."""
    found = near_saturation(fitted, GRID)
    assert found
    assert not any(run.unlimited for run in found)
    assert all(run not in GRID for run in found)
    curves = {(run.protocol, run.load_bps): [] for run in GRID}  # type: ignore[var-annotated]
    for run in found:
        curves[run.protocol, run.load_bps].append(run.payload_bytes)
    asked = 0
    for (protocol, load), sizes in curves.items():
        least, most = Run(protocol, 32), Run(protocol, 65507)
        if load < 0.5 * _carried(least):
            assert sizes == []
        elif 1.5 * _carried(least) < load < 0.8 * _carried(most):
            first, second = sizes
            assert second == pytest.approx(1.1 * first, rel=0.01)
            assert load < 1.05 / WITHIN * _carried(Run(protocol, first))
            below = (Run(protocol, round(share * first)) for share in (0.8, 0.85, 0.9, 0.95))
            assert load > min(_carried(run) for run in below)
            asked += 1
    assert asked == 4


def _carried(run: Run) -> float:
    return TUNING.result(run)["goodput_bps"]


def test_no_edge_is_told_where_all_or_nothing_is_carried(fitted: dict[str, Surface]) -> None:
    for load in (1e6, 1e12):
        assert near_saturation(fitted, [replace(run, load_bps=load) for run in GRID]) == []
    assert near_saturation({}, GRID) == []


def test_runs_that_ask_too_much_are_bought_all_or_not_at_all(fitted: dict[str, Surface]) -> None:
    """Runs of a lower load and runs near capacity are not selected."""
    reached = {run: TUNING.result(run)["goodput_bps"] for run in GRID if not run.unlimited}
    most = max(run.load_bps for run in reached)
    for protocol in ("tcp", "udp"):
        here = [run for run in reached if (run.protocol, run.load_bps) == (protocol, most)]
        over = sorted(run for run in here if most > 1.2 * reached[run])
        carried_ = [run for run in here if most < 1.02 * reached[run]]
        less = [run for run in reached if run.protocol == protocol and run.load_bps < most]
        for count in range(FEW + 2):
            some = [*over[:count], *carried_, *less]
            assert overloaded(fitted, some) == (over[:count] if count <= FEW else [])
    assert overloaded({}, GRID) == overloaded(fitted, []) == []


def test_a_capacity_is_learned_at_full_load_and_counts_where_it_limits(
    fitted: dict[str, Surface],
) -> None:
    goodput = {"goodput_bps": fitted["goodput_bps"]}
    low, full = Run("udp", 4096, 1e8), Run("udp", 4096)
    assert list(goodput["goodput_bps"].error_weights([low, full])) == [0.0, 1.0]
    assert choose(goodput, [low, full], Purpose(domain(GRID)), 1) == (full,)
    cpu = {"cpu_send": fitted["cpu_send"]}
    assert choose(cpu, [low], Purpose(domain(GRID)), 1) == (low,)


def test_a_run_that_was_chosen_is_worth_less_each_time(fitted: dict[str, Surface]) -> None:
    """The gain of a run falls once it is chosen, so equal runs of two protocols alternate."""
    asked = (Run("tcp", 300, 1e8), Run("udp", 300, 1e8))
    chosen = choose({"cpu_send": fitted["cpu_send"]}, asked, Purpose(asked), 8)
    assert set(chosen) == set(asked)


def test_several_runs_differ_and_come_from_the_candidates(fitted: dict[str, Surface]) -> None:
    found = GRID
    chosen = choose(fitted, found, Purpose(domain(GRID)), 6)
    assert len(chosen) == 6
    assert set(chosen) <= set(found)
    assert len(set(chosen)) > 3
    assert choose(fitted, found, Purpose(domain(GRID)), 6) == chosen
    assert choose({}, found, Purpose(()), 6) == ()


def test_a_decision_is_measured_where_it_falls(fitted: dict[str, Surface]) -> None:
    """If the limit is close to the prediction, only runs near it can decide."""
    where = Run("udp", 300, 1e9)
    mean, spread = fitted["latency_mean_s"].predict([where])
    limit = float(mean[0] - 0.5 * spread[0])
    purpose = Purpose(domain(GRID), (Decision(where, "latency_mean_s", limit),))
    found = (*GRID, where)
    near = [run for run in choose(fitted, found, purpose, 3) if run.protocol == "udp"]
    assert near
    assert all(100 <= run.payload_bytes <= 900 for run in near)


def test_what_no_run_can_decide_does_not_count(fitted: dict[str, Surface]) -> None:
    far = Decision(Run("udp", 300, 1e9), "latency_mean_s", math.log(1e9))
    whole = Purpose(domain(GRID))
    found = GRID
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


def test_what_is_not_judged_changes_no_score() -> None:
    """A record has many more metrics than the four metrics of a calibration."""
    asked = Settings.of(system="made up", protocols=("udp",), mtu_bytes=1500, line_rate_bps=1e10)
    system = Synthetic(TUNING, 5)
    sizes = (32, 128, 512, 1472, 1473, 8192, 32768, 65507)
    answers = [system.measure(Run("udp", size), 0) for size in sizes]
    plain = [one for one in answers if not isinstance(one, Refused)]
    more = [
        {**one, "result": {**one["result"], "cpu_send_irq": 0.01 * n, "latency_p99_s": 1e-3}}
        for n, one in enumerate(plain)
    ]
    metrics = ("goodput_bps", "latency_mean_s")
    found = scores(table(more, asked), "hybrid", metrics)
    bare = scores(table(plain, asked), "hybrid", metrics)
    assert repr(found) == repr(bare)  # without repeats, noise is NaN, which equals nothing
    assert [(one.metric, one.count) for one in found] == [
        (name, len(sizes) - 2) for name in metrics
    ]

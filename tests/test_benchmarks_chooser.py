"""The chooser's contest: its systems keep physics, its strategies their budget, its sums are right."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import checkout
from benchmarks.chooser.__main__ import _read, _summary
from benchmarks.chooser.arena import Arena, made_up, recorded
from benchmarks.chooser.contest import StrategyScore, contest, errors, ratio, spread
from benchmarks.chooser.strategies import STRATEGIES, even_grid
from benchmarks.chooser.synthetic import TRUTHS, TUNING, Noise, Synthetic, Truth
from icmodel.calibrate.runs import Run, packets
from icmodel.calibrate.settings import Settings
from icmodel.calibrate.testbed import Refused

SIZES = (32, 1448, 1449, 9000, 65507)
LOADS = (1e6, 1e9, math.inf)
RUNS = tuple(Run(name, size, load) for name in ("tcp", "udp") for size in SIZES for load in LOADS)


def small(seed: int) -> Arena:
    """A grid of a few payloads and loads."""
    arena = made_up(TUNING, seed)
    kept = [
        (run, repeat)
        for run, repeat in arena.turns
        if run.load_bps in (1e9, math.inf) and run.payload_bytes in (32, 256, 1448, 1449, 4096)
    ]
    ends = [(run, repeat) for run, repeat in kept if run.payload_bytes in (32, 4096) and not repeat]
    asked = tuple(
        (run, values)
        for run, values in arena.questions
        if run.load_bps in (1e9, math.inf) and run.payload_bytes <= 4096
    )
    aim = replace(arena.settings.aim, variant="corrected")
    settings = replace(arena.settings, aim=aim)
    return replace(arena, settings=settings, turns=tuple(kept), first=tuple(ends), questions=asked)


@pytest.mark.parametrize("truth", [TUNING, *TRUTHS], ids=lambda truth: truth.name)
def test_made_up_systems_keep_the_laws_of_real_ones(truth: Truth) -> None:
    for run in RUNS:
        found = truth.result(run)
        bits = 8 * run.payload_bytes
        count = int(packets([run], truth.mtu_bytes)[0])
        wire_s = (bits + 8 * 66 * count) / truth.line_rate_bps
        assert found["goodput_bps"] <= min(run.load_bps, bits / wire_s) * (1 + 1e-12)
        assert found["goodput_bps"] == pytest.approx(found["sent_bps"] * (1 - found["loss_rate"]))
        assert found["latency_mean_s"] >= truth.base_s + wire_s
        for metric in ("cpu_send", "cpu_recv", "loss_rate"):
            assert 0 <= found[metric] <= 1
        if run.protocol == "tcp":
            assert found["loss_rate"] == 0


def test_a_repeat_is_always_the_same_and_seeds_differ() -> None:
    run = Run("udp", 1024)
    assert Synthetic(TUNING, 1).measure(run, 0) == Synthetic(TUNING, 1).measure(run, 0)
    assert Synthetic(TUNING, 1).measure(run, 0) != Synthetic(TUNING, 1).measure(run, 1)
    assert Synthetic(TUNING, 1).measure(run, 0) != Synthetic(TUNING, 2).measure(run, 0)


def test_without_noise_a_run_tells_the_truth() -> None:
    arena = made_up(TUNING, 1, noise=0.0)
    for run, repeat in arena.turns[::50]:
        told, true = arena.answer(run, repeat)["result"], TUNING.result(run)
        assert {name: told[name] for name in told} == pytest.approx(
            {name: true[name] for name in told}
        )


def test_the_noise_is_as_large_as_it_says() -> None:
    run = Run("udp", 1024, 1e8)
    system = Synthetic(TUNING, 1, Noise(latency=0.08))
    records = [system.measure(run, repeat) for repeat in range(500)]
    true = TUNING.result(run)["latency_mean_s"]
    logs = [
        math.log(one["result"]["latency_mean_s"] / true)
        for one in records
        if not isinstance(one, Refused)
    ]
    assert float(np.mean(logs)) == pytest.approx(0.0, abs=0.015)
    assert float(np.std(logs)) == pytest.approx(0.08, rel=0.1)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_keeps_its_budget_and_buys_what_there_is(name: str) -> None:
    arena = replace(small(1), beside=0)
    for budget in (6, 11, 30):
        bought = STRATEGIES[name](arena, budget, 1)
        assert len(bought) <= budget
        assert len(set(bought)) == len(bought)
        assert set(bought) <= set(arena.turns)
        if name != "grid":
            assert len(bought) == budget


def test_what_is_chosen_may_lie_beside_the_grid_where_that_is_offered() -> None:
    """A load that half of the payloads carry has an edge between two of the grid's."""
    arena = small(1)
    beside = [run for run, _ in STRATEGIES["chosen"](arena, 30, 1) if run not in arena.runs]
    assert {run.load_bps for run in beside} == {1e9}
    assert all(128 < run.payload_bytes < 512 for run in beside)
    counts = Counter(beside)
    assert max(counts.values()) <= arena.beside


def test_a_coarser_grid_keeps_both_ends_of_every_curve() -> None:
    arena = small(1)
    sizes = {run.payload_bytes for run, _ in even_grid(arena, 9, 1)}
    assert {32, 4096} <= sizes


def test_the_full_grid_is_the_measure_and_its_error_small() -> None:
    arena = small(2)
    whole, *others = contest(arena, 2, (0.5,))
    assert (whole.strategy, whole.ratio, whole.runs) == ("full grid", 1.0, len(arena.turns))
    assert [one.strategy for one in others] == list(STRATEGIES)
    assert whole.errors == errors(arena, arena.turns)
    assert whole.errors["goodput_bps"] < 0.1


def test_each_metric_is_held_against_the_full_grid_seed_by_seed() -> None:
    seeds = [
        [
            StrategyScore("full grid", 1.0, 40, {"goodput_bps": whole}, 1.0),
            StrategyScore("chosen", 0.25, 10, {"goodput_bps": mine}, mine / whole),
        ]
        for whole, mine in ((0.1, 0.2), (0.4, 0.4), (0.1, 0.3))
    ]
    said: dict[str, Any] = _summary(seeds)
    assert said["chosen, 25%"]["ratios"]["goodput_bps"] == pytest.approx(2.0)
    assert said["chosen, 25%"]["errors"]["goodput_bps"] == pytest.approx(0.3)


def test_ratio_and_spread() -> None:
    assert ratio({"a": 0.2, "b": 0.1}, {"a": 0.1, "b": 0.8}) == pytest.approx(0.5)
    found = spread([0.5, 1.0, 1.5, 2.0])
    assert (found["median"], found["reached"], found["n"]) == (1.25, 2, 4)


def test_recorded_campaigns_are_asked_for_what_they_held_out() -> None:
    system = Synthetic(TUNING, 1)
    records = []
    for run in RUNS:
        for repeat in range(2):
            record = system.measure(run, repeat)
            assert not isinstance(record, Refused)
            held = run.payload_bytes == 9000
            plan = {"name": "made up", "digest": "0", "point": run.identity, "repeat": repeat}
            records.append({**record, "plan": {**plan, "kind": "grid", "held_out": held}})
    settings = Settings.of(system="made up", line_rate_bps=TUNING.line_rate_bps)
    arena, other = (recorded(records, settings, seed) for seed in (1, 2))
    first = [arena.answer(run, 0) for run in arena.runs]
    assert first != [other.answer(run, 0) for run in other.runs]
    truth = next(values for run, values in arena.questions if run == Run("udp", 9000, 1e6))
    asked = [system.measure(Run("udp", 9000, 1e6), repeat) for repeat in range(2)]
    late = [one["result"]["latency_mean_s"] for one in asked if not isinstance(one, Refused)]
    assert truth["latency_mean_s"] == pytest.approx(sum(late) / 2)
    assert {run.payload_bytes for run, _ in arena.questions} == {9000}
    assert {run.payload_bytes for run in arena.runs} == {32, 1448, 1449, 65507}
    assert len(arena.turns) == 2 * len(arena.runs)
    assert {run.payload_bytes for run, _ in arena.first} == {32, 65507}
    bought = STRATEGIES["chosen"](arena, 30, 1)
    assert len(bought) == 30


def test_a_folded_dataset_is_replayed_as_its_base_case_without_what_it_keeps_apart() -> None:
    """Three runs a point at most: with options, or as disturbed ones made anew, they were more."""
    settings = Settings.of(system="replay", line_rate_bps=1e9, mtu_bytes=1500)
    arena = recorded(_read(checkout.ROOT / "data" / "lab-1g-2026"), settings, 1)
    counts = Counter(run for run, _ in arena.turns)
    assert len(counts) == 222
    assert max(counts.values()) == 3
    assert len(arena.questions) == 78

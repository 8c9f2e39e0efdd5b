"""Recommendations for bundled systems, and properties of every recommendation."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import icmodel
from icmodel.cli import main
from icmodel.cli.output import text_of
from icmodel.cli.recommend import sections
from icmodel.recommend import Checked, Recommendation, recommend
from icmodel.recommend.designs import SearchSpace, search_space
from icmodel.recommend.scores import OBJECTIVES, SAME_RATIO
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED
from icmodel.system import load, predict
from recommend_case import MODELS, SMALL, opened, too_slow
from search import times


@pytest.fixture(scope="module")
def imaging() -> Recommendation:
    return icmodel.recommend("imaging")


@pytest.fixture(scope="module")
def motion() -> Recommendation:
    return icmodel.recommend("motion-control")


@pytest.fixture(scope="module")
def mended(tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    """Recommendation for the imaging system at the rate of IC2012 table 8-1."""
    return recommend(opened(tmp_path_factory.mktemp("slow"), SMALL, too_slow()))


# --- the shipped systems ------------------------------------------------------------------------


def test_imagings_whole_pictures_need_interfaces_of_their_own(imaging: Recommendation) -> None:
    """25.1 ms of 17 where two are sent at once over one interface of 9.4 Gb/s, 12.6 ms alone."""
    own = imaging.own
    assert (imaging.verdict, imaging.exit_code, own.verdict) == (MET, 0, NOT_MET)
    late = {one.verdict.requirement.name: one.verdict for one in own.open}
    assert late["pictures arrive in time on average"].estimate.value == pytest.approx(25.1e-3, 2e-3)
    wider = {
        "capturing-device.interfaces": "2",
        "qfhd-display.cores": "12",
        "qfhd-display.interfaces": "6",
    }
    assert [one.changed for one in imaging.mends] == [wider]
    assert all(one.verdict == MET and one.basis for one in imaging.front)
    assert wider in [one.changed for one in imaging.front]


def test_a_design_reports_its_full_prediction(imaging: Recommendation) -> None:
    told = imaging.own
    found = predict(load("imaging"), MODELS)
    assert told.objective("cpu_cores") == pytest.approx(
        sum(one.cpu_cores.value for one in found.devices.values())
    )
    latency = max(one.metrics["latency_mean_s"].value for one in found.streams.values())
    assert told.objective("latency_mean_s") == latency
    received = sum(one.metrics["cpu_recv_cores"].value for one in found.streams.values())
    assert told.cpu_recv_cores == pytest.approx(received)


def test_a_rate_that_is_too_low_is_mended_by_one_that_carries_the_stream(
    mended: Recommendation,
) -> None:
    """TCP at 65535 B carries 3.538944 Gb/s as produced; IC2012's 6700/s are 3.512676 Gb/s."""
    assert mended.own.verdict == NOT_MET
    whole = "every picture stream arrives whole"
    worst = next(one.verdict for one in mended.own.open if one.verdict.requirement.name == whole)
    assert worst.estimate.value == 3.512676e9
    assert worst.requirement.limit == 3.538944e9
    assert [one.changed for one in mended.mends] == [{"picture.rate": "as produced"}]
    assert mended.mends[0].chosen["picture.payload"] == "65535 B"
    assert mended.verdict == MET


def test_motion_control_is_impossible_and_shows_the_arithmetic(motion: Recommendation) -> None:
    found = motion
    assert (found.verdict, found.exit_code, found.front) == (NOT_MET, 1, ())
    assert found.searched.fail == found.searched.counts.all
    said = " ".join(line for one in found.physics for line in one.sentences())
    for number in ("64 kb", "3 µs", "21.33 Gb/s, more than 10 Gb/s", "50 m of cable", "213.5 ns"):
        assert number in said
    met = {one.verdict.requirement.name for one in found.nearest if one.verdict.outcome == MET}
    assert met == {"what is produced arrives"}  # though late


LATE = """
[[requirements]]
name = "99 % of pictures within 500 us"
stream = "picture"
metric = "latency_p99_s"
of = "frame"
at_most = "500 us"
"""


def test_undecided_designs_name_the_deciding_measurement(tmp_path: Path) -> None:
    """Mean and greatest latencies were measured, but no quantiles."""
    text = LATE + "\n[choices.streams.control]\npriority = [0]\n"
    found = recommend(opened(tmp_path, text))
    assert (found.verdict, found.exit_code, found.front) == (UNDECIDED, 3, ())
    assert found.own.verdict == UNDECIDED
    open_one = found.undecided[0].open[0]
    assert open_one.verdict.outcome == UNDECIDED
    assert open_one.settle.startswith(
        "measure latency_p99_s of tcp at 65535 B, 3.54 Gb/s, cores = 4"
    )


# --- what must hold of any ----------------------------------------------------------------------


def better(one: Checked, other: Checked) -> bool:
    """Whether a design is clearly better in one objective, and worse in none."""
    pairs = list(zip(one.objectives, other.objectives, strict=True))
    return all(a <= b for a, b in pairs) and any(a * SAME_RATIO**2 < b for a, b in pairs)


def test_no_design_of_a_front_is_dominated(imaging: Recommendation, mended: Recommendation) -> None:
    for found in (imaging, mended):
        for one in found.front:
            assert not any(
                better(other, one) for other in (*found.front, found.own) if other.verdict == MET
            )


@pytest.mark.long
@settings(max_examples=times(5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(['"tcp"', '"udp"']), st.permutations(['"1448 B"', '"8192 B"', '"65535 B"']))
def test_the_order_of_choices_changes_nothing(
    tmp_path: Path, protocols: list[str], payloads: list[str]
) -> None:
    text = (
        f"\n[choices.streams.picture]\nprotocol = [{', '.join(protocols)}]\n"
        f"payload = [{', '.join(payloads)}]\n"
    )
    told = recommend(opened(tmp_path, text), MODELS["ethernet-10g-2012"]).to_dict()
    first = tmp_path / "first.json"
    if not first.exists():
        first.write_text(json.dumps(told), encoding="utf-8")
    assert json.loads(first.read_text("utf-8")) == told


def may_meet(some: SearchSpace) -> set[tuple[tuple[str, str], ...]]:
    return {
        tuple(sorted(some.design(index).chosen.items()))
        for index in range(len(some.scores))
        if OUTCOMES[some.scores.outcomes[index]] == MET
    }


def test_one_more_choice_removes_no_design_that_meets_all(tmp_path: Path) -> None:
    few = may_meet(search_space(opened(tmp_path, SMALL), MODELS))
    more = SMALL.replace('["1448 B", "8192 B"]', '["1448 B", "8192 B", "32768 B"]')
    many = may_meet(search_space(opened(tmp_path, more), MODELS))
    assert few < many


# --- the command line ---------------------------------------------------------------------------


def test_the_answer_fits_on_a_screen(imaging: Recommendation, motion: Recommendation) -> None:
    """The commands of the guide print them."""
    for found in (imaging, motion):
        lines = text_of(sections(found)).splitlines()
        assert len(lines) <= 30
        assert max(map(len, lines)) <= 100


def test_a_missing_system_is_reported_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split("recommend nowhere")) == 2
    assert "there is no system 'nowhere'" in capsys.readouterr().err


def test_costs_are_shown_if_the_file_states_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened(tmp_path, SMALL + '\n[costs]\ncurrency = "EUR"\ninterface = 100\n')
    assert main(["recommend", str(tmp_path / "own.toml")]) == 0
    out = capsys.readouterr().out
    assert "cost EUR" in out
    assert " 2300 " in out


def test_progress_counts_full_predictions(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    found = recommend(opened(tmp_path, SMALL), watch=lambda done, most: steps.append((done, most)))
    assert [done for done, _ in steps] == list(range(1, found.searched.checked + 1))
    assert all(done <= most for done, most in steps)
    assert len(found.own.objectives) == len(OBJECTIVES)

"""Comparing: the sources of a link, and equal answers in every form."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import icmodel
from icmodel.cli import main
from icmodel.errors import UseCaseError
from icmodel.interconnects import Comparison, Row, compare_interconnects
from icmodel.interconnects.comparing import judged_by_physics
from icmodel.interconnects.links import PROTOCOLS, Link
from icmodel.interconnects.result import EXTRAPOLATED, MEASURED_HERE, PUBLISHED, THEORY
from icmodel.model import Model
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED
from icmodel.usecase import (
    CandidateResult,
    Finding,
    derive,
    evaluate,
    load_usecase,
    read_usecase,
    usecase_names,
)
from points import write_dataset
from search import times
from small_case import DATASET, USECASE, rows, small_dataset

TEN_GIGABIT, RAPIDIO, GIGABIT = "ethernet-10g-2012", "rapidio-tsi721", "ethernet-1g-2010"
CASES = ("cameras", "imaging", "motion-control")


@functools.cache
def compared(name: str) -> Comparison:
    """Comparison of a bundled use case by three quick datasets."""
    return compare_interconnects(name, (TEN_GIGABIT, RAPIDIO, GIGABIT))


def row(comparison: Comparison, kind: str, rate: float, protocol: str = "") -> Row:
    """The row of a link."""
    link = (kind, rate, protocol)
    return next(
        one
        for one in comparison.rows
        if (one.link.kind, one.link.line_rate_bps, one.link.protocol) == link
    )


@pytest.fixture(name="usecase")
def _usecase(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(USECASE, encoding="utf-8")
    return path


def test_a_dataset_that_carries_all_gives_a_met_and_published_row(
    usecase: Path, tmp_path: Path
) -> None:
    found = compare_interconnects(usecase, [small_dataset(tmp_path)])
    one = row(found, "ethernet", 1e9, "tcp")
    assert (one.outcome, one.source.ground, one.source.dataset) == (MET, PUBLISHED, "small-1g")
    assert one.measurements == ()
    assert found.exit_code == 0
    assert row(found, "ethernet", 1e9, "udp").source.ground == THEORY


def test_measurements_of_icprobe_come_before_equal_verdicts(usecase: Path, tmp_path: Path) -> None:
    own = DATASET.replace('name = "ruler"', 'name = "icprobe"').replace("small-1g", "own-1g")
    folder = write_dataset("own-1g", rows(), own, tmp_path)
    found = compare_interconnects(usecase, [small_dataset(tmp_path), folder])
    one = row(found, "ethernet", 1e9, "tcp")
    assert (one.source.ground, one.source.dataset) == (MEASURED_HERE, "own-1g")
    assert [other.dataset for other in one.others] == ["small-1g", ""]


def test_a_row_is_not_met_if_all_sources_fail(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(USECASE.replace('goodput = "400 Mb/s"', 'goodput = "900 Gb/s"'), "utf-8")
    found = compare_interconnects(path, [small_dataset(tmp_path)])
    assert {one.outcome for one in found.rows} == {NOT_MET}
    assert all(one.refuted for one in found.rows)
    assert found.exit_code == 1


def test_a_published_row_equals_the_evaluation_of_its_dataset() -> None:
    one = row(compared("imaging"), "ethernet", 10e9, "tcp")
    assert (one.source.ground, one.source.dataset) == (PUBLISHED, TEN_GIGABIT)
    assert one.outcome == UNDECIDED
    judged = evaluate("imaging", TEN_GIGABIT, candidate="tcp-whole-pictures")
    cpu = next(
        finding.verdict
        for finding in judged.chosen.findings
        if finding.verdict.requirement.metric == "cpu_recv"
    )
    assert one.decisive.verdict.requirement == cpu.requirement
    assert one.decisive.verdict.estimate.value == pytest.approx(cpu.estimate.value, rel=0.02)
    assert one.measurements == (
        "measure cpu_recv of tcp at 65535 B, 3.54 Gb/s, cores = 4, switches = 1, endpoints = 3",
    )


def test_a_link_refuted_by_physics_is_not_met_and_not_extrapolated() -> None:
    found = compared("cameras")
    for rate in (1e9, 10e9, 25e9, 40e9):
        one = row(found, "ethernet", rate, "tcp")
        assert one.refuted
        assert one.outcome == NOT_MET
        assert one.source.ground != EXTRAPOLATED


def test_an_unmeasured_rate_is_extrapolated_from_the_nearest_and_marked() -> None:
    one = row(compared("motion-control"), "ethernet", 25e9, "udp")
    source = one.source
    assert (source.ground, source.dataset, source.variant) == (EXTRAPOLATED, TEN_GIGABIT, "hybrid")
    assert source.measured_bps == 10e9
    assert {one.scenario.line_rate_bps for one in source.result.answers} == {25e9}
    assert one.outcome == NOT_MET  # no mean below 10 us (IC2012 §6.3), where 3 us are needed


def test_the_open_question_of_the_thesis_is_undecided_and_names_a_measurement() -> None:
    one = row(compared("motion-control"), "rapidio", 16e9)
    assert (one.outcome, one.source.ground) == (UNDECIDED, PUBLISHED)
    assert not one.refuted
    assert one.source.protocols == ("dma-write", "window-read")
    first, second = one.measurements
    assert first.startswith(
        "measure goodput_bps and latency_mean_s and latency_max_s of dma-write at 800 B"
    )
    assert "window-read at 8 B" in second


def test_an_unpredicted_stream_does_not_put_all_streams_on_one_interface() -> None:
    """Six pictures of 3.54 Gb/s need two interfaces of RapidIO even where control data are not known."""
    one = row(compared("imaging"), "rapidio", 16e9)
    assert one.outcome == UNDECIDED
    assert one.source.result.answers[0].scenario.endpoints < 6


@pytest.mark.parametrize("name", CASES)
def test_theory_alone_is_never_met(name: str) -> None:
    for one in compared(name).rows:
        assert one.source.ground != THEORY or one.outcome != MET
        assert one.refuted <= (one.outcome == NOT_MET)


@pytest.mark.parametrize("name", CASES)
def test_more_line_rate_never_turns_met_into_not_met(name: str) -> None:
    best: dict[tuple[str, str, str, str], str] = {}
    for one in compared(name).rows:
        key = (one.link.kind, one.link.protocol, one.source.ground, one.source.dataset)
        assert not (best.get(key) == MET and one.outcome == NOT_MET)
        best[key] = min(best.get(key, NOT_MET), one.outcome, key=OUTCOMES.index)


@pytest.mark.parametrize("name", CASES)
def test_an_open_row_names_a_measurement_and_a_decided_one_its_basis(name: str) -> None:
    for one in compared(name).rows:
        assert bool(one.measurements) == (one.outcome == UNDECIDED)
        assert one.source.basis or one.outcome == UNDECIDED
        assert one.decisive.outcome == one.outcome


def test_the_verdict_of_all_is_that_of_the_best() -> None:
    for name in CASES:
        found = compared(name)
        assert found.verdict == min((one.outcome for one in found.rows), key=OUTCOMES.index)


def test_the_public_face_has_it() -> None:
    assert icmodel.compare_interconnects is compare_interconnects


def test_an_unknown_use_case_is_refused() -> None:
    with pytest.raises(UseCaseError, match="there is no use case 'nowhere'"):
        compare_interconnects("nowhere")


def test_a_line_rate_of_a_candidate_reaches_the_scenario() -> None:
    model = Model(TEN_GIGABIT, "hybrid")
    one = row(compared("motion-control"), "ethernet", 40e9, "tcp").source.result
    scenario = next(answer.scenario for answer in one.answers)
    assert scenario.line_rate_bps == 40e9
    assert model.predict(scenario).metrics["goodput_bps"].basis == "extrapolated"


# --- the command line -------------------------------------------------------------------------

ASKED = ("compare", "--usecase", "motion-control", "--dataset", f"{RAPIDIO},{GIGABIT}")


def test_json_table_and_csv_agree(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([*ASKED, "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert main(list(ASKED)) == 3
    text = capsys.readouterr().out
    lines = [
        line
        for line in text.splitlines()
        if any(f" {o}  " in line for o in ("✗ not met", "? undecided"))
    ]
    assert len(lines) == len(told["rows"])
    for line, one in zip(lines, told["rows"], strict=True):
        assert one["outcome"] in line
        assert one["ground"] in line
        assert one["protocol"].split("+")[0] in line
    assert max(map(len, text.splitlines())) <= 100
    assert main([*ASKED, "-o", str(tmp_path / "all.csv")]) == 3
    table = (tmp_path / "all.csv").read_text(encoding="utf-8").splitlines()
    assert len(table) == len(told["rows"]) + 1


def test_why_names_the_unused_sources_and_a_page_has_the_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([*ASKED, "--why"]) == 3
    text = capsys.readouterr().out
    assert "answered by rapidio-tsi721 (published, corrected)" in text
    assert "not used: theory alone, undecided" in text
    page = tmp_path / "page.md"
    assert main([*ASKED, "-o", str(page)]) == 3
    written = page.read_text(encoding="utf-8")
    assert "| link | Gb/s | protocol | verdict | based on | decided by (required) |" in written
    assert "## Measurements that would decide" in written


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("--payload", "64 B"), "--payload"),
        (("--protocol", "tcp"), "--protocol"),
        (("--option", "nagle=off"), "--option"),
        (("--all",), "--all"),
    ],
)
def test_a_question_beside_the_use_case_is_refused(
    words: tuple[str, ...], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ASKED, *words]) == 2
    assert f"{name} cannot be combined with --usecase" in capsys.readouterr().err


def test_why_needs_a_use_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--payload", "64 B", "--why"]) == 2
    assert "--why needs --usecase" in capsys.readouterr().err


# --- physics: the wire's bounds refute and never prove, and the arithmetic is that of the papers ---


LOADED = {name: load_usecase(name) for name in usecase_names()}
DERIVED = {name: derive(case) for name, case in LOADED.items()}
PLACES = st.sampled_from(
    [(kind, protocol) for kind, protocols in PROTOCOLS.items() for protocol in protocols]
)
RATES = st.floats(1e8, 1e12)
HOSTS = ("goodput_bps", "latency_", "cpu_", "loss_rate")


def found(result: CandidateResult, stream: str, metric: str) -> Finding:
    """Finding of a result on a metric of a stream."""
    return next(
        one
        for one in result.findings
        if (one.stream, one.verdict.requirement.metric) == (stream, metric)
    )


def judged(name: str, link: Link) -> CandidateResult:
    """Result of theory for a use case, with the first frame size."""
    return judged_by_physics(LOADED[name], DERIVED[name], link)[0]


def test_a_gigabit_carries_800_bytes_of_866_on_the_wire() -> None:
    """IC2012 table 6-3: 800 B + UDP 8 + IP 20 + Ethernet 38 = 866 B; 2.297 Gb/s are needed."""
    goodput = found(judged("motion-control", Link("ethernet", 1e9, "udp")), "sample", "goodput_bps")
    assert goodput.verdict.estimate.high == pytest.approx(1e9 * 800 / 866)
    assert goodput.outcome == NOT_MET
    assert "923.7875 Mb/s" in goodput.verdict.why


def test_a_frame_takes_its_bits_and_fifty_metres_of_cable() -> None:
    latency = found(
        judged("motion-control", Link("ethernet", 10e9, "udp")), "sample", "latency_mean_s"
    )
    assert latency.verdict.estimate.low == pytest.approx((866 - 12) * 8 / 10e9 + 50 * 4.27e-9)
    assert latency.verdict.estimate.high == math.inf
    assert latency.outcome == UNDECIDED


FLOW = """\
schema_version = 1
name = "flow"
title = "t"
question = "q"
source = "s"
default_candidate = "c"
streams = [{name = "x", kind = "goodput", goodput = "1 Gb/s"}]
requirements = [{name = "mean", metric = "latency_mean_s", at_most = "10 ms"}]
[[candidates]]
name = "c"
scenarios.x = {protocol = "tcp", payload = "65535 B"}
"""


def test_udp_is_tried_with_a_payload_that_udp_can_carry() -> None:
    """The file's TCP frames of 65 535 B exceed a UDP datagram, which holds 65 507 B."""
    one = row(compare_interconnects(read_usecase(FLOW), [TEN_GIGABIT]), "ethernet", 10e9, "udp")
    assert (one.outcome, one.source.ground) == (MET, PUBLISHED)
    assert {answer.asked.payload_bytes for answer in one.source.result.answers} == {65507}


CABLE = """[medium]
distance = "20 km"
propagation_s_per_m = 5e-9
source = "t"
"""


@pytest.mark.parametrize(
    ("medium", "distance", "outcome"),
    [
        (CABLE, "", NOT_MET),  # the cable alone takes 100 us
        (CABLE, ', distance = "20 km"', NOT_MET),
        (CABLE, ', distance = "1 m"', MET),
        ("", "", MET),
        ("", ', distance = "1 m"', MET),
        ("", ', distance = "20 km"', NOT_MET),
    ],
)
def test_evaluate_and_compare_judge_at_the_same_distance(
    medium: str, distance: str, outcome: str
) -> None:
    text = FLOW.replace('"65535 B"', f'"1448 B"{distance}').replace("10 ms", "95 us")
    case = read_usecase(text.replace("[[candidates]]", medium + "[[candidates]]"))
    evaluated = evaluate(case, TEN_GIGABIT)
    compared = row(compare_interconnects(case, [TEN_GIGABIT]), "ethernet", 10e9, "tcp")
    assert (evaluated.verdict, compared.outcome) == (outcome, outcome)


def test_six_cameras_need_72_gigabit_at_one_interface() -> None:
    """6 × 3840 × 2160 × 24 bit × 60 Hz = 71.66 Gb/s: 40 Gb/s cannot, 100 Gb/s may."""
    assert judged("cameras", Link("ethernet", 40e9, "tcp")).outcome == NOT_MET
    at_100 = found(judged("cameras", Link("ethernet", 100e9, "tcp")), "picture", "goodput_bps")
    assert at_100.outcome == UNDECIDED
    others = 5 * 3840 * 2160 * 24 * 60
    alone = 100e9 * 8948 / 9038  # RFC 894 and 793 with timestamps in jumbo packets of 9000 B
    assert at_100.verdict.estimate.high == pytest.approx(alone - others)


def test_rapidio_at_sixteen_gigabit_is_not_refuted() -> None:
    """Question of the thesis: the wire alone does not refute 2.3 Gb/s within 3 us at 800 B."""
    result = judged("motion-control", Link("rapidio", 16e9, ""))
    assert result.outcome == UNDECIDED
    assert {one.outcome for one in result.findings} == {UNDECIDED}
    assert found(result, "sample", "latency_mean_s").verdict.estimate.low < 0.7e-6


def test_an_unknown_line_rate_is_not_judged() -> None:
    assert (
        judged_by_physics(LOADED["imaging"], DERIVED["imaging"], Link("ethernet", None, "tcp"))
        == ()
    )


@given(st.sampled_from(sorted(LOADED)), PLACES, RATES)
@settings(max_examples=times(60))
def test_theory_alone_never_proves(name: str, place: tuple[str, str], rate: float) -> None:
    for result in judged_by_physics(LOADED[name], DERIVED[name], Link(place[0], rate, place[1])):
        for one in result.findings:
            assert one.verdict.requirement.metric.startswith(HOSTS)
            assert one.outcome != MET


@given(st.sampled_from(sorted(LOADED)), PLACES, RATES, st.floats(1.0, 100.0))
@settings(max_examples=times(60))
def test_a_greater_rate_does_not_refute_more(
    name: str, place: tuple[str, str], rate: float, times: float
) -> None:
    slow, fast = (
        judged_by_physics(LOADED[name], DERIVED[name], Link(place[0], r, place[1]))
        for r in (rate, rate * times)
    )
    for one, other in zip(slow, fast, strict=True):
        assert not (one.outcome == UNDECIDED and other.outcome == NOT_MET)

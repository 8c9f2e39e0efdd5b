"""Bundled use cases from IC2012 §1.4 and §8: derived numbers and verdicts."""

import math
from dataclasses import replace

import pytest

import icmodel
from icmodel.report.verdicts import conclude
from icmodel.usecase import (
    CandidateResult,
    Evaluation,
    Finding,
    derive,
    evaluate,
    load_usecase,
    usecase_names,
)


@pytest.fixture(scope="module")
def imaging() -> Evaluation:
    return evaluate("imaging", "ethernet-10g-2012")


@pytest.fixture(scope="module")
def motion() -> Evaluation:
    return evaluate("motion-control", "ethernet-10g-2012")


def result(evaluation: Evaluation, candidate: str) -> CandidateResult:
    return next(one for one in evaluation.candidates if one.name == candidate)


def finding(one: CandidateResult, stream: str, metric: str) -> Finding:
    return next(
        found
        for found in one.findings
        if found.stream == stream and found.verdict.requirement.metric == metric
    )


def derived(one: CandidateResult) -> dict[str, float]:
    own = [d for answer in one.answers for d in answer.derivations]
    return {d.name: d.value for d in (*one.derivations, *own)}


def test_the_bundled_use_cases_are_named_as_their_files() -> None:
    assert usecase_names() == ("cameras", "imaging", "motion-control")
    assert [load_usecase(name).name for name in usecase_names()] == list(usecase_names())


# --- derivations: IC2012 §1.4.3, §8.1 and §8.2 by hand ------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("response.interconnect_s", 0.017),
        ("picture.picture_bytes", 14_745_600),
        ("picture.goodput_bps", 3.538944e9),
        ("picture.count", 6),
        ("picture.total_goodput_bps", 21.233664e9),
        ("devices.endpoints", 15),
        ("medium.delay_s", 0.2135e-6),
    ],
)
def test_imaging_derives(name: str, value: float) -> None:
    assert derive(load_usecase("imaging"))[name].value == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loop.total_s", 50e-6),
        ("loop.communicate_s", 5e-6),
        ("communicate.sensor-side_s", 3e-6),
        ("communicate.actuator-side_s", 2e-6),
        ("sample.count", 2000),
        ("sample.cycle_bits", 64_000),
        ("sample.total_goodput_bps", 64_000 / 3e-6),
        ("sample.total_goodput_at_distance_bps", 64_000 / 2.7865e-6),
        ("sample.goodput_bps", 64_000 / 3e-6 / 10),
        ("sample.goodput_at_distance_bps", 64_000 / 2.7865e-6 / 10),
        ("sample.connection_samples", 200),
        ("sample.payload_bytes", 800),
        ("set-point.cycle_bits", 3_200),
        ("set-point.total_goodput_bps", 1.6e9),
        ("set-point.total_goodput_at_distance_bps", 3_200 / 1.7865e-6),
        ("set-point.payload_bytes", 8),
    ],
)
def test_motion_control_derives(name: str, value: float) -> None:
    assert derive(load_usecase("motion-control"))[name].value == pytest.approx(value, rel=1e-12)


def test_people_see_the_numbers_of_the_source() -> None:
    made = derive(load_usecase("motion-control"))
    assert made["sample.total_goodput_bps"].text == "21.33333 Gb/s"
    assert made["sample.total_goodput_at_distance_bps"].text == "22.96788 Gb/s"
    assert made["set-point.total_goodput_at_distance_bps"].text == "1.791212 Gb/s"
    assert made["loop.communicate_s"].formula == "50 µs − 35 µs − 10 µs"


@pytest.mark.parametrize("name", ["imaging", "motion-control"])
def test_candidates_ask_for_frames_that_fit_their_streams(name: str) -> None:
    case = load_usecase(name)
    made = derive(case)
    for candidate in case.candidates:
        assert set(candidate.scenarios) == {stream.name for stream in case.streams}
        for stream, question in candidate.scenarios.items():
            payload = made.get(f"{stream}.payload_bytes")
            if payload is not None and candidate.name != "rapidio-large-writes":
                assert question.payload_bytes == payload.value


# --- imaging ------------------------------------------------------------------------------------


def test_the_originals_imaging_choice_is_not_met_by_0_74_percent(imaging: Evaluation) -> None:
    found = finding(imaging.chosen, "picture", "goodput_bps")
    assert imaging.candidate == "original"
    assert imaging.verdict == found.outcome == "not met"
    assert imaging.exit_code == 1
    estimate = found.verdict.estimate
    assert estimate.low == estimate.value == estimate.high == 3.512676e9
    assert found.verdict.margin == pytest.approx(-0.00742, abs=5e-6)
    assert found.verdict.limiting == "request"
    assert found.least_rate_fps == 6751
    assert "6751" in found.remedy


def test_one_frame_per_second_less_than_the_least_rate_does_not_do() -> None:
    needed = derive(load_usecase("imaging"))["picture.goodput_bps"].value
    model = icmodel.Model(icmodel.load("ethernet-10g-2012"))
    for rate, enough in ((6750, False), (6751, True)):
        predicted = model.predict(protocol="tcp", payload="65535 B", rate_fps=rate, switches=1)
        assert (predicted.goodput_bps.value >= needed) is enough


def test_imaging_names_both_rates_interfaces_and_the_hosts_cpu(imaging: Evaluation) -> None:
    numbers = derived(imaging.chosen)
    assert numbers["picture.least_rate_fps"] == 6751
    assert numbers["picture.least_rate_whole_pictures_fps"] == 226 * 30
    assert numbers["qfhd-display.interfaces"] == 3
    assert numbers["qfhd-display.picture-per-interface"] == 2
    assert numbers["devices.interfaces"] == 17
    assert numbers["qfhd-display.cpu_recv"] == pytest.approx(6 * 0.1582, abs=1e-9)
    assert finding(imaging.chosen, "picture", "cpu_recv").streams == 6


def test_imaging_meets_the_17_ms(imaging: Evaluation) -> None:
    original, whole = imaging.chosen, result(imaging, "tcp-whole-pictures")
    assert finding(original, "picture", "latency_mean_s").verdict.requirement.limit == 0.017
    picture = next(one for one in original.answers if one.stream == "picture").prediction
    assert picture is not None
    with_cable_s = 112.9564994e-6 + (50 - 1) * 4.27e-9  # the benchmarks include 1 m of cable
    assert picture.latency_mean_s.value == pytest.approx(with_cable_s, rel=1e-9)
    for metric in ("latency_mean_s", "latency_p99_s"):
        assert finding(whole, "picture", metric).outcome == "met"
        late = finding(original, "picture", metric)  # 6700/s carry less than the pictures produce
        assert late.outcome == "not met"
        assert "the queue grows without limit" in late.verdict.why
    assert finding(original, "control", "latency_max_s").outcome == "met"
    assert finding(original, "control", "loss_rate").outcome == "met"


def test_four_cores_for_six_streams_stay_open_and_two_sets_are_enough(imaging: Evaluation) -> None:
    assert finding(imaging.chosen, "picture", "cpu_recv").outcome == "undecided"
    works = result(imaging, "tcp-two-sets-of-cores")
    assert works.outcome == "met"
    assert finding(works, "picture", "cpu_recv").streams == 3
    chosen = evaluate("imaging", "ethernet-10g-2012", candidate="tcp-two-sets-of-cores")
    assert (chosen.verdict, chosen.exit_code) == ("met", 0)


def test_appendix_h_judges_imaging_alike() -> None:
    assert evaluate("imaging", "ethernet-10g-2012", variant="appendix-h").verdict == "not met"


# --- motion control -----------------------------------------------------------------------------


def test_motion_control_is_not_met_by_ethernet(motion: Evaluation) -> None:
    assert (motion.verdict, motion.exit_code) == ("not met", 1)
    assert result(motion, "ethernet-udp").outcome == "not met"


def test_no_latency_interval_on_ethernet_reaches_under_10_us(motion: Evaluation) -> None:
    for candidate in ("original", "ethernet-udp"):
        for found in result(motion, candidate).findings:
            if found.verdict.requirement.metric.startswith("latency_"):
                assert found.outcome == "not met"
                assert found.verdict.estimate.low >= 10e-6
                assert found.verdict.margin < -2


def test_the_originals_motion_control_goodput_ignores_the_cable(motion: Evaluation) -> None:
    found = finding(motion.chosen, "sample", "goodput_bps")
    assert found.outcome == "not met"
    assert found.least_rate_fps == math.ceil(64_000 / 2.7865e-6 / 10 / 6400)


def test_infiniband_candidates_on_ethernet_are_undecided_and_say_where_to_ask(
    motion: Evaluation,
) -> None:
    other = result(motion, "infiniband-messages")
    assert other.outcome == "undecided"
    assert all("meant for infiniband-qdr-connectx2" in f.verdict.why for f in other.findings)


def test_motion_control_on_infiniband_what_the_data_support() -> None:
    evaluation = evaluate("motion-control", "infiniband-qdr-connectx2")
    messages = result(evaluation, "infiniband-messages")
    mean = finding(messages, "sample", "latency_mean_s")
    assert mean.outcome == "undecided"
    assert "replaces the one-way" in mean.verdict.why
    assert mean.verdict.estimate.low < mean.verdict.estimate.value < 3e-6
    assert mean.verdict.estimate.high > 4.2e-6
    assert finding(messages, "sample", "latency_max_s").outcome == "undecided"
    writes = result(evaluation, "infiniband-writes")
    assert finding(writes, "sample", "goodput_bps").outcome == "met"
    assert finding(writes, "sample", "latency_mean_s").outcome == "undecided"


def test_motion_control_on_rapidio_what_the_data_support() -> None:
    evaluation = evaluate("motion-control", "rapidio-tsi721")
    assert (evaluation.verdict, evaluation.exit_code) == ("undecided", 3)
    rapidio = result(evaluation, "rapidio")
    assert "16384" in finding(rapidio, "sample", "goodput_bps").verdict.why
    read = finding(rapidio, "set-point", "latency_mean_s").verdict
    assert read.outcome == "undecided"
    assert read.estimate.value == pytest.approx(0.927e-6)
    large = result(evaluation, "rapidio-large-writes")
    assert finding(large, "sample", "goodput_bps").outcome == "met"
    late = finding(large, "sample", "latency_mean_s").verdict
    assert late.outcome == "not met"
    assert late.estimate.low >= 16_384 * 8 / 16e9


def test_what_a_met_verdict_stands_on_is_said(imaging: Evaluation) -> None:
    """Three of six verdicts use assumed rows, the hard one an extrapolated row; blocking reads are late."""
    met = result(imaging, "tcp-two-sets-of-cores")
    bases = {one.verdict.requirement.name: one.rests_on.basis for one in met.findings}
    assert list(bases.values()).count("assumed") == 3
    assert bases["control data always arrive in time"] == "extrapolated"
    late = [one for one in met.findings if one.verdict.requirement.metric.startswith("latency_")]
    assert len(late) == 3
    for one in late:
        assert "read = blocking" in one.others_beyond
        assert "17.18 ms" in one.others_beyond
        assert one.rests_on.settle.startswith("measure latency_")
    assert conclude(replace(imaging, candidate=met.name)).sentence.startswith(
        "Met, on extrapolated greatest latency: "
    )
    arrives = met.findings[0]
    assert arrives.asked_margin == 0  # 6780/s would carry 0.44 % more than is produced
    assert arrives.verdict.margin == pytest.approx((9.4 - 3.6) / 3.538944 - 1)


def test_judged_strictly_nothing_is_met_on_assumptions() -> None:
    strict = evaluate(
        "imaging", "ethernet-10g-2012", candidate="tcp-two-sets-of-cores", strict=True
    )
    assert strict.exit_code == 3
    outcomes = {one.outcome for one in strict.chosen.findings if one.rests_on.weak}
    assert outcomes == {"undecided"}


# --- cameras: a link for each class of this decade -------------------------------------------------


@pytest.mark.parametrize(
    ("dataset", "candidate", "outcome"),
    [
        ("ethernet-10g-2012", "tcp-10g", "not met"),
        ("mpi-infiniband-roce", "mpi-roce-25g", "not met"),
        ("mpi-csd3", "mpi-infiniband-100g", "met"),
        ("tcp-connectx7", "tcp-200g", "met"),
        ("rdma-connectx7-ed2", "rdma-200g", "met"),
    ],
)
def test_six_cameras_need_71_7_gbps_which_100_gbps_and_more_carry(
    dataset: str, candidate: str, outcome: str
) -> None:
    found = evaluate("cameras", dataset, candidate=candidate)
    goodput, cpu = found.chosen.findings
    made = {one.name: one.value for one in found.derivations}
    assert made["picture.total_goodput_bps"] == pytest.approx(71.663616e9)
    assert goodput.outcome == outcome
    assert cpu.outcome == "undecided"  # the CPU on a fast link was not measured
    (whole,) = found.chosen.readings
    assert whole.outcome == (outcome if outcome == "not met" else "undecided")

"""Use cases: the document and its refusals, derivations, bounds, and verdicts on known data."""

from __future__ import annotations

import cProfile
import dataclasses
import hashlib
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fits_case import lab
from icmodel.dataset import Dataset, StatedLimit, load
from icmodel.errors import UseCaseError
from icmodel.estimate import Estimate
from icmodel.model import Model
from icmodel.requirement import Requirement
from icmodel.scenario import Scenario
from icmodel.solve import Trial, least_met_fps, least_rate_fps
from icmodel.usecase import (
    Evaluation,
    Finding,
    UseCase,
    derive,
    evaluate,
    hosts,
    judge_candidates,
    load_usecase,
    new_usecase_text,
    read_usecase,
    usecase_schema,
)
from icmodel.usecase.document import Medium
from icmodel.usecase.judging import (
    StreamBounds,
    at_full_interface,
    estimate_for,
    no_rate,
    of_last_frame,
    with_delays,
)
from icmodel.usecase.result import Answer, others_beyond
from search import times

# --- a dataset and a use case whose answers are known -------------------------------------------

COLUMNS = (
    "protocol,payload_bytes,load_bps,cores,switches,endpoints,other_goodput_bps,"
    "metric,value,std,low,high,n,basis,source"
)
ROWS = """\
echo,1000,,,,,,rtt_half_mean_s,0.00001,,0.000009,0.000012,,assumed,toy
echo,1000,,,,,,rtt_half_p99_s,0.00002,,0.00002,0.00002,,assumed,toy
tcp,1000,1000000000,,,,,cpu_recv,0.2,,0.15,0.25,,assumed,toy
tcp,1000,1000000000,,,,,latency_mean_s,0.0001,,0.00009,0.00011,,assumed,toy
tcp,1000,inf,,,,,goodput_bps,5000000000,,5000000000,5000000000,,assumed,toy
"""
DATASET = """\
schema_version = 1
id = "toy"
title = "five rows"
edition = "1"
sha256 = "{sha256}"
default_variant = "corrected"
default_protocol = "tcp"
protocols = ["echo", "tcp"]
licence = "none"
citation = "made up"
known_limits = ["made up"]
[interconnect]
kind = "ethernet"
line_rate_bps = 10_000_000_000
mtu_bytes = 1500
[axes.payload_bytes]
meaning = "useful bytes"
unit = "B"
"""
WIRE_S = (1000 + 20 + 32 + 38 - 12) * 8 / 10e9
"""A TCP frame of 1000 B on the wire: IP, TCP with timestamps, Ethernet."""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("toy")
    body = f"{COLUMNS}\n{ROWS}".encode()
    (folder / "points.csv").write_bytes(body)
    sealed = DATASET.format(sha256=hashlib.sha256(body).hexdigest())
    (folder / "dataset.toml").write_text(sealed, encoding="utf-8")
    return load(folder)


def document(
    requirement: str = 'metric = "goodput_bps"\nat_least = "1 Gb/s"',
    scenario: str = 'protocol = "tcp"\npayload = "1000 B"\nrate = "125000/s"',
    stream: str = 'kind = "goodput"\ngoodput = "1 Gb/s"',
    candidate: str = "",
    more: str = "",
) -> str:
    """Use case of one stream; one display receives four of it."""
    return f"""
schema_version = 1
name = "toy"
title = "toy"
question = "?"
source = "made up"
default_candidate = "a"
{more}
[[devices]]
name = "camera"
count = 4
sends = {{ s = 1 }}
[[devices]]
name = "display"
receives = {{ s = 4 }}
[[streams]]
name = "s"
{stream}
[[requirements]]
name = "it"
{requirement}
[[candidates]]
name = "a"
{candidate}
[candidates.scenarios.s]
{scenario}
"""


def judged(data: Dataset, **parts: str) -> Finding:
    return evaluate(read_usecase(document(**parts)), data).chosen.findings[0]


# --- the document: what is refused, in one sentence ---------------------------------------------

TEMPLATE = new_usecase_text("mine")

WRONG = [
    ('rate = "50 Hz"', 'rate = "50 Hz"\nfps = 3', "streams no. 1.*'fps' is unknown.*rate"),
    (
        "schema_version = 1",
        "schema_version = 1\nqos = 1",
        "^mine.toml, line 6: the key 'qos' is unknown",
    ),
    ("cores = 4", "cores = 4\nhops = 1", "candidates no. 1, scenarios, video.*'hops'.*switches"),
    ('metric = "goodput_bps"\n', "", "requirements no. 1 has no metric"),
    ('"goodput_bps"\n', '"latency"\n', "no metric 'latency': use one of goodput_bps"),
    ('"goodput_bps"\n', '"latency_p5_s"\n', "unclear: write latency_p05_s for 5 %, or latency_p50"),
    ('rate = "50 Hz"\n', "", "streams no. 1 has no rate"),
    ('"50 Hz"', '"50 kb"', "'50 kb' has the unknown unit 'kb'"),
    ('rate = "50 Hz"', "rate = 50", "rate = 50 has no unit.*rate_hz = 50"),
    ('rate = "50 Hz"', 'rate = "50 Hz"\nrate_hz = 50', "rate_hz is given twice"),
    ('"80 %"', "0.8", "at_most is 0.8: write a text"),
    ('"80 %"', '"0.8"', "'0.8' has no unit"),
    ('"80 %"', '"video.goodput_bps"', "compares cpu_recv with video.goodput_bps = 2.48832 Gb"),
    ('"video.goodput_bps"\n', '"movie.goodput_bps"\n', "no derived number 'movie.goodput_bps'"),
    ('kind = "image"\nw', 'kind = "film"\nw', "kind 'film': the kinds are image, samples, goodput"),
    ('kind = "image"\nw', "w", "streams no. 1 has no kind"),
    ("width_px = 1920", "width_px = 1920.5", "width_px is 1920.5: write a whole number"),
    ("width_px = 1920", f"width_px = {10**20}", f"width_px is {10**20}: .* 9007199254740992"),
    ("count = 1", f"count = {10**20}", f"count is {10**20}"),
    ("cores = 4", f"cores = {10**20}", f"cores is {10**20}"),
    ("switches = 1", f"switches = {10**20}", f"switches {10**20} is not possible"),
    ('depth = "24 bit"', "depth_bits = 1e305", "exceeds the floating-point range"),
    ('"65535 B"', '"65535 b"', "'65535 b' has the unknown unit"),
    ('"65535 B"', '"0 B"', "payload_bytes is 0"),
    ('"4750/s"', '"-1/s"', "'-1/s' is negative"),
    ('rate = "4750/s"', "rate_fps = inf", "rate_fps is inf"),
    ("switches = 1\n\n", 'other_goodput = "1 Gb/s"\n\n', "endpoints is 1"),
    ('= "tcp"            ', '= "dccp" ', "default_candidate is 'dccp'.*name one of tcp, udp"),
    ("[candidates.scenarios.video]", "[candidates.scenarios.audio]", "'audio'.*one of video"),
    ('interconnect = "rest"', 'interconnect = "12 ms"', "add up to 45 ms, but its total is 50 ms"),
    ('interconnect = "rest"', 'interconnect = "22 ms"', "add up to 55 ms, but its total is 50 ms"),
    ('capture = "33 ms"', 'capture = "33 B"', "'33 B' has the unknown unit"),
    (
        "schema_version = 1",
        "schema_version = 2",
        "schema_version is 2: this icmodel reads version 1",
    ),
    ('name = "mine"', 'name = "My Case"', "name is 'My Case': use lower-case letters"),
    ('name = "display"', 'name = "camera"', "two devices are named 'camera'"),
    ('device = "display" ', 'device = "camera" ', "not among the streams that camera receives"),
    ('"latency_mean_s"', '"latency_mean_s"\ndevice = "display"', "device sums a CPU metric"),
    ("[[budgets]]", "[budgets]", r"budgets is .*\[\[ \]\]"),
    ("[medium]", "[medium", "mine.toml is not valid TOML"),
]


@pytest.mark.parametrize(("right", "wrong", "message"), WRONG)
def test_a_wrong_document_is_refused_in_one_sentence(right: str, wrong: str, message: str) -> None:
    assert right in TEMPLATE
    with pytest.raises(UseCaseError, match=message) as refusal:
        read_usecase(TEMPLATE.replace(right, wrong, 1), "mine.toml")
    assert str(refusal.value).startswith("mine.toml")
    assert "\n" not in str(refusal.value)


def test_a_missing_use_case_names_those_there_are() -> None:
    with pytest.raises(UseCaseError, match="'imagin': use cameras, imaging or motion-control"):
        load_usecase("imagin")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UseCaseError, match="not a text in UTF-8"):
        load_usecase(path)


def test_the_two_spellings_of_a_quantity_are_one() -> None:
    other = TEMPLATE.replace('rate = "50 Hz"', "rate_hz = 50").replace("_m = 10", ' = "10 m"')
    assert other != TEMPLATE
    assert read_usecase(other) == read_usecase(TEMPLATE)


def test_a_new_use_case_evaluates_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TEMPLATE, encoding="utf-8")
    evaluation = evaluate(path, "ethernet-10g-2012")
    assert evaluation.usecase.name == "mine"
    assert evaluation.verdict == "met"
    assert TEMPLATE.count("# ") > 20


@pytest.mark.parametrize("name", ["", "My Case", "3d", "a/b"])
def test_a_new_use_case_needs_a_plain_name(name: str) -> None:
    with pytest.raises(UseCaseError, match="lower-case letters"):
        new_usecase_text(name)


def test_the_schema_has_both_spellings_and_every_table() -> None:
    schema = usecase_schema()
    json.dumps(schema)
    assert set(UseCase.model_fields) <= set(schema["properties"])
    image = schema["$defs"]["ImageStream"]
    assert {"depth", "depth_bits", "rate", "rate_hz"} <= set(image["properties"])
    assert {"oneOf": [{"required": ["rate"]}, {"required": ["rate_hz"]}]} in image["allOf"]
    assert image["additionalProperties"] is False


# --- derivations --------------------------------------------------------------------------------

SAMPLES = 'kind = "samples"\nsize = "16 bit"\n'


def test_samples_divide_over_connections_and_time() -> None:
    stream = SAMPLES + 'cycle = "10 kHz"\nconnections = 3\nimbalance = "50 %"'
    made = derive(read_usecase(document(stream=stream)))
    assert made["s.count"].value == 4
    assert made["s.total_goodput_bps"].value == 4 * 16 * 10_000
    assert made["s.goodput_bps"].value == 4 * 16 * 10_000 * 1.5 / 3
    assert made["s.connection_samples"].value == 2
    assert made["s.payload_bytes"].value == 4
    assert "s.goodput_at_distance_bps" not in made


def test_the_cable_takes_its_time_from_the_samples() -> None:
    medium = "[medium]\ndistance_m = 100\npropagation_s_per_m = 5e-9"
    made = derive(read_usecase(document(stream=SAMPLES + 'within = "1 us"', more=medium)))
    assert made["s.total_goodput_bps"].value == 64e6
    assert made["s.total_goodput_at_distance_bps"].value == 128e6
    with pytest.raises(
        UseCaseError, match="the cable takes 500 ns, but the samples s must arrive within 400 ns"
    ):
        read_usecase(document(stream=SAMPLES + 'within = "400 ns"', more=medium))


def test_a_budget_splits_a_cycle_and_another_budget_its_part() -> None:
    more = """
[[budgets]]
name = "loop"
cycle = "1 kHz"
parts = { compute = "0.7 ms", talk = "rest" }
[[budgets]]
name = "talk"
total = "loop.talk_s"
parts = { there = "0.1 ms", back = "rest" }
"""
    made = derive(read_usecase(document(more=more)))
    assert made["loop.talk_s"].value == 0.0003
    assert made["talk.back_s"].value == 0.0002
    assert made["talk.back_s"].formula == "300 µs − 100 µs"


def test_a_count_that_contradicts_the_devices_is_refused() -> None:
    with pytest.raises(UseCaseError, match="count = 5, but its devices send 4"):
        read_usecase(document(stream='kind = "goodput"\ngoodput = "1 Gb/s"\ncount = 5'))


@given(st.floats(1, 1e12), st.integers(1, 65535))
def test_the_least_rate_carries_and_one_less_does_not(goodput: float, payload: int) -> None:
    rate = least_rate_fps(goodput, payload)
    assert (rate - 1) * payload * 8 < goodput <= rate * payload * 8


# --- bounds -------------------------------------------------------------------------------------


def known(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low, high, "measured", "", ("measured",))


def ends(**metrics: Estimate) -> StreamBounds:
    return StreamBounds(metrics, least_latency_s=1e-6, greatest_goodput_bps=9e9)


def test_a_metric_of_its_own_is_taken_as_it_is() -> None:
    own = known(2.0, 1.0, 3.0)
    assert estimate_for("latency_p99_s", ends(latency_p99_s=own)) is own


def test_a_missing_quantile_lies_under_the_maximum_and_over_the_lower_ones() -> None:
    there = ends(
        latency_min_s=known(2, 1, 3), latency_p50_s=known(5, 4, 6), latency_max_s=known(8, 7, 9)
    )
    p99 = estimate_for("latency_p99_s", there)
    assert (p99.low, p99.high, p99.basis) == (4, 9, "derived")
    assert "latency_max_s" in p99.why
    p10 = estimate_for("latency_p10_s", there)
    assert (p10.low, p10.high) == (1, 6)


def test_a_missing_maximum_is_at_least_the_mean_and_has_no_upper_end() -> None:
    bound = estimate_for("latency_max_s", ends(latency_mean_s=known(5, 4, 6)))
    assert (bound.low, bound.high) == (4, math.inf)
    assert math.isnan(bound.value)


def test_the_mean_bounds_no_quantile_and_no_quantile_the_mean() -> None:
    assert estimate_for("latency_p50_s", ends(latency_mean_s=known(5, 4, 6))).low == 1e-6
    mean = estimate_for("latency_mean_s", ends(latency_p99_s=known(5, 4, 6)))
    assert (mean.low, mean.high) == (1e-6, math.inf)


def test_what_the_source_states_bounds_what_nobody_measured() -> None:
    stated = (
        StatedLimit("latency_mean_s", None, 2.0, math.inf, ""),
        StatedLimit("latency_max_s", None, 0.0, 7.0, ""),
    )
    bound = estimate_for("latency_max_s", dataclasses.replace(ends(), stated=stated))
    assert (bound.low, bound.high) == (2.0, 7.0)
    least = (StatedLimit("latency_min_s", None, 0.0, 3.0, ""),)
    bound = estimate_for("latency_max_s", dataclasses.replace(ends(), stated=least))
    assert bound.high == math.inf


def test_half_a_round_trip_stands_in_by_name() -> None:
    mean = estimate_for("latency_mean_s", ends(rtt_half_mean_s=known(5, 4, 6)))
    assert (mean.value, mean.low, mean.high) == (5, 1e-6, 12)
    assert "replaces the one-way" in mean.why
    whole = estimate_for("latency_mean_s", ends(rtt_mean_s=known(10, 8, 12)))
    assert (whole.value, whole.low, whole.high) == (5, 1e-6, 12)
    no_theory = StreamBounds({"rtt_mean_s": known(10, 8, 12)}, None, None)
    assert estimate_for("latency_mean_s", no_theory).low == 0
    assert estimate_for("latency_p99_s", ends(rtt_half_max_s=known(5, 4, 6))).high == 12
    beyond = Estimate(5, 4, 6, "extrapolated", "", ("extrapolated",))
    bound = estimate_for("latency_p99_s", ends(rtt_half_max_s=beyond))
    assert bound.basis == "extrapolated"
    assert "stated" not in bound.bases


def test_a_round_trip_shorter_than_the_wire_allows_does_not_stand_in() -> None:
    empty_call = StreamBounds(
        {"rtt_mean_s": known(5, 4, 6)}, least_latency_s=7, greatest_goodput_bps=None
    )
    bound = estimate_for("latency_mean_s", empty_call)
    assert (bound.low, bound.high) == (7, math.inf)
    small_answer = StreamBounds({"rtt_mean_s": known(8, 8, 8)}, 7, None)
    bound = estimate_for("latency_mean_s", small_answer)
    assert (bound.value, bound.low, bound.high) == (7, 7, 8)


def test_theory_bounds_a_goodput_nobody_measured() -> None:
    goodput = estimate_for("goodput_bps", ends())
    assert (goodput.low, goodput.high, goodput.basis) == (0, 9e9, "theory")


def test_a_spread_or_a_load_of_the_cpu_has_no_bound() -> None:
    for metric in ("latency_std_s", "cpu_send"):
        assert math.isnan(estimate_for(metric, ends(latency_max_s=known(8, 7, 9))).high)


@given(st.lists(st.floats(1e-6, 1), min_size=5, max_size=5), st.sampled_from([50, 99, 999]))
def test_a_bound_holds_whatever_the_latencies_are(latencies: list[float], digits: int) -> None:
    """Latencies of five frames: every statistic lies within the bounds by the others."""
    ordered = sorted(latencies)
    place = math.ceil(digits / 10 ** len(str(digits)) * 5) - 1
    mean = min(max(math.fsum(ordered) / 5, ordered[0]), ordered[-1])
    there = ends(
        latency_min_s=known(*[ordered[0]] * 3),
        latency_max_s=known(*[ordered[-1]] * 3),
        latency_mean_s=known(*[mean] * 3),
    )
    bound = estimate_for(f"latency_p{digits}_s", there)
    assert bound.low <= ordered[place] <= bound.high


# --- verdicts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "outcome", "margin"),
    [("120 us", "met", 1 / 6), ("105 us", "undecided", 1 / 21), ("80 us", "not met", -0.25)],
)
def test_an_interval_is_met_not_met_or_straddles(
    toy: Dataset, limit: str, outcome: str, margin: float
) -> None:
    found = judged(toy, requirement=f'metric = "latency_mean_s"\nat_most = "{limit}"')
    assert found.outcome == outcome
    assert found.verdict.margin == pytest.approx(margin)


def test_a_request_within_the_share_is_exact(toy: Dataset) -> None:
    found = judged(toy)
    assert found.outcome == "met"
    assert found.verdict.estimate.low == found.verdict.estimate.high == 1e9
    assert found.asked_margin == 0  # exactly the needed rate is requested,
    assert found.verdict.margin == 1  # and the other three leave 2 of 5 Gb/s
    assert found.verdict.limiting == "share"


def test_a_rate_that_falls_short_is_told_the_least_that_does(toy: Dataset) -> None:
    found = judged(toy, scenario='protocol = "tcp"\npayload = "1000 B"\nrate = "124999/s"')
    assert found.outcome == "not met"
    assert found.least_rate_fps == 125_000
    assert found.verdict.limiting == "request"


def test_a_candidate_without_a_rate_is_asked_for_what_its_stream_needs(toy: Dataset) -> None:
    said = judged(toy, scenario='protocol = "tcp"\npayload = "1000 B"\nrate = "125000/s"')
    unsaid = judged(toy, scenario='protocol = "tcp"\npayload = "1000 B"')
    assert unsaid == said
    assert unsaid.outcome == "met"


def test_a_goodput_no_rate_reaches_says_so(toy: Dataset) -> None:
    found = judged(
        toy,
        requirement='metric = "goodput_bps"\nat_least = "6 Gb/s"',
        scenario='protocol = "tcp"\npayload = "1000 B"\nrate = "750000/s"\nendpoints = 1',
    )
    assert found.outcome == "not met"
    assert found.least_rate_fps is None
    assert found.remedy == "no rate meets it with frames of 1000 B, which carry at most 5 Gb/s"


def cautious(rate_fps: float | None) -> Estimate:
    """Goodput of frames of 1000 B up to 4 Gb/s; the low is 0.1 % below the request, at most 3.8 Gb/s."""
    asked = math.inf if rate_fps is None else 8000 * rate_fps
    return known(min(asked, 4e9), min(0.999 * asked, 3.8e9), min(1.001 * asked, 4e9))


@given(st.integers(1, 600_000))
def test_the_least_rate_that_does_is_met_and_one_less_is_not(rate: int) -> None:
    """The rate of just the required goodput is undecided; the found rate achieves it."""
    trial = Trial(Requirement("it", "goodput_bps", at_least=8000.0 * rate), 1000, cautious)
    found = least_met_fps(trial)
    if found is None:
        assert 8000 * rate > 3.8e9
        assert trial.outcome(trial.greatest_fps) != "met"
    else:
        assert found > rate
        assert (trial.outcome(found), trial.outcome(found - 1)) == ("met", "undecided")


def test_what_no_rate_surely_does_is_not_said_to_be_impossible() -> None:
    short = Trial(Requirement("it", "goodput_bps", at_least=3.9e9), 1000, cautious)
    assert least_met_fps(short) is None
    assert no_rate(short) == (
        "no rate surely meets it with frames of 1000 B, which carry at most 4 Gb/s "
        "(3.8 Gb/s – 4 Gb/s)"
    )
    never = Trial(Requirement("it", "goodput_bps", at_least=4.1e9), 1000, cautious)
    assert no_rate(never) == "no rate meets it with frames of 1000 B, which carry at most 4 Gb/s"
    unknown = Trial(never.requirement, 1000, lambda _: None)
    assert least_met_fps(unknown) is None
    assert no_rate(unknown) == "no rate is known to meet it with frames of 1000 B"


def test_what_only_goes_without_a_rate_says_so() -> None:
    def unlimited(rate_fps: float | None) -> Estimate:
        return known(4e9, 3.95e9, 4e9) if rate_fps is None else cautious(rate_fps)

    trial = Trial(Requirement("it", "goodput_bps", at_least=3.9e9), 1000, unlimited)
    assert least_met_fps(trial) is None
    assert no_rate(trial).endswith("; an unlimited rate does")


@pytest.mark.parametrize("rate", [12_400, 12_499])
def test_under_hybrid_the_remedy_is_the_rate_that_is_required(rate: int) -> None:
    """12 500 frames of 1000 B are 100 Mb/s, far below the capacity: TCP delivers exactly what it sends."""
    data = lab()
    parts = {
        "requirement": 'metric = "goodput_bps"\nat_least = "100 Mb/s"',
        "stream": 'kind = "goodput"\ngoodput = "100 Mb/s"',
    }
    frames = 'protocol = "tcp"\npayload = "1000 B"\nrate = "{}/s"'
    found = judged(data, scenario=frames.format(rate), **parts)
    assert found.outcome == "not met"
    assert found.least_rate_fps == 12_500
    assert found.remedy == "12500 frames/s is the least rate that achieves it"
    assert judged(data, scenario=frames.format(12_500), **parts).outcome == "met"


def test_theory_alone_can_refuse_and_never_approves(toy: Dataset) -> None:
    late = judged(toy, requirement='metric = "latency_p99_s"\nat_most = "0.1 us"')
    assert late.outcome == "not met"
    assert late.verdict.estimate.low == pytest.approx(WIRE_S)
    assert late.verdict.margin == pytest.approx(1 - WIRE_S / 1e-7)
    open_end = judged(toy, requirement='metric = "latency_p99_s"\nat_most = "1 s"')
    assert open_end.outcome == "undecided"
    assert math.isnan(open_end.verdict.margin)


def test_bounds_alone_have_the_margin_of_the_end_that_decides(toy: Dataset) -> None:
    """No frame is faster than the wire; the slowest frame has no bound."""
    early = judged(toy, requirement='metric = "latency_p99_s"\nat_least = "0.5 us"')
    assert early.outcome == "met"
    assert early.verdict.estimate.high == math.inf
    assert early.verdict.margin == pytest.approx(WIRE_S / 0.5e-6 - 1)


def test_the_streams_of_one_host_are_summed(toy: Dataset) -> None:
    sum_of_four = 'metric = "cpu_recv"\ndevice = "display"\nat_most = "90 %"'
    found = judged(toy, requirement=sum_of_four)
    estimate = found.verdict.estimate
    assert found.streams == 4
    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((0.6, 0.8, 1.0))
    assert found.outcome == "undecided"
    split = judged(toy, requirement=sum_of_four, candidate="hosts = { display = 2 }")
    assert split.streams == 2
    assert split.outcome == "met"
    uneven = judged(toy, requirement=sum_of_four, candidate="hosts = { display = 3 }")
    assert uneven.streams == 2  # one of the three has two of the four


def test_a_sum_rests_on_all_that_one_stream_rests_on(toy: Dataset) -> None:
    """Below the lowest measured load, an assumed row is extrapolated."""
    sum_of_four = 'metric = "cpu_recv"\ndevice = "display"\nat_most = "90 %"'
    slow = 'protocol = "tcp"\npayload = "1000 B"\nrate = "50000/s"'
    found = judged(toy, requirement=sum_of_four, scenario=slow)
    assert set(found.verdict.estimate.bases) == {"assumed", "extrapolated", "derived"}


def test_the_sum_of_a_host_is_derived_from_one_stream(toy: Dataset) -> None:
    text = document(requirement='metric = "cpu_recv"\ndevice = "display"\nat_most = "90 %"')
    derived = {one.name: one for one in evaluate(read_usecase(text), toy).chosen.derivations}
    told = derived["display.cpu_recv"]
    assert told.value == pytest.approx(0.8)
    assert told.formula == "4 × 20 %"


def test_a_load_of_the_cpu_that_limits_nothing_is_not_called_a_limit(toy: Dataset) -> None:
    found = judged(toy, requirement='metric = "cpu_recv"\nat_most = "90 %"')
    assert found.verdict.limiting == ""


def test_a_latency_is_limited_by_its_longest_term(toy: Dataset) -> None:
    """The frame takes 0.9 us on the wire, and the hosts take the rest of 100 us."""
    found = judged(toy, requirement='metric = "latency_mean_s"\nat_most = "1 ms"')
    answer = Model(toy).predict(protocol="tcp", payload_bytes=1000, rate_fps=125_000)
    terms = answer.explain().latency_terms
    assert found.verdict.limiting in terms
    assert terms[found.verdict.limiting] > 9e-5


def test_the_interfaces_of_a_host_follow_from_what_one_carries(toy: Dataset) -> None:
    scenario = 'protocol = "tcp"\npayload = "1000 B"\nrate = "375000/s"'
    text = document(stream='kind = "goodput"\ngoodput = "3 Gb/s"', scenario=scenario)
    chosen = evaluate(read_usecase(text), toy).chosen
    numbers = {one.name: one.value for one in chosen.derivations}
    assert numbers["display.interfaces"] == 4  # two streams of 3 Gb/s exceed 5 Gb/s
    assert numbers["devices.interfaces"] == 4 + 4
    assert numbers["display.s-per-interface"] == 1
    assert chosen.answers[0].asked.endpoints == 1


def cameras(interfaces: int | None, endpoints: str = "", receives: int = 4) -> str:
    """Four cameras of 3 Gb/s into one display."""
    scenario = f'protocol = "tcp"\npayload = "1000 B"\nrate = "375000/s"\n{endpoints}'
    text = document(stream='kind = "goodput"\ngoodput = "3 Gb/s"', scenario=scenario)
    text = text.replace('at_least = "1 Gb/s"', 'at_least = "3 Gb/s"')
    said = "" if interfaces is None else f"interfaces = {interfaces}\n"
    return text.replace("receives = { s = 4 }", f"{said}receives = {{ s = {receives} }}")


@pytest.mark.parametrize(
    ("interfaces", "outcome"),
    [(1, "not met"), (2, "not met"), (3, "not met"), (4, "met"), (None, "met")],
)
def test_who_meets_at_an_interface_follows_from_the_devices(
    toy: Dataset, interfaces: int | None, outcome: str
) -> None:
    """One interface carries 5 Gb/s: two streams of 3 Gb/s do not fit, and none is added."""
    chosen = evaluate(read_usecase(cameras(interfaces)), toy).chosen
    assert chosen.outcome == outcome
    if interfaces is not None:
        meet = math.ceil(4 / interfaces)
        typed = f'endpoints = {meet}\nother_goodput = "{3 * (meet - 1)} Gb/s"'
        by_hand = evaluate(read_usecase(cameras(interfaces, typed)), toy).chosen
        assert by_hand.outcome == outcome
        assert by_hand.findings[0].verdict.estimate == chosen.findings[0].verdict.estimate
        numbers = {one.name: one.value for one in chosen.derivations}
        assert numbers["devices.interfaces"] == 4 + interfaces
        assert any("interface(s)" in note for note in chosen.notes) == (interfaces < 4)


def test_fewer_endpoints_than_meet_are_refused() -> None:
    for said in ("endpoints = 1", "endpoints = 3"):
        with pytest.raises(UseCaseError, match=r"has endpoints = . for s, but 4 of them meet"):
            read_usecase(cameras(1, said))


def test_a_device_has_interfaces_enough_for_as_many_as_are_said_to_meet(toy: Dataset) -> None:
    """One interface carries all four streams of 1 Gb/s; with at most three on one, two are needed."""
    text = cameras(None, "endpoints = 3").replace("3 Gb/s", "1 Gb/s")
    found = {one.name: one.value for one in evaluate(read_usecase(text), toy).chosen.derivations}
    assert (found["display.interfaces"], found["devices.interfaces"]) == (1, 4 + 2)


@pytest.mark.parametrize(("received", "sent", "more"), [(4, 2, "received"), (2, 4, "sent")])
def test_a_device_has_interfaces_for_what_it_sends_or_receives_whichever_is_more(
    toy: Dataset, received: int, sent: int, more: str
) -> None:
    """One interface carries 5 Gb/s, so each stream of 3 Gb/s needs its own."""
    back = '[[streams]]\nname = "back"\nkind = "goodput"\ngoodput = "3 Gb/s"\n[[requirements]]'
    scenario = (
        '\n[candidates.scenarios.back]\nprotocol = "tcp"\npayload = "1000 B"\nrate = "375000/s"\n'
    )
    text = cameras(None).replace("[[requirements]]", back + '\nstream = "s"') + scenario
    text = text.replace("count = 4", f"count = {received}")
    text = text.replace(
        "receives = { s = 4 }", f"receives = {{ s = {received} }}\nsends = {{ back = {sent} }}"
    )
    derived = {one.name: one for one in evaluate(read_usecase(text), toy).chosen.derivations}
    assert derived["display.interfaces"].value == 4
    assert derived["display.interfaces"].meaning.endswith(f"for its {more} streams")


@pytest.mark.parametrize("receives", [5, 9])
def test_no_device_receives_more_than_is_sent(receives: int) -> None:
    with pytest.raises(UseCaseError, match=f"receives {receives} of s, but there are only 4"):
        read_usecase(cameras(1, receives=receives))


@given(st.integers(1, 40), st.integers(1, 4000), st.integers(1, 2000), st.floats(0.1, 100))
@settings(max_examples=times(8))
def test_the_verdict_does_not_depend_on_the_spelling(
    count: int, size: int, cycle: int, percent: float
) -> None:
    """As goodput or as samples, each on a connection of its own: the same load, the same verdict."""
    central = load("ethernet-10g-2012")
    limit = f'metric = "cpu_recv"\ndevice = "display"\nat_most = "{percent:.3f} %"'
    scenario = f'protocol = "tcp"\npayload = "{size} B"\nrate = "{cycle}/s"'
    as_goodput = f'kind = "goodput"\ngoodput_bps = {float(size * 8 * cycle)}'
    as_samples = (
        f'kind = "samples"\nsize_bits = {size * 8}.0\ncycle_hz = {cycle}.0\nconnections = {count}'
    )
    told = []
    for stream in (as_goodput, as_samples):
        text = document(requirement=limit, stream="STREAM", scenario=scenario)
        text = text.replace("count = 4", f"count = {count}").replace("s = 4", f"s = {count}")
        text = text.replace("STREAM", stream)
        found = evaluate(read_usecase(text), central).chosen.findings[0]
        told.append((found.outcome, found.streams, found.verdict.estimate.value))
    assert told[0] == told[1]


def test_samples_within_a_time_must_arrive_in_it(toy: Dataset) -> None:
    """Samples must also arrive in time, unless the file requires at least as much."""
    cpu = 'metric = "cpu_recv"\nat_most = "90 %"'
    for time, outcome in (("1 s", "met"), ("1 us", "not met")):
        samples = f'kind = "samples"\nsize = "8000 bit"\nwithin = "{time}"'
        text = document(requirement=cpu, stream="STREAM").replace("STREAM", samples)
        (late,) = (
            one
            for one in evaluate(read_usecase(text), toy).chosen.findings
            if one.verdict.requirement.metric == "latency_mean_s"
        )
        assert (late.title, late.outcome) == (
            "what is produced arrives within its time, s",
            outcome,
        )
        said = f'metric = "latency_max_s"\nat_most = "{time}"'
        text = document(requirement=said, stream="STREAM").replace("STREAM", samples)
        judged = evaluate(read_usecase(text), toy).chosen.findings
        assert [one.verdict.requirement.metric for one in judged] == [
            "latency_max_s",
            "goodput_bps",
        ]


def test_a_frame_holds_no_more_than_the_samples_of_a_connection(toy: Dataset) -> None:
    """1000 B of samples per millisecond are 1000 frames/s for any payload of the scenario."""
    samples = 'kind = "samples"\nsize = "8000 bit"\ncycle = "1 kHz"'
    for payload in (1000, 8000):
        scenario = f'protocol = "tcp"\npayload = "{payload} B"'
        text = document(
            requirement='metric = "cpu_recv"\nat_most = "90 %"', stream="STREAM", scenario=scenario
        )
        text = (
            text.replace("STREAM", samples)
            .replace("count = 4", "count = 1")
            .replace("s = 4", "s = 1")
        )
        (answer,) = evaluate(read_usecase(text), toy).chosen.answers
        assert (answer.asked.payload_bytes, answer.asked.rate_fps) == (1000, 1000)
        note = "predicted with frames of 1000 B in place of 8000 B"
        assert any(note in one for one in answer.notes) == (payload == 8000)


TWO_OF_ONE_SENDER = """\
schema_version=1
title="t"
question="q"
source="s"
default_candidate="c"
name="d6"
[[devices]]
name="cam"
interfaces=1
sends={x=1,y=1}
[[devices]]
name="sx"
receives={x=1}
[[devices]]
name="sy"
receives={y=1}
[[streams]]
name="x"
kind="goodput"
goodput="8 Gb/s"
[[streams]]
name="y"
kind="goodput"
goodput="8 Gb/s"
[[requirements]]
name="lat"
stream="x"
metric="latency_mean_s"
at_most="1 ms"
[[candidates]]
name="c"
dataset="ethernet-10g-2012"
[candidates.scenarios.x]
protocol="tcp"
payload="65535 B"
requested_goodput="8 Gb/s"
cores=4
[candidates.scenarios.y]
protocol="tcp"
payload="65535 B"
requested_goodput="8 Gb/s"
cores=4
"""


def test_streams_of_two_names_share_the_interface_of_their_sender() -> None:
    """Two streams of 8 Gb/s exceed one interface of 9.4 Gb/s, and pass over two."""
    for interfaces, verdict in ((1, "not met"), (2, "met")):
        text = TWO_OF_ONE_SENDER.replace("interfaces=1", f"interfaces={interfaces}")
        findings = evaluate(read_usecase(text), "ethernet-10g-2012").chosen.findings
        arrives = {
            one.outcome for one in findings if one.verdict.requirement.metric == "goodput_bps"
        }
        assert arrives == {verdict}


@pytest.mark.parametrize(
    ("sends", "interfaces", "verdict"),
    [(4, 3, "not met"), (4, 4, "met"), (3, 3, "met"), (1, 1, "not met"), (1, 2, "met")],
)
def test_no_stream_is_divided_between_the_interfaces_of_its_sender(
    sends: int, interfaces: int, verdict: str
) -> None:
    """Two streams of 4.8 Gb/s exceed an interface of 9.4 Gb/s, though four fill only two thirds of three."""
    text = (
        TWO_OF_ONE_SENDER.replace("interfaces=1", f"interfaces={interfaces}")
        .replace("sends={x=1,y=1}", f"sends={{x={sends},y={1 if sends == 1 else 0}}}")
        .replace(",y=0", "")
        .replace("receives={x=1}", f"interfaces={sends}\nreceives={{x={sends}}}")
        .replace('8 Gb/s"', '4.8 Gb/s"')
    )
    findings = evaluate(read_usecase(text), "ethernet-10g-2012").chosen.findings
    assert next(one for one in findings if one.title.startswith("what is produced")).outcome == (
        verdict
    )


@pytest.mark.parametrize(("interfaces", "verdict"), [(1, "not met"), (2, "met"), (None, "met")])
def test_streams_of_two_names_do_not_meet_at_a_receiver_with_room(
    interfaces: int | None, verdict: str
) -> None:
    stated = "" if interfaces is None else f"interfaces={interfaces}\n"
    text = (
        TWO_OF_ONE_SENDER.replace("interfaces=1", "interfaces=2")
        .replace("receives={x=1}", f"{stated}receives={{x=1,y=1}}")
        .replace('[[devices]]\nname="sy"\nreceives={y=1}\n', "")
    )
    evaluation = evaluate(read_usecase(text), "ethernet-10g-2012")
    assert {
        one.outcome
        for one in evaluation.chosen.findings
        if one.verdict.requirement.metric == "goodput_bps"
    } == {verdict}


@given(
    st.lists(st.tuples(st.integers(1, 2), st.integers(1, 50)), min_size=1, max_size=3),
    st.integers(1, 3),
)
@settings(max_examples=times(20))
def test_the_fullest_interface_is_nearly_as_empty_as_can_be(
    streams: list[tuple[int, int]], count: int
) -> None:
    """MULTIFIT fills no interface by more than 13/11 of the optimum (Yue, 1990)."""
    pieces = sorted(
        (hosts._Piece(f"s{i}", n, Fraction(size)) for i, (n, size) in enumerate(streams)),
        key=lambda piece: -piece.size,
    )
    sizes = {piece.stream: piece.size for piece in pieces}
    loads = hosts._spread(pieces, count)
    fullest = max(sum(n * sizes[name] for name, n in load.items()) for load in loads)
    each = [piece.size for piece in pieces for _ in range(piece.number)]
    best = min(
        max(sum(size for size, at in zip(each, places, strict=True) if at == i) for i in places)
        for places in itertools.product(range(count), repeat=len(each))
    )
    assert best <= fullest <= Fraction(13, 11) * best


def test_the_busiest_connection_carries_whole_samples() -> None:
    """One sample of 8 kb each 2 us on ten connections: one of them carries 4 Gb/s."""
    samples = 'kind = "samples"\nsize = "8000 bit"\nwithin = "2 us"\nconnections = 10'
    text = document(requirement='metric = "cpu_recv"\nat_most = "90 %"', stream="STREAM")
    text = (
        text.replace("STREAM", samples).replace("count = 4", "count = 1").replace("s = 4", "s = 1")
    )
    derived = derive(read_usecase(text))
    assert derived["s.goodput_bps"].value == 4e9
    assert derived["s.payload_bytes"].value == 1000


def test_what_is_met_on_assumed_rows_is_undecided_if_strict(toy: Dataset) -> None:
    text = document(requirement='metric = "cpu_recv"\nat_most = "90 %"')
    plain, strict = (evaluate(read_usecase(text), toy, strict=one) for one in (False, True))
    assert (plain.verdict, plain.exit_code) == ("met", 0)
    assert (strict.verdict, strict.exit_code) == ("undecided", 3)
    found, arrives = strict.chosen.findings
    assert (arrives.title, arrives.outcome) == ("what is produced arrives, s", "undecided")
    assert found.rests_on.basis == "assumed"
    assert found.rests_on.sources == ("toy",)
    assert found.rests_on.settle.startswith("measure cpu_recv of tcp at 1000 B, 1 Gb/s")
    assert "judged strictly" in found.verdict.why
    assert strict.to_dict()["strict"] is True
    late = document(requirement='metric = "cpu_recv"\nat_most = "1 %"')
    assert evaluate(read_usecase(late), toy, strict=True).verdict == "not met"


def test_a_round_trip_is_judged_between_theory_and_the_whole_of_it(toy: Dataset) -> None:
    alone = 'endpoints = 1\nother_goodput = "0 b/s"'
    scenario = f'protocol = "echo"\npayload = "1000 B"\n{alone}'
    for limit, outcome in (("25 us", "met"), ("15 us", "undecided"), ("0.5 us", "not met")):
        found = judged(
            toy,
            requirement=f'metric = "latency_mean_s"\nat_most = "{limit}"',
            scenario=scenario,
        )
        assert found.outcome == outcome
        assert "replaces the one-way" in found.verdict.why
    p99 = judged(toy, requirement='metric = "latency_p99_s"\nat_most = "40 us"', scenario=scenario)
    assert p99.outcome == "met"


def test_a_cable_the_dataset_does_not_know_raises_the_upper_end(toy: Dataset) -> None:
    parts = {
        "requirement": 'metric = "latency_mean_s"\nat_most = "110.4 us"',
        "more": "[medium]\ndistance_m = 100\npropagation_s_per_m = 5e-9",
    }
    at_hand = judged(toy, requirement=parts["requirement"])
    assert at_hand.outcome == "met"
    scenario = 'protocol = "tcp"\npayload = "1000 B"\nrate = "125000/s"\ndistance = "100 m"'
    far = judged(toy, **parts, scenario=scenario)
    assert far.outcome == "undecided"
    assert far.verdict.estimate.high - at_hand.verdict.estimate.high == pytest.approx(0.5e-6)
    assert "100 m of cable" in far.verdict.why
    unsaid = judged(toy, **parts)  # without a distance, the cable of the medium counts
    assert unsaid.verdict.estimate.high == far.verdict.estimate.high
    assert "switch" not in far.verdict.why


def test_a_medium_slower_than_the_dataset_s_cable_raises_the_upper_end() -> None:
    known = Model(load("ethernet-10g-2012")).predict(
        protocol="tcp", payload_bytes=1448, distance_m=100.0
    )
    medium = Medium(distance_m=100.0, propagation_s_per_m=5e-9)
    raised = with_delays(known, known.scenario, medium, None, known_s_per_m=4e-9)
    more = [
        one - other
        for one, other in zip(raised.latency_mean_s.ends, known.latency_mean_s.ends, strict=True)
    ]
    assert more == pytest.approx([0, 0, 100e-9], abs=1e-15)


def test_a_cable_the_dataset_knows_is_counted_once() -> None:
    known = Model(load("ethernet-10g-2012")).predict(
        protocol="tcp", payload_bytes=1448, distance_m=100.0
    )
    again = with_delays(
        known, known.scenario, Medium(distance_m=100.0, propagation_s_per_m=5e-9), None, 5e-9
    )
    assert again.latency_mean_s.ends == known.latency_mean_s.ends


def test_more_switches_open_the_upper_end_and_fewer_the_lower() -> None:
    known = Model(load("ethernet-10g-2012")).predict(protocol="tcp", payload_bytes=1448, switches=1)
    _, low, high = known.latency_mean_s.ends
    fewer, more = (
        with_delays(known, dataclasses.replace(known.scenario, switches=count), None, 1e-6, 0.0)
        for count in (0, 2)
    )
    assert fewer.latency_mean_s.ends[1:] == (1e-6, high)
    assert more.latency_mean_s.ends[1:] == (low, math.inf)


def test_a_cable_delays_all_frames_alike_and_spreads_none(toy: Dataset) -> None:
    mean = next(point for point in toy.points if point.metric == "latency_mean_s")
    spread = mean._replace(metric="latency_std_s", value=1e-5, low=1e-5, high=1e-5)
    found = judged(
        dataclasses.replace(toy, points=(*toy.points, spread)),
        requirement='metric = "latency_std_s"\nat_most = "10 us"',
        more="[medium]\ndistance_m = 100\npropagation_s_per_m = 5e-9",
        scenario='protocol = "tcp"\npayload = "1000 B"\nrate = "125000/s"\ndistance = "100 m"',
    )
    assert found.verdict.estimate.high == 1e-5
    assert found.outcome == "met"


def test_of_rows_at_other_options_beyond_a_limit_the_worst_is_named(toy: Dataset) -> None:
    mean = next(point for point in toy.points if point.metric == "latency_mean_s")
    ways = {"slow": 3e-4, "slower": 9e-4, "slowish": 2e-4}
    data = dataclasses.replace(
        toy,
        option_axes=("read",),
        option_defaults={"read": "fast"},
        points=tuple(mean._replace(options=(way,), value=ways[way]) for way in ways),
    )
    asked = Scenario("tcp", 1000)
    beyond = others_beyond(data, Requirement("it", "latency_mean_s", at_most=1.5e-4), asked)
    assert beyond.startswith("with read = slower the dataset has latency_mean_s of 900 µs")
    assert others_beyond(data, Requirement("it", "latency_mean_s", at_most=9e-4), asked) == ""


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        ('protocol = "rapidio"\npayload = "1000 B"', "toy has no protocol 'rapidio'"),
        ('protocol = "tcp"\npayload = "2000 B"', "payload 2000 B is outside toy"),
    ],
)
def test_a_question_the_dataset_cannot_answer_is_undecided(
    toy: Dataset, scenario: str, why: str
) -> None:
    text = document(scenario=scenario, candidate='dataset = "another"')
    evaluation = evaluate(read_usecase(text), toy)
    assert (evaluation.verdict, evaluation.exit_code) == ("undecided", 3)
    assert evaluation.chosen.answers[0].prediction is None
    assert why in evaluation.chosen.findings[0].verdict.why
    assert "meant for another" in evaluation.chosen.findings[0].verdict.why


def test_a_stream_the_candidate_is_silent_on_is_undecided(toy: Dataset) -> None:
    other = '[[streams]]\nname = "t"\nkind = "goodput"\ngoodput = "1 Gb/s"\n[[requirements]]'
    text = document(requirement='stream = "t"\nmetric = "goodput_bps"\nat_least = "t.goodput_bps"')
    evaluation = evaluate(read_usecase(text.replace("[[requirements]]", other)), toy)
    assert evaluation.verdict == "undecided"
    assert "no scenario for the stream t" in evaluation.chosen.findings[0].verdict.why


def two_candidates() -> str:
    late = '[[candidates]]\nname = "b"\n[candidates.scenarios.s]\nprotocol = "tcp"\n'
    return document() + late + 'payload = "1000 B"\nrate = "1/s"\n'


def test_the_verdict_is_the_chosen_candidates(toy: Dataset) -> None:
    case = read_usecase(two_candidates())
    assert (evaluate(case, toy).verdict, evaluate(case, toy).exit_code) == ("met", 0)
    other = evaluate(case, toy, candidate="b")
    assert (other.verdict, other.exit_code) == ("not met", 1)
    assert [one.outcome for one in other.candidates] == ["met", "not met"]
    with pytest.raises(UseCaseError, match="no candidate 'c': name one of a, b"):
        evaluate(case, toy, candidate="c")


def test_the_same_question_gives_the_same_bytes_and_no_nan(toy: Dataset) -> None:
    def written(evaluation: Evaluation) -> str:
        return json.dumps(evaluation.to_dict(), allow_nan=False, ensure_ascii=False)

    text = document(requirement='metric = "latency_p99_s"\nat_most = "1 s"')
    first = written(evaluate(read_usecase(text), toy, variant="appendix-h"))
    assert first == written(evaluate(read_usecase(text), toy, variant="appendix-h"))
    read = json.loads(first)
    assert read["schema_version"] == 1
    assert read["dataset"]["sha256"] == toy.sha256
    assert (read["variant"], read["candidate"]) == ("appendix-h", "a")
    assert read["candidates"][0]["findings"][0]["margin"] is None


def test_an_evaluation_is_frozen(toy: Dataset) -> None:
    evaluation = evaluate(read_usecase(document()), toy)
    with pytest.raises(dataclasses.FrozenInstanceError):
        evaluation.variant = "other"  # type: ignore[misc]


def test_judged_briefly_each_requirement_comes_out_the_same_without_a_remedy() -> None:
    model = Model("ethernet-10g-2012")
    whole = evaluate("imaging", model.data)
    brief = judge_candidates(
        whole.usecase, whole.usecase.candidates, model, derive(whole.usecase), brief=True
    )
    for one, other in zip(whole.candidates, brief, strict=True):
        assert [f.verdict.to_dict() for f in one.findings] == [
            f.verdict.to_dict() for f in other.findings
        ]
        assert not any(finding.remedy for finding in other.findings)
        assert other.readings == ()
    assert any(finding.remedy for one in whole.candidates for finding in one.findings)


def test_a_candidate_may_ask_for_another_line_rate_which_hybrid_extrapolates_to() -> None:
    case = load_usecase("motion-control")
    said = case.candidates[0].model_dump(exclude_unset=True)
    for question in said["scenarios"].values():
        question["line_rate"] = "40 Gb/s"
    faster = type(case.candidates[0]).model_validate(said)
    (told,) = judge_candidates(
        case, (faster,), Model("ethernet-10g-2012", "hybrid"), derive(case), brief=True
    )
    assert {answer.scenario.line_rate_bps for answer in told.answers} == {40e9}
    goodput = told.findings[0].verdict.estimate
    assert "extrapolated" in goodput.bases
    (left,) = judge_candidates(
        case, (faster,), Model("ethernet-10g-2012"), derive(case), brief=True
    )
    assert {answer.scenario.line_rate_bps for answer in left.answers} == {40e9}
    assert all("use the variant hybrid for 40 Gb/s" in answer.why for answer in left.answers)
    assert all(answer.prediction is None for answer in left.answers)
    assert left.outcome == "undecided"


def test_what_follows_from_a_use_case_is_derived_once() -> None:
    profile = cProfile.Profile()
    profile.runcall(evaluate, "imaging", "ethernet-10g-2012")
    profile.create_stats()
    calls = {name: count for (_, _, name), (count, *_) in profile.stats.items()}
    assert calls["derive_sound_part"] == 1


def test_no_more_than_is_produced_arrives_at_a_higher_rate(toy: Dataset) -> None:
    """1 Gb/s is produced; a rate of 3 Gb/s does not meet a requirement of 2 Gb/s."""
    scenario = 'protocol = "tcp"\npayload = "1000 B"\nrate = "375000/s"'
    text = document(
        stream='kind = "goodput"\ngoodput = "1 Gb/s"',
        requirement='metric = "goodput_bps"\nat_least = "2 Gb/s"',
        scenario=scenario,
    )
    chosen = evaluate(read_usecase(text.replace("s = 4", "s = 1")), toy).chosen
    assert chosen.findings[0].outcome == "not met"
    assert chosen.findings[0].verdict.estimate.high == 1e9
    assert "are produced and arrive" in chosen.answers[0].notes[-1]


@pytest.mark.parametrize(
    ("payload", "rate", "outcome"),
    [
        (65535, "", "met"),  # the second of two frames is sent 655 us after the first
        (1448, "", "not met"),  # the last of 70 is sent after 999 us
        (1448, 'rate = "200000/s"', "met"),  # the last is sent after 345 us
    ],
)
def test_samples_in_several_frames_arrive_with_the_last(
    payload: int, rate: str, outcome: str
) -> None:
    """100 kB within a millisecond, at the rate of 800 Mb/s or faster."""
    samples = 'kind = "samples"\nsize = "800000 bit"\nwithin = "1 ms"'
    scenario = f'protocol = "tcp"\npayload = "{payload} B"\ncores=4\n{rate}'
    cpu = 'metric = "cpu_recv"\nat_most = "100 %"'
    text = document(requirement=cpu, stream="STREAM", scenario=scenario)
    text = text.replace("count = 4", "count = 1").replace("s = 4", "s = 1")
    case = read_usecase(text.replace("STREAM", samples))
    findings = evaluate(case, "ethernet-10g-2012").chosen.findings
    (late,) = (one for one in findings if one.verdict.requirement.metric == "latency_mean_s")
    assert late.outcome == outcome
    assert "frames is sent" in late.verdict.why


def test_a_stream_beside_more_than_its_interface_carries_has_no_greatest_latency() -> None:
    """A control stream of 512 kb/s gets what it needs, but waits in the queue of two streams of 8 Gb/s."""
    text = (
        TWO_OF_ONE_SENDER.replace("sends={x=1,y=1}", "sends={x=1,y=2}")
        .replace('goodput="8 Gb/s"', 'goodput="512 kb/s"', 1)
        .replace('requested_goodput="8 Gb/s"', 'requested_goodput="512 kb/s"', 1)
    )
    for y, outcome in (("8 Gb/s", "undecided"), ("4 Gb/s", "met")):
        chosen = evaluate(read_usecase(text.replace("8 Gb/s", y)), "ethernet-10g-2012").chosen
        latency = next(one for one in chosen.findings if one.title == "lat")
        assert latency.outcome == outcome
        arrives = next(one for one in chosen.findings if one.title.endswith("arrives, x"))
        assert arrives.outcome == "met"


def test_samples_at_a_rate_above_the_wire_take_the_time_of_the_wire() -> None:
    """10 MB take 8.5 ms at 9.4 Gb/s, whatever rate is stated."""
    samples = 'kind = "samples"\nsize = "80000000 bit"\ncycle = "10 Hz"'
    late = 'metric = "latency_mean_s"\nat_most = "2 ms"'
    scenario = 'protocol = "tcp"\npayload = "1448 B"\ncores=4\nrate = "100000000/s"'
    text = document(requirement=late, stream="STREAM", scenario=scenario)
    text = text.replace("count = 4", "count = 1").replace("s = 4", "s = 1")
    finding = evaluate(read_usecase(text.replace("STREAM", samples)), "ethernet-10g-2012").chosen
    estimate = next(one for one in finding.findings if one.verdict.requirement.at_most == 2e-3)
    assert estimate.outcome == "not met"
    assert estimate.verdict.estimate.low > 8e-3


def test_the_last_frame_of_a_stream_that_may_carry_nothing_has_no_upper_end() -> None:
    """Three frames of 1000 B: two of them are sent after the first."""
    first, scenario = Estimate(1e-3, 1e-3, 1e-3, "measured"), Scenario("udp", 1000)
    last = of_last_frame(first, Estimate(8e6, 4e6, 16e6, "measured"), 3000, scenario)
    assert last.ends == pytest.approx((3e-3, 2e-3, 5e-3))
    nothing = of_last_frame(first, Estimate(0.0, 0.0, 0.0, "measured"), 3000, scenario)
    assert math.isnan(nothing.value)
    assert (nothing.low, nothing.high) == (1e-3, math.inf)


def test_a_full_interface_opens_the_upper_ends_of_known_latencies_alone() -> None:
    model = Model(load("ethernet-10g-2012"))
    prediction = model.predict(protocol="tcp", payload="1448 B", requested_goodput="1 Gb/s")
    known = [
        name
        for name, one in prediction.metrics.items()
        if name.startswith("latency_") and not one.absent
    ]
    scenario = prediction.scenario
    answer = at_full_interface(Answer("s", scenario, scenario, prediction, "", (), ()))
    assert answer.prediction is not None
    assert known
    for name, one in answer.prediction.metrics.items():
        before = prediction.metrics[name]
        assert one.absent == before.absent
        assert math.isinf(one.high) == (name in known)
        assert name in known or str(one) == str(before)

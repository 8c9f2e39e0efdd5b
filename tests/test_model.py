"""The model as a whole: what it is asked, what it answers, what it rests on, what it refuses."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import shutil
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import checkout
import generated
import icmodel
from icmodel.dataset import Dataset, load
from icmodel.errors import OutOfDomain, ScenarioError, UnitError
from icmodel.estimate import Prediction
from icmodel.model import PUBLISHED, Model
from icmodel.model.explanation import Explanation
from icmodel.scenario import Options, Scenario
from points import Row

BOTH = pytest.mark.parametrize("variant", PUBLISHED)
CENTRAL = load("ethernet-10g-2012")
MODEL = Model(CENTRAL)
TABLE_8_1: dict[str, Any] = {
    "protocol": "tcp",
    "payload": "65535 B",
    "rate": "6700/s",
    "switches": 1,
    "endpoints": 2,
    "other_goodput": "3.6 Gb/s",
    "cores": 4,
}


def test_a_prediction_is_explained_when_it_is_asked_why(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    estimate_field, law = Explanation.estimate_field, Model(CENTRAL)

    def counted(self: Explanation, name: str, part: str) -> object:
        asked.append(f"{name} {part}")
        return estimate_field(self, name, part)

    monkeypatch.setattr(Explanation, "estimate_field", counted)
    told = law.predict(**TABLE_8_1)
    assert told.goodput_bps.value == float(told["goodput_bps"]) == 3_512_676_000
    assert (told.bottleneck, asked) == ("request", [])
    assert vars(told).keys().isdisjoint(("terms", "bounds", "rows", "notes"))
    assert (told.goodput_bps.basis, asked) == ("derived", ["goodput_bps basis"])
    assert told == law.predict(**TABLE_8_1)


# --- table 8-2 ------------------------------------------------------------------------------------


@BOTH
def test_the_parameters_of_table_8_1_give_table_8_2(variant: str) -> None:
    told = Model(CENTRAL, variant).predict(**TABLE_8_1)
    assert told.goodput_bps.value == 3_512_676_000
    assert told.latency_mean_s.value == pytest.approx(112.9564994e-6, abs=5e-14)
    assert told.latency_std_s.value == pytest.approx(19.8616947e-6, abs=5e-14)
    assert told.cpu_send.value == pytest.approx(0.0706, abs=5e-10)
    assert told.cpu_recv.value == pytest.approx(0.1582, abs=5e-10)
    assert told.loss_rate.value == 0
    assert told.bottleneck == "request"


@BOTH
def test_table_8_2_rests_on_its_two_neighbouring_loads_and_validates_nothing(variant: str) -> None:
    told = Model(CENTRAL, variant).predict(**TABLE_8_1)
    rows = [row for row in told.rows if row.metric == "latency_mean_s"]
    assert [(row.payload_bytes, row.load_bps) for row in rows] == [(65535, 2.5e9), (65535, 5e9)]
    assert {row.basis for row in rows} == {"assumed", "derived"}
    assert told.latency_mean_s.basis == "assumed"
    assert not [p for p in CENTRAL.points if p.load_bps == told.goodput_bps.value]


def shifted(folder: Path, payload: int, load_bps: int, by_s: Decimal) -> Dataset:
    """A copy of the central dataset with one latency row moved, sealed again."""
    copy = shutil.copytree(checkout.ROOT / "data" / CENTRAL.id, folder / "copy")
    text = (copy / "points.csv").read_text(encoding="utf-8")
    table = list(csv.DictReader(io.StringIO(text)))
    moved = [
        row
        for row in table
        if (row["protocol"], row["payload_bytes"], row["load_bps"], row["metric"])
        == ("tcp", str(payload), str(load_bps), "latency_mean_s")
        and (row["nagle"], row["test"], row["switches"]) == ("on", "", "0")
    ]
    assert len(moved) == 1
    moved[0]["value"] = format(Decimal(moved[0]["value"]) + by_s, "f")
    out = io.StringIO()
    writer = csv.DictWriter(out, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    body = out.getvalue().encode()
    (copy / "points.csv").write_bytes(body)
    toml = (copy / "dataset.toml").read_text(encoding="utf-8")
    digest = hashlib.sha256(body).hexdigest()
    (copy / "dataset.toml").write_text(toml.replace(CENTRAL.sha256, digest), encoding="utf-8")
    return load(copy)


@BOTH
def test_a_microsecond_at_5_gbps_moves_the_prediction_by_0_405_microseconds(
    variant: str, tmp_path: Path
) -> None:
    moved = Model(shifted(tmp_path, 65535, 5_000_000_000, Decimal("0.000001")), variant)
    before = Model(CENTRAL, variant).predict(**TABLE_8_1).latency_mean_s.value
    gained = moved.predict(**TABLE_8_1).latency_mean_s.value - before
    assert gained == pytest.approx((3.512676 - 2.5) / 2.5 * 1e-6, rel=1e-6)
    assert gained == pytest.approx(0.405e-6, abs=0.0005e-6)


def test_the_code_holds_none_of_the_numbers_of_table_8_2() -> None:
    for path in sorted((checkout.ROOT / "icmodel").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for number in ("112.956", "19.861", "107.056", "3.512676", "3512676"):
            assert number not in text, (path, number)


# --- asking ---------------------------------------------------------------------------------------


def test_both_spellings_and_a_scenario_ask_the_same() -> None:
    numbers = {
        "protocol": "tcp",
        "payload_bytes": 65535,
        "rate_fps": 6700,
        "switches": 1,
        "endpoints": 2,
        "other_goodput_bps": 3.6e9,
        "cores": 4,
    }
    told = MODEL.predict(**TABLE_8_1)
    assert MODEL.predict(**numbers) == told  # type: ignore[arg-type]
    scenario = Scenario(
        "tcp", 65535, 6700, cores=4, switches=1, endpoints=2, other_goodput_bps=3.6e9
    )
    assert MODEL.predict(scenario) == told
    assert told.scenario == scenario


def test_the_package_gives_the_model_by_name() -> None:
    told = icmodel.Model(icmodel.load("ethernet-10g-2012")).predict(**TABLE_8_1)
    assert isinstance(told, icmodel.Prediction)
    assert (told.dataset, told.sha256, told.variant) == (CENTRAL.id, CENTRAL.sha256, "corrected")


def test_the_defaults_are_a_lone_unlimited_stream_on_the_most_cores() -> None:
    told = MODEL.predict(protocol="tcp", payload="65535 B")
    assert told.scenario.cores == 4
    assert told.goodput_bps.value == 9.4e9
    assert told.shortfall_bps.value == 0
    near = MODEL.predict(protocol="tcp", payload="65535 B", distance="1 m", switches=0, endpoints=1)
    assert near.latency_mean_s.value == told.latency_mean_s.value


def test_the_variant_is_the_datasets_or_the_asked_one() -> None:
    assert MODEL.variant == "corrected"
    assert repr(Model(CENTRAL, "appendix-h")) == "Model('ethernet-10g-2012', variant='appendix-h')"
    with pytest.raises(ScenarioError, match="no variant 'best': use one of appendix-h, corrected"):
        Model(CENTRAL, "best")


def test_a_requested_goodput_meets_its_load_row_exactly() -> None:
    for payload in (1448, 65535):
        told = MODEL.predict(protocol="tcp", payload_bytes=payload, requested_goodput="5 Gb/s")
        point = next(
            p
            for p in CENTRAL.select("tcp", {})
            if (p.payload_bytes, p.load_bps, p.metric) == (payload, 5e9, "latency_mean_s")
        )
        assert told.latency_mean_s.value == point.value
        assert told.latency_mean_s.basis == point.basis
        assert (told.latency_mean_s.low, told.latency_mean_s.high) == (point.low, point.high)


def test_nagle_off_is_another_curve_with_its_own_counts() -> None:
    on, off = (
        MODEL.predict(protocol="tcp", payload="64 B", options={"nagle": nagle})
        for nagle in ("on", "off")
    )
    assert off.goodput_bps.value < on.goodput_bps.value
    with pytest.raises(OutOfDomain, match=r"1 cores are outside.*measured with 4"):
        MODEL.predict(protocol="tcp", payload="64 B", nagle="off", cores=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("question", "error", "named"),
    [
        ({"protocol": "sctp"}, OutOfDomain, ("'sctp'", "ethernet, tcp, udp")),
        ({"payload": "0 B"}, ScenarioError, ("payload '0 B'", "1 to 9007199254740992")),
        ({"payload": "65536 B"}, OutOfDomain, ("payload 65536 B", "1 to 65535 B", "extrapolate")),
        ({"payload": "64 KB"}, UnitError, ("KB", "kB", "KiB")),
        ({"payload": "64 b"}, UnitError, ("64 b",)),
        ({"rate": "-1/s"}, UnitError, ("-1/s",)),
        ({"rate_fps": math.inf}, ScenarioError, ("rate_fps inf", "leave it out")),
        ({"cores": 5}, OutOfDomain, ("5 cores", "1, 2, 3, 4")),
        ({"metrics": ["speed"]}, OutOfDomain, ("'speed'", "goodput_bps")),
        ({"protocol": "udp", "payload": "65508 B"}, OutOfDomain, ("65508 B is impossible", "65507")),
        ({"protocol": "ethernet", "payload": "1501 B"}, OutOfDomain, ("1501 B is impossible", "1500")),
        ({"nagle": "maybe"}, OutOfDomain, ("nagle", "'maybe'", "off, on")),
        ({"naggle": "off"}, ScenarioError, ("'naggle'", "did you mean nagle?")),
        ({"protocol": "udp", "nagle": "off"}, OutOfDomain, ("udp", "nagle = off")),
        ({"outside": "guess"}, ScenarioError, ("'guess'", "refuse or extrapolate")),
    ],
)  # fmt: skip
def test_a_wrong_question_is_refused_in_one_sentence(
    question: dict[str, Any], error: type[Exception], named: tuple[str, ...]
) -> None:
    with pytest.raises(error) as refused:
        MODEL.predict(**({"protocol": "tcp", "payload": "1448 B"} | question))
    message = str(refused.value)
    assert "\n" not in message
    for word in named:
        assert word in message


@pytest.mark.parametrize(
    ("name", "question", "named"),
    [
        ("dds-1g", {"protocol": "dds", "switches": 1}, ("1 switches", "switch latency")),
        ("dds-1g", {"protocol": "dds", "distance_m": 5.0}, ("cable length", "distance")),
        ("dds-1g", {"protocol": "dds", "cores": 2}, ("cores", "dds")),
        (
            "rapidio-tsi721",
            {"protocol": "window-read", "endpoints": 2},
            ("window-read", "endpoints"),
        ),
        ("zeromq-100g-2019", {"protocol": "zeromq"}, ("switches = 1", "not with 0")),
    ],
)
@pytest.mark.parametrize("outside", ["refuse", "extrapolate"])
def test_a_parameter_without_axis_or_rule_is_refused_and_a_delay_can_be_left_out(
    name: str, question: dict[str, Any], named: tuple[str, ...], outside: str
) -> None:
    model = Model(load(name))
    size = 4 if name == "rapidio-tsi721" else 1000
    with pytest.raises(OutOfDomain) as refused:
        model.predict(payload_bytes=size, outside=outside, **question)
    for word in named:
        assert word in str(refused.value)
    asked = icmodel.scenario.scenario(payload_bytes=size, **question)
    if "cores" in question or "endpoints" in question:
        with pytest.raises(OutOfDomain, match=named[0]):
            model.fit_question(asked)
        return
    scenario, notes = model.fit_question(asked)
    assert len(notes) == 1
    assert named[0] in notes[0]
    done = (
        "without distance" if "distance_m" in question else f"with switches = {scenario.switches}"
    )
    assert notes[0].endswith(f": predicted {done}")
    assert model.predict(scenario).scenario.protocol == question["protocol"]


def test_a_question_that_fits_is_left_as_it_is() -> None:
    scenario = Scenario("tcp", 1448, cores=4, switches=1, options=Options({"nagle": "off"}))
    assert MODEL.fit_question(scenario) == (scenario, ())


def test_an_option_the_dataset_has_not_is_refused() -> None:
    with pytest.raises(OutOfDomain, match="has no axis 'colour'"):
        MODEL.fit_question(Scenario("tcp", 1448, options=Options({"colour": "red"})))


# --- answering ------------------------------------------------------------------------------------


def test_every_prediction_names_the_metrics_it_could_have() -> None:
    told = Model(load("rdma-connectx7")).predict(protocol="rdma-write", payload_bytes=4096)
    for metric in ("goodput_bps", "loss_rate", "latency_mean_s", "cpu_send", "cpu_recv_cores"):
        estimate = getattr(told, metric)
        assert estimate.absent == (metric != "goodput_bps")
        assert bool(estimate.why) == estimate.absent


def test_an_absent_metric_has_the_datasets_reason_or_its_domain() -> None:
    direct = MODEL.predict(protocol="ethernet", payload="512 B")
    assert direct.latency_mean_s.why.startswith("not measured")
    tiny = MODEL.predict(protocol="tcp", payload="2 B")
    assert "32 to 65535 B" in tiny.latency_mean_s.why
    few = MODEL.predict(protocol="ethernet", payload="512 B", cores=2)
    assert "no rows of packets_sent_per_s" in few.packets_sent_per_s.why


def test_terms_and_bounds_explain_the_answer() -> None:
    why = MODEL.predict(**TABLE_8_1, distance="11 m").explain()
    assert why.latency_terms["serialisation"] == pytest.approx(55.7304e-6)  # less a gap of 9.6 ns
    assert why.latency_terms["propagation"] == pytest.approx(11 * 4.27e-9)
    assert why.latency_terms["switches"] == pytest.approx(5.9e-6)
    assert why.latency_terms["stack"] == pytest.approx(51.3e-6, abs=0.05e-6)
    assert why.goodput_bounds["request"] == 3_512_676_000
    assert why.goodput_bounds["share"] == pytest.approx(9.4e9 - 3.6e9)
    assert why.goodput_bounds["benchmark"] == 9.4e9
    assert why.goodput_bounds["wire"] == pytest.approx(1448 / 1538 * 1e10)
    assert why.bottleneck == "request"


def test_a_request_far_under_capacity_is_exact() -> None:
    goodput = MODEL.predict(**TABLE_8_1).goodput_bps
    assert goodput.low == goodput.value == goodput.high


def test_an_interval_is_that_of_the_row_it_stands_on() -> None:
    for payload in (64, 512, 65112):
        told = MODEL.predict(protocol="udp", payload_bytes=payload, switches=1)
        row = next(
            p
            for p in CENTRAL.select("udp", {})
            if (p.payload_bytes, p.switches, p.metric) == (payload, 1, "loss_rate")
        )
        assert told.loss_rate.value == pytest.approx(row.value)
        assert (told.loss_rate.low, told.loss_rate.high) == pytest.approx((row.low, row.high))


def test_no_interval_crosses_a_limit_the_source_states() -> None:
    for payload in (1, 16, 32, 100, 65535):
        for rate in (10.0, None):
            told = MODEL.predict(
                protocol="tcp", payload_bytes=payload, rate_fps=rate, outside="extrapolate"
            )
            assert told.latency_mean_s.low >= 10e-6
            assert told.cpu_send.high <= 0.85
            assert told.cpu_recv.high <= 0.75


@pytest.mark.parametrize(
    ("question", "limit"),
    [
        ({"protocol": "tcp", "payload": "65535 B", "rate": "1000/s"}, "request"),
        ({"protocol": "tcp", "payload": "65535 B"}, "wire"),
        ({"protocol": "tcp", "payload": "64 B"}, "packet-rate"),
        ({"protocol": "tcp", "payload": "64 B", "cores": 1}, "cpu"),
        ({"protocol": "udp", "payload": "65507 B"}, "receiver"),
        ({"protocol": "udp", "payload": "1472 B"}, "wire"),
        ({"protocol": "ethernet", "payload": "1024 B"}, "wire"),
        ({"protocol": "ethernet", "payload": "512 B"}, "packet-rate"),
        (
            {"protocol": "tcp", "payload": "65535 B", "endpoints": 2, "other_goodput": "9 Gb/s"},
            "share",
        ),
    ],
)
def test_the_bottleneck_is_what_limits(question: dict[str, Any], limit: str) -> None:
    assert MODEL.predict(**question).bottleneck == limit


def test_the_document_is_plain_json_in_the_order_of_the_metrics() -> None:
    document = MODEL.predict(**TABLE_8_1).to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["variant"] == "corrected"
    assert document["dataset"] == {"id": CENTRAL.id, "sha256": CENTRAL.sha256}
    keys = list(document)
    assert keys.index("goodput_bps") < keys.index("latency_mean_s") < keys.index("bottleneck")


def test_extrapolation_says_its_axis_and_distance() -> None:
    told = MODEL.predict(protocol="tcp", payload="70000 B", cores=6, outside="extrapolate")
    assert told.goodput_bps.why == "extrapolated on payload: 4465 B beyond 65535 B"
    inside = MODEL.predict(protocol="tcp", payload="1448 B", cores=6, outside="extrapolate")
    assert inside.goodput_bps.why == "extrapolated on cores: 2 beyond 4"
    assert inside.goodput_bps.basis == "extrapolated"
    slow = MODEL.predict(protocol="tcp", payload="65535 B", rate="10/s")
    assert slow.latency_mean_s.why.startswith("extrapolated on load: ")
    assert slow.latency_mean_s.why.endswith("94.8 Mb/s from 100 Mb/s")
    fast = MODEL.predict(protocol="tcp", payload="65535 B", requested_goodput="9.399 Gb/s")
    assert fast.latency_mean_s.basis != "extrapolated"
    steady = MODEL.predict(protocol="udp", payload="7392 B", requested_goodput="9.58 Gb/s")
    assert steady.cpu_send.why.endswith("180 Mb/s from 9.4 Gb/s")


def test_outside_its_payloads_an_interval_is_wider() -> None:
    edge = MODEL.predict(protocol="tcp", payload="65535 B", rate="1000/s")
    out = MODEL.predict(protocol="tcp", payload="65600 B", rate="1000/s", outside="extrapolate")
    for metric in ("latency_mean_s", "cpu_send"):
        near, far = getattr(edge, metric), getattr(out, metric)
        assert far.high - far.low > near.high - near.low
        assert far.basis == "extrapolated"


def test_shares_measured_behind_an_option_answer_without_a_lone_stream() -> None:
    def share(priority: str) -> Prediction:
        return MODEL.predict(
            protocol="tcp", payload="65535 B", options={"priority": priority}, cores=1, switches=1,
            endpoints=2, other_goodput="10 Gb/s",
        )  # fmt: skip

    high, low = share("af41-against-af11"), share("af11-against-af41")
    assert (high.goodput_bps.value, low.goodput_bps.value) == (7e9, 2.4e9)
    assert high.goodput_bps.basis == "stated"
    assert high.bottleneck == "share"
    assert [row.source for row in high.rows] == ["IC2012 §6.5.4.1"]


# --- counts with rows of their own ----------------------------------------------------------------

LINK: dict[str, object] = {
    "kind": "ethernet",
    "line_rate_bps": 1e10,
    "mtu_bytes": 1500,
    "switch_latency_s": 5e-6,
}


def row(metric: str, value: str, load: str = "inf", **more: Any) -> Row:
    where: dict[str, Any] = {"payload_bytes": 1000, "cores": 4, "switches": 0, "endpoints": 1}
    number = Decimal(value)
    return Row(
        "tcp", metric, number, "measured", "a test", load_bps=Decimal(load), **(where | more)
    )


GOODPUT = row("goodput_bps", "8000000000")


def ask(rows: list[Row], link: Mapping[str, object] = LINK, **question: Any) -> Prediction:
    model = Model(generated.from_rows(rows, link))
    whole: dict[str, Any] = {"protocol": "tcp", "payload_bytes": 1000} | question
    return model.predict(**whole)


def test_rows_behind_a_switch_stand_in_place_of_its_latency() -> None:
    rows = [
        GOODPUT,
        row("latency_mean_s", "0.00002", "1000000000"),
        row("latency_mean_s", "0.00007", "1000000000", switches=1),
    ]
    for switches, expected in ((0, 20e-6), (1, 70e-6), (3, 80e-6)):
        told = ask(rows, switches=switches, requested_goodput_bps=1e9)
        assert told.latency_mean_s.value == pytest.approx(expected)


def test_a_switch_without_rows_or_latency_leaves_the_latency_open() -> None:
    link = {key: value for key, value in LINK.items() if key != "switch_latency_s"}
    rows = [
        GOODPUT,
        row("goodput_bps", "7000000000", switches=1),
        row("latency_mean_s", "0.00002", "1000000000"),
    ]
    told = ask(rows, link, switches=1, requested_goodput_bps=1e9)
    assert told.goodput_bps.value == 1e9
    assert told.latency_mean_s.absent


def test_cpu_rows_at_the_asked_cores_stand_in_place_of_scaling() -> None:
    rows = [
        GOODPUT,
        row("goodput_bps", "4000000000", cores=1),
        row("goodput_bps", "6000000000", cores=2),
        row("cpu_send", "0.2", "1000000000"),
        row("cpu_send", "0.5", "1000000000", cores=1),
    ]
    for cores, expected in ((4, 0.2), (2, 0.4), (1, 0.5)):
        told = ask(rows, cores=cores, requested_goodput_bps=1e9)
        assert told.cpu_send.value == pytest.approx(expected)
        assert told.cpu_send_cores.value == pytest.approx(expected * cores)
        assert told.cpu_send.basis == ("derived" if cores == 2 else "measured")


def test_a_measured_share_stands_in_place_of_the_even_one() -> None:
    rows = [GOODPUT, row("goodput_bps", "3000000000", endpoints=2)]
    measured = ask(rows, endpoints=2, other_goodput_bps=9e9)
    assert measured.goodput_bps.value == 3e9
    assert {r.value for r in measured.rows} == {8e9, 3e9}
    ruled = ask(rows, endpoints=4, other_goodput_bps=9e9)
    assert ruled.goodput_bps.value == pytest.approx(2e9)
    assert ruled.goodput_bps.basis == "derived"
    room = ask(rows, endpoints=2, other_goodput_bps=2e9)
    assert room.goodput_bps.value == pytest.approx(6e9)


def test_a_measured_share_is_at_most_what_the_receiver_takes() -> None:
    told = ask([GOODPUT, row("goodput_bps", "9000000000", endpoints=2)], endpoints=2)
    assert told.goodput_bps.value == 8e9
    crowded = [GOODPUT, row("goodput_bps", "9000000000", endpoints=2)]
    assert ask(crowded, endpoints=2, other_goodput_bps=9e9).goodput_bps.value == 8e9


def test_the_best_of_all_loads_is_what_a_stream_can_reach() -> None:
    rows = [GOODPUT, row("goodput_bps", "9000000000", "9000000000")]
    assert ask(rows, requested_goodput_bps=8.9e9).goodput_bps.value == pytest.approx(8.9e9)
    assert ask(rows, requested_goodput_bps=9.1e9).goodput_bps.value == 8e9
    assert ask(rows).goodput_bps.value == 8e9


def test_cpu_known_unlimited_alone_goes_with_the_load() -> None:
    told = ask([GOODPUT, row("cpu_send", "0.8")], requested_goodput_bps=2e9)
    assert told.cpu_send.value == pytest.approx(0.2)
    assert told.cpu_send.high >= 0.8
    assert told.cpu_send.basis == "extrapolated"


def test_a_loss_no_protocol_can_have_is_not_applied_to_tcp() -> None:
    rows = [GOODPUT, row("loss_rate", "0.25")]
    shared = ask(rows, endpoints=2, other_goodput_bps=9e9)
    assert shared.goodput_bps.value == pytest.approx(4e9)
    assert shared.loss_rate.value == 0
    original = Model(generated.from_rows(rows, LINK), "appendix-h")
    assert original.predict(protocol="tcp", payload_bytes=1000, rate_fps=1).loss_rate.value == 0


def test_a_payload_outside_the_loss_table_leaves_the_loss_open_in_overload() -> None:
    def udp(metric: str, value: str, payload: int) -> Row:
        return Row(
            "udp", metric, Decimal(value), "measured", "a test",
            payload_bytes=payload, load_bps=Decimal("inf"),
        )  # fmt: skip

    rows = [udp("goodput_bps", "1000000000", size) for size in (200, 1000)]
    model = Model(generated.from_rows([*rows, udp("loss_rate", "0.5", 1000)], LINK))
    for payload, request, loss in ((1000, None, 0.5), (200, 5e8, 0.0), (200, None, math.nan)):
        told = model.predict(protocol="udp", payload_bytes=payload, requested_goodput_bps=request)
        assert told.loss_rate.value == pytest.approx(loss, nan_ok=True)
        assert told.goodput_bps.value == pytest.approx(min(request or 1e9, 1e9))


def test_without_goodput_nothing_is_said_of_what_was_sent() -> None:
    for variant in PUBLISHED:
        data = generated.from_rows([row("rtt_mean_s", "0.00002")], LINK)
        told = Model(data, variant).predict(protocol="tcp", payload_bytes=1000)
        for metric in ("goodput_bps", "sent_bps", "shortfall_bps", "frames_per_s", "loss_rate"):
            assert getattr(told, metric).absent
        assert told.rtt_mean_s.value == pytest.approx(20e-6)
        assert told.bottleneck == "unknown"


# --- theory ---------------------------------------------------------------------------------------


def test_theory_gives_the_least_latency_and_the_greatest_goodput() -> None:
    scenario = Scenario("tcp", 65535, switches=2, distance_m=51.0)
    least = MODEL.least_latency_s(scenario)
    assert least == pytest.approx(55.7304e-6 + 51 * 4.27e-9 + 2 * 5.9e-6)
    assert MODEL.greatest_goodput_bps(scenario) == pytest.approx(1448 / 1538 * 1e10)
    assert MODEL.greatest_goodput_bps(Scenario("udp", 1472)) == pytest.approx(1472 / 1538 * 1e10)


def test_a_link_of_unknown_rate_bounds_nothing() -> None:
    model = Model(load("rmi-loopback"))
    assert model.least_latency_s(Scenario("ice", 1000)) is None
    assert model.greatest_goodput_bps(Scenario("ice", 1000)) is None


def test_a_row_faster_than_theory_is_lifted_to_it() -> None:
    rows = [GOODPUT, row("latency_mean_s", "0.0000001", "1000000000")]
    link = LINK | {"propagation_s_per_m": 5e-9, "cable_length_m": 10.0}
    told = ask(rows, link, requested_goodput_bps=1e9, switches=1)
    wire_bits = (1000 + 20 + 20 + 12 + 38 - 12) * 8
    assert told.latency_mean_s.value == pytest.approx(wire_bits / 1e10 + 50e-9 + 5e-6)
    assert "theory" in told.latency_mean_s.bases
    assert told.terms["stack"] == pytest.approx(0, abs=1e-12)

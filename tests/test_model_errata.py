"""The slips of the original's model (IC2012 Appendix H and §7.1), each in both variants.

``appendix-h`` is the pseudo-code to the letter where it can be executed, ``corrected`` differs only
where a row of the table of errata says so.  The numbers of the little dataset below are chosen so
that every expected answer can be worked out in one line.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import generated
from icmodel.dataset import load
from icmodel.errors import OutOfDomain
from icmodel.estimate import Prediction
from icmodel.model import PUBLISHED, Model
from points import Row

BOTH = pytest.mark.parametrize("variant", PUBLISHED)
GBPS = 1e9
US = 1e-6
LINK = {
    "kind": "ethernet",
    "line_rate_bps": 1e10,
    "mtu_bytes": 1500,
    "switch_latency_s": 5e-6,
    "propagation_s_per_m": 5e-9,
    "cable_length_m": 2.0,
}


def row(protocol: str, metric: str, load: float, value: float, **more: Any) -> list[Row]:
    """The same value at 1000 and 1400 B, measured with 4 cores unless said otherwise."""
    where: dict[str, Any] = {"payloads": (1000, 1400), "cores": 4, "switches": 0} | more
    payloads = where.pop("payloads")
    limit = Decimal("inf") if math.isinf(load) else Decimal(repr(load))
    number = Decimal(repr(value))
    return [
        Row(protocol, metric, number, "measured", "a test", size, limit, endpoints=1, **where)
        for size in payloads
    ]


UNLIMITED = math.inf
ROWS = [
    # TCP: 8 Gb/s with 4 cores, 4 Gb/s with one
    *row("tcp", "goodput_bps", UNLIMITED, 8e9),
    *row("tcp", "goodput_bps", UNLIMITED, 4e9, cores=1),
    *row("tcp", "latency_mean_s", 1e9, 20e-6),
    *row("tcp", "latency_mean_s", 6e9, 40e-6),
    *row("tcp", "latency_mean_s", UNLIMITED, 1000e-6),
    *row("tcp", "latency_std_s", 1e9, 2e-6),
    *row("tcp", "latency_std_s", 6e9, 4e-6),
    *row("tcp", "latency_std_s", UNLIMITED, 500e-6),
    *row("tcp", "cpu_send", 1e9, 0.1),
    *row("tcp", "cpu_send", 6e9, 0.6),
    *row("tcp", "cpu_send", UNLIMITED, 0.8),
    *row("tcp", "cpu_recv", 1e9, 0.2),
    *row("tcp", "cpu_recv", 6e9, 0.3),
    *row("tcp", "cpu_recv", UNLIMITED, 0.9),
    # TCP at 200 B carries 2 Gb/s, so that its row "at 6 Gb/s" is one of overload
    *row("tcp", "goodput_bps", UNLIMITED, 2e9, payloads=(200,)),
    *row("tcp", "latency_mean_s", 1e9, 15e-6, payloads=(200,)),
    *row("tcp", "latency_mean_s", 6e9, 915e-6, payloads=(200,)),
    *row("tcp", "latency_mean_s", UNLIMITED, 990e-6, payloads=(200,)),
    *row("tcp", "cpu_send", 1e9, 0.2, payloads=(200,)),
    *row("tcp", "cpu_send", 6e9, 0.7, payloads=(200,)),
    *row("tcp", "cpu_send", UNLIMITED, 0.75, payloads=(200,)),
    # UDP: the receiver loses a fifth of what an unlimited sender sends; limited, nothing
    *row("udp", "goodput_bps", UNLIMITED, 7.2e9),
    *row("udp", "goodput_bps", UNLIMITED, 3.6e9, cores=1),
    *row("udp", "goodput_bps", 9e9, 8.8e9),
    *row("udp", "loss_rate", UNLIMITED, 0.2),
    *row("udp", "loss_rate", UNLIMITED, 0.1, cores=1),
    *row("udp", "loss_rate", UNLIMITED, 0.25, switches=1),
    *row("udp", "loss_rate", 8e9, 0.01),
    *row("udp", "latency_mean_s", 1e9, 30e-6),
    *row("udp", "latency_mean_s", UNLIMITED, 50e-6),
    *row("udp", "cpu_send", 1e9, 0.1),
    *row("udp", "cpu_send", UNLIMITED, 0.4),
    *row("udp", "cpu_send", 1e9, 0.15, switches=1),
    *row("udp", "cpu_send", UNLIMITED, 0.5, switches=1),
    *row("udp", "cpu_recv", 1e9, 0.2),
    *row("udp", "cpu_recv", UNLIMITED, 0.3),
    *row("udp", "cpu_recv", 1e9, 0.25, switches=1),
    *row("udp", "cpu_recv", UNLIMITED, 0.35, switches=1),
    # direct Ethernet: goodput and loss alone
    *row("ethernet", "goodput_bps", UNLIMITED, 6e9),
    *row("ethernet", "loss_rate", UNLIMITED, 0.01),
]  # fmt: skip
DATA = generated.from_rows(ROWS, LINK)
MODELS = {variant: Model(DATA, variant) for variant in PUBLISHED}
CENTRAL = load("ethernet-10g-2012")
CENTRALS = {variant: Model(CENTRAL, variant) for variant in PUBLISHED}


def ask(variant: str, protocol: str, request_bps: float | None = None, **more: Any) -> Prediction:
    """A question of the little dataset, at 1000 B unless said otherwise."""
    question: dict[str, Any] = {"protocol": protocol, "payload_bytes": 1000}
    if request_bps is not None:
        question["requested_goodput_bps"] = request_bps
    return MODELS[variant].predict(**(question | more))


def expected(variant: str, *, appendix_h: float, corrected: float) -> object:
    return pytest.approx(appendix_h if variant == "appendix-h" else corrected, rel=1e-12)


# --- goodput --------------------------------------------------------------------------------------


@BOTH
def test_e01_goodput_under_the_limit_is_rate_times_payload_times_8(variant: str) -> None:
    assert ask(variant, "tcp", rate_fps=100_000).goodput_bps.value == 800_000_000
    table_8_2 = CENTRALS[variant].predict(protocol="tcp", payload_bytes=65535, rate_fps=6700)
    assert table_8_2.goodput_bps.value == 3_512_676_000


@BOTH
def test_e02_a_fair_share_can_exceed_the_request_in_appendix_h_alone(variant: str) -> None:
    told = ask(variant, "tcp", 1 * GBPS, endpoints=2, other_goodput_bps=9 * GBPS)
    assert told.goodput_bps.value == expected(variant, appendix_h=4e9, corrected=1e9)


@BOTH
def test_e02_one_other_leaves_what_it_does_not_take(variant: str) -> None:
    told = ask(variant, "tcp", endpoints=2, other_goodput_bps=3 * GBPS)
    assert told.goodput_bps.value == pytest.approx(5e9)
    assert told.bottleneck == "share"


def test_e02_the_share_is_a_lower_bound_for_unequal_others_and_says_so() -> None:
    alone = ask("corrected", "tcp", endpoints=2, other_goodput_bps=9 * GBPS)
    among = ask("corrected", "tcp", endpoints=3, other_goodput_bps=9 * GBPS)
    assert among.goodput_bps.value == pytest.approx(8e9 / 3)
    assert any("lower bound" in note for note in among.notes)
    assert not any("lower bound" in note for note in alone.notes)


def test_e02_udp_senders_that_overload_the_receiver_get_less_in_sum() -> None:
    told = ask("corrected", "udp", endpoints=2, other_goodput_bps=9 * GBPS)
    assert told.goodput_bps.value == pytest.approx(7.2e9 * 0.8 / 2)
    assert told.bottleneck == "receiver"
    assert told.goodput_bps.basis == "assumed"
    original = ask("appendix-h", "udp", endpoints=2, other_goodput_bps=9 * GBPS)
    assert original.goodput_bps.value == pytest.approx(7.2e9 / 2)


@BOTH
def test_e03_endpoints_count_this_stream_and_others_are_summed(variant: str) -> None:
    assert ask(variant, "tcp").scenario.endpoints == 1
    alone = ask(variant, "tcp", endpoints=1)
    assert alone.goodput_bps.value == 8e9
    shared = ask(variant, "tcp", endpoints=4, other_goodput_bps=9 * GBPS)
    assert shared.goodput_bps.value == pytest.approx(8e9 / 4)


def test_e03_the_loss_of_a_lone_stream_is_the_tables_times_one() -> None:
    assert ask("appendix-h", "udp", 1 * GBPS).loss_rate.value == pytest.approx(0.2)


@BOTH
def test_e13_without_others_the_limited_goodput_is_returned(variant: str) -> None:
    assert ask(variant, "tcp", 3 * GBPS).goodput_bps.value == pytest.approx(3e9)
    assert ask(variant, "tcp", 9 * GBPS).goodput_bps.value == 8e9
    assert ask(variant, "tcp").goodput_bps.value == 8e9
    among_idle = ask(variant, "tcp", 3 * GBPS, endpoints=3)
    assert among_idle.goodput_bps.value == pytest.approx(3e9)


# --- latency --------------------------------------------------------------------------------------


@BOTH
def test_e04_overload_takes_the_unlimited_latency_curve(variant: str) -> None:
    assert ask(variant, "tcp", 9 * GBPS).latency_mean_s.value == pytest.approx(1000 * US)
    assert ask(variant, "tcp").latency_std_s.value == pytest.approx(500 * US)


@BOTH
def test_e05_each_switch_adds_its_latency_to_the_mean_and_nothing_to_sigma(variant: str) -> None:
    direct = ask(variant, "tcp", 3.5 * GBPS)
    switched = ask(variant, "tcp", 3.5 * GBPS, switches=3)
    assert direct.latency_mean_s.value == pytest.approx(30 * US)
    assert switched.latency_mean_s.value == pytest.approx(45 * US)
    assert switched.latency_std_s.value == direct.latency_std_s.value == pytest.approx(3 * US)
    assert switched.goodput_bps.value == direct.goodput_bps.value


@BOTH
def test_e14_a_curve_its_payload_cannot_carry_is_a_curve_of_overload(variant: str) -> None:
    told = ask(variant, "tcp", 1.5 * GBPS, payload_bytes=200)
    mixed = 15 * US + 0.1 * 900 * US
    assert told.latency_mean_s.value == expected(variant, appendix_h=mixed, corrected=15 * US)
    assert told.cpu_send.value == expected(variant, appendix_h=0.25, corrected=0.2)
    basis = "interpolated" if variant == "appendix-h" else "extrapolated"
    assert told.latency_mean_s.basis == basis


def test_e14_a_payload_between_takes_no_part_of_the_overload_either() -> None:
    told = ask("corrected", "tcp", 6 * GBPS, payload_bytes=900)  # carries 7.25 Gb/s
    assert told.latency_mean_s.value == pytest.approx(15 * US + 7 / 8 * 25 * US)


@pytest.mark.parametrize(("reached", "used"), [(6e9 / 1.004, True), (6e9 / 1.006, False)])
def test_e14_a_load_is_carried_up_to_half_a_percent(reached: float, used: bool) -> None:
    rows = [r for r in ROWS if r.protocol == "tcp" and r.metric != "goodput_bps"]
    rows += row("tcp", "goodput_bps", UNLIMITED, reached, payloads=(200, 1000, 1400))
    model = Model(generated.from_rows(rows, LINK))
    told = model.predict(protocol="tcp", payload_bytes=1000, requested_goodput_bps=3.5e9)
    assert told.latency_mean_s.value == pytest.approx((30 if used else 20) * US)


@BOTH
def test_e15_below_the_lowest_load_latency_is_held_and_cpu_goes_with_the_load(variant: str) -> None:
    told = ask(variant, "tcp", 0.5 * GBPS)
    assert told.latency_mean_s.value == pytest.approx(20 * US)
    assert told.cpu_send.value == pytest.approx(0.05)
    assert told.cpu_send.high >= 0.1
    for estimate in (told.latency_mean_s, told.cpu_send, told.cpu_recv):
        assert estimate.basis == "extrapolated"
        assert "extrapolated on load" in estimate.why


@BOTH
def test_e15_above_the_highest_load_the_nearest_curve_is_held(variant: str) -> None:
    told = ask(variant, "tcp", 7 * GBPS)
    assert told.latency_mean_s.value == pytest.approx(40 * US)
    assert told.latency_std_s.value == pytest.approx(4 * US)
    assert told.cpu_send.value == pytest.approx(0.6)
    assert told.latency_mean_s.basis == "extrapolated"
    assert "extrapolated on load" in told.latency_mean_s.why
    assert told.goodput_bps.basis == "measured"


@BOTH
def test_e19_a_longer_cable_takes_longer(variant: str) -> None:
    near = ask(variant, "tcp", 1 * GBPS)
    far = ask(variant, "tcp", 1 * GBPS, distance_m=102)
    gained = far.latency_mean_s.value - near.latency_mean_s.value
    assert gained == pytest.approx(0 if variant == "appendix-h" else 100 * 5e-9, abs=1e-15)
    same = ask(variant, "tcp", 1 * GBPS, distance_m=2)
    assert same.latency_mean_s.value == near.latency_mean_s.value
    assert any("no distance term" in note for note in far.notes) == (variant == "appendix-h")


# --- CPU ------------------------------------------------------------------------------------------


@BOTH
def test_e06_cpu_is_scaled_without_integer_division_and_capped(variant: str) -> None:
    rows = [*ROWS, *row("tcp", "goodput_bps", UNLIMITED, 6e9, cores=3)]
    model = Model(generated.from_rows(rows, LINK), variant)
    question: dict[str, Any] = {
        "protocol": "tcp",
        "payload_bytes": 1000,
        "requested_goodput_bps": 1e9,
    }
    assert model.predict(**question, cores=3).cpu_send.value == pytest.approx(0.1 * 4 / 3)
    busy = ask(variant, "tcp", 3.5 * GBPS, cores=1)
    assert busy.cpu_send.value == expected(variant, appendix_h=1.4, corrected=1.0)
    assert busy.cpu_send_cores.value == pytest.approx(
        expected(variant, appendix_h=1.4, corrected=1.0)
    )
    assert busy.goodput_bps.value == pytest.approx(3.5e9)
    assert busy.bottleneck == "cpu"


@BOTH
def test_e07_a_switch_changes_the_sending_cpu_of_udp_alone(variant: str) -> None:
    direct, switched = ask(variant, "udp", 1 * GBPS), ask(variant, "udp", 1 * GBPS, switches=1)
    assert switched.cpu_send.value == pytest.approx(0.15)
    assert direct.cpu_send.value == pytest.approx(0.1)
    assert switched.cpu_recv.value == expected(variant, appendix_h=0.25, corrected=0.2)
    tcp = ask(variant, "tcp", 1 * GBPS, switches=1)
    assert tcp.cpu_send.value == ask(variant, "tcp", 1 * GBPS).cpu_send.value


def test_e07_only_the_first_switch_does() -> None:
    once = ask("corrected", "udp", 1 * GBPS, switches=1)
    assert ask("corrected", "udp", 1 * GBPS, switches=3).cpu_send.value == once.cpu_send.value


@BOTH
def test_e12_cpu_lies_between_its_load_curves(variant: str) -> None:
    told = ask(variant, "tcp", 3.5 * GBPS)
    assert told.cpu_send.value == pytest.approx(0.35)
    assert told.cpu_recv.value == pytest.approx(0.25)
    assert told.cpu_send.basis == "interpolated"
    over = ask(variant, "tcp", 9 * GBPS)
    assert over.cpu_send.value == pytest.approx(0.8)
    assert over.cpu_recv.value == pytest.approx(0.9)


@BOTH
def test_e18_a_stream_held_back_by_its_share_does_the_work_of_its_request(variant: str) -> None:
    told = ask(variant, "tcp", 5 * GBPS, endpoints=2, other_goodput_bps=9 * GBPS)
    assert told.goodput_bps.value == pytest.approx(4e9)
    assert told.cpu_send.value == expected(variant, appendix_h=0.8, corrected=0.5)
    assert told.latency_mean_s.absent  # two senders fill the line, of which no row is


# --- loss -----------------------------------------------------------------------------------------


@BOTH
def test_e08_tcp_loses_nothing(variant: str) -> None:
    told = ask(variant, "tcp", 16 * GBPS)
    assert told.loss_rate.value == expected(variant, appendix_h=0.5, corrected=0.0)
    assert told.shortfall_bps.value == pytest.approx(8e9)


@BOTH
def test_e08_what_udp_cannot_send_is_shortfall_and_what_does_not_arrive_is_loss(
    variant: str,
) -> None:
    told = ask(variant, "udp", 18 * GBPS)  # the sender puts out 7.2 / (1 - 0.2) = 9 Gb/s
    assert told.loss_rate.value == expected(variant, appendix_h=0.6, corrected=0.2)
    assert told.sent_bps.value == expected(variant, appendix_h=7.2e9, corrected=9e9)
    assert told.shortfall_bps.value == expected(variant, appendix_h=10.8e9, corrected=9e9)
    assert told.bottleneck == "receiver"


def test_e08_of_what_is_sent_the_receiver_takes_the_same() -> None:
    told = ask("corrected", "udp", 8.9 * GBPS)
    assert told.sent_bps.value == pytest.approx(8.9e9)
    assert told.shortfall_bps.value == 0
    assert told.loss_rate.value == pytest.approx(1 - 7.2 / 8.9)


def test_e08_an_unlimited_request_has_the_loss_of_the_unlimited_curve() -> None:
    told = ask("corrected", "udp")
    assert told.loss_rate.value == pytest.approx(0.2)
    assert told.shortfall_bps.value == 0
    assert ask("appendix-h", "udp").loss_rate.value == 1  # 1 - achieved / infinity


@BOTH
def test_e09_idle_others_do_not_multiply_the_loss(variant: str) -> None:
    told = ask(variant, "udp", 1 * GBPS, endpoints=3)
    assert told.loss_rate.value == expected(variant, appendix_h=0.6, corrected=0.0)
    unlimited = ask("corrected", "udp", endpoints=3)
    assert unlimited.loss_rate.value == pytest.approx(0.2)
    assert unlimited.goodput_bps.value == pytest.approx(7.2e9)


def test_e09_others_that_overload_the_receiver_do() -> None:
    told = ask("corrected", "udp", 5 * GBPS, endpoints=2, other_goodput_bps=5 * GBPS)
    received = 7.2e9 / (1 + 0.25 * (10 / 9 - 1))  # a lone sender offers 9 Gb/s and loses a fifth
    assert told.goodput_bps.value == pytest.approx(received / 2)
    assert told.loss_rate.value == pytest.approx(1 - received / 2 / 5e9)
    assert told.shortfall_bps.value == 0


@BOTH
def test_e10_direct_ethernet_has_neither_latency_nor_cpu(variant: str) -> None:
    for told in (
        ask(variant, "ethernet"),
        CENTRALS[variant].predict(protocol="ethernet", payload_bytes=512),
    ):
        assert not told.goodput_bps.absent
        for metric in ("latency_mean_s", "latency_std_s", "cpu_send", "cpu_recv"):
            estimate = getattr(told, metric)
            assert estimate.absent
            assert estimate.why


@BOTH
@pytest.mark.parametrize(("payload", "loss"), [(256, 0), (512, 0.00156), (1024, 0.00022)])
def test_e10_table_6_2_gives_its_loss_at_four_cores(
    variant: str, payload: int, loss: float
) -> None:
    told = CENTRALS[variant].predict(protocol="ethernet", payload_bytes=payload, cores=4)
    if variant == "appendix-h":
        assert told.loss_rate.absent
    else:
        assert told.loss_rate.value == pytest.approx(loss, abs=5e-6)
    fewer = CENTRALS[variant].predict(protocol="ethernet", payload_bytes=payload, cores=2)
    assert fewer.loss_rate.absent
    assert fewer.loss_rate.why


@BOTH
def test_e16_the_loss_of_overload_holds_in_overload_alone(variant: str) -> None:
    low = ask(variant, "udp", 1 * GBPS)
    assert low.loss_rate.value == expected(variant, appendix_h=0.2, corrected=0.0)
    measured = ask(variant, "udp", 8 * GBPS)
    assert measured.loss_rate.value == expected(variant, appendix_h=0.2, corrected=0.01)
    if variant == "corrected":
        assert low.loss_rate.basis == "assumed"
        assert measured.loss_rate.basis == "measured"
        assert measured.goodput_bps.value == pytest.approx(8e9 * 0.99)


@BOTH
def test_e17_with_fewer_cores_the_unswitched_table_stands_in_and_says_so(variant: str) -> None:
    four = ask(variant, "udp", switches=1)
    one = ask(variant, "udp", switches=1, cores=1)
    if variant == "corrected":
        assert four.loss_rate.value == pytest.approx(0.25)
        assert one.loss_rate.value == pytest.approx(0.1)
    else:
        carried = ask(variant, "udp", 1 * GBPS, switches=1, cores=1)
        assert carried.loss_rate.value == pytest.approx(0.1)
        assert ask(variant, "udp", 1 * GBPS, switches=1).loss_rate.value == pytest.approx(0.25)
    assert any("(erratum E17)" in note for note in one.notes)
    assert not any("(erratum E17)" in note for note in four.notes)


# --- range ----------------------------------------------------------------------------------------


@BOTH
def test_e11_core_counts_beyond_the_data_are_refused_or_marked(variant: str) -> None:
    for cores in (2, 5):
        with pytest.raises(OutOfDomain, match=f"{cores} cores.*1, 4"):
            ask(variant, "tcp", cores=cores)
        question: dict[str, Any] = {"protocol": "tcp", "payload_bytes": 1000, "cores": cores}
        told = MODELS[variant].predict(**question, outside="extrapolate")
        assert told.goodput_bps.basis == "extrapolated"
        assert "extrapolated on cores" in told.goodput_bps.why


@BOTH
def test_e11_latency_is_the_same_at_any_core_count_and_cpu_is_scaled(variant: str) -> None:
    one, four = ask(variant, "tcp", 1 * GBPS, cores=1), ask(variant, "tcp", 1 * GBPS, cores=4)
    assert one.latency_mean_s.value == four.latency_mean_s.value == pytest.approx(20 * US)
    assert one.cpu_send.value == pytest.approx(4 * four.cpu_send.value)
    limited = ask(variant, "tcp", 5 * GBPS, cores=1)  # cores act through the goodput
    assert limited.latency_mean_s.value == pytest.approx(1000 * US)


@BOTH
def test_e11_payloads_beyond_the_data_are_refused_or_marked(variant: str) -> None:
    for payload in (199, 1401, 65535, 65536):
        with pytest.raises(OutOfDomain, match=f"payload {payload} B.*200 to 1400 B"):
            ask(variant, "tcp", payload_bytes=payload)
        question: dict[str, Any] = {"protocol": "tcp", "payload_bytes": payload}
        told = MODELS[variant].predict(**question, outside="extrapolate")
        assert told.goodput_bps.basis == "extrapolated"
        assert "extrapolated on payload" in told.goodput_bps.why


@BOTH
@pytest.mark.parametrize(("protocol", "payload"), [("udp", 65508), ("ethernet", 1501)])
def test_e11_a_payload_over_the_protocols_limit_is_refused_always(
    variant: str, protocol: str, payload: int
) -> None:
    question: dict[str, Any] = {"protocol": protocol, "payload_bytes": payload}
    for outside in ("refuse", "extrapolate"):
        with pytest.raises(
            OutOfDomain, match=f"payload {payload} B is impossible.*{payload - 1} B"
        ):
            MODELS[variant].predict(**question, outside=outside)


@BOTH
@pytest.mark.parametrize("request_bps", [9e9, 1e10, 4e10, None])
def test_e11_a_load_above_what_is_achievable_is_answered(
    variant: str, request_bps: float | None
) -> None:
    told = ask(variant, "tcp", request_bps)
    assert told.goodput_bps.value == 8e9
    assert told.latency_mean_s.value == pytest.approx(1000 * US)
    assert told.bottleneck == "packet-rate"
    short = 0 if request_bps is None else request_bps - 8e9
    assert told.shortfall_bps.value == pytest.approx(short)


# --- what must always hold, and what appendix-h breaks of it --------------------------------------


def test_appendix_h_breaks_goodput_at_most_the_request() -> None:
    told = ask("appendix-h", "tcp", 1 * GBPS, endpoints=2, other_goodput_bps=9 * GBPS)
    assert told.goodput_bps.value > told.scenario.requested_goodput_bps


def test_appendix_h_breaks_goodput_at_most_what_is_not_lost() -> None:
    told = ask("appendix-h", "udp", 1 * GBPS)
    assert told.goodput_bps.value > 1e9 * (1 - told.loss_rate.value)


@pytest.mark.parametrize("payload", [1024, 1500])
def test_appendix_h_breaks_the_bound_of_the_wire(payload: int) -> None:
    question: dict[str, Any] = {"protocol": "ethernet", "payload_bytes": payload}
    told = {variant: CENTRALS[variant].predict(**question) for variant in PUBLISHED}
    bound = CENTRALS["corrected"].greatest_goodput_bps(told["corrected"].scenario)
    assert bound is not None
    assert told["appendix-h"].goodput_bps.value > bound
    assert "wire" not in told["appendix-h"].explain().goodput_bounds
    assert told["corrected"].goodput_bps.value == bound
    assert told["corrected"].goodput_bps.basis == "theory"
    assert any("benchmarked goodput is above" in note for note in told["corrected"].notes)


@pytest.mark.parametrize("payload", [1472, 8192, 60000])
def test_a_fit_says_that_it_was_clamped_where_its_answer_was(payload: int) -> None:
    """Rows of another regime may lie above the bound while the one that answers does not."""
    model = Model(CENTRAL, "hybrid")
    told = model.predict(protocol="udp", payload_bytes=payload, metrics=("goodput_bps",))
    at_bound = told.goodput_bps.value == model.greatest_goodput_bps(told.scenario)
    assert at_bound == (payload == 1472)
    assert any("fitted goodput is above" in note for note in told.notes) == at_bound


@pytest.mark.parametrize("variant", ["corrected", "hybrid"])
@pytest.mark.parametrize("payload", [1472, 50000, 60000])
def test_the_greatest_loss_needs_no_more_sent_than_the_line_takes(
    variant: str, payload: int
) -> None:
    model = Model(CENTRAL, variant)
    told = model.predict(protocol="udp", payload_bytes=payload, metrics=("goodput_bps",))
    bound = model.greatest_goodput_bps(told.scenario)
    assert bound is not None
    assert told.loss_rate.high <= 1 - told.goodput_bps.low / bound + 1e-9
    assert told.loss_rate.low <= told.loss_rate.value <= told.loss_rate.high


def test_appendix_h_breaks_more_endpoints_never_more_goodput() -> None:
    alone = ask("appendix-h", "tcp", 1 * GBPS)
    shared = ask("appendix-h", "tcp", 1 * GBPS, endpoints=2, other_goodput_bps=9 * GBPS)
    assert shared.goodput_bps.value > alone.goodput_bps.value


def test_appendix_h_breaks_latency_at_least_propagation() -> None:
    question: dict[str, Any] = {
        "protocol": "tcp",
        "payload_bytes": 65535,
        "rate_fps": 1000,
        "distance_m": 1e5,
    }
    told = {variant: CENTRALS[variant].predict(**question) for variant in PUBLISHED}
    propagation = 1e5 * 4.27e-9
    assert told["appendix-h"].latency_mean_s.value < propagation
    assert told["corrected"].latency_mean_s.value > propagation


def test_appendix_h_breaks_utilisation_at_most_one() -> None:
    assert ask("appendix-h", "tcp", 3.5 * GBPS, cores=1).cpu_send.value > 1


def test_appendix_h_breaks_a_benchmarked_point_is_that_point() -> None:
    point = next(
        p for p in CENTRAL.select("udp", {})
        if p.metric == "goodput_bps" and p.payload_bytes == 48832 and p.cores == 4
        and p.load_bps == math.inf
    )  # fmt: skip
    question: dict[str, Any] = {"protocol": "udp", "payload_bytes": 48832, "cores": 4}
    assert CENTRALS["corrected"].predict(**question).goodput_bps.value == point.value
    original = CENTRALS["appendix-h"].predict(**question)
    assert original.goodput_bps.value != pytest.approx(point.value, rel=1e-3)
    assert original.goodput_bps.basis != point.basis


def test_appendix_h_keeps_its_loss_between_0_and_1() -> None:
    assert ask("appendix-h", "udp", 1 * GBPS, endpoints=9).loss_rate.value == 1


def test_every_row_of_the_errata_has_a_test_of_both_variants() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    tested = re.findall(r"(@BOTH\n(?:@.*\n)*)?def test_e(\d\d)_", text)
    rows = {int(number) for _, number in tested}
    assert rows == set(range(1, 20))
    assert {int(number) for both, number in tested if both} == rows

"""Scenarios: both spellings of every parameter, and values that are invalid for every dataset."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.errors import IcmodelError, ScenarioError, UnitError
from icmodel.scenario import NO_OPTIONS, SI_NAMES, TEXT_SPELLINGS, Options, Scenario, scenario

TCP = Scenario("tcp", 1448)


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        ({"payload": "65535 B"}, {"payload_bytes": 65535}),
        ({"payload": "64 KiB"}, {"payload_bytes": 65536}),
        ({"rate": "6700/s"}, {"rate_fps": 6700}),
        ({"rate": "1.5 Mfps"}, {"rate_fps": 1_500_000.0}),
        ({"requested_goodput": "5 Gb/s"}, {"requested_goodput_bps": 5e9}),
        (
            {"other_goodput": "3.6 Gb/s", "endpoints": 2},
            {"other_goodput_bps": 3.6e9, "endpoints": 2},
        ),
        ({"distance": "50 m"}, {"distance_m": 50.0}),
    ],
)
def test_a_text_with_its_unit_says_the_same_as_the_number(
    texts: dict[str, object], numbers: dict[str, object]
) -> None:
    whole = {"protocol": "tcp"} | ({} if "payload" in texts else {"payload_bytes": 1448})
    assert scenario(**whole, **texts) == scenario(**whole, **numbers)


def test_every_text_spelling_leads_to_a_name_in_si() -> None:
    assert {name for name, _ in TEXT_SPELLINGS.values()} <= SI_NAMES
    assert not SI_NAMES & set(TEXT_SPELLINGS)


def test_what_is_left_out_is_the_plain_question() -> None:
    asked = scenario(protocol="tcp", payload="1448 B")
    assert asked == TCP
    assert asked.rate_fps is None
    assert math.isinf(asked.requested_goodput_bps)
    assert (asked.cores, asked.switches, asked.endpoints) == (None, 0, 1)
    assert (asked.other_goodput_bps, asked.distance_m, asked.options) == (0.0, None, NO_OPTIONS)


def test_none_is_left_out_too() -> None:
    nothing = dict.fromkeys(("rate", "cores", "distance_m", "nagle"))
    assert scenario(protocol="tcp", payload_bytes=1448, **nothing) == TCP


def test_requested_goodput_is_rate_times_payload_times_8() -> None:
    asked = scenario(protocol="tcp", payload="65535 B", rate="6700/s")
    assert asked.requested_goodput_bps == 3_512_676_000


@given(st.integers(1, 65535), st.floats(1, 1e11))
def test_a_requested_goodput_is_kept_to_the_last_digits(payload: int, goodput: float) -> None:
    asked = scenario(protocol="tcp", payload_bytes=payload, requested_goodput_bps=goodput)
    assert asked.requested_goodput_bps == pytest.approx(goodput, rel=1e-15)


@given(st.integers(1, 65535), st.integers(1, 10**11))
def test_a_whole_number_of_bits_a_second_is_kept_exactly(payload: int, goodput: int) -> None:
    asked = scenario(protocol="tcp", payload_bytes=payload, requested_goodput_bps=goodput)
    assert asked.requested_goodput_bps == goodput


def test_any_other_name_is_an_option_of_the_dataset() -> None:
    one = scenario(protocol="tcp", payload_bytes=1448, nagle="off", io_threads=4)
    other = scenario(
        protocol="tcp", payload_bytes=1448, options={"nagle": "off", "io_threads": "4"}
    )
    assert one == other
    assert list(one.options.items()) == [("io_threads", "4"), ("nagle", "off")]


def test_options_of_any_order_are_one_key() -> None:
    pairs = (("nagle", "off"), ("io_threads", "4"))
    assert Scenario("tcp", 1448, options=Options(pairs)) == Scenario(
        "tcp", 1448, options=Options(pairs[::-1])
    )
    assert {Options(pairs): 1}[Options(dict(pairs))] == 1
    assert Scenario("tcp", 1448, options=pairs).options == dict(pairs)  # type: ignore[arg-type]


def test_a_scenario_is_frozen_and_can_be_a_key() -> None:
    with pytest.raises(AttributeError):
        TCP.cores = 4  # type: ignore[misc]
    assert {TCP: 1}[Scenario("tcp", 1448)] == 1


def test_the_json_form_has_every_parameter_and_no_infinity() -> None:
    document = TCP.to_dict()
    assert document["requested_goodput_bps"] is None
    assert set(document) == SI_NAMES | {"options"}
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    limited = scenario(protocol="udp", payload_bytes=1000, rate_fps=10, nagle="off").to_dict()
    assert limited["requested_goodput_bps"] == 80_000
    assert limited["options"] == {"nagle": "off"}


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ({"payload_bytes": 0}, ("payload_bytes", "0", "1 to 9007199254740992")),
        ({"payload_bytes": -1}, ("payload_bytes", "-1", "1 to 9007199254740992")),
        ({"payload_bytes": 1.5}, ("payload_bytes", "1.5", "whole")),
        ({"payload_bytes": math.inf}, ("payload_bytes", "inf", "whole")),
        ({"payload_bytes": math.nan}, ("payload_bytes", "nan", "whole")),
        ({"payload_bytes": True}, ("payload_bytes", "True", "number")),
        ({"payload_bytes": "many"}, ("payload_bytes", "many", "number")),
        (
            {"payload_bytes": 0, "requested_goodput_bps": 1e9},
            ("payload_bytes", "0", "1 to 9007199254740992"),
        ),
        ({"rate_fps": 0}, ("rate_fps", "0", "above 0")),
        ({"rate_fps": -5}, ("rate_fps", "-5", "above 0")),
        ({"rate_fps": math.inf}, ("rate_fps", "inf", "leave it out")),
        ({"rate_fps": math.nan}, ("rate_fps", "nan", "above 0")),
        ({"requested_goodput_bps": 0}, ("requested_goodput_bps", "0", "above 0")),
        ({"requested_goodput_bps": math.inf}, ("requested_goodput_bps", "inf", "leave it out")),
        ({"requested_goodput_bps": -1e9}, ("requested_goodput_bps", "above 0")),
        ({"cores": 0}, ("cores", "0", "1 to 9007199254740992")),
        ({"cores": 2.5}, ("cores", "2.5", "whole")),
        ({"switches": -1}, ("switches", "-1", "0 to 9007199254740992")),
        ({"endpoints": 0}, ("endpoints", "0", "1 to 9007199254740992")),
        ({"endpoints": 2, "other_goodput_bps": -1}, ("other_goodput_bps", "-1", "0 or more")),
        ({"endpoints": 2, "other_goodput_bps": math.inf}, ("other_goodput_bps", "inf", "finite")),
        ({"other_goodput_bps": 1e9}, ("other goodput", "endpoints", "count the others")),
        ({"distance_m": -1}, ("distance_m", "-1", "0 or more")),
        ({"distance_m": math.nan}, ("distance_m", "nan", "finite")),
        ({"rate_fps": 1, "rate": "1/s"}, ("rate_fps", "twice")),
        ({"rate_fps": 1, "requested_goodput": "1 Gb/s"}, ("rate", "requested goodput", "both")),
        ({"payload": 65535}, ("payload", "no unit", "payload_bytes=65535")),
        ({"rate": 6700}, ("rate", "no unit", "rate_fps=6700")),
        ({"nagle": "off", "options": {"nagle": "on"}}, ("nagle", "twice")),
    ],
)
def test_what_no_dataset_can_answer_is_refused_by_name(
    question: dict[str, object], named: tuple[str, ...]
) -> None:
    whole = {"protocol": "tcp"} | ({} if "payload" in question else {"payload_bytes": 1448})
    with pytest.raises(ScenarioError) as refused:
        scenario(**(whole | question))
    message = str(refused.value)
    assert "\n" not in message
    for word in named:
        assert word in message


@pytest.mark.parametrize("missing", ["protocol", "payload"])
def test_a_question_needs_protocol_and_payload(missing: str) -> None:
    words = {"protocol": "tcp", "payload": "1448 B"}
    del words[missing]
    with pytest.raises(ScenarioError, match=f"no {missing}: give one, e.g. {missing}="):
        scenario(**words)


@pytest.mark.parametrize(
    "words",
    [{"payload": "65535"}, {"payload": "8 b"}, {"rate": "6700"}, {"other_goodput": "3.6 GB"}],
)
def test_a_text_without_a_fitting_unit_is_refused(words: dict[str, str]) -> None:
    with pytest.raises(UnitError):
        scenario(**({"protocol": "tcp", "payload": "1 B", "endpoints": 2} | words))


@pytest.mark.parametrize(
    "wrong",
    [
        {"payload_bytes": 0},
        {"payload_bytes": 1.0},
        {"payload_bytes": True},
        {"cores": 0},
        {"switches": -1},
        {"endpoints": 0},
        {"rate_fps": 0.0},
        {"rate_fps": math.inf},
        {"other_goodput_bps": 1.0},
        {"distance_m": -0.5},
    ],
)
def test_the_class_itself_refuses_the_same(wrong: dict[str, object]) -> None:
    values: dict[str, object] = {"protocol": "tcp", "payload_bytes": 1448}
    with pytest.raises(IcmodelError):
        Scenario(**(values | wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["payload_bytes", "cores", "switches", "endpoints", "rate_fps"])
def test_huge_whole_numbers_are_refused_without_a_crash(name: str) -> None:
    whole = {"protocol": "tcp", "payload_bytes": 1448}
    with pytest.raises(ScenarioError, match=name):
        scenario(**(whole | {name: 10**400}))


def test_a_rate_whose_goodput_is_infinite_is_refused() -> None:
    with pytest.raises(ScenarioError, match="rate_fps 1e"):
        scenario(protocol="tcp", payload_bytes=1448, rate_fps=1e308)


def test_a_whole_rate_may_be_beyond_64_bits() -> None:
    asked = Scenario("tcp", 1448, rate_fps=2**60)
    assert asked.requested_goodput_bps == 2.0**60 * 1448 * 8

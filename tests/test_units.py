"""Units: exact reading, refusal of everything unclear, round trips."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import checkout
from icmodel import units
from icmodel.errors import UnitError

SPELLINGS = [
    line.split("\t")
    for line in (checkout.ROOT / "tests" / "cases" / "units.tsv")
    .read_text(encoding="utf-8")
    .splitlines()
]
"""Kind, text in quotes, and its value in SI or why it is refused: icprobe's tests read the same table."""
SHARED = {
    "bytes": units._BYTES,
    "bps": units._BPS,
    "fps": units._FPS,
    "s": units._SECONDS,
    "ratio": units._RATIO,
}


@pytest.mark.parametrize(("kind", "quoted", "truth"), SPELLINGS)
def test_every_spelling_is_read_as_icprobe_reads_it(kind: str, quoted: str, truth: str) -> None:
    text, reason = quoted[1:-1], truth.removeprefix("refused: ")
    if reason == truth:
        assert float(units.parse(kind, text)) == float(truth)
        return
    with pytest.raises(UnitError) as caught:
        units.parse(kind, text)
    assert reason in str(caught.value)
    whole = "write 1 B or 2 B"
    assert (whole if "whole" in reason else "write a number and one unit of") in str(caught.value)


@pytest.mark.parametrize("kind", SHARED)
def test_the_table_of_spellings_has_every_unit(kind: str) -> None:
    told = {quoted[1:-1] for name, quoted, truth in SPELLINGS if name == kind}
    assert {f"3 {unit}" for unit in SHARED[kind].factors} <= told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64 KiB", 65536),
        ("65535 B", 65535),
        ("65535B", 65535),
        ("1.5 kB", 1500),
        (" 2 MB ", 2_000_000),
        ("1 GiB", 2**30),
        ("0.5 KiB", 512),
        ("0 B", 0),
        ("9e3 B", 9000),
    ],
)
def test_bytes(text: str, expected: int) -> None:
    value = units.parse_bytes(text)
    assert value == expected
    assert type(value) is int


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("fps", "6700/s", 6700.0),
        ("fps", "6700 f/s", 6700.0),
        ("fps", "6700 fps", 6700.0),
        ("fps", "1.5 Mfps", 1.5e6),
        ("fps", "1.5 M/s", 1.5e6),
        ("fps", "2 kf/s", 2000.0),
        ("bps", "9.4 Gb/s", 9.4e9),
        ("bps", "9.4 Gbit/s", 9.4e9),
        ("bps", "9.4 Gbps", 9.4e9),
        ("bps", "100 MB/s", 8e8),
        ("bps", "1 Kib/s", 1024.0),
        ("bps", "1.6 Tb/s", 1.6e12),
        ("bps", "0.1 Gb/s", 1e8),
        ("s", "50 us", 5e-05),
        ("s", "50 µs", 5e-05),
        ("s", "50 μs", 5e-05),
        ("s", "43 ns", 43e-9),
        ("s", "17 ms", 0.017),
        ("s", "2 min", 120.0),
        ("s", "1.5 h", 5400.0),
        ("s", ".5 s", 0.5),
        ("m", "50 m", 50.0),
        ("m", "1.2 km", 1200.0),
        ("m", "30 cm", 0.3),
        ("m", "30 mm", 0.03),
        ("hz", "20 kHz", 20e3),
        ("bits", "64 kb", 64e3),
        ("bits", "8 kB", 64e3),
        ("bits", "1 Mbit", 1e6),
        ("ratio", "0.1 %", 0.001),
        ("ratio", "85%", 0.85),
        ("ratio", "100 %", 1.0),
    ],
)
def test_floats_are_exact(kind: str, text: str, expected: float) -> None:
    assert units.parse(kind, text) == expected


@pytest.mark.parametrize("text", ["0.3 ns/B", "0.3 ns", "0.0003 us/B"])
def test_a_time_a_byte_is_a_time_with_or_without_its_byte(text: str) -> None:
    assert units.parse_seconds_per_byte(text) == 0.3e-9


REFUSED = [
    ("bytes", "65535", "has no unit"),
    ("bytes", "64 KB", "kB (1000) or KiB (1024)"),
    ("bits", "64 Kb", "kb (1000) or Kib (1024)"),
    ("bps", "64 Kb/s", "kb/s (1000) or Kib/s (1024)"),
    ("hz", "20 KHz", "kHz is meant"),
    ("bytes", "1.5 B", "whole number of bytes"),
    ("bytes", "64 kb", "unknown unit 'kb'"),
    ("bytes", "9.4 Gb/s", "a rate where none belongs"),
    ("bytes", "-1 B", "is negative"),
    ("bytes", "−1 B", "is negative"),
    ("bytes", "inf B", "finite"),
    ("bytes", "+inf B", "finite"),
    ("bytes", "+1 B", "plain number"),
    ("bytes", "65,535 B", "comma"),
    ("bytes", "65 535 B", "separator"),
    ("bytes", "65_535 B", "separator"),
    ("bytes", "1.000.000 B", "one decimal point"),
    ("bytes", "٣ B", "plain number"),
    ("bytes", "1e19 B", "too large"),
    ("bytes", "", "plain number"),
    ("bps", "9.4 Gb", "'/s' is missing"),
    ("bps", "9.4 GB", "'/s' is missing"),
    ("bps", "9.4 gb/s", "unknown unit 'gb/s'"),
    ("bps", "9.4 GBps", "unknown unit 'GBps'"),
    ("bps", "9,4 Gb/s", "decimal point"),
    ("bps", "nan", "finite"),
    ("bps", "unlimited", "plain number"),
    ("bps", "1e400 b/s", "too large"),
    ("fps", "6700", "has no unit"),
    ("fps", "6700 Hz", "unknown unit"),
    ("fps", "6700 Kifps", "unknown unit"),
    ("s", "50", "has no unit"),
    ("s", "50 usec", "unknown unit 'usec'"),
    ("s", "50 us 3", "unknown unit 'us 3'"),
    ("s", "50 us\n3", "unknown unit"),
    ("m", "50 ft", "unknown unit 'ft'"),
    ("ratio", "0.1", "has no unit"),
    ("ratio", "100.1 %", "more than 100 %"),
    ("ratio", "nan %", "finite"),
]


@pytest.mark.parametrize(("kind", "text", "reason"), REFUSED)
def test_refusals_name_the_text_the_fault_and_what_is_allowed(
    kind: str, text: str, reason: str
) -> None:
    with pytest.raises(UnitError) as caught:
        units.parse(kind, text)
    message = str(caught.value)
    assert repr(text) in message
    assert reason in message
    whole = "write 1 B or 2 B"
    assert (whole if "whole" in reason else "write a number and one unit of") in message
    assert "\n" not in message


def test_a_number_instead_of_a_text_is_a_unit_error() -> None:
    with pytest.raises(UnitError, match="65535 has no unit"):
        units.parse_bytes(65535)  # type: ignore[arg-type]


def test_unknown_kind_is_refused_with_the_kinds() -> None:
    with pytest.raises(UnitError, match="'furlongs' is not a kind of quantity: use one of bytes, "):
        units.parse("furlongs", "3 s")


def test_the_kinds_are_closed() -> None:
    assert set(units.QUANTITIES) == {"bytes", "bits", "bps", "fps", "s", "m", "hz", "ratio"}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("goodput_bps", 3.512676e9, "3.512676 Gb/s"),
        ("requested_goodput_bps", 1e8, "100 Mb/s"),
        ("load_bps", math.inf, "unlimited"),
        ("rate_fps", math.inf, "unlimited"),
        ("rate_fps", 6700.0, "6700/s"),
        ("frames_per_s", 814978.0, "814978/s"),
        ("packets_sent_per_s", 14880952.38, "14.88095 M/s"),
        ("latency_mean_s", 0.0001129564994, "112.9565 µs"),
        ("latency_max_s", 0.0073, "7.3 ms"),
        ("latency_min_s", 3.1e-8, "31 ns"),
        ("latency_std_s", 1e-10, "0.1 ns"),
        ("latency_mean_s", math.nan, "–"),
        ("latency_mean_s", math.inf, "∞"),
        ("cpu_send", 0.0706, "7.06 %"),
        ("cpu_recv_softirq", 0.1582, "15.82 %"),
        ("cpu_send_cores", 0.2824, "0.2824 cores"),
        ("cpu_send_cores", 1.0, "1 core"),
        ("cpu_recv_process_cores", 84.0, "84 cores"),
        ("loss_rate", 0.00156, "0.156 %"),
        ("loss_rate", 0.0, "0 %"),
        ("loss_rate", 1e-6, "0.0001 %"),
        ("loss_rate", 9.99e-7, "9.99e-5 %"),
        ("loss_rate", 1.781773e-10, "1.781773e-8 %"),
        ("latency_std_s", 2e-15, "2e-6 ns"),
        ("shortfall_bps", -1e-5, "-1e-5 b/s"),
        ("payload_bytes", 65535, "65535 B"),
        ("payload_bytes", 2**31, "2147483648 B"),
        ("distance_m", 50.0, "50 m"),
        ("propagation_s_per_m", 4.27e-9, "4.27 ns/m"),
        ("sample_hz", 20e3, "20 kHz"),
        ("amount_bits", 64e3, "64 kb"),
        ("cores", 4, "4"),
        ("shortfall_bps", -2.6e7, "-26 Mb/s"),
    ],
)
def test_fields_print_in_the_unit_of_their_name(name: str, value: float, text: str) -> None:
    assert units.format_quantity(name, value) == text


def test_a_field_without_a_unit_is_refused() -> None:
    with pytest.raises(UnitError, match="'goodput' has no unit suffix"):
        units.format_quantity("goodput", 1.0)


@pytest.mark.parametrize("name", [name for name in vars(units) if name.startswith("format_")])
def test_seven_digits_are_printed_unless_others_are_asked_for(name: str) -> None:
    form = getattr(units, name)
    if name == "format_quantity":
        form = partial(form, "latency_mean_s")
    assert re.sub("[^0-9]", "", form(1.23456789)) == "1234568"
    assert re.sub("[^0-9]", "", form(1.23456789, digits=3)) == "123"


Pair = tuple[Callable[[str], float], Callable[..., str]]
PAIRS: list[Pair] = [
    (units.parse_bps, units.format_bps),
    (units.parse_rate, units.format_rate),
    (units.parse_seconds, units.format_seconds),
    (units.parse_metres, units.format_metres),
    (units.parse_hertz, units.format_hertz),
    (units.parse_bits, units.format_bits),
]
POSITIVE = st.floats(min_value=0, allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("pair", PAIRS)
@given(value=POSITIVE)
def test_round_trip_is_exact_at_17_digits(pair: Pair, value: float) -> None:
    read, write = pair
    assert read(write(value, digits=17)) == value


@pytest.mark.parametrize("pair", PAIRS)
@given(value=st.floats(min_value=1e-200, max_value=1e300), digits=st.integers(1, 7))
def test_round_trip_keeps_the_printed_digits(pair: Pair, value: float, digits: int) -> None:
    read, write = pair
    assert read(write(value, digits=digits)) == float(f"{value:.{digits - 1}e}")


@given(value=st.floats(min_value=0, max_value=1))
def test_ratios_round_trip(value: float) -> None:
    assert units.parse_ratio(units.format_ratio(value, digits=17)) == value


@given(value=st.integers(0, 2**63 - 1))
def test_bytes_round_trip(value: int) -> None:
    assert units.parse_bytes(units.format_bytes(value)) == value


@given(value=st.integers(1, 10**6), prefix=st.sampled_from(["k", "M", "G", "T"]))
def test_bytes_are_eight_bits(value: int, prefix: str) -> None:
    assert units.parse_bps(f"{value} {prefix}B/s") == units.parse_bps(f"{8 * value} {prefix}b/s")
    assert units.parse_bits(f"{value} {prefix}B") == 8 * units.parse_bytes(f"{value} {prefix}B")


@given(text=st.text(max_size=12), kind=st.sampled_from(sorted(units.QUANTITIES)))
def test_any_text_is_a_finite_value_or_a_unit_error(text: str, kind: str) -> None:
    try:
        value = units.parse(kind, text)
    except UnitError:
        return
    assert value >= 0
    assert math.isfinite(value)


DECIMAL = {"": 0, "k": 1, "M": 2, "G": 3, "T": 4}
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3}
PREFIXED: list[tuple[Callable[[str], float], str, int, bool]] = [
    (units.parse_bytes, "B", 1, True),
    (units.parse_bps, "b/s", 1, True),
    (units.parse_bps, "bit/s", 1, True),
    (units.parse_bps, "bps", 1, True),
    (units.parse_bps, "B/s", 8, True),
    (units.parse_rate, "/s", 1, False),
    (units.parse_rate, "f/s", 1, False),
    (units.parse_rate, "fps", 1, False),
]


@pytest.mark.parametrize(("parse", "unit", "factor", "binary"), PREFIXED)
def test_every_prefix_is_its_power_before_every_unit(
    parse: Callable[[str], float], unit: str, factor: int, binary: bool
) -> None:
    for prefix, power in DECIMAL.items():
        assert parse(f"3 {prefix}{unit}") == 3 * factor * 1000**power
    for prefix, power in BINARY.items():
        if binary:
            assert parse(f"3 {prefix}{unit}") == 3 * factor * 1024**power
        else:
            with pytest.raises(UnitError):
                parse(f"3 {prefix}{unit}")


@pytest.mark.parametrize(
    ("text", "factor"), [("1.5", 1.5), ("150 %", 1.5), ("0.01", 0.01), ("1 %", 0.01)]
)
def test_a_factor_is_a_number_or_in_percent(text: str, factor: float) -> None:
    assert units.parse_factor(text) == pytest.approx(factor)


@pytest.mark.parametrize("text", ["fast", "0", "-1", "nan", "inf", "1.5 GHz", "0 %"])
def test_a_factor_is_above_0_and_has_no_unit(text: str) -> None:
    with pytest.raises(UnitError, match="not a ratio"):
        units.parse_factor(text)


def test_a_single_quantity_is_a_span_of_itself() -> None:
    assert units.parse_span("s", "20 us") == (2e-05, 2e-05)


@pytest.mark.parametrize(
    ("size", "text"), [(1e8, "100000000 B"), (10**8, "100000000 B"), (0.5, "0.5 B")]
)
def test_whole_sizes_are_printed_in_full(size: float, text: str) -> None:
    assert units.format_bytes(size) == text

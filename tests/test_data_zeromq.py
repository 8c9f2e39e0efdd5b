"""zeromq-100g-2019 and zeromq-1g-2007 hold the numbers their sources state, and no others."""

from __future__ import annotations

import csv
import hashlib
import subprocess
import sys
import tomllib
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
NAMES = ("zeromq-100g-2019", "zeromq-1g-2007")
OPTIONS = {
    "zeromq-100g-2019": ("batch_bytes", "io_threads", "library", "mtu_bytes"),
    "zeromq-1g-2007": (),
}


def points(name: str) -> list[dict[str, str]]:
    with (DATA / name / "points.csv").open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def only(name: str, **where: str) -> dict[str, str]:
    """The one row with these cells."""
    found = [row for row in points(name) if all(row[k] == v for k, v in where.items())]
    assert len(found) == 1
    return found[0]


def interval(row: dict[str, str]) -> tuple[Decimal, Decimal, Decimal]:
    return Decimal(row["low"]), Decimal(row["value"]), Decimal(row["high"])


def decimals(*texts: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, texts))


def test_small_messages_take_45_to_75_us_half_a_round_trip() -> None:
    row = only("zeromq-100g-2019", metric="rtt_half_mean_s", library="libzmq")
    assert interval(row) == decimals("45e-6", "60e-6", "75e-6")
    assert (row["basis"], row["payload_bytes"], row["load_bps"]) == ("stated", "", "")


def test_czmq_adds_up_to_20_us_in_the_wider_reading() -> None:
    row = only("zeromq-100g-2019", metric="rtt_half_mean_s", library="czmq")
    assert interval(row) == decimals("45e-6", "70e-6", "95e-6")
    assert row["basis"] == "derived"


@pytest.mark.parametrize(("payload", "trip"), [("64", "150e-6"), ("65515", "200e-6")])
def test_ping(payload: str, trip: str) -> None:
    row = only("zeromq-100g-2019", protocol="icmp", payload_bytes=payload)
    low, value, high = interval(row)
    assert row["metric"] == "rtt_mean_s"
    assert value == Decimal(trip)
    assert high - value == value - low == Decimal("5e-6")


def test_one_io_thread_peaks_at_20_to_25_gbps() -> None:
    row = only("zeromq-100g-2019", metric="goodput_bps", io_threads="1")
    assert interval(row) == decimals("20e9", "22.5e9", "25e9")
    assert (row["mtu_bytes"], row["payload_bytes"]) == ("1500", "")


def test_several_io_threads_peak_at_about_80_gbps() -> None:
    row = only("zeromq-100g-2019", io_threads="several", batch_bytes="8192")
    assert interval(row) == decimals("75e9", "80e9", "85e9")
    assert row["payload_bytes"] == ""


def test_tuned_buffers_carry_more_than_15_gbps_at_1_kb() -> None:
    row = only("zeromq-100g-2019", batch_bytes="tuned")
    assert interval(row) == decimals("15e9", "15e9", "100e9")
    assert (row["payload_bytes"], row["io_threads"], row["mtu_bytes"]) == (
        "1000",
        "several",
        "9000",
    )


def test_over_two_million_small_messages_a_second() -> None:
    row = only("zeromq-1g-2007", metric="frames_per_s")
    low, value, high = interval(row)
    assert low == value == 2000000
    assert high == Decimal(1000000000) / 8
    assert (row["n"], row["basis"], row["payload_bytes"]) == ("3", "stated", "")


def test_row_counts_and_no_invented_points() -> None:
    counted = {
        name: Counter((row["metric"], row["basis"]) for row in points(name)) for name in NAMES
    }
    assert counted["zeromq-100g-2019"] == {
        ("goodput_bps", "stated"): 3,
        ("rtt_half_mean_s", "stated"): 1,
        ("rtt_half_mean_s", "derived"): 1,
        ("rtt_mean_s", "stated"): 2,
    }
    assert counted["zeromq-1g-2007"] == {("frames_per_s", "stated"): 1}


@pytest.mark.parametrize("name", NAMES)
def test_every_row_crossed_one_switch_alone(name: str) -> None:
    assert {(row["switches"], row["endpoints"]) for row in points(name)} == {("1", "1")}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("zeromq-100g-2019", ["84", "20 µs", "8192 B", "sequence number"]),
        ("zeromq-1g-2007", ["below 1 µs", "128 B", "10 000 round trips"]),
    ],
)
def test_what_has_no_row_is_said_in_the_readme(name: str, words: list[str]) -> None:
    said = " ".join(
        (DATA / name / file).read_text(encoding="utf-8") for file in ("README.md", "dataset.toml")
    )
    assert [word for word in words if word not in said] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_document_fits_its_points(name: str) -> None:
    document = tomllib.loads((DATA / name / "dataset.toml").read_text(encoding="utf-8"))
    body = (DATA / name / "points.csv").read_bytes()
    assert document["sha256"] == hashlib.sha256(body).hexdigest()
    assert document["protocols"] == sorted({row["protocol"] for row in points(name)})
    assert set(document["axes"]) == {"payload_bytes", *OPTIONS[name]}
    for axis in OPTIONS[name]:
        assert document["axes"][axis]["default"] in {row[axis] for row in points(name)}


@pytest.mark.parametrize("name", NAMES)
def test_a_rebuild_gives_the_shipped_bytes(name: str, tmp_path: Path) -> None:
    script = ROOT / "tools" / f"build_{name.replace('-', '_')}.py"
    subprocess.run([sys.executable, "-B", str(script), str(tmp_path)], check=True)
    for file in ("points.csv", "dataset.toml"):
        assert (tmp_path / name / file).read_bytes() == (DATA / name / file).read_bytes()

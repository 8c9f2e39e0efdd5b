"""data/ethernet-1g-2010 and data/zeromq-1g-2010: what NIC2010 prints, and the proof of its erratum."""

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
DATASETS = ("ethernet-1g-2010", "zeromq-1g-2010")
SIZES = [2**k for k in range(17)]
TABLES = ["4.1.1", "4.1.2", *(f"4.2.{k}" for k in range(1, 9))]
SLIP = ("baseline", 128)  # the one printed row of table 4.2.7 that contradicts itself
LINE_RATE_BPS = 1_000_000_000
CUT_BPS = 1_010_000  # each run cut to whole Mb/s, their mean to 0.01 Mb/s
STREAM_PROFILES = ("baseline", "checksum", "checksum-tso-sg")
CURVES = {
    "ethernet-1g-2010": [
        ("aladar-aranyka", "rtt_half_mean_s", "baseline"),
        ("aladar-aranyka", "rtt_half_mean_s", "checksum"),
        ("aladar-aranyka", "rtt_half_mean_s", "checksum-gso"),
        *(("aladar-aranyka", "goodput_bps", offload) for offload in STREAM_PROFILES),
        *(("aladar-aranyka", "cpu_send", offload) for offload in STREAM_PROFILES),
        *(("janos-csaba", "goodput_bps", offload) for offload in STREAM_PROFILES),
        *(("janos-csaba", "cpu_send_cores", offload) for offload in STREAM_PROFILES),
    ],
    "zeromq-1g-2010": [
        ("", metric, offload)
        for metric in ("rtt_half_mean_s", "goodput_bps", "frames_per_s", "cpu_recv_cores")
        for offload in ("baseline", "checksum-tso-sg")
    ],
}

Cells = dict[str, str]


def table(path: Path) -> list[Cells]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def points(name: str) -> list[Cells]:
    return table(ROOT / "data" / name / "points.csv")


def select(name: str, **wanted: str) -> list[Cells]:
    return [
        cells
        for cells in points(name)
        if all(cells[column] == value for column, value in wanted.items())
    ]


def one(name: str, **wanted: str) -> Cells:
    (cells,) = select(name, **wanted)
    return cells


def file_of(number: str) -> str:
    return f"table_{number.replace('.', '_')}.csv"


def first_transcription(number: str) -> dict[tuple[int, str], Decimal]:
    """Each printed number by payload and column header."""
    rows = table(ROOT / "tools" / "transcriptions" / "nic2010" / file_of(number))
    size, *columns = rows[0]
    return {
        (int(row[size]), column.lower()): Decimal(row[column]) for row in rows for column in columns
    }


def second_transcription(number: str) -> dict[tuple[int, str], Decimal]:
    rows = table(ROOT / "tests" / "cases" / "nic2010" / file_of(number))
    found = {(int(row["payload_bytes"]), row["column"]): Decimal(row["value"]) for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("number", TABLES)
def test_two_transcriptions_agree(number: str) -> None:
    first = first_transcription(number)
    assert first == second_transcription(number)
    assert sorted({size for size, _ in first}) == SIZES
    assert len(first) % len(SIZES) == 0


def test_points_are_exactly_what_the_builder_writes(tmp_path: Path) -> None:
    builder = ROOT / "tools" / "build_nic2010.py"
    subprocess.run([sys.executable, "-B", str(builder), str(tmp_path)], check=True)
    for name in DATASETS:
        for file in ("points.csv", "dataset.toml"):
            assert (tmp_path / name / file).read_bytes() == (
                ROOT / "data" / name / file
            ).read_bytes()


@pytest.mark.parametrize("name", DATASETS)
def test_description_fits_the_points(name: str) -> None:
    folder = ROOT / "data" / name
    about = tomllib.loads((folder / "dataset.toml").read_text(encoding="utf-8"))
    rows = points(name)
    assert about["id"] == name
    assert about["sha256"] == hashlib.sha256((folder / "points.csv").read_bytes()).hexdigest()
    assert about["protocols"] == sorted({row["protocol"] for row in rows})
    options = list(rows[0])[7 : list(rows[0]).index("metric")]
    assert sorted(set(about["axes"]) - {"payload_bytes"}) == options
    for axis in options:
        assert about["axes"][axis]["default"] in {row[axis] for row in rows}
    assert {row["basis"] for row in rows} == {"tabulated"}


@pytest.mark.parametrize("name", DATASETS)
def test_seventeen_sizes_a_curve(name: str) -> None:
    rows = points(name)
    curves = Counter((row.get("machine", ""), row["metric"], row["offload"]) for row in rows)
    assert curves == dict.fromkeys(CURVES[name], len(SIZES))
    sizes = Counter(int(row["payload_bytes"]) for row in rows)
    assert sizes == dict.fromkeys(SIZES, len(CURVES[name]))


@pytest.mark.parametrize("name", DATASETS)
def test_layout_of_the_runs(name: str) -> None:
    for row in points(name):
        idle = row["metric"] == "rtt_half_mean_s"
        assert row["load_bps"] == ("" if idle else "inf")
        assert (row["cores"], row["switches"], row["endpoints"]) == ("1", "0", "1")
        assert row["n"] == ("5" if row["source"] == "NIC2010 table 4.1.1" else "")


def excess_bps() -> dict[tuple[str, int], Decimal]:
    """Messages/s x size x 8 minus the stored goodput, a row of the ØMQ tables each."""
    found = {}
    for row in select("zeromq-1g-2010", metric="goodput_bps"):
        key = {"offload": row["offload"], "payload_bytes": row["payload_bytes"]}
        frames = one("zeromq-1g-2010", metric="frames_per_s", **key)
        size = int(row["payload_bytes"])
        proven = Decimal(frames["value"]) * size * 8
        found[row["offload"], size] = proven - Decimal(row["value"])
    return found


def test_erratum_zeromq_throughput_is_megabit() -> None:
    """Every row but the slip is messages/s x size x 8, cut off as ØMQ prints it."""
    excess = excess_bps()
    assert len(excess) == 34
    assert {key for key, bps in excess.items() if not 0 <= bps < CUT_BPS} == {SLIP}
    assert excess[SLIP] == Decimal("26130368")


def test_the_slip_carries_both_readings() -> None:
    key = {"offload": "baseline", "payload_bytes": "128"}
    goodput = one("zeromq-1g-2010", metric="goodput_bps", **key)
    frames = one("zeromq-1g-2010", metric="frames_per_s", **key)
    assert (goodput["value"], goodput["low"], goodput["high"]) == (
        "393000000",
        "393000000",
        "419130368",
    )
    assert (frames["value"], frames["low"], frames["high"]) == ("409307", "383789.0625", "409307")
    spans = [row for name in DATASETS for row in points(name) if row["low"] or row["high"]]
    assert len(spans) == 2


def test_erratum_netperf_throughput_is_megabit() -> None:
    """As printed (MB/s) the plateaus would exceed the wire; as Mb/s they fill it."""
    for machine, full_packet_bytes in (("janos-csaba", 1460), ("aladar-aranyka", 1448)):
        rows = select("ethernet-1g-2010", metric="goodput_bps", machine=machine)
        highest = max(Decimal(row["value"]) for row in rows)
        bound = Decimal(full_packet_bytes) / 1538 * LINE_RATE_BPS
        assert Decimal("0.997") * bound < highest <= bound
        assert highest * 8 > LINE_RATE_BPS


def test_janos_sent_no_timestamps() -> None:
    rows = select("ethernet-1g-2010", metric="goodput_bps", machine="janos-csaba")
    assert max(Decimal(row["value"]) for row in rows) > Decimal(1448) / 1538 * LINE_RATE_BPS


def test_cpu_granularity_shows_what_was_multiplied() -> None:
    """netperf prints 0.01 %: Janos' sums are eighths of 0.08, Aladar's numbers twos of 0.02."""
    for metric, step in (("cpu_send_cores", "0.0008"), ("cpu_send", "0.0002")):
        rows = select("ethernet-1g-2010", metric=metric)
        assert all(Decimal(row["value"]) % Decimal(step) == 0 for row in rows)
    sums = [Decimal(row["value"]) for row in select("ethernet-1g-2010", metric="cpu_send_cores")]
    assert max(sums) == Decimal("1.384")


def test_gain_of_segmentation_offload_is_said_of_the_round_trip() -> None:
    """Section 5 says 263 us at 65 536 B; the table's halves differ by half of that."""
    baseline, offloaded = (
        Decimal(
            one(
                "ethernet-1g-2010",
                metric="rtt_half_mean_s",
                payload_bytes="65536",
                offload=offload,
            )["value"]
        )
        for offload in ("baseline", "checksum-gso")
    )
    assert round(2 * (baseline - offloaded) * 1_000_000) == 263


def test_checksum_offload_alone_does_not_fill_the_wire() -> None:
    def highest(offload: str) -> Decimal:
        rows = select(
            "ethernet-1g-2010", metric="goodput_bps", machine="aladar-aranyka", offload=offload
        )
        return max(Decimal(row["value"]) for row in rows)

    assert highest("checksum") == 587_300_000
    assert highest("checksum-tso-sg") == 938_950_000


@pytest.mark.parametrize(
    ("number", "machine", "offload", "payload_bytes", "metric", "value"),
    [
        ("4.1.1", "aladar-aranyka", "baseline", 1, "rtt_half_mean_s", "0.00002996"),
        ("4.1.1", "aladar-aranyka", "checksum", 16384, "rtt_half_mean_s", "0.00023762"),
        ("4.1.1", "aladar-aranyka", "checksum-gso", 16384, "rtt_half_mean_s", "0.000226"),
        ("4.2.1", "janos-csaba", "baseline", 8, "goodput_bps", "222490000"),
        ("4.2.1", "janos-csaba", "baseline", 8, "cpu_send_cores", "1.384"),
        ("4.2.2", "janos-csaba", "checksum", 64, "goodput_bps", "949180000"),
        ("4.2.2", "janos-csaba", "checksum", 512, "cpu_send_cores", "0.1464"),
        ("4.2.3", "janos-csaba", "checksum-tso-sg", 4, "goodput_bps", "90360000"),
        ("4.2.3", "janos-csaba", "checksum-tso-sg", 65536, "cpu_send_cores", "0.1144"),
        ("4.2.4", "aladar-aranyka", "baseline", 8192, "goodput_bps", "587430000"),
        ("4.2.4", "aladar-aranyka", "baseline", 8192, "cpu_send", "0.999"),
        ("4.2.5", "aladar-aranyka", "checksum", 2048, "goodput_bps", "542860000"),
        ("4.2.5", "aladar-aranyka", "checksum", 1, "cpu_send", "1"),
        ("4.2.6", "aladar-aranyka", "checksum-tso-sg", 4096, "goodput_bps", "938940000"),
        ("4.2.6", "aladar-aranyka", "checksum-tso-sg", 8192, "cpu_send", "0.5904"),
        ("4.1.2", "", "baseline", 65536, "rtt_half_mean_s", "0.0010127"),
        ("4.1.2", "", "checksum-tso-sg", 32768, "rtt_half_mean_s", "0.00039934"),
        ("4.2.7", "", "baseline", 16, "goodput_bps", "218330000"),
        ("4.2.7", "", "baseline", 16, "frames_per_s", "1707506.33"),
        ("4.2.7", "", "baseline", 4, "cpu_recv_cores", "0.795"),
        ("4.2.8", "", "checksum-tso-sg", 65536, "goodput_bps", "763000000"),
        ("4.2.8", "", "checksum-tso-sg", 64, "frames_per_s", "949367.66"),
        ("4.2.8", "", "checksum-tso-sg", 128, "cpu_recv_cores", "1.2354"),
    ],
)
def test_spot_values(
    number: str, machine: str, offload: str, payload_bytes: int, metric: str, value: str
) -> None:
    pair = {"machine": machine} if machine else {}
    row = one(
        "ethernet-1g-2010" if machine else "zeromq-1g-2010",
        metric=metric,
        offload=offload,
        payload_bytes=str(payload_bytes),
        **pair,
    )
    assert (row["value"], row["source"]) == (value, f"NIC2010 table {number}")

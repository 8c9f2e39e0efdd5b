"""Files as people have them: each is read as a person reads it, or refused with the sentence that names the fault."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import checkout
from icmodel.dataset import Point
from icmodel.errors import OutOfDomain, RecordError
from icmodel.ingest import About, Ingested, dataset_of, ingest
from icmodel.ingest.readers.common import TWO_WAY_SUMS
from icmodel.model import Model
from ingest_cases import results

FOUND = checkout.ROOT / "tests" / "cases" / "ingest_found"
TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    (FOUND / "table.toml").read_text(encoding="utf-8")
)
READ = sorted(name for name, entry in TABLE.items() if "refused" not in entry)
REFUSED = sorted(set(TABLE) - set(READ))


def test_the_table_names_every_file_of_which_there_are_more_than_forty() -> None:
    assert {path.name for path in FOUND.iterdir()} == {*TABLE, "table.toml"}
    assert len(READ) >= 40
    assert len(REFUSED) >= 15


def place(point: Point, got: Ingested) -> dict[str, object]:
    """Stated axes of a row, in the notation of the table."""
    names = ("protocol", "payload_bytes", "load_bps", "cores")
    said: dict[str, object] = {
        name: value for name in names if (value := getattr(point, name)) is not None
    }
    options = {
        axis.name: value for axis, value in zip(got.axes, point.options, strict=True) if value
    }
    return {**said, "options": options} if options else said


@pytest.mark.parametrize("name", READ)
def test_a_found_file_is_read_as_a_person_reads_it(name: str) -> None:
    entry, got = TABLE[name], ingest([FOUND / name])
    reasons = [one.reason for one in got.refused]
    not_taken = entry.get("not_taken", [])
    assert len(reasons) == len(not_taken)
    assert all(said in reason for said, reason in zip(not_taken, reasons, strict=True))
    assert len(got.points) == entry["count"]
    for row in entry["rows"]:
        said = {metric: value for metric, value in row.items() if metric != "at"}
        here = {point.metric: point.value for point in got.points if place(point, got) == row["at"]}
        assert here == pytest.approx(said, rel=1e-9)
    found = results(got)
    assert sorted({one.streams or 0 for one in found}) == entry.get("streams", [1])
    flows = ("goodput_bps", "sent_bps")
    sides = {number.side for one in found for number in one.numbers if number.metric in flows}
    assert sorted(sides) == entry.get("counted_by", [])
    for note in entry.get("notes", []):
        assert any(note in said for said in got.notes)


@pytest.mark.parametrize("name", REFUSED)
def test_a_found_file_is_refused_with_the_sentence_that_names_the_fault(name: str) -> None:
    with pytest.raises(RecordError) as caught:
        ingest([FOUND / name])
    assert TABLE[name]["refused"] in str(caught.value)
    assert str(caught.value).startswith(f"{name}: ")


def test_a_paced_run_is_no_capacity() -> None:
    """A stated limit, a default limit or an unknown limit is not an unlimited load."""
    paced = [
        "iperf3-udp-default.json",
        "iperf3-udp-default-3.1.3.json",
        "iperf3-udp-paced-3.1.3.json",
        "iperf2-udp-default.txt",
        "nuttcp-udp-default.txt",
        "nuttcp-unsaid-rate.txt",
        "netperf-paced.txt",
        "perftest-rate-limit.txt",
        "sockperf-under-load.txt",
    ]
    for name in paced:
        loads = {point.load_bps for point in ingest([FOUND / name]).points}
        assert loads, name
        assert all(load is not None and load < 1e11 for load in loads), name


@pytest.mark.parametrize("variant", ["corrected", "hybrid"])
def test_a_dataset_of_paced_runs_predicts_up_to_their_rate_and_no_capacity(
    variant: str, tmp_path: Path
) -> None:
    """A run at the default limit of 1 Mb/s is not unlimited."""
    got = ingest([FOUND / "iperf3-udp-default.json"])
    model = Model(dataset_of(got, tmp_path / "paced", About()), variant)
    below = model.predict(protocol="udp", payload="1448 B", rate="80/s")
    assert below.goodput_bps.value == pytest.approx(80 * 1448 * 8)
    for rate in (None, 800.0):
        with pytest.raises(OutOfDomain, match="at limited rates only, so its capacity is unknown"):
            model.predict(protocol="udp", payload="1448 B", rate_fps=rate)


def test_a_run_that_missed_its_limit_is_a_capacity(tmp_path: Path) -> None:
    """A limit above the capacity of the path has no effect."""
    text = (FOUND / "iperf3-udp-default.json").read_text(encoding="utf-8")
    file = tmp_path / "over.json"
    file.write_text(text.replace('"target_bitrate": 1048576', '"target_bitrate": 10485760'))
    model = Model(dataset_of(ingest([file]), tmp_path / "over", About()), "corrected")
    assert model.predict(protocol="udp", payload="1448 B").goodput_bps.value == 1048352.0


def test_both_ends_of_ntttcp_make_one_row() -> None:
    ends = [FOUND / f"ntttcp-linux-{end}.txt" for end in ("sender", "receiver")]
    got = ingest(ends)
    assert len({(point.options, point.payload_bytes, point.load_bps) for point in got.points}) == 1
    assert {point.options for point in got.points} == {("64",)}
    assert {point.metric for point in got.points} >= {"sent_bps", "goodput_bps"}
    windows = ingest([FOUND / f"ntttcp-windows-{end}.txt" for end in ("sender", "receiver")])
    assert {point.options for point in windows.points} == {("4",)}


@pytest.mark.parametrize(
    ("tool", "title"),
    [
        ("perftest", "RDMA_Write Bidirectional BW Test"),
        ("perftest", "Send Bidirectional Post List BW Test"),
        ("osu", "OSU MPI Bi-Directional Bandwidth Test"),
        ("osu", "OSU MPI_Put Bi-directional Bandwidth Test"),
        ("imb", "Sendrecv"),
        ("imb", "Exchange"),
        ("imb", "Biband"),
        ("imb", "PingPing"),
        ("qperf", "rc_bi_bw"),
    ],
)
def test_every_mode_that_sums_both_directions_is_named(tool: str, title: str) -> None:
    assert TWO_WAY_SUMS[tool].title.search(title)


@pytest.mark.parametrize(
    ("tool", "title"),
    [
        ("perftest", "RDMA_Write Post List BW Test"),
        ("osu", "OSU MPI Bandwidth Test"),
        ("osu", "OSU MPI Multiple Bandwidth / Message Rate Test"),
        ("imb", "Uniband"),
        ("imb", "PingPong"),
        ("qperf", "tcp_bw"),
    ],
)
def test_a_mode_of_one_direction_is_no_sum(tool: str, title: str) -> None:
    assert not TWO_WAY_SUMS[tool].title.search(title)

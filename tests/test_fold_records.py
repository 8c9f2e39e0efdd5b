"""Files of records: every run once whatever the files, and damage is named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import jsonschema
import pytest

import checkout
from fold_case import GOLDEN, document, line, write
from icmodel.errors import RecordError
from icmodel.fold import read_records, record_of


def runs(*files: Path) -> list[str]:
    return [record.run for record in read_records(files).records]


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.glob("*.jsonl")))
def test_every_record_of_a_real_run_is_read(name: str) -> None:
    lines = (GOLDEN / name).read_text(encoding="utf-8").splitlines()
    reading = read_records([GOLDEN / name])
    assert sorted(record.line for record in reading.records) == sorted(lines)
    for record in reading.records:
        assert dict(record.result) == json.loads(record.line)["result"]


def test_the_records_of_these_tests_follow_the_probes_schema() -> None:
    schema = json.loads((checkout.ROOT / "calibration" / "record.schema.json").read_bytes())
    jsonschema.validate(document("a", plan={}, switches=1), schema)


def test_files_are_read_in_order_of_time_whatever_their_order(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", line("c"), line("a"))
    two = write(tmp_path / "two.jsonl", line("b"))
    assert runs(one, two) == runs(two, one) == ["a", "b", "c"]


def test_reading_says_how_far_it_is_over_all_files(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "1.jsonl", line("a"), line("b")),
        write(tmp_path / "2.jsonl", line("c")),
    ]
    told: list[tuple[int, int]] = []
    read_records(files, lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_gzip_is_read_by_its_bytes_and_not_by_its_name(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain.jsonl", line("a"), line("b"))
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert runs(packed) == runs(plain)


def test_a_run_in_two_files_counts_once(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", line("a"), line("b"))
    two = write(tmp_path / "two.jsonl", line("b"))
    reading = read_records([one, two, one])
    assert [record.run for record in reading.records] == ["a", "b"]
    assert reading.duplicates == 3


def test_a_run_in_two_forms_is_refused(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", line("a"))
    two = write(tmp_path / "two.jsonl", line("b"), line("a", payload_bytes=9))
    with pytest.raises(
        RecordError, match=r"two\.jsonl line 2: run a occurs twice with different content"
    ):
        read_records([one, two])


def test_a_last_line_that_was_cut_is_left_out_and_noted(tmp_path: Path) -> None:
    path = write(tmp_path / "cut.jsonl", line("a"), line("b"))
    for kept in (1, 100, len(path.read_bytes()) // 2 - 5):
        torn = tmp_path / f"torn-{kept}.jsonl"
        torn.write_bytes(path.read_bytes() + line("c").encode()[:kept])
        reading = read_records([torn])
        assert [record.run for record in reading.records] == ["a", "b"]
        assert reading.notes == (
            f"torn-{kept}.jsonl: the last line was cut while it was written and is left out",
        )


def test_a_whole_last_line_needs_no_line_feed(tmp_path: Path) -> None:
    path = tmp_path / "whole.jsonl"
    path.write_text(f"{line('a')}\n\n{line('b')}", encoding="utf-8")
    assert runs(path) == ["a", "b"]


@pytest.mark.parametrize("moment", ["0/s", "2026-01-02T03:04:05"])
def test_a_record_starts_at_a_moment_of_a_time_zone(moment: str) -> None:
    with pytest.raises(RecordError, match="not a record of icprobe, started_utc"):
        record_of(json.dumps({**document("a"), "started_utc": moment}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}\n", "line 1: not a record of icprobe, schema_version field required"),
        ('{"end": {}}\n', "not a record of icprobe"),
        ("iperf3 done\n", "line 1: not a record of icprobe"),
        ("[]\n", "line 1: not a record of icprobe"),
        ("", "the given files have no record"),
        ("\n\n", "the given files have no record"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordError, match=told) as caught:
        read_records([path])
    assert "icprobe run" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_a_damaged_and_a_binary_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"none\.jsonl cannot be read"):
        read_records([tmp_path / "none.jsonl"])
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(line("a").encode())[:-20])
    with pytest.raises(RecordError, match="damaged gzip"):
        read_records([packed])
    (tmp_path / "binary").write_bytes(b"\xff\xfe\n")
    with pytest.raises(RecordError, match="not UTF-8"):
        read_records([tmp_path / "binary"])


def test_a_gzip_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("icmodel.fold.records.LARGEST_BYTES", 2**20)
    bomb = tmp_path / "bomb.jsonl.gz"
    bomb.write_bytes(gzip.compress(b" " * 2**21))
    with pytest.raises(RecordError, match="unpacks to more than 1048576 B"):
        read_records([bomb])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schema_version": 2}, "schema_version"),
        ({"run": ""}, "run "),
        ({"result": {"goodput_bps": "fast"}}, "result.goodput_bps"),
        ({"result": {"goodput_bps": -1.0}}, "goodput_bps -1, which is impossible"),
        ({"result": {"loss_rate": 1.5}}, "loss_rate 1.5, which is impossible"),
        ({"point": {"protocol": "udp", "cores": 1}}, "point.payload_bytes is missing"),
        ({"flags": "stalled"}, "flags"),
    ],
)
def test_a_record_that_cannot_be_is_refused(change: dict[str, object], told: str) -> None:
    with pytest.raises(RecordError, match=told):
        record_of(json.dumps({**document("a"), **change}))


@pytest.mark.parametrize("load", [0.0, -1.0, "much", True])
def test_a_load_is_above_nothing(load: object) -> None:
    with pytest.raises(RecordError, match="load_bps"):
        record_of(line("a", load_bps=load))

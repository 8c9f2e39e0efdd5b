"""Files of records: each run counts once, and damage is named."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import checkout
from fold_case import GOLDEN, document, line, record, write
from icmodel.errors import RecordError
from icmodel.fold import Settings, fold, fold_files, read_records, rebuild, record_of
from icmodel.fold.account import USED, readme
from icmodel.fold.records import (
    SPOILS,
    WHY,
    Record,
    coarser,
    merged_buckets,
    spoilers,
    spoilt_by,
    without,
)


def runs(*files: Path) -> list[str]:
    return [record.run for record in read_records(files).records]


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.glob("*.jsonl")))
def test_every_record_of_a_real_run_is_read(name: str) -> None:
    lines = (GOLDEN / name).read_text(encoding="utf-8").splitlines()
    reading = read_records([GOLDEN / name])
    assert sorted(one.line for one in reading.records) == sorted(lines)
    for one in reading.records:
        assert dict(one.result) == json.loads(one.line)["result"]


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
        assert reading.notes == (f"torn-{kept}.jsonl: the last line is incomplete and is left out",)


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


# --- flags: every flag of the probe is known, and spoils what it must and no more -----------------


METRICS = (
    "goodput_bps",
    "latency_mean_s",
    "latency_p999_s",
    "rtt_mean_s",
    "cpu_send",
    "cpu_recv_softirq",
    "cpu_recv_cores",
    "cpu_send_process_cores",
    "packets_sent_per_s",
    "loss_rate",
)


def spoilt(flag: str) -> set[str]:
    return {metric for metric in METRICS if spoilt_by(flag, metric)}


def test_every_flag_of_the_probe_is_known() -> None:
    schema = json.loads((checkout.ROOT / "calibration" / "record.schema.json").read_bytes())
    told = set(schema["properties"]["flags"]["items"]["enum"])
    assert told == set(SPOILS) == set(WHY)


def test_the_guide_says_the_same_of_every_flag() -> None:
    page = (checkout.ROOT / "docs" / "guides" / "fold.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| ([^|]+?) \|", page, re.MULTILINE))
    for flag, prefixes in SPOILS.items():
        if not prefixes:
            assert rows[flag] == "nothing"
        elif "" in prefixes:
            assert rows[flag] == "everything"
        else:
            assert set(re.findall(r"`(\w+)\*`", rows[flag])) == set(prefixes), flag


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("incomplete", set(METRICS)),
        ("pacing-error", set(METRICS)),
        ("shared-cores", set(METRICS) - {"cpu_send_process_cores"}),
        ("negative-latency", {"latency_mean_s", "latency_p999_s"}),
        ("unsteered", {"cpu_send", "cpu_recv_softirq", "cpu_recv_cores"}),
        (
            "foreign-frames",
            {"cpu_send", "cpu_recv_softirq", "cpu_recv_cores", "packets_sent_per_s"},
        ),
        ("stalled", set()),
        ("busy-host", set()),
        ("a-flag-of-tomorrow", set(METRICS)),
    ],
)
def test_a_flag_spoils_these_metrics(flag: str, expected: set[str]) -> None:
    assert spoilt(flag) == expected


def test_others_on_purpose_spoil_the_receivers_counts_alone() -> None:
    metrics = ("goodput_bps", "cpu_send", "cpu_recv", "cpu_recv_process_cores", "latency_mean_s")
    beside = fold(
        [
            record("a", flags=("overlapping",), endpoints=2, result=dict.fromkeys(metrics, 0.5)),
            record("b", flags=("overlapping",), result=dict.fromkeys(metrics, 0.5)),
        ]
    )
    assert {p.metric for p in beside.points} == {"goodput_bps", "cpu_send", "latency_mean_s"}
    assert {p.endpoints for p in beside.points} == {2}


def test_a_person_may_tolerate_or_refuse_a_flag() -> None:
    flags = ("stalled", "unsteered")
    assert spoilers(flags, "cpu_send", (), ()) == ("unsteered",)
    assert spoilers(flags, "cpu_send", ("unsteered",), ()) == ()
    assert spoilers(flags, "goodput_bps", (), ("stalled",)) == ("stalled",)
    for option in ("tolerate", "refuse"):
        with pytest.raises(RecordError, match=f"{option} 'slow' is not a flag"):
            Settings(**{option: ("slow",)})  # type: ignore[arg-type]


def test_the_readme_says_what_a_flag_spoilt_this_time() -> None:
    runs = [
        record("a", result={"goodput_bps": 1e6, "cpu_send": 0.2}),
        record("b", result={"goodput_bps": 3e6, "cpu_send": 0.9}, flags=("unsteered",)),
    ]
    told = readme("x", "X", fold(runs).account, None)
    assert "| unsteered | 1 | `cpu_send*`, `cpu_recv*`, but `cpu_*_process_cores` |" in told
    told = readme("x", "X", fold(runs, Settings(refuse=("unsteered",))).account, None)
    assert "| unsteered | 1 | everything |" in told


def test_spoilt_metrics_are_left_out_by_run_and_named() -> None:
    folded = fold(
        [
            record("a", result={"goodput_bps": 1e6, "cpu_send": 0.2}),
            record("b", result={"goodput_bps": 3e6, "cpu_send": 0.9}, flags=("unsteered",)),
        ]
    )
    found = {point.metric: (point.value, point.n) for point in folded.points}
    assert found == {"goodput_bps": (2e6, 2), "cpu_send": (0.2, 1)}
    kept = next(item for item in folded.account.fates if item.run == "b")
    assert kept.fate == USED
    assert kept.left_out == {"cpu_send": ("unsteered",)}
    assert folded.account.flags() == {"unsteered": {"runs": 1, "spoilt": 1}}


def test_a_run_that_is_spoilt_altogether_is_kept_apart_with_the_flag() -> None:
    folded = fold([record("a"), record("b", flags=("incomplete", "stalled"))])
    assert {point.n for point in folded.points} == {1}
    assert folded.account.reasons() == {"its flags spoil every metric: incomplete": 1}


def test_disturbed_runs_stay_unless_they_are_refused() -> None:
    records = [record("a"), record("b", flags=("preempted",))]
    assert {point.n for point in fold(records).points} == {2}
    strict = fold(records, Settings(refuse=("preempted",)))
    assert {point.n for point in strict.points} == {1}
    apart = fold(records, Settings(apart=("flags",)))
    assert {point.options for point in apart.points} == {("none",), ("preempted",)}


def test_when_nothing_is_left_the_reason_is_said() -> None:
    with pytest.raises(RecordError, match="1 runs: its flags spoil every metric: incomplete"):
        fold([record("a", flags=("incomplete",))])


# --- what is cut from records before they are shown: names of hosts, and digits of histograms -----


SECRET = 'quiet root="/dev/x y" \\ end'


def test_what_is_withheld_is_not_shown_and_the_rest_stays_byte_for_byte() -> None:
    whole = record("a", host={"kernel_cmdline": SECRET})
    shown = without(whole, ("kernel_cmdline", "mac"))
    told = f'"kernel_cmdline": {json.dumps(SECRET)}'
    assert whole.line.count(told) == 2
    mac = f'"mac": "{whole.host("caller")["mac"]}"', '"mac": "withheld"'
    assert shown.line.count(mac[1]) == 2
    assert shown.line.replace('"mac": "withheld"', "") == re.sub(
        '"mac": "[^"]*"', "", whole.line.replace(told, '"kernel_cmdline": "withheld"')
    )
    assert without(shown, ("kernel_cmdline",)) == shown
    assert without(whole, ()) is whole


def test_labels_of_that_name_stay_and_the_record_still_fits_its_schema() -> None:
    shown = without(record("a", mac="label of a person"), ("mac", "hostname"))
    assert shown.point["mac"] == "label of a person"
    assert {shown.host(end)["hostname"] for end in ("caller", "responder")} == {"withheld"}
    schema = json.loads((checkout.ROOT / "calibration" / "record.schema.json").read_bytes())
    jsonschema.validate(json.loads(shown.line) | {"point": document("a")["point"]}, schema)


def changed(before: str, after: str) -> Record:
    """Record with a property in another form than icprobe writes."""
    whole = record("a", host={"kernel_cmdline": SECRET})
    line = re.sub(before, after, whole.line)
    assert line != whole.line
    return record_of(line)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"mac": "[^"]*"', '"mac": ["02:00:00:00:00:01"]'),
        ('"environment":', '"environment" :'),
    ],
)
def test_what_cannot_be_withheld_is_refused_and_not_shown(before: str, after: str) -> None:
    with pytest.raises(RecordError, match="has mac in a form that cannot be redacted"):
        without(changed(before, after), ("mac",))


def test_a_histogram_in_another_form_does_not_keep_its_digits_unseen() -> None:
    text = (checkout.ROOT / "calibration" / "tests" / "golden" / "udp-paced.jsonl").read_text()
    line = re.sub(
        r'"significant_digits":(\d),"buckets":(\[\[.*?\]\])',
        r'"buckets":\2,"significant_digits":\1',
        text.strip(),
    )
    assert line != text.strip()
    with pytest.raises(RecordError, match="digits cannot be reduced"):
        coarser(record_of(line), 1)


def test_what_numbers_follow_from_is_not_withheld() -> None:
    with pytest.raises(RecordError, match="withhold 'cpus' is not possible: it can be one of"):
        Settings(withhold=("cpus",))


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=50))
def test_coarser_buckets_hold_the_same_counts_within_their_digits(values: list[int]) -> None:
    fine = merged_buckets([[value, value, 1] for value in values], 3)
    coarse = merged_buckets(fine, 2)
    assert coarse == merged_buckets([[value, value, 1] for value in values], 2)
    assert sum(count for *_, count in coarse) == len(values)
    assert all(0 <= upper - lower <= max(0, 0.01 * lower) for lower, upper, _ in coarse)


def test_a_record_keeps_all_but_the_digits_of_its_histogram() -> None:
    whole = record("a")
    shown = coarser(whole, 2)
    before, after = json.loads(whole.line), json.loads(shown.line)
    fine, coarse = before.pop("latency_histogram"), after.pop("latency_histogram")
    assert before == after
    assert (fine["significant_digits"], coarse["significant_digits"]) == (3, 2)
    assert len(coarse["buckets"]) < len(fine["buckets"])
    assert sum(b[2] for b in coarse["buckets"]) == sum(b[2] for b in fine["buckets"])
    assert coarser(shown, 2) is shown
    assert coarser(shown, 3) is shown
    with pytest.raises(RecordError, match="histogram_digits 0 is not possible: give 1 to 3"):
        Settings(histogram_digits=0)


def test_a_folder_with_less_in_its_records_is_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    lines = [line(f"r{k}", host={"kernel_cmdline": SECRET}) for k in range(3)]
    chosen = Settings(withhold=("kernel_cmdline",), histogram_digits=2, most_steal=0.05)
    fold_files([write(tmp_path / "r.jsonl", *lines)], tmp_path / "lab", chosen)
    kept = read_records([tmp_path / "lab" / "records.jsonl.gz"]).records
    assert all(SECRET[:5] not in one.line for one in kept)
    page = (tmp_path / "lab" / "README.md").read_text(encoding="utf-8")
    assert "with `kernel_cmdline` withheld and with histograms of 2 significant digits" in page
    before = {path.name: path.read_bytes() for path in (tmp_path / "lab").iterdir()}
    rebuild(tmp_path / "lab")
    assert {path.name: path.read_bytes() for path in (tmp_path / "lab").iterdir()} == before


def test_what_is_withheld_cannot_stand_in_the_rows() -> None:
    with pytest.raises(RecordError, match="leave it out of one of them"):
        Settings(withhold=("hostname",), apart=("hostname",))


def test_a_condition_beyond_all_counts_is_one_sentence() -> None:
    with pytest.raises(RecordError, match="payload_bytes of 401 digits"):
        record_of(line("a", payload_bytes=10**400))

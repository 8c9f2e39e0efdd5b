"""What is cut from records before they are shown: names of hosts, and digits of histograms."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import checkout
from fold_case import document, line, record, write
from icmodel.errors import RecordError
from icmodel.fold import Settings, fold_files, read_records, rebuild
from icmodel.fold.records import Record, coarser, merged_buckets, record_of, without

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
    """A record that says something in another form than icprobe does."""
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
    with pytest.raises(RecordError, match="whose digits cannot be reduced"):
        coarser(record_of(line), 1)


def test_what_numbers_follow_from_is_not_withheld() -> None:
    with pytest.raises(RecordError, match="--withhold 'cpus' is not possible: it can be one of"):
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
    with pytest.raises(RecordError, match="--histogram-digits 0 is not possible: give 1 to 3"):
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
    with pytest.raises(RecordError, match="leave one of them out"):
        Settings(withhold=("hostname",), apart=("hostname",))

"""Folder of a verification: stored, continued and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from icmodel.errors import MeasuringError, VerificationError
from icmodel.fold import read_records
from icmodel.verify.folder import PASS, PREDICTION, SETTINGS, Folder, opened
from icmodel.verify.running import RunResult

GIVEN: dict[str, Any] = {"schema_version": 1, "system": "small", "slower": 5.0}
MADE: dict[str, Any] = {"streams": {"a": {}, "b": {}}, "devices": {}}
NAMES = ("a", "b")
PLAYED = RunResult({"a": {"run": "1"}, "b": {"run": "2"}}, 1.0)


def kept(path: Path, passes: int = 2) -> None:
    with opened(path, GIVEN, "") as folder:
        stored = folder.prediction(MADE)
        for number in range(1, passes + 1):
            folder.keep(number, PLAYED, stored)


def read(path: Path) -> list[int]:
    folder = Folder(path)
    return [one.number for one in folder.passes(folder.prediction(MADE), NAMES)]


def test_passes_come_back_in_their_order(tmp_path: Path) -> None:
    kept(tmp_path / "one", 11)
    assert read(tmp_path / "one") == list(range(1, 12))
    with opened(tmp_path / "one", GIVEN, "") as folder:
        stored = folder.prediction(MADE)
        first = folder.passes(stored, NAMES)[0]
    assert first.records["a"]["run"] == "1"
    assert first.records["b"]["verification"]["prediction_sha256"] == stored.sha256


def test_the_first_prediction_stays(tmp_path: Path) -> None:
    kept(tmp_path / "one")
    other = {"streams": {"a": {"goodput_bps": 1}, "b": {}}}
    assert Folder(tmp_path / "one").prediction(other).prediction == MADE


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    kept(tmp_path / "one")
    with (
        pytest.raises(VerificationError, match="with other settings: slower differ"),
        opened(tmp_path / "one", {**GIVEN, "slower": 1.0}, ""),
    ):
        pass


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine", encoding="utf-8")
    with (
        pytest.raises(VerificationError, match="is not empty and holds no verification"),
        opened(tmp_path, GIVEN, ""),
    ):
        pass
    (tmp_path / "file").write_text("", encoding="utf-8")
    with (
        pytest.raises(VerificationError, match="cannot be written"),
        opened(tmp_path / "file" / "below", GIVEN, ""),
    ):
        pass


def test_two_processes_do_not_measure_into_one_folder(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "one", GIVEN, ""),
        pytest.raises(MeasuringError, match="another process is measuring"),
        opened(tmp_path / "one", GIVEN, ""),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        (SETTINGS, b"{", "cannot be read"),
        (SETTINGS, b"[]", "it is not a JSON object"),
        (PREDICTION, b"{}", "it holds no prediction"),
        (PREDICTION, b'{"prediction": 1}', "it holds no prediction"),
        (PREDICTION, b"\xff", "cannot be read"),
        (PASS.format(1), b"", "cannot be read"),
        (PASS.format(1), b"{\n", "cannot be read"),
        (PASS.format(1), b"[1]\n", "cannot be read"),
        (PASS.format(2), b'{"verification": {}}\n', "cannot be read"),
        (PASS.format(1), b'{"verification": {"pass": 1e400}}\n', "cannot be read"),
    ],
)
def test_a_damaged_file_is_reported_in_one_sentence(
    tmp_path: Path, name: str, body: bytes, said: str
) -> None:
    folder = tmp_path / "one"
    kept(folder)
    (folder / name).write_bytes(body)
    with pytest.raises(VerificationError, match=said) as refused, opened(folder, GIVEN, ""):
        read(folder)
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_changed_prediction_no_longer_fits_the_records(tmp_path: Path) -> None:
    kept(tmp_path / "one")
    place = tmp_path / "one" / PREDICTION
    document = json.loads(place.read_text(encoding="utf-8"))
    document["made_utc"] = "2030-01-01T00:00:00Z"
    place.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(VerificationError, match="does not belong to the prediction"):
        read(tmp_path / "one")


def test_a_pass_of_other_streams_is_refused(tmp_path: Path) -> None:
    kept(tmp_path / "one")
    folder = Folder(tmp_path / "one")
    with pytest.raises(VerificationError, match="streams differ from those of the prediction"):
        folder.passes(folder.prediction(MADE), ("a", "c"))


def test_fold_reads_the_records_of_passes(tmp_path: Path) -> None:
    """A golden record stored as a pass is read without its marks."""
    golden = Path(__file__).parents[1] / "calibration" / "tests" / "golden" / "udp-paced.jsonl"
    record = json.loads(golden.read_text(encoding="utf-8").splitlines()[0])
    with opened(tmp_path / "one", GIVEN, "") as folder:
        folder.keep(
            1, RunResult({"a": record, "b": {**record, "run": "2"}}, 1.0), folder.prediction(MADE)
        )
    assert len(read_records([tmp_path / "one" / PASS.format(1)]).records) == 2

"""Verification without a network, from system to verdict: predictions, lab systems and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import icmodel
from icmodel.cli import main
from icmodel.errors import VerificationError
from icmodel.schemas import output_schema
from icmodel.verify import VerifyOptions, verify
from icmodel.verify.folder import PREDICTION, Folder
from icmodel.verify.running import RunResult
from verify_case import DATASET, OPTIONS, record

NAME = "lab-two-senders"
AS_PREDICTED = {
    "goodput_bps": 9.4e6,
    "latency_mean_s": 0.45,
    "latency_p99_s": 0.54,
    "latency_max_s": 0.6,
    "cpu_send_process_cores": 0.002,
    "cpu_recv_process_cores": 0.05,
}


def measured(folder: Path, passes: int, **changes: float) -> Any:
    """Verification of two senders, with made-up passes that equal the prediction except for the changes."""
    verify(NAME, folder, OPTIONS)
    result = record({**AS_PREDICTED, **changes}, ("stalled",))
    kept = Folder(folder)
    for number in range(1, passes + 1):
        kept.keep(
            number, RunResult({"measured": result, "other": result}, 1.0), kept.prediction({})
        )
    return verify(NAME, folder, replace(OPTIONS, repeats=passes))


def test_no_repeats_only_predict(tmp_path: Path) -> None:
    found = verify(NAME, tmp_path / "two", OPTIONS)
    assert (found.judged, found.verdict, found.exit_code) == (0, "undecided", 3)
    stored = json.loads((tmp_path / "two" / PREDICTION).read_text(encoding="utf-8"))
    assert stored["icmodel"] == icmodel.__version__
    assert stored["prediction"]["streams"]["measured"]["goodput_bps"]["value"] == pytest.approx(
        1e8 / 5 * 1448 / 1538 / 2, rel=0.01
    )


def test_measurements_inside_the_intervals_agree(tmp_path: Path) -> None:
    found = measured(tmp_path / "two", 3)
    assert found.verdict == "agrees"
    assert found.exit_code == 0
    assert found.inside == found.judged == 9
    assert found.passes[0].flags == {"stalled": 2}
    assert "9 of 9 inside, agrees" in repr(found)
    jsonschema.validate(found.to_dict(), output_schema("verify"))


def test_measurements_outside_the_intervals_do_not_agree(tmp_path: Path) -> None:
    found = measured(tmp_path / "two", 1, goodput_bps=4e6, latency_mean_s=9.0, latency_p99_s=9.0)
    assert (found.verdict, found.exit_code) == ("does not agree", 1)
    assert found.judged - found.inside == 6


def test_a_changed_prediction_is_reported_and_the_stored_one_judges(tmp_path: Path) -> None:
    folder = tmp_path / "two"
    verify(NAME, folder, OPTIONS)
    place = folder / PREDICTION
    stored = json.loads(place.read_text(encoding="utf-8"))
    stored["prediction"]["streams"]["other"]["goodput_bps"]["value"] = 1.0
    place.write_text(json.dumps(stored), encoding="utf-8")
    found = verify(NAME, folder, OPTIONS)
    assert found.differs == ("other",)
    assert found.streams["other"]["goodput_bps"].value == 1.0


def test_the_same_settings_continue_and_others_are_refused(tmp_path: Path) -> None:
    verify(NAME, tmp_path / "two", OPTIONS)
    verify(NAME, tmp_path / "two", OPTIONS)
    with pytest.raises(VerificationError, match="slower differ"):
        verify(NAME, tmp_path / "two", replace(OPTIONS, slower=10.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slower": 0.0}, "a scale of 0 is too small"),
        ({"members": 0}, "members of 0 is too small"),
        ({"repeats": -1}, "repeats of -1 is too small"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(VerificationError, match=message):
        VerifyOptions(**options)


def test_the_command_prints_what_was_predicted_and_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(tmp_path / "two", 2, latency_max_s=9.0)
    asked = (
        "--dataset",
        str(DATASET),
        "--scale",
        "5",
        "--repeats",
        "2",
        "-o",
        str(tmp_path / "two"),
    )
    assert main(("verify", NAME, *asked)) == 0
    said = capsys.readouterr().out
    assert "lab-two-senders: agrees, 9 of 9 inside their 90 % intervals" in said
    assert "built 5 times slower" in said
    assert max(map(len, said.splitlines())) <= 100


def test_a_system_that_cannot_be_built_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(("verify", "lab-dscp", "-o", str(tmp_path / "x"), "--repeats", "0")) == 3
    assert main(("verify", "imaging", "-o", str(tmp_path / "y"), "--repeats", "0")) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1

"""``icmodel system``: what is listed, shown, found, imported and exported, and how each ends."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from icmodel.cli import main
from icmodel.system import find_system, load, system_names


@pytest.fixture
def says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Exit code, output and errors of a command line, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(line: str) -> tuple[int, str, str]:
        code = main(shlex.split(line))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_the_bundled_systems_are_listed(says: Any) -> None:
    code, out, _ = says("system list --json")
    assert code == 0
    assert [one["name"] for one in json.loads(out)["systems"]] == list(system_names())
    assert "industrial-line" in says("system list")[1]


def test_a_system_is_shown_with_groups_ways_and_busiest_ports(says: Any) -> None:
    _, out, _ = says("system show imaging")
    for text in (
        "qfhd-display",
        "recorder-3 → switch → qfhd-display",
        "7.518 Gb/s",
        "known limits",
    ):
        assert text in out
    shown = json.loads(says("system show imaging --json")[1])
    assert shown["ports"]["switch->qfhd-display#2"]["load_ratio"] == pytest.approx(0.7518, rel=1e-3)
    assert shown["streams"]["picture-4"]["path"] == ["recorder-1->switch", "switch->qfhd-display#1"]


def test_long_systems_are_shown_in_part(says: Any) -> None:
    _, out, _ = says("system show industrial-line")
    assert "streams, 20 of 562" in out
    assert len(out.splitlines()) < 80


def test_a_system_in_order_ends_with_0(says: Any) -> None:
    assert says("system check imaging") == (
        0,
        "imaging: 15 devices, 17 links and 14 streams are in order\n",
        "",
    )


def test_an_overload_ends_with_1_and_is_named(says: Any) -> None:
    code, out, _ = says("system check motion-control")
    assert code == 1
    assert out.startswith("overloaded: the interface of sensor-board-1 at ")
    assert says("system check motion-control --json")[0] == 1


def damaged(folder: Path, old: str, new: str) -> Path:
    text = find_system("lab-two-switches").read_text(encoding="utf-8")
    assert old in text
    file = folder / "own.toml"
    file.write_text(text.replace(old, new), encoding="utf-8")
    return file


def test_a_contradiction_ends_with_2_and_is_found(says: Any, tmp_path: Path) -> None:
    damaged(tmp_path, '"1472 B"', '"70000 B"')
    code, out, _ = says("system check own.toml")
    assert code == 2
    assert out.startswith("contradictory: the stream measured sends 70000 B a frame")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "system check own.toml",
            "own.toml, line 48: streams no. 1: the key 'protokol' is unknown",
        ),
        ("system show nowhere", "there is no system 'nowhere': use imaging, "),
        ("system nowhere", "there is no system 'nowhere': use imaging, "),
        ("system import own.toml -o x.toml", "own.toml is neither JSON nor XML"),
        ("system import nowhere.json -o x.toml", "nowhere.json cannot be read"),
        ("system export lab-direct --format dot -o x.json", "the format 'dot' is unknown"),
        ("system export lab-direct", "-o"),
    ],
)
def test_an_error_is_a_sentence_and_ends_with_2(
    line: str, said: str, says: Any, tmp_path: Path
) -> None:
    damaged(tmp_path, "protocol", "protokol")
    code, out, err = says(line)
    assert code == 2
    assert out == ""
    assert said in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.glob("x.*"))


@pytest.mark.parametrize("form", ["node-link", "saihu"])
def test_an_exported_system_can_be_imported(form: str, says: Any, tmp_path: Path) -> None:
    code, out, err = says(f"system export lab-two-switches --format {form} -o net.json")
    assert code == 0
    assert "note: " in out
    assert err == "net.json: written\n"
    assert says("system import net.json -o again.toml")[0] == 0
    again = load(tmp_path / "again.toml")
    assert [one.name for one in again.streams.values()] == ["measured"]
    assert again.known_limits or form == "node-link"


def test_an_import_overwrites_nothing(says: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("mine", encoding="utf-8")
    says("system export lab-direct --format node-link -o net.json")
    code, _, err = says("system import net.json -o mine.toml")
    assert code == 2
    assert "already exists" in err
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == "mine"


# --- predicted -----------------------------------------------------------------------------------


def test_a_system_prediction_fits_one_screen(says: Any) -> None:
    """Whole pictures take 25.1 of 17 ms; a frame of them takes 144 µs."""
    code, out, _ = says("system imaging")
    assert code == 1
    assert out.startswith("✗ imaging: not met")
    assert len(out.splitlines()) <= 38
    for text in ("3.539 Gb/s", "25.1 ms (whole message)", "switch->qfhd-display#1", "(bound), "):
        assert text in out
    assert "passing  requested" in out


def test_the_command_of_a_report_gives_its_verdict_again(says: Any, tmp_path: Path) -> None:
    """With the dataset, the variant and the cycles that were asked for, and the file's own name."""
    text = find_system("lab-two-switches").read_text(encoding="utf-8")
    (tmp_path / "own-file.toml").write_text(text, encoding="utf-8")
    options = "--dataset lab-1g-2026 --variant corrected --cycles fixed-point"
    code, first, _ = says(f"system own-file.toml {options} -o first.md")
    report = (tmp_path / "first.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"command: `icmodel (system .*)`", report)
    assert command.startswith(f"system own-file.toml {options}")
    again, told, _ = says(command)
    assert (again, told.split(";")[0]) == (code, first.split(";")[0])
    says("system own-file.toml -o third.md")
    report = (tmp_path / "third.md").read_text(encoding="utf-8")
    assert "`icmodel system own-file.toml -o" in report


def test_a_misspelt_protocol_names_the_nearest(says: Any, tmp_path: Path) -> None:
    text = find_system("lab-two-switches").read_text(encoding="utf-8")
    (tmp_path / "own.toml").write_text(text.replace('"udp"', '"upd"'), encoding="utf-8")
    code, out, _ = says("system check own.toml")
    assert code == 2
    assert "has the protocol upd, which no dataset knows: is udp meant?" in out
    code, _, err = says("system own.toml")
    assert code == 2
    assert "is udp meant?" in err


GREAT = "1" + "0" * 20


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "A"', f'name = "A"\ncores = {GREAT}'),
        ('name = "A"', f'name = "A"\ninterfaces = {GREAT}'),
        ('name = "A"', f'name = "A"\ncount = {GREAT}'),
        ("[[links]]", f"[[links]]\nparallel = {GREAT}"),
        ('name = "measured"', f'name = "measured"\ncount = {GREAT}'),
        ('name = "measured"', f'name = "measured"\npayload_bytes = {GREAT}'),
        ("END", f"[choices.devices.A]\ncores = [{GREAT}]\n"),
        ("END", f"[choices.devices.A]\ninterfaces = [{GREAT}]\n"),
    ],
)
def test_a_number_beyond_all_is_one_sentence(says: Any, tmp_path: Path, old: str, new: str) -> None:
    text = find_system("lab-two-switches").read_text(encoding="utf-8") + "\nEND"
    assert old in text
    made = text.replace(old, new, 1).replace("\nEND", "")
    (tmp_path / "own.toml").write_text(made, encoding="utf-8")
    for command in ("system own.toml", "system check own.toml", "recommend own.toml"):
        code, out, err = says(command)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1


def test_a_file_is_predicted_without_and_with_the_command(says: Any) -> None:
    path = find_system("imaging")
    code, out, _ = says(f"system {path} --json")
    assert (code, out) == says("system predict imaging --json")[:2]
    stream = json.loads(out)["streams"]["picture-1"]
    assert stream["goodput_bps"]["value"] == 3.538944e9
    assert stream["latency_bound_s"]["value"] > stream["latency_mean_s"]["value"]


def test_a_system_that_cannot_be_met_ends_with_1_and_an_unknown_one_with_3(says: Any) -> None:
    code, out, _ = says("system motion-control")
    assert code == 1
    assert out.startswith("✗ motion-control: not met")
    code, out, _ = says("system lab-two-switches")  # no dataset speaks for its links
    assert code == 3
    assert "theory alone" in out


def test_all_shows_every_stream_and_link(says: Any) -> None:
    assert "recorder-3->switch" not in says("system imaging")[1]
    assert "recorder-3->switch" in says("system imaging --all")[1]


def test_a_prediction_can_be_a_file_of_a_report(says: Any, tmp_path: Path) -> None:
    for ending in ("html", "md", "json"):
        code, out, _ = says(f"system lab-two-switches -o a.{ending}")
        assert (code, out) == (3, f"lab-two-switches: undecided; the report is a.{ending}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.html",
        "a.json",
        "a.md",
        "a.svg",
    ]
    assert says("system lab-two-switches -o b.svg")[0] == 3
    assert (tmp_path / "b.svg").read_bytes() == (tmp_path / "a.svg").read_bytes()
    code, _, err = says("system lab-two-switches -o a.doc")
    assert code == 2
    assert "use .html, .json, .md, .pdf, .svg, .xlsx or .xml" in err

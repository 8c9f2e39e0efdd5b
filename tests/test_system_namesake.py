"""A use case and a system of one name: what differs is told on both sides, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from icmodel.cli import main
from icmodel.system import System, load
from icmodel.system.files import notes_on_system, notes_on_usecase
from icmodel.usecase import derive, load_usecase


def asking(system: System, group: str, rate_fps: float) -> System:
    """The system with the streams of a group at a rate."""
    streams = {
        name: replace(one, paced_fps=rate_fps) if one.group == group else one
        for name, one in system.streams.items()
    }
    return replace(system, streams=MappingProxyType(streams))


@pytest.mark.parametrize("name", ["imaging", "motion-control"])
def test_both_sides_say_the_same_of_streams_whose_rates_differ(name: str) -> None:
    case, system = load_usecase(name), load(name)
    told = notes_on_usecase(system)
    assert told == notes_on_system(case, derive(case), case.default_candidate)
    assert told
    for note in told:
        assert f"`icmodel evaluate {name}`" in note
        assert f"`icmodel system {name}`" in note


def test_equal_rates_and_other_names_have_nothing_to_tell() -> None:
    system = load("imaging")
    (told,) = notes_on_usecase(system)  # the control data are asked alike
    assert told.startswith("picture: ")
    assert "3.512676 Gb/s" in told
    assert "3.538944 Gb/s" in told
    assert "what is produced" in told
    assert notes_on_usecase(asking(system, "picture", 6700.0)) == ()
    (paced,) = notes_on_usecase(asking(system, "picture", 1000.0))
    assert "524.28 Mb/s (its rate)" in paced
    assert notes_on_usecase(replace(system, name="other", usecase=None)) == ()
    assert notes_on_usecase(load("lab-switch")) == ()
    case = load_usecase("cameras")
    assert notes_on_system(case, derive(case), case.default_candidate) == ()


def test_both_commands_tell_it(
    capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    for words in (["evaluate", "imaging"], ["system", "imaging"]):
        for more in ([], ["--json"]):
            main([*words, *more])
            assert "icmodel evaluate imaging" in " ".join(capsys.readouterr().out.split())
        report = tmp_path_factory.mktemp("report") / "imaging.md"
        main([*words, "-o", str(report)])
        assert "their verdicts may differ" in report.read_text(encoding="utf-8")
        capsys.readouterr()

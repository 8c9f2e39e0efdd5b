"""The benchmark of searches, run tiny and without looking at a clock."""

from __future__ import annotations

import json

import pytest

from benchmarks import recommend


@pytest.mark.long
def test_a_small_search_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert recommend.main(["--payloads", "0", "--networks", "1"]) == 0
    said = capsys.readouterr().out
    assert recommend.main(["--payloads", "0", "--networks", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "undecided"  # whole pictures need an interface each
    assert document["scored"] == document["designs"]
    assert said.startswith(f"{document['designs']:,} designs of imaging")


def test_more_choices_are_more_designs() -> None:
    few, many = (recommend.wide(0, count).document.choices for count in (1, 2))
    assert few is not None
    assert many is not None
    assert few.devices["qfhd-display"].interfaces == (3,)
    assert many.devices["qfhd-display"].interfaces == (3, 4)

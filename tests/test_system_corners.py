"""Systems at the edges of what they describe, with verdicts worked out by hand: each file states why.

An earlier version called one of the stated requirements met, or contradicted its own bound.
"""

from __future__ import annotations

import pytest

import checkout
from icmodel import system as rooms

FOLDER = checkout.ROOT / "tests" / "cases" / "corners"
CORNERS = sorted(path.stem for path in FOLDER.glob("*.toml"))


@pytest.mark.parametrize("name", CORNERS)
def test_a_corner_is_judged_as_by_hand(name: str) -> None:
    path = FOLDER / f"{name}.toml"
    expected = path.read_text(encoding="utf-8").splitlines()[1].removeprefix("# ")
    found = rooms.predict(rooms.load(path))
    worst: dict[str, str] = {}
    for one in found.judged:
        requirement, outcome = one.verdict.requirement.name, one.verdict.outcome
        assert worst.setdefault(requirement, outcome) == outcome
    for part in expected.split("; "):
        requirement, _, outcome = part.partition(": ")
        assert worst[requirement] == outcome, part

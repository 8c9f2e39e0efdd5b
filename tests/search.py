"""How far tests search: quickly in ``make test``, many times as far in ``make measure``.

Hypothesis calls such a choice a profile. The environment variable ``HYPOTHESIS_PROFILE`` names it: ``quick``, which is the
default, ``ci``, which draws the same examples every time, or ``thorough``.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings

IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if IN_CI else "quick")
EXAMPLES = 50
"""Of a property that says no number of its own."""
TIMES = 40
"""How much more is asked under ``thorough``."""


def times(quick: int) -> int:
    """As many examples, systems or questions as the profile asks instead of so many quick ones."""
    return TIMES * quick if PROFILE == "thorough" else quick


def mostly_long(cases: Iterable[Any], brief: Collection[Any]) -> list[Any]:
    """Parameters of a test: ``make test`` tries those in ``brief``, ``make measure`` the others too."""
    given = list(cases)
    unknown = [one for one in brief if one not in given]
    assert not unknown, f"no such cases: {unknown}"
    return [one if one in brief else _long(one) for one in given]


def _long(one: Any) -> Any:
    values = one if isinstance(one, tuple) else (one,)
    return pytest.param(*values, marks=pytest.mark.long)


def load_profile() -> None:
    """Make the profile Hypothesis's own. No example has a deadline: other processes take the processor."""
    quick = settings(deadline=None, max_examples=EXAMPLES)
    settings.register_profile("quick", quick)
    settings.register_profile("ci", quick, derandomize=True, database=None, print_blob=True)
    settings.register_profile("thorough", quick, max_examples=times(EXAMPLES), print_blob=True)
    settings.load_profile(PROFILE)

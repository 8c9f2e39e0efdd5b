"""The page on coverage shows what was measured, and what was measured holds what is promised."""

from __future__ import annotations

import pytest

import coverage_table
from icmodel.dataset import load
from icmodel.validate import ValidationOptions, validate
from icmodel.validate.validation import HELD_OUT, LEAVE_ONE
from search import mostly_long


def test_the_page_shows_what_was_measured() -> None:
    text = coverage_table.PAGE.read_text(encoding="utf-8")
    shown = coverage_table.with_table(text, coverage_table.known())
    assert text == shown, "run: python tools/coverage_table.py"


@pytest.mark.parametrize(
    ("name", "kind"),
    mostly_long(
        (
            ("rdma-connectx7", LEAVE_ONE),
            ("mpi-infiniband-roce", LEAVE_ONE),
            ("ethernet-1g-2010", LEAVE_ONE),
            ("zeromq-1g-2010", LEAVE_ONE),
            ("lab-1g-2026", HELD_OUT),
        ),
        (("zeromq-1g-2010", LEAVE_ONE), ("lab-1g-2026", HELD_OUT)),
    ),
)
def test_goodput_by_corrected_is_covered_as_promised(name: str, kind: str) -> None:
    options = ValidationOptions((kind,), ("goodput_bps",), worst=0)
    (trial,) = validate(load(name), "corrected", options).trials
    covered = trial.metrics["goodput_bps"].score.coverage
    assert covered is not None
    assert 0.85 <= covered.share <= 0.95
    shown = load(name).coverage["corrected"][kind]["metrics"]["goodput_bps"]
    assert covered.share == pytest.approx(shown["coverage"], abs=1e-4)

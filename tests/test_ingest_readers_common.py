"""Common steps of readers: numbers printed twice must agree within their digits, else both are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.errors import RecordError
from icmodel.ingest.readers.common import (
    bits_per_second,
    check_count,
    check_loss,
    check_rate,
    check_share,
    rows,
    sections,
)
from icmodel.ingest.result import exact, printed
from icmodel.ingest.source import Source

TITLE, ROW = re.compile(r"^# (\w+)$", re.M), re.compile(r"^\d+ [0-9.]+$")


@given(st.integers(1, 10**9), st.floats(0.1, 100), st.integers(0, 3))
def test_a_rate_agrees_with_its_bytes_and_seconds_however_it_is_rounded(
    size: int, seconds: float, digits: int
) -> None:
    mbps = f"{8 * size / seconds / 1e6:.{digits}f}"
    check_rate(printed(mbps, 10**6), bits_per_second(exact(size), exact(seconds)), "it", 1e-9)


def test_a_rate_unlike_its_counts_is_refused_with_both() -> None:
    with pytest.raises(RecordError, match=r"1000 B in 1 s are 8 kb/s, not the printed 9 kb/s"):
        check_rate(exact(9000.0), bits_per_second(exact(1000.0), exact(1.0)), "1000 B in 1 s", 1e-3)


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_loss_agrees_with_its_packets_in_two_digits(lost: int, more: int) -> None:
    of = lost + more
    check_loss(printed(f"{100 * lost / of:.2f}"), lost, of, "it")


@pytest.mark.parametrize(
    ("lost", "of", "why"), [(3, 2, "impossible"), (1, 2, "not the printed loss of 12 %")]
)
def test_a_loss_that_cannot_be_is_refused(lost: int, of: int, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        check_loss(printed("12"), lost, of, "it")


def test_counts_and_shares_are_compared_with_their_parts() -> None:
    check_count(3, 3, "two streams", "the sum")
    check_share(0.25, 0.25004, "1 of 4")
    with pytest.raises(RecordError, match=r"two streams are 4, which contradicts the sum \(3\)"):
        check_count(3, 4, "two streams", "the sum")
    with pytest.raises(RecordError, match=r"1 of 4 are 25\.0000%, not the printed 26\.0000%"):
        check_share(0.26, 0.25, "1 of 4")


def test_sections_begin_at_their_titles_and_know_their_lines() -> None:
    text = "# one\n1 2.5\n# two\n8 1\n16 2\n"
    first, second = sections(TITLE, Source(Path("one.txt"), b"", text))
    assert [(row.size, row.line) for row in rows(first, ROW, "one")] == [(1, 2)]
    assert [(row.size, row.line) for row in rows(second, ROW, "two")] == [(8, 4), (16, 5)]


@pytest.mark.parametrize("broken", ["8", "-8 1", "nan 1", "8 1 1"])
def test_a_line_that_was_a_row_is_refused(broken: str) -> None:
    [section] = sections(TITLE, Source(Path("one.txt"), b"", f"# one\n4 1\n{broken}\n"))
    with pytest.raises(RecordError, match=r"line 3: .* is not a row of “one”"):
        list(rows(section, ROW, "one"))

"""The page of licences; `test_dependencies` checks that each licence fits icmodel's."""

from __future__ import annotations

import licences


def test_the_page_of_licences_is_current() -> None:
    assert licences.PAGE.read_text(encoding="utf-8") == licences.page(), "run tools/licences.py"

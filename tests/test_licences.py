"""The page of licences; `test_dependencies` checks that each licence fits icmodel's."""

from __future__ import annotations

import tomllib

import licences
from checkout import ROOT


def test_the_page_of_licences_is_current() -> None:
    assert licences.PAGE.read_text(encoding="utf-8") == licences.page(), "run tools/licences.py"


def test_each_licence_mark_has_its_text() -> None:
    marks = tomllib.loads((ROOT / "REUSE.toml").read_text(encoding="utf-8"))["annotations"]
    texts = {path.stem for path in (ROOT / "LICENSES").iterdir()}
    assert texts == {mark["SPDX-License-Identifier"] for mark in marks}
    assert (ROOT / "LICENSES/Apache-2.0.txt").read_bytes() == (ROOT / "LICENSE").read_bytes()
    vendored = ROOT / "icmodel/web/static/vendor/uPlot.LICENSE.txt"
    assert (ROOT / "LICENSES/MIT.txt").read_bytes() == vendored.read_bytes()

"""The notebooks of docs/notebooks run cell by cell, and show what they store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import checkout
from icmodel.plotting import MIME
from notebooks import NOTEBOOKS, executed, text_of

NAMES = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))
PICTURE = "image/svg+xml"


def notebook(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))
    return document


def alike(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; numbers of a fit may differ in their last digits."""
    if isinstance(one, float) and isinstance(other, int | float):
        return one == pytest.approx(other, rel=1e-6)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


def test_there_are_four_and_a_page_links_them() -> None:
    page = (NOTEBOOKS / "index.md").read_text(encoding="utf-8")
    assert len(NAMES) == 4
    assert all(f"]({name})" in page for name in NAMES)
    assert "notebooks/index.md" in (checkout.ROOT / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_what_it_stores(name: str, tmp_path: Path) -> None:
    stored = notebook(name)
    now = json.loads(text_of(executed(stored, tmp_path)))
    for before, after in zip(stored["cells"], now["cells"], strict=True):
        for kept, made in zip(before.get("outputs", ()), after.get("outputs", ()), strict=True):
            pictures = [one.get("data", {}).pop(PICTURE, None) for one in (kept, made)]
            assert [bool(picture) for picture in pictures] == [MIME in kept.get("data", {})] * 2
            assert alike(kept, made), "".join(before["source"])
        assert before["source"] == after["source"]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_one_of_format_4_5(name: str) -> None:
    document = notebook(name)
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in document["cells"]]
    assert len(set(ids)) == len(ids)
    assert document["cells"][0]["cell_type"] == "markdown"
    counts = [cell["execution_count"] for cell in document["cells"] if "outputs" in cell]
    assert counts == list(range(1, len(counts) + 1))
    plots = [
        output["data"]
        for cell in document["cells"]
        for output in cell.get("outputs", ())
        if MIME in output.get("data", {})
    ]
    assert plots or name == "system.ipynb"
    assert all("".join(plot[PICTURE]).startswith("<svg") for plot in plots)

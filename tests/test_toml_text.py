"""TOML that is written is read back as it was."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import checkout
from icmodel.dataset import catalogue, shipped
from icmodel.documents import toml_text
from icmodel.errors import IcmodelError
from search import times

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
PLAIN = st.one_of(
    TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False)
)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
)


@given(st.dictionaries(TEXTS, VALUES, max_size=6))
@settings(max_examples=times(60))
def test_what_is_written_is_read_back(document: dict[str, object]) -> None:
    assert tomllib.loads(toml_text(document)) == document


@pytest.mark.parametrize("name", catalogue())
def test_the_bundled_documents_come_back(name: str) -> None:
    text = (shipped("data") / name / "dataset.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    assert tomllib.loads(toml_text(document)) == document
    assert toml_text(document) == toml_text(tomllib.loads(toml_text(document)))


def test_plain_values_stand_before_tables_and_long_lists_one_item_a_line() -> None:
    document = {
        "links": {"a": {"rate_bps": 1e9}},
        "hosts": [{"name": "one", "note": {"x": True}}, {"name": 'say "two"'}],
        "limits": ["x" * 60, "y" * 60],
        "id": "small",
    }
    assert toml_text(document) == (
        f'limits = [\n  "{"x" * 60}",\n  "{"y" * 60}",\n]\n'
        'id = "small"\n\n'
        "[links.a]\nrate_bps = 1000000000.0\n\n"
        '[[hosts]]\nname = "one"\n\n[hosts.note]\nx = true\n\n'
        '[[hosts]]\nname = "say \\"two\\""\n'
    )


@pytest.mark.parametrize("value", [None, {1, 2}, b"bytes", [None], {"inner": None}])
def test_what_toml_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(IcmodelError, match="cannot stand in TOML"):
        toml_text({"key": value})


def test_the_tests_read_this_checkout() -> None:
    assert shipped("data") == checkout.ROOT / "data"

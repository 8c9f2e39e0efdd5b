"""Documents: absurd ones raise errors wherever they are read; written ones are read back."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import checkout
from icmodel.cli import DEFECT, WRONG, main
from icmodel.dataset import catalogue, shipped
from icmodel.documents import (
    MOST_NESTED,
    is_too_deep,
    json_form,
    json_of,
    json_value,
    number_or_none,
    toml,
    toml_text,
)
from icmodel.errors import IcmodelError
from icmodel.ingest.source import documents
from search import times

NESTED = st.sampled_from([10, MOST_NESTED + 1, 500, 5000, 100_000]).flatmap(
    lambda depth: st.sampled_from(
        [
            "[" * depth,
            "[" * depth + "]" * depth,
            '{"a":' * depth + "1" + "}" * depth,
            "a = " + "[" * depth,
            "a = " + "[" * depth + "]" * depth,
            "a = " + "{a = " * depth + "1" + "}" * depth,
            "[" + "a." * min(depth, 5000) + "a]\nb = 1",
            "a." * min(depth, 5000) + "a = 1",
            '{"start": ' + "[" * depth + "]" * depth + ', "end": {}, "intervals": []}',
            '{"time_us": 1, "noos": 1, "results": ' + "[" * depth + "]" * depth + "}",
        ]
    )
)
GARBAGE = st.one_of(
    NESTED,
    st.text(max_size=200),
    st.sampled_from(["a = " + "9" * 5000, '{"a": ' + "9" * 5000 + "}", "", "\0", "a = 1\na = 1"]),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=9),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner),
    ).map(json.dumps),
)
PLACES: dict[str, tuple[str, Callable[[Path], list[str]]]] = {
    "use case": ("own.toml", lambda f: ["evaluate", str(f)]),
    "dataset": ("dataset.toml", lambda f: ["predict", "--dataset", str(f.parent), "--json"]),
    "checked dataset": ("dataset.toml", lambda f: ["datasets", "check", str(f.parent)]),
    "records": ("records.jsonl", lambda f: ["fold", str(f)]),
    "folded folder": ("folded.json", lambda f: ["fold", str(f.parent)]),
    "what a dataset is": ("about.toml", lambda f: ["fold", "r.jsonl", "--about", str(f)]),
    "results": ("run.json", lambda f: ["ingest", str(f), "-o", "own"]),
    "labels": ("labels.toml", lambda f: ["ingest", str(f), "--labels", str(f), "-o", "own"]),
    "columns": ("map.toml", lambda f: ["ingest", str(f), "--map", str(f), "-o", "own"]),
    "iperf3": ("run.json", lambda f: ["ingest", str(f), "--tool", "iperf3", "-o", "own"]),
    "zperfmq": ("run.json", lambda f: ["ingest", str(f), "--tool", "zperfmq", "-o", "own"]),
    "ntttcp": ("run.xml", lambda f: ["ingest", str(f), "--tool", "ntttcp", "-o", "own"]),
}


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=times(10), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=GARBAGE)
def test_an_absurd_document_is_an_error_of_the_user(
    place: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, command = PLACES[place]
    file = tmp_path / name
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    code = main(command(file))
    said = capsys.readouterr().err
    assert code == WRONG != DEFECT, said
    assert said.startswith("icmodel: ")
    assert "defect" not in said


@given(NESTED)
def test_a_read_document_is_never_nested_deeply(text: str) -> None:
    for read in (toml, json_value):
        try:
            document = read(text)
        except ValueError:
            continue
        assert not is_too_deep(document)


@given(st.integers(0, 2 * MOST_NESTED))
def test_depth_is_counted_in_levels(depth: int) -> None:
    document = json.loads("[" * depth + "1" + "]" * depth)
    assert is_too_deep(document) is (depth > MOST_NESTED)


@pytest.mark.parametrize("text", ["", " \n", b"", b"\n\n"])
def test_an_empty_text_is_told_to_be_empty(text: str | bytes) -> None:
    with pytest.raises(ValueError, match="it is empty"):
        json_value(text)


def test_documents_are_parsed() -> None:
    assert toml('a = 1\n[b]\nc = ["x"]') == {"a": 1, "b": {"c": ["x"]}}
    assert json_value(b'{"a": [1, null]}') == {"a": [1, None]}
    assert list(documents('{"a": [1]}')) == [{"a": [1]}]


# --- writing ----------------------------------------------------------------------------------

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
SCALARS = st.one_of(
    TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False)
)
TOML_VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
)


@given(st.dictionaries(TEXTS, TOML_VALUES, max_size=6))
@settings(max_examples=times(60))
def test_written_toml_is_read_back(document: dict[str, object]) -> None:
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
    with pytest.raises(IcmodelError, match="cannot be written as TOML"):
        toml_text({"key": value})


def test_the_tests_read_this_checkout() -> None:
    assert shipped("data") == checkout.ROOT / "data"


def test_the_json_form_of_a_record_has_its_fields_and_no_infinity() -> None:
    @dataclass
    class Record:
        name: str
        ends: tuple[float, ...]

    record = Record("lab", (1.0, math.inf))
    assert json_form({"of": [record]}) == {"of": [{"name": "lab", "ends": [1.0, None]}]}
    assert json_of(record, "name") == {"name": "lab"}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_json_knows_no_such_number(number: float) -> None:
    assert number_or_none(number) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_json_keeps_finite_numbers(number: float) -> None:
    assert number_or_none(number) == number


def test_a_byte_order_mark_of_an_editor_is_no_part_of_the_text() -> None:
    assert toml("\ufeffname = 'x'") == {"name": "x"}

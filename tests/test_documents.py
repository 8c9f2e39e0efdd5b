"""Documents that nobody means: nested, numbered or broken beyond reason, in every place that reads one."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from icmodel.cli import DEFECT, WRONG, main
from icmodel.documents import MOST_NESTED, is_too_deep, json_value, number_or_none, toml
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
@settings(max_examples=times(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=GARBAGE)
def test_a_document_that_nobody_means_is_the_users_error(
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
def test_what_is_read_is_never_nested_deeply(text: str) -> None:
    for read, wrong in ((toml, tomllib.TOMLDecodeError), (json_value, ValueError)):
        try:
            document = read(text)
        except wrong:
            continue
        assert not is_too_deep(document)


@given(st.integers(0, 2 * MOST_NESTED))
def test_depth_is_counted_in_levels(depth: int) -> None:
    document = json.loads("[" * depth + "1" + "]" * depth)
    assert is_too_deep(document) is (depth > MOST_NESTED)


def test_a_document_is_read_as_it_stands() -> None:
    assert toml('a = 1\n[b]\nc = ["x"]') == {"a": 1, "b": {"c": ["x"]}}
    assert json_value(b'{"a": [1, null]}') == {"a": [1, None]}
    assert list(documents('{"a": [1]}')) == [{"a": [1]}]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_json_knows_no_such_number(number: float) -> None:
    assert number_or_none(number) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_json_keeps_finite_numbers(number: float) -> None:
    assert number_or_none(number) == number

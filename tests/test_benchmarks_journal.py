"""A journal keeps what was made, also when it was cut off."""

from __future__ import annotations

from pathlib import Path

from benchmarks.journal import Journal


def test_what_was_cut_off_goes_on_from_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first, second = [{"ratio": 1.5}], [{"ratio": 0.5}]
    keys = [["made up", seed, "hybrid", (0.25,)] for seed in (1, 2, 3)]
    journal = Journal(path)
    assert journal.known(keys[0]) is None
    for key, found in zip(keys, (first, second), strict=False):
        journal.keep(key, found)
    journal.keep(keys[0], second)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"of": ["made up", 3')
    again = Journal(path)
    assert [again.known(key) for key in keys] == [first, second, None]
    again.keep(keys[2], second)
    assert Journal(path).known(keys[2]) == second
    assert path.read_text(encoding="utf-8").count("\n") == 3


def test_without_a_file_nothing_is_kept() -> None:
    journal = Journal(None)
    journal.keep(["one"], [])
    assert journal.known(["one"]) is None

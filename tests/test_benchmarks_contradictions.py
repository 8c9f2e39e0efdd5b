"""The long run for contradictions, run tiny: what it counts, prints and refuses."""

from __future__ import annotations

import json

import pytest

from benchmarks import contradictions
from benchmarks.contradictions import (
    Count,
    count,
    count_systems,
    main,
    modules,
    system_rules,
    systems_text,
    text,
)


def test_as_many_questions_are_asked_as_wished_and_the_same_each_time() -> None:
    told = count("zeromq-1g-2007", "corrected", 100, 3)
    assert told.questions == 100 + contradictions.WILD
    assert told == count("zeromq-1g-2007", "corrected", 100, 3)


def test_what_is_found_is_counted_by_rule_with_the_first_as_example() -> None:
    rules, _ = modules()
    told = Count("d", "corrected", 7)
    for payload, times in ((1, 2), (9, 3)):
        told.add([rules.Contradiction("b order", "d", "corrected", {"p": payload}, {}, times)])
    printed = text([told, Count("e", "hybrid", 5)])
    assert told.by_rule == {"b order": 5}
    assert "p=1" in printed
    assert "p=9" not in printed
    assert printed.endswith("12 questions, 5 contradictions\n")


def test_the_document_says_what_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--questions", "60", "--only", "zeromq-1g-2007", "--variant", "appendix-h"]
    asked += ["--systems", "0"]
    code = main([*asked, "--json"])
    document = json.loads(capsys.readouterr().out)
    (one,) = document["counts"]
    assert document["systems"]["systems"] == 0
    assert one["dataset"] == "zeromq-1g-2007"
    assert one["variant"] == "appendix-h"
    assert one["questions"] == 60 + contradictions.WILD
    assert code == (1 if one["by_rule"] else 0)
    assert main(asked) == code
    assert "questions" in capsys.readouterr().out


def test_systems_are_counted_by_the_rules_they_break(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = system_rules()
    monkeypatch.setitem(rules.RULES, "no odd seed", lambda case: ["odd"] * (case.seed % 2))
    told = count_systems(5, 10, ["no odd seed", "numbers are possible"])
    assert told.by_rule == {"no odd seed": 2}
    printed = systems_text(told)
    assert "no odd seed: seed 11: odd" in printed
    assert printed.endswith("5 systems, 1 of 2 rules broken\n")


@pytest.mark.parametrize(
    "words", [["--questions", "0"], ["--only", "nothing"], ["--variant", "x"], ["--rule", "x"]]
)
def test_a_wrong_question_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)

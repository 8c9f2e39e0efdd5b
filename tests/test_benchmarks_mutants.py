"""Mutation testing: which changes are made, and that tests which notice one kill it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import checkout
from benchmarks.mutants import ROOMS, main, modules, mutants, text

CLIPPED = '''"""A number from 0 to a limit."""

def clipped(number: float, limit: float) -> float:
    if number < 0:
        return 0.0
    return min(number, limit)
'''
JUDGING = """
from clipping import clipped

def test_numbers_between_stay() -> None:
    assert [clipped(0.5, 2.0), clipped(3.0, 2.0), clipped(-1.0, 2.0)] == [0.5, 2.0, 0.0]
"""
RUN = """
import json, sys, _hypothesis_pytestplugin
from pathlib import Path
from benchmarks.mutants import Module, judged
root = Path(sys.argv[1])
module = Module(root, root / "clipping.py", ((str(root / "test_clipping.py"),),))
print(json.dumps(judged([module], 100, 0)))
"""


def judged(folder: Path, tests: str) -> subprocess.CompletedProcess[str]:
    """Mutate the clipped number in a process of its own, since it forks."""
    (folder / "clipping.py").write_text(CLIPPED, encoding="utf-8")
    (folder / "test_clipping.py").write_text(tests, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-c", RUN, str(folder)],
        cwd=checkout.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_a_mutant_that_tests_notice_is_killed_and_another_survives(tmp_path: Path) -> None:
    done = judged(tmp_path, JUDGING)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {
        "mutants": 7,
        "drawn": 7,
        "killed": 6,
        "survived": [{"where": "clipping.py:4", "before": "number < 0", "after": "number <= 0"}],
    }
    printed = text({"rooms": {"clipping": found}})
    assert "clipping           7       7       6         1" in printed
    assert "clipping.py:4\n  - number < 0\n  + number <= 0\n" in printed


def test_tests_that_fail_as_it_is_judge_no_mutant(tmp_path: Path) -> None:
    done = judged(tmp_path, JUDGING.replace("== [0.5", "== [4.0"))
    assert done.returncode == 1
    assert "RuntimeError: without a mutant, pytest ends with 1" in done.stderr


def changed(code: str) -> list[tuple[str, str]]:
    return [one.codes() for one in mutants(ast.parse(code))]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a < b == c", [("a < b == c", "a <= b == c"), ("a < b == c", "a < b != c")]),
        ("a // b + c", [("a // b + c", "a // b - c"), ("a // b", "a * b")]),
        ("a and not b", [("a and (not b)", "a or not b"), ("not b", "b")]),
        ("x = np.minimum", [("np.minimum", "np.maximum")]),
        ("x = 2, 0.0, 4.0", [("2", "3"), ("0.0", "1.0"), ("4.0", "6.0")]),
        ("x = a if b else c", [("a if b else c", "c if b else a")]),
        ("while a: pass", [("while a: pass", "while not a: pass")]),
        ("a += b", [("a += b", "pass"), ("a += b", "a -= b")]),
        ("a(b)", [("a(b)", "pass")]),
    ],
)
def test_operators_numbers_and_statements_are_changed(
    code: str, expected: list[tuple[str, str]]
) -> None:
    assert changed(code) == expected


@pytest.mark.parametrize(
    "code",
    [
        '"""A text of 2 words."""',
        "x: tuple[Literal[1, 2], int | None]",
        "@cache(2)\ndef f(a: 'int | None') -> Literal[1]: pass",
        "def __repr__(self): return 1 + 1",
        "def refusal(n): pass\ndef _refusal(n) -> UnitError: return UnitError(n + 1)",
        "if TYPE_CHECKING:\n    x = 1",
        "raise ValueError(1 + 1)",
        'x = f"{1 + 1}"',
        'x = "a" + b',
        "x = True",
    ],
)
def test_texts_and_types_stay(code: str) -> None:
    assert changed(code) == []


def test_putting_a_mutant_changes_the_tree() -> None:
    tree = ast.parse("x = f(1, 2)\nx += 3\n")
    for one in list(mutants(tree))[:3]:
        one.put()
    assert ast.unparse(tree) == "x = f(2, 3)\npass"


@pytest.mark.parametrize("name", ROOMS)
def test_every_room_has_modules_and_tests(name: str) -> None:
    found = modules(name)
    assert found
    for module in found:
        assert module.groups
        assert all(module.groups)


def test_a_room_that_is_none_is_refused() -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["cellar"])

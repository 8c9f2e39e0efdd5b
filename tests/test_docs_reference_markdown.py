"""Tables, docstrings and renewed parts of the made pages."""

from __future__ import annotations

import pytest

from docs_reference.docstrings import docstring
from docs_reference.markdown import one_line, prose, table, with_part


def test_a_part_without_its_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="marks of the part 'keys'"):
        with_part("no marks here", "keys", "text")


def test_a_part_is_renewed_and_the_rest_is_kept() -> None:
    text = "a\n<!-- made: keys begin -->old<!-- made: keys end -->\nz\n"
    once = with_part(text, "keys", "new\n")
    assert "old" not in once
    assert once.startswith("a\n")
    assert once.endswith("\nz\n")
    assert with_part(once, "keys", "new\n") == once


def test_a_table_has_its_head_and_no_cell_breaks_it() -> None:
    assert table(("a", "b"), [("1|2", "x\ny")]) == "| a | b |\n| --- | --- |\n| 1\\|2 | x y |\n"
    assert table(("a", "b"), []) == ""


def test_roles_and_double_backticks_are_code() -> None:
    assert (
        prose(":func:`~icmodel.load` reads ``points.csv``") == "`icmodel.load` reads `points.csv`"
    )
    assert one_line("one\n  two") == "one two"


def test_the_sections_of_a_docstring_are_lists() -> None:
    text = "What it does.\n\nParameters\n----------\nname : str\n    What it\n    is called.\n"
    assert (
        docstring(text) == "What it does.\n\n*Parameters*\n\n- `name` (str): What it is called.\n"
    )


def test_examples_of_a_docstring_are_shown_as_sessions() -> None:
    text = "Add.\n\nExamples\n--------\nTwo numbers:\n\n>>> 1 + 1\n2\n"
    shown = "Add.\n\n*Examples*\n\nTwo numbers:\n\n```text\n>>> 1 + 1\n2\n```\n"
    assert docstring(text) == shown

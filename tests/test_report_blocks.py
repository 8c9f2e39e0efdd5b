"""Elements of HTML and code of Markdown: texts are escaped whatever they hold."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from icmodel.report.blocks import Markup, element
from icmodel.report.markdown import code


@given(st.text())
def test_elements_escape_texts_and_attributes(text: str) -> None:
    made = element("p", text, title=text)
    assert isinstance(made, Markup)
    assert not set('<>"') & set(
        made.removeprefix('<p title="').removesuffix("</p>").replace('">', "", 1)
    )
    assert element("b", Markup("<i></i>")) == "<b><i></i></b>"


@given(st.text(alphabet="`ab |"))
def test_code_of_markdown_is_fenced_by_more_backticks_than_it_holds(text: str) -> None:
    made = code(text)
    fence = re.match("`+", made)
    assert fence is not None
    assert fence[0] not in made[len(fence[0]) : -len(fence[0])]

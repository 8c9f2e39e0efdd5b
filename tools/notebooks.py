"""Run the notebooks of docs/notebooks cell by cell, and store their outputs.

``python tools/notebooks.py`` writes the outputs anew; a test compares them. The output of a cell is
its printed text, and the value of its last line: as a plot, as HTML, or as text.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

NOTEBOOKS = Path(__file__).resolve().parent.parent / "docs" / "notebooks"

Cell = dict[str, Any]


def main() -> None:
    """Run every notebook in a folder of its own, and write it with its outputs."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        with TemporaryDirectory() as folder:
            document = executed(json.loads(path.read_text(encoding="utf-8")), Path(folder))
        path.write_text(text_of(document), encoding="utf-8", newline="\n")


def text_of(document: Mapping[str, Any]) -> str:
    """Return a notebook as the text of its file."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def executed(document: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return a notebook with its outputs, after its code cells have run from top to bottom in a folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    with contextlib.chdir(folder):
        for cell in document["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                outputs = run_cell("".join(cell["source"]), names, count)
                cell = {**cell, "execution_count": count, "outputs": outputs}
            cells.append(cell)
    return {**document, "cells": cells}


def run_cell(source: str, names: dict[str, Any], count: int) -> list[Cell]:
    """Run the code of a cell, and return its outputs."""
    tree = ast.parse(source)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        value = None if last is None else eval(compile(last, f"cell {count}", "eval"), names)
    outputs: list[Cell] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        outputs.append(
            {
                "data": shown(value),
                "execution_count": count,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


def shown(value: Any) -> Cell:
    """Return the representations of a value in a notebook, by media type."""
    if hasattr(value, "_repr_mimebundle_"):
        bundle = value._repr_mimebundle_()
    else:
        bundle = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            bundle["text/html"] = value._repr_html_()
    return {
        kind: one.splitlines(keepends=True) if isinstance(one, str) else one
        for kind, one in sorted(bundle.items())
    }


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()

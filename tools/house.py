"""Print figures of the code by room: files, lines, functions, helpers used once: ``python tools/house.py``.

A code line holds code: no docstring, comment or blank. A helper used once is a private function whose
name occurs once in its module beside its definition.
"""

from __future__ import annotations

import ast
import io
import statistics
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
HEADS = ("room", "files", "code", "median", "functions", "used once", "share", "imports", ">>>")


@dataclass(frozen=True)
class Figures:
    """Figures of one file."""

    room: str
    code_lines: int
    functions: int
    used_once: int
    import_lines: int
    doctest_lines: int


def main() -> int:
    """Print a line per room, and one for all."""
    files = [measure(path) for path in sorted((ROOT / "icmodel").rglob("*.py"))]
    rooms = sorted({one.room for one in files})
    rows = [row(room, [one for one in files if one.room == room]) for room in rooms]
    for cells in (HEADS, *rows, row("all", files)):
        print(f"{cells[0]:<16}" + "".join(f"{cell:>11}" for cell in cells[1:]))
    return 0


def measure(path: Path) -> Figures:
    """Return the figures of a file; its room is its folder below the package, or ``top``."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    names = Counter(
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NAME
    )
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    private = [one for one in functions if one.name.startswith("_") and one.name[1:2] != "_"]
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    parts = path.relative_to(ROOT / "icmodel").parts
    return Figures(
        room=parts[0] if len(parts) > 1 else "top",
        code_lines=len(set(code_lines(text)) - set(docstring_lines(tree))),
        functions=len(functions),
        used_once=sum(names[one.name] == 2 for one in private),
        import_lines=sum((one.end_lineno or one.lineno) - one.lineno + 1 for one in imports),
        doctest_lines=sum(line.lstrip().startswith(">>> ") for line in text.splitlines()),
    )


def code_lines(text: str) -> Iterator[int]:
    """Yield the numbers of lines with a token other than a comment or layout."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT and token.type != tokenize.ENDMARKER:
            yield from range(token.start[0], token.end[0] + 1)


def docstring_lines(tree: ast.Module) -> Iterator[int]:
    """Yield the numbers of lines of texts that are statements."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def row(room: str, files: list[Figures]) -> tuple[str, ...]:
    """Return the cells of one room."""
    functions = sum(one.functions for one in files)
    used_once = sum(one.used_once for one in files)
    return (
        room,
        str(len(files)),
        str(sum(one.code_lines for one in files)),
        f"{statistics.median(one.code_lines for one in files):.0f}",
        str(functions),
        str(used_once),
        f"{100 * used_once / functions:.0f} %" if functions else "",
        str(sum(one.import_lines for one in files)),
        str(sum(one.doctest_lines for one in files)),
    )


if __name__ == "__main__":
    sys.exit(main())

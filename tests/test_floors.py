"""The floors of the house: imports point down only, and the checker itself is checked.

Imports inside functions, by ``import_module`` and for types alone count like all others. Inside a
room no module may import itself over others; there, an import for types alone is free, since a
method may hand its object to a function of a neighbouring file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import checkout

FLOORS = (
    ("errors", "arrays", "frozen", "keywords"),
    ("units", "documents", "table", "ranges"),
    ("scenario",),
    ("reading", "estimate"),
    ("requirement", "dataset", "plotting", "theory"),
    ("tables", "workers"),
    ("fits",),
    ("laws",),
    ("model",),
    ("message", "solve"),
    ("sheets", "sweep", "usecase"),
    ("ingest", "interconnects", "fold", "validate", "probing"),
    ("system",),
    ("recommend", "calibrate", "verify"),
    ("report", "questions", "schemas"),
    ("web",),
    ("cli",),
    ("__main__",),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FACE = "icmodel"
SHARED_BY_ALL = {"__version__"}


def modules(package: Path) -> dict[str, Path]:
    """Dotted name of every module of the package -> its file."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = [FACE, *path.relative_to(package).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


class Edge(NamedTuple):
    """An import of a module of the package: where it stands, and whether types alone need it."""

    line: int
    target: str
    types_only: bool


def imported(name: str, path: Path, known: set[str]) -> Iterator[Edge]:
    """Each import of a module of the package, wherever it stands in the file."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    typed = {id(node) for block in _type_blocks(tree) for node in ast.walk(block)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
            for target in _targets(node, package, known):
                if target == FACE or target.startswith(f"{FACE}."):
                    yield Edge(node.lineno, target, id(node) in typed)


def _type_blocks(tree: ast.Module) -> Iterator[ast.If]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield node


def _targets(node: ast.AST, package: str, known: set[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = ".".join(package.split(".")[: package.count(".") + 2 - node.level])
        module = ".".join(filter(None, [base if node.level else "", node.module]))
        return [
            f"{module}.{alias.name}" if f"{module}.{alias.name}" in known else module
            for alias in node.names
            if not (module == FACE and alias.name in SHARED_BY_ALL)
        ]
    if isinstance(node, ast.Call) and _last_name(node.func).endswith("import_module"):
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return [f"{package}{first.value}" if first.value.startswith(".") else first.value]
    return []


def _last_name(called: ast.expr) -> str:
    """Name of what is called, without what it is a part of."""
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def violations(package: Path) -> list[str]:
    """One sentence for each undeclared room, upward or sideways import, and cycle."""
    found = modules(package)
    edges = {
        name: list(imported(name, path, set(found))) for name, path in found.items() if name != FACE
    }
    return [*_undeclared(found), *_upward(edges), *_cycles(edges)]


def _undeclared(found: dict[str, Path]) -> Iterator[str]:
    for unknown in sorted({room(name) for name in found if name != FACE} - FLOOR_OF.keys()):
        yield f"{FACE}.{unknown} is no room of the house: declare its floor in {Path(__file__).name}"


def _upward(edges: dict[str, list[Edge]]) -> Iterator[str]:
    for name, targets in edges.items():
        for line, target, _ in targets:
            if target == FACE:
                yield f"{name} line {line} imports the public face: import from the room"
            elif room(target) != room(name) and not _below(target, name):
                yield f"{name} line {line} imports {target}, which is not on a lower floor"


def _below(target: str, name: str) -> bool:
    return FLOOR_OF.get(room(target), len(FLOORS)) < FLOOR_OF.get(room(name), len(FLOORS))


def _cycles(edges: dict[str, list[Edge]]) -> Iterator[str]:
    graph = {
        name: {
            target
            for _, target, types_only in targets
            if not types_only and room(target) == room(name) and target in edges
        }
        for name, targets in edges.items()
    }
    for name in graph:
        if name in _reached(graph, name):
            yield f"{name} imports itself, over {', '.join(sorted(_reached(graph, name)))}"


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    todo = list(graph[start])
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo.extend(graph[name])
    return reached


def test_imports_point_down_only() -> None:
    assert violations(checkout.ROOT / FACE) == []


def test_every_room_has_one_floor() -> None:
    assert len(FLOOR_OF) == sum(len(rooms) for rooms in FLOORS)


HOUSE = {
    "__init__.py": "__version__ = '1'\nfrom icmodel.cli import main\n",
    "units.py": "from icmodel.errors import UnitError\n",
    "errors.py": "import math\n",
    "scenario.py": "from icmodel import units\n",
    "dataset.py": "from icmodel.errors import DatasetError\n",
    "model/__init__.py": "from icmodel.model.loss import loss\nfrom . import cpu, many\n",
    "model/cpu.py": "from ..dataset import Dataset\n",
    "model/loss.py": "from .cpu import demand\n",
    "model/many.py": "import typing\nif typing.TYPE_CHECKING:\n    from icmodel.model import Model\n",
    "cli/__init__.py": "from icmodel import __version__\n",
}
SEEDS = {
    "upward": ("units.py", "from icmodel.scenario import Scenario", "units line 1 imports"),
    "upward, to a part of a room": ("dataset.py", "import icmodel.model.loss", "dataset line 1"),
    "sideways": ("dataset.py", "from icmodel import theory", "dataset line 1"),
    "sideways, by dots": ("dataset.py", "from .interpolation import curve", "dataset line 1"),
    "inside a function": ("errors.py", "def f() -> None:\n    import icmodel.units", "line 2"),
    "for types only": (
        "errors.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from icmodel.cli import main",
        "errors line 3",
    ),
    "by name": (
        "scenario.py",
        "import importlib\nimportlib.import_module('icmodel.dataset')",
        "scenario line 2",
    ),
    "the public face": ("model/cpu.py", "from icmodel import load", "imports the public face"),
    "the whole face": ("model/cpu.py", "import icmodel", "imports the public face"),
    "an undeclared room": ("utils.py", "", "icmodel.utils is no room"),
    "a cycle": ("model/cpu.py", "from icmodel.model import loss", "imports itself"),
    "a cycle over the room itself": ("model/cpu.py", "from icmodel.model import loss_of", "itself"),
}


def built(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_house_in_order_has_no_violation(tmp_path: Path) -> None:
    extra = {"theory/__init__.py": "", "estimate/statistics.py": ""}
    assert violations(built(tmp_path, {**HOUSE, **extra})) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seeded_violation_is_found(seed: str, tmp_path: Path) -> None:
    name, text, sentence = SEEDS[seed]
    extra = {"theory/__init__.py": "", "estimate/statistics.py": "", name: f"{text}\n"}
    found = violations(built(tmp_path, {**HOUSE, **extra}))
    assert found
    assert any(sentence in line for line in found), found

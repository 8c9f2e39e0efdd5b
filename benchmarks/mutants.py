"""Mutation testing: do the tests of a room notice a small change to its code? ``python -m benchmarks.mutants``."""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

from benchmarks.pairs import Document, say

ROOT = Path(__file__).resolve().parent.parent
SYSTEM = "icmodel/system"
JUDGING = (f"{SYSTEM}/prediction/judging.py", f"{SYSTEM}/requirements.py")
ROOMS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "units": (("icmodel/units.py",), ()),
    "theory": (("icmodel/theory/*.py",), ("theory_*",)),
    "tables": (("icmodel/tables/*.py",), ("tables_*", "model_twin", "hybrid")),
    "laws": (
        ("icmodel/laws/*.py",),
        ("laws_*", "model_[begos]*", "model_many", "model_packets", "model_twin", "hybrid*"),
    ),
    "judging": (
        ("icmodel/requirement.py", "icmodel/usecase/judging.py", *JUDGING),
        ("system_prediction_goodput", "usecase"),
    ),
    "bounds": ((f"{SYSTEM}/bounds/*.py",), ("system_bounds_*",)),
    "sharing": ((f"{SYSTEM}/sharing/*.py",), ("system_sharing_*", "system_prediction_goodput")),
}
"""Modules of each room, and further test files that judge them.

Test files named after a module or its folder judge it too.
"""
SHARING = {"tables", "laws", "judging"}
"""Rooms whose tests use fixtures of tests/conftest.py; others skip its second of imports."""
WARM = "numpy scipy.optimize scipy.sparse scipy.special xarray pydantic.main typer rich hypothesis pytest _hypothesis_pytestplugin"
"""Packages that the parent process imports once, so that no child has to."""
PROFILE = "mutants"
EXAMPLES = "tests/test_doctests.py::test_examples_print_what_they_show"
FIRST_LIMIT_S, TIMES_AS_LONG = 600, 10
MOST_BYTES = 6 * 2**30

SWAPS: Mapping[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES: Mapping[str, str] = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "floor": "ceil",
    "ceil": "floor",
    "any": "all",
    "all": "any",
}
UNTOUCHED_FIELDS = {"annotation", "returns", "decorator_list", "bases"}
UNTOUCHED_FUNCTIONS = {"__repr__", "_repr_html_", "__str__"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """Change of a syntax tree: the child `old` of a node, in a field or its list, becomes `new`."""

    parent: ast.AST
    field: str
    index: int | None
    old: ast.AST
    new: ast.AST

    def put(self) -> None:
        """Change the tree, permanently."""
        if self.index is None:
            setattr(self.parent, self.field, self.new)
        else:
            getattr(self.parent, self.field)[self.index] = self.new

    def codes(self) -> tuple[str, str]:
        """Return the code before and after the change, one line each."""
        before, after = (" ".join(ast.unparse(node).split()) for node in (self.old, self.new))
        return before, after


def mutants(tree: ast.AST) -> Iterator[Mutant]:
    """Yield every mutant of a module; texts, annotations, decorators and imports stay unchanged."""
    for name, value in ast.iter_fields(tree):
        if name in UNTOUCHED_FIELDS:
            continue
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(node, ast.AST) and not _untouched(node):
                for new in (*_operators(node), *_values(node), *_statements(node)):
                    yield Mutant(tree, name, index, node, ast.copy_location(new, node))
                yield from mutants(node)


def _untouched(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef(name=name, returns=returns):
            makes_error = returns is not None and ast.unparse(returns).endswith("Error")
            return makes_error or name in UNTOUCHED_FUNCTIONS
        case ast.BinOp(left=left, right=right):
            return _is_text(left) or _is_text(right)
        case ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom)


def _is_text(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_text or isinstance(node, ast.JoinedStr)


def _operators(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for index, op in enumerate(ops):
                swapped = [*ops[:index], _swapped(op), *ops[index + 1 :]]
                yield ast.Compare(left, swapped, comparators)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPS:
            yield ast.BinOp(left, _swapped(op), right)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(_swapped(op), values)
        case ast.UnaryOp(op=ast.Not() | ast.Invert() | ast.USub(), operand=operand):
            yield operand


def _swapped(operator: ast.AST) -> Any:
    return SWAPS[type(operator)]()


def _values(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float() as value):
            yield ast.Constant(1.5 * value or 1.0)
        case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
            yield ast.Name(NAMES[name], ast.Load())
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()) if name in NAMES:
            yield ast.Attribute(value, NAMES[name], ast.Load())
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test, orelse, body)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.If(test=test, body=body, orelse=orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.While(test=test, body=body, orelse=orelse):
            yield ast.While(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Return(value=ast.expr()):
            yield ast.Return(ast.Constant(None))
        case ast.AugAssign(target=target, op=op, value=value):
            yield ast.Pass()
            if type(op) in SWAPS:
                yield ast.AugAssign(target, _swapped(op), value)
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()


@dataclass
class Serving(MetaPathFinder):
    """Import finder that serves one module from a syntax tree in memory."""

    name: str
    path: Path
    tree: ast.Module

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        """Return the spec of the module, and none of others."""
        if fullname != self.name:
            return None
        code = compile(ast.fix_missing_locations(self.tree), self.path, "exec")
        loader = SourceFileLoader(fullname, str(self.path))
        loader.get_code = lambda fullname: code  # type: ignore[method-assign]
        return spec_from_file_location(fullname, self.path, loader=loader)


@dataclass(frozen=True)
class Module:
    """Module of a package below `root`, and groups of pytest arguments that judge it, in order."""

    root: Path
    path: Path
    groups: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """Dotted name of the module."""
        parts = self.path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts).removesuffix(".__init__")

    @cached_property
    def tree(self) -> ast.Module:
        """Syntax tree of the module, which child processes change and the parent never."""
        return ast.parse(self.path.read_text("utf-8"))

    def tested(self, words: Sequence[str], mutant: Mutant | None, limit_s: float) -> ChildExit:
        """Run tests in a child process, with one mutant of the module or none."""

        def work() -> int:
            if mutant is not None:
                mutant.put()
            sys.meta_path.insert(0, Serving(self.name, self.path, self.tree))
            return run_tests(words)

        return in_child(work, limit_s)


def run_tests(words: Sequence[str]) -> int:
    """Run pytest up to the first failure; hypothesis does not shrink failing examples."""
    import pytest
    from hypothesis import Phase, settings

    phases = (Phase.explicit, Phase.generate)
    how = settings(phases=phases, deadline=None, database=None, derandomize=True, max_examples=50)
    settings.register_profile(PROFILE, how)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # others take a second to import
    plugins = ("-p", "_hypothesis_pytestplugin", f"--hypothesis-profile={PROFILE}")
    options = ("-x", "-q", "--assert=plain", "-p", "no:cacheprovider")
    return int(pytest.main([*options, *plugins, "-m", "not alone and not long", *words]))


@dataclass(frozen=True, slots=True)
class ChildExit:
    """End of a child process: exit code of pytest or negative signal number, and CPU time [s]."""

    code: int
    cpu_s: float


def in_child(work: Callable[[], int], limit_s: float) -> ChildExit:
    """Run a function in a silent forked child process, with limits of CPU time and memory."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s) + 1,) * 2)
            resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES,) * 2)
            signal.alarm(100 * int(limit_s) + 100)  # ends a child that waits forever
            silent = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silent, stream)
            code = work()
        finally:
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    return ChildExit(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime)


def modules(room: str) -> list[Module]:
    """Return the modules of a room with their tests.

    Doctests and tests of the same name come first, the other tests of the room second.
    """
    patterns, others = ROOMS[room]
    found = []
    for path in sorted({path for one in patterns for path in ROOT.glob(one)}):
        name = Module(ROOT, path, ()).name
        parts = name.split(".")[1:]
        mirrors = (files("_".join(parts[:count])) for count in range(len(parts), 0, -1))
        own = next(filter(None, mirrors), [])
        rest = [file for one in others for file in files(one) if file not in own]
        if ">>> " in path.read_text("utf-8"):
            own = [f"{ROOT}/{EXAMPLES}[{name}]", *own]
        plain = () if room in SHARING else ("--noconftest",)
        groups = tuple((*plain, *group) for group in (own, rest) if group)
        found.append(Module(ROOT, path, groups))
    return found


def files(pattern: str) -> list[str]:
    """Return the test files whose name matches a pattern, sorted."""
    return [str(path) for path in sorted((ROOT / "tests").glob(f"test_{pattern}.py"))]


def judged(modules: Sequence[Module], count: int, seed: int) -> Document:
    """Draw mutants of some modules, all equally likely, and run the tests of each.

    Raises
    ------
    RuntimeError
        If tests fail without a mutant.
    """
    every = [(module, mutant) for module in modules for mutant in mutants(module.tree)]
    chosen = random.Random(seed).sample(range(len(every)), min(count, len(every)))
    limits: dict[tuple[str, ...], float] = {}
    survived = []
    for index in sorted(chosen):
        module, mutant = every[index]
        for words in module.groups:
            if words not in limits:
                limits[words] = limit(module, words)
            if module.tested(words, mutant, limits[words]).code:
                break
        else:
            before, after = mutant.codes()
            where = f"{module.path.relative_to(module.root)}:{getattr(mutant.old, 'lineno', 0)}"
            survived.append({"where": where, "before": before, "after": after})
            say(f"{where}: {before}  ->  {after}")
    killed = len(chosen) - len(survived)
    return {"mutants": len(every), "drawn": len(chosen), "killed": killed, "survived": survived}


def limit(module: Module, words: Sequence[str]) -> float:
    """Return the CPU time that tests may take [s], from a run without a mutant."""
    plain = module.tested(words, None, FIRST_LIMIT_S)
    if plain.code:
        raise RuntimeError(f"without a mutant, pytest ends with {plain.code}: {' '.join(words)}")
    say(f"{module.name}, {len(words)} files: {plain.cpu_s:.1f} s of CPU without a mutant")
    return TIMES_AS_LONG * plain.cpu_s


def main(arguments: Sequence[str] | None = None) -> int:
    """Mutate rooms, and print how many mutants were killed and which survived."""
    asked = _parser().parse_args(arguments)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in WARM.split():
        importlib.import_module(name)
    rooms = {}
    for name in asked.rooms or ROOMS:
        rooms[name] = judged(modules(name), asked.mutants, asked.seed)
        say(f"{name}: {rooms[name]['killed']} of {rooms[name]['drawn']} killed")
    document: Document = {"schema_version": 1, "seed": asked.seed, "rooms": rooms}
    print(json.dumps(document, indent=2) if asked.json else text(document), end="")
    return 0


def text(document: Document) -> str:
    """Return a table of the rooms, and the survivors."""
    lines = [f"{'room':<12}{'mutants':>8}{'drawn':>8}{'killed':>8}{'survived':>10}"]
    for name, room in document["rooms"].items():
        counts = f"{room['mutants']:>8,}{room['drawn']:>8,}{room['killed']:>8,}"
        lines.append(f"{name:<12}{counts}{len(room['survived']):>10,}")
    for room in document["rooms"].values():
        for one in room["survived"]:
            lines += ["", one["where"], f"  - {one['before']}", f"  + {one['after']}"]
    return "\n".join(lines) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", type=_room, metavar="ROOM", help=", ".join(ROOMS))
    parser.add_argument(
        "--mutants", type=int, default=40, help="number of mutants drawn in each room"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def _room(word: str) -> str:
    if word not in ROOMS:
        raise argparse.ArgumentTypeError(f"{word} is none of {', '.join(ROOMS)}")
    return word


if __name__ == "__main__":
    sys.exit(main())

"""The floors of icprobe: its modules use only what stands lower, in the order that lib.rs documents.

What stands under ``#[cfg(test)]`` may use everything. Paths through ``super`` that leave a module
count like those through ``crate``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import checkout

SOURCE = checkout.ROOT / "calibration" / "src"
CRATE = ("lib", "main")
COMMENT = re.compile(r"//.*")
TEST_FILE = re.compile(
    r'#\[cfg\(test\)\]\s*(?:#\[path = "(\w+)\.rs"\]\s*)?(?:pub(?:\(\w+\))? )?mod (\w+);'
)
TEST_BLOCK = re.compile(r"(?ms)^( *)#\[cfg\(test\)\]\s*mod \w+ \{\n.*?^\1\}")
PATH = re.compile(r"\b(crate|(?:super::)*super)::(?:(\w+)|\{)")


def floors(library: str) -> list[list[str]]:
    """The names of each floor, lowest first, from the first comment of lib.rs."""
    text = "".join(re.findall(r"(?m)^//! ?(.*\n)", library)).replace("\n", " ")
    order = re.search(r"`[a-z ]+`(?: +→ +`[a-z ]+`)+", text)
    return [floor.split() for floor in re.findall(r"`([a-z ]+)`", order[0])] if order else []


def modules(source: Path) -> dict[tuple[str, ...], Path]:
    """Path of every module that is no test -> its file."""
    files = {path for path in source.rglob("*.rs") if path.stem not in CRATE}
    for path in sorted(files):
        folder = path.parent if path.name == "mod.rs" else path.with_suffix("")
        for other, name in TEST_FILE.findall(path.read_text(encoding="utf-8")):
            files.discard(path.parent / f"{other}.rs" if other else folder / f"{name}.rs")
    return {_module(path.relative_to(source)): path for path in sorted(files)}


def _module(path: Path) -> tuple[str, ...]:
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] == "mod" else parts


def used(module: tuple[str, ...], text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every module of the crate that a text uses, its own not among them."""
    without_tests = TEST_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    code = COMMENT.sub("", without_tests)
    for found in PATH.finditer(code):
        line = code.count("\n", 0, found.start()) + 1
        above = len(module) if found[1] == "crate" else found[1].count("super")
        if len(module) - above > 0:
            continue  # inside the module
        for name in [found[2]] if found[2] else _in_braces(code[found.end() :]):
            if name != module[0]:
                yield line, name


def _in_braces(rest: str) -> list[str]:
    """The first name of each path between braces."""
    inside, depth = "", 0
    for letter in rest:
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            break
        inside += letter if depth == 0 else ""
    return [name for part in inside.split(",") if (name := part.strip().split("::")[0])]


def violations(source: Path) -> list[str]:
    """One sentence for each module without one floor, and for each use that does not point down."""
    library = (source / "lib.rs").read_text(encoding="utf-8")
    order = floors(library)
    floor_of = {name: number for number, names in enumerate(order) for name in names}
    declared = sorted(re.findall(r"(?m)^(?:pub )?mod (\w+);", library))
    found = []
    if declared != sorted(name for names in order for name in names):
        found.append(f"the modules {declared} do not stand on one floor each: {order}")
    for module, path in modules(source).items():
        for line, name in used(module, path.read_text(encoding="utf-8")):
            if floor_of.get(name, len(order)) >= floor_of.get(module[0], len(order)):
                where = f"{path.relative_to(source)} line {line}"
                found.append(f"{where} uses {name}, which is not on a lower floor")
    return found


def test_the_modules_use_only_what_stands_lower() -> None:
    assert violations(SOURCE) == []


def test_the_order_of_the_floors_is_read() -> None:
    order = floors((SOURCE / "lib.rs").read_text(encoding="utf-8"))
    assert "error" in order[0]
    assert order[-1] == ["cli"]
    assert len(modules(SOURCE)) > 60


LIBRARY = "//! On floors:\n//! `low` →\n//! `left right` → `top`.\npub mod left;\npub mod low;\npub mod right;\npub mod top;\n"
HOUSE = {
    "lib.rs": LIBRARY,
    "low.rs": "use std::fmt;\n",
    "left/mod.rs": "mod part;\nuse crate::low::Low;\nuse super::low;\nuse self::part::Part;\n"
    "#[cfg(test)]\npub(crate) mod tests;\n#[cfg(test)]\nmod more {\n    use crate::top::Top;\n}\n",
    "left/part.rs": "use super::Left;\nuse super::super::low::Low;\n// use crate::top::Top;\n",
    "left/tests.rs": "use crate::top::Top;\n",
    "right.rs": "use crate::low;\n#[cfg(test)]\nmod tests {\n    use crate::top::Top;\n}\n",
    "top.rs": "use crate::{left::Left, low::{self, Low}, right};\n",
}
SEEDS = {
    "upward": ("low.rs", "use crate::top::Top;", "low.rs line 1 uses top"),
    "sideways": ("left/part.rs", "\nuse crate::right::Right;", "left/part.rs line 2 uses right"),
    "by super": ("right.rs", "use super::left::Left;", "right.rs line 1 uses left"),
    "by super, from inside": ("left/part.rs", "use super::super::top;", "part.rs line 1 uses top"),
    "in braces": ("right.rs", "use crate::{low, top::{A, B}};", "right.rs line 1 uses top"),
    "in a path": ("low.rs", "fn f() {\n    crate::left::f();\n}", "low.rs line 2 uses left"),
    "without a floor": ("lib.rs", f"{LIBRARY}mod utils;", "do not stand on one floor each"),
}


def built(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_house_in_order_has_no_violation(tmp_path: Path) -> None:
    assert violations(built(tmp_path, HOUSE)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seeded_violation_is_found(seed: str, tmp_path: Path) -> None:
    name, text, sentence = SEEDS[seed]
    found = violations(built(tmp_path, {**HOUSE, name: text}))
    assert any(sentence in line for line in found), found

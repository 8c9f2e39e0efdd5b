"""Write the page of licences, docs/reference/licences.md: ``python tools/licences.py``.

Licences are those that the installed packages and the locked crates state.
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib.metadata import metadata, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "licences.md"
VENDOR = ROOT / "icmodel" / "web" / "static" / "vendor"
INTRODUCTION = """# Licences

icmodel is licensed under [Apache-2.0](https://www.apache.org/licenses/LICENSE-2.0). Each dataset names the licence of
its origin in its `dataset.toml`. The tables list all packages that an installation of icmodel and its extras brings
along, the library in the pages of `icmodel serve`, and all crates that are compiled into icprobe.
`python tools/licences.py` renews this page.
"""
OWN = ("all", "probe")
"""Extras of icmodel's own packages."""


def page() -> str:
    """Return the page with the licences of all packages, libraries and crates."""
    packages = [
        f"| {name} | {needed} | {licence(name)} |" for name, needed in sorted(dependencies())
    ]
    libraries = [f"| {' | '.join(one)} |" for one in vendored()]
    crates = [f"| {name} | {text} |" for name, text in sorted(set(crate_licences()))]
    return "\n".join(
        [
            INTRODUCTION,
            "## Python",
            "",
            "| package | needed by | licence |",
            "| --- | --- | --- |",
            *packages,
            "",
            "## JavaScript",
            "",
            "| library | version | licence |",
            "| --- | --- | --- |",
            *libraries,
            "",
            "## Rust",
            "",
            "| crate | licence |",
            "| --- | --- |",
            *crates,
            "",
        ]
    )


def dependencies() -> Iterator[tuple[str, str]]:
    """Yield each package that icmodel needs, directly or not, and what needs it first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    todo = [(text, "icmodel") for text in project["dependencies"]]
    for extra, texts in project["optional-dependencies"].items():
        if extra not in OWN:
            todo += [(text, f"icmodel[{extra}]") for text in texts]
    seen: set[str] = set()
    while todo:
        text, needed = todo.pop(0)
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        if name in seen or not (requirement.marker is None or requirement.marker.evaluate()):
            continue
        seen.add(name)
        yield name, needed
        todo += [(further, name) for further in requires(name) or () if "extra ==" not in further]


def licence(name: str) -> str:
    """Return the licence that an installed package states: an SPDX expression, or its classifier."""
    said = metadata(name)
    classifiers = said.get_all("Classifier") or []
    stated = said.get_all("License-Expression") or [
        one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License ::")
    ]
    return ", ".join(stated or said.get_all("License") or ["not stated"])


def vendored() -> Iterator[tuple[str, str, str]]:
    """Yield each library bundled with the pages of the workbench: its name, version and licence."""
    for path in sorted(VENDOR.glob("*.LICENSE.txt")):
        name = path.name.partition(".")[0]
        code = next(VENDOR.glob(f"{name}.*.js")).read_text(encoding="utf-8")
        version = re.search(r"\(v([0-9.]+)\)", code)
        title = path.read_text(encoding="utf-8").partition("\n")[0]
        short = re.search(r"\((.+)\)", title)
        yield name, version[1] if version else "not stated", short[1] if short else title


def crate_licences() -> Iterator[tuple[str, str]]:
    """Yield each crate that is compiled into icprobe on Linux, and its licence."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    command += ["--filter-platform", "x86_64-unknown-linux-gnu"]
    printed = subprocess.run(
        command, cwd=ROOT / "calibration", check=True, capture_output=True, text=True
    ).stdout
    document = json.loads(printed)
    packages = {package["id"]: package for package in document["packages"]}
    nodes = {node["id"]: node for node in document["resolve"]["nodes"]}
    todo, seen = [document["resolve"]["root"]], set[str]()
    while todo:
        node = nodes[todo.pop()]
        for dependency in node["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            if None in kinds and dependency["pkg"] not in seen:  # no dev or build dependency
                seen.add(dependency["pkg"])
                todo.append(dependency["pkg"])
    for crate in seen:
        yield packages[crate]["name"], packages[crate]["license"].replace("/", " OR ")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""constraints.txt pins everything that is installed, by name only; every licence fits ours."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import checkout
from conftest import run

LINUX = "x86_64-unknown-linux-gnu"
PIN = re.compile(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.!+_-]*( ; .+)?")
INSTALLERS = ("pip", "setuptools")
OUR_OWN = {"icmodel", "icprobe"}
"""Packages of this repository: installed from it, not pinned."""
# Licences whose works may be used by and shipped beside Apache-2.0 works.
OUR_KIND = re.compile(r"MIT|BSD|0BSD|Apache|ISC|PSF|Python Software|MPL|Mozilla|Zlib|CC0")
NOT_OUR_KIND = re.compile(r"\b(A?GPL|SSPL|BUSL|Proprietary|Commercial|Non-?Commercial)\b", re.I)


def pins() -> dict[str, str]:
    """Canonical name -> version of each line of constraints.txt."""
    text = (checkout.ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not PIN.fullmatch(line)] == []
    parted = [line.split(" ; ")[0].split("==") for line in lines]
    return {canonicalize_name(name): version for name, version in parted}


def required() -> list[str]:
    """What pyproject.toml asks for: dependencies, extras, groups and the build."""
    project = tomllib.loads((checkout.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    groups = project["dependency-groups"].values()
    lines = [line for some in (*extras, *groups) for line in some if isinstance(line, str)]
    return [
        line
        for line in (
            *project["project"]["dependencies"],
            *project["build-system"]["requires"],
            *lines,
        )
        if Requirement(line).name not in OUR_OWN
    ]


def closure(lines: Iterable[str]) -> dict[str, Distribution]:
    """Every distribution that these requirements lead to, as installed here."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    todo = [Requirement(line) for line in lines]
    while todo:
        asked = todo.pop()
        key = (canonicalize_name(asked.name), frozenset(asked.extras))
        if key not in seen:
            seen.add(key)
            found[key[0]] = installed(asked.name)
            todo.extend(needed(found[key[0]], asked.extras))
    return found


def installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError:
        pytest.fail(f"{name} is not installed here: `make develop` installs what tests need")


def needed(found: Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    for line in found.requires or []:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def licence(found: Distribution) -> str:
    """The licence a distribution states, by expression, classifiers or text, in this order."""
    stated = {
        field: "; ".join(found.metadata.get_all(field, []))
        for field in ("License-Expression", "Classifier", "License")
    }
    classifiers = [part for part in stated["Classifier"].split("; ") if part.startswith("License")]
    return stated["License-Expression"] or "; ".join(classifiers) or stated["License"][:80]


def test_everything_installed_is_pinned() -> None:
    asked = closure([*required(), *INSTALLERS])
    pinned = pins()
    assert sorted(asked.keys() - pinned.keys()) == []


def test_nothing_is_pinned_that_is_not_needed() -> None:
    asked = closure([*required(), *INSTALLERS])
    assert sorted(pins().keys() - asked.keys()) == []


def test_what_is_installed_is_what_is_pinned() -> None:
    pinned = pins()
    here = {name: found.version for name, found in closure([*required(), *INSTALLERS]).items()}
    assert {name: version for name, version in here.items() if pinned.get(name) != version} == {}


def test_constraints_hold_no_address() -> None:
    text = (checkout.ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert "://" not in text
    assert "--" not in text
    assert text == "".join(f"{line}\n" for line in text.splitlines())


def test_every_licence_fits_apache_2() -> None:
    licences = {name: licence(found) for name, found in closure(required()).items()}
    assert (
        licences.pop("axe-playwright-python") == ""
    )  # its file says MIT, and that of axe inside MPL-2.0
    wrong = {
        name: said
        for name, said in licences.items()
        if not OUR_KIND.search(said) or NOT_OUR_KIND.search(said)
    }
    assert wrong == {}


def crates() -> list[dict[str, Any]]:
    """The probe and all crates it is compiled from, as cargo sees them."""
    if shutil.which("cargo") is None:
        pytest.skip("needs cargo, which is not on this machine")
    asked = ("metadata", "--format-version=1", "--locked", "--filter-platform", LINUX)
    told = run("cargo", *asked, cwd=checkout.ROOT / "calibration")
    packages: list[dict[str, Any]] = json.loads(told)["packages"]
    return packages


def test_every_licence_of_a_crate_fits_apache_2() -> None:
    licences = {crate["name"]: crate["license"] for crate in crates()}
    assert len(licences) > 1
    wrong = {
        name: said
        for name, said in licences.items()
        if not said or not OUR_KIND.search(said) or NOT_OUR_KIND.search(said)
    }
    assert wrong == {}


def test_the_probe_is_an_extra_and_not_of_the_default_set() -> None:
    """`make verdict` installs `all`, and must work where nothing can be compiled; pyarrow takes 170 MB.

    Files and clusters of large sweeps are for few.
    """
    project = tomllib.loads((checkout.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = {
        extra: {Requirement(line).name for line in lines}
        for extra, lines in project["project"]["optional-dependencies"].items()
    }
    assert extras["probe"] == {"icprobe"}
    (everything,) = map(Requirement, project["project"]["optional-dependencies"]["all"])
    assert everything.name == "icmodel"
    assert everything.extras == extras.keys() - {"all", "cluster", "parquet", "probe", "zarr"}
    assert "icprobe" not in pins()


def test_the_wheel_requires_no_tool_of_tests_lint_docs_or_benchmarks() -> None:
    project = tomllib.loads((checkout.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names = {Requirement(line).name for line in project["project"]["dependencies"]}
    used = {"numpy", "scipy", "pydantic", "xarray", "typer", "rich"}
    used |= {"highspy", "platformdirs", "threadpoolctl"}
    assert names == used

"""Examples in docstrings: all of them run, and every public name has one."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import checkout
import icmodel

PACKAGE = checkout.ROOT / "icmodel"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def with_examples() -> list[str]:
    """Dotted names of the modules whose docstrings have examples."""
    paths = sorted(path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text("utf-8"))
    names = (".".join(path.relative_to(checkout.ROOT).with_suffix("").parts) for path in paths)
    return [name.removesuffix(".__init__") for name in names]


@pytest.mark.parametrize("name", with_examples())
def test_examples_print_what_they_show(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = import_module(name)
    decorated = [one for one in vars(module).values() if hasattr(one, "__wrapped__")]
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    finder = doctest.DocTestFinder()
    for example in finder.find(module):
        runner.run(example)
    for one in decorated:  # the finder passes over them
        if one.__module__ == name:
            for example in finder.find(one.__wrapped__, one.__name__, globs=vars(module).copy()):
                runner.run(example)
    assert runner.tries > 0
    assert runner.failures == 0


def public_names() -> list[str]:
    """The public functions and classes, errors and the version left out."""
    errors = {name for name in icmodel.__all__ if name.endswith("Error")}
    return sorted(set(icmodel.__all__) - errors - {"OutOfDomain", "ProbeMissing", "__version__"})


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_shows_an_example(name: str) -> None:
    assert ">>> " in (getattr(icmodel, name).__doc__ or "")

"""Licences of whatever is installed with icmodel: listed, and compatible with Apache-2.0."""

from __future__ import annotations

import licences

PERMISSIVE = [
    "0BSD",
    "Apache",
    "BSD",
    "BSL",
    "CC0",
    "ISC",
    "MIT",
    "MPL",
    "PSF",
    "Python",
    "Unicode",
    "Unlicense",
    "Zlib",
    "Zlib-ng",
]


def test_the_page_of_licences_is_current() -> None:
    assert licences.PAGE.read_text(encoding="utf-8") == licences.page(), "run tools/licences.py"


def test_every_licence_lets_icmodel_be_apache() -> None:
    """An expression may offer several licences; one of them must be permissive."""
    python = {name: licences.licence(name) for name, _ in licences.dependencies()}
    for name, text in {**python, **dict(licences.crate_licences())}.items():
        assert any(word in text for word in PERMISSIVE), f"{name}: {text}"
        assert "GPL" not in text or " OR " in text, f"{name}: {text}"

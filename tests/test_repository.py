"""What is committed: no addresses of this place, no code where data stands, nothing large."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import checkout
import datasets_table
import icmodel

LARGEST_BYTES = 1_000_000
LARGEST_FOLDED_BYTES = 20_000_000
"""Of a folded dataset: the records of a campaign stand beside what was made of them."""
BINARY = {".gz", ".pdf", ".png", ".xlsx", ".nc", ".npz"}
CODELESS = ("data", "usecases")
DATASET_FILES = {"README.md", "dataset.toml", "points.csv"}
FOLDED_FILES = DATASET_FILES | {"folded.json", "records.jsonl.gz"}
OPTIONAL = {"coverage.json", "fit.json", "fit.npz", "held-out.csv"}
CAMPAIGN = re.compile(r"campaign/(plan|topology)-[a-z0-9-]+\.toml")
"""What a folded dataset was measured by, beside its records."""
CARGO_SOURCE = re.compile(r'(?m)^source = "(.+)"$')
# Cut in two, so that this file does not hold what it looks for.
FORBIDDEN = {
    "a path of a machine": (
        ("/wo", "rk/"),
        ("/ro", "ot/"),
        ("/tm", "p/"),
        ("/ho", "me/"),
        ("/opt/wh", "eels"),
        ("/Use", "rs/"),
        (".py", "env/"),
    ),
    "a host of a package registry": (
        ("py", "pi.org"),
        ("python", "hosted.org"),
        ("crates", ".io"),
        ("npm", "js.org"),
        ("npm", "js.com"),
        ("proxy.go", "lang.org"),
        ("deb.deb", "ian.org"),
        ("maven", ".org"),
        ("maven.apa", "che.org"),
        ("conda.anaco", "nda.org"),
    ),
    "something beside the repository": (
        ("../sha", "red"),
        ("CONT", "RACT.md"),
        ("source-fa", "cts"),
        ("desi", "gn.md"),
        (".libr", "ary/"),
    ),
}


def texts() -> list[Path]:
    return [name for name in checkout.files() if name.suffix not in BINARY]


def found_in(text: str) -> list[str]:
    """What a text names that it must not."""
    return [
        f"{what}: {head}{tail}"
        for what, pieces in FORBIDDEN.items()
        for head, tail in pieces
        if head + tail in text and re.search(rf"(?<!\w){re.escape(head + tail)}", text)
    ]


def read(name: Path) -> str:
    """A committed text; Cargo.lock without its lines of sources, which a test of its own reads."""
    text = (checkout.ROOT / name).read_text(encoding="utf-8")
    return CARGO_SOURCE.sub("", text) if name.name == "Cargo.lock" else text


def test_no_file_names_a_place_outside_the_repository() -> None:
    named = {str(name): found_in(read(name)) for name in texts()}
    assert {name: found for name, found in named.items() if found} == {}


@pytest.mark.parametrize("pieces", [pieces for some in FORBIDDEN.values() for pieces in some])
def test_the_check_finds_what_it_looks_for(pieces: tuple[str, str]) -> None:
    assert len(found_in(f"see {''.join(pieces)}x")) == 1
    assert found_in("see https://github.com/someone/network/ and data/x/README.md") == []


def test_cargo_lock_names_cargo_s_own_registry_and_no_other_source() -> None:
    text = (checkout.ROOT / "calibration" / "Cargo.lock").read_text(encoding="utf-8")
    registry = "registry+https://github.com/rust-lang/crates" + ".io-index"
    assert set(CARGO_SOURCE.findall(text)) == {registry}
    crates = tomllib.loads(text)["package"]
    assert [crate["name"] for crate in crates if "source" not in crate] == ["icprobe"]
    assert all("checksum" in crate for crate in crates if "source" in crate)


def test_no_file_is_large() -> None:
    large = [
        name
        for name in checkout.files()
        if (path := checkout.ROOT / name).stat().st_size
        > (LARGEST_FOLDED_BYTES if (path.parent / "folded.json").exists() else LARGEST_BYTES)
    ]
    assert large == []


def test_data_and_usecases_hold_no_code() -> None:
    codeless = [name for name in checkout.files() if name.parts[0] in CODELESS]
    assert codeless
    assert {name.suffix for name in codeless} <= {".csv", ".gz", ".json", ".md", ".npz", ".toml"}


def test_every_dataset_has_its_files_and_no_other() -> None:
    folders: dict[str, set[str]] = {}
    for name in checkout.files():
        if name.parts[0] == "data" and len(name.parts) > 2:
            folders.setdefault(name.parts[1], set()).add("/".join(name.parts[2:]))
    assert folders
    for files in folders.values():
        if "folded.json" in files:
            files -= {file for file in files if CAMPAIGN.fullmatch(file)}
    wanted = {
        folder: FOLDED_FILES if "folded.json" in files else DATASET_FILES
        for folder, files in folders.items()
    }
    assert {f: files for f, files in folders.items() if files - OPTIONAL != wanted[f]} == {}


def test_the_table_of_datasets_is_that_of_the_folders() -> None:
    text = (checkout.ROOT / "data" / "README.md").read_text(encoding="utf-8")
    assert text == datasets_table.with_table(text), "run `python tools/datasets_table.py`"


def test_the_version_is_the_same_everywhere() -> None:
    version = icmodel.__version__
    citation = yaml.safe_load((checkout.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (checkout.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert citation["version"] == version
    assert re.findall(r"(?m)^## \[?(\d[^\] ]*)", changes)[0] == version


def test_the_probe_s_version_fits_the_extra_that_asks_for_it() -> None:
    crate = tomllib.loads((checkout.ROOT / "calibration/Cargo.toml").read_text(encoding="utf-8"))
    project = tomllib.loads((checkout.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (asked,) = map(Requirement, project["project"]["optional-dependencies"]["probe"])
    assert asked.name == crate["package"]["name"] == "icprobe"
    assert asked.specifier.contains(crate["package"]["version"])


def test_the_citation_is_complete() -> None:
    citation = yaml.safe_load((checkout.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    required = {"cff-version", "message", "title", "authors"}
    assert required <= citation.keys()
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["license"] == "Apache-2.0"
    assert all(
        author.keys() <= {"name", "family-names", "given-names", "orcid"}
        for author in citation["authors"]
    )


def test_the_licence_is_whole() -> None:
    text = (checkout.ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
    project = tomllib.loads((checkout.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["license"] == "Apache-2.0"
    assert (checkout.ROOT / "calibration" / "LICENSE").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/background/architecture.md"])
def test_every_module_that_a_page_names_exists(page: str) -> None:
    text = (checkout.ROOT / page).read_text(encoding="utf-8")
    roots = [checkout.ROOT / base for base in ("", "icmodel", "icmodel/system", "calibration/src")]
    named = set(re.findall(r"`([a-z_/0-9]+\.(?:py|rs|toml|txt|json))`", text))
    assert named
    missing = {name for name in named if not any((root / name).exists() for root in roots)}
    assert missing - {"dataset.toml"} == set()


def test_the_words_of_the_glossary_stand_where_it_says() -> None:
    text = (checkout.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| ([a-z ]+) \| .* \| ((?:`[^`]+`(?:, )?)+) \|$", text)
    words = [(word, place) for word, places in rows for place in re.findall(r"`([^`]+)`", places)]
    assert len(words) > 15
    lost = [
        (word, place)
        for word, place in words
        if place.endswith(".py")
        and word.split()[0] not in (checkout.ROOT / "icmodel" / place).read_text("utf-8").lower()
    ]
    assert lost == []

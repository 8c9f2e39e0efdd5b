"""Check of a dataset folder: keys, rows, names that refer to each other, and the seal."""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from pathlib import Path

import pytest

import checkout
from icmodel.dataset import catalogue, load
from icmodel.dataset.check import check_dataset, dataset_schema, seal_dataset
from icmodel.errors import DatasetError

DATA = checkout.ROOT / "data"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of a dataset with options and absences, to be changed."""
    return shutil.copytree(DATA / "infiniband-qdr-connectx2", tmp_path / "infiniband-qdr-connectx2")


def change(folder: Path, old: str, new: str) -> None:
    path = folder / "dataset.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("name", catalogue())
def test_every_bundled_dataset_passes(name: str) -> None:
    assert check_dataset(name).points == load(name).points


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('title = "', 'titel = "', "title is missing|titel"),
        ('edition = "1"', "", "edition is missing"),
        ('edition = "1"', "edition = 1", "edition is 1"),
        ('edition = "1"', 'edition = "1"\nnickname = "x"', "the key nickname is unknown"),
        ("mtu_bytes = 4096", "mtu = 4096", "the key interconnect.mtu is unknown"),
        ("mtu_bytes = 4096", 'mtu_bytes = "4 KiB"', "interconnect.mtu_bytes is '4 KiB'"),
        ("mtu_bytes = 4096", "mtu_bytes = 0", "interconnect.mtu_bytes is 0"),
        ('kind = "infiniband"', 'kind = "token-ring"', "ethernet.*infiniband.*roce"),
        ('default_variant = "corrected"', 'default_variant = "best"', "appendix-h"),
        ("[axes.server]", "[axes.client]", "server"),
        ("[axes.cores]", "[axes.lanes]", r"\[axes.lanes\] is not a column"),
        ("[fabrics.qdr]", "[fabrics.fdr]", "fabric = fdr, but no row"),
        ('id = "infiniband', 'id = "infinibund', "is not the name of the folder"),
        ('protocol = "rc"', 'protocol = "rd"', "'rd'"),
        ('metric = "rtt_mean_s"', 'metrics = "rtt_mean_s"', "absences"),
    ],
)
def test_a_wrong_key_is_named(copy: Path, old: str, new: str, told: str) -> None:
    change(copy, old, new)
    with pytest.raises(DatasetError, match=told) as error:
        check_dataset(copy)
    assert "dataset.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_stated_limit_needs_a_side(tmp_path: Path) -> None:
    folder = shutil.copytree(DATA / "ethernet-10g-2012", tmp_path / "ethernet-10g-2012")
    change(folder, "max = 0.85", "")
    with pytest.raises(DatasetError, match="min, max or both"):
        check_dataset(folder)


def test_a_changed_file_is_refused_until_it_is_sealed(copy: Path) -> None:
    points = copy / "points.csv"
    points.write_bytes(points.read_bytes().replace(b",0.9979,", b",0.9978,", 1))
    with pytest.raises(DatasetError, match="--seal"):
        check_dataset(copy)
    sealed = seal_dataset(copy)
    assert sealed.sha256 == hashlib.sha256(points.read_bytes()).hexdigest()
    assert check_dataset(copy).sha256 == sealed.sha256


def test_sealing_changes_one_line_only(copy: Path) -> None:
    before = (copy / "dataset.toml").read_text(encoding="utf-8")
    files = sorted(path.name for path in copy.iterdir())
    change(copy, load(copy).sha256, "0" * 64)
    seal_dataset(copy)
    assert (copy / "dataset.toml").read_text(encoding="utf-8") == before
    assert sorted(path.name for path in copy.iterdir()) == files


@pytest.mark.parametrize("given", ["", 'sha256 = ""\n', "sha256 = 'x'\n"])
def test_a_new_dataset_is_sealed_where_no_seal_is(copy: Path, given: str) -> None:
    change(copy, f'sha256 = "{load(copy).sha256}"\n', given)
    seal_dataset(copy)
    document = tomllib.loads((copy / "dataset.toml").read_text(encoding="utf-8"))
    assert document["sha256"] == load(copy).sha256


def test_a_text_that_looks_like_a_seal_is_left_alone(copy: Path) -> None:
    change(copy, "[tool]\n", '[tool]\n# the line below is no seal\n#sha256 = "x"\n')
    seal_dataset(copy)
    assert '#sha256 = "x"' in (copy / "dataset.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (b",rtt_mean_s,", b",rtt_mean,", "has no unit"),
        (b",tabulated,", b",guessed,", "guessed"),
        (b"rc,1,", b"rc,one,", "'one'"),
    ],
)
def test_a_bad_row_is_not_sealed(copy: Path, old: bytes, new: bytes, told: str) -> None:
    points, seal = copy / "points.csv", (copy / "dataset.toml").read_bytes()
    points.write_bytes(points.read_bytes().replace(old, new, 1))
    with pytest.raises(DatasetError, match=rf"points.csv line \d+.*{told}"):
        seal_dataset(copy)
    assert (copy / "dataset.toml").read_bytes() == seal


def test_the_schema_names_every_key_and_refuses_others() -> None:
    schema = dataset_schema()
    for name in catalogue():
        document = tomllib.loads((DATA / name / "dataset.toml").read_text(encoding="utf-8"))
        assert set(document) <= set(schema["properties"])
    assert schema["additionalProperties"] is False
    required = {"schema_version", "id", "title", "licence", "citation", "interconnect", "axes"}
    assert required <= set(schema["required"])

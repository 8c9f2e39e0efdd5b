"""Folder of a folded dataset: checked, complete, with an account, and rebuilt byte for byte."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import icmodel
from fold_case import line, write
from icmodel.dataset.check import check_dataset
from icmodel.errors import DatasetError, RecordError
from icmodel.fold import Settings, fold_files, rebuild
from icmodel.fold.records import SPOILS
from search import times

CHOSEN = Settings(title="A lab", line_rate_bps=1e8, tolerate=("pacing-error",))
HELD = {"held_out": True, "kind": "held-out"}


def lines() -> list[str]:
    loads = (1e7, 5e7, None)
    grid = [
        line(
            f"{payload}-{load}-{k}",
            payload_bytes=payload,
            load_bps=load,
            result={"goodput_bps": (load or 9e7) + k, "latency_mean_s": 1e-5 * payload + k * 1e-6},
            plan={"repeat": k},
        )
        for payload in (64, 512, 1472)
        for load in loads
        for k in range(3)
    ]
    return [*grid, line("held", payload_bytes=700, plan=HELD), line("bad", flags=("incomplete",))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fold_files([write(tmp_path / "r.jsonl", *lines())], tmp_path / "lab", CHOSEN)
    return tmp_path / "lab"


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_it_is_a_dataset_that_a_model_answers_from(folder: Path) -> None:
    data = check_dataset(folder)
    assert (data.id, data.title) == ("lab", "A lab")
    assert len(data.held_out_runs) == 1
    found = icmodel.Model(data).predict(
        protocol="udp", payload="512 B", requested_goodput="50 Mb/s"
    )
    assert found.goodput_bps.value == pytest.approx(5e7)
    assert found.latency_mean_s.value == pytest.approx(5.121e-3)
    assert found.latency_mean_s.basis == "measured"


def test_the_account_names_every_run(folder: Path) -> None:
    account = json.loads((folder / "folded.json").read_bytes())
    assert len(account["runs"]) == account["records"]["runs"] == 29
    assert (account["used"], account["held_out"]) == (27, 1)
    assert account["kept_apart"] == {"its flags spoil every metric: incomplete": 1}
    assert account["settings"] == {
        "id": "lab",
        "title": "A lab",
        "default_variant": "corrected",
        "line_rate_bps": 1e8,
        "tolerate": ["pacing-error"],
    }
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "| 27 | used for points |" in page
    assert "icmodel fold lab" in page


def test_the_records_stand_beside_as_they_were(folder: Path) -> None:
    packed = gzip.decompress((folder / "records.jsonl.gz").read_bytes()).decode()
    assert sorted(packed.splitlines()) == sorted(lines())


def test_it_is_rebuilt_byte_for_byte(folder: Path, tmp_path: Path) -> None:
    before = files(folder)
    rebuild(folder)
    assert files(folder) == before
    for name in ("points.csv", "held-out.csv", "dataset.toml", "README.md"):
        (folder / name).unlink()
    rebuild(folder)
    assert files(folder) == before


def test_held_out_runs_are_spoken_of_where_there_are_any(folder: Path, tmp_path: Path) -> None:
    held = "A held-out run has its own rows in `held-out.csv`"
    assert held in (folder / "README.md").read_text(encoding="utf-8")
    none = [text for text in lines() if not json.loads(text).get("plan", {}).get("held_out")]
    fold_files([write(tmp_path / "none.jsonl", *none)], tmp_path / "none", CHOSEN)
    assert held not in (tmp_path / "none" / "README.md").read_text(encoding="utf-8")
    assert not (tmp_path / "none" / "held-out.csv").exists()


def test_the_same_records_in_other_files_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    mixed = lines()[::-1]
    parts = [write(tmp_path / "1.jsonl", *mixed[:9]), write(tmp_path / "2.jsonl", *mixed[9:])]
    (tmp_path / "other").mkdir()
    fold_files(parts, tmp_path / "other" / "lab", CHOSEN)
    assert files(tmp_path / "other" / "lab") == files(folder)


POINT = st.fixed_dictionaries(
    {
        "protocol": st.sampled_from(["tcp", "udp", "zeromq"]),
        "payload_bytes": st.integers(1, 3),
        "load_bps": st.sampled_from([None, 1e6, 2.5e6]),
        "cores": st.integers(1, 2),
        "endpoints": st.integers(1, 2),
    },
    optional={
        "nagle": st.booleans(),
        "dscp": st.integers(0, 2),
        "pattern": st.sampled_from(["stream", "ping-pong"]),
        "test": st.text("ab ,é", min_size=1, max_size=3),
    },
)
RUN = st.fixed_dictionaries(
    {
        "result": st.fixed_dictionaries(
            {"goodput_bps": st.floats(0, 1e12), "cpu_send": st.floats(0, 1)},
            optional={"latency_max_s": st.floats(0, 1e3), "cpu_recv_irq": st.floats(0, 1)},
        ),
        "flags": st.lists(st.sampled_from(sorted(SPOILS)), max_size=2, unique=True).map(tuple),
        "plan": st.none() | st.fixed_dictionaries({"held_out": st.booleans()}),
    }
)


@given(st.lists(st.tuples(POINT, RUN), min_size=1, max_size=12))
@settings(max_examples=times(15))
def test_whatever_was_measured_every_run_has_one_fate_and_comes_back(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[dict[str, Any], dict[str, Any]]]
) -> None:
    place = tmp_path_factory.mktemp("any")
    texts = [line(f"r{k}", **run, **point) for k, (point, run) in enumerate(runs)]
    try:
        fold_files([write(place / "r.jsonl", *texts)], place / "lab", CHOSEN)
    except RecordError as error:
        assert "no run is left for points" in str(error)  # noqa: PT017
        return
    data, before = check_dataset(place / "lab"), files(place / "lab")
    account = json.loads(before["folded.json"])
    assert {item["run"] for item in account["runs"]} == {f"r{k}" for k in range(len(runs))}
    assert len(account["runs"]) == len(runs)
    apart = sum(account["kept_apart"].values())
    assert account["used"] + account["held_out"] + apart == len(runs)
    assert len(data.held_out_runs) == account["held_out"]
    seen = {(p.protocol, p[2:9]) for p in data.points}
    assert seen.isdisjoint((p.protocol, p[2:9]) for p in data.held_out)
    rebuild(place / "lab")
    assert files(place / "lab") == before


def test_records_that_another_library_packed_stay_as_they_are(folder: Path) -> None:
    path = folder / "records.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), compresslevel=1))
    before = files(folder)
    rebuild(folder)
    assert files(folder) == before


def test_words_around_the_account_stay(folder: Path) -> None:
    page = folder / "README.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(f"# My lab\n\nIn the cellar.\n\n{text.partition(chr(10))[2]}\nThe end.\n")
    written = page.read_bytes()
    rebuild(folder)
    assert page.read_bytes() == written
    page.write_text("# My lab\n\nNo account here.\n")
    rebuild(folder)
    assert page.read_text().startswith("# My lab\n\nNo account here.\n\n<!-- folded: begin -->")


def test_a_moved_folder_is_rebuilt_under_its_new_name(folder: Path, tmp_path: Path) -> None:
    moved = shutil.move(folder, tmp_path / "cellar")
    rebuild(moved)
    assert check_dataset(moved).id == "cellar"


def test_changed_records_are_not_rebuilt(folder: Path) -> None:
    path = folder / "records.jsonl.gz"
    text = gzip.decompress(path.read_bytes()).replace(
        b'"payload_bytes": 64', b'"payload_bytes": 65'
    )
    path.write_bytes(gzip.compress(text))
    with pytest.raises(RecordError, match=r"records\.jsonl\.gz does not match folded\.json"):
        rebuild(folder)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "cannot be read"),
        ("{", "is damaged"),
        ("[]", "another schema version"),
        ('{"schema_version": 1, "settings": {"speed": 1}}', "setting 'speed'"),
    ],
)
def test_a_damaged_account_is_named(folder: Path, text: str | None, told: str) -> None:
    if text is None:
        (folder / "folded.json").unlink()
    else:
        (folder / "folded.json").write_text(text)
    with pytest.raises(RecordError, match=told):
        rebuild(folder)


def test_a_page_that_is_no_text_is_named_and_stays(folder: Path) -> None:
    (folder / "README.md").write_bytes(b"\xff")
    with pytest.raises(RecordError, match=r"README\.md cannot be read \(not text in UTF-8\)"):
        rebuild(folder)
    assert (folder / "README.md").read_bytes() == b"\xff"


def test_a_folder_with_something_in_it_is_not_written_to(folder: Path, tmp_path: Path) -> None:
    before = files(folder)
    with pytest.raises(RecordError, match=r"is not empty.*icmodel fold"):
        fold_files([tmp_path / "r.jsonl"], folder, CHOSEN)
    assert files(folder) == before
    (tmp_path / "empty").mkdir()
    fold_files([tmp_path / "r.jsonl"], tmp_path / "empty", CHOSEN)
    assert check_dataset(tmp_path / "empty")


def test_a_document_that_breaks_the_format_writes_nothing(tmp_path: Path) -> None:
    records = write(tmp_path / "r.jsonl", *lines())
    with pytest.raises(DatasetError, match="the key colour is unknown"):
        fold_files([records], tmp_path / "lab", Settings(about={"colour": "red"}))
    with pytest.raises(DatasetError, match="default_variant"):
        fold_files([records], tmp_path / "lab", Settings(default_variant="magic"))
    assert not (tmp_path / "lab").exists()


def test_what_was_met_in_reading_stays_told(tmp_path: Path) -> None:
    records = write(tmp_path / "r.jsonl", *lines())
    records.write_text(records.read_text() + lines()[0][:50])
    fold_files([records, records], tmp_path / "lab", CHOSEN)
    before = files(tmp_path / "lab")
    account = json.loads(before["folded.json"])
    assert account["records"]["given_twice"] == 29
    assert "is incomplete" in account["notes"][0]
    rebuild(tmp_path / "lab")
    assert files(tmp_path / "lab") == before

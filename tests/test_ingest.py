"""Ingesting files: labels, repeats, refusals, and the dataset."""

from __future__ import annotations

import gzip
import json
import math
import re
import shlex
import shutil
from pathlib import Path
from statistics import stdev

import pytest

import icmodel
from icmodel.cli import main
from icmodel.dataset import Interconnect, load
from icmodel.dataset.check import check_dataset
from icmodel.errors import DatasetError, RecordError
from icmodel.ingest import (
    About,
    Labels,
    dataset_of,
    ingest,
    read_labels,
    read_labels_file,
    write_ingested,
)
from icmodel.ingest.source import read_source
from ingest_cases import CASES, in_files, numbers, results

ABOUT = About()
LATENCY = "message size: {size} [B]\nroundtrip count: 1000\naverage latency: {us} [us]\n"


def latency(size: int, us: float) -> str:
    """Output of remote_lat."""
    return LATENCY.format(size=size, us=us)


# --- files ------------------------------------------------------------------------------------


def test_files_of_several_tools_make_one_dataset(tmp_path: Path) -> None:
    names = ("iperf3/tcp.json", "nuttcp/udp.txt", "qperf/verbose.txt", "perftest/write_lat.txt")
    write_ingested(ingest([CASES / name for name in names]), tmp_path / "mixed", ABOUT)
    data = check_dataset(tmp_path / "mixed")
    assert data.protocols == ("rdma-write", "tcp", "udp")
    assert data.default_protocol == "tcp"
    assert all(point.basis in ("measured", "derived") for point in data.points)


def test_a_prediction_at_an_ingested_point_is_the_point(tmp_path: Path) -> None:
    write_ingested(ingest([CASES / "iperf3" / "tcp.json"]), tmp_path / "mine", ABOUT)
    data = load(tmp_path / "mine")
    [goodput] = [p.value for p in data.points if p.metric == "goodput_bps"]
    answer = icmodel.Model(data).predict(protocol="tcp", payload="1448 B")
    assert answer.goodput_bps.value == goodput
    assert answer.goodput_bps.basis == "measured"


def test_the_order_of_files_changes_no_byte(tmp_path: Path) -> None:
    files = in_files(tmp_path, {f"{n}.txt": latency(64, 20 + n) for n in range(4)})
    for name, order in (("one", files), ("two", files[::-1])):
        write_ingested(ingest(order), tmp_path / name / "set", ABOUT)
    one, two = ((tmp_path / n / "set" / "points.csv").read_bytes() for n in ("one", "two"))
    assert one == two


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "gzip", "escapes"])
def test_terminal_escapes_and_shell_lines_are_ignored(tmp_path: Path, coding: str) -> None:
    text = latency(64, 20.5)
    file = tmp_path / ("log.txt.gz" if coding == "gzip" else "log.txt")
    if coding == "gzip":
        file.write_bytes(gzip.compress(text.encode()))
    elif coding == "escapes":
        file.write_text("^[[2;35m" + text.replace("\n", "\x1b[0m\r\n"))
    else:
        file.write_text(text, encoding=coding)
    assert numbers(ingest([file])) == {"rtt_half_mean_s": 20.5e-6}


def test_broken_files_are_refused_by_name(tmp_path: Path) -> None:
    good = latency(64, 20.5)
    files = in_files(
        tmp_path,
        {"good.txt": good, "empty.txt": " \n", "other.txt": "hello", "same.txt": good},
    )
    broken = tmp_path / "broken.gz"
    broken.write_bytes(gzip.compress(good.encode())[:-9])
    got = ingest([*files, broken, tmp_path / "missing.txt"])
    reasons = {refusal.file: refusal.reason for refusal in got.refused}
    assert [file.file for file in got.taken] == ["good.txt"]
    assert "empty" in reasons["empty.txt"]
    assert "not the output of a tool" in reasons["other.txt"]
    assert "same content as good.txt" in reasons["same.txt"]
    assert "cut off" in reasons["broken.gz"]
    assert "cannot be read" in reasons["missing.txt"]


def test_a_file_of_two_tools_is_refused_unless_one_is_named(tmp_path: Path) -> None:
    half = (CASES / "sockperf" / "ping_pong_udp.txt").read_text(encoding="utf-8")
    flow = (CASES / "netperf" / "udp_stream.txt").read_text(encoding="utf-8")
    [file] = in_files(tmp_path, {"both.txt": half + flow})
    with pytest.raises(
        RecordError, match=r"both\.txt: the file holds output of sockperf and netperf"
    ):
        ingest([file], labels=Labels(payload_bytes=64))


IRTT = (
    '{"version": {"irtt": "0.9.2"}, "stats": {"rtt": {"n": 2, "mean": 500}}, '
    '"round_trips": [{"seqno": 0, "lost": "false", "delay": {"rtt": 500}}]}'
)
ETHR = '{"Type": "TestResult", "Protocol": "TCP", "BitsPerSecond": "9.41G"}'


@pytest.mark.parametrize("text", [IRTT, ETHR])
def test_tools_whose_numbers_are_texts_are_not_taken_for_others(tmp_path: Path, text: str) -> None:
    # Written by hand in their formats: words for booleans, and numbers with a suffix.
    with pytest.raises(RecordError, match="not the output of a tool that icmodel knows"):
        ingest(in_files(tmp_path, {"log.json": text}))


def test_files_of_one_name_are_named_by_the_shortest_distinct_path(tmp_path: Path) -> None:
    for folder, us in (("a", 20), ("b", 21)):
        (tmp_path / folder / "runs").mkdir(parents=True)
        in_files(tmp_path / folder / "runs", {"one.txt": latency(64, us)})
    got = ingest(tmp_path.rglob("one.txt"))
    assert [file.file for file in got.taken] == ["a/runs/one.txt", "b/runs/one.txt"]


def test_if_every_file_is_refused_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"empty\.txt: the file is empty"):
        ingest(in_files(tmp_path, {"empty.txt": ""}))


def test_a_tool_can_be_named(tmp_path: Path) -> None:
    [file] = in_files(tmp_path, {"log.txt": latency(64, 20.5)})
    assert numbers(ingest([file], "libzmq")) == {"rtt_half_mean_s": 20.5e-6}
    with pytest.raises(RecordError, match="message size"):
        ingest([CASES / "nuttcp" / "tcp.txt"], "libzmq")


# --- labels -----------------------------------------------------------------------------------


def test_a_missing_label_is_named_with_its_option() -> None:
    with pytest.raises(RecordError, match="payload_bytes=SIZE"):
        ingest([CASES / "nuttcp" / "udp_parse_slow.txt"])


def test_a_label_never_overrules_the_file() -> None:
    with pytest.raises(RecordError, match="the result says payload_bytes 1448"):
        ingest([CASES / "iperf3" / "tcp.json"], labels=Labels(payload_bytes=64))


def test_labels_by_file_name_and_pattern(tmp_path: Path) -> None:
    for size in (64, 1024):
        shutil.copy(CASES / "sockperf" / "ping_pong_udp.txt", tmp_path / f"udp-{size}.txt")
        text = (tmp_path / f"udp-{size}.txt").read_text().replace("7.588", f"{7 + size / 1000:.3f}")
        (tmp_path / f"udp-{size}.txt").write_text(text)
    labels = tmp_path / "labels.toml"
    labels.write_text(
        '["udp-64.txt"]\npayload = "64 B"\n["udp-1024.txt"]\npayload = "1 KiB"\n'
        '["udp-*"]\nswitches = 1\n[ "udp-64*".options]\npriority = "high"\n'
    )
    got = ingest(sorted(tmp_path.glob("udp-*")), by_file=read_labels_file(labels))
    assert {(point.payload_bytes, point.switches) for point in got.points} == {(64, 1), (1024, 1)}
    assert {point.options for point in got.points if point.payload_bytes == 64} == {("high",)}


def test_labels_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    labels = tmp_path / "labels.toml"
    labels.write_text('["*.txt"]\npayload = "64 B"\n["ping*"]\npayload = "65 B"\n')
    with pytest.raises(RecordError, match="another pattern"):
        ingest([CASES / "sockperf" / "ping_pong_udp.txt"], by_file=read_labels_file(labels))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"payload": "64"}, "no unit"),
        ({"payload": "64 KB"}, "unclear prefix"),
        ({"cores": "two"}, "whole number"),
        ({"protocol": "TCP"}, "lower case"),
        ({"colour": "red"}, "unknown"),
    ],
)
def test_the_error_of_a_wrong_label_names_the_allowed_ones(
    said: dict[str, object], reason: str
) -> None:
    with pytest.raises(RecordError, match=reason):
        read_labels(said, "command line")


# --- repeats and axes -------------------------------------------------------------------------


def test_repeats_become_mean_spread_and_count(tmp_path: Path) -> None:
    values = [20.0, 21.5, 24.0]
    files = in_files(tmp_path, {f"{us}.txt": latency(64, us) for us in values})
    [point] = ingest(files).points
    assert point.n == 3
    assert point.value == pytest.approx(sum(values) / 3 * 1e-6)
    assert point.std == pytest.approx(stdev(values) * 1e-6)


def test_one_run_has_no_spread(tmp_path: Path) -> None:
    [point] = ingest(in_files(tmp_path, {"one.txt": latency(64, 20)})).points
    assert (point.n, point.std) == (1, None)


def test_repeats_of_two_tools_are_kept_apart() -> None:
    names = ("iperf3/udp.json", "nuttcp/udp.txt")
    got = ingest([CASES / name for name in names])
    [axis] = [axis for axis in got.axes if axis.name == "tool"]
    at = [axis.name for axis in got.axes].index("tool")
    assert {point.options[at] for point in got.points if point.metric == "goodput_bps"} == {
        "iperf3",
        "nuttcp",
    }
    assert {point.options[at] for point in got.points if point.metric == "sent_bps"} == {""}
    assert axis.meaning


def test_pairs_of_hosts_are_kept_apart() -> None:
    got = ingest([CASES / "iperf3" / name for name in ("tcp.json", "tcp_reverse.json")])
    assert [axis.name for axis in got.axes] == ["hosts"]
    assert {point.options[0] for point in got.points} == {
        "10.77.0.1 to 10.77.0.2",
        "10.77.0.2 to 10.77.0.1",
    }


def test_an_axis_that_some_rows_lack_is_empty_by_default(tmp_path: Path) -> None:
    case = (CASES / "sockperf" / "ping_pong_udp.txt").read_text(encoding="utf-8")
    texts = {"kernel.txt": case, "vma.txt": " VMA INFO: VMA_VERSION: 8.6.10\n" + case}
    got = ingest(in_files(tmp_path, texts), labels=Labels(payload_bytes=64))
    assert [(axis.name, axis.default) for axis in got.axes] == [("stack", "")]
    assert {point.options for point in got.points} == {("",), ("vma",)}


def test_a_round_trip_and_half_a_round_trip_are_two_metrics(tmp_path: Path) -> None:
    [half] = in_files(tmp_path, {"half.txt": latency(64, 20)})
    kinds = {
        number.latency_kind
        for result in results(ingest([half, CASES / "netperf" / "udp_rr_cpu.txt"]))
        for number in result.numbers
        if number.latency_kind
    }
    assert kinds == {"rtt", "rtt/2"}


# --- the folder -------------------------------------------------------------------------------


def test_the_account_names_every_file_and_the_end_that_counted(tmp_path: Path) -> None:
    files = [CASES / "iperf3" / name for name in ("tcp.json", "unreachable.json")]
    write_ingested(ingest(files), tmp_path / "mine", ABOUT)
    account = json.loads((tmp_path / "mine" / "ingested.json").read_text())
    [taken], [refused] = account["files"], account["refused"]
    assert taken["sha256"] == read_source(files[0]).sha256
    assert {n["metric"]: n["side"] for n in taken["results"][0]["numbers"]} == {
        "goodput_bps": "receiver",
        "sent_bps": "sender",
        "cpu_send_process_cores": "sender",
        "cpu_recv_process_cores": "receiver",
    }
    assert refused["file"] == "unreachable.json"
    assert "unreachable.json" in (tmp_path / "mine" / "README.md").read_text()


def test_no_path_of_the_machine_is_written(tmp_path: Path) -> None:
    [file] = in_files(tmp_path, {"one.txt": latency(64, 20)})
    write_ingested(ingest([file]), tmp_path / "mine", ABOUT)
    for path in (tmp_path / "mine").iterdir():
        assert str(tmp_path) not in path.read_text()


def test_the_description_of_the_dataset_is_written(tmp_path: Path) -> None:
    link = Interconnect(kind="ethernet", line_rate_bps=100e9, mtu_bytes=9000)
    about = About("Mine", "CC0", "me, 2026", "corrected", link)
    write_ingested(ingest([CASES / "iperf3" / "tcp.json"], link=link), tmp_path / "mine", about)
    data = check_dataset(tmp_path / "mine")
    assert (data.title, data.licence, data.citation) == ("Mine", "CC0", "me, 2026")
    assert (data.interconnect.line_rate_bps, data.interconnect.mtu_bytes) == (100e9, 9000)


def test_an_unstated_link_is_a_known_limit(tmp_path: Path) -> None:
    write_ingested(ingest([CASES / "iperf3" / "tcp.json"]), tmp_path / "mine", ABOUT)
    limits = " ".join(check_dataset(tmp_path / "mine").known_limits)
    assert "ethernet is assumed" in limits
    assert "line rate is not stated" in limits


def test_perftest_names_its_link(tmp_path: Path) -> None:
    write_ingested(ingest([CASES / "perftest" / "write_bw_mib.txt"]), tmp_path / "ib", ABOUT)
    assert check_dataset(tmp_path / "ib").interconnect.kind == "infiniband"


def test_a_dataset_in_memory_is_the_one_that_is_written(tmp_path: Path) -> None:
    got = ingest([CASES / "iperf3" / name for name in ("tcp.json", "udp.json")])
    here = dataset_of(got, tmp_path / "mine", ABOUT)
    assert not (tmp_path / "mine").exists()
    write_ingested(got, tmp_path / "mine", ABOUT)
    written = check_dataset(tmp_path / "mine")
    assert (here.sha256, here.points, here.option_defaults) == (
        written.sha256,
        written.points,
        written.option_defaults,
    )


# --- the command ------------------------------------------------------------------------------


def test_the_command_writes_a_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case, folder = CASES / "sockperf" / "ping_pong_udp.txt", tmp_path / "mine"
    line = ["ingest", str(case), "--payload", "1 KiB", "--switches", "1", "-o", str(folder)]
    assert main([*line, "--option", "priority=high", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["dataset"], document["variant"], document["refused"]) == (
        "mine",
        "corrected",
        [],
    )
    data = check_dataset(folder)
    assert document["rows"] == len(data.points)
    assert {(p.payload_bytes, p.switches, p.options) for p in data.points} == {(1024, 1, ("high",))}


def test_the_readme_has_the_command_that_makes_the_folder_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(CASES / "sockperf" / "ping_pong_udp.txt", tmp_path / "a run.txt")
    folder = tmp_path / "mine"
    words = ["--payload", "1 KiB", "--option", "priority=high", "--option", "nagle=off"]
    assert main(["ingest", str(tmp_path / "a run.txt"), *words, "-o", str(folder)]) == 0
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    [command] = re.findall(r"^icmodel ingest .*$", first["README.md"].decode(), re.M)
    shutil.rmtree(folder)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
    capsys.readouterr()


def test_a_refused_file_is_named_and_the_exit_code_is_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(CASES / "iperf3" / name) for name in ("tcp.json", "unreachable.json")]
    assert main(["ingest", *files, "-o", str(tmp_path / "mine")]) == 2
    assert "unreachable.json: the run failed" in capsys.readouterr().out
    assert check_dataset(tmp_path / "mine").points


def test_without_a_result_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = str(CASES / "iperf3" / "unreachable.json")
    assert main(["ingest", case, "-o", str(tmp_path / "mine")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("icmodel: unreachable.json: the run failed")
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--default-variant", "best"], "variant"),
        (["--interconnect", "string"], "ethernet"),
        (["--mtu", "0 B"], "at least 1 B"),
        (["--tool", "iperf3", "--map", "columns.toml"], "both given"),
        (["--line-rate", "10"], "no unit"),
        (
            ["--tool", "ping"],
            "icmodel: the tool 'ping' is unknown: use one of imb, iperf2, iperf3",
        ),
        (["-o", "Bad Name"], "'Bad Name' cannot be the id of a dataset"),
    ],
)
def test_the_error_of_a_wrong_option_names_the_allowed_ones(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    reason: str,
) -> None:
    """Before any file is read; here no file exists."""
    monkeypatch.chdir(tmp_path)
    output = [] if "-o" in words else ["-o", "mine"]
    assert main(["ingest", "none.json", *output, *words]) == 2
    assert reason in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_no_file_of_another_folder_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "README.md").write_text("mine", encoding="utf-8")
    case = str(CASES / "iperf3" / "tcp.json")
    assert main(["ingest", case, "-o", str(tmp_path / "notes")]) == 2
    assert "notes is not empty and holds no ingested dataset" in capsys.readouterr().err
    assert [path.read_text("utf-8") for path in (tmp_path / "notes").iterdir()] == ["mine"]
    for _ in range(2):
        assert main(["ingest", case, "-o", str(tmp_path / "new")]) == 0
    capsys.readouterr()


def test_only_a_name_that_can_be_an_id_names_a_dataset(tmp_path: Path) -> None:
    got = ingest([CASES / "iperf3" / "tcp.json"])
    for name in ("a", "My_link-10g.v2", "9"):
        write_ingested(got, tmp_path / name, ABOUT)
        assert check_dataset(tmp_path / name).id == name
    for name in ("Bad Name", "-o", ".hidden", "µs", "a\n"):
        with pytest.raises(DatasetError, match="letters"):
            write_ingested(got, tmp_path / name, ABOUT)
    assert len(list(tmp_path.iterdir())) == 3


def test_unlimited_is_a_load() -> None:
    assert read_labels({"load": "unlimited"}, "command line").load_bps == math.inf


def test_labels_for_no_file_are_refused_by_their_patterns() -> None:
    file = CASES / "libzmq" / "remote_lat.txt"
    by_file = {"remote*.txt": Labels(), "l*.txtt": Labels(switches=3), "x.txt": Labels()}
    with pytest.raises(RecordError, match=r"'l\*\.txtt', 'x\.txt'"):
        ingest([file], by_file=by_file)


def test_one_row_is_printed_in_the_singular(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = CASES / "libzmq" / "remote_lat.txt"
    assert main(["ingest", str(file), "-o", str(tmp_path / "one")]) == 0
    assert ": 1 row from 1 file, " in capsys.readouterr().out

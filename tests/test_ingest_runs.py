"""Several runs in a file: each is read, named by its place, and labelled by its number."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import pytest

import checkout
from icmodel.cli import main
from icmodel.errors import RecordError
from icmodel.ingest import Labels, ingest
from icmodel.ingest.readers import runs_of
from icmodel.ingest.source import Source
from ingest_cases import CASES, in_files, results

FOUND = checkout.ROOT / "tests" / "cases" / "ingest_found"


def latency(size: int, us: float) -> str:
    return f"message size: {size} [B]\nroundtrip count: 10000\naverage latency: {us:.3f} [us]\n"


def test_a_run_begins_with_the_lines_that_lead_to_it() -> None:
    text = f"intro\n\n$ one\n{latency(64, 20)}\n## second\n$ two\n{latency(128, 21)}trailer\n"
    first, second = (run for _, run in runs_of(Source(Path("x"), b"", text), None))
    assert (first.first, first.run, first.place) == (1, 1, "run 1 at line 1")
    assert second.lines[:3] == ["", "## second", "$ two"]
    assert second.place == "run 2 at line 8"


@pytest.mark.parametrize(("between", "size"), [("", 4096), ("\n", 4096), ("# later\n", 1)])
def test_a_run_right_below_another_shares_its_command_line(
    between: str, size: int, tmp_path: Path
) -> None:
    text = (
        f"$ qperf -m 4K 192.0.2.2 tcp_bw tcp_lat\ntcp_bw:\n  bw = 1 GB/sec\n{between}"
        "tcp_lat:\n  latency = 9 us\n"
    )
    [file] = in_files(tmp_path, {"q.txt": text})
    assert [one.labels.payload_bytes for one in results(ingest([file]))] == [4096, size]


def test_runs_are_labelled_by_their_number(tmp_path: Path) -> None:
    text = (CASES / "netperf" / "tcp_stream.txt").read_text(encoding="utf-8")
    [file] = in_files(tmp_path, {"both.txt": f"# direct\n{text}\n# by a switch\n{text}"})
    labels = {"both.txt#1": Labels(switches=0), "both.txt#2": Labels(switches=1)}
    assert {point.switches for point in ingest([file], by_file=labels).points} == {0, 1}
    with pytest.raises(RecordError, match="match no file"):
        ingest([file], by_file={"other.txt#2": Labels(switches=1)})


def test_a_run_that_sums_both_directions_is_refused_and_the_others_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [
        (FOUND / name).read_text(encoding="utf-8")
        for name in ("perftest-post-list.txt", "perftest-bidirectional.log")
    ]
    [file] = in_files(tmp_path, {"both.txt": "\n".join(texts)})
    got = ingest([file])
    assert {point.metric for point in got.points} == {"goodput_bps", "frames_per_s"}
    [refused] = got.refused
    assert refused.reason.startswith("run 2 at line 24: line 26: ")
    assert "is the sum of both directions" in refused.reason
    assert main(["ingest", str(file), "-o", str(tmp_path / "made")]) == 2
    assert "both.txt: run 2 at line 24" in capsys.readouterr().out


def test_a_damaged_run_refuses_its_file(tmp_path: Path) -> None:
    texts = [
        (FOUND / name).read_text(encoding="utf-8")
        for name in ("perftest-post-list.txt", "perftest-cut-off.txt")
    ]
    [file] = in_files(tmp_path, {"both.txt": "\n".join(texts)})
    with pytest.raises(RecordError, match=r"run 2 at line .*does not have one number for each"):
        ingest([file])


def test_both_ends_of_a_run_in_one_log_count_once(tmp_path: Path) -> None:
    client, server = (
        (CASES / "iperf3" / f"{name}.json").read_text(encoding="utf-8").split("\n")
        for name in ("client_of_server", "server_of_tcp")
    )
    lines = [
        f"{end}-1  | {line}"
        for end, some in (("client", client), ("server", server))
        for line in some
    ]
    halves = len(client)
    mixed = [line for pair in zip_longest(lines[:halves], lines[halves:]) for line in pair if line]
    [file] = in_files(tmp_path, {"compose.log": "\n".join(mixed)})
    got = ingest([file])
    assert {point.n for point in got.points} == {1}
    assert {point.metric for point in got.points} >= {"goodput_bps", "sent_bps"}


def test_runs_too_different_for_one_default_size_are_refused(tmp_path: Path) -> None:
    text = (FOUND / "sockperf-default-size.txt").read_text(encoding="utf-8")
    slow = text.replace("20.000", "90.000").replace("310.000", "910.000")
    files = in_files(tmp_path, {"a.txt": text, "b.txt": slow})
    with pytest.raises(
        RecordError,
        match="payload_bytes would be assumed for 2 runs, but the repeats of rtt_half_mean_s",
    ):
        ingest(files)
    labels = {"a.txt": Labels(payload_bytes=64), "b.txt": Labels(payload_bytes=9000)}
    assert len(results(ingest(files, by_file=labels))) == 2


def test_ten_times_as_many_runs_are_read_in_turn(tmp_path: Path) -> None:
    sizes = [16 * (k + 1) for k in range(300)]
    text = "".join(f"# {size} B\n\n{latency(size, 20 + size / 1000)}\n" for size in sizes)
    [file] = in_files(tmp_path, {"many.txt": text})
    assert [result.labels.payload_bytes for result in results(ingest([file]))] == sizes

"""Cut files: what is read of a file that was cut off is what the whole file says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from icmodel.errors import RecordError
from icmodel.ingest import Labels, ingest
from icmodel.ingest.result import Result
from ingest_cases import CASES, in_files, results
from search import times
from test_ingest_disguises import SAMPLES, labels

MISSING = ("is missing", "may be cut off")
"""Words of the notes on a run whose end the file lacks."""
LIKE_A_WHOLE_RUN = {
    "iperf2/tcp_i.txt": "the first interval",
    "iperf2/tcp_csv_i.txt": "the first interval",
    "iperf2/tcp_csv_i_server.txt": "the first interval",
    "iperf2/udp_intervals.txt": "the first interval",
    "iperf2/udp_intervals_server.txt": "the first interval",
    "iperf2/tcp_P2_csv.txt": "the first of two streams",
    "iperf2/udp_csv_2.txt": "the first of two streams",
    "iperf2/udp_csv_2_server.txt": "the first of two streams",
}
"""Files whose beginning, cut at one line end, is what the tool prints for another run, and why."""


def results_of(body: bytes, name: str, folder: Path) -> list[Result]:
    """The results of a body; none if it is refused."""
    file = folder / Path(name).name
    file.write_bytes(body)
    try:
        return results(ingest([file], labels=labels(name)))
    except RecordError:
        return []


def says_less(result: Result, whole: Result) -> bool:
    """Whether a result says nothing else than another one; if it says less, a note must say so."""
    conditions = [
        replace(one.labels, host_cores=None) for one in (result, whole)
    ]  # of CPU that is not used
    fewer = set(result.numbers) < set(whole.numbers)
    return (
        conditions[0] == conditions[1]
        and (result.streams, result.hosts, result.assumed)
        == (whole.streams, whole.hosts, whole.assumed)
        and (
            set(result.numbers) == set(whole.numbers)
            or (fewer and any(word in note for note in result.notes for word in MISSING))
        )
    )


def wrong_cuts(name: str, cuts: list[int], folder: Path) -> Iterator[str]:
    """Cuts after which a file says something else; none of a file that is refused as a whole."""
    body = (CASES / name).read_bytes()
    whole = results_of(body, name, folder)
    for at in cuts if whole else ():
        for result in results_of(body[:at], name, folder):
            if not any(says_less(result, one) for one in whole):
                yield f"{at}: …{body[:at].decode(errors='replace')[-40:]!r}"


def inside_lines(name: str) -> list[int]:
    """All places to cut a file but those in its last line end, and those that leave another whole run."""
    body = (CASES / name).read_bytes()
    places = range(1, len(body.rstrip()) + 1)
    if name in LIKE_A_WHOLE_RUN:
        return [at for at in places if b"\n" not in body[at - 1 : at + 1]]
    return list(places)


@pytest.mark.sampled
@pytest.mark.parametrize("name", SAMPLES)
def test_a_cut_file_is_refused_or_read_as_the_whole_file(name: str, tmp_path: Path) -> None:
    """Half of the sample lies in the last sixth of the file, where the numbers are."""
    places = inside_lines(name)
    rng = random.Random(name)
    last = places[-max(len(places) // 6, 60) :]
    cuts = {
        *rng.sample(places, min(times(6), len(places))),
        *rng.sample(last, min(times(6), len(last))),
    }
    assert list(wrong_cuts(name, sorted(cuts), tmp_path)) == []


@pytest.mark.long
@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_cut_anywhere_is_refused_or_read_as_the_whole_file(
    name: str, tmp_path: Path
) -> None:
    assert list(wrong_cuts(name, inside_lines(name), tmp_path)) == []


CUT = {
    "netperf/tcp_stream.txt": 377,
    "netperf/tcp_stream_mbytes.txt": 350,
    "netperf/omni_rr_keys.txt": 409,
    "nuttcp/udp.txt": 64,
    "nuttcp/tcp_parse.txt": 76,
    "sockperf/ping_pong_udp.txt": 1199,
    "qperf/exact.txt": 430,
    "qperf/sizes.txt": 54,
    "iperf2/tcp_P2.txt": 494,
    "iperf2/udp_csv_server.txt": 72,
    "ntttcp/readme_1.3.4.txt": 600,
    "perftest/superbench_8M.log": 858,
}
"""A file of each kind, and the bytes after which a number or a line of it is cut."""


@pytest.mark.parametrize("name", CUT)
def test_a_file_cut_in_its_last_number_or_block_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "cut.txt"
    file.write_bytes((CASES / name).read_bytes()[: CUT[name]])
    with pytest.raises(RecordError, match=r"cut off|digit was lost"):
        ingest([file])


def test_a_server_below_the_table_of_a_client_does_not_make_it_the_servers(tmp_path: Path) -> None:
    body = (CASES / "perftest/superbench_8M.log").read_bytes()
    [result] = results_of(body[:1000], "perftest/superbench_8M.log", tmp_path)
    assert {number.side for number in result.numbers} == {"sender"}


def test_full_duplex_of_iperf2_needs_both_directions(tmp_path: Path) -> None:
    lines = (CASES / "iperf2/full.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    file = tmp_path / "cut.txt"
    file.write_text("".join(lines[:7]), encoding="utf-8")
    with pytest.raises(RecordError, match="one direction of --full-duplex has no line"):
        ingest([file], labels=Labels(payload_bytes=131072))


def test_a_key_of_omni_cut_within_its_name_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cut.txt"
    file.write_text(
        "MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to host-b () port 0 AF_INET\n"
        "THROUGHPUT=916.25\nTHROUGHPUT_UNITS=10^6bits/s\nLOCAL_SEND_SIZE=1460\nLOCAL_CPU_UT"
    )
    with pytest.raises(RecordError, match="line 5: 'LOCAL_CPU_UT' has no line end"):
        ingest([file])


@pytest.mark.parametrize("cut", ["Buffers", "Packets Sent", "250\n"])
def test_totals_of_ntttcp_for_windows_are_refused_if_cut(cut: str, tmp_path: Path) -> None:
    """All four tables are needed: the size of a write follows from the second, the sender from the last."""
    found = CASES.parent / "ingest_found" / "ntttcp-windows-receiver.txt"
    text = found.read_text(encoding="utf-8")
    [file] = in_files(tmp_path, {"cut.txt": text[: text.rindex(cut)]})
    with pytest.raises(RecordError, match="cut off"):
        ingest([file])


def test_a_file_cut_in_the_head_of_its_next_run_has_a_note(tmp_path: Path) -> None:
    text = (CASES / "qperf/plain_1448.txt").read_text(encoding="utf-8")
    files = in_files(tmp_path, {"cut.txt": text[:34], "whole.txt": text})
    for file, has_note in zip(files, (True, False), strict=True):
        got = ingest([file], labels=labels("qperf/plain_1448.txt"))
        assert any("its last line has no line end" in note for note in got.notes) is has_note

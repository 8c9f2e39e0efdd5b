"""Each reader: the numbers of its cases in SI, the end that counted them, and the traps of its tool."""

from __future__ import annotations

import csv
import json
import math
import re
import tempfile
import textwrap
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icmodel.dataset.rows import read_points
from icmodel.dataset.write import points_csv
from icmodel.errors import RecordError
from icmodel.ingest import Labels, ingest
from icmodel.ingest.readers import READERS, runs_of
from icmodel.ingest.result import Hosts, Number
from icmodel.ingest.source import Source, documents, read_source, shifted
from ingest_cases import CASES, numbers, read, results, sides
from search import times

MEBI = 2**20


def json_of(name: str) -> dict[str, dict[str, dict[str, float]]]:
    document: dict[str, dict[str, dict[str, float]]] = json.loads((CASES / name).read_text())
    return document


def changed(tmp_path: Path, name: str, change: Callable[[str], str]) -> Path:
    """Copy of a case with a changed text."""
    file = tmp_path / Path(name).name
    file.write_text(change((CASES / name).read_text(encoding="utf-8")), encoding="utf-8")
    return file


# --- iperf3 -----------------------------------------------------------------------------------


def test_iperf3_tcp_is_counted_at_each_end() -> None:
    got = read("iperf3/tcp.json")
    end = json_of("iperf3/tcp.json")["end"]
    received, cpu = end["sum_received"], end["cpu_utilization_percent"]
    values = numbers(got, protocol="tcp", payload_bytes=1448, load_bps=math.inf, cores=1)
    assert values["goodput_bps"] == 8 * received["bytes"] / received["seconds"]
    assert values["cpu_send_process_cores"] == pytest.approx(cpu["host_total"] / 100)
    assert values["cpu_recv_process_cores"] == pytest.approx(cpu["remote_total"] / 100)
    assert sides(got)["goodput_bps"] == "receiver"
    assert sides(got)["sent_bps"] == "sender"


def test_iperf3_cpu_is_of_the_process() -> None:
    [result] = results(read("iperf3/tcp.json"))
    scopes = {number.metric: number.cpu_scope for number in result.numbers}
    assert scopes["cpu_send_process_cores"] == "process"


def test_iperf3_in_reverse_the_client_receives() -> None:
    got = read("iperf3/tcp_reverse.json")
    cpu = json_of("iperf3/tcp_reverse.json")["end"]["cpu_utilization_percent"]
    assert numbers(got)["cpu_recv_process_cores"] == pytest.approx(cpu["host_total"] / 100)
    [result] = results(got)
    assert result.hosts == ("10.77.0.2", "10.77.0.1")


def test_iperf3_a_server_knows_no_cpu_of_its_client() -> None:
    values = numbers(read("iperf3/server_of_tcp.json"))
    assert set(values) == {"goodput_bps", "cpu_recv_process_cores"}


def test_iperf3_both_ends_reports_of_a_run_count_once() -> None:
    got = ingest([CASES / "iperf3" / n for n in ("server_of_tcp.json", "client_of_server.json")])
    assert [file.file for file in got.taken] == ["client_of_server.json"]
    assert "same run as client_of_server.json" in got.refused[0].reason
    assert all(point.n == 1 for point in got.points)


def test_iperf3_loss_excludes_the_tail_and_its_range_includes_it() -> None:
    got = read("iperf3/udp_overrun.json")
    end = json_of("iperf3/udp_overrun.json")["end"]
    sent, counted = end["sum_sent"]["packets"], end["sum_received"]
    assert counted["packets"] < sent  # losses at the end, which leave no gap
    [loss] = [point for point in got.points if point.metric == "loss_rate"]
    assert loss.value == counted["lost_packets"] / counted["packets"] == loss.low
    assert loss.high == 1 - (counted["packets"] - counted["lost_packets"]) / sent


def test_iperf3_old_udp_has_goodput_from_packets() -> None:
    got = read("iperf3/old_udp_tail_lost.json")
    [goodput] = [point for point in got.points if point.metric == "goodput_bps"]
    assert (goodput.value, goodput.basis) == (8.0 * 1000 * (990 - 90), "derived")
    [loss] = [point for point in got.points if point.metric == "loss_rate"]
    assert loss.low == 90 / 990
    assert loss.high == pytest.approx(0.1)
    assert numbers(got)["sent_bps"] == 8e6


def test_iperf3_a_paced_run_has_its_load() -> None:
    assert {point.load_bps for point in read("iperf3/udp_overrun.json").points} == {math.inf}
    [load] = {point.load_bps for point in read("iperf3/udp.json").points}
    assert load == 20e6


def test_iperf3_parallel_streams_have_an_axis() -> None:
    got = read("iperf3/tcp_two_streams_omit.json")
    assert [(axis.name, axis.default) for axis in got.axes] == [("streams", "2")]
    assert {point.cores for point in got.points} == {None}
    assert any("own clock" in note for note in got.notes)


def test_iperf3_stream_is_the_same_run() -> None:
    assert numbers(read("iperf3/stream.jsonl")) == numbers(read("iperf3/tcp.json"))


def test_iperf3_warnings_and_escapes_before_the_brace_do_not_matter(tmp_path: Path) -> None:
    def noisy(text: str) -> str:
        return "warning: this is old\r\n\x1b[2;35m" + text.replace("\n", "\r\n")

    file = changed(tmp_path, "iperf3/tcp.json", noisy)
    assert numbers(ingest([file])) == numbers(read("iperf3/tcp.json"))


def test_iperf3_json_printed_twice_counts_once(tmp_path: Path) -> None:
    file = changed(tmp_path, "iperf3/tcp.json", lambda text: text + "\n" + text)
    assert {point.n for point in ingest([file]).points} == {1}


IPERF3_REFUSED = {
    "unreachable.json": "unable to connect to server",
    "no_end_no_error.json": "ended before it measured",
    "stream_cut.jsonl": "but no end event",
    "text.txt": "run iperf3 with -J",
    "old_udp_counter_overflow.json": "overflowed",
    "old_udp_impossible_cpu.json": "threads for",
}


@pytest.mark.parametrize("name", IPERF3_REFUSED)
def test_iperf3_refuses(name: str) -> None:
    with pytest.raises(RecordError, match=IPERF3_REFUSED[name]):
        read(f"iperf3/{name}")


def test_iperf3_cut_json_is_refused(tmp_path: Path) -> None:
    file = changed(tmp_path, "iperf3/tcp.json", lambda text: text[: len(text) // 2])
    with pytest.raises(RecordError, match="cut off"):
        ingest([file])


# --- nuttcp -----------------------------------------------------------------------------------


def test_nuttcp_mb_are_mebibytes_and_mbps_are_10_6() -> None:
    values = numbers(read("nuttcp/tcp.txt", payload_bytes=1448), load_bps=math.inf)
    assert values["goodput_bps"] == 2232.0676e6
    assert values["goodput_bps"] == pytest.approx(532.5368 * MEBI * 8 / 2.0, rel=2e-3)
    assert (values["cpu_send_process_cores"], values["cpu_recv_process_cores"]) == (0.41, 0.26)


def test_nuttcp_cpu_is_in_whole_per_cent() -> None:
    got = read("nuttcp/tcp.txt", payload_bytes=1448)
    [cpu] = [point for point in got.points if point.metric == "cpu_send_process_cores"]
    assert (cpu.low, cpu.high) == (0.405, 0.415)


def test_nuttcp_spinning_sender_of_udp_gives_no_cpu_and_datagrams_their_size() -> None:
    got = read("nuttcp/udp.txt")
    assert set(numbers(got, payload_bytes=1000)) == {
        "goodput_bps",
        "loss_rate",
        "cpu_recv_process_cores",
    }
    assert any("spins" in note for note in got.notes)


def test_nuttcp_a_rate_limit_of_tcp_is_a_label_or_in_the_command(tmp_path: Path) -> None:
    got = read("nuttcp/tcp.txt", payload_bytes=1448, load_bps=2e9)
    assert {point.load_bps for point in got.points} == {2e9}
    file = changed(tmp_path, "nuttcp/tcp.txt", lambda text: f"$ nuttcp -R2g -l1448 b\n{text}")
    got = ingest([file])
    assert {(point.load_bps, point.payload_bytes) for point in got.points} == {(2e9, 1448)}
    assert "cpu_send_process_cores" not in numbers(got)  # it spins


def test_nuttcp_a_size_that_several_whole_numbers_explain_is_not_guessed() -> None:
    with pytest.raises(RecordError, match="does not state its payload_bytes"):
        read("nuttcp/udp_parse_slow.txt")
    assert numbers(read("nuttcp/udp_parse_slow.txt", payload_bytes=8000))["goodput_bps"] == 1.0012e6


def test_nuttcp_only_the_last_line_of_intervals_is_the_result() -> None:
    values = numbers(read("nuttcp/tcp_intervals.txt", payload_bytes=65536))
    assert values["goodput_bps"] == 9107.4175e6


def test_nuttcp_parse_form() -> None:
    values = numbers(read("nuttcp/tcp_parse.txt", payload_bytes=8000))
    assert (values["goodput_bps"], values["cpu_send_process_cores"]) == (9941.1674e6, 0.52)


def test_nuttcp_old_style_is_refused() -> None:
    with pytest.raises(RecordError, match="ends a run of nuttcp"):
        read("nuttcp/verbose_reverse.txt")


# --- sockperf ---------------------------------------------------------------------------------


def test_sockperf_latency_is_half_a_round_trip() -> None:
    got = read("sockperf/ping_pong_udp.txt", payload_bytes=1024)
    values = numbers(got, protocol="udp", load_bps=None)
    assert values["rtt_half_mean_s"] == 7.588e-06
    assert values["rtt_half_p99_s"] == 14.626e-06
    assert values["rtt_half_max_s"] == 2484.885e-06
    assert {n.latency_kind for result in results(got) for n in result.numbers} == {"rtt/2"}


def test_sockperf_full_rtt_is_the_whole() -> None:
    values = numbers(read("sockperf/full_rtt_tcp.txt", payload_bytes=64))
    assert values["rtt_mean_s"] == 17.844e-06
    assert not any(name.startswith("rtt_half") for name in values)


def test_sockperf_full_log_has_size_and_pace() -> None:
    got = read("sockperf/full_log_tcp.csv", protocol="tcp")
    values = numbers(got, payload_bytes=1024, load_bps=5000 * 1024 * 8)
    assert values["rtt_half_mean_s"] == 61.682e-06


def test_sockperf_few_observations_give_no_far_quantile() -> None:
    got = read("sockperf/under_load_tcp.txt", payload_bytes=1024)
    assert "rtt_half_p99_s" in numbers(got)
    assert "rtt_half_p999_s" not in numbers(got)  # 275 observations
    assert any("275 observations" in note for note in got.notes)


def test_sockperf_one_observation_is_refused(tmp_path: Path) -> None:
    file = changed(
        tmp_path,
        "sockperf/ping_pong_udp.txt",
        lambda text: text.replace("Total 35910 obs", "Total 1 obs").replace("0.548", "0.000"),
    )
    with pytest.raises(RecordError, match="1 observation"):
        ingest([file])


def test_sockperf_throughput_is_the_senders_in_mebibytes() -> None:
    got = read("sockperf/throughput_tcp.txt")
    assert numbers(got, payload_bytes=1024, load_bps=math.inf) == {"sent_bps": 397038 * 1024 * 8.0}
    assert pytest.approx(397038 * 1024 * 8, rel=1e-5) == 387.732 * MEBI * 8
    assert sides(got)["sent_bps"] == "sender"


def test_sockperf_paced_throughput_has_its_load() -> None:
    [point] = read("sockperf/throughput_paced_udp.txt").points
    assert (point.load_bps, point.value) == (81.92e6, 81.92e6)


def test_sockperf_wrong_bandwidth_is_refused(tmp_path: Path) -> None:
    file = changed(
        tmp_path, "sockperf/throughput_tcp.txt", lambda text: text.replace("387.732", "406.567")
    )
    with pytest.raises(RecordError, match=r"are 3\.25254 Gb/s"):
        ingest([file])


# --- netperf ----------------------------------------------------------------------------------


def test_netperf_mbytes_are_mebibytes() -> None:
    [point] = read("netperf/tcp_stream_mbytes.txt").points
    assert (point.payload_bytes, point.value) == (4096, 100.0 * MEBI * 8)


def test_netperf_cpu_is_a_share_of_the_host() -> None:
    got = read("netperf/tcp_stream_cpu.txt")
    assert set(numbers(got)) == {"goodput_bps"}
    assert any("host_cores=N" in note for note in got.notes)
    values = numbers(read("netperf/tcp_stream_cpu.txt", host_cores=8))
    assert (values["cpu_send_cores"], values["cpu_recv_cores"]) == (0.26, 0.52)
    assert values["goodput_bps"] == 941.25e6


def test_netperf_maerts_sends_in_reverse_and_minus_one_is_not_measured() -> None:
    got = read("netperf/tcp_maerts_cpu.txt", host_cores=8)
    assert set(numbers(got)) == {"goodput_bps", "cpu_recv_cores"}
    assert sides(got)["goodput_bps"] == "receiver"
    assert results(got)[0].hosts.sender == "192.0.2.2"


def test_netperf_udp_has_a_line_of_each_end() -> None:
    values = numbers(read("netperf/udp_stream.txt"), payload_bytes=1472)
    assert values == {"sent_bps": 942.08e6, "goodput_bps": 706.56e6, "loss_rate": 0.25}


def test_netperf_request_response_is_a_round_trip() -> None:
    values = numbers(read("netperf/udp_rr_cpu.txt", host_cores=4), payload_bytes=64)
    assert (values["frames_per_s"], values["rtt_mean_s"]) == (20000.0, 50e-6)
    assert (values["cpu_send_cores"], values["cpu_recv_cores"]) == (0.5, 1.0)


def test_netperf_with_a_burst_one_over_the_rate_is_no_round_trip() -> None:
    assert set(numbers(read("netperf/tcp_rr_burst.txt"))) == {"frames_per_s"}


def test_netperf_omni_of_endless_cells_is_one_sentence(tmp_path: Path) -> None:
    def endless(text: str) -> str:
        return text.rstrip("\n") + "9" * (csv.field_size_limit() + 1) + "\n"

    with pytest.raises(RecordError, match="omni is not CSV"):
        ingest([changed(tmp_path, "netperf/omni_rr.csv", endless)])


def test_netperf_omni_csv() -> None:
    got = read("netperf/omni_rr.csv")
    values = numbers(got, protocol="udp", payload_bytes=64)
    assert values["rtt_p99_s"] == 700e-6
    assert values["rtt_std_s"] == 80.5e-6
    assert not any(name.startswith("cpu") for name in values)
    assert {point.n for point in got.points} == {4}


def test_netperf_requests_and_responses_of_two_sizes_are_refused(tmp_path: Path) -> None:
    def asymmetric(text: str) -> str:
        return text.replace(",Local CPU", ",Response Size Bytes,Local CPU").replace(
            ",64,-1", ",64,1024,-1"
        )

    file = changed(tmp_path, "netperf/omni_rr.csv", asymmetric)
    with pytest.raises(RecordError, match="differ in size"):
        ingest([file])


def test_netperf_latency_of_a_stream_is_the_send_call_and_not_taken() -> None:
    got = read("netperf/omni_keys.txt")
    assert numbers(got, protocol="tcp") == {"goodput_bps": 916.25e6}
    assert numbers(got, protocol="udp") == {"sent_bps": 936.77e6}
    assert any("send call" in note for note in got.notes)


def test_netperf_confidence_not_reached_is_noted() -> None:
    got = read("netperf/not_confident.txt")
    [number] = results(got)[0].numbers
    assert number.quality == "confidence not reached"
    assert any("6.8 %" in note for note in got.notes)


NETPERF_REFUSED = {
    "udp_stream_failed.txt": "Message too long",
    "udp_stream_nothing_arrived.txt": "messages arrived",
    "tcp_crr.txt": "opens a connection",
    "streams_at_once.json": "not repeats",
}


@pytest.mark.parametrize("name", NETPERF_REFUSED)
def test_netperf_refuses(name: str) -> None:
    with pytest.raises(RecordError, match=NETPERF_REFUSED[name]):
        read(f"netperf/{name}", payload_bytes=None)


# --- perftest ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "off"), [("write_bw_mib.txt", 1e-9), ("write_bw_gb.txt", 1e-3)])
def test_perftest_the_head_has_the_unit(name: str, off: float) -> None:
    got = read(f"perftest/{name}")
    assert len(got.points) == 4  # both ends print the second row
    values = numbers(got, protocol="rdma-write", payload_bytes=4096)
    assert values["goodput_bps"] == pytest.approx(3906.25 * MEBI * 8, rel=off)
    assert values["frames_per_s"] == 1e6


def test_perftest_cpu_is_of_user_time_alone_and_not_taken(tmp_path: Path) -> None:
    def with_cpu(text: str) -> str:
        text = text.replace("MsgRate[Mpps]", "MsgRate[Mpps]   CPU_Util[%]")
        return re.sub(r"([01]\.[0-9]{6})$", r"\1   12.34", text, flags=re.M)

    got = ingest([changed(tmp_path, "perftest/write_bw_mib.txt", with_cpu)])
    assert {point.metric for point in got.points} == {"goodput_bps", "frames_per_s"}
    assert any("CPU_Util" in note for note in got.notes)


def test_perftest_a_wrong_head_is_refused() -> None:
    with pytest.raises(RecordError, match="a number or a unit was changed"):
        read("perftest/write_bw_wrong_head.txt")


def test_perftest_a_read_is_a_whole_round_trip_and_a_write_half_of_one() -> None:
    whole, half = numbers(read("perftest/read_lat.txt")), numbers(read("perftest/write_lat.txt"))
    assert (whole["rtt_mean_s"], half["rtt_half_mean_s"]) == (1.8e-6, 1.8e-6)
    assert (half["rtt_half_p50_s"], half["rtt_half_p999_s"]) == (1.79e-6, 6.12e-6)


def test_perftest_the_second_largest_is_no_maximum_and_whole_microseconds_no_spread() -> None:
    values = numbers(read("perftest/write_lat.txt"))
    assert not any(name.endswith(("max_s", "std_s")) for name in values)


def test_perftest_old_json_is_refused() -> None:
    with pytest.raises(RecordError, match="before 2024"):
        read("perftest/old_out_json.txt")


# --- libzmq, zperfmq --------------------------------------------------------------------------


def test_libzmq_rates_are_of_one_message_less() -> None:
    values = numbers(read("libzmq/local_thr.txt"), protocol="zeromq", payload_bytes=1024)
    assert values["frames_per_s"] == pytest.approx(500000 * 999 / 1000)
    assert values["goodput_bps"] == pytest.approx(4096e6 * 999 / 1000)


@pytest.mark.parametrize("name", ["remote_lat.txt", "remote_lat_micro_sign.txt"])
def test_libzmq_latency_is_half_a_round_trip(name: str) -> None:
    assert numbers(read(f"libzmq/{name}")) == {"rtt_half_mean_s": 25.869e-6}


@pytest.mark.parametrize(
    ("name", "reason"),
    [("netmq_table.txt", "NetMQ"), ("local_thr_megabytes.txt", "not the printed 512 Mb/s")],
)
def test_libzmq_refuses(name: str, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        read(f"libzmq/{name}")


def test_zperfmq_round_trips_and_flows() -> None:
    assert numbers(read("zperfmq/yodel.json")) == {"rtt_half_mean_s": 25e-6}
    values = numbers(read("zperfmq/send_recv.json"), payload_bytes=1000)
    assert values["goodput_bps"] == 8e6 / 16e-3
    assert values["sent_bps"] == 8e6 / 10e-3
    assert values["cpu_send_process_cores"] == values["cpu_recv_process_cores"] == 0.5


def test_zperfmq_notes_that_no_output_was_available() -> None:
    assert any("no output of zperfmq was seen" in note for note in read("zperfmq/yodel.json").notes)


def test_zperfmq_without_its_plan_is_refused() -> None:
    with pytest.raises(RecordError, match="plan"):
        read("zperfmq/without_plan.json")


# --- qperf, NTttcp ----------------------------------------------------------------------------


def test_qperf_three_digits_leave_a_range() -> None:
    got = read("qperf/verbose.txt")
    [point] = [p for p in got.points if (p.protocol, p.metric) == ("tcp", "goodput_bps")]
    assert (point.payload_bytes, point.value) == (1024, 211e6 * 8)
    assert (point.low, point.high) == (210.5e6 * 8, 211.5e6 * 8)


def test_qperf_latency_is_half_a_round_trip_and_cpu_of_the_host_in_cores() -> None:
    values = numbers(read("qperf/verbose.txt"), protocol="tcp", load_bps=None)
    assert values == {"rtt_half_mean_s": 25.2e-6, "cpu_send_cores": 2.0, "cpu_recv_cores": 2.0}


def test_qperf_udp_is_counted_at_each_end() -> None:
    values = numbers(read("qperf/verbose.txt"), protocol="udp", load_bps=math.inf)
    assert (values["sent_bps"], values["goodput_bps"]) == (142e6 * 8, 55e6 * 8)
    assert values["loss_rate"] == pytest.approx(1 - 53719 / 138347)


def test_qperf_unified_units() -> None:
    values = numbers(read("qperf/unified.txt", payload_bytes=65536), load_bps=math.inf)
    assert values["goodput_bps"] == 2840985600 * 8.0


def test_qperf_a_test_of_another_payload_than_the_label_is_not_taken() -> None:
    got = read("qperf/two_payloads.txt", payload_bytes=65536)
    assert {point.payload_bytes for point in got.points} == {65536}
    assert numbers(got) == {"goodput_bps": 1.02e9 * 8, "frames_per_s": 15.6e3}
    [said] = [note for note in got.notes if "not used" in note]
    assert said.startswith(
        "qperf: two_payloads.txt: not used: run 2 at line 8: tcp_lat says loc_send_bytes 25 KB for "
        "loc_send_msgs 25,000, so payload_bytes is 1, but the label of all files says 65536: "
    )


def test_qperf_a_label_within_the_digits_of_bytes_a_message_holds() -> None:
    for payload_bytes in (65440, 65760):
        assert "goodput_bps" in numbers(read("qperf/two_payloads.txt", payload_bytes=payload_bytes))
    for payload_bytes in (65439, 65761, 64):
        with pytest.raises(
            RecordError, match=r"run 1 at line 1: .* 65440 to 65760, but the label of all files"
        ):
            read("qperf/two_payloads.txt", payload_bytes=payload_bytes)


def test_qperf_bytes_a_message_are_the_payload_where_they_are_a_single_one(tmp_path: Path) -> None:
    file = changed(tmp_path, "qperf/two_payloads.txt", lambda text: text[text.index("tcp_lat") :])
    got = ingest([file])
    assert numbers(got, payload_bytes=1) == {"rtt_half_mean_s": 40e-6}
    assert not any("assumed" in note for note in got.notes)
    with pytest.raises(
        RecordError, match=r"so payload_bytes is 1, but the label of the file says 2:"
    ):
        ingest([file], by_file={"two_*": Labels(payload_bytes=2)})


def test_qperf_takes_the_default_size_where_its_bytes_allow_it(tmp_path: Path) -> None:
    got = read("qperf/two_payloads.txt")
    assert numbers(got, payload_bytes=65536)["goodput_bps"] == 1.02e9 * 8
    assert any("payload_bytes 65536 is assumed, the default of qperf" in n for n in got.notes)
    assert any(p.source.endswith("payload_bytes assumed") for p in got.points)
    other = changed(tmp_path, "qperf/two_payloads.txt", lambda t: t.replace("2.05 GB", "1.05 GB"))
    with pytest.raises(
        RecordError, match="run 1 at line 1: the result does not state its payload_bytes"
    ):
        ingest([other])


def test_qperf_tests_of_two_payloads_with_the_same_latency_are_two_results(tmp_path: Path) -> None:
    def doubled(text: str) -> str:
        lat = text[text.index("tcp_lat") :]
        return lat + lat.replace("25 KB", "50 KB")

    got = ingest([changed(tmp_path, "qperf/two_payloads.txt", doubled)])
    assert [point.payload_bytes for point in got.points] == [1, 2]


@pytest.mark.parametrize(
    ("size", "count", "payload_bytes"),
    [
        ("64 KiB (65,536)", "64", 1024),
        ("148 KB", "0.148 million", 1),
        ("3000000 bytes", "1500000", 2),
        ("1.5 TB", "1.5 trillion", 1),
    ],
)
def test_qperf_spellings_of_sizes_and_counts(
    size: str, count: str, payload_bytes: int, tmp_path: Path
) -> None:
    file = tmp_path / "q.txt"
    lines = [
        f"    {end}_send_{what}\n"
        for end in ("loc", "rem")
        for what in (f"bytes = {size}", f"msgs = {count}")
    ]
    file.write_text(f"tcp_lat:\n    latency = 40 us\n{''.join(lines)}")
    assert numbers(ingest([file]), payload_bytes=payload_bytes) == {"rtt_half_mean_s": 40e-6}


def test_qperf_bytes_a_message_that_contradict_its_message_size_are_refused(
    tmp_path: Path,
) -> None:
    def mixed(text: str) -> str:
        return text.replace("1 KiB (1,024)", "2 KiB (2,048)", 1)

    with pytest.raises(RecordError, match=r"run 1 at line 1: tcp_bw says .* msg_size is 2048"):
        ingest([changed(tmp_path, "qperf/verbose.txt", mixed)])


def test_ntttcp_windows_mb_are_mebibytes_and_linux_mb_are_not() -> None:
    windows = numbers(read("ntttcp/windows_receiver.xml"), payload_bytes=65536)
    assert windows["goodput_bps"] == 838.861e6
    assert windows["cpu_recv_cores"] == 1.0
    linux = numbers(read("ntttcp/linux_udp_sender.xml", payload_bytes=1400))
    assert linux["sent_bps"] == 800e6
    assert linux["cpu_send_cores"] == pytest.approx(0.56)  # user, system and softirq of 16 cores


def test_ntttcp_the_sender_of_udp_has_no_goodput() -> None:
    assert "goodput_bps" not in numbers(read("ntttcp/linux_udp_sender.xml", payload_bytes=1400))


def test_ntttcp_a_rate_unlike_bytes_over_seconds_is_refused() -> None:
    with pytest.raises(RecordError, match=r"838\.861 Mb/s"):
        read("ntttcp/windows_receiver_wrong_unit.xml")


def test_ntttcp_console() -> None:
    got = read("ntttcp/console.txt", payload_bytes=65536)
    assert numbers(got) == {"sent_bps": 10e9, "cpu_send_cores": 2.0}
    assert {point.options for point in got.points} == {("64",)}


def test_ntttcp_knows_its_cores_better_than_the_label_of_all_files() -> None:
    """The host of this file has 16 cores; hosts of other files may have the labelled number."""
    name = "ntttcp/linux_udp_sender.xml"
    alone, wrong, right = (
        read(name, payload_bytes=1400, **said)  # type: ignore[arg-type]
        for said in ({}, {"host_cores": 4}, {"host_cores": 16})
    )
    assert numbers(wrong) == numbers(alone) == numbers(right)
    said = [note for note in wrong.notes if "in place of the 4 given for all files" in note]
    assert len(said) == 1
    assert not [note for note in (*alone.notes, *right.notes) if "that holds" in note]


def test_ntttcp_entities_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "bomb.xml"
    file.write_text('<!DOCTYPE a [<!ENTITY b "c">]><ntttcps>&b;</ntttcps>')
    with pytest.raises(RecordError, match="entities"):
        ingest([file])


# --- all --------------------------------------------------------------------------------------

TEXTS = sorted(
    path
    for path in CASES.rglob("*")
    if path.is_file() and path.parent.name not in ("table", "ingest")
)


# --- OSU micro-benchmarks ---------------------------------------------------------------------


def test_osu_latency_is_half_a_round_trip_and_an_empty_message_none() -> None:
    got = read("osu/latency.txt")
    assert {point.metric for point in got.points} == {"rtt_half_mean_s"}
    assert min(point.payload_bytes or 0 for point in got.points) == 1
    assert numbers(got, payload_bytes=4194304)["rtt_half_mean_s"] == pytest.approx(346.79e-6)


def test_osu_megabytes_are_10_to_the_6() -> None:
    goodput = numbers(read("osu/bw.txt"), payload_bytes=1)["goodput_bps"]
    assert goodput == pytest.approx(6.52 * 8e6)


def test_osu_pairs_are_cores_and_their_rates_a_sum() -> None:
    got = numbers(read("osu/mbw_mr.txt"), payload_bytes=1, cores=8)
    assert got == {"frames_per_s": 49968421.54, "goodput_bps": pytest.approx(8 * 49968421.54)}


def test_osu_7_has_validation_and_tail_latencies() -> None:
    assert len(read("osu/latency_7.txt").points) == 7
    tail = numbers(read("osu/latency_7_tail.txt"), payload_bytes=2)
    assert tail["rtt_half_p99_s"] == pytest.approx(2.5e-6)


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        (
            "bibw.txt",
            None,
            "is the sum of both directions, not the goodput of one stream: run osu_bw",
        ),
        ("allreduce.txt", None, "does not measure one stream"),
        ("cut.txt", None, "no rows"),
        ("latency_7.txt", ("Pass\n4", "Fail\n4"), "received and sent data differ"),
        ("latency.txt", ("Latency (us)", "Bandwidth (MB/s)"), "the columns are not those of"),
        ("bw.txt", ("Bandwidth (MB/s)", "Bandwidth (GB/s)"), "OSU has no column"),
        ("mbw_mr.txt", ("49968421.54", "4996842.15"), "a number or a unit was changed"),
        ("mbw_mr.txt", ("  49968421.54", ""), "has 2 numbers, but the header has 3"),
        ("bw.txt", ("\n2  ", "\n1e999  "), "is not a row of “OSU MPI Bandwidth Test”"),
    ],
)
def test_osu_of_several_streams_or_damaged_is_refused(
    tmp_path: Path, name: str, change: tuple[str, str] | None, why: str
) -> None:
    file = changed(tmp_path, f"osu/{name}", lambda text: text.replace(*(change or ("", ""))))
    with pytest.raises(RecordError, match=re.escape(why)):
        ingest([file])


def test_osu_twice_in_a_file_are_two_runs_of_one_point(tmp_path: Path) -> None:
    file = changed(tmp_path, "osu/bw.txt", lambda text: text + text.replace("6.52", "6.54"))
    [point] = [p for p in ingest([file]).points if p.payload_bytes == 1]
    assert point.value == pytest.approx(6.53 * 8e6)
    assert point.n == 2
    twice = changed(tmp_path, "osu/bw.txt", lambda text: text + text)
    assert {point.n for point in ingest([twice]).points} == {1}  # the same run, kept twice


# --- Intel MPI Benchmarks ---------------------------------------------------------------------


def test_imb_pingpong_is_half_a_round_trip_and_its_rate_no_row() -> None:
    got = read("imb/pingpong.txt")
    assert {point.metric for point in got.points} == {"rtt_half_mean_s"}
    assert numbers(got, payload_bytes=16)["rtt_half_mean_s"] == pytest.approx(1.0e-6)


def test_imb_of_either_megabyte_is_read() -> None:
    assert numbers(read("imb/mebibytes.txt"), payload_bytes=8)["rtt_half_mean_s"] == 2.26e-6


def test_imb_of_newer_versions_has_least_greatest_and_mean_of_its_groups() -> None:
    assert numbers(read("imb/groups.txt")) == {"rtt_half_mean_s": 1.8e-6}


def test_imb_uniband_is_the_sum_over_its_pairs() -> None:
    got = numbers(read("imb/uniband.txt"), payload_bytes=1024, cores=2)
    assert got == {"frames_per_s": 4e6, "goodput_bps": 4e6 * 8192}


def test_imb_of_both_directions_is_left_out_with_a_note() -> None:
    got = read("imb/mixed.txt")
    assert numbers(got) == numbers(read("imb/pingpong.txt"))
    assert any("Sendrecv is not used" in note for note in results(got)[0].notes)
    with pytest.raises(
        RecordError,
        match=r"line 11: “Sendrecv” is the sum of both directions, .*: run Uniband or PingPong",
    ):
        read("imb/sendrecv.txt")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("16.08", "1.608"), "a number was changed"),
        (("t[usec]   Mbytes/sec", "Mbytes/sec      Msg/sec"), "not those of PingPong"),
        (("# Benchmarking PingPong", "# Benchmarking Uniband"), "not those of Uniband"),
        ((" 1024         1000", " 1e999        1000"), "is not a row of “PingPong”"),
    ],
)
def test_imb_that_contradicts_itself_is_refused(
    tmp_path: Path, change: tuple[str, str], why: str
) -> None:
    file = changed(tmp_path, "imb/pingpong.txt", lambda text: text.replace(*change))
    with pytest.raises(RecordError, match=re.escape(why)):
        ingest([file])


# --- iperf 2 ----------------------------------------------------------------------------------


def test_iperf2_at_the_client_counts_what_was_handed_over() -> None:
    got = read("iperf2/tcp.txt", payload_bytes=1448)
    assert sides(got) == {"goodput_bps": "sender"}
    assert numbers(got, payload_bytes=1448, load_bps=math.inf, cores=1) == {"goodput_bps": 5.18e9}
    assert sides(read("iperf2/tcp_server.txt", payload_bytes=1448)) == {"goodput_bps": "receiver"}
    assert sides(read("iperf2/tcp_r.txt", payload_bytes=1448)) == {"goodput_bps": "receiver"}


def test_iperf2_prints_its_write_size_only_with_e() -> None:
    assert numbers(read("iperf2/tcp_e.txt"), payload_bytes=1448) == {"goodput_bps": 3.2e9}
    got = read("iperf2/tcp.txt")
    assert {point.payload_bytes for point in got.points} == {131072}
    assert any(
        "payload_bytes 131072 is assumed, the default of iperf2: if -l" in n for n in got.notes
    )


def test_iperf2_mbytes_are_2_to_the_20_and_of_intervals_the_whole_counts() -> None:
    got = numbers(read("iperf2/tcp_M_server.txt", payload_bytes=1448))
    assert got == {"goodput_bps": 628 * MEBI * 8}
    assert numbers(read("iperf2/tcp_i.txt", payload_bytes=1448)) == {"goodput_bps": 4.63e9}


def test_iperf2_parallel_streams_are_summed() -> None:
    text = read("iperf2/tcp_P2.txt", payload_bytes=1448, cores=2)
    assert numbers(text) == {"goodput_bps": 4.62e9}
    lines = read("iperf2/tcp_P2_csv.txt", payload_bytes=131072, cores=2)
    assert numbers(lines) == {"goodput_bps": 10856142237.0 + 8197902745.0}
    assert results(text)[0].streams == results(lines)[0].streams == 2


def test_iperf2_udp_takes_goodput_and_loss_of_the_server_s_report() -> None:
    got = numbers(read("iperf2/udp_over.txt", load_bps=10e9))
    assert got["loss_rate"] == 92167 / 200447
    assert got["goodput_bps"] == pytest.approx((200447 - 92167) * 1600)
    assert got["sent_bps"] == 321e6
    paced = numbers(read("iperf2/udp.txt"), payload_bytes=1000, load_bps=20e6)
    assert paced["loss_rate"] == 0
    lines = numbers(read("iperf2/udp_csv_server.txt", load_bps=20e6), payload_bytes=1000)
    assert lines == {"loss_rate": 0, "goodput_bps": 20012312.0}


def test_iperf2_udp_sums_the_reports_of_parallel_streams() -> None:
    got = read("iperf2/udp_P2.txt", cores=2)
    values = numbers(got, payload_bytes=1000, load_bps=40e6)
    assert values["loss_rate"] == 1 / 5006
    assert values["sent_bps"] == 40e6
    assert values["goodput_bps"] == pytest.approx(5005 * 8000 / 1.0004)


def test_iperf2_latency_of_unsynchronised_clocks_is_not_taken() -> None:
    got = read("iperf2/udp_e.txt")
    assert not [metric for metric in numbers(got) if metric.startswith("latency_")]
    assert any("clocks" in note for note in results(got)[0].notes)


@pytest.mark.parametrize(
    ("name", "sent", "received"), [("dual.txt", 2.11e9, 2.83e9), ("full.txt", 2.15e9, 2.19e9)]
)
def test_iperf2_both_directions_at_once_are_separate_results(
    name: str, sent: float, received: float
) -> None:
    got = read(f"iperf2/{name}", payload_bytes=1448)
    ways = {result.hosts: result for result in results(got)}
    assert {hosts: one.numbers[0].value for hosts, one in ways.items()} == {
        ("10.77.0.1", "10.77.0.2"): sent,
        ("10.77.0.2", "10.77.0.1"): received,
    }
    assert {result.numbers[0].side for result in ways.values()} == {"sender", "receiver"}
    assert {axis.name: axis.default for axis in got.axes}["duplex"] == "both"
    assert len(got.points) == 2


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("tcp.txt", ("5.18 Gbits", "5.18 Mbits"), "a number or a unit was changed"),
        ("udp.txt", ("0/2503", "0/25030"), "a number or a unit was changed"),
        ("udp_over.txt", ("92167/200447", "292167/200447"), "impossible"),
        ("tcp_i.txt", ("0.0000-1.0050", "0.9000-1.0050"), "no line over the whole run"),
        ("tcp.txt", ("[  1] 0.0000", "connect failed: refused\n[  1] 0.0000"), "the run failed"),
    ],
)
def test_iperf2_that_was_changed_or_failed_is_refused(
    tmp_path: Path, name: str, change: tuple[str, str], why: str
) -> None:
    file = changed(tmp_path, f"iperf2/{name}", lambda text: text.replace(*change))
    with pytest.raises(RecordError, match=re.escape(why)):
        ingest([file], labels=Labels(payload_bytes=None if "udp" in name else 1448))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_case_is_recognised_as_of_its_tool(path: Path) -> None:
    assert {reader.NAME for reader, _ in runs_of(read_source(path), None)} == {path.parent.name}


PROSE = """\
# How we measured

- sockperf: ping-pong and under-load; its latency is half a round trip.
sockperf: the tool of choice for UDP
| run | netperf | TCP STREAM TEST from 0.0.0.0 to alice, NTTTCP for Linux 1.4.0 beside it |
The `<ntttcps>` of NTttcp, `{"time_us", "noos"}` of zperfmq, "cpu_utilization_percent" of iperf3
and "start", "intervals" are read { as is NetMQ's Latency Benchmark, its Throughput Benchmark }.
- Send Latency Test of perftest
total_bw:
"""


def test_prose_about_tools_is_no_output(tmp_path: Path) -> None:
    assert [name for name, reader in READERS.items() if reader.recognises(PROSE)] == []
    for text in (PROSE, "\x89PNG\r\n\x1a\n\0\0"):
        (tmp_path / "README.md").write_text(text, encoding="utf-8")
        with pytest.raises(
            RecordError, match=r"README\.md: the text is not the output of a tool that icmodel"
        ):
            ingest([tmp_path / "README.md"])


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.name}")
@settings(max_examples=times(10))
@given(share=st.floats(0, 1))
def test_a_case_cut_anywhere_is_read_or_refused(path: Path, share: float) -> None:
    """A truncated file is read with sane numbers, or raises `RecordError`."""
    text = path.read_text(encoding="utf-8")
    part = text[: int(share * len(text))]
    source = Source(path, part.encode(), part)
    try:
        read_results = READERS[path.parent.name].read(source)
    except RecordError:
        return
    for result in read_results:
        assert all(isinstance(number, Number) for number in result.numbers)


TOKENS = ("1e999", "-1", "0", "null", '"x"', "[]", "{}", "9" * 20, "nan", "1.2.3", "", "1,000", "٣")


@settings(max_examples=times(100))
@given(
    path=st.sampled_from(TEXTS),
    token=st.sampled_from(TOKENS),
    at=st.integers(0, 400),
    payload_bytes=st.sampled_from([None, 1000]),
)
def test_a_case_with_any_number_replaced_is_refused_or_gives_rows(
    path: Path, token: str, at: int, payload_bytes: int | None
) -> None:
    """Points from a damaged file always fit the format of a dataset."""
    text = path.read_text(encoding="utf-8")
    places = list(re.finditer(r"-?[0-9]+(?:\.[0-9]+)?", text))
    place = places[at % len(places)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / path.name
        file.write_text(text[: place.start()] + token + text[place.end() :], encoding="utf-8")
        try:
            got = ingest([file], path.parent.name, labels=Labels(payload_bytes=payload_bytes))
        except RecordError:
            return
    body = points_csv([axis.name for axis in got.axes], got.points)
    assert read_points(Path("points.csv"), body)[0]


@given(st.decimals(0, 10**9, places=6), st.integers(-9, 9))
def test_shifting_is_exact(value: Decimal, places: int) -> None:
    assert shifted(str(value), places) == float(Decimal(str(value)).scaleb(places))


def test_documents_names_a_constant_that_is_no_number() -> None:
    with pytest.raises(RecordError, match="NaN"):
        list(documents('{"bits_per_second": NaN}'))


@pytest.mark.parametrize("name", sorted(READERS))
def test_every_sample_in_the_docstring_of_a_reader_is_read(name: str) -> None:
    samples = re.findall(r"::\n\n((?:    .*\n)+)", READERS[name].__doc__ or "")
    assert samples
    for sample in samples:
        source = Source(Path("sample.txt"), b"", textwrap.dedent(sample))
        assert [reader.NAME for reader, _ in runs_of(source, None)] == [name]
        assert all(result.numbers for result in READERS[name].read(source))


def test_nuttcp_keeps_the_directions_of_one_file_apart(tmp_path: Path) -> None:
    file = tmp_path / "both.txt"
    file.write_text(
        "$ nuttcp -t -T1 host-b\n"
        "  117.6600 MB /   1.00 sec =  987.0003 Mbps 5 %TX 9 %RX 0 retrans 0.16 msRTT\n"
        "$ nuttcp -r -T1 host-b\n"
        "   87.6200 MB /   1.00 sec =  735.0099 Mbps 5 %TX 9 %RX 0 retrans 0.16 msRTT\n"
    )
    got = ingest([file])
    rates = [point for point in got.points if point.metric == "goodput_bps"]
    assert {(point.options, point.value) for point in rates} == {
        (("unnamed to host-b",), 987.0003e6),
        (("host-b to unnamed",), 735.0099e6),
    }
    assert any("results of both directions" in note for note in got.notes)


def test_nuttcp_options_end_with_their_command_line(tmp_path: Path) -> None:
    line = "  117.6600 MB /   1.00 sec =  987.0003 Mbps 5 %TX 9 %RX 0 retrans 0.16 msRTT\n"
    file = tmp_path / "both.txt"
    file.write_text(f"$ nuttcp -r -l1448 host-b 2>&1 | tee log\n{line}$ nuttcp host-b\n{line}")
    first, second = results(ingest([file]))
    assert (first.hosts, first.labels.payload_bytes) == (Hosts(sender="host-b"), 1448)
    assert (second.hosts, second.labels.payload_bytes) == (Hosts(receiver="host-b"), 65536)


def test_iperf3_interrupted_after_its_json_is_refused(tmp_path: Path) -> None:
    text = (CASES / "iperf3/tcp.json").read_text(encoding="utf-8")
    file = tmp_path / "run.json"
    file.write_text(f"{text}iperf3: interrupt - the client has terminated\n")
    with pytest.raises(
        RecordError, match="after the JSON: “iperf3: interrupt - the client has terminated”"
    ):
        ingest([file])

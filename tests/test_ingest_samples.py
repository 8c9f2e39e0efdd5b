"""Real outputs of other tools, where ``ICMODEL_SAMPLES`` names a folder of them.

They are not part of this repository. Every file is either ingested with the numbers worked out
here by hand from what it prints, or refused for the reason named here; none is passed over.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from icmodel.errors import RecordError
from icmodel.ingest import Labels, ingest
from ingest_cases import numbers

MEBI = 2**20
FOLDER = os.environ.get("ICMODEL_SAMPLES", "")
TCP: dict[str, Any] = {"protocol": "tcp"}
Expected = tuple[dict[str, Any], dict[str, Any], dict[str, float]]
"""Given labels, axes of the checked rows, and their values by metric."""

TAKEN: dict[str, Expected] = {
    "iperf3/pscheduler_1_3.1.3_tcp_P1.json": (
        {},
        {"protocol": "tcp", "payload_bytes": 131072},
        {
            "goodput_bps": 388736097.120548,
            "sent_bps": 389274697.967401,
            "cpu_send_process_cores": 0.0218151,
            "cpu_recv_process_cores": 0.04763802,
        },
    ),
    "iperf3/pscheduler_2_3.1.3_udp_P1.json": (
        {},
        {"protocol": "udp", "payload_bytes": 8192},
        {"sent_bps": 1048481.633, "goodput_bps": 159 * 8192 * 8 / 10.0009, "loss_rate": 0.0},
    ),
    "iperf3/pscheduler_3_3.1.6_tcp_P1.json": ({}, {}, {"goodput_bps": 88565098.888}),
    "iperf3/pscheduler_4_3.1.6_tcp_P1.json": ({}, {}, {"goodput_bps": 25489247.640428}),
    "iperf3/python_fixture_tcp.json": ({}, {}, {"goodput_bps": 1518193248 * 8 / 13.0001}),
    "iperf3/selfhealing_3.1.3_udp_k10000.json": (
        {},
        {},
        {"loss_rate": 0.00690276, "goodput_bps": (9996 - 69) * 8192 * 8 / 0.785134},
    ),
    "libzmq/local_thr_lua_zmq_readme.txt": (
        {},
        {"protocol": "zeromq", "payload_bytes": 30},
        {"frames_per_s": 6241452.0, "goodput_bps": 1497.948e6},
    ),
    "libzmq/remote_lat_2.1.1_laptop.txt": (
        {},
        {"payload_bytes": 1024},
        {"rtt_half_mean_s": 75.133e-6},
    ),
    "libzmq/remote_lat_issue3560.txt": ({}, {"payload_bytes": 30}, {"rtt_half_mean_s": 25.869e-6}),
    "netperf/fungible_omni_keyval_stream_latency.txt": (
        {},
        {"protocol": "udp", "payload_bytes": 18},
        {"sent_bps": 55.07e6},
    ),
    "netperf/grpc7988_tcp_rr_classic.txt": (
        {},
        {"protocol": "tcp", "payload_bytes": 1},
        {"frames_per_s": 12507.44, "rtt_mean_s": 1 / 12507.44},
    ),
    "netperf/manual_01.txt": ({}, {}, {"frames_per_s": 3538.82}),
    "netperf/manual_02.txt": ({}, {"payload_bytes": 16384}, {"goodput_bps": 17.81 * MEBI * 8}),
    "netperf/manual_03.txt": ({}, {}, {"goodput_bps": 2997.84e6}),
    "netperf/manual_04.txt": ({}, {}, {"goodput_bps": 40.23e6}),
    "netperf/manual_05.txt": ({}, {}, {"goodput_bps": 80.42e6}),
    "netperf/manual_06.txt": ({}, {"payload_bytes": 131072}, {"goodput_bps": 81.14e6}),
    "netperf/manual_08.txt": ({}, {}, {"goodput_bps": 81.83e6}),
    "netperf/manual_09.txt": (
        {},
        {"protocol": "udp", "payload_bytes": 32768},
        {"sent_bps": 2770.2e6, "goodput_bps": 2748.5e6, "loss_rate": 1 - 104844 / 105672},
    ),
    "netperf/manual_12.txt": ({}, {}, {"rtt_mean_s": 1 / 29150.15}),
    "netperf/manual_13.txt": (
        {"host_cores": 2},
        {"protocol": "udp"},
        {"frames_per_s": 15262.48, "cpu_send_cores": 0.278, "cpu_recv_cores": 0.3222},
    ),
    "netperf/manual_14.txt": ({}, {}, {"goodput_bps": 25375.66e6}),
    "netperf/manual_15.txt": ({}, {}, {"goodput_bps": 68.87e6}),
    "netperf/manual_16.txt": ({}, {"payload_bytes": 32768}, {"frames_per_s": 3473.252}),
    "netperf/manual_17.txt": ({**TCP, "payload_bytes": 1}, {}, {"frames_per_s": 59092.65}),
    "netperf/manual_18.txt": ({**TCP, "payload_bytes": 1}, {}, {"frames_per_s": 60999.07}),
    "netperf/manual_19.txt": ({**TCP, "payload_bytes": 1}, {}, {"frames_per_s": 60492.57}),
    "netperf/manual_20.txt": ({}, {}, {"goodput_bps": 27175.27e6}),
    "netperf/manual_21.txt": ({"payload_bytes": 1}, {}, {"frames_per_s": 60074.74}),
    "netperf/manual_22.txt": ({}, {}, {"frames_per_s": 59421.52}),
    "netperf/pkb_netperf_results.txt": (
        {"payload_bytes": 1},
        {"protocol": "udp"},
        {"frames_per_s": 2217.06, "rtt_p99_s": 589e-6, "rtt_max_s": 9688e-6},
    ),
    "ntttcp/aks_notes_linux_1.4.0.txt": (
        {"payload_bytes": 65536},
        {"protocol": "tcp"},
        {"sent_bps": 127651414016 * 8 / 10.1, "cpu_send_cores": 8.0},
    ),
    "ntttcp/linux_readme_1.3.4.txt": (
        {"payload_bytes": 65536},
        {},
        {"sent_bps": 30629953536 * 8 / 10.36, "cpu_send_cores": 0.0842 * 20},
    ),
    "ntttcp/pkb_ntttcp_tcp_receiver.xml": ({}, {"payload_bytes": 150}, {"goodput_bps": 291.484e6}),
    "ntttcp/pkb_ntttcp_tcp_sender.xml": ({}, {"payload_bytes": 150}, {"sent_bps": 291.485e6}),
    "ntttcp/pkb_ntttcp_udp_receiver.xml": ({}, {"protocol": "udp"}, {"goodput_bps": 189.447e6}),
    "ntttcp/pkb_ntttcp_udp_sender.xml": ({}, {"protocol": "udp"}, {"sent_bps": 245.153e6}),
    "ntttcp/vc_ClientOutput-v1.4.0-1.xml": (
        {"payload_bytes": 65536},
        {},
        {"sent_bps": 11875.233e6, "cpu_send_cores": 0.038 * 16},
    ),
    "ntttcp/vc_ClientOutput.xml": ({"payload_bytes": 65536}, {}, {"sent_bps": 55521.821e6}),
    "ntttcp/vc_ServerOutput-v1.4.0-1.xml": (
        {"payload_bytes": 65536},
        {},
        {"goodput_bps": 11875.198e6, "cpu_recv_cores": 0.052 * 16},
    ),
    "ntttcp/vc_ServerOutput.xml": (
        {},
        {"payload_bytes": 65536},
        {"goodput_bps": 30622.494e6, "cpu_recv_cores": 0.91205 * 8},
    ),
    "nuttcp/iperf_issue30_tcp_9.9G.txt": (
        {"payload_bytes": 65536},
        {"protocol": "tcp"},
        {"goodput_bps": 9903.3007e6, "cpu_send_process_cores": 0.19},
    ),
    "nuttcp/pkb_nuttcp_test_1.txt": (
        {},
        {"protocol": "udp", "payload_bytes": 1024},
        {"goodput_bps": 1188.1121e6, "loss_rate": 104429 / 1554763},
    ),
    "nuttcp/pscheduler_1.txt": ({"payload_bytes": 65536}, {}, {"goodput_bps": 1842.379e6}),
    "nuttcp/pscheduler_2.txt": ({}, {"payload_bytes": 1024}, {"loss_rate": 1485 / 259593}),
    "nuttcp/pscheduler_3.txt": ({"payload_bytes": 65536}, {}, {"goodput_bps": 56.7987e6}),
    "perftest/ib_read_lat_mlx4.txt": (
        {},
        {"protocol": "rdma-read", "payload_bytes": 2},
        {"rtt_mean_s": 1.8e-6, "rtt_p99_s": 1.88e-6},
    ),
    "perftest/raw_ethernet_lat_mlx5.txt": (
        {},
        {"protocol": "ethernet", "payload_bytes": 64},
        {"rtt_half_mean_s": 0.85e-6, "rtt_half_p999_s": 2.58e-6},
    ),
    "perftest/superbench_ib_loopback_8M_size.log": (
        {},
        {"protocol": "rdma-write", "payload_bytes": 8388608},
        {"goodput_bps": 24056.72 * MEBI * 8, "frames_per_s": 3007.0},
    ),
    "perftest/superbench_ib_loopback_all_sizes.log": (
        {},
        {"payload_bytes": 1024},
        {"goodput_bps": 2.71298e6 * 1024 * 8, "frames_per_s": 2.71298e6},  # finer than 2649.39 MB/s
    ),
    "qperf/aks_notes_tcp.txt": (
        {"payload_bytes": 65536},
        {"load_bps": float("inf")},
        {"goodput_bps": 8.03e9 * 8, "frames_per_s": 123e3},
    ),
    "qperf/tcp_lat_sweep_56G.txt": ({}, {"payload_bytes": 65536}, {"rtt_half_mean_s": 59.3e-6}),
    "sockperf/aks_notes_pingpong_tcp_3.8.txt": (
        {"payload_bytes": 14},
        {"protocol": "tcp"},
        {"rtt_half_mean_s": 56.765e-6, "rtt_half_p99_s": 172.878e-6},
    ),
    "sockperf/doc_pingpong_1.txt": (
        {},
        {"protocol": "udp", "payload_bytes": 16384},
        {"rtt_half_mean_s": 20.771e-6, "rtt_half_std_s": 5.266e-6},
    ),
    "sockperf/doc_pingpong_2.txt": (
        {},
        {"protocol": "tcp", "payload_bytes": 64},
        {"rtt_half_p50_s": 6.222e-6, "rtt_half_min_s": 4.629e-6},
    ),
    "sockperf/doc_pingpong_3.txt": (
        {},
        {"protocol": "udp", "options": ("vma",)},
        {"rtt_half_mean_s": 0.951e-6},
    ),
    "sockperf/issue140_throughput_tcp_3.7.txt": (
        {},
        {"protocol": "tcp", "payload_bytes": 32768},
        {"sent_bps": 4873.781 * MEBI * 8},
    ),
    "sockperf/netdev_i40e_tcp1000_after_3.10.txt": (
        {"payload_bytes": 1000},
        {},
        {"rtt_half_mean_s": 24.965e-6, "rtt_half_max_s": 195.841e-6},
    ),
    "sockperf/netdev_i40e_tcp1000_before_3.10.txt": (
        {"payload_bytes": 1000},
        {},
        {"rtt_half_max_s": 103294.331e-6},
    ),
    "sockperf/vc_fulllog_example2_head.txt": (
        TCP,
        {"payload_bytes": 1024, "load_bps": 40.96e6},
        {"rtt_mean_s": 101.926e-6, "rtt_p999_s": 192.845e-6},
    ),
    "sockperf/vma_md_udp14_pingpong_3.10.txt": (
        {"payload_bytes": 14},
        {"protocol": "udp"},
        {"rtt_half_mean_s": 15.562e-6},
    ),
    "sockperf/vma_md_udp14_throughput_3.10.txt": (
        {},
        {"payload_bytes": 14},
        {"sent_bps": 325020 * 14 * 8.0},
    ),
}

TEXT_OF_IPERF3 = "run iperf3 with -J"
REFUSED = {
    "iperf3/fungible_udp_lowrate_3.6.txt": TEXT_OF_IPERF3,
    "iperf3/issue1261_omit_text.txt": TEXT_OF_IPERF3,
    "iperf3/issue1892_udp_counter_overflow.txt": TEXT_OF_IPERF3,
    "iperf3/issue822_impossible_cpu.json": "a fragment",
    "iperf3/omnt_json_stream_intervals.jsonl": "but no end event",
    "iperf3/pkb_iperf3_test_1.txt": TEXT_OF_IPERF3,
    "iperf3/pkb_iperf3_test_2.txt": TEXT_OF_IPERF3,
    "iperf3/selfhealing_3.1.3_udp_k1000_netem10.txt": TEXT_OF_IPERF3,
    "libzmq/netmq_pr282_table.txt": "NetMQ",
    "netperf/manual_07.txt": "specified file too small",
    "netperf/manual_10.txt": "Message too long",
    "netperf/manual_11.txt": "messages arrived",
    "netperf/pkb_netperf_results.json": "opens a connection",
    "netperf/pkb_netperf_results_multistreams.json": "does not state its payload_bytes",
    "nuttcp/examples_7.2.1.txt": "does not state its payload_bytes",
    "perftest/issue216_out_json_INVALID_pre2024.txt": "before 2024",
    "sockperf/issue106_single_observation.txt": "1 observation",
}


def samples() -> list[str]:
    """The files of the folder as ``tool/name``."""
    root = Path(FOLDER)
    files = (path for path in root.rglob("*") if path.is_file() and path.name != "SOURCES.md")
    return sorted(path.relative_to(root).as_posix() for path in files)


def test_no_sample_is_expected_twice() -> None:
    assert not set(TAKEN) & set(REFUSED)


if FOLDER:

    @pytest.mark.parametrize("name", samples())
    def test_a_sample_is_ingested_right_or_refused_for_the_right_reason(name: str) -> None:
        assert name in TAKEN or name in REFUSED, "say what is expected of it"
        file = Path(FOLDER) / name
        if name in REFUSED:
            with pytest.raises(RecordError, match=REFUSED[name]):
                ingest([file])
            return
        labels, axes, values = TAKEN[name]
        found = numbers(ingest([file], labels=Labels(**labels)), **axes)
        assert {metric: found.get(metric) for metric in values} == pytest.approx(values, rel=1e-6)

    def test_streams_at_once_are_no_repeats() -> None:
        file = Path(FOLDER) / "netperf" / "pkb_netperf_results_multistreams.json"
        with pytest.raises(RecordError, match="not repeats"):
            ingest([file], labels=Labels(payload_bytes=16384))

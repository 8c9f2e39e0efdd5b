"""The datasets made of published result files: each trap of their sources, and the rebuild."""

from __future__ import annotations

import csv
import itertools
import math
import statistics
import subprocess
import sys
import tomllib
from collections import Counter
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest

from icmodel.dataset import load

ROOT = Path(__file__).resolve().parent.parent
ROWS = {
    "dds-1g": {
        "cpu_recv_process_cores": 32,
        "cpu_send_process_cores": 32,
        "frames_per_s": 16 + 36,
        "goodput_bps": 16 + 36,
        "loss_rate": 16,
        **{f"rtt_half_{s}_s": 16 for s in ("mean", "min", "p50", "p90", "p99", "max")},
    },
    "infiniband-qdr-connectx2": {
        "cpu_recv_process_cores": 150 + 24,
        "cpu_send_process_cores": 150 + 24,
        "frames_per_s": 23 + 24,
        "goodput_bps": 23,
        "rtt_half_mean_s": 150 + 24,
        "rtt_mean_s": 150 + 24,
    },
    "mpi-csd3": {
        "frames_per_s": 276,
        "goodput_bps": 276 + 46,
        "rtt_half_mean_s": 46 + 92,
    },
    "mpi-infiniband-roce": {"goodput_bps": 92, "rtt_half_mean_s": 92 + 92},
    "rapidio-tsi721": {
        "cpu_send_process_cores": 9,
        "goodput_bps": 9,
        **{f"rtt_{s}_s": 4 for s in ("mean", "min", "max")},
        **{f"rtt_half_{s}_s": 4 for s in ("mean", "min", "max")},
    },
    "rdma-connectx7": {"goodput_bps": 276},
    "rdma-connectx7-ed2": {"frames_per_s": 276, "goodput_bps": 276 + 276},
    "tcp-connectx7": {"goodput_bps": 7 + 64},
}
TRANSCRIBED = {
    "dds-1g/latency_summary": 16,
    "dds-1g/throughput_summary": 16,
    "dds-1g/throughput_polling_2016": 36,
    "infiniband-qdr-connectx2/ib_write_bw": 23,
    "infiniband-qdr-connectx2/ibv_pingpong": 150,
    "infiniband-qdr-connectx2/round_trip_rate": 98,
    "mpi-infiniband-roce/p2p_single_pair": 376,
    "rapidio-tsi721/dma_write_throughput": 9,
    "rapidio-tsi721/obwin_read_latency": 4,
    "rapidio-tsi721/packet_delay_cycles": 27,
    "mpi-csd3/pairs": 276,
    "mpi-csd3/single_pair": 190,
    "rdma-connectx7/perftest_cpu_rdma": 552,
    "rdma-connectx7/perftest_gpu_rdma": 276,
    "tcp-connectx7/streams_mtu1500": 210,
    "tcp-connectx7/streams_mtu9000": 384,
}
DATASETS = sorted(ROWS)
BITS = 8
MIB = 2**20
MEGA = 10**6

Cells = dict[str, str]
At = dict[str, str | int]


@cache
def points(name: str) -> tuple[Cells, ...]:
    with (ROOT / "data" / name / "points.csv").open(encoding="utf-8", newline="") as handle:
        return tuple(csv.DictReader(handle))


@cache
def printed(file: str) -> tuple[Cells, ...]:
    path = ROOT / "tools" / "transcriptions" / f"{file}.csv"
    with path.open(encoding="utf-8", newline="") as handle:
        return tuple(csv.DictReader(handle))


def select(name: str, **wanted: str | int) -> list[Cells]:
    return [
        cells
        for cells in points(name)
        if all(cells[column] == str(value) for column, value in wanted.items())
    ]


def one(name: str, **wanted: str | int) -> Cells:
    (cells,) = select(name, **wanted)
    return cells


def value(name: str, **wanted: str | int) -> Decimal:
    return Decimal(one(name, **wanted)["value"])


def curve(name: str, **wanted: str | int) -> list[float]:
    rows = sorted(select(name, **wanted), key=lambda cells: int(cells["payload_bytes"]))
    return [float(cells["value"]) for cells in rows]


def document(name: str) -> dict[str, object]:
    return tomllib.loads((ROOT / "data" / name / "dataset.toml").read_text(encoding="utf-8"))


def falls(values: list[float]) -> bool:
    return any(later < earlier for earlier, later in itertools.pairwise(values))


# --- every dataset ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DATASETS)
def test_the_dataset_loads_and_its_readme_names_origin_commit_and_licence(name: str) -> None:
    dataset = load(ROOT / "data" / name)
    readme = (ROOT / "data" / name / "README.md").read_text(encoding="utf-8")
    for text in (dataset.citation, readme):
        assert "github.com/" in text
        assert "commit" in text
    assert dataset.licence.split()[0] in readme
    assert dataset.known_limits
    assert dataset.id == name


@pytest.mark.parametrize("name", DATASETS)
def test_each_metric_has_the_counted_rows(name: str) -> None:
    assert Counter(cells["metric"] for cells in points(name)) == ROWS[name]


@pytest.mark.parametrize(("file", "count"), sorted(TRANSCRIBED.items()))
def test_each_transcription_has_the_counted_rows(file: str, count: int) -> None:
    assert len(printed(file)) == count


def test_a_rebuild_gives_the_shipped_bytes(tmp_path: Path) -> None:
    script = ROOT / "tools" / "build_published.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    for name in DATASETS:
        for file in ("points.csv", "dataset.toml"):
            shipped = (ROOT / "data" / name / file).read_bytes()
            assert (tmp_path / name / file).read_bytes() == shipped


@pytest.mark.parametrize("name", DATASETS)
def test_only_printed_numbers_and_their_arithmetic_are_stored(name: str) -> None:
    bases = {cells["metric"]: set[str]() for cells in points(name)}
    for cells in points(name):
        bases[cells["metric"]].add(cells["basis"])
    assert set().union(*bases.values()) <= {"tabulated", "derived"}
    assert bases["goodput_bps"] == {"tabulated"}


@pytest.mark.parametrize("name", DATASETS)
def test_no_one_way_latency_is_claimed(name: str) -> None:
    assert not [cells for cells in points(name) if cells["metric"].startswith("latency_")]


@pytest.mark.parametrize("name", [name for name in DATASETS if name != "dds-1g"])
def test_half_a_round_trip_is_named_so_and_never_replaces_the_whole(name: str) -> None:
    for half in select(name, basis="derived"):
        if half["metric"].startswith("rtt_half_"):
            whole: At = {
                column: half[column]
                for column in half
                if column not in ("metric", "value", "std", "low", "high", "n", "basis", "source")
            }
            metric = half["metric"].replace("rtt_half_", "rtt_")
            assert float(half["value"]) * 2 == pytest.approx(
                float(value(name, metric=metric, **whole)), rel=1e-5
            )


@pytest.mark.parametrize("name", DATASETS)
def test_goodput_stays_below_the_line_rate_where_that_is_stated(name: str) -> None:
    dataset = load(ROOT / "data" / name)
    rate = dataset.interconnect.line_rate_bps
    if rate is None:
        assert name in ("rdma-connectx7", "rdma-connectx7-ed2", "tcp-connectx7")
    else:
        above = [
            c for c in select(name, metric="goodput_bps") if Decimal(c["value"]) >= Decimal(rate)
        ]
        assert [(c["payload_bytes"], c["cores"], c["value"]) for c in above] == (
            [("32768", "2", "101096000000")] if name == "mpi-csd3" else []
        )


@pytest.mark.parametrize("name", DATASETS)
def test_a_plain_question_finds_goodput_or_a_round_trip(name: str) -> None:
    dataset = load(ROOT / "data" / name)
    found = {point.metric for point in dataset.select(dataset.default_protocol, {})}
    assert found & {"goodput_bps", "rtt_mean_s"}
    sizes = {point.payload_bytes for point in dataset.select(dataset.default_protocol, {})}
    assert len(sizes) >= (4 if name == "tcp-connectx7" else 9)


@pytest.mark.parametrize(
    "name", ["infiniband-qdr-connectx2", "mpi-csd3", "mpi-infiniband-roce", "tcp-connectx7"]
)
def test_each_fabric_is_described(name: str) -> None:
    dataset = load(ROOT / "data" / name)
    fabrics = document(name)["fabrics"]
    assert isinstance(fabrics, dict)
    (axis,) = {entry["axis"] for entry in fabrics.values()}
    assert sorted(fabrics) == list(dataset.option_values(axis))
    default = fabrics[dataset.option_defaults[axis]]
    assert default["kind"] == dataset.interconnect.kind
    assert default.get("line_rate_bps") == dataset.interconnect.line_rate_bps
    assert default.get("mtu_bytes") == dataset.interconnect.mtu_bytes


# --- infiniband-qdr-connectx2 -------------------------------------------------------------------

QDR = "infiniband-qdr-connectx2"


def test_usec_per_iter_is_the_full_round_trip() -> None:
    """The Mb/s beside it count both directions: 2 x size x 8 / round trip."""
    for cells in printed(f"{QDR}/ibv_pingpong"):
        both_ways = 2 * int(cells["message_bytes"]) * BITS / float(cells["usec_per_iter"])
        assert float(cells["client_mbit_s"]) == pytest.approx(both_ways, rel=0.003)


def test_the_round_trip_is_stored_whole() -> None:
    at: At = {"protocol": "rc", "payload_bytes": 1024, "path_mtu": 4096}
    whole = one(QDR, metric="rtt_mean_s", **at)
    half = one(QDR, metric="rtt_half_mean_s", **at)
    assert (whole["value"], whole["basis"]) == ("0.00000468", "tabulated")
    assert (half["value"], half["basis"]) == ("0.00000234", "derived")


def test_every_ping_pong_is_stored_as_printed() -> None:
    for cells in printed(f"{QDR}/ibv_pingpong"):
        at: At = {"payload_bytes": cells["message_bytes"], "path_mtu": cells["path_mtu"]}
        at["protocol"] = cells["program"].split("_")[1]
        stored = value(QDR, metric="rtt_mean_s", **at)
        assert stored * MEGA == Decimal(cells["usec_per_iter"])


def test_the_path_mtu_matters_where_a_message_fits_no_packet() -> None:
    at: At = {"protocol": "uc", "metric": "rtt_mean_s", "payload_bytes": 4096}
    times = [value(QDR, path_mtu=mtu, **at) for mtu in (1024, 2048, 4096)]
    assert times == [Decimal("0.00000673"), Decimal("0.00000776"), Decimal("0.00000991")]


def test_polling_takes_one_core_at_every_size() -> None:
    for protocol in ("rc", "uc"):
        for side in ("send", "recv"):
            cores = curve(QDR, protocol=protocol, metric=f"cpu_{side}_process_cores")
            assert len(cores) == 75
            assert all(0.997 <= busy <= 1.004 for busy in cores)


def test_perftest_counts_mib() -> None:
    """Average MB/s x 2^20 / size is the printed message rate; 10^6 would miss by 5 %."""
    for cells in printed(f"{QDR}/ib_write_bw"):
        size = int(cells["size_bytes"])
        rate = float(cells["msg_rate_mpps"]) * MEGA
        assert float(cells["bw_avg_mib_s"]) * MIB / size == pytest.approx(rate, rel=0.0015)
        assert float(cells["bw_avg_mib_s"]) * MEGA / size < rate * 0.96
    at: At = {"protocol": "rdma-write", "payload_bytes": 2}
    assert value(QDR, metric="goodput_bps", **at) == Decimal("21.05") * MIB * BITS
    assert value(QDR, metric="frames_per_s", **at) == 11035521


def test_the_peak_column_is_no_goodput() -> None:
    peaks = {Decimal(c["bw_peak_mib_s"]) * MIB * BITS for c in printed(f"{QDR}/ib_write_bw")}
    assert not peaks & {Decimal(c["value"]) for c in select(QDR, metric="goodput_bps")}


def test_rdma_write_goodput_falls_at_8_mib_and_is_kept() -> None:
    goodputs = curve(QDR, protocol="rdma-write", metric="goodput_bps")
    assert falls(goodputs)
    assert goodputs[-1] == 2707.23 * MIB * BITS
    assert max(goodputs) == 2935.00 * MIB * BITS


def test_server_rows_that_stand_twice_are_taken_once() -> None:
    rows = [tuple(cells.values()) for cells in printed(f"{QDR}/round_trip_rate")]
    twice = [row for row, count in Counter(rows).items() if count > 1]
    assert len(rows) - len(set(rows)) == len(twice) == 2
    assert {row[:3] for row in twice} == {
        ("Tests over 1Gb motherboard Ethernet", "tcp_server", "2")
    }
    at: At = {"protocol": "tcp", "fabric": "1gbe", "server": "pc", "cores": 2}
    busy = (1.75 + 18.84) / 20.800303 + (1.792 + 18.95) / 20.8003
    assert float(value(QDR, metric="cpu_recv_process_cores", **at)) == pytest.approx(busy, rel=1e-5)


def test_an_echo_rate_is_one_round_trip_at_a_time() -> None:
    """Rate x round trip is the number of threads, so the printed rate is not per direction."""
    rates = [c for c in select(QDR, metric="frames_per_s") if c["protocol"] != "rdma-write"]
    assert len(rates) == 24
    for cells in rates:
        at: At = {c: cells[c] for c in ("protocol", "fabric", "server", "cores")}
        round_trip = float(value(QDR, metric="rtt_mean_s", **at))
        assert float(cells["value"]) * round_trip == pytest.approx(int(cells["cores"]), rel=0.03)
        assert cells["basis"] == ("tabulated" if cells["cores"] == "1" else "derived")


def test_the_threads_bracket_the_mean_round_trip() -> None:
    row = one(QDR, protocol="tcp", fabric="10gbe", server="pc", cores=3, metric="rtt_mean_s")
    each = [31.596117 / 1132894, 31.596114 / 1135163, 31.596131 / 1445761]
    assert float(row["low"]) == pytest.approx(min(each), rel=1e-5)
    assert float(row["high"]) == pytest.approx(max(each), rel=1e-5)
    assert float(row["value"]) == pytest.approx(94.788362 / 3713818, rel=1e-5)


@pytest.mark.parametrize(
    ("protocol", "fabric", "server", "rate"),
    [
        ("tcp", "1gbe", "pc", 5911),
        ("tcp", "10gbe", "pc", 46756),
        ("rdma-message", "rocev1", "pc", 260526),
        ("rdma-message", "qdr", "pc", 297314),
        ("tcp", "1gbe", "zynq", 8161),
        ("rdma-message", "qdr", "zynq", 136550),
    ],
)
def test_each_section_has_its_fabric_and_server(
    protocol: str, fabric: str, server: str, rate: int
) -> None:
    at: At = {"protocol": protocol, "fabric": fabric, "server": server, "cores": 1}
    assert value(QDR, metric="frames_per_s", **at) == rate
    assert one(QDR, metric="frames_per_s", **at)["payload_bytes"] == "120"


def test_a_closed_loop_is_no_capacity() -> None:
    assert {c["protocol"] for c in select(QDR, metric="goodput_bps")} == {"rdma-write"}
    assert {c["load_bps"] for c in points(QDR) if c["protocol"] != "rdma-write"} == {""}
    assert {c["load_bps"] for c in select(QDR, protocol="rdma-write")} == {"inf"}


# --- rapidio-tsi721 -----------------------------------------------------------------------------

RIO = "rapidio-tsi721"


def test_rrmap_counts_mb_of_10_to_the_6() -> None:
    for cells in printed(f"{RIO}/dma_write_throughput"):
        goodput = value(RIO, metric="goodput_bps", payload_bytes=cells["size_bytes"])
        assert goodput == Decimal(cells["MBps"]) * MEGA * BITS
        assert abs(goodput - Decimal(cells["Gbps"]) * 10**9) <= Decimal("0.0005") * 10**9
    assert value(RIO, metric="goodput_bps", payload_bytes=16384) == 12376584000


def test_the_link_occupancy_is_computed_and_not_stored() -> None:
    stored = [float(cells["value"]) for cells in points(RIO)]
    for cells in printed(f"{RIO}/dma_write_throughput"):
        occupancy = float(cells["link_occ_gbps_computed"])
        assert occupancy == pytest.approx(float(cells["Gbps"]) / 0.95, abs=0.0011)
        assert not any(math.isclose(number, occupancy * 1e9, rel_tol=1e-4) for number in stored)


def test_cpu_above_100_percent_is_more_than_one_core_of_the_process() -> None:
    for cells in printed(f"{RIO}/dma_write_throughput"):
        ticks = int(cells["user_cpu_ticks"]) + int(cells["kernel_cpu_ticks"])
        cores = 4 * ticks / int(cells["avail_cpu_ticks"])
        stored = value(RIO, metric="cpu_send_process_cores", payload_bytes=cells["size_bytes"])
        assert float(stored) == pytest.approx(cores, abs=0.00006)
    assert value(RIO, metric="cpu_send_process_cores", payload_bytes=16384) == Decimal("1.2816")


def test_a_window_read_is_a_round_trip() -> None:
    at: At = {"protocol": "window-read", "payload_bytes": 8}
    assert one(RIO, metric="rtt_mean_s", **at)["basis"] == "tabulated"
    assert value(RIO, metric="rtt_mean_s", **at) == Decimal("0.000001854")
    assert one(RIO, metric="rtt_half_mean_s", **at)["basis"] == "derived"
    assert "half of a read" in one(RIO, metric="rtt_half_mean_s", **at)["source"]


def test_the_maxima_of_a_read_are_noise_and_the_limits_say_so() -> None:
    maxima = curve(RIO, metric="rtt_max_s")
    assert maxima == [31.432e-6, 569.849e-6, 76.678e-6, 124.708e-6]
    assert any("noise of the operating system" in limit for limit in load(RIO).known_limits)


def test_rapidio_goodput_is_not_monotonic_and_kept() -> None:
    assert falls(curve(RIO, metric="goodput_bps"))


def test_packet_delays_are_no_rows() -> None:
    assert not [cells for cells in points(RIO) if "annex" in cells["source"].lower()]
    assert {cells["protocol"] for cells in points(RIO)} == {"dma-write", "window-read"}


def test_four_lanes_of_5_gbaud_carry_16_gbps() -> None:
    table = document(RIO)["interconnect"]
    assert isinstance(table, dict)
    assert table["lanes"] * table["lane_baud"] * 8 / 10 == table["line_rate_bps"] == 16e9
    assert table["switch_latency_s"] == 100e-9


# --- mpi-infiniband-roce ------------------------------------------------------------------------

MPI = "mpi-infiniband-roce"
TUNED = "ib-gcc9-openmpi4-ucx"
UNTUNED = "ib-gcc9-impi-verbs"


def test_mpi_benchmarks_count_mb_of_10_to_the_6() -> None:
    """IMB's MB/s are size / latency in us, that is 10^6 B/s; 2^20 would be 5 % less."""
    for cells in printed(f"{MPI}/p2p_single_pair"):
        if cells["suite"] == "IMB-2019.5" and cells["size_bytes"] != "0":
            megabytes = int(cells["size_bytes"]) / float(cells["latency_us"])
            assert float(cells["bandwidth_MBps"]) == pytest.approx(megabytes, rel=0.01)
    at: At = {"partition": TUNED, "payload_bytes": 4194304}
    assert value(MPI, metric="goodput_bps", **at) == Decimal("97318.88") * MEGA


def test_every_mpi_number_is_stored_as_printed() -> None:
    for cells in printed(f"{MPI}/p2p_single_pair"):
        if cells["size_bytes"] == "0" or cells["bench"] == "bibw":
            continue
        at: At = {"payload_bytes": cells["size_bytes"], "partition": cells["partition"]}
        at["suite"] = "osu" if cells["suite"] == "OSU" else "imb"
        if cells["bench"] == "bw":
            goodput = value(MPI, metric="goodput_bps", **at)
            assert goodput == Decimal(cells["bandwidth_MBps"]) * MEGA * BITS
        else:
            stored = value(MPI, metric="rtt_half_mean_s", **at)
            assert stored * MEGA == Decimal(cells["latency_us"])


def test_imb_bandwidth_is_its_latency_again_and_no_row() -> None:
    assert {c["suite"] for c in select(MPI, metric="goodput_bps")} == {"osu"}


def test_sums_of_both_directions_are_no_goodput() -> None:
    sums = {
        Decimal(c["bandwidth_MBps"]) * MEGA * BITS
        for c in printed(f"{MPI}/p2p_single_pair")
        if c["bench"] == "bibw"
    }
    assert max(sums) > 100 * 10**9  # right to exceed the link
    assert len(sums) > 80
    stored = {Decimal(c["value"]) for c in select(MPI, metric="goodput_bps")}
    assert max(stored) < 100 * 10**9
    assert not [c for c in points(MPI) if "bibw" in c["source"]]


def test_empty_messages_are_left_out() -> None:
    empty = [c for c in printed(f"{MPI}/p2p_single_pair") if c["size_bytes"] == "0"]
    assert len(empty) == 8
    assert min(int(c["payload_bytes"]) for c in points(MPI)) == 1


def test_there_are_no_message_rates_to_store() -> None:
    assert not [c for c in printed(f"{MPI}/p2p_single_pair") if c["msg_per_s"]]
    assert not select(MPI, metric="frames_per_s")


def test_the_badly_tuned_stack_is_kept_and_is_not_the_default() -> None:
    at: At = {"metric": "rtt_half_mean_s", "suite": "osu", "payload_bytes": 262144}
    assert value(MPI, partition=UNTUNED, **at) == Decimal("0.00007166")
    assert value(MPI, partition=TUNED, **at) == Decimal("0.00002599")
    assert load(MPI).option_defaults == {"partition": TUNED, "suite": "osu"}


def test_mpi_goodput_is_not_monotonic_and_kept() -> None:
    for partition in ("ib-gcc9-impi-verbs", "ib-gcc9-openmpi4-ucx", "roce-gcc9-impi-verbs"):
        assert falls(curve(MPI, metric="goodput_bps", partition=partition))


def test_roce_is_slower_than_its_own_line() -> None:
    fabrics = document(MPI)["fabrics"]
    assert isinstance(fabrics, dict)
    for partition, fabric in fabrics.items():
        fastest = max(curve(MPI, metric="goodput_bps", partition=partition))
        assert 0.8 * fabric["line_rate_bps"] < fastest < fabric["line_rate_bps"]


# --- dds-1g -------------------------------------------------------------------------------------

DDS = "dds-1g"


def test_ddsperf_prints_half_a_round_trip() -> None:
    """Round trips counted in a second x twice the mean fill the second."""
    for cells in printed(f"{DDS}/latency_summary"):
        filled = float(cells["cnt_median"]) * 2 * float(cells["mean_us_median"]) / MEGA
        assert filled == pytest.approx(1, abs=0.007)
    assert value(DDS, metric="rtt_half_mean_s", payload_bytes=12) == Decimal("0.000030663")
    assert not [
        c for c in points(DDS) if c["metric"].startswith("rtt_") and "half" not in c["metric"]
    ]


def test_every_dds_statistic_is_stored_as_printed() -> None:
    for cells in printed(f"{DDS}/latency_summary"):
        for name in ("mean", "min", "p50", "p90", "p99", "max"):
            at: At = {"metric": f"rtt_half_{name}_s", "payload_bytes": cells["size_bytes"]}
            assert value(DDS, **at) * MEGA == Decimal(cells[f"{name}_us_median"])


def test_the_quantiles_are_ordered() -> None:
    curves = [
        curve(DDS, metric=f"rtt_half_{name}_s") for name in ("min", "p50", "p90", "p99", "max")
    ]
    for quantiles in zip(*curves, strict=True):
        assert list(quantiles) == sorted(quantiles)


def test_goodput_is_rate_times_sample() -> None:
    for cells in select(DDS, metric="goodput_bps"):
        at: At = {c: cells[c] for c in ("payload_bytes", "mode")}
        rate = one(DDS, metric="frames_per_s", **at)
        low, high = (float(rate[end] or rate["value"]) for end in ("low", "high"))
        per_frame = int(cells["payload_bytes"]) * BITS
        assert low * per_frame <= float(cells["value"]) * 1.00005
        assert high * per_frame >= float(cells["value"]) * 0.99995


def test_a_sample_of_2016_is_8_bytes_more_than_its_printed_payload() -> None:
    sizes = {int(c["payload_bytes"]) for c in points(DDS) if c["mode"] != "ddsperf-2019"}
    assert sizes == {8, 24, 40, 72, 136, 264}
    for cells in printed(f"{DDS}/throughput_polling_2016"):
        size = int(cells["payload_bytes"])
        per_s = float(cells["rate_samples_per_s"])
        mbps = float(cells["app_Mbps"])
        assert per_s * (size + 8) * BITS / MEGA == pytest.approx(mbps, rel=1e-7)
        assert per_s * size * BITS / MEGA < mbps * 0.98


def test_the_runs_of_2016_and_2019_share_no_curve() -> None:
    dataset = load(DDS)
    modes = dataset.option_values("mode")
    assert len(modes) == 7
    assert {point.options[0] for point in dataset.select("dds", {})} == {"ddsperf-2019"}


def test_the_wire_load_of_2016_is_not_stored() -> None:
    raw = {Decimal(c["raw_Mbps"]) * MEGA for c in printed(f"{DDS}/throughput_polling_2016")}
    assert not raw & {Decimal(c["value"]) for c in points(DDS)}


def test_dds_cpu_is_user_plus_system_of_the_process_in_cores() -> None:
    at: At = {"payload_bytes": 12, "load_bps": "inf"}
    assert value(DDS, metric="cpu_send_process_cores", **at) == Decimal("1.07")
    assert value(DDS, metric="cpu_recv_process_cores", **at) == Decimal("1.06")
    at = {"payload_bytes": 50, "load_bps": ""}
    assert value(DDS, metric="cpu_send_process_cores", **at) == Decimal("0.215")
    assert value(DDS, metric="cpu_recv_process_cores", **at) == Decimal("0.215")


def test_no_sample_was_lost() -> None:
    assert {c["lost_samples_sum"] for c in printed(f"{DDS}/throughput_summary")} == {"0"}
    assert set(curve(DDS, metric="loss_rate")) == {0.0}


def test_small_samples_are_batched() -> None:
    """More samples a second than packets fit the wire: 1.488 M minimum frames/s at 1 Gb/s."""
    smallest_frame_bits = (12 + 64 + 38) * BITS
    assert value(DDS, metric="frames_per_s", payload_bytes=12) > 10**9 / smallest_frame_bits


# --- rdma-connectx7 -----------------------------------------------------------------------------

CX7 = "rdma-connectx7"


def test_each_setting_is_the_mean_of_its_two_runs() -> None:
    runs: dict[tuple[str, str, str], list[float]] = {}
    for cells in printed(f"{CX7}/perftest_cpu_rdma"):
        key = (cells["test"].removeprefix("ib_").removesuffix("_bw"), cells["qp"])
        runs.setdefault((*key, cells["size_bytes"]), []).append(float(cells["Gbps"]) * 1e9)
    assert len(runs) == 276
    for (test, queue_pairs, size), goodputs in runs.items():
        at: At = {"protocol": f"rdma-{test}", "queue_pairs": queue_pairs, "payload_bytes": size}
        row = one(CX7, metric="goodput_bps", **at)
        assert row["n"] == "2" == str(len(goodputs))
        assert float(row["value"]) == pytest.approx(statistics.mean(goodputs), rel=1e-9)
        assert float(row["low"]) < min(goodputs) <= max(goodputs) < float(row["high"])
        if row["std"]:
            assert float(row["std"]) == pytest.approx(statistics.stdev(goodputs), abs=1)
        else:
            assert goodputs[0] == goodputs[1]


def test_equal_prints_do_not_claim_a_spread_of_zero() -> None:
    assert not [c for c in points(CX7) if c["std"] and float(c["std"]) == 0]
    assert len([c for c in points(CX7) if not c["std"]]) == 27


def test_the_rounding_of_small_numbers_is_inside_their_range() -> None:
    row = one(CX7, protocol="rdma-write", payload_bytes=8, queue_pairs=1)
    assert [row[c] for c in ("low", "value", "high")] == ["225000000", "230000000", "235000000"]
    decimals = {
        (len(c["Gbps"].partition(".")[2]), float(c["Gbps"]) < 0.1)
        for c in printed(f"{CX7}/perftest_cpu_rdma")
    }
    assert {digits for digits, _ in decimals if digits > 2} <= {5, 6}
    assert all(small == (digits > 2) for digits, small in decimals)


def test_the_port_rate_is_not_stated_and_not_invented() -> None:
    assert load(CX7).interconnect.line_rate_bps is None
    largest = max(Decimal(c["Gbps"]) for c in printed(f"{CX7}/perftest_cpu_rdma"))
    assert largest == Decimal("230.91")
    assert any("230.91 Gb/s" in limit for limit in load(CX7).known_limits)


def test_only_averages_are_transcribed() -> None:
    assert {c["metric"] for c in printed(f"{CX7}/perftest_cpu_rdma")} == {"avg"}


def test_connectx7_goodput_is_not_monotonic_and_kept() -> None:
    assert falls(curve(CX7, protocol="rdma-write", queue_pairs=2))


# --- rdma-connectx7-ed2 -------------------------------------------------------------------------

ED2 = "rdma-connectx7-ed2"


def test_the_second_edition_has_every_row_of_the_first() -> None:
    first = {tuple(c.values()) for c in points(CX7)}
    again = [{k: v for k, v in c.items() if k != "memory"} for c in select(ED2, memory="host")]
    assert {tuple(c.values()) for c in again} == first
    assert load(ED2).option_defaults == {"memory": "host", "queue_pairs": "1"}


def test_every_number_between_gpus_is_stored_as_printed() -> None:
    for cells in printed(f"{CX7}/perftest_gpu_rdma"):
        at: At = {
            "protocol": f"rdma-{cells['test'].removeprefix('ib_').removesuffix('_bw')}",
            "queue_pairs": cells["qp"],
            "payload_bytes": cells["size_bytes"],
            "memory": "gpu",
        }
        goodput = one(ED2, metric="goodput_bps", **at)
        assert Decimal(goodput["value"]) == Decimal(cells["average_Gbps"]) * 10**9
        assert not any(goodput[column] for column in ("std", "low", "high", "n"))
        assert value(ED2, metric="frames_per_s", **at) == Decimal(cells["Mpps"]) * MEGA


def test_goodput_of_small_messages_between_gpus_is_their_rate_but_for_rounding() -> None:
    for cells in printed(f"{CX7}/perftest_gpu_rdma"):
        of_rate = Decimal(cells["Mpps"]) * MEGA * int(cells["size_bytes"]) * BITS
        digits = Decimal(10_000_000) / 2 + Decimal("0.5") * int(cells["size_bytes"]) * BITS
        assert abs(of_rate - Decimal(cells["average_Gbps"]) * 10**9) <= 2 * digits


# --- mpi-csd3 -----------------------------------------------------------------------------------

CSD3 = "mpi-csd3"
SUITE = {"latency": "osu", "bw": "osu-bw", "pingpong": "imb"}


def test_every_number_of_csd3_is_stored_as_printed() -> None:
    stored = 0
    for cells in printed(f"{CSD3}/single_pair"):
        at: At = {"payload_bytes": cells["size_bytes"], "partition": cells["partition"]}
        at |= {"suite": SUITE[cells["bench"]], "cores": 1}
        if cells["size_bytes"] == "0":
            assert not select(CSD3, **at)
        elif cells["bench"] == "bw":
            goodput = value(CSD3, metric="goodput_bps", **at)
            assert goodput == Decimal(cells["bandwidth_MBps"]) * MEGA * BITS
            stored += 1
        else:
            half = value(CSD3, metric="rtt_half_mean_s", **at)
            assert half * MEGA == Decimal(cells["latency_us"])
            stored += 1
    for cells in printed(f"{CSD3}/pairs"):
        at = {"payload_bytes": cells["size_bytes"], "partition": cells["partition"]}
        at |= {"suite": "osu", "cores": cells["pairs"]}
        goodput = value(CSD3, metric="goodput_bps", **at)
        assert goodput == Decimal(cells["bandwidth_MBps"]) * MEGA * BITS
        assert value(CSD3, metric="frames_per_s", **at) == Decimal(cells["msg_per_s"])
        stored += 2
    assert stored == len(points(CSD3))


def test_mb_of_osu_mbw_mr_is_10_to_the_6_and_the_sum_of_all_pairs() -> None:
    for cells in printed(f"{CSD3}/pairs"):
        of_rate = float(cells["msg_per_s"]) * int(cells["size_bytes"]) / MEGA
        assert float(cells["bandwidth_MBps"]) == pytest.approx(of_rate, rel=1e-3, abs=0.006)
    small: At = {"metric": "frames_per_s", "payload_bytes": 1, "partition": "ib-gcc9-ompi3-ucx"}
    assert value(CSD3, cores=16, **small) > 14 * value(CSD3, cores=1, **small)


# --- tcp-connectx7 ------------------------------------------------------------------------------

TCP7 = "tcp-connectx7"


def test_each_setting_of_parallel_streams_is_the_mean_of_its_runs() -> None:
    runs: dict[tuple[str, str, str, str], list[float]] = {}
    for mtu in ("1500", "9000"):
        for cells in printed(f"{TCP7}/streams_mtu{mtu}"):
            assert cells["mtu"] == mtu
            key = (mtu, cells["interface"], cells["block"], cells["streams"])
            runs.setdefault(key, []).append(float(cells["received_Gbps"]) * 1e9)
    assert len(runs) == len(points(TCP7))
    for (mtu, interface, block, streams), goodputs in runs.items():
        payload = int(block.removesuffix("K")) * 1024
        at: At = {"mtu": mtu, "interface": interface, "payload_bytes": payload, "cores": streams}
        row = one(TCP7, metric="goodput_bps", **at)
        assert row["n"] == str(len(goodputs)) == ("30" if mtu == "1500" else "6")
        assert float(row["value"]) == pytest.approx(statistics.mean(goodputs), abs=1)
        assert float(row["std"]) == pytest.approx(statistics.stdev(goodputs), abs=1)


def test_one_stream_at_mtu_1500_is_left_out() -> None:
    assert not select(TCP7, mtu=1500, cores=1)
    assert len(select(TCP7, mtu=9000, cores=1)) == 8


def test_every_ordered_pair_of_six_nodes_was_measured_once_at_mtu_1500() -> None:
    for streams in ("2", "4", "8", "16", "32", "64", "128"):
        pairs = [
            (c["server"], c["client"])
            for c in printed(f"{TCP7}/streams_mtu1500")
            if c["streams"] == streams
        ]
        assert sorted(pairs) == sorted(itertools.permutations("012345", 2))

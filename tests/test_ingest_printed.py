"""Results printed with few digits are taken; a wrong unit is found nevertheless.

The truths are made here, printed as each tool prints them with any number of digits that it may
use, and read again: rounding contradicts nothing, and a number in another unit does.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icmodel.errors import RecordError
from icmodel.ingest import Ingested, Labels, column_map, ingest
from icmodel.ingest.consistency import line_rate_remarks, problems
from icmodel.ingest.result import Number, exact, printed
from ingest_cases import TEN_GIGABIT, made, numbers
from search import times

MEBI = 2**20


@dataclass(frozen=True)
class Truth:
    """True numbers of one run; ``slip`` is the factor of a number that is printed twice."""

    payload: int
    rate: float
    digits: int
    slip: float = 1.0

    @property
    def bps(self) -> float:
        """Received rate [b/s]."""
        return self.rate * self.payload * 8

    @property
    def half_us(self) -> float:
        """Half a round trip [us]; without queueing it follows from the rate."""
        return 5e5 / self.rate

    def of(self, value: float) -> str:
        """Text of a value with the tool's number of decimals."""
        return f"{value:.{self.digits}f}"

    def cut(self, value: float) -> str:
        """Text of a value whose further decimals are cut off."""
        scale = 10**self.digits
        return f"{math.floor(value * scale) / scale:.{self.digits}f}"


BW_HEAD = " #bytes #iterations BW peak[MiB/sec] BW average[MiB/sec] MsgRate[Mpps]\n"


def perftest_bits(run: Truth) -> str:
    head = "RDMA_Write BW Test\n Connection type : RC\n" + BW_HEAD.replace("MiB", "Gb")
    peak, rate = run.of(run.bps / 1e9), f"{run.rate / 1e6:.6f}"
    return f"{head} {run.payload} 5000 {peak} {run.of(run.slip * run.bps / 1e9)} {rate}\n"


def perftest_bytes(run: Truth) -> str:
    head = "RDMA_Write BW Test\n Connection type : RC\n" + BW_HEAD
    speed = run.bps / 8 / MEBI
    rate = f"{run.rate / 1e6:.6f}"
    return f"{head} {run.payload} 5000 {run.of(speed)} {run.of(run.slip * speed)} {rate}\n"


def perftest_latency(run: Truth) -> str:
    head = (
        "RDMA_Write Latency Test\n Connection type : RC\n"
        " #bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] "
        "99% percentile[usec] 99.9% percentile[usec]\n"
    )
    least, typical, mean, far = (run.half_us * by for by in (1.0, 1.001, 1.002, 1.003))
    shown = [
        run.of(value) for value in (least, 3 * far, typical, run.slip * mean, 0.1, far, 2 * far)
    ]
    return f"{head} {run.payload} 1000 {' '.join(shown)}\n"


def libzmq(run: Truth) -> str:
    bits = math.floor(run.rate) * run.payload * 8 / 1e6
    return (
        f"message size: {run.payload} [B]\nmessage count: 100000\n"
        f"mean throughput: {math.floor(run.rate)} [msg/s]\n"
        f"mean throughput: {run.of(run.slip * bits)} [Mb/s]\n"
    )


def sockperf(run: Truth) -> str:
    bits = run.payload * run.rate / MEBI
    return (
        f"sockperf: == version #3.7 ==\n[ 0] IP = 10.0.0.2 PORT = 1 # TCP\n"
        f"sockperf: NOTE: test was performed, using msg-size={run.payload}.\n"
        f"sockperf: Summary: Message Rate is {math.floor(run.rate)} [msg/sec]\n"
        f"sockperf: Summary: BandWidth is {run.of(run.slip * bits)} MBps ({run.of(bits * 8)} Mbps)\n"
    )


def sockperf_latency(run: Truth) -> str:
    least, middle, mean = (run.half_us * by for by in (1.0, 1.0005, 1.001))
    return (
        f"sockperf: == version #3.7 ==\n[ 0] IP = 10.0.0.2 PORT = 1 # TCP\n"
        f"sockperf: using msg-size={run.payload}\n"
        "sockperf: [Valid Duration] RunTime=1.000 sec; SentMessages=3000; ReceivedMessages=3000\n"
        f"sockperf: ====> avg-latency={run.of(run.slip * mean)} (std-dev={run.of(0.1)})\n"
        "sockperf: Total 3000 observations; each percentile contains 30 observations\n"
        f"sockperf: ---> <MAX> observation = {run.of(2 * mean)}\n"
        f"sockperf: ---> percentile 50.000 = {run.of(middle)}\n"
        f"sockperf: ---> <MIN> observation = {run.of(least)}\n"
    )


def ntttcp_windows(run: Truth) -> str:
    return (
        '<ntttcpr computername="B" version="5.35"><parameters><udp>False</udp></parameters>'
        f'<thread index="0"/><total_bytes metric="MB">{run.of(10 * run.bps / 8 / MEBI)}'
        '</total_bytes><realtime metric="s">10.000</realtime>'
        f'<throughput metric="mbps">{run.of(run.slip * run.bps / 1e6)}</throughput>'
        f"<bufferLen>{run.payload}</bufferLen></ntttcpr>"
    )


def ntttcp_console(run: Truth) -> str:
    return (
        "# ./ntttcp -s 192.0.2.2\nNTTTCP for Linux 1.4.0\n"
        "22:36:42 INFO: test duration    :10.00 seconds\n"
        f"22:36:42 INFO: total bytes      :{round(10 * run.bps / 8)}\n"
        f"22:36:42 INFO:   throughput     :{run.of(run.slip * run.bps / 1e9)}Gbps\n"
    )


def qperf(run: Truth) -> str:
    speed, rate = (f"{value:.3g}" for value in (run.slip * run.bps / 8e6, run.rate / 1e3))
    speed, rate = (f"{Decimal(text):f}" for text in (speed, rate))
    return (
        f"tcp_bw:\n    bw  =  {speed} MB/sec\n    msg_rate  =  {rate} K/sec\n"
        f"    msg_size  =  {run.payload} bytes\n"
    )


def netperf_round_trip(run: Truth) -> str:
    head = (
        "Throughput,Throughput Units,Minimum Latency Microseconds,50th Percentile Latency "
        "Microseconds,Maximum Latency Microseconds,Request Size Bytes,Response Size Bytes"
    )
    trip = 2 * run.half_us
    row = f"{run.of(run.slip * run.rate)},Trans/s,{math.floor(trip)},{math.floor(trip)}"
    banner = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to b () port 0"
    return f"{banner}\n{head}\n{row},{math.floor(trip) + 1},{run.payload},{run.payload}\n"


def netperf_both_ends(run: Truth) -> str:
    count = round(10 * run.rate)
    mbps = 8 * run.payload * count / 10 / 1e6
    return (
        "$ netperf -t UDP_STREAM -H b\n"
        "UDP UNIDIRECTIONAL SEND TEST from 0.0.0.0 () port 0 AF_INET to b () port 0 AF_INET\n"
        "Socket  Message  Elapsed      Messages\nSize    Size     Time         Okay Errors   "
        "Throughput\nbytes   bytes    secs            #      #   10^6bits/sec\n\n"
        f"212992    {run.payload}   10.00   {count}      0     {run.of(mbps)}\n"
        f"212992            10.00   {count}   {run.of(run.slip * mbps)}\n"
    )


def osu_pairs(run: Truth) -> str:
    return (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.3\n"
        "# [ pairs: 4 ] [ window size: 64 ]\n# Size                  MB/s        Messages/s\n"
        f"{run.payload} {run.slip * run.bps / 8e6:.2f} {run.rate:.2f}\n"
    )


def imb_pingpong(run: Truth) -> str:
    return (
        "# Benchmarking PingPong \n# #processes = 2 \n"
        "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
        f"{run.payload} 1000 {run.half_us:.2f} {run.of(run.slip * run.payload / run.half_us)}\n"
    )


def iperf2_tcp(run: Truth) -> str:
    return (
        "Server listening on TCP port 5001\n[ ID] Interval       Transfer     Bandwidth\n"
        f"[  1] 0.0000-10.0000 sec  {run.of(10 * run.bps / 8 / MEBI)} MBytes  "
        f"{run.of(run.slip * run.bps / 1e6)} Mbits/sec\n"
    )


def iperf2_udp(run: Truth) -> str:
    arrived = round(10 * run.rate)
    run = replace(run, rate=arrived / 10)
    return (
        f"Client connecting to 192.0.2.2, UDP port 5001\nSending {run.payload} byte datagrams\n"
        f"[  1] 0.0000-10.0000 sec  {run.of(10 * run.bps / 8 / MEBI)} MBytes  "
        f"{run.of(run.bps / 1e6)} Mbits/sec\n[  1] Server Report:\n"
        f"[  1] 0.0000-10.0000 sec  {run.of(10 * run.bps / 8 / MEBI)} MBytes  "
        f"{run.of(run.slip * run.bps / 1e6)} Mbits/sec  0.001 ms 3/{arrived + 3} "
        f"({300 / (arrived + 3):.2g}%)\n"
    )


def table(run: Truth) -> str:
    columns = (run.bps / 1e6 * run.slip, run.rate / 1e3, run.half_us, 2 * run.half_us)
    return "size,speed,rate,half,whole\n" + ",".join(
        [str(run.payload), *(run.of(value) for value in columns)]
    )


COLUMNS = column_map(
    {
        "columns": {
            "size": {"field": "payload_bytes", "unit": "B"},
            "speed": {"field": "goodput_bps", "unit": "Mb/s"},
            "rate": {"field": "frames_per_s", "unit": "k/s"},
            "half": {"field": "rtt_half_mean_s", "unit": "us"},
            "whole": {"field": "rtt_mean_s", "unit": "us"},
        }
    },
    "test",
)
TOOLS: dict[str, Callable[[Truth], str]] = {
    one.__name__: one
    for one in (
        perftest_bits,
        perftest_bytes,
        perftest_latency,
        libzmq,
        sockperf,
        sockperf_latency,
        ntttcp_windows,
        ntttcp_console,
        qperf,
        netperf_round_trip,
        netperf_both_ends,
        osu_pairs,
        imb_pingpong,
        iperf2_tcp,
        iperf2_udp,
        table,
    )
}
SLIPS = {name: 1e-3 if name == "perftest_latency" else 1e3 for name in TOOLS}
"""Factor of a wrong prefix: more arrives than was sent, or the mean is below the least."""


def taken(name: str, run: Truth) -> Ingested:
    """Numbers that are read from the output of a tool for a run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.txt"
        file.write_text(TOOLS[name](run), encoding="utf-8")
        given_labels = Labels(
            protocol=None if name != "table" else "tcp",
            payload_bytes=run.payload if name in ("ntttcp_console", "iperf2_tcp") else None,
        )
        return ingest(
            [file],
            labels=given_labels,
            columns=COLUMNS if name == "table" else None,
        )


NOTHING = ("moved no byte", "sent no message", "no message was sent")
"""Words of messages about a run so slow that its tool prints 0, or a failed run."""


def refusal(name: str, run: Truth) -> str:
    """Reason for refusing the output of a tool for a run; empty if it is used."""
    try:
        taken(name, run)
    except RecordError as error:
        return str(error)
    return ""


RUNS = st.builds(
    Truth,
    payload=st.integers(1, 65507),
    rate=st.floats(math.log(2), math.log(5e6)).map(math.exp),
    digits=st.integers(0, 6),
)


@pytest.mark.parametrize("name", sorted(TOOLS))
@settings(max_examples=times(25))
@given(run=RUNS)
def test_a_right_result_with_any_digits_is_taken(name: str, run: Truth) -> None:
    why = refusal(name, run)
    assert not why or any(words in why for words in NOTHING), why


@pytest.mark.parametrize("name", sorted(set(TOOLS) - {"netperf_round_trip"}))
@settings(max_examples=times(15))
@given(payload=st.integers(1000, 65507), rate=st.floats(1e4, 3e5), digits=st.integers(2, 6))
def test_a_number_in_another_unit_is_found(
    name: str, payload: int, rate: float, digits: int
) -> None:
    with pytest.raises(RecordError):
        taken(name, Truth(payload, rate, digits, SLIPS[name]))


def test_the_goodput_of_small_messages_is_as_fine_as_their_rate() -> None:
    got = numbers(taken("perftest_bits", Truth(4, 3.870746e6, 2)))
    assert got["goodput_bps"] == 3.870746e6 * 32
    assert got["frames_per_s"] == 3.870746e6


@given(st.floats(1e-6, 1e9), st.integers(0, 9))
def test_a_printed_number_is_within_half_a_unit_of_its_last_digit(
    value: float, digits: int
) -> None:
    for cut in (False, True):
        text = Truth(1, 1.0, digits).cut(value) if cut else f"{value:.{digits}f}"
        shown = printed(text, truncated=cut)
        assert shown.low * (1 - 1e-9) <= value <= shown.high * (1 + 1e-9)
        assert shown.high - shown.low <= 1.5 * 10.0**-digits + 1e-9 * value


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("0.12", 0.115, 0.125), ("15", 14.5, 15.5), ("1.2e3", 1150, 1250), ("0", 0, 0.5)],
)
def test_the_last_digit_gives_the_rounding_interval(text: str, low: float, high: float) -> None:
    assert (printed(text).low, printed(text).high) == pytest.approx((low, high))


def test_products_and_quotients_keep_the_rounding_interval() -> None:
    shown = printed("0.12") * 2
    assert (shown.low, shown.value, shown.high) == (0.23, 0.24, 0.25)
    whole = exact(1.0) / printed("4")
    assert (whole.low, whole.high) == (1 / 4.5, 1 / 3.5)


@pytest.mark.parametrize(("over", "refused"), [(1.003, False), (1.011, False), (1.03, True)])
def test_a_little_above_the_line_is_a_remark_and_more_a_refusal(over: float, refused: bool) -> None:
    result = made({"goodput_bps": over * 10e9}, protocol="mpi")
    assert bool(list(problems(result, TEN_GIGABIT))) is refused
    assert bool(list(line_rate_remarks(result, TEN_GIGABIT))) is (over > 1.01)


def test_a_remark_stands_in_the_notes(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("size,speed\n65536,10110\n")
    columns = column_map(
        {
            "columns": {
                "size": {"field": "payload_bytes", "unit": "B"},
                "speed": {"field": "goodput_bps", "unit": "Mb/s"},
            }
        },
        "test",
    )
    got = ingest(
        [tmp_path / "run.csv"], columns=columns, labels=Labels(protocol="mpi"), link=TEN_GIGABIT
    )
    assert any("is above the" in note and "2%" in note for note in got.notes)


def test_rounding_is_no_contradiction_of_order() -> None:
    rounded = made({}, protocol="tcp")
    parts = (
        Number("rtt_min_s", 15e-6, "both ends", half=0.5e-6),
        Number("rtt_mean_s", 14.9e-6, "both ends", half=0.05e-6),
    )
    assert list(problems(replace(rounded, numbers=parts), None)) == []
    finer = tuple(part._replace(half=0.0) for part in parts)
    assert list(problems(replace(rounded, numbers=finer), None))

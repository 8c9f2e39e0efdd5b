"""Rows of data/infiniband-qdr-connectx2 from three result files of ibv_message_passing.

``build_published.py`` writes them; the rules are in data/infiniband-qdr-connectx2/README.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Context, Decimal

from points import Row, transcription

NAME = "infiniband-qdr-connectx2"
ORIGIN = "ibv_message_passing 2e33bc60"
MICRO = Decimal("0.000001")
MEGA = Decimal(1_000_000)
MIB = 2**20  # perftest's MB
BITS = 8
HALF = Decimal("0.5")
UNLIMITED = Decimal("inf")
MESSAGE_BYTES = 120  # message size of every round_trip_rate run
SIX_DIGITS = Context(prec=6)
FOUR_DIGITS = Context(prec=4)  # user and system seconds have three to four digits

SECTIONS = {  # section of the results file -> fabric, and machine that echoes
    "Tests over 1Gb motherboard Ethernet": ("1gbe", "pc"),
    "Tests over 10Gb MHQH29C-XTR Ethernet": ("10gbe", "pc"),
    "Tests over 10Gb MHQH29C-XTR RoCEv1 RDMA": ("rocev1", "pc"),
    "Tests over 40Gb MHQH29C-XTR Infiniband RDMA": ("qdr", "pc"),
    "Tests over 1Gb motherboard Ethernet (with Zync as server)": ("1gbe", "zynq"),
    "Tests over 10Gb MHQH29C-XTR Ethernet (with Zync as server)": ("10gbe", "zynq"),
    "Tests over 10Gb MHQH29C-XTR RoCEv1 RDMA (with Zync as server)": ("rocev1", "zynq"),
    "Tests over 40Gb MHQH29C-XTR Infiniband RDMA (with Zync as server)": ("qdr", "zynq"),
}
TRANSPORTS = {"tcp": "tcp", "rdma": "rdma-message"}
Cells = dict[str, str]
Run = tuple[str, str, int]  # section, transport, threads


# --- ibv_pingpong: sends over RC or UC, from one port of the adapter to the other ---------------


def busy_cores(cells: Cells, side: str) -> Decimal:
    """Return user and system seconds of one process over the length of its run."""
    elapsed_s = int(cells["num_exchanges"]) * Decimal(cells["usec_per_iter"]) * MICRO
    busy_s = Decimal(cells[f"{side}_user_s"]) + Decimal(cells[f"{side}_system_s"])
    return FOUR_DIGITS.divide(busy_s, elapsed_s)


def pingpong_rows() -> Iterator[Row]:
    """Yield the printed round trip, half of it, and the CPU of both processes."""
    for cells in transcription(f"{NAME}/ibv_pingpong.csv"):
        round_trip_s = Decimal(cells["usec_per_iter"]) * MICRO
        for metric, value, basis, rule in (
            ("rtt_mean_s", round_trip_s, "tabulated", ""),
            ("rtt_half_mean_s", round_trip_s * HALF, "derived", "; half the round trip"),
            ("cpu_send_process_cores", busy_cores(cells, "client"), "derived", "; seconds / run"),
            ("cpu_recv_process_cores", busy_cores(cells, "server"), "derived", "; seconds / run"),
        ):
            yield Row(
                protocol=cells["program"].split("_")[1],
                metric=metric,
                value=value,
                basis=basis,
                source=f"{ORIGIN} ibv_pingpong{rule}",
                payload_bytes=int(cells["message_bytes"]),
                cores=1,
                switches=0,
                endpoints=1,
                options={"fabric": "qdr", "path_mtu": cells["path_mtu"]},
            )


# --- ib_write_bw: a stream of RDMA writes, port to port -----------------------------------------


def write_rows() -> Iterator[Row]:
    """Yield average goodput (MiB/s) and message rate; the printed peak is not a run's goodput."""
    for cells in transcription(f"{NAME}/ib_write_bw.csv"):
        goodput_bps = Decimal(cells["bw_avg_mib_s"]) * MIB * BITS
        frames_per_s = Decimal(cells["msg_rate_mpps"]) * MEGA
        for metric, value in (("goodput_bps", goodput_bps), ("frames_per_s", frames_per_s)):
            yield Row(
                protocol="rdma-write",
                metric=metric,
                value=value,
                basis="tabulated",
                source=f"{ORIGIN} ib_write_bw",
                payload_bytes=int(cells["size_bytes"]),
                load_bps=UNLIMITED,
                cores=1,
                switches=0,
                endpoints=1,
                options={"fabric": "qdr", "path_mtu": "4096"},
            )


# --- round_trip_rate: 120 B echoed between two machines over four fabrics -----------------------


def runs() -> dict[Run, dict[str, list[Cells]]]:
    """Return the threads by run and side; duplicate rows of the file count once."""
    found: dict[Run, dict[str, list[Cells]]] = {}
    for cells in transcription(f"{NAME}/round_trip_rate.csv"):
        transport, side = cells["role"].split("_")
        run = (cells["section"], transport, int(cells["threads"]))
        threads = found.setdefault(run, {"client": [], "server": []})[side]
        if cells not in threads:
            threads.append(cells)
    return found


def thread_seconds(cells: Cells) -> Decimal:
    """Return the mean round trip of one thread [s], which has one message in flight at a time."""
    return Decimal(cells["seconds"]) / int(cells["messages"])


def process_cores(threads: list[Cells]) -> Decimal:
    """Return busy cores of one side: user and system over elapsed seconds, summed over threads."""
    shares = (
        (Decimal(cells["user_s"]) + Decimal(cells["system_s"])) / Decimal(cells["seconds"])
        for cells in threads
    )
    return SIX_DIGITS.plus(sum(shares, Decimal(0)))


def mean_round_trip(threads: list[Cells]) -> Decimal:
    """Return the mean round trip over all messages of all threads [s]."""
    seconds = sum((Decimal(cells["seconds"]) for cells in threads), Decimal(0))
    return seconds / sum(int(cells["messages"]) for cells in threads)


def echo_row(run: Run, metric: str, value: Decimal | int, basis: str, rule: str) -> Row:
    """Make the row of one number of an echo run; ``cores`` are its threads, one per core."""
    section, transport, threads = run
    fabric, server = SECTIONS[section]
    return Row(
        protocol=TRANSPORTS[transport],
        metric=metric,
        value=value,
        basis=basis,
        source=f"{ORIGIN} round_trip_rate{rule}",
        payload_bytes=MESSAGE_BYTES,
        cores=threads,
        endpoints=1,
        options={"fabric": fabric, "server": server},
    )


def round_trip_row(run: Run, threads: list[Cells], part: Decimal, metric: str, rule: str) -> Row:
    """Make the row of the mean round trip (or ``part`` of it).

    Its range is from the fastest to the slowest thread.
    """
    row = echo_row(
        run, metric, SIX_DIGITS.plus(part * mean_round_trip(threads)), "derived", f"; {rule}"
    )
    if len(threads) == 1:
        return row
    each = [SIX_DIGITS.plus(part * thread_seconds(cells)) for cells in threads]
    return replace(row, low=min(each), high=max(each))


def echo_rows() -> Iterator[Row]:
    """Yield rate, round trip and CPU of every run, as the client measured them."""
    for run, sides in runs().items():
        client, server = sides["client"], sides["server"]
        rate = sum(int(cells["messages_per_s"]) for cells in client)
        summed = "; sum of the threads" if len(client) > 1 else ""
        yield echo_row(run, "frames_per_s", rate, "derived" if summed else "tabulated", summed)
        yield round_trip_row(run, client, Decimal(1), "rtt_mean_s", "seconds / messages")
        yield round_trip_row(run, client, HALF, "rtt_half_mean_s", "half of seconds / messages")
        for metric, threads in (
            ("cpu_send_process_cores", client),
            ("cpu_recv_process_cores", server),
        ):
            yield echo_row(run, metric, process_cores(threads), "derived", "; seconds / run")


def rows() -> Iterator[Row]:
    """Yield every row of the dataset."""
    yield from pingpong_rows()
    yield from write_rows()
    yield from echo_rows()

"""ethernet-10g-2012 holds the thesis' tables, its stated numbers, and rows made by named rules."""

from __future__ import annotations

import csv
import hashlib
import re
import statistics
import subprocess
import sys
import tomllib
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest

from icmodel.dataset import load

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "data" / "ethernet-10g-2012"
CASES = ROOT / "tests" / "cases" / "ic2012"
LATENCY = {
    "Average": "latency_mean_s",
    "Minimum": "latency_min_s",
    "Maximum": "latency_max_s",
    "Standard deviation": "latency_std_s",
}
RATES = {
    "Sent goodput": ("sent_bps", Decimal("1E9")),
    "Received goodput": ("goodput_bps", Decimal("1E9")),
    "Loss": ("loss_rate", Decimal("0.01")),
}
US, NS = Decimal("1E-6"), Decimal("1E-9")
PREDICTED_LOAD = 6700 * 65535 * 8
A_PREDICTION = "a prediction of the original, not a measurement"


@cache
def points() -> tuple[dict[str, str], ...]:
    with (FOLDER / "points.csv").open(encoding="utf-8", newline="") as handle:
        return tuple(csv.DictReader(handle))


def rows(**where: str) -> list[dict[str, str]]:
    return [row for row in points() if all(row[key] == text for key, text in where.items())]


def only(**where: str) -> dict[str, str]:
    found = rows(**where)
    assert len(found) == 1, (where, len(found))
    return found[0]


def curve(metric: str, **where: str) -> dict[int, Decimal]:
    """Payload -> value of one curve."""
    return {
        int(row["payload_bytes"]): Decimal(row["value"])
        for row in rows(metric=metric, test="", priority="", **where)
    }


def tcp(metric: str, load_bps: str, nagle: str = "on") -> dict[int, Decimal]:
    found = rows(protocol="tcp", metric=metric, load_bps=load_bps, cores="4", nagle=nagle, test="")
    kept = [row for row in found if row["read"] != "blocking" and not row["priority"]]
    return {int(row["payload_bytes"]): Decimal(row["value"]) for row in kept}


def printed(table: str) -> list[tuple[str, str, str]]:
    """The second transcription of a table: row, column and text of every cell."""
    with (CASES / f"table_{table}.csv").open(encoding="utf-8", newline="") as handle:
        return [(line["row"], line["column"], line["value"]) for line in csv.DictReader(handle)]


def number(text: str) -> Decimal:
    return Decimal(text.removesuffix("%"))


def label(text: str) -> str:
    """A row's name without its unit."""
    return text.split(" (")[0]


# --- the tables, transcribed twice ------------------------------------------------------------


def test_table_4_1_stands_as_blocking_reads_in_both_directions() -> None:
    cells = printed("4_1")
    assert len(cells) == 8
    for name, column, text in cells:
        test = "a-to-b" if "A to B" in column else "b-to-a"
        row = only(
            protocol="tcp", payload_bytes="65500", load_bps="1000000000", read="blocking",
            test=test, metric=LATENCY[label(name)],
        )  # fmt: skip
        assert (Decimal(row["value"]), row["basis"]) == (number(text) * NS, "tabulated")


@pytest.mark.parametrize(("table", "test"), [("4_2", "a-to-b"), ("4_3", "b-to-a")])
def test_tables_4_2_and_4_3_stand_by_cpu_and_in_sum(table: str, test: str) -> None:
    compared = 0
    for name, column, text in printed(table):
        if label(name) == "Sent":
            continue
        metric, unit = RATES[label(name)]
        one = test if column == "Sum" else f"{test}-{column.lower()}"
        row = only(protocol="tcp", payload_bytes="1448", load_bps="inf", test=one, metric=metric)
        assert (Decimal(row["value"]), row["basis"]) == (number(text) * unit, "tabulated")
        compared += 1
    assert compared == 15


@pytest.mark.parametrize(("table", "read"), [("4_4", "blocking"), ("4_6", "nonblocking")])
def test_tables_4_4_and_4_6_stand_run_by_run_and_as_their_mean(table: str, read: str) -> None:
    runs: dict[str, list[Decimal]] = {}
    where = {"protocol": "tcp", "payload_bytes": "65500", "load_bps": "1000000000", "read": read}
    for name, column, text in printed(table):
        metric = LATENCY[label(name)]
        row = only(**where, metric=metric, test=f"run-{int(column):02}")
        assert (Decimal(row["value"]), row["basis"]) == (number(text) * US, "tabulated")
        runs.setdefault(metric, []).append(number(text) * US)
    assert {metric: len(values) for metric, values in runs.items()} == dict.fromkeys(runs, 10)
    for metric, values in runs.items():
        row = only(**where, metric=metric, test="")
        assert Decimal(row["value"]) == statistics.mean(values)
        assert (Decimal(row["low"]), Decimal(row["high"])) == (min(values), max(values))
        assert float(row["std"]) == pytest.approx(float(statistics.stdev(values)), rel=5e-3)
        assert row["n"] == "10"


def test_table_4_5_stands_run_by_run_and_its_mean_in_the_curve() -> None:
    received: list[Decimal] = []
    where = {"protocol": "tcp", "payload_bytes": "1448", "load_bps": "inf", "cores": "4"}
    for name, column, text in printed("4_5"):
        if label(name) == "Sent":
            continue
        metric, unit = RATES[label(name)]
        row = only(**where, metric=metric, test=f"run-{int(column):02}")
        assert (Decimal(row["value"]), row["basis"]) == (number(text) * unit, "tabulated")
        if metric == "goodput_bps":
            received.append(number(text) * unit)
    assert len(received) == 10
    row = only(**where, metric="goodput_bps", test="", nagle="on")
    assert Decimal(row["value"]) == statistics.mean(received)
    assert (Decimal(row["low"]), Decimal(row["high"])) == (min(received), max(received))
    assert Decimal("9.35E9") < Decimal(row["value"]) < Decimal("9.45E9")


def test_table_6_2_stands_as_printed_and_gives_the_loss() -> None:
    metrics = {
        "Benchmarked goodput 4cpus (Gb/s)": ("goodput_bps", Decimal("1E9")),
        "Packets sent /second": ("packets_sent_per_s", Decimal(1)),
        "Packets received /second": ("packets_received_per_s", Decimal(1)),
    }
    packets: dict[str, dict[str, Decimal]] = {}
    for payload, column, text in printed("6_2"):
        metric, unit = metrics[column]
        row = only(protocol="ethernet", payload_bytes=payload, cores="4", metric=metric)
        assert (Decimal(row["value"]), row["basis"]) == (number(text) * unit, "tabulated")
        packets.setdefault(payload, {})[metric] = number(text)
    assert len(packets) == 14
    for payload, both in packets.items():
        row = only(protocol="ethernet", payload_bytes=payload, metric="loss_rate")
        lost = 1 - both["packets_received_per_s"] / both["packets_sent_per_s"]
        assert float(row["value"]) == pytest.approx(float(lost), rel=1e-5)
        assert (row["cores"], row["basis"]) == ("4", "derived")
    assert float(only(protocol="ethernet", payload_bytes="512", metric="loss_rate")["value"]) == (
        pytest.approx(0.00156, abs=5e-6)
    )


def test_no_other_row_is_tabulated() -> None:
    tables = {"4-1": 8, "4-2": 15, "4-3": 15, "4-4": 44, "4-5": 31, "4-6": 44, "6-2": 42}
    found = dict.fromkeys(tables, 0)
    for row in points():
        if row["basis"] == "tabulated":
            match = re.fullmatch(r"IC2012 table (\S+?)(, mean of ten runs)?", row["source"])
            assert match is not None, row["source"]
            found[match[1]] += 1
    assert found == tables


# --- table 8-2 --------------------------------------------------------------------------------


def test_no_row_stands_at_the_load_of_table_8_2() -> None:
    assert PREDICTED_LOAD == 3_512_676_000
    assert not rows(load_bps=str(PREDICTED_LOAD))


@pytest.mark.parametrize("metric", ["latency_mean_s", "latency_std_s", "cpu_send", "cpu_recv"])
def test_of_the_two_load_rows_beside_it_one_is_assumed_and_one_derived(metric: str) -> None:
    found = rows(protocol="tcp", payload_bytes="65535", metric=metric, nagle="on", test="")
    limited = sorted((Decimal(r["load_bps"]), r["basis"], r["source"]) for r in found)
    below = [row for row in limited if row[0] < PREDICTED_LOAD][-1]
    above = next(row for row in limited if row[0] > PREDICTED_LOAD)
    assert sorted((below[1], above[1])) == ["assumed", "derived"]
    derived = below if below[1] == "derived" else above
    assert derived[2].endswith(A_PREDICTION)
    assert sum(A_PREDICTION in source for _, _, source in limited) == 1


def between(metric: str, first: str, second: str) -> Decimal:
    """The straight line between two load rows, at the load of table 8-2."""
    ends = [tcp(metric, text)[65535] for text in (first, second)]
    weight = (PREDICTED_LOAD - Decimal(first)) / (Decimal(second) - Decimal(first))
    return ends[0] + weight * (ends[1] - ends[0])


def test_the_straight_lines_give_table_8_2_to_its_last_digit() -> None:
    said = {label(name): number(text) for name, column, text in printed("8_2")}
    mean = (between("latency_mean_s", "2500000000", "5000000000") + Decimal("5.9E-6")) / US
    assert round(mean, 7) == said["Average latency"]
    deviation = between("latency_std_s", "2500000000", "5000000000") / US
    assert round(deviation, 7) == said["Standard deviation of average latency"]
    for metric, name in (("cpu_send", "Sending"), ("cpu_recv", "Receiving")):
        share = between(metric, "100000000", "5000000000") * 100
        assert round(share, 6) == said[f"{name} CPU utilization"]


def test_readme_says_that_table_8_2_validates_nothing() -> None:
    text = " ".join((FOLDER / "README.md").read_text(encoding="utf-8").split())
    assert "Reproducing table 8-2 is no validation" in text
    assert A_PREDICTION in text
    assert "0.405 µs" in text


def test_the_mean_at_65535_bytes_grows_with_the_load() -> None:
    loads = ("100000000", "1000000000", "2500000000", "5000000000", "7500000000", "9400000000")
    for metric in ("latency_mean_s", "latency_std_s"):
        values = [tcp(metric, load)[65535] for load in loads]
        assert values == sorted(values)
        assert len(set(values)) == len(values)


# --- what the sentences demand of the rows ----------------------------------------------------


def goodput(protocol: str, cores: int, load_bps: str = "inf") -> dict[int, Decimal]:
    nagle = "on" if protocol == "tcp" else ""
    return curve(
        "goodput_bps", protocol=protocol, cores=str(cores), load_bps=load_bps, nagle=nagle,
        switches="0",
    )  # fmt: skip


def expected(protocol: str, payload: int) -> Decimal:
    """The thesis' expected maximum: one header per packet, unpadded."""
    count = {"tcp": -(-payload // 1448), "udp": -(-(payload + 8) // 1480), "ethernet": 1}[protocol]
    head = {"tcp": 90 * count, "udp": 58 * count + 8, "ethernet": 38}[protocol]
    return Decimal(10**10) * payload / (payload + head)


def test_tcp_passes_the_expectation_from_256_to_2048_bytes_only_on_four_cores() -> None:
    four, one = goodput("tcp", 4), goodput("tcp", 1)
    assert all(four[p] < expected("tcp", p) for p in four if p < 256)
    assert all(four[p] > expected("tcp", p) for p in (256, 512, 1024, 1449, 2048))
    assert all(one[p] < expected("tcp", p) for p in one if p < 4096)
    assert {one[p] for p in one if p >= 4096} == {Decimal("9.4E9")}


def test_udp_falls_at_1473_bytes_and_returns_at_aligned_sizes_but_two() -> None:
    four, nine = goodput("udp", 4), Decimal("9.4E9")
    assert four[1472] == four[7392] == four[48832] == Decimal("9.6E9")
    assert all(four[p] < nine for p in four if 1472 < p < 7392)
    assert all(four[p] < four[q] for p, q in ((1473, 2048), (2048, 2952), (4096, 4432)))
    assert all(four[p] <= expected("udp", p) for p in four if p <= 1024)


def test_udp_loses_at_the_largest_sizes_when_offered_10_and_not_9_6() -> None:
    lost = {cores: curve("loss_rate", protocol="udp", cores=str(cores), load_bps="inf",
                         switches="0") for cores in (1, 2, 3, 4)}  # fmt: skip
    received = {cores: goodput("udp", cores) for cores in lost}
    falls = [received[c][32768] - received[c][65507] for c in (1, 2, 3, 4)]
    assert falls == sorted(falls)
    assert min(falls) > 0
    assert [lost[c][65507] for c in (1, 2, 3, 4)] == sorted(lost[c][65507] for c in lost)
    for payload in (65112, 65507):
        sent = received[4][payload] / (1 - lost[4][payload])
        assert float(sent) == pytest.approx(9.43e9, rel=1e-5)
    limited = goodput("udp", 4, "9600000000")
    assert limited[65112] == Decimal("9.6E9")
    assert limited[2952] == received[4][2952] < limited[1472]
    kept = curve("loss_rate", protocol="udp", load_bps="9600000000")
    assert set(kept) == set(limited)
    assert set(kept.values()) == {Decimal(0)}


@pytest.mark.parametrize("protocol", ["tcp", "udp", "ethernet"])
def test_more_cores_bring_no_less_but_in_overload(protocol: str) -> None:
    by_cores = [goodput(protocol, cores) for cores in (1, 2, 3, 4)]
    overloaded = {65507}
    for payload in by_cores[0]:
        values = [found[payload] for found in by_cores]
        assert values == sorted(values, reverse=payload in overloaded)


def test_udp_and_ethernet_stay_below_the_expectation_on_one_core() -> None:
    for protocol in ("udp", "ethernet"):
        found = goodput(protocol, 1)
        assert all(value < expected(protocol, payload) for payload, value in found.items())


@pytest.mark.parametrize(("protocol", "least", "most"), [("tcp", 20, 80), ("udp", 10, 90)])
def test_means_lie_within_the_stated_offsets_where_the_load_is_carried(
    protocol: str, least: int, most: int
) -> None:
    carried = 0
    for row in rows(protocol=protocol, metric="latency_mean_s", test="", cores="4"):
        slow = Decimal(row["value"]) > 200 * US
        if row["nagle"] == "off" or row["read"] != "nonblocking" or slow:
            continue
        payload = int(row["payload_bytes"])
        head = Decimal(10**10) * payload / expected(protocol, payload)
        offset = Decimal(row["value"]) - head * 8 / 10**10 - Decimal("4.27E-9")
        assert least - Decimal("0.01") <= offset / US <= most + Decimal("0.01")
        carried += 1
    assert carried > 45


def test_the_largest_udp_frames_are_120_us_above_1472_bytes_at_7_5_gbps() -> None:
    mean = curve("latency_mean_s", protocol="udp", load_bps="7500000000")
    assert float(mean[65507] - mean[1472]) == pytest.approx(120e-6, abs=2e-8)


def test_minimum_mean_and_maximum_are_in_order() -> None:
    for protocol in ("tcp", "udp"):
        for load_bps in {row["load_bps"] for row in rows(protocol=protocol)}:
            where = {"protocol": protocol, "load_bps": load_bps, "read": "nonblocking"}
            nagle = {"nagle": "on" if protocol == "tcp" else ""}
            least, mean, most = (
                curve(f"latency_{name}_s", **where, **nagle) for name in ("min", "mean", "max")
            )
            assert set(least) == set(mean) == set(most)
            assert all(least[p] <= mean[p] < most[p] for p in mean)


def test_cpu_follows_the_sentences() -> None:
    send = {
        text: tcp("cpu_send", text) for text in ("100000000", "5000000000", "9400000000", "inf")
    }
    recv = {text: tcp("cpu_recv", text) for text in send}
    large = [p for p in send["inf"] if p >= 256]
    assert all(send["inf"][p] < send["9400000000"][p] for p in large)
    for payload in large:
        less = send["9400000000"][payload] - send["5000000000"][payload]
        assert Decimal("0.05") <= less <= Decimal("0.10")
        assert abs(recv["9400000000"][payload] - recv["5000000000"][payload]) < Decimal("0.03")
        assert recv["100000000"][payload] < recv["5000000000"][payload] - Decimal("0.1")
    assert max(max(found.values()) for found in send.values()) <= Decimal("0.85")
    assert max(max(found.values()) for found in recv.values()) <= Decimal("0.75")
    assert send["inf"][64] > recv["inf"][64]
    assert send["inf"][65535] < recv["inf"][65535]


def test_udp_uses_less_cpu_than_tcp_at_every_limited_load_and_limiting_lowers_it() -> None:
    same = {1472: 1448, 1473: 1449, 65507: 65535}
    for metric in ("cpu_send", "cpu_recv"):
        unlimited = curve(metric, protocol="udp", switches="0", load_bps="inf")
        assert max(unlimited.values()) <= Decimal("0.45")
        for load_bps in ("100000000", "5000000000", "9400000000"):
            udp = curve(metric, protocol="udp", switches="0", load_bps=load_bps)
            other = tcp(metric, load_bps)
            assert all(udp[p] < other[same.get(p, p)] for p in udp)
            assert all(udp[p] < unlimited[p] for p in udp)


def test_a_switch_costs_the_udp_sender_cpu_and_frames_at_small_sizes_only() -> None:
    for load_bps in ("100000000", "5000000000", "9400000000", "inf"):
        where = {"protocol": "udp", "load_bps": load_bps}
        direct, switched = (curve("cpu_send", **where, switches=text) for text in ("0", "1"))
        assert all(switched[p] == direct[p] for p in direct if p > 512)
        assert all(switched[p] >= direct[p] for p in direct)
        assert curve("cpu_recv", **where, switches="0") == curve("cpu_recv", **where, switches="1")
    lost = curve("loss_rate", protocol="udp", switches="1")
    assert all(Decimal("0.15") <= lost[p] <= Decimal("0.25") for p in lost if p <= 512)


def test_without_nagle_small_payloads_get_10_to_65_percent_less() -> None:
    on = tcp("goodput_bps", "inf")
    off = tcp("goodput_bps", "inf", "off")
    for payload in (p for p in off if p <= 256):
        less = 1 - off[payload] / on[payload]
        assert Decimal("0.0999") <= less <= Decimal("0.6501")
    assert off[256] > expected("tcp", 256)
    cpu_on, cpu_off = (tcp("cpu_send", "9400000000", nagle) for nagle in ("on", "off"))
    assert all(cpu_off[p] > cpu_on[p] for p in cpu_on if p < 128)
    assert all(cpu_off[p] < cpu_on[p] for p in cpu_on if 128 <= p <= 4096)


def test_without_nagle_latency_saves_up_to_40_us_where_the_load_is_carried() -> None:
    saved = []
    for load_bps in ("100000000", "9400000000"):
        on, off = (tcp("latency_mean_s", load_bps, nagle) for nagle in ("on", "off"))
        saved += [on[p] - off[p] for p in off if on[p] < 200 * US and off[p] < 200 * US]
    assert min(saved) > 0
    assert float(max(saved)) == pytest.approx(40e-6, abs=1e-8)
    unlimited = [tcp("latency_mean_s", "inf", nagle) for nagle in ("on", "off")]
    assert all(unlimited[1][p] > unlimited[0][p] for p in unlimited[1] if p < 1024)


def test_shared_receivers_stand_apart_from_the_curves() -> None:
    high, low = (
        only(protocol="tcp", priority=text, metric="goodput_bps")
        for text in ("af41-against-af11", "af11-against-af41")
    )
    assert (high["value"], low["value"]) == ("7000000000", "2400000000")
    for protocol in ("tcp", "udp"):
        assert only(protocol=protocol, priority="ef-against-none")["value"] == "5500000000"
    assert only(protocol="udp", test="two-senders", metric="sent_bps")["value"] == "9500000000"
    assert {row["endpoints"] for row in points() if row["priority"] or row["test"] == "two-senders"
            } == {"2"}  # fmt: skip


# --- the folder -------------------------------------------------------------------------------


def test_it_loads_and_selects_only_the_curves_by_default() -> None:
    data = load(FOLDER)
    assert data.protocols == ("ethernet", "tcp", "udp")
    places = [data.option_axes.index(axis) for axis in ("priority", "test", "read")]
    for protocol in data.protocols:
        for point in data.select(protocol, {}):
            assert [point.options[k] for k in places[:2]] == ["", ""]
            assert point.options[places[2]] in ("", "nonblocking")


def test_assumed_rows_have_ranges_that_are_open() -> None:
    for row in rows(basis="assumed"):
        assert Decimal(row["low"]) <= Decimal(row["value"]) <= Decimal(row["high"])
        assert Decimal(row["low"]) < Decimal(row["high"]), row


def test_no_range_crosses_a_stated_limit() -> None:
    document = tomllib.loads((FOLDER / "dataset.toml").read_text(encoding="utf-8"))
    for limit in document["stated_limits"]:
        found = rows(metric=limit["metric"])
        kept = [row for row in found if row["protocol"] == limit.get("protocol", row["protocol"])]
        assert kept
        for row in kept:
            assert float(row["low"] or row["value"]) >= limit.get("min", 0)
            assert float(row["high"] or row["value"]) <= limit.get("max", 1)


def test_every_rule_is_used_and_named() -> None:
    used = {
        int(number)
        for row in points()
        for number in re.findall(r"README rule R(\d+)", row["source"])
    }
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    named = [int(number) for number in re.findall(r"^- \*\*R(\d+)\*\*", text, re.MULTILINE)]
    assert sorted(named) == sorted(set(named)) == sorted(used)
    for row in points():
        assert (row["basis"] in ("derived", "assumed")) == row["source"].startswith("README rule R")


def test_the_original_grid_is_rows_or_their_bounds() -> None:
    document = tomllib.loads((FOLDER / "dataset.toml").read_text(encoding="utf-8"))
    grid = document["variants"]["appendix-h"]["payload_bytes"]
    assert set(grid) == {2**k for k in range(16)} | {65535, 65507, 1448, 1449, 1472, 1473, 1500}
    assert set(map(str, grid)) <= {row["payload_bytes"] for row in points()}


def test_the_builder_gives_the_shipped_bytes(tmp_path: Path) -> None:
    builder = ROOT / "tools" / "build_ethernet_10g_2012.py"
    subprocess.run([sys.executable, "-B", str(builder), str(tmp_path)], check=True)
    for name in ("points.csv", "dataset.toml"):
        built = (tmp_path / FOLDER.name / name).read_bytes()
        assert built == (FOLDER / name).read_bytes()
    seal = hashlib.sha256((FOLDER / "points.csv").read_bytes()).hexdigest()
    assert f'sha256 = "{seal}"' in (FOLDER / "dataset.toml").read_text(encoding="utf-8")

"""The race of the measuring tools: what it reads of their output, and how it judges."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import probe_record
from benchmarks import probe as race
from benchmarks import (
    probe_contest,
    probe_lab,
    probe_others,
    probe_tables,
    probe_tools,
    probe_uring,
)
from benchmarks.probe_contest import Contest, Round, ToolRun, median_interval, verdict
from benchmarks.probe_lab import ToolError, cpu_mask
from benchmarks.probe_tools import Delivery, Pacing, Question, pacing_of

SAMPLES = Path(__file__).parent / "cases" / "tools"
TCP, UDP = Question("tcp", 64, "goodput"), Question("udp", 64, "frames")
LARGER = Question("udp", 1472, "frames")


def sample(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


def golden(name: str) -> probe_record.Record:
    return probe_record.read(probe_record.GOLDEN / f"{name}.jsonl")[0]


# --- what the tools print ---------------------------------------------------------------------


def test_of_iperf3_what_the_server_received_counts() -> None:
    sent_bps = json.loads(sample("iperf3_tcp.json"))["end"]["sum_sent"]["bits_per_second"]
    told = probe_tools.iperf3_value(sample("iperf3_tcp.json"), TCP)
    assert told == pytest.approx(38_697_280 * 8 / 1.000113, rel=1e-6)
    assert told < sent_bps
    frames = probe_tools.iperf3_value(sample("iperf3_udp.json"), UDP)
    assert frames == pytest.approx(116_845, rel=1e-4)
    assert frames == pytest.approx(588_718 - 471_873, rel=1e-4)


def test_of_nuttcp_what_the_receiver_took_counts() -> None:
    told = probe_tools.nuttcp_value(sample("nuttcp_tcp.txt"), TCP)
    assert told == pytest.approx(363.0647e6)
    frames = probe_tools.nuttcp_value(sample("nuttcp_udp.txt"), LARGER)
    assert frames == pytest.approx(505_410 - 35_129, rel=1e-3)


def test_of_sockperf_what_the_server_handled_counts() -> None:
    client = sample("sockperf_throughput_client.txt")
    server = sample("sockperf_throughput_server.txt")
    assert probe_tools.sockperf_delivery(client, server) == Delivery(129_487, 436_871 - 129_487)


def test_of_a_ping_pong_the_median_counts() -> None:
    told = probe_tools.sockperf_rtt_half_s(sample("sockperf_ping_pong.txt"))
    assert told == pytest.approx(7.444e-6)
    record = golden("ping-pong")
    asked = Question("udp", 64, "rtt/2")
    half = probe_tools.icprobe_value(record, asked)
    assert half == record["result"]["rtt_half_p50_s"] == record["result"]["rtt_p50_s"] / 2


def test_of_a_ping_pong_the_99th_percentile_counts_where_it_is_asked_for() -> None:
    told = probe_tools.sockperf_rtt_half_s(sample("sockperf_ping_pong.txt"), 99)
    assert told == pytest.approx(15.172e-6)
    record = golden("ping-pong")
    half = probe_tools.icprobe_value(record, Question("udp", 64, "rtt/2 p99"))
    assert half == record["result"]["rtt_p99_s"] / 2


def test_every_tool_counts_what_it_lost() -> None:
    lost = probe_tools.iperf3_delivery(sample("iperf3_udp.json"), UDP)
    assert lost.lost == 471_873
    assert lost.received_fps == pytest.approx(116_845, rel=1e-4)
    assert probe_tools.nuttcp_delivery(sample("nuttcp_udp.txt"), LARGER).lost == 35_129


def test_a_batch_has_a_name_of_its_own_and_single_frames_have_none() -> None:
    assert UDP.name == "udp 64 B frames"
    assert replace(UDP, batch=32).name == "udp 64 B frames x32"
    assert UDP.single_stream
    assert not replace(UDP, batch=32).single_stream
    assert list(race.QUESTIONS) == [each.name for each in race.QUESTIONS.values()]


def test_of_a_record_the_goodput_or_the_frames_of_it_count() -> None:
    record = golden("tcp-unlimited")
    goodput_bps = record["result"]["goodput_bps"]
    payload_bytes = record["settings"]["payload_bytes"]
    assert probe_tools.icprobe_value(record, TCP) == goodput_bps
    frames = probe_tools.icprobe_value(record, Question("tcp", payload_bytes, "frames"))
    assert frames == pytest.approx(record["result"]["frames_per_s"], rel=1e-9)


def test_a_record_tells_its_pacing() -> None:
    record = golden("udp-paced")
    told = probe_tools.icprobe_pacing(record)
    assert told.achieved_fps == record["pacing"]["achieved_fps"]
    assert told.error_p50_s <= told.error_p99_s
    assert not told.stalled
    record["pacing"]["send_error_max_s"] = 2e-3
    assert probe_tools.icprobe_pacing(record).stalled


@pytest.mark.parametrize(
    ("tool", "read"),
    [
        ("iperf3", partial(probe_tools.iperf3_value, question=TCP)),
        ("nuttcp", partial(probe_tools.nuttcp_value, question=TCP)),
        ("iperf3", partial(probe_tools.iperf3_delivery, question=UDP)),
        ("nuttcp", partial(probe_tools.nuttcp_delivery, question=UDP)),
        ("io_uring", probe_uring.uring_delivery),
        ("io_uring", partial(probe_uring.uring_rtt_half_s, question=UDP)),
        ("sockperf", probe_tools.sockperf_rtt_half_s),
        ("sockperf", probe_tools.sockperf_send_times_s),
        ("sockperf", probe_tools.sockperf_dropped),
        ("sockperf", partial(probe_tools.sockperf_delivery, server="")),
    ],
)
@pytest.mark.parametrize("printed", ["", "{}", '{"error": "unable to connect"}', "no numbers"])
def test_an_answer_without_the_number_is_refused(
    tool: str, read: Callable[[str], object], printed: str
) -> None:
    with pytest.raises(ToolError, match=f"^{tool} "):
        read(printed)


# --- how late frames leave --------------------------------------------------------------------


def test_the_logged_send_times_keep_to_a_grid() -> None:
    sent = probe_tools.sockperf_send_times_s(sample("sockperf_under_load.csv"))
    assert len(sent) == 53
    assert sent[0] == 2.420539123
    told = pacing_of(sent, stride=100)
    assert told.achieved_fps == pytest.approx(10_000, rel=1e-4)
    assert told.error_p50_s == pytest.approx(31e-9, abs=1e-9)
    assert told.error_p99_s == pytest.approx(2.464e-3, rel=1e-3)
    assert told.stalled
    calm = pacing_of(sent[24:], stride=100)
    assert calm.error_p99_s < 100e-9
    assert not calm.stalled


def test_lateness_counts_from_the_earliest_frame_of_the_grid() -> None:
    period = 1e-4
    late = [0.0, 2e-8, 0.0, 1e-8, 0.0, 4e-8, 0.0, 0.0, 2e-8, 0.0] * 10
    sent = [5.0 + k * period + late[k] for k in range(100)]
    told = pacing_of(sent, stride=1)
    assert told.achieved_fps == pytest.approx(10_000, rel=1e-5)
    assert told.error_p50_s == pytest.approx(0.0, abs=1e-12)
    assert told.error_p99_s == pytest.approx(4e-8, abs=1e-10)


def test_a_stall_is_seen_and_does_not_bend_the_grid() -> None:
    period = 1e-4
    sent = [(60 if 50 <= k < 60 else k) * period for k in range(100)]
    told = pacing_of(sent, stride=1)
    assert told.stalled
    assert told.error_p50_s == pytest.approx(0.0, abs=1e-9)
    assert told.error_p99_s == pytest.approx(9 * period, rel=0.05)


def test_answers_that_never_came_are_known() -> None:
    assert probe_tools.sockperf_dropped(sample("sockperf_ping_pong.txt")) == 0
    assert probe_tools.sockperf_dropped("# dropped messages = 12; # duplicated") == 12


@pytest.mark.parametrize(("q", "value"), [(0.5, 2), (0.51, 3), (0.99, 4), (0.25, 1), (0.0, 1)])
def test_a_quantile_is_a_value_that_was_there(q: float, value: float) -> None:
    assert probe_tools.quantile([1, 2, 3, 4], q) == value


# --- taking turns -----------------------------------------------------------------------------


class Others(probe_others.Watch):
    """Others whose use of the machine is made up."""

    def __init__(self, cores: Sequence[float]) -> None:
        self.used = itertools.chain.from_iterable((0.0, used) for used in cores)

    def cores(self) -> float:
        return next(self.used)


def contest(order: list[str], cores: Sequence[float], names: str = "abc") -> Contest[float]:
    def ask(name: str) -> float:
        order.append(name)
        return float(len(order))

    def prepare(name: str) -> None:
        order.append(name.upper())

    tools = {name: ToolRun(partial(ask, name), partial(prepare, name)) for name in names}
    return Contest(tools, "a test", Others(cores))


def test_tools_take_turns_forwards_and_backwards_and_the_next_is_prepared() -> None:
    order: list[str] = []
    rounds = contest(order, [0.0] * 3).rounds(3)
    assert "".join(order) == "BaCbc" + "BcAba" + "BaCbc"
    assert [list(one.results) for one in rounds] == [list("abc"), list("cba"), list("abc")]


def test_the_hopeless_leave_after_the_trial() -> None:
    order: list[str] = []
    pairs = probe_contest.TRIAL_ROUNDS + 2
    rounds = contest(order, [0.0] * pairs).rounds(pairs, lambda done: {"a", "c"})
    assert [len(one.results) for one in rounds] == [3] * probe_contest.TRIAL_ROUNDS + [2, 2]


def test_disturbed_rounds_are_made_up_for_and_the_calmest_count() -> None:
    used = [0.0, 0.9, 0.0, 0.0, 0.3, 0.0]
    rounds = contest([], used).rounds(4)
    assert [one.others_cores for one in rounds] == [0.0, 0.0, 0.0, 0.0]
    rounds = contest([], [0.5, 0.9, 0.0, 0.2, 0.3, 0.1]).rounds(4)
    assert [one.others_cores for one in rounds] == [0.0, 0.2, 0.3, 0.1]
    assert probe_contest.disturbance(rounds) == {"calm_rounds": 1, "others_cores_most": 0.3}


def test_who_is_far_off_the_best_is_hopeless() -> None:
    rounds = [Round({"we": 1.0, "x": 100.0, "y": 90.0, "z": 50.0 + k}, 0.0) for k in range(5)]
    assert probe_contest.hopeful(rounds, "we", more_is_better=True) == {"we", "x", "y"}
    assert probe_contest.hopeful(rounds, "we", more_is_better=False) == {"we", "z"}


# --- the verdict ------------------------------------------------------------------------------


def test_the_ratio_is_to_the_best_by_its_own_median_pair_by_pair() -> None:
    ours, steady, wild = [10.0, 20.0, 30.0], [10.0, 10.0, 10.0], [9.0, 9.0, 99.0]
    rounds = [
        Round({"we": a, "x": b, "y": c}, 0.0) for a, b, c in zip(ours, steady, wild, strict=True)
    ]
    told = verdict(rounds, "we", more_is_better=True)
    assert told["best"] == "x"
    assert told["ratio"] == {"median": 2.0, "low": 1.0, "high": 3.0, "pairs": 3}
    assert told["values"]["y"]["median"] == 9.0
    assert verdict(rounds, "we", more_is_better=False)["best"] == "y"


def test_a_rival_that_left_is_not_the_best() -> None:
    rounds = [Round({"we": 1.0, "x": 2.0, "y": 9.0}, 0.0), Round({"we": 1.0, "x": 2.0}, 0.0)]
    told = verdict(rounds, "we", more_is_better=True)
    assert told["best"] == "x"
    assert told["values"]["y"]["repeats"] == 1


@pytest.mark.parametrize(
    ("n", "low", "high"),
    # Ranks of the table in Conover, Practical Nonparametric Statistics, for the median at 95 %.
    [(1, 1, 1), (5, 1, 5), (6, 1, 6), (9, 2, 8), (20, 6, 15), (25, 8, 18), (30, 10, 21)],
)
def test_the_interval_of_a_median_lies_between_two_ranks(n: int, low: int, high: int) -> None:
    told = median_interval([float(k) for k in range(n, 0, -1)])
    assert (told.low, told.high, told.pairs) == (low, high, n)
    assert told.median == (n + 1) / 2


@pytest.mark.parametrize(
    ("measure", "median", "high", "met"),
    [
        ("goodput", 0.96, 1.01, True),
        ("goodput", 0.96, 0.99, False),
        ("frames", 0.94, 1.2, False),
        ("rtt/2", 1.04, 1.2, True),
        ("rtt/2", 0.5, 0.6, True),
        ("rtt/2", 1.06, 1.2, False),
        ("rtt/2 p99", 1.04, 1.2, True),
        ("rtt/2 p99", 1.06, 1.2, False),
        ("lossless", 1.2, 1.3, True),
        ("lossless", 0.9, 1.3, False),
    ],
)
def test_a_ratio_meets_its_bar_or_misses_it(
    measure: str, median: float, high: float, met: bool
) -> None:
    ratio = {"median": median, "low": 0.1, "high": high, "pairs": 20}
    assert probe_tables.met({"measure": measure, "ratio": ratio}) is met


# --- the machine ------------------------------------------------------------------------------


def test_others_are_neither_the_kernel_nor_what_comes_of_this_process() -> None:
    lines = [
        "1 (init) S 0 " + "0 " * 9 + "5 5 0 0 0",
        "2 (kthreadd) S 0 " + "0 " * 9 + "0 0 0 0 0",
        "9 (ksoftirqd/0) S 2 " + "0 " * 9 + "0 70 0 0 0",
        "50 (a (b) c) S 1 " + "0 " * 9 + "1 2 3 4 0",
        "60 (python) S 1 " + "0 " * 9 + "8 8 8 8 0",
        "61 (sh) S 60 " + "0 " * 9 + "8 8 8 8 0",
        "62 (iperf3) S 61 " + "0 " * 9 + "8 8 8 8 0",
    ]
    running = [probe_others.process(line) for line in lines]
    assert probe_others.others(running, own=60) == {1: 10, 50: 10}


def test_the_watch_looks_at_this_machine() -> None:
    assert probe_others.Watch().cores() >= 0


@pytest.mark.parametrize(
    ("core", "mask"),
    [(0, "1"), (3, "8"), (31, "80000000"), (32, "1,00000000"), (65, "2,00000000,00000000")],
)
def test_cores_are_written_as_the_kernel_reads_them(core: int, mask: str) -> None:
    assert cpu_mask(core) == mask


def test_a_command_that_fails_or_hangs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolError, match="sh -c echo no >&2; exit 3: exit 3: no"):
        probe_lab.run(("sh", "-c", "echo no >&2; exit 3"))
    monkeypatch.setattr(probe_lab, "PATIENCE_S", 0.05)
    with pytest.raises(ToolError, match=r"sleep 5: did not end within 0\.05 s"):
        probe_lab.run(("sleep", "5"))


def test_a_process_is_held_until_its_result_is_wanted() -> None:
    script = "echo $$; echo one word; echo more; exit 0"
    process = probe_lab.Process(["sh", "-c", script])
    process.hold_after("word")
    assert process.result() == "more\n"
    assert process.has_finished()
    with pytest.raises(ToolError, match="nothing here"):
        probe_lab.Process(["sh", "-c", "echo $$; echo nothing here"]).hold_after("word")


# --- the command ------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--pairs", "0"], ["--only", "nothing"], ["--pairs", "x"]])
def test_a_wrong_question_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        race.main(words)


def test_without_icprobe_it_says_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert race.main(["--icprobe", str(tmp_path / "none")]) == 1
    assert "build it with `make probe`" in capsys.readouterr().err


def test_runs_with_a_stall_are_shown_apart() -> None:
    runs = [Pacing(1000.0, 1e-8, 2e-8, stalled=False), Pacing(999.0, 1e-8, 5e-8, stalled=False)]
    told = race.pacing([*runs, Pacing(900.0, 1e-8, 5e-3, stalled=True)], 1000)
    assert told["steady"]["runs"] == 2
    assert told["steady"]["rate_off_worst"] == pytest.approx(0.001)
    assert told["steady"]["error_p99_s"] == pytest.approx(3.5e-8)
    assert told["stalled"]["rate_off_worst"] == pytest.approx(0.1)
    assert race.pacing([], 1000) == {"steady": {"runs": 0}, "stalled": {"runs": 0}}


@pytest.mark.long
def test_one_round_of_a_ratio_and_of_pacing_is_run_and_printed(
    probe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "told.json"
    names = ["udp 64 B rtt/2", "udp 64 B paced"]
    words = list(itertools.chain.from_iterable(("--only", name) for name in names))
    words += ["--pairs", "1", "--icprobe", str(probe), "--json", str(kept)]
    words += ["--journal", str(tmp_path / "journal.jsonl")]
    code = race.main(words)
    told = capsys.readouterr()
    if "exit 2" in told.err:
        pytest.skip(f"needs a test network: {told.err}")
    assert code == 0, told.err
    document = json.loads(kept.read_text(encoding="utf-8"))
    assert list(document["results"]) == names
    tools = {"icprobe", "iperf3", "nuttcp", "sockperf", "io_uring"} - document["skipped"].keys()
    assert document["tools"].keys() == tools
    raced = document["results"]["udp 64 B rtt/2"]
    assert raced["ratio"]["pairs"] == raced["equal_cpu"]["ratio"]["pairs"] == 1
    assert raced["values"].keys() == raced["cores"].keys() == tools - {"iperf3", "nuttcp"}
    for used in raced["cores"].values():
        assert used["sender"]["least"] > 0
        assert used["receiver"]["least"] > 0
    assert document["results"]["udp 64 B paced"]["tools"].keys() == {"icprobe", "sockperf"}
    for needed in (
        "95 % interval",
        "udp 64 B rtt/2",
        "at equal CPU",
        "stalled",
        "within 0.1%",
        "load average",
    ):
        assert needed in told.out
    assert "udp 64 B rtt/2: round 1" in told.err
    assert race.main(words) == 0
    assert "round 1" not in capsys.readouterr().err
    assert json.loads(kept.read_text(encoding="utf-8"))["results"] == document["results"]

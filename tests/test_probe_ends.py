"""How icprobe ends: what it prints where, with which exit code, and what is left behind."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from probe_lab import (
    PATIENCE_S,
    CommandResult,
    Lab,
    Responder,
    children,
    ended,
    frames,
    printed,
    standing,
    wait_until,
)
from search import mostly_long

TRIES = 30
TRAFFIC = ("--protocol", "udp", "--payload", "100 B", "--baseline", "0 s")
ENDLESS = ("--duration", "60 s", "--baseline", "0 s")
CORES = len(os.sched_getaffinity(0))
DONE, FLAGGED, WRONG, FAILED = range(4)
ASKED_TO_END = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(scope="module")
def direct(probe: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with standing(probe, "direct", tmp_path_factory.mktemp("ends")) as lab:
        yield lab


@pytest.fixture(scope="module")
def responder(direct: Lab) -> Iterator[Responder]:
    with direct.serving("--max-duration", "100 s", "--max-rate", "1000 Gb/s") as responder:
        yield responder


def says_why(outcome: CommandResult, code: int, *words: str) -> None:
    """Nothing on standard output, one sentence with these words on standard error."""
    assert (outcome.code, outcome.out) == (code, ""), outcome
    sentence = outcome.said.strip()
    assert "panicked" not in sentence
    for word in words:
        assert word in sentence
    if sentence.startswith("icprobe:"):
        assert "\n" not in sentence


# --- done, and flagged --------------------------------------------------------------------------


@pytest.mark.alone  # what others take of the machine is a flag
@pytest.mark.usefixtures("responder")
def test_a_run_without_a_flag_ends_with_0_and_prints_one_line(direct: Lab) -> None:
    flags = set()
    for _ in range(TRIES):
        outcome = direct.ask(*TRAFFIC, "--pattern", "ping-pong", *frames(10))
        assert outcome.record["result"]["frames_received"] == 10
        if outcome.code == DONE:
            assert outcome.said == ""
            return
        flags |= set(outcome.record["flags"])
    pytest.fail(f"each of {TRIES} short runs was disturbed, {flags}: try when the machine is quiet")


@pytest.mark.usefixtures("responder")
def test_a_flagged_run_ends_with_1_and_names_its_flags(direct: Lab) -> None:
    outcome = direct.ask(*TRAFFIC, "--cores", str(CORES), *frames(100))
    assert outcome.code == FLAGGED
    assert "shared-cores" in outcome.record["flags"]
    lines = outcome.said.splitlines()
    assert lines == [f"icprobe: this run is flagged {flag}" for flag in outcome.record["flags"]]


@pytest.mark.usefixtures("responder")
@pytest.mark.parametrize("protocol", ["tcp", "udp", "ethernet", "zeromq"])
@pytest.mark.parametrize("pattern", ["stream", "ping-pong", "oneway-batch", "twoway-batch", "call"])
def test_every_record_fits_the_published_schema(
    direct: Lab, probe: Path, protocol: str, pattern: str
) -> None:
    schema = json.loads(printed(probe, "schema"))
    record = direct.run(protocol, 64, "--pattern", pattern, "--raw", *frames(50))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(record)] == []
    result = record["result"]
    assert result["frames_sent"] == result["frames_received"] == 50
    assert result["frames_lost"] == 0


# --- the question was wrong ---------------------------------------------------------------------

WRONG_QUESTIONS = {
    "a size without a unit": ("--protocol", "udp", "--payload", "1472"),
    "a unit of two meanings": ("--protocol", "udp", "--payload", "1 KB"),
    "no bytes": ("--protocol", "udp", "--payload", "0 B"),
    "more than a datagram": ("--protocol", "udp", "--payload", "65508 B"),
    "a rate and a load": (*TRAFFIC, "--rate", "10/s", "--load", "1 Mb/s"),
    "no frames": (*TRAFFIC, "--frames", "0"),
    "no such layer": ("--protocol", "sctp", "--payload", "1 B"),
    "more code points than there are": (*TRAFFIC, "--dscp", "64"),
    "threads that only ZeroMQ has": (*TRAFFIC, "--io-threads", "2"),
    "fewer streams than cores": (*TRAFFIC, "--cores", "2", "--streams", "1"),
    "no such interface": (*TRAFFIC, "--interface", "none", "--mtu", "1400"),
    "no such offload": (*TRAFFIC, "--offloads", "magic=on"),
    "longer than the responder allows": (*TRAFFIC, "--duration", "200 s"),
    "priority that the responder does not give": (*TRAFFIC, "--realtime", "5"),
}


@pytest.mark.usefixtures("responder")
@pytest.mark.parametrize("question", WRONG_QUESTIONS)
def test_a_wrong_question_ends_with_2(direct: Lab, question: str) -> None:
    says_why(direct.ask(*WRONG_QUESTIONS[question]), WRONG)


@pytest.mark.usefixtures("responder")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_key_that_others_may_read_or_change_is_refused(
    direct: Lab, tmp_path: Path, mode: int
) -> None:
    key = tmp_path / "key"
    key.write_bytes(direct.key.read_bytes())
    key.chmod(mode)
    says_why(direct.ask(*TRAFFIC, "--key", key), WRONG, str(key), "chmod")
    serve = ended(direct.within("B", direct.probe, "serve", "--port", "20121", "--key", key))
    says_why(CommandResult(serve.returncode, serve.stdout, serve.stderr), WRONG, str(key), "chmod")
    key.chmod(0o600)
    assert direct.ask(*TRAFFIC, *frames(2), "--key", key).code in (DONE, FLAGGED)


@pytest.mark.usefixtures("responder")
@pytest.mark.parametrize("content", ["", "not a key\n", "ab" * 31 + "\n", "ab" * 33 + "\n"])
def test_a_key_of_another_shape_is_refused(direct: Lab, tmp_path: Path, content: str) -> None:
    key = tmp_path / "key"
    key.write_text(content, encoding="utf-8")
    key.chmod(0o600)
    says_why(direct.ask(*TRAFFIC, "--key", key), WRONG, str(key))
    says_why(direct.ask(*TRAFFIC, "--key", tmp_path / "none"), WRONG, "none")


def test_a_key_is_made_for_one_user_and_never_in_place_of_another(
    probe: Path, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    printed(probe, "key", key)
    assert key.stat().st_mode & 0o777 == 0o600
    before = key.read_bytes()
    assert len(bytes.fromhex(before.decode())) == 32
    again = ended([str(probe), "key", str(key)])
    says_why(CommandResult(again.returncode, again.stdout, again.stderr), WRONG, str(key))
    assert key.read_bytes() == before


# --- the peer or the network failed -------------------------------------------------------------


def test_a_wrong_key_gets_nothing(direct: Lab, responder: Responder, tmp_path: Path) -> None:
    other = tmp_path / "other"
    printed(direct.probe, "key", other)
    says_why(direct.ask(*TRAFFIC, "--key", other), FAILED, "key")
    wait_until(lambda: "turned" in responder.said, "the responder turns the caller away")
    assert direct.ask(*TRAFFIC, *frames(2)).code in (DONE, FLAGGED)


def test_nobody_listens(direct: Lab) -> None:
    says_why(direct.ask(*TRAFFIC, "--port", "9"), FAILED)


def test_somebody_else_listens(direct: Lab) -> None:
    """One that accepts and says nothing: the run gives up by itself."""
    lines = "import socket, time", "s = socket.create_server(('', 9))", "print(flush=True)"
    program = "; ".join((*lines, "time.sleep(99)"))
    command = direct.within("B", sys.executable, "-c", program)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        says_why(direct.ask(*TRAFFIC, "--port", "9"), FAILED)
        other.kill()


# --- ended early --------------------------------------------------------------------------------


def state(lab: Lab, host: str) -> dict[str, str]:
    """How a host's interface is set, in all that a run may change."""
    interface = lab.interface(host)
    folder = f"/sys/class/net/{interface}"
    files = {name: f"{folder}/{name}" for name in ("mtu", "queues/rx-0/rps_cpus", "flags")}
    found = {name: lab.on(host, "cat", path).strip() for name, path in files.items()}
    return {**found, "offloads": lab.on(host, "ethtool", "-k", interface)}


def received_packets(lab: Lab, host: str) -> int:
    path = f"/sys/class/net/{lab.interface(host)}/statistics/rx_packets"
    return int(lab.on(host, "cat", path))


class Running:
    """An `icprobe run` whose frames flow."""

    def __init__(self, lab: Lab, *options: str) -> None:
        self.receiver = "A" if "--reverse" in options else "B"
        before = received_packets(lab, self.receiver)
        pipe = subprocess.PIPE
        command = lab.command(*ENDLESS, *options)
        self.launcher = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
        flows = before + 300
        wait_until(lambda: received_packets(lab, self.receiver) > flows, "frames flow")
        self.process = children(self.launcher.pid)[0]

    def end(self) -> CommandResult:
        """Wait for the end of the run, which must come by itself."""
        try:
            out, said = self.launcher.communicate(timeout=PATIENCE_S)
        finally:
            self.launcher.kill()
        assert not Path(f"/proc/{self.process}").exists()
        return CommandResult(self.launcher.returncode, out, said)


STREAMS = {
    "tcp": ("--protocol", "tcp", "--payload", "1448 B"),
    "udp back": ("--protocol", "udp", "--payload", "1400 B", "--rate", "5000/s", "--reverse"),
    "ethernet": ("--protocol", "ethernet", "--payload", "1400 B", "--rate", "5000/s"),
    "zeromq": ("--protocol", "zeromq", "--payload", "1000 B", "--rate", "5000/s"),
    "calls": ("--protocol", "tcp", "--payload", "64 B", "--pattern", "call"),
}
SETTINGS = ("--mtu", "1450", "--offloads", "tso=off,gro=on")


@pytest.mark.parametrize("stream", STREAMS)
def test_a_killed_run_leaves_nothing_at_the_responder(
    direct: Lab, responder: Responder, stream: str
) -> None:
    """No thread, no socket, no setting; and the next run is answered."""
    wait_until(lambda: responder.threads <= 3, "no run before")
    before, threads, descriptors = state(direct, "B"), responder.threads, responder.descriptors
    running = Running(direct, *STREAMS[stream])
    assert responder.threads > threads
    os.kill(running.process, signal.SIGKILL)
    assert running.end().out == ""
    wait_until(lambda: responder.threads == threads, "threads of the run end")
    wait_until(lambda: responder.descriptors == descriptors, "sockets of the run are closed")
    assert state(direct, "B") == before
    assert "panicked" not in responder.said
    assert direct.run("udp", 100, "--rate", "1000/s", *frames(10))["result"]["frames_lost"] == 0


@pytest.mark.parametrize("number", ASKED_TO_END)
@pytest.mark.parametrize("stream", ["tcp", "udp back"])
@pytest.mark.usefixtures("responder")
def test_a_run_that_is_asked_to_end_puts_everything_back(
    direct: Lab, stream: str, number: signal.Signals
) -> None:
    before = {host: state(direct, host) for host in direct.hosts}
    running = Running(direct, *STREAMS[stream], *SETTINGS)
    during = state(direct, "A")
    assert during["mtu"] == "1450"
    assert during["offloads"] != before["A"]["offloads"]
    os.kill(running.process, number)
    outcome = running.end()
    assert (outcome.code in (FAILED, 128 + number), outcome.out) == (True, "")
    wait_until(lambda: state(direct, "B") == before["B"], "the responder puts everything back")
    assert state(direct, "A") == before["A"]


def test_a_run_that_ends_by_itself_puts_everything_back(direct: Lab, responder: Responder) -> None:
    before = {host: state(direct, host) for host in direct.hosts}
    record = direct.run("tcp", 1000, "--duration", "0.1 s", *SETTINGS)
    assert record["environment"]["send"]["mtu_bytes"] == record["point"]["mtu_bytes"] == 1450
    assert record["environment"]["send"]["offloads"]["tso"] is False
    assert record["environment"]["send"]["offloads"]["gro"] is True
    assert record["environment"]["recv"]["mtu_bytes"] == 1500
    assert {host: state(direct, host) for host in direct.hosts} == before
    wait_until(lambda: responder.threads <= 3, "the run's threads end")


@pytest.mark.parametrize(
    ("stream", "number"),
    mostly_long(
        tuple(itertools.product(("tcp", "udp back", "ethernet"), (*ASKED_TO_END, signal.SIGKILL))),
        (("tcp", signal.SIGKILL), ("udp back", ASKED_TO_END[0]), ("ethernet", ASKED_TO_END[-1])),
    ),
)
def test_a_run_whose_responder_goes_fails_and_puts_everything_back(
    probe: Path, tmp_path: Path, stream: str, number: signal.Signals
) -> None:
    with standing(probe, "direct", tmp_path) as lab:
        before = {host: state(lab, host) for host in lab.hosts}
        with lab.serving("--mtu", "1450") as responder:
            running = Running(lab, *STREAMS[stream])
            assert state(lab, "B")["mtu"] == "1450"
            responder.send(number)
            says_why(running.end(), FAILED)
            assert state(lab, "A") == before["A"]
            responder.launcher.wait(PATIENCE_S)
        if number != signal.SIGKILL:
            assert state(lab, "B") == before["B"]
        assert "panicked" not in responder.said


@pytest.mark.parametrize("number", ASKED_TO_END)
def test_a_campaign_that_is_asked_to_end_takes_its_network_down(
    probe: Path, tmp_path: Path, number: signal.Signals
) -> None:
    records = tmp_path / "records.jsonl"
    words = [probe, "campaign", "held-out", "--lab", "--short", "-o", records]
    quiet = subprocess.DEVNULL
    campaign = subprocess.Popen([str(word) for word in words], stdout=quiet, stderr=quiet)
    wait_until(lambda: records.exists() and records.read_bytes().count(b"\n") >= 1, "a record")
    below = descendants(campaign.pid)
    networks = {link for link in map(network_of, below) if link} - {network_of(campaign.pid)}
    assert below
    assert networks
    campaign.send_signal(number)
    assert campaign.wait(PATIENCE_S) == 128 + number
    wait_until(lambda: not [p for p in below if Path(f"/proc/{p}").exists()], "children end")
    pins = [f"net:[{pin.stat().st_ino}]" for pin in Path("/run/netns").glob("icp-*")]
    assert networks.isdisjoint(pins)
    assert [path.name for path in tmp_path.iterdir()] == [records.name]
    for line in records.read_text(encoding="utf-8").splitlines():
        assert json.loads(line)["plan"]["name"] == "held-out"


def descendants(process: int) -> list[int]:
    below = children(process)
    return below + [further for child in below for further in descendants(child)]


def network_of(process: int) -> str:
    """The network namespace of a process; nothing of one that has just gone."""
    try:
        return str(Path(f"/proc/{process}/ns/net").readlink())
    except OSError:
        return ""

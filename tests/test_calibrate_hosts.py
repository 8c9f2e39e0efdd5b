"""Real hosts: namespaces of a lab, and an OpenSSH server on loopback; a few short runs each."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from icmodel.calibrate.loop import Request
from icmodel.calibrate.runs import Run, run_of
from icmodel.calibrate.settings import Settings
from icmodel.calibrate.state import RECORDS
from icmodel.calibrate.testbed import Hosts, LabPair, Link, Refused, SshPair
from icmodel.cli import main
from icmodel.dataset import load
from icmodel.errors import CalibrationError, MeasurementFailed, MeasuringError
from icmodel.probing import RESPONDER, output_of, private, run_to_end

SSHD = Path("/usr/sbin/sshd")
SHORT = {"window_s": 0.1, "warmup_s": 0.05, "baseline_s": 0.05}
PACED = Run("udp", 1472, 1e7)
TOO_LARGE = Run("ethernet", 60000)


def settings(system: str) -> Settings:
    return Settings.of(system=system, **SHORT)


def modes(key: Path) -> tuple[int, int]:
    """Permissions of the key's file and its folder."""
    return key.stat().st_mode & 0o777, key.parent.stat().st_mode & 0o777


def wait_until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60.0
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


# --- commands ---------------------------------------------------------------------------------


def test_what_a_command_prints_and_how_it_fails() -> None:
    assert output_of(("cat",), 5.0, b"told") == "told"
    with pytest.raises(MeasurementFailed, match=r"exit code 3 \(broken\)"):
        output_of(("sh", "-c", "echo broken >&2; exit 3"), 5.0)
    with pytest.raises(MeasurementFailed, match="does not start"):
        output_of(("/no/such/program",), 5.0)


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    script = f"(sleep 1; touch {alive}) & sleep 60"
    before = time.monotonic()
    with pytest.raises(MeasurementFailed, match=r"did not end within 0\.2 s"):
        run_to_end(("sh", "-c", script), 0.2)
    assert time.monotonic() - before < 1.0
    time.sleep(1.1)
    assert not alive.exists()


def responder(serve: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ("sh", "-c", RESPONDER.format(serve=serve)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def test_a_responder_ends_with_its_standard_input() -> None:
    with responder("sleep 60") as process:
        process.communicate(timeout=5.0)
        assert process.returncode == 128 + 15


def test_a_responder_that_fails_is_not_waited_for() -> None:
    with responder("sh -c 'exit 7'") as process:
        assert process.wait(5.0) == 7


# --- what is private --------------------------------------------------------------------------


def test_the_place_of_a_key_is_that_of_its_folder_again_and_again(tmp_path: Path) -> None:
    one = private(tmp_path / "one")
    assert one == private(tmp_path / "two" / ".." / "one")
    assert one != private(tmp_path / "two")


def test_a_place_that_is_not_ours_is_said(probe: Path, tmp_path: Path) -> None:
    place = private(tmp_path)
    place.symlink_to(tmp_path)
    pair = LabPair(probe, "direct", tmp_path)
    try:
        with (
            pytest.raises(MeasuringError, match="remove it, or set TMPDIR to a folder"),
            Hosts(probe, pair, settings(pair.description), tmp_path),
        ):
            pass
    finally:
        place.unlink()


# --- a lab ------------------------------------------------------------------------------------


@pytest.fixture
def lab(probe: Path, tmp_path: Path) -> Path:
    """Path of icprobe, if test networks can be built."""
    name = f"try-{os.getpid()}"
    up = run_to_end((str(probe), "lab", "up", "direct", "--as", name), 30.0)
    if up.returncode == 2:
        pytest.skip(f"needs a test network: {up.stderr.decode()}")
    run_to_end((str(probe), "lab", "down", name), 30.0)
    return probe


def networks(probe: Path) -> set[str]:
    return {one["name"] for one in json.loads(output_of((str(probe), "lab", "list"), 30.0))["up"]}


def test_a_lab_answers_refuses_and_leaves_nothing(lab: Path, tmp_path: Path) -> None:
    pair = LabPair(lab, "direct", tmp_path)
    with Hosts(lab, pair, settings(pair.description), tmp_path) as hosts:
        record = hosts.measure(PACED, 0)
        assert not isinstance(record, Refused)
        assert run_of(record) == PACED
        assert record["settings"]["duration_s"] == SHORT["window_s"]
        refused = hosts.measure(TOO_LARGE, 0)
        assert isinstance(refused, Refused)
        assert "does not fit" in refused.why
        assert pair.name in networks(lab)
    assert pair.name not in networks(lab)


def test_a_topology_without_both_hosts_is_said(lab: Path, tmp_path: Path) -> None:
    topology = tmp_path / "others.toml"
    topology.write_text(
        'name = "others"\ndescription = "other names"\nhosts = ["C", "D"]\n'
        '[[links]]\na = "C"\nb = "D"\n',
        encoding="utf-8",
    )
    pair = LabPair(lab, str(topology), tmp_path)
    with (
        pytest.raises(CalibrationError, match="no hosts A and B"),
        Hosts(lab, pair, settings(pair.description), tmp_path),
    ):
        pass
    assert pair.name not in networks(lab)


def test_the_command_makes_a_dataset_in_a_lab(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The budget ends a few runs; a larger budget continues them."""
    monkeypatch.setenv("PATH", f"{lab.parent}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "made"
    words = ["calibrate", "--protocol", "tcp", "--window", "100 ms", "-o", str(folder), "--json"]
    assert main([*words, "--budget", "2 s"]) == 0
    first = json.loads(capfd.readouterr().out)
    assert (first["reason"], first["runs"]) == ("budget", 1)
    assert main([*words, "--budget", "3 s"]) == 0
    second = json.loads(capfd.readouterr().out)
    assert second["runs"] == 2
    data = load(folder)
    assert (data.id, data.default_variant, data.protocols) == ("made", "hybrid", ("tcp",))
    assert second["dataset"] == {"id": "made", "sha256": data.sha256}
    link = data.interconnect
    assert (link.line_rate_bps, link.burst_bytes, link.mtu_bytes) == (1e9, 125_000, 1500)


def commands_with(word: str) -> list[str]:
    """Running commands that contain a word."""
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            told = one.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:  # it has ended meanwhile
            continue
        if word in told:
            found.append(told)
    return found


@pytest.mark.long
def test_killed_and_given_again_nothing_is_left(lab: Path, tmp_path: Path) -> None:
    """The responder ends at once; key and network stay until the command continues."""
    folder, temporary = tmp_path / "made", tmp_path / "temporary"
    temporary.mkdir()
    told = ("calibrate", "--protocol", "tcp", "--window", "100 ms", "--budget", "3 s")
    command = [sys.executable, "-m", "icmodel", *told, "-o", str(folder)]
    path = f"{lab.parent}{os.pathsep}{os.environ['PATH']}"
    here = {**os.environ, "PATH": path, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, env=here, stderr=subprocess.DEVNULL) as process:
        records = folder / RECORDS
        wait_until(lambda: records.exists() and b"\n" in records.read_bytes(), "nothing measured")
        process.kill()
    (key,) = temporary.glob("*/key")
    assert modes(key) == (0o600, 0o700)
    wait_until(lambda: not commands_with(str(key)), "the responder did not end")
    name = LabPair(lab, "direct-1g", folder).name
    assert name in networks(lab)
    subprocess.run(command, env=here, check=True, timeout=120.0, capture_output=True)
    assert list(temporary.iterdir()) == []
    assert name not in networks(lab)
    assert {one.name for one in folder.iterdir()}.isdisjoint({"key", key.parent.name})


def test_what_a_topology_says_holds_unless_it_is_given(lab: Path, tmp_path: Path) -> None:
    assert LabPair(lab, "direct-jumbo", tmp_path).link().mtu_bytes == 9000
    free = LabPair(lab, "direct", tmp_path).link()
    assert free == Link(None, None, 1500)
    wish = Request(tmp_path / "one", words={"line_rate_bps": 2e7, "mtu_bytes": None})
    made = wish.settings("a lab", Link(1e9, 125_000, 9000)).setup
    assert (made.line_rate_bps, made.burst_bytes, made.mtu_bytes) == (2e7, 125_000, 9000)
    bare = wish.settings("hosts", Link()).setup
    assert (bare.line_rate_bps, bare.burst_bytes, bare.mtu_bytes) == (2e7, 0.0, 1500)


# --- over SSH ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Server:
    """An OpenSSH server on loopback, and the options with which `ssh` reaches it.

    ``command`` is a folder with an `ssh` that gives these options by itself.
    """

    options: tuple[str, ...]
    command: Path


@pytest.fixture
def server(tmp_path: Path, probe: Path) -> Iterator[Server]:
    """A server of this test's own, with the key exchange that takes the least of a processor.

    To bash each shell is a further one (``SHLVL``): it does not read the tester's ``.bashrc``.
    """
    ssh = shutil.which("ssh")
    if not SSHD.is_file() or ssh is None or os.geteuid() != 0:
        pytest.skip("needs OpenSSH's client and server, and root: `make system` installs them")
    for name in ("host", "user"):
        output_of(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)), 30.0)
    Path("/run/sshd").mkdir(exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = tmp_path / "sshd_config"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path / 'host'}\nUsePAM no\n"
        f"AuthorizedKeysFile {tmp_path / 'user.pub'}\nStrictModes no\nPidFile none\n"
        f"PermitRootLogin yes\nSetEnv PATH={probe.parent}:/usr/bin:/bin SHLVL=1\n"
        "KexAlgorithms curve25519-sha256\n",
        encoding="utf-8",
    )
    client = tmp_path / "ssh_config"
    client.write_text(
        f"Host alice bob\nHostName 127.0.0.1\nPort {port}\nIdentityFile {tmp_path / 'user'}\n"
        "IdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
        "LogLevel ERROR\n",
        encoding="utf-8",
    )
    process = subprocess.Popen(
        [str(SSHD), "-D", "-e", "-f", str(config)], stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(port)
        yield Server(("-F", str(client)), _command(tmp_path / "bin", f"{ssh} -F {client}"))
    finally:
        process.terminate()
        process.wait()


def _command(folder: Path, words: str) -> Path:
    """Folder with an `ssh` that runs other words."""
    folder.mkdir()
    script = folder / "ssh"
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return folder


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 20.0
    while time.monotonic() < deadline:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("the OpenSSH server does not listen")


def test_hosts_over_ssh_answer_and_keep_nothing(
    server: Server, probe: Path, tmp_path: Path
) -> None:
    """Keys are removed, and the responder ends with the connection."""
    pair = SshPair(probe, "alice", "bob", "127.0.0.1", str(probe), server.options)
    with Hosts(probe, pair, settings(pair.description), tmp_path) as hosts:
        record = hosts.measure(Run("tcp", 1448, 1e7), 0)
        assert not isinstance(record, Refused)
        assert run_of(record) == Run("tcp", 1448, 1e7)
        keys = [Path(key) for key in pair.keys]
        assert [modes(key) for key in keys] == [(0o600, 0o700), (0o600, 0o700)]
        assert isinstance(hosts.measure(Run("udp", 70000), 0), Refused)
    assert not any(key.parent.exists() for key in keys)
    with socket.socket() as left:
        left.settimeout(5.0)
        assert left.connect_ex(("127.0.0.1", 20120)) != 0


def test_the_command_makes_a_dataset_between_hosts(
    server: Server,
    probe: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Hosts are named by ssh's configuration; a larger budget continues the same runs."""
    path = os.pathsep.join((str(server.command), str(probe.parent), os.environ["PATH"]))
    monkeypatch.setenv("PATH", path)
    folder = tmp_path / "made"
    words = ["calibrate", "--hosts", "alice", "bob", "--protocol", "tcp", "--window", "100 ms"]
    words += ["-o", str(folder), "--json"]
    assert main([*words, "--budget", "2 s"]) == 0
    first = json.loads(capfd.readouterr().out)
    assert (first["system"], first["reason"]) == ("hosts alice bob", "budget")
    before = (folder / RECORDS).read_bytes()
    assert main([*words, "--budget", "3 s"]) == 0
    second = json.loads(capfd.readouterr().out)
    assert (first["runs"], second["runs"]) == (1, 2)
    assert (folder / RECORDS).read_bytes().startswith(before)
    data = load(folder)
    assert second["dataset"] == {"id": "made", "sha256": data.sha256}
    assert (data.protocols, data.default_variant) == (("tcp",), "hybrid")
    assert not private(folder).exists()


def test_where_ssh_goes_is_where_frames_go_unless_it_is_said(server: Server, probe: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="ic") as short:
        key = Path(short) / "key"
        key.write_text("of nobody", encoding="utf-8")
        for said, address in ((None, "127.0.0.1"), ("127.0.0.2", "127.0.0.2")):
            pair = SshPair(probe, "alice", "bob", said, options=server.options)
            pair.up(key)
            pair.down()
            assert pair.address == address


def test_keys_that_a_killed_calibration_left_on_the_hosts_are_replaced(
    server: Server, probe: Path, tmp_path: Path
) -> None:
    left: list[str] = []
    with tempfile.TemporaryDirectory(prefix="ic") as short:
        key = Path(short) / "key"
        for body in ("old", "new"):
            key.write_text(body, encoding="utf-8")
            pair = SshPair(probe, "alice", "bob", "127.0.0.1", str(probe), server.options)
            pair.up(key)
            assert pair.keys == (left or pair.keys)
            left = list(pair.keys)
            assert [Path(one).read_text(encoding="utf-8") for one in left] == [body, body]
        pair.down()
    assert len(set(left)) == 2
    assert not any(Path(one).parent.exists() for one in left)


@pytest.mark.parametrize("failing", ["alice", "bob"])
def test_a_host_that_fails_leaves_no_key_on_the_other(
    server: Server, probe: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """Failures: the second host gets no key, and the first cannot be cleared."""
    kept: list[Path] = []

    def output(command: Sequence[str], longest_s: float, stdin: bytes | None = None) -> str:
        clearing = "rm -rf" in command[-1] and stdin is None
        if failing in command and (clearing or (stdin is not None and failing == "bob")):
            raise MeasurementFailed(f"{failing} is gone")
        said = output_of(command, longest_s, stdin)
        if stdin is not None:
            kept.append(Path(said.strip()))
        return said

    monkeypatch.setattr("icmodel.calibrate.testbed.output_of", output)
    with tempfile.TemporaryDirectory(prefix="ic") as short:
        key = Path(short) / "key"
        key.write_text("of nobody", encoding="utf-8")
        pair = SshPair(probe, "alice", "bob", "127.0.0.1", str(probe), server.options)
        if failing == "alice":  # the first host takes its key, and cannot be cleared
            pair.up(key)
        with pytest.raises(MeasurementFailed, match=f"{failing} is gone"):
            pair.down() if failing == "alice" else pair.up(key)
    assert not kept[-1].parent.exists()
    assert pair.keys == []


def test_a_host_without_icprobe_is_said(server: Server, probe: Path, tmp_path: Path) -> None:
    pair = SshPair(probe, "alice", "bob", "127.0.0.1", "no-such-probe", server.options)
    said = "no-such-probe was not found on alice: install it there, .* `ssh alice 'echo .PATH'`"
    with (
        pytest.raises(CalibrationError, match=said),
        Hosts(probe, pair, settings(pair.description), tmp_path),
    ):
        pass


def test_a_host_that_ssh_does_not_reach_is_said(probe: Path, tmp_path: Path) -> None:
    if shutil.which("ssh") is None:
        pytest.skip("needs OpenSSH's client: `make system` installs it")
    pair = SshPair(probe, "nobody@127.0.0.1", "nobody@127.0.0.1", options=("-p", "1"))
    with (
        pytest.raises(MeasurementFailed, match="ended with exit code 255"),
        Hosts(probe, pair, settings(pair.description), tmp_path),
    ):
        pass

"""Clocks that are known to differ, because time namespaces set them so."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from probe_lab import REALTIME, Lab, Responder, frames, standing
from probe_record import Record
from probe_wire import Seen

TOPOLOGY = """\
name = "ahead"
description = "two hosts on one cable, one of them with its clock ahead"
hosts = ["A", "B"]
links = [{{ a = "A", b = "B" }}]
clocks = [{{ host = "B", ahead = "{ahead}" }}]
"""
WHOLE_NS = 1.0
"""Offsets of namespaces and stamps are whole ns."""
STAMP_NS = 1000
"""How well a watcher knows the monotonic time of the kernel's stamps, which are of the wall clock."""
AHEAD = [("1000 s", ("--reverse",)), ("1.25 s", ()), ("50 us", ("--reverse",))]
"""The first of them there as well: with the topology that comes with icprobe."""


def ahead_ns(responder: Responder) -> int:
    """What the kernel adds to the monotonic clock of the responder and to nobody else's."""
    offsets = Path(f"/proc/{responder.process}/timens_offsets").read_text(encoding="utf-8")
    words = next(line.split() for line in offsets.splitlines() if line.startswith("monotonic"))
    return int(words[1]) * 10**9 + int(words[2])


def network(tmp_path: Path, ahead: str) -> Path:
    path = tmp_path / "ahead.toml"
    path.write_text(TOPOLOGY.format(ahead=ahead), encoding="utf-8")
    return path


def recovers(record: Record, truth_ns: int) -> None:
    """Offset and drift together are off by no more than the bound, from the run's start to its end."""
    clock, fit = record["clock"], record["clock"]["fit"]
    assert not clock["same"]
    assert clock["identity"]["send"]["boot_id"] == clock["identity"]["recv"]["boot_id"]
    assert 0 < clock["bound_s"] < 0.1
    sign = -1 if record["settings"]["reverse"] else 1
    assert clock["offset_s"] == pytest.approx(sign * fit["offset_ns"] * 1e-9, rel=1e-12)
    assert clock["drift"] == sign * fit["drift"]
    assert abs(clock["offset_s"] * 1e9 - sign * truth_ns) <= fit["bound_ns"] + WHOLE_NS
    assert fit["bound_epoch_ns"] <= fit["bound_ns"]
    for own_ns in (fit["from_ns"], fit["epoch_ns"], fit["to_ns"]):
        off_ns = fit["offset_ns"] + fit["drift"] * (own_ns - fit["epoch_ns"]) - truth_ns
        assert abs(off_ns) <= fit["bound_ns"] + WHOLE_NS


@pytest.mark.parametrize(("ahead", "direction"), AHEAD)
def test_an_offset_is_recovered_within_its_own_bound(
    probe: Path, tmp_path: Path, ahead: str, direction: tuple[str, ...]
) -> None:
    with standing(probe, network(tmp_path, ahead), tmp_path) as lab, lab.serving() as responder:
        truth_ns = ahead_ns(responder)
        assert truth_ns > 0
        for protocol in ("udp", "tcp"):
            options = ("--rate", "500/s", "--duration", "0.1 s", *direction)
            recovers(lab.run(protocol, 1000, *options), truth_ns)


def test_the_topology_that_comes_with_it_is_1000_s_ahead(probe: Path, tmp_path: Path) -> None:
    with standing(probe, "direct-clocks", tmp_path) as lab, lab.serving() as responder:
        assert ahead_ns(responder) == 1000 * 10**9
        record = lab.run("ethernet", 1000, "--rate", "500/s", "--duration", "0.1 s")
        recovers(record, ahead_ns(responder))


def latencies_ns(lab: Lab, direction: tuple[str, ...]) -> tuple[Record, list[float], list[Seen]]:
    """A run's latencies, and its frames as the kernel of this host saw them at the receiver."""
    with lab.watching("A" if direction else "B") as seen:
        options = ("--rate", "1000/s", "--raw", *REALTIME, *frames(300), *direction)
        record = lab.run("udp", 1000, *options)
    return record, [value * 1e9 for value in record["raw_latency_s"]], seen


@pytest.mark.alone
@pytest.mark.parametrize("direction", [(), ("--reverse",)], ids=["there", "back"])
def test_latencies_between_two_clocks_are_those_of_one(
    probe: Path, tmp_path: Path, direction: tuple[str, ...]
) -> None:
    """The watcher's stamps are of one clock: its own less the sender's, which is known, is the truth.

    No frame is read before the interface has it, so that no latency is below the network's by more
    than the bound; and the least of all is the network's and the time of one read.
    """
    with (
        standing(probe, network(tmp_path, "2 s"), tmp_path) as lab,
        lab.serving("--allow-realtime") as responder,
    ):
        # A watcher within B has B's clock, as B's sender has; one within A has A's, B's sender B's.
        sender_ahead_ns = ahead_ns(responder) if direction else 0
        watcher_ahead_ns = 0 if direction else ahead_ns(responder)
        record, reported, seen = latencies_ns(lab, direction)
        recovers(record, ahead_ns(responder))
    bound_ns = record["result"]["latency_bound_s"] * 1e9 + STAMP_NS
    between = watcher_ahead_ns - sender_ahead_ns
    network_ns = [frame.seen_ns - frame.sent_ns - between for frame in seen]
    assert len(reported) == len(network_ns) == 300
    reading_ns = [all_ - part for all_, part in zip(reported, network_ns, strict=True)]
    assert min(reading_ns) >= -bound_ns
    assert statistics.fmean(reported) >= statistics.fmean(network_ns) - bound_ns
    assert record["result"]["latency_min_s"] * 1e9 >= -bound_ns


def test_hosts_of_one_clock_need_no_correction(probe: Path, tmp_path: Path) -> None:
    with standing(probe, "direct", tmp_path) as lab, lab.serving():
        for direction in ((), ("--reverse",)):
            record = lab.run("udp", 1000, "--rate", "500/s", "--duration", "0.1 s", *direction)
            assert record["clock"].keys() == {"same", "identity", "bound_s"}
            assert record["clock"]["same"]
            assert record["result"]["latency_bound_s"] == 0
            ends = record["clock"]["identity"]
            assert ends["send"] == ends["recv"]
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
            assert ends["send"]["boot_id"] == boot

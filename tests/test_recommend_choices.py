"""Choices: variants of streams, options of the network, and unknown names."""

from __future__ import annotations

from pathlib import Path

import pytest

from icmodel.errors import NetworkError
from icmodel.model import Model
from icmodel.recommend.choices import Variant, default_choices, networks, parameters, variants
from icmodel.system import OpenSystem, load_open
from icmodel.system.document import ALIGNED, Choices, StreamChoices
from recommend_case import IMAGING, MODELS, SMALL, opened

LAB = {"lab-1g-2026": Model("lab-1g-2026", "corrected")}


def found(file: OpenSystem, table: str, **given: object) -> tuple[Variant, ...]:
    one = next(one for one in file.document.streams if one.name == table)
    return variants(one, StreamChoices.model_validate(given), file.system(), MODELS)


def test_the_files_own_comes_first_and_nothing_twice() -> None:
    some = found(load_open("imaging"), "picture", protocol=["udp", "tcp"], cores=[4, 1])
    assert some[0] == Variant("tcp", 65535, None, 4, 0)
    assert {(one.protocol, one.cores) for one in some} == {("tcp", 4), ("tcp", 1)}
    assert len(some) == len(set(some)), "UDP has no frame of 65535 B (RFC 768: 65507 B)"


def test_aligned_payloads_fill_doubling_counts_of_packets() -> None:
    """A packet carries 1448 B of TCP, or of UDP 1472 B, and 1480 B if it is not the first (IC2012 §6.1)."""
    some = found(load_open("imaging"), "picture", protocol=["udp"], payload_bytes=[ALIGNED])
    told = {
        name: {one.payload_bytes for one in some if one.protocol == name} for name in ("tcp", "udp")
    }
    doubled = [1, 2, 4, 8, 16, 32]
    assert told["tcp"] == {*(1448 * count for count in doubled), 65535 // 1448 * 1448, 65535}
    assert told["udp"] == {*(1472 + 1480 * (count - 1) for count in doubled), 1472 + 1480 * 43}


def test_a_rate_of_whole_messages_is_frames_a_picture_times_pictures() -> None:
    """1920 × 1920 × 4 B are 225.003 frames of 65535 B: 226 of them 30 times a second."""
    some = found(
        load_open("imaging"), "picture", rate_fps=["whole-messages", "as-produced", 6700.0]
    )
    assert None in {one.rate_fps for one in some}
    assert sorted({one.rate_fps or 0 for one in some}) == pytest.approx([0, 6700, 226 * 30])


def test_a_priority_that_no_port_serves_is_no_variant(tmp_path: Path) -> None:
    served = IMAGING.replace(
        '{ kind = "strict-priority" }', '{ kind = "wrr", weights = { 6 = 2, 0 = 1 } }'
    )
    path = tmp_path / "wrr.toml"
    path.write_text(served, encoding="utf-8")
    some = found(load_open(path), "control", priority=[0, 3, 6])
    assert {one.priority for one in some} == {0, 6}


def test_networks_are_all_combinations_the_files_own_first_then_the_nearest(tmp_path: Path) -> None:
    more = '\n[choices.switches.switch]\nlatency = ["1 us"]\n[choices.links."*"]\nrate = ["25 Gb/s", "40 Gb/s"]\n'
    file = opened(tmp_path, SMALL + more)
    assert file.document.choices is not None
    some = list(networks(file, parameters(file.document, file.document.choices)))
    assert len(some) == 2 * 2 * 3
    assert [len(one.changed) for one in some] == sorted(len(one.changed) for one in some)
    assert some[0].changed == {}
    assert {"links.rate": "40 Gb/s"} in [one.changed for one in some]
    last = some[-1].system
    assert {link.rate_bps for link in last.links.values()} == {40e9}
    assert {switch.latency_s for switch in last.switches.values()} == {1e-6}
    ends = [end for link in last.links.values() for end in link.ends]
    assert ends.count("qfhd-display") == last.devices["qfhd-display"].interfaces == 5


def test_without_choices_the_measured_options_are_searched() -> None:
    file = load_open("lab-direct")
    told = default_choices(file.document, file.system(), LAB).streams["measured"]
    assert set(told.protocol) == set(LAB["lab-1g-2026"].data.protocols)
    assert told.payload_bytes == (ALIGNED,)
    assert told.cores
    motion = load_open("motion-control")
    assert (
        default_choices(motion.document, motion.system(), MODELS).streams["sample"].payload_bytes
        == ()
    )


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ('[choices.streams.film]\nprotocol = ["udp"]', "choices.streams names 'film'"),
        ("[choices.devices.screen]\ncores = [4]", "choices.devices names 'screen'"),
        ('[choices.links."a<->b"]\nrate = ["1 Gb/s"]', "choices.links names 'a<->b'"),
        ("[choices.streams.picture]\ncores = [0]", "cores no. 1 is 0"),
        ('[choices.streams.picture]\npayload = ["big"]', "payload: "),
        ('[choices.streams.picture]\npayload = "64 B"', 'write a list, payload = ["64 B"]'),
        ('[choices.streams.picture]\npayload = "aligned"', 'write a list, payload = ["aligned"]'),
        ('[choices.streams.picture]\nport = ["x"]', "the key 'port' is unknown"),
        ("[costs]\ncore = -1", "core is -1"),
        (
            '[choices.links."*"]\nrate = ["1 Gb/s"]\n[choices.links."recorder<->switch"]\nrate = ["1 Gb/s"]',
            "keep one of the two",
        ),
    ],
)
def test_damaged_choices_are_reported_in_a_sentence(
    tmp_path: Path, choices: str, sentence: str
) -> None:
    with pytest.raises(NetworkError) as told:
        opened(tmp_path, f"\n{choices}\n")
    assert sentence in str(told.value)
    assert "\n" not in str(told.value)


def test_interfaces_of_a_device_with_several_neighbours_cannot_be_chosen() -> None:
    file = load_open("motion-control")
    given = Choices.model_validate({"devices": {"controller": {"interfaces": [2]}}})
    with pytest.raises(NetworkError, match="is named in 2"):
        parameters(file.document, given)

"""The bundled systems: what IC2012 says of them, and what the lab's topologies are."""

from __future__ import annotations

import tomllib

import pytest

import checkout
from icmodel.system import Finding, System, load, load_checked, system_names
from icmodel.system.traffic import port_loads
from icmodel.usecase import derive, load_usecase

CALIBRATION = checkout.ROOT / "calibration" / "topologies"
LAB = {
    "lab-direct": "direct-1g",
    "lab-switch": "switch-100m",
    "lab-two-switches": "two-switches-100m",
    "lab-two-senders": "two-senders-100m",
    "lab-dscp": "dscp-100m",
}


VERIFIED = (
    "lab-chain",
    "lab-four-senders",
    "lab-priorities",
    "lab-six-streams",
    "lab-udp-beside-tcp",
    "lab-udp-overload",
    "lab-unequal",
)
"""Systems that were built in the lab and compared (docs/background/verified.md)."""


def found(name: str) -> tuple[Finding, ...]:
    return load_checked(name)[1]


def into(system: System, group: str) -> float:
    """Goodput [b/s] that all streams to a group of devices need together."""
    streams = [one for one in system.streams.values() if system.devices[one.sink].group == group]
    return sum(one.producer.needed_bps for one in streams if one.producer is not None)


def test_these_systems_are_bundled() -> None:
    assert set(system_names()) == {*LAB, *VERIFIED, "imaging", "industrial-line", "motion-control"}


@pytest.mark.parametrize("name", sorted({*LAB, *VERIFIED, "imaging", "industrial-line"}))
def test_a_bundled_system_has_nothing_to_find_but_motion_control(name: str) -> None:
    kinds = [one.kind for one in found(name)]
    assert kinds == (["overloaded"] if name == "lab-udp-overload" else [])


# --- IC2012 §1.4.3.1 and §8.1 --------------------------------------------------------------------


def test_imaging_has_15_devices_with_17_interfaces() -> None:
    system = load("imaging")
    assert len(system.devices) == 15
    assert sum(device.interfaces for device in system.devices.values()) == 17
    assert len(system.links) == 17


def test_six_pictures_of_21_23_gbps_reach_the_qfhd_display_two_at_each_interface() -> None:
    system = load("imaging")
    pictures = [one for one in system.streams.values() if one.group == "picture"]
    assert {one.source for one in pictures} == {
        *(f"capturing-device-{i}" for i in (1, 2, 3)),
        *(f"recorder-{i}" for i in (1, 2, 3)),
    }
    assert sum(one.requested_goodput_bps for one in pictures) == pytest.approx(21.233664e9)
    at = system.streams_by_port()
    for i in (1, 2, 3):
        there = at[f"switch->qfhd-display#{i}"]
        assert sum(one.group == "picture" for one in there) == 2
    assert sum(one.group == "control" for one in system.streams.values()) == 6


def test_imaging_takes_its_requirements_from_the_use_case() -> None:
    case, system = load_usecase("imaging"), load("imaging")
    *taken, own = system.requirements
    assert [one.requirement.name for one in taken] == [one.name for one in case.requirements]
    assert (own.stream, own.requirement.limit) == ("second-picture", 0.017)
    limits = {one.requirement.metric: one.requirement.limit for one in taken}
    made = derive(case)
    assert limits["goodput_bps"] == made["picture.goodput_bps"].value
    assert limits["latency_max_s"] == made["response.interconnect_s"].value == 0.017
    assert taken[-1].device == "qfhd-display"


# --- IC2012 §1.4.3.2 -----------------------------------------------------------------------------


def test_motion_control_brings_64_kb_in_3_us_to_twenty_controllers() -> None:
    system = load("motion-control")
    samples = [one for one in system.streams.values() if one.group == "sample"]
    assert len({one.sink for one in samples}) == 20
    assert sum(8 * one.producer.message_bytes for one in samples if one.producer) == 64_000
    assert into(system, "controller") == pytest.approx(21.333e9, rel=1e-4)


def test_motion_control_brings_3_2_kb_in_2_us_to_fifty_actuators() -> None:
    system = load("motion-control")
    points = [one for one in system.streams.values() if one.group == "set-point"]
    assert {one.sink for one in points} == {f"actuator-{i}" for i in range(1, 51)}
    assert sum(8 * one.producer.message_bytes for one in points if one.producer) == 3_200
    assert into(system, "actuator") == pytest.approx(1.6e9)


def test_a_sensor_board_asks_more_of_its_link_than_10_gbps() -> None:
    """1000 x 32 b in 3 us are 10.67 Gb/s; ten frames of 400 B with 66 B around each are 12.43."""
    (finding,) = found("motion-control")
    assert finding.kind == "overloaded"
    assert not finding.refused
    assert (
        "sensor-board-1->sensor-side must carry 12.43 Gb/s, more than its 10 Gb/s" in finding.text
    )
    assert (
        "within 3 µs if all messages come at once, for the stream sample-1 and 9 more"
        in finding.text
    )
    assert pytest.approx(12.43e9, rel=1e-3) == 10 * (400 + 66) * 8 / 3e-6


# --- ours ----------------------------------------------------------------------------------------


def test_the_industrial_line_has_500_sensors_each_of_whose_readings_stays_in_its_cell() -> None:
    system = load("industrial-line")
    readings = [one for one in system.streams.values() if one.group == "reading"]
    assert len(readings) == 500
    for one in readings:
        field, cell = (switch.name for switch in system.switches_of(one))
        assert field.startswith("field-")
        assert cell.removeprefix("cell-") == one.sink.removeprefix("plc-")
    assert {switch.group for one in readings for switch in system.switches_of(one)} == {
        "field",
        "cell",
    }


def test_the_industrial_line_says_that_nothing_of_it_was_measured() -> None:
    system = load("industrial-line")
    assert "assumed" in system.source
    assert sum(limit.startswith("Assumed") for limit in system.known_limits) == 3


def test_the_industrial_line_sends_state_once_to_two_sinks() -> None:
    system = load("industrial-line")
    copies = [one for one in system.streams.values() if one.multicast == "state-1"]
    assert [one.sink for one in copies] == ["server", "panel"]
    assert copies[0].path[:2] == copies[1].path[:2] == ("plc-1->cell-1", "cell-1->core")
    up = next(load for load in port_loads(system) if load.port.name == "plc-1->cell-1")
    assert sum(one.group == "state" for one in up.streams) == 1


@pytest.mark.parametrize("name", LAB)
def test_a_system_of_the_lab_is_its_topology(name: str) -> None:
    topology = tomllib.loads((CALIBRATION / f"{LAB[name]}.toml").read_text(encoding="utf-8"))
    system = load(name)
    assert list(system.devices) == topology["hosts"]
    assert list(system.switches) == topology.get("switches", [])
    rates = {"100 Mb/s": 100e6, "1 Gb/s": 1e9}
    assert {(frozenset(link.ends), link.rate_bps) for link in system.links.values()} == {
        (frozenset((link["a"], link["b"])), rates[link["rate"]]) for link in topology["links"]
    }


def test_the_labs_classes_are_promised_the_same_shares() -> None:
    topology = tomllib.loads((CALIBRATION / "dscp-100m.toml").read_text(encoding="utf-8"))
    port = load("lab-dscp").ports["S->B"]
    weights = list(port.scheduler.weights.values())  # type: ignore[union-attr]
    rates = [float(one["rate"].removesuffix(" Mb/s")) for one in topology["classes"]]
    assert [w / sum(weights) for w in weights] == pytest.approx([r / sum(rates) for r in rates])

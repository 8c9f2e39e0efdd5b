"""Processes side by side: each answers its own protocol, as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest

from fits_case import sites
from icmodel.fits.kernel import Kernel, Known, groups_of
from icmodel.fits.mechanism import CONSTANT, Mechanism
from icmodel.fits.observations import Observations
from icmodel.fits.process import OWN_ROWS, REST, Part, ProtocolProcesses, parts_of, process, whole

NAMES = ["tcp", "udp"] * 5 + ["raw"] * 3
WHERE = sites(np.geomspace(64, 65536, len(NAMES)), [[name] for name in NAMES])
LOG_TIME = np.random.default_rng(5).normal(size=len(NAMES))
KERNELS = {"tcp": Kernel(length=2.0), "udp": Kernel(length=9.0, noise=0.3), REST: Kernel()}
ROWS = {name: np.flatnonzero(np.array(NAMES) == name) for name in ("tcp", "udp")}
ROWS[REST] = np.flatnonzero(np.array(NAMES) == "raw")
GROUPS = groups_of(WHERE)["product"]
MECHANISM = Mechanism(CONSTANT, WHERE, LOG_TIME)


def part(name: str) -> Part:
    """The process of one part, through its own rows alone."""
    rows = ROWS[name]
    some = WHERE.take(rows)
    variance = np.full(len(rows), 0.01)
    observed = Observations(some, np.exp(LOG_TIME[rows]), variance, variance)
    apart = Known(some, GROUPS).distances(some)
    kernel = KERNELS[name].on(GROUPS)
    return Part(rows, process(MECHANISM, kernel, observed, apart, LOG_TIME[rows]))


PARTED = ProtocolProcesses({name: part(name) for name in ROWS})


def asked(parted: ProtocolProcesses, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Log time and deviation at 100, 200, ... bytes of some protocols."""
    where = sites(100.0 * np.arange(1, len(names) + 1), [[name] for name in names])
    apart, modelled = Known(WHERE, GROUPS).distances(where), MECHANISM.at(where)
    crosses = parted.crosses(where, modelled, apart)
    return parted.log_time(crosses), parted.deviation(crosses)


def test_errors_deviations_and_noise_are_those_of_each_part_in_the_order_of_the_rows() -> None:
    for name, rows in ROWS.items():
        one = part(name).process
        assert PARTED.errors[rows] == pytest.approx(one.errors)
        assert PARTED.deviations[rows] == pytest.approx(one.deviations)
        assert PARTED.noise[rows] == pytest.approx(one.kernel.noise * one.scale**2)
    assert PARTED.kernels.keys() == ROWS.keys()


def test_each_site_is_told_by_the_part_of_its_protocol() -> None:
    names = ["udp", "tcp", "raw", "udp", "tcp"]
    log_time, deviation = asked(PARTED, names)
    for k, name in enumerate(names):
        key = name if name in ROWS else REST
        alone = ProtocolProcesses({key: PARTED.parts[key]})
        one, sure = asked(alone, names)
        assert (log_time[k], deviation[k]) == pytest.approx((one[k], sure[k]))
    assert len({round(d, 6) for d in deviation}) > 2


def test_a_protocol_without_rows_is_told_by_the_rest_or_by_the_greatest_part() -> None:
    with_rest, _ = asked(PARTED, ["new"])
    assert with_rest == pytest.approx(
        asked(ProtocolProcesses({REST: PARTED.parts[REST]}), ["new"])[0]
    )
    bare = ProtocolProcesses({name: PARTED.parts[name] for name in ("tcp", "udp")})
    assert asked(bare, ["new"])[0] == pytest.approx(
        asked(ProtocolProcesses({"tcp": part("tcp")}), ["new"])[0]
    )


def test_protocols_with_few_rows_share_a_part() -> None:
    names = ["many"] * OWN_ROWS + ["few"] * (OWN_ROWS - 1) + ["one"]
    where = sites(np.arange(1.0, len(names) + 1), [[name] for name in names])
    found = parts_of(where)
    assert found["many"].tolist() == list(range(OWN_ROWS))
    assert found[REST].tolist() == list(range(OWN_ROWS, len(names)))
    assert parts_of(where.take(found["many"])).keys() == {"many"}
    assert whole(where)[REST].tolist() == list(range(len(names)))

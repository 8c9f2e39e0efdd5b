"""Processes: what is left out in closed form is what leaving out gives, and far rows are unsure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fits_case import PAYLOADS, lab, sites
from icmodel.estimate.statistics import LONE_WIDTH
from icmodel.fits.fit import fit
from icmodel.fits.kernel import JOINED, PRODUCT, Covariance, Kernel, MeasuredSites, groups_of
from icmodel.fits.mechanism import CONSTANT, COSTS, Mechanism
from icmodel.fits.observations import Observations, observations
from icmodel.fits.process import (
    OWN_ROWS,
    REST,
    Part,
    Process,
    ProtocolProcesses,
    half_width,
    left_out_together,
    parts_of,
    process,
    whole,
)
from icmodel.tables.wire import frames_on_wire

WHERE = sites([*PAYLOADS, *PAYLOADS], [["a"]] * len(PAYLOADS) + [["b"]] * len(PAYLOADS))


def one(form: str) -> tuple[Process, np.ndarray]:
    """A process through noisy rows of two configurations, and their log times."""
    random = np.random.default_rng(4)
    log_time = np.log(1e-6 + 1e-9 * WHERE.payload_bytes) + 0.1 * random.standard_normal(len(WHERE))
    groups = groups_of(WHERE)[form]
    mechanism = Mechanism(COSTS, WHERE, log_time)
    observed = Observations(
        WHERE, np.exp(log_time), np.full(len(WHERE), 1e-4), np.full(len(WHERE), 0.01)
    )
    apart = MeasuredSites(WHERE, groups).distances(WHERE)
    found = process(mechanism, Kernel(form).on(groups), observed, apart, log_time)
    return found, log_time - mechanism.at(WHERE).log_time


@pytest.mark.parametrize("form", [PRODUCT, JOINED])
def test_leaving_out_in_closed_form_is_leaving_out(form: str) -> None:
    found, residual = one(form)
    covariance = np.linalg.inv(found.inverse)
    for k in (0, 7, 20):
        rest = np.delete(np.arange(len(residual)), k)
        among, cross = covariance[np.ix_(rest, rest)], covariance[k, rest]
        told = cross @ np.linalg.solve(among, residual[rest])
        assert found.errors[k] == pytest.approx(residual[k] - told, rel=1e-6, abs=1e-9)
        spread = covariance[k, k] - cross @ np.linalg.solve(among, cross)
        assert found.deviations[k] == pytest.approx(found.scale * np.sqrt(spread), rel=1e-6)


@pytest.mark.parametrize("form", [PRODUCT, JOINED])
def test_it_is_less_sure_far_from_its_rows(form: str) -> None:
    found, _ = one(form)
    asked = sites([3000, 10_000_000], [["a"], ["a"]])
    apart = MeasuredSites(WHERE, groups_of(WHERE)[form]).distances(asked)
    modelled = found.mechanism.at(asked)
    near, far = found.deviation(modelled, found.covariance(modelled, apart))
    assert far > 1.5 * near


def test_its_covariance_is_that_of_its_kernel() -> None:
    found, _ = one(PRODUCT)
    apart = MeasuredSites(WHERE, groups_of(WHERE)[PRODUCT]).distances(WHERE)
    told = Covariance(found.kernel, apart, found.shares @ found.shares.T).values
    noise = np.linalg.inv(found.inverse) - told
    expected = found.kernel.noise + 1e-4 / found.scale**2
    assert np.diag(noise) == pytest.approx(expected, rel=1e-6)


def test_twins_leave_together() -> None:
    """Requests above the capacity are one point whatever they ask: none tells of the other."""
    labels = [["a", "overload"]] * 8
    where = sites([64, 64, 64, 1024, 1024, 4096, 16384, 16384], labels)
    where = replace(where, load_bps=np.array([1e9, 2e9, 4e9, 1e9, 2e9, 4e9, 1e9, 1e9]))
    log_time = np.log(1e-6 + 1e-9 * where.payload_bytes) + 0.1 * np.arange(8)
    nothing = np.zeros(8)
    mechanism = Mechanism(COSTS, where, log_time)
    apart = MeasuredSites(where, ()).distances(where)
    observed = Observations(where, np.exp(log_time), nothing, nothing)
    found = process(mechanism, Kernel().on(()), observed, apart, log_time)
    residual = log_time - mechanism.at(where).log_time
    covariance = np.linalg.inv(found.inverse)
    for left in ([0, 1, 2], [3, 4], [5], [6, 7]):
        rest, out = np.setdiff1d(np.arange(8), left), np.array(left)
        among, cross = covariance[np.ix_(rest, rest)], covariance[np.ix_(out, rest)]
        told = cross @ np.linalg.solve(among, residual[rest])
        assert found.errors[left] == pytest.approx(residual[left] - told, rel=1e-6, abs=1e-9)
        spread = covariance[np.ix_(out, out)] - cross @ np.linalg.solve(among, cross.T)
        expected = found.scale * np.sqrt(np.diag(spread))
        assert found.deviations[left] == pytest.approx(expected, rel=1e-6)


# --- one process for each protocol ---


NAMES = ["tcp", "udp"] * 5 + ["raw"] * 3
WHERE_PROTOCOL = sites(np.geomspace(64, 65536, len(NAMES)), [[name] for name in NAMES])
LOG_TIME = np.random.default_rng(5).normal(size=len(NAMES))
KERNELS = {"tcp": Kernel(length=2.0), "udp": Kernel(length=9.0, noise=0.3), REST: Kernel()}
ROWS = {name: np.flatnonzero(np.array(NAMES) == name) for name in ("tcp", "udp")}
ROWS[REST] = np.flatnonzero(np.array(NAMES) == "raw")
GROUPS = groups_of(WHERE_PROTOCOL)["product"]
MECHANISM = Mechanism(CONSTANT, WHERE_PROTOCOL, LOG_TIME)


def part(name: str) -> Part:
    """The process of one part, through its own rows alone."""
    rows = ROWS[name]
    some = WHERE_PROTOCOL.take(rows)
    variance = np.full(len(rows), 0.01)
    observed = Observations(some, np.exp(LOG_TIME[rows]), variance, variance)
    apart = MeasuredSites(some, GROUPS).distances(some)
    kernel = KERNELS[name].on(GROUPS)
    return Part(rows, process(MECHANISM, kernel, observed, apart, LOG_TIME[rows]))


PARTED = ProtocolProcesses({name: part(name) for name in ROWS})


def asked(parted: ProtocolProcesses, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Log time and deviation at 100, 200, ... bytes of some protocols."""
    where = sites(100.0 * np.arange(1, len(names) + 1), [[name] for name in names])
    apart, modelled = MeasuredSites(WHERE_PROTOCOL, GROUPS).distances(where), MECHANISM.at(where)
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


# --- whole configurations left out ---


PAYLOADS_ELSEWHERE = np.tile([64.0, 512.0, 4096.0], 4)
NAMES_ELSEWHERE = np.repeat(["a", "b", "c", "d"], 3)[:, None]
LOG_TIME_ELSEWHERE = np.random.default_rng(3).normal(size=12) + np.repeat([0.0, 1.0, 2.0, 3.0], 3)


def through(rows: np.ndarray) -> Process:
    """The same process, its mechanism that of all rows, through some of them."""
    where = sites(PAYLOADS_ELSEWHERE, NAMES_ELSEWHERE)
    mechanism = Mechanism(CONSTANT, where, LOG_TIME_ELSEWHERE)
    groups = groups_of(where)["product"]
    some = where.take(rows)
    observed = Observations(
        some, np.exp(LOG_TIME_ELSEWHERE[rows]), np.zeros(len(rows)), np.zeros(len(rows))
    )
    apart = MeasuredSites(some, groups).distances(some)
    return process(mechanism, Kernel().on(groups), observed, apart, LOG_TIME_ELSEWHERE[rows])


def test_the_closed_form_is_that_of_fitting_without_them() -> None:
    whole = through(np.arange(12))
    found = left_out_together(whole, NAMES_ELSEWHERE)
    where = sites(PAYLOADS_ELSEWHERE, NAMES_ELSEWHERE)
    for k in range(4):
        own = np.arange(3 * k, 3 * k + 3)
        rest = np.setdiff1d(np.arange(12), own)
        without = through(rest)
        apart = MeasuredSites(where.take(rest), groups_of(where)["product"]).distances(
            where.take(own)
        )
        modelled = without.mechanism.at(where.take(own))
        told = without.log_time(modelled, without.covariance(modelled, apart))
        assert found[k] == pytest.approx(np.sqrt(np.mean((LOG_TIME_ELSEWHERE[own] - told) ** 2)))


def test_of_few_configurations_the_greatest_error_counts_and_no_less_than_a_lone_point_s() -> None:
    rows = np.arange(12)
    whole = through(rows)
    found = half_width(ProtocolProcesses({REST: Part(rows, whole)}), NAMES_ELSEWHERE)
    assert found == max(left_out_together(whole, NAMES_ELSEWHERE).max(), LONE_WIDTH)
    data = lab(protocols=("udp",), noise=1e-6)

    def carrier(protocol: str, options: object, payload_bytes: np.ndarray) -> object:
        return frames_on_wire(data, protocol, {}, payload_bytes)

    observed = observations(data, "latency_mean_s", carrier)  # type: ignore[arg-type]
    assert observed is not None
    one = fit(observed, np.log(observed.values)).processes[0]
    assert half_width(one, observed.sites.labels[:, :1]) >= LONE_WIDTH

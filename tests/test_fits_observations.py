"""Sites: grouped by protocol, configuration and curve; one curve's are those of many sites alike."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fits_case import sites
from icmodel.dataset import load
from icmodel.fits.observations import LIMITED, OVERLOAD, UNLIMITED, curve_sites, label, unlimited
from icmodel.fits.observations import sites as sites_of
from icmodel.tables.wire import frames_on_wire

ROW = st.tuples(
    st.sampled_from(("tcp", "udp")),
    st.sampled_from(("on", "off")),
    st.sampled_from((LIMITED, UNLIMITED, OVERLOAD)),
    st.sampled_from((1.0, 8e6, 1e9)),
)


@given(st.lists(ROW, min_size=1, max_size=12))
def test_every_site_is_in_the_group_of_its_labels(rows: list[tuple[str, str, str, float]]) -> None:
    labels = [list(row[:3]) for row in rows]
    loads = np.array([row[3] for row in rows])
    where = replace(sites(np.arange(1.0, len(rows) + 1), labels), load_bps=loads)
    for found, key_of in (
        (where.by_protocol, lambda row: row[0]),
        (where.by_configuration, lambda row: row[:3]),
        (where.by_curve, lambda row: (row[:3], row[3])),
    ):
        expected: dict[object, list[int]] = {}
        for k, row in enumerate(rows):
            expected.setdefault(key_of(row), []).append(k)
        assert {key: members.tolist() for key, members in found.items()} == expected
    assert where.at_limit.tolist() == [row[2] != LIMITED for row in rows]


def test_the_sites_of_a_curve_are_those_of_many_sites_that_are_alike() -> None:
    data = load("ethernet-10g-2012")
    point = next(p for p in data.points if p.protocol == "udp")
    own, carrier = label(data, point, LIMITED), partial(frames_on_wire, data)
    payload = np.array([1.0, 1472.0, 1473.0, 65507.0])
    one = curve_sites(data, carrier, payload, 1e9, own)
    many = sites_of(data, carrier, payload, np.full(4, 1e9), [own] * 4)
    for column in fields(many):
        assert getattr(one, column.name).tolist() == getattr(many, column.name).tolist()


def test_unlimited_sites_keep_all_labels_but_the_regime() -> None:
    where = sites([64, 128], [["tcp", "on", LIMITED], ["udp", "off", OVERLOAD]])
    found = unlimited(where)
    assert found.labels.tolist() == [["tcp", "on", UNLIMITED], ["udp", "off", UNLIMITED]]
    assert found.load_bps.tolist() == [1.0, 1.0]

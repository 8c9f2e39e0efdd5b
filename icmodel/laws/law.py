"""A law: the functions that make a variant of the model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from icmodel.arrays import Bools, Floats
from icmodel.dataset import Dataset
from icmodel.fits.constants import SHIPPED, Constants
from icmodel.laws.bases import Bases
from icmodel.laws.flow import Flow
from icmodel.laws.prepared import Prepared, Wanted
from icmodel.laws.substitution import Rows
from icmodel.scenario import Hosts, Scenario
from icmodel.tables import Look


class Fitting(NamedTuple):
    """How a law makes the fits that it needs.

    ``watch`` is called after each with the counts of finished fits and of all; ``cache`` tells whether they are kept
    in the user's cache folder; ``constants`` are those of every fit.
    """

    watch: Callable[[int, int], None] | None = None
    cache: bool = True
    constants: Constants = SHIPPED


class Law(NamedTuple):
    """The steps of one variant, from rows to an answer.

    ``prepare`` makes tables; ``goodput`` names the table of the capacity.  For a block of questions bound
    to tables ``flow`` gives throughput and load, ``answers`` every wanted metric (ends, n), with the demand of the
    utilisations among them, ``bases`` what metrics rest on; for one question ``bounds`` and ``notes`` explain it, notes
    with the demand by utilisation.  ``rows`` gives the rows that answer a protocol at some options.
    ``adds_cable``: a distance beyond the dataset's own cable adds to latency (E19).

    Optional: ``overload`` answers requests in overload; ``for_hosts`` gives the dataset and its law on another link
    or with other hosts; ``paced`` limits requests to what the application's own work allows.
    """

    prepare: Callable[[Wanted], Prepared | None]
    goodput: str
    flow: Callable[[Look], Flow]
    answers: Callable[[Look, Flow, Collection[str]], Mapping[str, Floats]]
    bases: Callable[[Look, Flow], Bases]
    bounds: Callable[[Look, Flow], Mapping[str, float]]
    notes: Callable[[Look, Flow, Scenario, Mapping[str, float]], Iterator[str]]
    rows: Callable[[Dataset, str, Mapping[str, str]], Rows]
    adds_cable: bool = True
    overload: Overload | None = None
    for_hosts: Callable[[Hosts], tuple[Dataset, Law]] | None = None
    paced: Callable[[Look], Look] | None = None


class Overload(NamedTuple):
    """A law for requests in overload; ``asked`` selects them from a block bound to both laws' tables, (n,)."""

    law: Law
    asked: Callable[[Look, Look, Flow], Bools]

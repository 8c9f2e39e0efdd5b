"""The law of a model, and the tables it has made so far, shared by all its questions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from icmodel import units
from icmodel.dataset import Dataset
from icmodel.errors import DatasetError, OutOfDomain
from icmodel.laws import law_of
from icmodel.laws.law import Fitting, Law, Prepared, Wanted
from icmodel.model.domain import Domains, Placer, ProtocolDomain, protocol_domain
from icmodel.scenario import Hosts

Options = tuple[tuple[str, str], ...]


class TableCache:
    """A dataset under one law; the tables for each choice of options are made once."""

    def __init__(self, data: Dataset, variant: str, own: Law) -> None:
        self.data, self.variant, self.law = data, variant, own
        self._prepared = lru_cache(maxsize=64)(self._prepare)
        self._overload = lru_cache(maxsize=64)(self._prepare_overload)
        self._changed = lru_cache(maxsize=16)(self._change)
        self._domains = lru_cache(maxsize=256)(self._domain)
        self._placers = lru_cache(maxsize=64)(self._placer)

    def wanted(
        self,
        options: Options | Mapping[str, str] = (),
        protocols: tuple[str, ...] | None = None,
        *,
        extend: bool = False,
        only: frozenset[str] | None = None,
    ) -> Key:
        """The key of some tables; explicit default options give the same key as none."""
        pairs = tuple(sorted(self.data.changed_options(dict(options)).items()))
        return pairs, protocols or self.data.protocols, extend, only

    def prepared(self, key: Key) -> Prepared:
        """The tables of a key.

        Raises
        ------
        OutOfDomain
            If the dataset does not have an option, or no rows with it.
        """
        return self._prepared(key)

    def overload(self, key: Key) -> Prepared | None:
        """The tables for requests in overload, if the law has such tables."""
        return self._overload(key)

    def changed(self, hosts: Hosts, options: Options = ()) -> TableCache:
        """The cache for other hosts or another link; itself for the dataset's own at these options.

        Raises
        ------
        OutOfDomain
            If the law or the dataset does not support it.
        """
        if problem := self.hosts_problem(hosts, options):
            raise OutOfDomain(problem)
        return self if is_own(self.data, hosts, options) else self._changed(hosts)

    def domain(self, protocol: str, options: Options) -> ProtocolDomain:
        """What one protocol of the dataset can be asked.

        Raises
        ------
        OutOfDomain
            If the dataset does not have an option.
        """
        return self._domains(protocol, tuple(self.data.changed_options(dict(options)).items()))

    def domains(self, key: Key, prepared: Prepared) -> Domains:
        """What each protocol of some tables can be asked."""
        options, protocols, _, _ = key
        return Domains(
            [self.domain(name, options) for name in protocols], prepared.tables.axes.cores
        )

    def placer(self, key: Key) -> Placer:
        """What places one question at a time on the tables of a key."""
        return self._placers(key)

    def hosts_problem(self, hosts: Hosts, options: Options = ()) -> str:
        """Why other hosts or another link cannot be predicted; empty where they can."""
        if is_own(self.data, hosts, options):
            return ""
        if self.law.for_hosts is None:
            asked, measured, name = _elsewhere(hosts, self.data.link(dict(options)).line_rate_bps)
            return (
                f"{self.data.id} was measured {measured}, and the variant {self.variant} knows nothing else: "
                f"ask --variant hybrid for {asked}, leave {name} out, or take a dataset that was measured so"
            )
        if hosts.line_rate_bps is not None and self.data.interconnect.line_rate_bps is None:
            return f"{self.data.id} does not say its line rate: leave line_rate out"
        return ""

    def work_problem(self) -> str:
        """Why the application's own work cannot be predicted; empty where it can."""
        if self.law.paced is not None:
            return ""
        return (
            f"the variant {self.variant} predicts the measuring programs alone, without work of the application: "
            "leave app_send and app_recv out, or take --variant hybrid"
        )

    def _change(self, hosts: Hosts) -> TableCache:
        assert self.law.for_hosts is not None  # as hosts_problem checked
        data, changed = self.law.for_hosts(hosts)
        return TableCache(data, self.variant, changed)

    def _prepare(self, key: Key) -> Prepared:
        options, protocols, extend, only = key
        try:
            prepared = self.law.prepare(Wanted(self.data, dict(options), protocols, extend, only))
        except DatasetError as error:
            raise OutOfDomain(str(error)) from error
        if prepared is None or not prepared.tables.has_rows:
            chosen = ", ".join(f"{axis} = {value}" for axis, value in options) or "its defaults"
            raise OutOfDomain(
                f"{self.data.id} has no rows of {', '.join(protocols)} at {chosen}: see `icmodel "
                f"datasets show {self.data.id}` for the values each protocol has"
            )
        return prepared

    def _prepare_overload(self, key: Key) -> Prepared | None:
        options, protocols, extend, only = key
        if self.law.overload is None:
            return None
        wanted = Wanted(self.data, dict(options), protocols, extend, only)
        return self.law.overload.law.prepare(wanted)

    def _placer(self, key: Key) -> Placer:
        prepared = self.prepared(key)
        return Placer(prepared.tables, self.domains(key, prepared), 1)

    def _domain(self, protocol: str, options: Options) -> ProtocolDomain:
        try:
            rows = self.law.rows(self.data, protocol, dict(options))
        except DatasetError as error:
            raise OutOfDomain(str(error)) from error
        return protocol_domain(protocol, rows.points, self.data.link(dict(options)))


Key = tuple[Options, tuple[str, ...], bool, frozenset[str] | None]
"""Options, protocols, whether tables extend beyond the rows' payloads, and the wanted metrics."""


def is_own(data: Dataset, hosts: Hosts, options: Options = ()) -> bool:
    """Whether hosts and link are the dataset's own at some options, given explicitly or not."""
    own_rate = hosts.line_rate_bps in (None, data.link(dict(options)).line_rate_bps)
    return own_rate and hosts.cpu_clock_ratio == 1.0


def _elsewhere(hosts: Hosts, own_bps: float | None) -> tuple[str, str, str]:
    """Other hosts or another link in words: what is asked, what was measured, the parameter."""
    if hosts.line_rate_bps is None:
        return f"{hosts.cpu_clock_ratio:g} times the clock", "with its own CPU clock", "cpu_clock"
    own = "a link whose rate it does not say" if own_bps is None else units.format_bps(own_bps, 4)
    where = f"on {own}" if own_bps is None else f"at {own}"
    return units.format_bps(hosts.line_rate_bps, 4), where, "line_rate"


def table_cache(data: Dataset, variant: str, fitting: Fitting) -> TableCache:
    """The cache of a variant."""
    return TableCache(data, variant, law_of(variant, data, fitting))

"""Cache of a model's look-up tables: each table is made once, and shared by all questions."""

from __future__ import annotations

from functools import lru_cache

from icmodel import units
from icmodel.dataset import Dataset
from icmodel.errors import DatasetError, OutOfDomain
from icmodel.laws import Fitting, Law, Prepared, TableRequest, law_of
from icmodel.model.domain import Domains, Placer, ProtocolDomain, protocol_domain
from icmodel.scenario import NO_OPTIONS, Hosts, Options


def table_cache(data: Dataset, variant: str, fitting: Fitting) -> TableCache:
    """Make the cache of a dataset's look-up tables for one model variant."""
    return TableCache(data, variant, law_of(variant, data, fitting))


class TableCache:
    """Cache of a dataset's look-up tables for one law (the rules of a model variant).

    Parameters
    ----------
    data : Dataset
        Rows and link of the tables.
    variant : str
        Name of the variant, for messages.
    law : Law
        Law of the variant for this dataset.
    """

    def __init__(self, data: Dataset, variant: str, law: Law) -> None:
        self.data, self.variant, self.law = data, variant, law
        self.prepared = lru_cache(maxsize=64)(self.prepare)
        self.overload = lru_cache(maxsize=64)(self.prepare_overload)
        self.domain = lru_cache(maxsize=256)(self.make_domain)
        self.placer = lru_cache(maxsize=64)(self.make_placer)
        self._for_hosts = lru_cache(maxsize=16)(self.make_for_hosts)

    def non_default_options(self, options: Options) -> Options:
        """Remove options that have their default value, so that equal questions share tables."""
        return Options(self.data.changed_options(options)) if options else options

    # --- tables -------------------------------------------------------------------------------

    def prepare(self, request: TableRequest) -> Prepared:
        """Make the look-up tables for the protocols, options and metrics of a request.

        Callers use ``prepared``, which caches the results of this method.

        Raises
        ------
        OutOfDomain
            If the dataset does not have an option, or has no rows with the option.
        """
        try:
            prepared = self.law.prepare(request)
        except DatasetError as error:
            raise OutOfDomain(str(error)) from error
        if prepared is None or not prepared.tables.has_rows:
            options = ", ".join(f"{axis} = {value}" for axis, value in request.options.items())
            raise OutOfDomain(
                f"{self.data.id} has no rows of {', '.join(request.protocols)} at "
                f"{options or 'the default options'}: see `icmodel datasets show {self.data.id}` for the values "
                "each protocol has"
            )
        return prepared

    def prepare_overload(self, request: TableRequest) -> Prepared | None:
        """Make the look-up tables for questions whose request exceeds the capacity.

        The result is None if the law (the rules of the model variant) has no special tables for them. Callers use
        ``overload``, which caches the results of this method.
        """
        return None if self.law.overload is None else self.law.overload.law.prepare(request)

    def make_placer(self, request: TableRequest) -> Placer:
        """Make the `Placer`, which converts questions to indices into the look-up tables of a request.

        Callers use ``placer``, which caches the results of this method.
        """
        prepared = self.prepared(request)
        return Placer(prepared.tables, self.domains(request, prepared))

    # --- domain -------------------------------------------------------------------------------

    def make_domain(self, protocol: str, options: Options) -> ProtocolDomain:
        """Find the domain of a protocol: which core counts, switches, endpoints and cable lengths its rows can answer.

        Callers use ``domain``, which caches the results of this method.

        Raises
        ------
        OutOfDomain
            If the dataset does not have one of the given ``options``.
        """
        try:
            rows = self.law.rows(protocol, options)
        except DatasetError as error:
            raise OutOfDomain(str(error)) from error
        return protocol_domain(protocol, rows.points, self.data.link(options))

    def domains(self, request: TableRequest, prepared: Prepared) -> Domains:
        """Return the domains of a request's protocols as arrays, with one element for each protocol.

        The domain of a protocol is the set of questions that its rows can answer.
        """
        every = [self.domain(name, request.options) for name in request.protocols]
        return Domains(every, prepared.tables.axes.cores)

    # --- other hosts, and the application's work ----------------------------------------------

    def for_hosts(self, hosts: Hosts, options: Options = NO_OPTIONS) -> TableCache:
        """Return the cache of look-up tables for the given line rate and CPU clock.

        If they equal those of the dataset, it is this cache itself.

        Raises
        ------
        OutOfDomain
            If the variant or the dataset does not support another CPU clock or line rate.
        """
        if problem := self.hosts_problem(hosts, options):
            raise OutOfDomain(problem)
        return self if matches_dataset(self.data, hosts, options) else self._for_hosts(hosts)

    def make_for_hosts(self, hosts: Hosts) -> TableCache:
        """Make the cache of look-up tables for another CPU clock or line rate.

        Call it only if `hosts_problem` returns an empty text: otherwise this variant cannot predict such hosts.
        """
        assert self.law.for_hosts is not None  # hosts_problem checks it
        data, law = self.law.for_hosts(hosts)
        return TableCache(data, self.variant, law)

    def hosts_problem(self, hosts: Hosts, options: Options = NO_OPTIONS) -> str:
        """Reason why this variant cannot predict another CPU clock or line rate; empty if it can."""
        if matches_dataset(self.data, hosts, options):
            return ""
        if self.law.for_hosts is not None:
            if hosts.line_rate_bps is not None and self.data.interconnect.line_rate_bps is None:
                return f"{self.data.id} does not state its line rate: leave line_rate out"
            return ""
        if hosts.line_rate_bps is None:
            wanted, name = f"{hosts.cpu_clock_ratio:g} times the clock", "cpu_clock"
            measured = "with its own CPU clock"
        else:
            wanted, name = units.format_bps(hosts.line_rate_bps, 4), "line_rate"
            own_bps = self.data.link(options).line_rate_bps
            measured = "on a link of unknown rate"
            if own_bps is not None:
                measured = f"at {units.format_bps(own_bps, 4)}"
        return (
            f"{self.data.id} was measured {measured}, and the variant {self.variant} predicts no "
            f"other value: use the variant hybrid for {wanted}, leave {name} out, or use a dataset with that value"
        )

    def work_problem(self) -> str:
        """Reason why this variant cannot include the work of the application; empty if it can."""
        if self.law.paced is not None:
            return ""
        return (
            f"the variant {self.variant} predicts the measuring programs alone, without work of the application: "
            "leave app_send and app_recv out, or use the variant hybrid"
        )


def matches_dataset(data: Dataset, hosts: Hosts, options: Options) -> bool:
    """Whether the requested line rate and CPU clock equal those of the dataset.

    If no line rate is requested, the line rates count as equal.  A dataset may have several links: ``options`` select
    the link whose line rate is compared.
    """
    own_rate = hosts.line_rate_bps in (None, data.link(options).line_rate_bps)
    return own_rate and hosts.cpu_clock_ratio == 1.0

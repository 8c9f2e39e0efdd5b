"""What every question to a model shares: dataset, variant, compiled grounds and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from icmodel.dataset import Dataset
from icmodel.errors import DatasetError, OutOfDomain
from icmodel.model.ground import Ground, lay_ground
from icmodel.model.physics import frames_on_wire
from icmodel.model.rules import ProtocolRules, Rules, protocol_rules
from icmodel.scenario import Hosts

if TYPE_CHECKING:
    from icmodel.hybrid.refine import Refiner as Fitted

Options = tuple[tuple[str, str], ...]
Only = frozenset[str] | None
"""The metrics that are worked out; all where it is ``None``."""


class Foundation:
    """A dataset read in one variant; each ground is compiled once."""

    def __init__(
        self,
        data: Dataset,
        variant: str,
        refiner: Fitted | None = None,
        changes: tuple[str, ...] = (),
    ) -> None:
        self.data = data
        self.variant = variant
        self.changes = changes
        self._refiner = refiner
        self._changed = lru_cache(maxsize=16)(self._change)
        self._grounds = lru_cache(maxsize=64)(self._lay)
        self._overloads = lru_cache(maxsize=64)(self._lay_overloaded)
        self._rules = lru_cache(maxsize=256)(self._find_rules)

    def ground(
        self,
        options: Options | Mapping[str, str] = (),
        protocols: tuple[str, ...] | None = None,
        *,
        extend: bool = False,
        only: frozenset[str] | None = None,
    ) -> Ground:
        """The compiled tables of some protocols (default: all) at some options.

        With ``only`` those of some metrics and of what flows: the others are not fitted.

        Raises
        ------
        OutOfDomain
            If the dataset has no such option or no rows there.
        """
        pairs = tuple(sorted(self.data.changed_options(dict(options)).items()))
        return self._grounds(pairs, protocols or self.data.protocols, extend, only)

    def overloaded(self, ground: Ground) -> Ground | None:
        """The tables of runs that were asked for more than could be had, beside a ground.

        ``None`` where the variant does not fit them, or where they lack a metric of the ground.
        """
        if self._refiner is None or self.changes:
            return None
        options = tuple(sorted(ground.options.items()))
        return self._overloads(options, ground.protocols, ground.extended, ground.only)

    def changed(self, hosts: Hosts) -> Foundation:
        """The same for hosts or a link other than the dataset's; itself where they are those.

        Raises
        ------
        OutOfDomain
            If the variant or the dataset cannot say.
        """
        return self if own_hosts(self.data, hosts) else self._changed(hosts)

    def _change(self, hosts: Hosts) -> Foundation:
        if problem := hosts_problem(self.data, self.variant, hosts):
            raise OutOfDomain(problem)
        data = self.data
        if (rate := hosts.line_rate_bps) is not None:
            data = replace(
                data,
                interconnect=replace(data.interconnect, line_rate_bps=rate),
                fabrics={
                    key: replace(link, line_rate_bps=rate) for key, link in data.fabrics.items()
                },
            )
        assert self._refiner is not None  # only the hybrid variant has no problem with them
        refiner = self._refiner.changed(hosts, partial(frames_on_wire, data))
        changes = hosts.texts(self.data.interconnect.line_rate_bps)
        return Foundation(data, self.variant, refiner, changes)

    def rules_of(self, protocol: str, options: Options) -> ProtocolRules:
        """What one protocol can be asked."""
        return self._rules(protocol, tuple(self.data.changed_options(dict(options)).items()))

    def rules(self, ground: Ground) -> Rules:
        """What each protocol of a ground can be asked, as arrays."""
        options = tuple(sorted(ground.options.items()))
        return Rules([self.rules_of(p, options) for p in ground.protocols], ground.cores)

    def _find_rules(self, protocol: str, options: Options) -> ProtocolRules:
        try:
            borrow = self._refiner is not None
            return protocol_rules(self.data, protocol, dict(options), borrow=borrow)
        except DatasetError as error:
            raise OutOfDomain(str(error)) from error

    def _lay_overloaded(
        self, options: Options, protocols: tuple[str, ...], extend: bool, only: Only
    ) -> Ground | None:
        beside = self.ground(options, protocols, extend=extend, only=only)
        ground = self._compile(options, protocols, extend, only, overloaded=True)
        return ground if beside.known <= ground.known else None

    def _compile(
        self,
        options: Options,
        protocols: tuple[str, ...],
        extend: bool,
        only: Only,
        *,
        overloaded: bool,
    ) -> Ground:
        return lay_ground(
            self.data,
            dict(options),
            self.variant,
            protocols=protocols,
            extend=extend,
            refiner=self._refiner,
            changes=self.changes,
            overloaded=overloaded,
            only=only,
        )

    def _lay(
        self, options: Options, protocols: tuple[str, ...], extend: bool, only: Only
    ) -> Ground:
        try:
            ground = self._compile(options, protocols, extend, only, overloaded=False)
        except DatasetError as error:
            raise OutOfDomain(str(error)) from error
        if not ground.metrics and not ground.fair and ground.capacity.empty:
            chosen = ", ".join(f"{axis} = {value}" for axis, value in options) or "its defaults"
            raise OutOfDomain(
                f"{self.data.id} has no rows of {', '.join(protocols)} at {chosen}: see `icmodel "
                f"datasets show {self.data.id}` for the values each protocol has"
            )
        return ground


def own_hosts(data: Dataset, hosts: Hosts) -> bool:
    """Whether these are the dataset's own hosts and link, said aloud or not."""
    own_rate = hosts.line_rate_bps in (None, data.interconnect.line_rate_bps)
    return own_rate and hosts.cpu_clock_ratio == 1.0


def hosts_problem(data: Dataset, variant: str, hosts: Hosts) -> str:
    """Why other hosts or another link cannot be answered; empty where they can."""
    if own_hosts(data, hosts):
        return ""
    if variant != "hybrid":
        return (
            f"the variant {variant} knows the dataset's own hosts and link only: leave line_rate "
            "and cpu_clock out, or ask the variant hybrid"
        )
    if hosts.line_rate_bps is not None and data.interconnect.line_rate_bps is None:
        return f"{data.id} does not say its line rate: leave line_rate out"
    return ""


def foundation(
    data: Dataset, variant: str, watch: Callable[[int, int], None] | None = None
) -> Foundation:
    """The foundation of a variant, with what it fits; ``watch`` is told of each fit."""
    if variant != "hybrid":
        return Foundation(data, variant)
    from icmodel.hybrid.refine import Refiner  # only where something is fitted

    return Foundation(data, variant, Refiner(data, partial(frames_on_wire, data), watch))

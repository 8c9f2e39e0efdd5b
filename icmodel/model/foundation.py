"""What every question to a model shares: dataset, variant, compiled grounds and rules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from icmodel.dataset import Dataset
from icmodel.errors import DatasetError, OutOfDomain
from icmodel.model.ground import Ground, lay_ground
from icmodel.model.rules import ProtocolRules, Rules, protocol_rules

Options = tuple[tuple[str, str], ...]


class Foundation:
    """A dataset read in one variant; each ground is compiled once."""

    def __init__(self, data: Dataset, variant: str) -> None:
        self.data = data
        self.variant = variant
        self._grounds = lru_cache(maxsize=64)(self._lay)
        self._rules = lru_cache(maxsize=256)(self._find_rules)

    def ground(
        self,
        options: Options | Mapping[str, str] = (),
        protocols: tuple[str, ...] | None = None,
        *,
        extend: bool = False,
    ) -> Ground:
        """The compiled tables of some protocols (default: all) at some options.

        Raises
        ------
        OutOfDomain
            If the dataset has no such option or no rows there.
        """
        pairs = tuple(sorted(dict(options).items()))
        return self._grounds(pairs, protocols or self.data.protocols, extend)

    def rules_of(self, protocol: str, options: Options) -> ProtocolRules:
        """What one protocol can be asked."""
        return self._rules(protocol, options)

    def rules(self, ground: Ground) -> Rules:
        """What each protocol of a ground can be asked, as arrays."""
        options = tuple(sorted(ground.options.items()))
        return Rules([self.rules_of(p, options) for p in ground.protocols], ground.cores)

    def _find_rules(self, protocol: str, options: Options) -> ProtocolRules:
        try:
            return protocol_rules(self.data, protocol, dict(options))
        except DatasetError as error:
            raise OutOfDomain(str(error)) from error

    def _lay(self, options: Options, protocols: tuple[str, ...], extend: bool) -> Ground:
        try:
            ground = lay_ground(
                self.data, dict(options), self.variant, protocols=protocols, extend=extend
            )
        except DatasetError as error:
            raise OutOfDomain(str(error)) from error
        if not ground.metrics and not ground.fair and ground.capacity.empty:
            chosen = ", ".join(f"{axis} = {value}" for axis, value in options) or "its defaults"
            raise OutOfDomain(
                f"{self.data.id} has no rows of {', '.join(protocols)} at {chosen}: see `icmodel "
                f"datasets show {self.data.id}` for the values each protocol has"
            )
        return ground

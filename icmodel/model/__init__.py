"""The interconnect model: one file a metric, and their composition in :class:`Model`."""

from icmodel.model.answer import VARIANTS
from icmodel.model.model import Model

__all__ = ["VARIANTS", "Model"]

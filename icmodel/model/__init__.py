"""The interconnect model: one file a metric, and their composition in :class:`Model`."""

from icmodel.model.answer import PUBLISHED, VARIANTS
from icmodel.model.model import Model

__all__ = ["PUBLISHED", "VARIANTS", "Model"]

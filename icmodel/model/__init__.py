"""The model: questions about a dataset come in, predictions go out, one or millions of them.

Which rows answer and how stands in the tables and the laws; here questions are checked, placed, answered
in blocks, and explained.
"""

from icmodel.laws import PUBLISHED, VARIANTS
from icmodel.model.model import Model

__all__ = ["PUBLISHED", "VARIANTS", "Model"]

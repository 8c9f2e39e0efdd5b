"""Model: predictions of one question or of millions about a dataset.

Tables and laws give the numbers.  This package checks questions, converts them to indices into the tables, answers
the questions in blocks and explains the answers.
"""

from icmodel.dataset import PUBLISHED, VARIANTS
from icmodel.model.model import Model

__all__ = ["PUBLISHED", "VARIANTS", "Model"]

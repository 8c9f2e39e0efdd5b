"""Model: predicts the metrics of one stream, or of arrays of streams, from a dataset.

A question describes a stream.  Tables and laws (rules of a variant) give the numbers.  This package checks questions
and converts them to indices into the tables.  It answers the questions in blocks, and explains the answers.
"""

from icmodel.dataset import PUBLISHED, VARIANTS
from icmodel.model.model import Model

__all__ = ["PUBLISHED", "VARIANTS", "Model"]

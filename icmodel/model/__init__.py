"""Model: predicts the metrics of one stream, or of arrays of streams, from a dataset.

A question describes a stream.  This package checks questions, and converts them to indices into look-up tables.  The
package answers questions in blocks by a law (the rules of a variant), and explains the answers.
"""

from icmodel.dataset import PUBLISHED, VARIANTS
from icmodel.model.model import Model

__all__ = ["PUBLISHED", "VARIANTS", "Model"]

"""The model: questions about a dataset come in, predictions go out, for one question or for millions.

Tables and laws give the numbers; this room checks questions, places them on the tables, answers them in
blocks and explains the answers.
"""

from icmodel.dataset import PUBLISHED, VARIANTS
from icmodel.model.model import Model

__all__ = ["PUBLISHED", "VARIANTS", "Model"]

"""Recommend designs of a system: choose options so that every requirement is met.

Modules in the order of use: ``choices`` (variants of streams, and networks), ``alone`` (predicts each variant of each stream
alone), ``scores`` (scores designs in arrays, by the loads of shared resources), ``designs`` (the search space),
``recommending`` (predicts the best designs in full), ``result``. ``physics`` finds requirements that no choice can meet.
"""

from icmodel.recommend.recommending import recommend
from icmodel.recommend.result import Checked, Recommendation, Searched

__all__ = ["Checked", "Recommendation", "Searched", "recommend"]

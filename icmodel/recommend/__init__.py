"""Recommendations: a system with choices comes in, the designs that meet every requirement go out.

``networks``, ``variants`` (what may be chosen) -> ``alone`` (each variant of each stream predicted alone) ->
``weights`` -> ``scores`` (all designs, in arrays) -> ``designs`` -> ``checks`` (the best ones predicted in full) ->
``recommending`` -> ``result``. ``front`` finds Pareto fronts; ``physics`` what no choice can meet.
"""

from icmodel.recommend.recommending import recommend
from icmodel.recommend.result import Checked, Recommendation, Searched

__all__ = ["Checked", "Recommendation", "Searched", "recommend"]

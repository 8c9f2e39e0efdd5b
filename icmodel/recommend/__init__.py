"""Recommendations: find the designs of a system with choices that meet every requirement.

``networks``, ``variants`` (the choices) -> ``alone`` (each variant of each stream predicted alone) -> ``loads`` (of
shared resources) -> ``scores`` (all designs, in arrays) -> ``designs`` -> ``recommending`` (the best ones predicted in
full) -> ``result``. ``front`` finds Pareto fronts; ``physics`` finds requirements that no choice can meet.
"""

from icmodel.recommend.recommending import recommend
from icmodel.recommend.result import Checked, Recommendation, Searched

__all__ = ["Checked", "Recommendation", "Searched", "recommend"]

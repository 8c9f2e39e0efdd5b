"""Recommendations: of all that may still be chosen in a system, the designs that meet every requirement.

``networks``, ``variants`` (what may be chosen) -> ``alone`` (what each variant of each stream gets alone) -> ``weights`` ->
``scores`` (all designs, in arrays) -> ``designs`` -> ``checks`` (the best of them predicted in full) ->
``recommending`` -> ``result``. ``front`` is pure numbers, ``physics`` what no choice mends.
"""

from icmodel.recommend.recommending import recommend
from icmodel.recommend.result import Checked, Recommendation, Searched

__all__ = ["Checked", "Recommendation", "Searched", "recommend"]

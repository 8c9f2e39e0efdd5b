"""Recommend designs of a system with choices: find the designs that meet every requirement.

Modules in the order of use: ``networks`` and ``variants`` (list the choices), ``alone`` (predicts each variant of each
stream alone), ``loads`` (loads of shared resources), ``scores`` (scores designs in arrays), ``designs`` (the search
space), ``recommending`` (predicts the best designs in full), ``result``. ``front`` finds Pareto fronts. ``physics``
finds requirements that no choice can meet.
"""

from icmodel.recommend.recommending import recommend
from icmodel.recommend.result import Checked, Recommendation, Searched

__all__ = ["Checked", "Recommendation", "Searched", "recommend"]

"""Recommend designs of a system: choose options so that every requirement is met.

Modules in the order of use:

- ``choices``: variants of streams, and networks.
- ``alone``: predicts each variant of each stream without other streams.
- ``scores``: scores designs in arrays, by the loads of shared resources.
- ``designs``: the search space.
- ``physics``: finds requirements that no choice can meet.
- ``recommending``: predicts the best designs in full.
- ``result``: the recommendation and its JSON form.
"""

from icmodel.recommend.recommending import recommend
from icmodel.recommend.result import Checked, Recommendation, Searched

__all__ = ["Checked", "Recommendation", "Searched", "recommend"]

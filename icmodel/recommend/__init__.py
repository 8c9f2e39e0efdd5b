"""Recommend designs of a system: choose options so that every requirement is met.

A *design* of a system is one choice for each open question: a variant of each table of streams (such as protocol and
payload), and one network (such as link rates).

Modules in the order of use:

- ``choices``: lists the variants of streams, and the networks.
- ``alone``: predicts each variant of each stream without other streams.
- ``scores``: scores designs by the loads of shared resources, many designs at a time.
- ``designs``: the search space, which holds all designs with their scores.
- ``physics``: finds requirements that no choice can meet.
- ``recommending``: predicts the designs with the best scores in full.
- ``result``: the recommendation and its JSON form.
"""

from icmodel.recommend.recommending import recommend
from icmodel.recommend.result import Checked, Recommendation, Searched

__all__ = ["Checked", "Recommendation", "Searched", "recommend"]

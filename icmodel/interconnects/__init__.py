"""Compare interconnects: judge one use case on every link and line rate.

Modules in the order of use: ``links`` has the links to compare, the datasets measured on each, and candidates.
``comparing`` judges each link by datasets and by the bounds of its wire.  ``result`` ranks the links, best first.
"""

from icmodel.interconnects.comparing import compare_interconnects
from icmodel.interconnects.links import Link
from icmodel.interconnects.result import Comparison, Ranked, Row, Source, ranked, ranked_document

__all__ = [
    "Comparison",
    "Link",
    "Ranked",
    "Row",
    "Source",
    "compare_interconnects",
    "ranked",
    "ranked_document",
]

"""Compare interconnects: judge one use case on every link and line rate.

Modules in the order of use: ``links`` (links to compare, datasets measured on them, and candidates), ``comparing`` (judges
each link, also by the bounds of its wire), ``result`` (the best link first).
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

"""Compare interconnects: judge one use case on every link and line rate.

``links`` (the links to compare, and the datasets measured there) -> ``choices`` (the candidates) and ``physics`` (the
wire's bounds) -> ``comparing`` -> ``result`` -> ``ranking`` (which to take).
"""

from icmodel.interconnects.comparing import compare_interconnects
from icmodel.interconnects.links import Link
from icmodel.interconnects.ranking import Ranked, ranked, ranked_document
from icmodel.interconnects.result import Comparison, Row, Source

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

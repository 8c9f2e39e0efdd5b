"""Interconnects compared: one use case, and what every link at every line rate makes of it.

``links`` (what is compared, who was measured there) -> ``choices`` (the candidates that are asked) and
``physics`` (what the wire alone says) -> ``comparing`` -> ``result``.
"""

from icmodel.interconnects.comparing import compare_interconnects
from icmodel.interconnects.links import Link
from icmodel.interconnects.result import Comparison, Row, Source

__all__ = ["Comparison", "Link", "Row", "Source", "compare_interconnects"]

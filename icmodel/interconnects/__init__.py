"""Compare interconnects: one use case comes in, its verdict on every link and line rate goes out.

``links`` (what is compared, and the datasets measured there) -> ``choices`` (the candidates) and
``physics`` (the wire's bounds) -> ``comparing`` -> ``result``.
"""

from icmodel.interconnects.choices import Link
from icmodel.interconnects.comparing import compare_interconnects
from icmodel.interconnects.result import Comparison, Row, Source

__all__ = ["Comparison", "Link", "Row", "Source", "compare_interconnects"]

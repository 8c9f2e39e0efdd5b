"""Reports of whole systems: a prediction comes in, a drawing and tables by group of streams go out.

``shape`` (groups folded into boxes) -> ``layout`` (positions) -> ``drawing`` (SVG); ``content`` puts the
drawing, ``tables`` and ``conclusion`` into one page of blocks.
"""

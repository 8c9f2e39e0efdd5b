"""Reports of whole systems: drawn, and told stream group by stream group.

``shape`` (groups folded into boxes) -> ``layout`` (places, pure numbers) -> ``drawing`` (SVG); ``content`` puts the
drawing, ``tables`` and ``conclusion`` into one page of blocks.
"""

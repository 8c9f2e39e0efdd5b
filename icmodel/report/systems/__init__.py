"""Reports of whole systems: they turn a prediction into a drawing and tables.

``summary`` merges the system into boxes and cables with numbers, ``layout`` places them, and ``drawing`` makes the SVG.
``tables`` has the tables and the conclusion, ``content`` the page.
"""

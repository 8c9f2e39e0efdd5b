"""Reports of whole systems: a prediction comes in, a drawing and tables go out.

``summary`` folds the system into boxes and cables with numbers, ``layout`` places them, ``drawing`` makes the SVG;
``tables`` has the tables and the conclusion, ``content`` the page.
"""

"""Reports of systems: drawing and tables of a system prediction.

``summary`` merges the system into boxes and cables with numbers, ``layout`` places them, and ``drawing`` makes the SVG.
``tables`` makes the tables and the conclusion, ``front`` the first page, and ``content`` the whole report. ``paths``
lists the streams as JSON.
"""

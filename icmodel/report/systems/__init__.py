"""Reports of systems: drawing and tables of a system prediction.

``summary`` merges the system into boxes and cables with numbers, ``layout`` places them, and ``drawing`` makes the SVG
and lists the streams as JSON. ``tables`` makes the tables and the conclusion, and ``content`` the whole report.
"""

"""Reports: evaluations and system predictions as HTML, Markdown, JSON, text and plots.

``verdicts``, ``predictions`` and ``figures`` make the blocks of an evaluation, ``content`` the page of an evaluation.
``systems`` makes the blocks and the page of a whole system.  ``html``, ``markdown`` and ``text`` render pages.
Reports only show results; they compute no predictions.
"""

from icmodel.report.writing import report

__all__ = ["report"]

"""Reports: evaluations and system predictions as HTML, Markdown, JSON, text and plots.

``verdicts``, ``predictions`` and ``figures`` make the blocks of an evaluation, ``content`` its page; ``systems`` does
so for a whole system.  ``html``, ``markdown`` and ``text`` render pages.  Nothing is computed here.
"""

from icmodel.report.writing import report

__all__ = ["report"]

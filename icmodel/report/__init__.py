"""Reports of results as HTML, Markdown, PDF, JSON, text and plots.

``verdicts`` and ``predictions`` make the blocks of an evaluation, and ``evaluation`` makes its plots and page.
``systems`` makes the blocks and the page of a system. Other results have one module each, such as ``recommendation``.
``html``, ``markdown``, ``pdf`` and ``text`` render pages.
"""

from icmodel.report.writing import report

__all__ = ["report"]

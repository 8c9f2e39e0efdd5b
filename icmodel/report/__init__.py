"""Reports: an evaluation or a prediction comes in, HTML, Markdown, JSON, text and plots go out.

Nothing is computed here.
"""

from icmodel.report.writing import report

__all__ = ["report"]

"""Reports: an evaluation as HTML, Markdown, JSON or text, and plots; prints, never computes."""

from icmodel.report.writing import report

__all__ = ["report"]

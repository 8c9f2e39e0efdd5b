"""Validation: how well a model predicts rows it was not fitted to, and how often intervals hold them.

A dataset and a variant come in; errors and interval coverage of each metric, by kind of fold, go out.
"""

from icmodel.validate.choice import Choice, choose
from icmodel.validate.document import document, kept, records
from icmodel.validate.validation import Trial, Validation, Wishes, validate

__all__ = [
    "Choice",
    "Trial",
    "Validation",
    "Wishes",
    "choose",
    "document",
    "kept",
    "records",
    "validate",
]

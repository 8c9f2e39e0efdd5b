"""Validation: errors of a model on rows it was not fitted to, and coverage of the intervals.

The input is a dataset and a variant. The output is errors and interval coverage of each metric, by kind of fold.
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

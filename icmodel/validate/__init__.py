"""Validation: errors of a model on rows to which it was not fitted, and coverage of its intervals.

The input is a dataset and a variant of the model. The output is errors and interval coverage of each metric, by kind of
fold. A fold is a split into training rows and test rows.
"""

from icmodel.validate.document import document, estimates, kept, records
from icmodel.validate.validation import (
    Choice,
    Trial,
    Validation,
    ValidationOptions,
    choose,
    validate,
)

__all__ = [
    "Choice",
    "Trial",
    "Validation",
    "ValidationOptions",
    "choose",
    "document",
    "estimates",
    "kept",
    "records",
    "validate",
]

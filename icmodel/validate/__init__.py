"""Validation: how well a model predicts rows that were kept from it, and whether intervals hold."""

from icmodel.validate.choice import Choice, choose
from icmodel.validate.document import document, records
from icmodel.validate.keep import kept
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

"""Variants of icmodel as predictors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.accuracy.predictor import Answerer, Predictor
from icmodel.dataset import Dataset
from icmodel.fits import SHIPPED, Constants
from icmodel.validate.folds import Fold, answers


def shipped(data: Dataset) -> Constants:
    """Return the shipped constants, for any dataset."""
    del data
    return SHIPPED


def variant(name: str, constants: Callable[[Dataset], Constants] = shipped) -> Predictor:
    """Make a predictor of a variant; the constants of its fits may depend on the scored dataset."""

    def answerer(data: Dataset, folds: Sequence[Fold]) -> Answerer:
        del folds
        return partial(answers, variant=name, constants=constants(data))

    return answerer

"""Variants of icmodel as predictors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.accuracy.predictor import Answerer, Predictor
from icmodel.dataset import Dataset
from icmodel.errors import IcmodelError
from icmodel.estimate import Estimate, absent
from icmodel.fits.constants import SHIPPED, Constants
from icmodel.model import Model
from icmodel.validate.folds import Fold, answers_of


def shipped(data: Dataset) -> Constants:
    """Return the shipped constants, for any dataset."""
    del data
    return SHIPPED


def variant(name: str, constants: Callable[[Dataset], Constants] = shipped) -> Predictor:
    """Make a predictor of a variant; the constants of its fits may depend on the scored dataset."""

    def answerer(data: Dataset, folds: Sequence[Fold]) -> Answerer:
        del folds
        return partial(_answer, name, constants(data))

    return answerer


def _answer(name: str, constants: Constants, fold: Fold) -> Sequence[Estimate]:
    try:
        model = Model(fold.train, name, cache=False, constants=constants)
    except IcmodelError as error:
        return [absent(str(error)) for _ in fold.test]
    return answers_of(model, fold.train, fold.test)

"""icmodel's own variants as predictors."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.accuracy.predictor import Answerer, Contestant
from icmodel.dataset import Dataset
from icmodel.estimate import Estimate
from icmodel.validate.folds import Fold
from icmodel.validate.questions import answers


def variant(name: str) -> Contestant:
    """One variant of the model."""

    def answerer(data: Dataset) -> Answerer:
        del data

        def answer(fold: Fold) -> Sequence[Estimate]:
            return answers(fold, name)

        return answer

    return answerer

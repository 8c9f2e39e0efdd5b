"""Accuracy of icmodel and of alternative predictors, on the same cross-validation folds."""

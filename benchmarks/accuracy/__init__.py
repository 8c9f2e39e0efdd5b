"""Accuracy, side by side: icmodel and what one would take instead, on the same folds."""

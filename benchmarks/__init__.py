"""Benchmarks beside alternative tools: speed, accuracy, choice of runs, and probing."""

import os

# Set before numpy is imported. Benchmarks invert matrices of some hundred rows. On a busy machine,
# BLAS threads that wait for each other make that several times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

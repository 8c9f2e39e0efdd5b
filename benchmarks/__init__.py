"""Benchmarks, side by side with what one would take instead: speed, accuracy, choosing, probing."""

import os

# Before numpy is imported: matrices of some hundred rows are inverted here, and threads that wait for
# each other make that several times slower on a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

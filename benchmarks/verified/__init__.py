"""Lab systems, predicted before they were built and measured: ``python -m benchmarks.verified``."""

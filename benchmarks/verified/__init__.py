"""Systems of the lab, predicted before they were built and measured: ``python -m benchmarks.verified``."""

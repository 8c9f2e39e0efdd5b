"""Workers: this process, its threads, worker processes or a Dask cluster answer the items of a job.

``pool`` starts the workers and keeps the order of items. ``jobs`` is what they receive, and refuses other versions and datasets.
"""

from icmodel.workers.pool import Pool, Work, connect, pool

__all__ = ["Pool", "Work", "connect", "pool"]

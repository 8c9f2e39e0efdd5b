"""Workers that answer the items of a job: this process, its threads, worker processes or a Dask cluster.

`pool` starts the workers and keeps the order of items. Other processes refuse a job of another version or dataset.
"""

from icmodel.workers.pool import Pool, Work, connect, pool

__all__ = ["Pool", "Work", "connect", "pool"]

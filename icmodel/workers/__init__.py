"""Workers that answer the items of a job: this process, its threads, worker processes or a Dask cluster.

`pool` starts the workers and keeps the order of items. A worker in another process refuses a job that was
made with another version of icmodel, or with another version of a dataset.
"""

from icmodel.workers.pool import Pool, Work, connect, pool

__all__ = ["Pool", "Work", "connect", "pool"]

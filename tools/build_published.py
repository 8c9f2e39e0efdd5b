"""Build the datasets made from published result files.

Run ``python tools/build_published.py [FOLDER]``; the default folder is ``data``. The description of
each dataset is the hand-written ``data/<id>/dataset.toml``; only its seal is replaced.
"""

from __future__ import annotations

import sys
from pathlib import Path

import build_dds_1g
import build_infiniband_qdr_connectx2
import build_mpi_csd3
import build_mpi_infiniband_roce
import build_rapidio_tsi721
import build_rdma_connectx7
import build_rdma_connectx7_ed2
import build_tcp_connectx7
from points import DATA, write_dataset

DATASETS = {
    build_dds_1g.NAME: build_dds_1g.rows,
    build_infiniband_qdr_connectx2.NAME: build_infiniband_qdr_connectx2.rows,
    build_mpi_csd3.NAME: build_mpi_csd3.rows,
    build_mpi_infiniband_roce.NAME: build_mpi_infiniband_roce.rows,
    build_rapidio_tsi721.NAME: build_rapidio_tsi721.rows,
    build_rdma_connectx7.NAME: build_rdma_connectx7.rows,
    build_rdma_connectx7_ed2.NAME: build_rdma_connectx7_ed2.rows,
    build_tcp_connectx7.NAME: build_tcp_connectx7.rows,
}


def build(data: Path = DATA) -> None:
    """Write the datasets below ``data``."""
    for name, rows in DATASETS.items():
        description = (DATA / name / "dataset.toml").read_text(encoding="utf-8")
        write_dataset(name, rows(), description, data)


if __name__ == "__main__":
    build(*map(Path, sys.argv[1:2]))

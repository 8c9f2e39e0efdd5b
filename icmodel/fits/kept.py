"""What is kept of a dataset's fits: numbers as a text that can be compared, drawn curves as arrays.

A seal hashes what both were made from: dataset, program and constants.  Under another seal they are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icmodel.errors import IcmodelError
from icmodel.files import replacing
from icmodel.fits.hyperparameters import Hyperparameters

Floats = NDArray[np.float64]

TEXT, ARRAYS = "fit.json", "fit.npz"
SCHEMA_VERSION = 1
KEY_BYTES = 16
INNERMOST = re.compile(r"[\[{][^\[\]{}]*[\]}]")
"""A list or table without another in it, printed on one line."""


class DamagedFit(IcmodelError):  # noqa: N818  (says more than an Error at its end would)
    """Files of a fit that cannot be read."""


@dataclass(frozen=True, slots=True)
class KeptMetric:
    """A metric's fit: the hyperparameters, and numbers by which a reader of the text can judge it.

    ``costs`` by protocol are those of the cost model: per frame [s], per byte [s/B], per packet [s], and those that
    only its kind has; ``weights`` are each candidate's mean weight over the rows.
    """

    hyperparameters: Hyperparameters
    is_packet_multiple: bool
    costs: Mapping[str, list[float]]
    weights: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "is_packet_multiple": self.is_packet_multiple,
            "costs": dict(self.costs),
            "weights": dict(self.weights),
            **self.hyperparameters.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> KeptMetric:
        """Read from the JSON form.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the document is not one.
        """
        return cls(
            Hyperparameters.from_dict(document),
            bool(document["is_packet_multiple"]),
            dict(document["costs"]),
            dict(document["weights"]),
        )


@dataclass(slots=True)
class Kept:
    """The fits of one dataset that exist so far; more are added.

    Parameters
    ----------
    seal : str
        Hash of what they are made from.
    metrics : dict
        Maps a metric's name to its fit; ``None`` where it has too few rows.
    curves : dict
        Maps the key of a drawn curve, 16 bytes, to its value, low and high, (3, points).
    """

    seal: str
    metrics: dict[str, KeptMetric | None] = field(default_factory=dict)
    curves: dict[bytes, Floats] = field(default_factory=dict)

    @property
    def size(self) -> tuple[int, int]:
        """Number of metrics and of curves."""
        return len(self.metrics), len(self.curves)

    def add(self, other: Kept) -> None:
        """Add what the other has and this one lacks."""
        for name, one in other.metrics.items():
            self.metrics.setdefault(name, one)
        for key, ends in other.curves.items():
            self.curves.setdefault(key, ends)

    def write(self, folder: Path) -> None:
        """Write both files, each atomically.

        Raises
        ------
        ReportError
            If the folder cannot be written.
        """
        with replacing(folder / TEXT) as beside:
            beside.write_text(self.text(), encoding="utf-8", newline="\n")
        keys = sorted(self.curves)
        curves = [self.curves[key] for key in keys]
        with replacing(folder / ARRAYS) as beside, beside.open("wb") as file:
            np.savez(  # compression would gain little and double the time to read
                file,
                seal=np.frombuffer(self.seal.encode(), dtype=np.uint8),
                keys=np.frombuffer(b"".join(keys), dtype=np.uint8),
                points=np.array([curve.shape[1] for curve in curves], dtype=np.int64),
                ends=np.concatenate([np.empty((3, 0)), *curves], axis=1),
            )

    def text(self) -> str:
        """The numbers as JSON, metrics in order."""
        metrics = {
            name: None if one is None else one.to_dict()
            for name, one in sorted(self.metrics.items())
        }
        document = {"schema_version": SCHEMA_VERSION, "seal": self.seal, "metrics": metrics}
        text = json.dumps(document, indent=1, ensure_ascii=False)
        return INNERMOST.sub(lambda found: " ".join(found[0].split()), text) + "\n"


def read(folder: Path, seal: str) -> Kept | None:
    """Read what a folder keeps under a seal; ``None`` where there is nothing, or only under another seal.

    Raises
    ------
    DamagedFit
        If a file exists and cannot be read.
    """
    if not (folder / TEXT).is_file():
        return None
    try:
        document = json.loads((folder / TEXT).read_bytes())
        if (document["schema_version"], document["seal"]) != (SCHEMA_VERSION, seal):
            return None
        metrics = {
            str(name): None if one is None else KeptMetric.from_dict(one)
            for name, one in document["metrics"].items()
        }
        return Kept(seal, metrics, _curves(folder / ARRAYS, seal))
    except Exception as error:  # decoders raise many kinds of error on damaged bytes
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DamagedFit(f"the fit kept in {folder} is damaged ({reason})") from error


def _curves(path: Path, seal: str) -> dict[bytes, Floats]:
    """The drawn curves of a file; none where there is no file, or it has another seal."""
    if not path.is_file():
        return {}
    with np.load(BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
        if arrays["seal"].tobytes().decode() != seal:
            return {}
        keys, points, ends = arrays["keys"].tobytes(), arrays["points"], arrays["ends"]
    bounds = np.cumsum(points).tolist()
    if ends.shape != (3, sum(points.tolist())) or len(keys) != KEY_BYTES * len(bounds):
        raise ValueError(f"{path.name} has {ends.shape} numbers for {len(bounds)} curves")
    starts = [0, *bounds]
    return {
        keys[KEY_BYTES * k : KEY_BYTES * (k + 1)]: ends[:, starts[k] : bound]
        for k, bound in enumerate(bounds)
    }

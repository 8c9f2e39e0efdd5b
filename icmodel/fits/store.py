"""Storage of fits: in the dataset's folder, or in the user's cache folder.

Fits in a dataset's folder are only read.  New fits are written to the cache.  Several processes may
share the files: a file is replaced atomically, so a process reads either the old or the new file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset
from icmodel.documents import replacing
from icmodel.errors import IcmodelError, ReportError
from icmodel.fits import SHIPPED, Constants
from icmodel.fits.likelihood import Hyperparameters

Floats = NDArray[np.float64]

TEXT, ARRAYS = "fit.json", "fit.npz"
SCHEMA_VERSION = 1
KEY_BYTES = 16
INNERMOST = re.compile(r"[\[{][^\[\]{}]*[\]}]")
"""Pattern of an innermost JSON list or object, which is written on one line."""
VARIABLE = "ICMODEL_CACHE"
MOST_BYTES = 200 * 10**6
"""Greatest size of the cache of fits [B]; if it is larger, the least recently used fits are removed."""
TEXTS = ("protocol", "metric", "basis")
"""Columns of a dataset's points that the seal hashes as text."""
IGNORED = ("line", "source")
"""Columns of a dataset's points without effect on a fit, and so without effect on its seal."""
PROGRAM = ("fits/*.py", "theory/*.py", "tables/wire.py")
"""Source files whose code determines a fit, and so its seal."""
NOT_CODE = re.compile(r'r?"{3}(?s:.*?)"{3}$|\x23[^\n]*$', re.MULTILINE)
"""Pattern of docstrings and comments.

In the source files, only docstrings have triple quotes, and only comments have number signs.
"""


def seal_of(data: Dataset, constants: Constants = SHIPPED) -> str:
    """Compute the seal of a dataset's fits: a SHA-256 that changes if fits must be made again.

    The seal covers the points, the dataset's description, the constants of the fits, and the code that
    computes the fits and the times on the wire, without comments and docstrings.  The points are taken
    from memory, so a dataset with changed or fewer rows has another seal.

    >>> import icmodel
    >>> from dataclasses import replace
    >>> data = icmodel.load("tcp-connectx7")
    >>> seal_of(data) == seal_of(replace(data, points=data.points[1:]))
    False
    """
    parts = [
        data.sha256.encode(),
        json.dumps(data.document, sort_keys=True, default=str).encode(),
        repr((data.interconnect, sorted(data.fabrics.items()))).encode(),
    ]
    for name, column in zip(data.points[0]._fields, zip(*data.points, strict=True), strict=True):
        if name in TEXTS:
            parts.append("\n".join(column).encode())
        elif name == "options":
            parts.append("\n".join(map("\t".join, column)).encode())
        elif name not in IGNORED:
            parts.append(np.array(column, dtype=np.float64).tobytes())
    digest = hashlib.sha256(_program())
    digest.update(repr(constants).encode())
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


@cache
def _program() -> bytes:
    """Hash the code of the modules that make a fit; returns the SHA-256 digest."""
    digest = hashlib.sha256()
    for pattern in PROGRAM:
        for path in sorted(Path(__file__).parents[1].glob(pattern)):
            digest.update(code_of(path.read_text(encoding="utf-8")).encode())
    return digest.digest()


def code_of(source: str) -> str:
    r"""Remove docstrings, comments and blank lines from the source of a module.

    >>> code_of("def half(x):\n    # of a number\n    return x / 2  # exact\n")
    'def half(x):\n    return x / 2'
    """
    lines = map(str.rstrip, NOT_CODE.sub("", source).splitlines())
    return "\n".join(filter(None, lines))


class DamagedFit(IcmodelError):  # noqa: N818  (the name is plainer without Error)
    """Error raised if a stored fit's files cannot be read."""


@dataclass(frozen=True, slots=True)
class KeptMetric:
    """Stored fit of one metric: its hyperparameters, and numbers for people who read the file.

    These numbers are costs and weights.  ``costs`` are the costs of the cost model by protocol, in the
    order of `Mechanism.costs`.  A fit blends several candidates (alternative predictors); ``weights``
    has the mean weight of each candidate over the rows, by its name.
    """

    hyperparameters: Hyperparameters
    is_packet_multiple: bool
    costs: Mapping[str, list[float]]
    weights: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Convert the stored fit to its JSON form, a dictionary."""
        return {
            "is_packet_multiple": self.is_packet_multiple,
            "costs": dict(self.costs),
            "weights": dict(self.weights),
            **self.hyperparameters.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> KeptMetric:
        """Read the stored fit of one metric from its JSON form.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the document does not have the form of a stored fit.
        """
        return cls(
            Hyperparameters.from_dict(document),
            bool(document["is_packet_multiple"]),
            {name: [float(cost) for cost in costs] for name, costs in document["costs"].items()},
            {name: float(weight) for name, weight in document["weights"].items()},
        )


@dataclass(slots=True)
class Kept:
    """Fits and drawn curves that were made so far for one dataset.

    Parameters
    ----------
    seal : str
        Hash of the data and the code from which the fits are made.
    metrics : dict
        Fits by name of the metric; ``None`` if the metric has too few rows.
    curves : dict
        Value, low and high (3, points) of each drawn curve, by the key of the curve (16 bytes).
    """

    seal: str
    metrics: dict[str, KeptMetric | None] = field(default_factory=dict)
    curves: dict[bytes, Floats] = field(default_factory=dict)

    @property
    def size(self) -> tuple[int, int]:
        """Number of metrics with a stored fit, and number of stored curves."""
        return len(self.metrics), len(self.curves)

    def add(self, other: Kept) -> None:
        """Add the fits and curves of ``other`` that are missing in this object."""
        for name, one in other.metrics.items():
            self.metrics.setdefault(name, one)
        for key, ends in other.curves.items():
            self.curves.setdefault(key, ends)

    def write(self, folder: Path) -> None:
        """Write the fits to two files of a folder, each atomically.

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
        """Convert the fits to JSON text, metrics in alphabetical order.

        The text does not contain the curves, which are stored in another file.
        """
        metrics = {
            name: None if one is None else one.to_dict()
            for name, one in sorted(self.metrics.items())
        }
        document = {"schema_version": SCHEMA_VERSION, "seal": self.seal, "metrics": metrics}
        text = json.dumps(document, indent=1)  # in ASCII, since a read name may be no Unicode text
        return INNERMOST.sub(lambda found: " ".join(found[0].split()), text) + "\n"


def read(folder: Path, seal: str) -> Kept | None:
    """Read the stored fits of a folder; ``None`` if there are none, or if they are out of date.

    Fits are out of date if their ``seal`` (hash of dataset, constants and code) or schema version differs.

    Raises
    ------
    DamagedFit
        If a file exists but cannot be read.
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
        raise DamagedFit(f"stored fit in {folder} is damaged ({reason})") from error


def _curves(path: Path, seal: str) -> dict[bytes, Floats]:
    """Read the stored curves from a file; empty if there is no file, or if it was made for another seal.

    The seal is a hash of everything that determines the fits.

    Raises
    ------
    ValueError
        If the sizes of the file's arrays do not match.
    """
    if not path.is_file():
        return {}
    with np.load(BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
        if arrays["seal"].tobytes().decode() != seal:
            return {}
        keys, points, ends = arrays["keys"].tobytes(), arrays["points"], arrays["ends"]
    bounds = np.cumsum(points).tolist()
    if ends.shape != (3, sum(points.tolist())) or len(keys) != KEY_BYTES * len(bounds):
        raise ValueError(
            f"{path.name}: array of shape {ends.shape} does not match {len(bounds)} curves"
        )
    starts = [0, *bounds]
    return {
        keys[KEY_BYTES * k : KEY_BYTES * (k + 1)]: ends[:, starts[k] : bound]
        for k, bound in enumerate(bounds)
    }


class Store:
    """Folders with the fits of one dataset: the dataset's folder and a folder in the user's cache.

    Parameters
    ----------
    data : Dataset
        The dataset.
    constants : Constants
        Constants of the fits.
    cache : bool
        Whether the user's cache folder is read and filled.
    """

    def __init__(
        self, data: Dataset, constants: Constants = SHIPPED, *, cache: bool = True
    ) -> None:
        self.seal = seal_of(data, constants)
        self._beside = data.folder
        folder = cache_folder() if cache else None
        self._cached = None if folder is None else folder / self.seal[:32]
        self._saved = (0, 0)

    def read(self) -> Kept:
        """Read the stored fits of the dataset; a damaged file causes a warning and is ignored."""
        kept = Kept(self.seal)
        for folder in (self._cached, self._beside):
            if folder is not None and (found := self._read(folder)) is not None:
                kept.add(found)
        self._saved = kept.size
        return kept

    def save(self, kept: Kept) -> None:
        """Write new fits to the cache; a no-op if the cache is missing or not writable."""
        if self._cached is None or kept.size == self._saved:
            return
        with suppress(OSError, ReportError):  # if the cache cannot be written, fits are made again
            self._cached.mkdir(parents=True, exist_ok=True)
            if (others := self._read(self._cached)) is not None:
                kept.add(others)  # another process has written them
            kept.write(self._cached)
            _make_room(self._cached)
        self._saved = kept.size

    def _read(self, folder: Path) -> Kept | None:
        try:
            found = read(folder, self.seal)
        except DamagedFit as damage:
            warnings.warn(f"{damage}; fitting again", stacklevel=2)
            return None
        if found is not None and folder == self._cached:
            with suppress(OSError):
                (folder / TEXT).touch()
        return found


def cache_folder() -> Path | None:
    """Folder in which fits are cached.

    The environment variable ``ICMODEL_CACHE`` names the folder.  Without this variable, it is a folder
    in the user's cache.  If the variable is empty, the result is ``None``, and nothing is cached.
    """
    own = os.environ.get(VARIABLE)
    if own is not None:
        return Path(own) if own else None
    from platformdirs import user_cache_path  # only needed for the cache

    return user_cache_path("icmodel", appauthor=False) / "fits"


def _make_room(newest: Path) -> None:
    """If the cache is too large, remove the least recently used fits; the newest fits stay."""
    entries = [one for one in newest.parent.iterdir() if (one / TEXT).is_file()]
    entries.sort(key=lambda one: (one / TEXT).stat().st_mtime, reverse=True)
    taken = 0
    for entry in entries:
        taken += sum(
            (entry / name).stat().st_size for name in (TEXT, ARRAYS) if (entry / name).exists()
        )
        if taken > MOST_BYTES and entry != newest:
            shutil.rmtree(entry, ignore_errors=True)

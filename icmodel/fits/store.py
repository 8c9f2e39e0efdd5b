"""Where fits are kept: in the dataset's folder, or else in the user's cache folder.

A fit in a dataset's folder is read and never written; further fits are made and kept in the cache.  Files are
replaced atomically, so several processes may share them: each reads an older or a newer one.
"""

from __future__ import annotations

import os
import shutil
import warnings
from contextlib import suppress
from pathlib import Path

from icmodel.dataset import Dataset
from icmodel.errors import ReportError
from icmodel.fits.constants import SHIPPED, Constants
from icmodel.fits.kept import ARRAYS, TEXT, DamagedFit, Kept, read
from icmodel.fits.seal import seal_of

VARIABLE = "ICMODEL_CACHE"
MOST_BYTES = 200 * 10**6
"""Greatest size of the cache; beyond it the least recently used fits are removed."""


class Store:
    """The places of one dataset's fits.

    Parameters
    ----------
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
        """Read what is kept of the dataset as it is; a damaged file is warned of and counts as none."""
        kept = Kept(self.seal)
        for folder in (self._cached, self._beside):
            if folder is not None and (found := self._read(folder)) is not None:
                kept.add(found)
        self._saved = kept.size
        return kept

    def save(self, kept: Kept) -> None:
        """Keep new fits in the cache; does nothing without a cache or where it cannot be written."""
        if self._cached is None or kept.size == self._saved:
            return
        with suppress(OSError, ReportError):  # only a cache: without it fits are made again
            self._cached.mkdir(parents=True, exist_ok=True)
            if (others := self._read(self._cached)) is not None:
                kept.add(others)  # written meanwhile by another process
            kept.write(self._cached)
            _make_room(self._cached)
        self._saved = kept.size

    def _read(self, folder: Path) -> Kept | None:
        try:
            found = read(folder, self.seal)
        except DamagedFit as damage:
            warnings.warn(f"{damage}: it is made again", stacklevel=2)
            return None
        if found is not None and folder == self._cached:
            with suppress(OSError):
                (folder / TEXT).touch()
        return found


def cache_folder() -> Path | None:
    """Folder of all kept fits: ``ICMODEL_CACHE``, else the user's cache folder; ``None`` if the variable is empty."""
    own = os.environ.get(VARIABLE)
    if own is not None:
        return Path(own) if own else None
    from platformdirs import user_cache_path  # only where fits are kept

    return user_cache_path("icmodel", appauthor=False) / "fits"


def _make_room(newest: Path) -> None:
    """Remove the least recently used fits until the cache is small enough."""
    entries = [one for one in newest.parent.iterdir() if (one / TEXT).is_file()]
    entries.sort(key=lambda one: (one / TEXT).stat().st_mtime, reverse=True)
    taken = 0
    for entry in entries:
        taken += sum(
            (entry / name).stat().st_size for name in (TEXT, ARRAYS) if (entry / name).exists()
        )
        if taken > MOST_BYTES and entry != newest:
            shutil.rmtree(entry, ignore_errors=True)

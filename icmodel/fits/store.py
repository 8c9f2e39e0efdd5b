"""Where fits are kept: beside a dataset, or else in the user's cache folder.

A fit beside a dataset is read and never written; what it lacks is made and kept in the cache.  Files are
replaced whole, so that several processes may share them: each finds an older one or a newer one.
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
"""What the cache may take; beyond that the fits that were not used for longest go."""


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
        """What is kept of the dataset as it is; a damaged place is told and counts as empty."""
        kept = Kept(self.seal)
        for folder in (self._cached, self._beside):
            if folder is not None and (found := self._read(folder)) is not None:
                kept.add(found)
        self._saved = kept.size
        return kept

    def save(self, kept: Kept) -> None:
        """Keep in the cache what was made since; nothing where there is no cache, or no place in it."""
        if self._cached is None or kept.size == self._saved:
            return
        with suppress(OSError, ReportError):  # it is a cache: without it all is made anew
            self._cached.mkdir(parents=True, exist_ok=True)
            if (others := self._read(self._cached)) is not None:
                kept.add(others)  # of a process that runs beside this one
            kept.write(self._cached)
            _make_room(self._cached)
        self._saved = kept.size

    def _read(self, folder: Path) -> Kept | None:
        try:
            found = read(folder, self.seal)
        except DamagedFit as damage:
            warnings.warn(f"{damage}: it is made anew", stacklevel=2)
            return None
        if found is not None and folder == self._cached:
            with suppress(OSError):
                (folder / TEXT).touch()
        return found


def cache_folder() -> Path | None:
    """The folder of all kept fits: the user's for caches, or what ``ICMODEL_CACHE`` says, empty for none."""
    own = os.environ.get(VARIABLE)
    if own is not None:
        return Path(own) if own else None
    from platformdirs import user_cache_path  # only where fits are kept

    return user_cache_path("icmodel", appauthor=False) / "fits"


def _make_room(newest: Path) -> None:
    """Remove the fits that were not used for longest, until the cache is small enough."""
    entries = [one for one in newest.parent.iterdir() if (one / TEXT).is_file()]
    entries.sort(key=lambda one: (one / TEXT).stat().st_mtime, reverse=True)
    taken = 0
    for entry in entries:
        taken += sum(
            (entry / name).stat().st_size for name in (TEXT, ARRAYS) if (entry / name).exists()
        )
        if taken > MOST_BYTES and entry != newest:
            shutil.rmtree(entry, ignore_errors=True)

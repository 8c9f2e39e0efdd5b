"""Errors of icmodel; each message is one sentence that names the mistake, the value and the fix."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple


class Mistake(NamedTuple):
    """One mistake of a file: a sentence that names its place, and its line if the line is known."""

    message: str
    line: int | None = None


class IcmodelError(Exception):
    """Base class of all errors that a user can cause; the command line then exits with code 2.

    Attributes
    ----------
    mistakes : tuple of Mistake
        Mistakes of the file that is refused; empty for other errors.

    Examples
    --------
    >>> import icmodel
    >>> try:
    ...     icmodel.load("no-such-dataset")
    ... except icmodel.IcmodelError as error:
    ...     print(type(error).__name__)
    DatasetError
    """

    mistakes: tuple[Mistake, ...] = ()


class UnitError(IcmodelError):
    """Error for a quantity without a unit, with a wrong unit, or with an impossible value."""


class DatasetError(IcmodelError):
    """Error for a dataset that is missing, damaged, or breaks its format."""


class ScenarioError(IcmodelError):
    """Error for an impossible scenario, which no dataset could predict, such as a payload of 0 B."""


class OutOfDomain(IcmodelError):  # noqa: N818  (the name is part of the public API)
    """Error for a valid scenario that the given dataset cannot predict."""


class UseCaseError(IcmodelError):
    """Error for a use case that is missing or breaks its format."""


class NetworkError(IcmodelError):
    """Error for a system that is missing, breaks its format or contradicts itself."""


class RecordError(IcmodelError):
    """Error for a result file of a measuring tool that cannot be read."""


class ProbeMissing(IcmodelError):  # noqa: N818  (clearer without the suffix Error)
    """Error if the measuring tool icprobe is not installed or does not run."""


class ReportError(IcmodelError):
    """Error for a report, plot or other file that cannot be written."""


class ClusterError(IcmodelError):
    """Error for a worker or cluster that cannot be reached, or that has another version or dataset."""


class MeasuringError(IcmodelError):
    """Error for a measurement with icprobe that cannot begin, continue or end."""


class CalibrationError(MeasuringError):
    """Error for a calibration that cannot begin, continue or end."""


class VerificationError(MeasuringError):
    """Error for a system that cannot be built in the lab, or a verification that cannot continue."""


class MeasurementFailed(MeasuringError):  # noqa: N818  (clearer without the suffix Error)
    """Error for a measuring run that failed because of the peer or the network; a repeat may succeed."""


class BoundsError(IcmodelError):
    """Error for a network of servers and flows whose worst-case bound cannot be computed."""


_FULL = tuple(
    getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name)
)
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)
_BROKEN = (errno.EIO, errno.ENXIO)


def is_disk_error(error: BaseException) -> bool:
    """Whether an error is caused by a disk or folder, rather than by a defect of icmodel."""
    known = (*_FULL, *_CLOSED, *_BROKEN, errno.ENAMETOOLONG)
    return isinstance(error, OSError) and error.errno in known


def unwritable(what: object, error: OSError) -> str:
    """Write the error message for a file that cannot be written: its name, the reason and advice."""
    code = error.errno
    # Libraries put whole paragraphs into `strerror`; `errno` gives the short message of the system.
    reason = os.strerror(code) if code else " ".join(str(error).split())
    if code in _FULL:
        advice = "make space there, or choose another place"
    elif code in _CLOSED:
        advice = "choose a place that you may write to"
    elif code in _BROKEN:
        advice = "the disk or the link to it is at fault, so choose another place"
    else:
        advice = "choose another place"
    return f"{what} cannot be written: {reason}; {advice}"

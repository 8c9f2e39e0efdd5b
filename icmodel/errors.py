"""Every error icmodel raises on purpose; each message is one sentence that says what to do."""

from __future__ import annotations

import errno
import os


class IcmodelError(Exception):
    """Base of all errors a user can cause; the command line prints it and exits with 2."""


class UnitError(IcmodelError):
    """A quantity has no unit, a wrong unit, or a value that cannot be one."""


class DatasetError(IcmodelError):
    """A dataset is missing, damaged, or breaks its format."""


class ScenarioError(IcmodelError):
    """A question that no dataset could answer."""


class OutOfDomain(IcmodelError):  # noqa: N818  (the name is part of the public face)
    """A question that this dataset cannot answer."""


class UseCaseError(IcmodelError):
    """A use case is missing or breaks its format."""


class NetworkError(IcmodelError):
    """A system is missing, breaks its format or contradicts itself."""


class RecordError(IcmodelError):
    """A result file of a measuring tool cannot be read."""


class ProbeMissing(IcmodelError):  # noqa: N818  (says more than an Error at its end would)
    """The measuring tool icprobe is not installed, or what is installed does not run."""


class ReportError(IcmodelError):
    """A report or plot cannot be written as asked."""


class MeasuringError(IcmodelError):
    """What is measured with icprobe cannot begin, go on or end as asked."""


class CalibrationError(MeasuringError):
    """A calibration cannot begin, go on or end as asked."""


class VerificationError(MeasuringError):
    """A system cannot be built in the lab, or its verification cannot go on as asked."""


class MeasurementFailed(MeasuringError):  # noqa: N818  (says more than an Error at its end would)
    """A run failed for want of the peer or the network; another time it may succeed."""


class BoundsError(IcmodelError):
    """A network of servers and flows for which no worst-case bound can be worked out."""


_FULL = tuple(
    getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name)
)
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)
_BROKEN = (errno.EIO, errno.ENXIO)


def is_of_the_place(error: BaseException) -> bool:
    """Whether an error is the fault of the disk or folder written to, and of nobody's code."""
    return isinstance(error, OSError) and error.errno in (*_FULL, *_CLOSED, *_BROKEN)


def unwritable(what: object, error: OSError) -> str:
    """The sentence for what cannot be written: what it is, why, and what to do about it."""
    code = error.errno
    # Libraries put whole paragraphs into `strerror`; the number says what the system said.
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

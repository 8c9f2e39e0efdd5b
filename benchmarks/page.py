"""Time of one report, from the command to the file on disk, against the cold start."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.pairs import Document, TimedCall, interleave, seconds, time_ratio
from benchmarks.start import PREDICT, CommandError, run

USE_CASE = "imaging"
VERDICTS = (0, 1, 3)
"""Exit codes of a completed evaluation: met, not met, undecided."""


def page(programs: Path, repeats: int) -> Document:
    """Time ``icmodel evaluate imaging -o imaging.html`` against ``icmodel predict``, interleaved.

    Raises
    ------
    CommandError
        If a page is incomplete, or differs from the other pages in a byte.
    """
    pages: set[bytes] = set()
    with TemporaryDirectory() as name:
        folder = Path(name)
        rounds = interleave(
            {
                "report": TimedCall(lambda: pages.add(_write(programs, folder))),
                "icmodel predict": TimedCall(
                    partial(run, (programs / "icmodel", *PREDICT), folder, (0,))
                ),
            },
            repeats,
            "report",
        )
    if len(pages) > 1:
        raise CommandError(f"{len(pages)} reports on {USE_CASE} differ from each other")
    return {
        "use_case": USE_CASE,
        "bytes": len(pages.pop()),
        "ratio": time_ratio(rounds, "report", "icmodel predict").to_dict(),
        "seconds": seconds(rounds["report"]).to_dict(),
    }


def _write(programs: Path, folder: Path) -> bytes:
    path = folder / f"{USE_CASE}.html"
    run((programs / "icmodel", "evaluate", USE_CASE, "-o", path), folder, VERDICTS)
    written = path.read_bytes()
    if not written.rstrip().endswith(b"</html>"):
        raise CommandError(f"{path.name} is incomplete: it ends {written[-40:]!r}")
    path.unlink()
    return written

"""Progress of a calibration: drawn on a terminal, else a plain line for each step."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from icmodel import units
from icmodel.calibrate import Progress

OFTEN = 10
"""Runs between two lines of progress if no bar is drawn."""
EARLY = 12
"""Runs after which it is reported if the hypervisor disturbs most of them."""


@contextmanager
def watching() -> Iterator[Callable[[Progress], None]]:
    """A function to call with the state of a calibration, which is shown on standard error."""
    if not sys.stderr.isatty():
        yield _Plain()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task("calibrating", total=None)

        def draw(stand: Progress) -> None:
            for line in _lines(stand):
                bars.console.print(line, markup=False, highlight=False)
            done = f"run {stand.runs}, {_times(stand)}"
            bars.update(bar, description=done, completed=stand.spent_s, total=stand.budget_s)

        yield draw


@contextmanager
def interruptible(then: str) -> Iterator[None]:
    """Handle a hang-up or a request to terminate like Ctrl-C, so that started processes are ended first.

    ``then`` is printed.
    """

    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    except KeyboardInterrupt:
        print(f"icmodel: interrupted: {then}", file=sys.stderr, flush=True)  # noqa: T201
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Plain:
    """Lines of progress where no bar can be drawn."""

    def __init__(self) -> None:
        self._told = 0
        self._scored = False

    def __call__(self, stand: Progress) -> None:
        """Print what is new."""
        for line in (*_lines(stand), *self._opening_lines(stand)):
            print(line, file=sys.stderr, flush=True)  # noqa: T201

    def _opening_lines(self, stand: Progress) -> tuple[str, ...]:
        """A line of progress after every ``OFTEN`` runs, until there are errors to report."""
        self._scored = self._scored or bool(stand.scores)
        if self._scored or stand.runs < self._told + OFTEN:
            return ()
        self._told = stand.runs
        return (f"{stand.runs} runs, {_times(stand)}: first rounds, no error is known yet",)


def _lines(stand: Progress) -> tuple[str, ...]:
    """Lines for a state; none for most runs."""
    if stand.scores:
        return (step_line(stand),)
    early = stand.last is not None and stand.runs == EARLY
    return (disturbed_line(stand),) if early and 2 * stand.disturbed > EARLY else ()


def disturbed_line(stand: Progress) -> str:
    """A line saying that most runs do not count, and what can be done about it."""
    return (
        f"the hypervisor disturbed {stand.disturbed} of the first {stand.runs} runs, which count "
        "for nothing: interrupt and start anew in a quieter hour, or allow more with --most-steal"
    )


def step_line(stand: Progress) -> str:
    """The model's error after a number of runs, in one line."""
    errors = ", ".join(
        f"{one.metric} {ratio_text(one.middle)}" for one in stand.scores if one.count
    )
    verdict = f"; verdict {stand.verdict}" if stand.verdict else ""
    disturbed = f" ({stand.disturbed} disturbed)" if stand.disturbed else ""
    return f"{stand.runs} runs{disturbed}, {_times(stand)}: error {ratio_text(stand.error)} ({errors}){verdict}"


def _times(stand: Progress) -> str:
    return f"{stand.spent_s:.0f} of {stand.budget_s:.0f} s"


def ratio_text(value: float) -> str:
    """An error in per cent; a dash if there is none."""
    return "–" if value != value else units.format_ratio(value, 3)

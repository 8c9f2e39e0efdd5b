"""Entry point of the command ``icmodel`` and of ``python -m icmodel``; Ctrl-C ends the command quietly."""

import gc
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType, TracebackType

INTERRUPTED = 130
RETRY_S = 0.001
"""Time after which a lost KeyboardInterrupt is raised again [s]."""
HAS_TIMER = hasattr(signal, "SIGALRM")
"""Whether the operating system has the timer that repeats a lost interrupt; Windows lacks the timer."""
GC_THRESHOLD = 200_000
"""Number of new objects that starts a garbage collection.

A short command ends before the first collection.
"""


def exit_at_once(_number: int, _frame: FrameType | None) -> None:
    """Handle Ctrl-C during imports: exit immediately, since nothing needs to be cleaned up."""
    os._exit(INTERRUPTED)


def report_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print the traceback of an uncaught exception; after Ctrl-C, exit without a traceback."""
    if issubclass(kind, KeyboardInterrupt):
        os._exit(INTERRUPTED)
    sys.__excepthook__(kind, error, trace)


def interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Repeat a KeyboardInterrupt that Python ignored, e.g. because Ctrl-C came during a destructor (``__del__``).

    Python would ignore an exception raised in this function too. So a timer raises the interrupt after `RETRY_S`.
    """
    if isinstance(lost.exc_value, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, RETRY_S)
    else:
        sys.__unraisablehook__(lost)


def exit_quietly_on_interrupt() -> None:
    """Make Ctrl-C end this process quietly, unless the process was started to ignore Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, exit_at_once)
        sys.excepthook = report_uncaught
        if HAS_TIMER:
            sys.unraisablehook = interrupt_again


def set_handler(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> None:
    """Set the handler of Ctrl-C, also for the timer signal SIGALRM.

    The timer repeats an interrupt that Python ignored; see `interrupt_again`.
    """
    signal.signal(signal.SIGINT, handler)
    if HAS_TIMER:
        signal.signal(signal.SIGALRM, handler)


def main() -> int:
    """Run the command line of this process and return its exit code."""
    gc.set_threshold(GC_THRESHOLD)
    exit_quietly_on_interrupt()
    from icmodel.cli import main as run  # this import takes half of the time of a short command

    if signal.getsignal(signal.SIGINT) is not exit_at_once:
        return run()
    set_handler(signal.default_int_handler)
    try:
        return run()
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        set_handler(signal.SIG_IGN)  # the answer is printed, so Ctrl-C no longer matters


if __name__ == "__main__":
    sys.exit(main())

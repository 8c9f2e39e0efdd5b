"""``python -m icmodel`` is the command ``icmodel``; Ctrl-C ends it quietly from its first moment."""

import gc
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType, TracebackType

INTERRUPTED = 130
A_MOMENT_S = 0.001
RARELY = 200_000
"""New objects between two searches for unreachable ones; a short command is over before, imports and all."""


def _at_once(_number: int, _frame: FrameType | None) -> None:
    """End while nothing but imports has been done: there is nothing to put in order."""
    os._exit(INTERRUPTED)


def _told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Tell what nobody caught, but no interruption: whoever pressed Ctrl-C knows of it."""
    if issubclass(kind, KeyboardInterrupt):
        os._exit(INTERRUPTED)
    sys.__excepthook__(kind, error, trace)


def _once_more(lost: "sys.UnraisableHookArgs") -> None:
    """Interrupt again where Python could not raise it, such as while an object was deleted.

    It comes a moment later: raised in here it would be lost as well.
    """
    if isinstance(lost.exc_value, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, A_MOMENT_S)
    else:
        sys.__unraisablehook__(lost)


def listen() -> None:
    """End quietly at Ctrl-C from now on, unless this process was told to ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _at_once)
        sys.excepthook, sys.unraisablehook = _told, _once_more


def _handle_by(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> None:
    """Let this answer Ctrl-C, and the moment after one that was lost."""
    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGALRM, handler)


def main() -> int:
    """Run the command line of this process and return its exit code."""
    gc.set_threshold(RARELY)
    listen()
    from icmodel.cli import main as run  # half of the time of a short command goes into this

    if signal.getsignal(signal.SIGINT) is not _at_once:
        return run()
    _handle_by(signal.default_int_handler)
    try:
        return run()
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _handle_by(signal.SIG_IGN)  # all is done and said


if __name__ == "__main__":
    sys.exit(main())

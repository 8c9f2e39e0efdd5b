"""Two hosts as a system: `icprobe serve` on B, and `icprobe run` on A for every run."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from icmodel.calibrate.pair import Pair
from icmodel.calibrate.run import Record, Run
from icmodel.calibrate.settings import Settings
from icmodel.calibrate.system import Refused
from icmodel.probing.commands import ended, reason
from icmodel.probing.keys import new_key
from icmodel.probing.responder import PATIENCE_S, REFUSED, record_of, responder


class Hosts:
    """A system of two hosts.

    Parameters
    ----------
    probe : Path
        The icprobe of this machine.
    pair : Pair
        The two hosts.
    settings : Settings
        The times of a run.
    folder : Path
        Folder of the calibration; a key left behind by a killed calibration is replaced.
    """

    def __init__(self, probe: Path, pair: Pair, settings: Settings, folder: Path) -> None:
        self.description = pair.description
        self._probe = probe
        self._pair = pair
        self._folder = folder
        self._stack = ExitStack()
        self._times = (
            *("--duration", f"{settings.timing.window_s:g} s"),
            *("--warmup", f"{settings.timing.warmup_s:g} s"),
            *("--baseline", f"{settings.timing.baseline_s:g} s"),
        )
        self._longest_s = settings.timing.cost_s + PATIENCE_S
        self._responder: subprocess.Popen[bytes] | None = None

    def measure(self, run: Run, repeat: int) -> Record | Refused:
        """Run icprobe once; a run that it rejects is refused, provided the responder still runs."""
        done = ended(self._pair.asking((*run.words(), *self._times)), self._longest_s)
        if done.returncode == REFUSED and self._responder and self._responder.poll() is None:
            return Refused(reason(done.stderr))
        return record_of(done)

    # --- coming and going ---------------------------------------------------------------------

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            key = stack.enter_context(new_key(self._probe, self._folder))
            self._pair.up(key)
            stack.callback(self._pair.down)
            self._responder = stack.enter_context(responder(self._pair.answering()))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

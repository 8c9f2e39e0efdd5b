"""Run the measuring tool icprobe: find it, run commands with a time limit, and start responders with keys.

Both `calibrate` and `verify` use it.
"""

from icmodel.probing.probe import Probe, check_probe, find_probe

__all__ = ["Probe", "check_probe", "find_probe"]

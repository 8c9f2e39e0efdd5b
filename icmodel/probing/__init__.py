"""Running icprobe: where it is, commands with a time limit, responders and keys.

What `calibrate` and `verify` both do with the measuring tool; nothing here knows what is measured.
"""

from icmodel.probing.probe import Probe, check_probe, find_probe

__all__ = ["Probe", "check_probe", "find_probe"]

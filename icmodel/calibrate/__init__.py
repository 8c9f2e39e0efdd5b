"""Calibration: measure two hosts run by run until the model of these hosts is good enough.

The input is settings and a system (two hosts or a lab); the output is records and their dataset.
"""

from icmodel.calibrate.loop import Progress, Result, calibrate
from icmodel.calibrate.runs import Run
from icmodel.calibrate.settings import Settings
from icmodel.calibrate.testbed import Refused, Testbed

__all__ = [
    "Progress",
    "Refused",
    "Result",
    "Run",
    "Settings",
    "Testbed",
    "calibrate",
]

"""Calibration: measure two hosts until the model of them is good enough, choosing each next run.

Settings and a system (two hosts or a lab) come in; records and their dataset go out.
Public names are imported on first use.
"""

from importlib import import_module

TYPE_CHECKING = False  # what type checkers take as true
if TYPE_CHECKING:
    from icmodel.calibrate.loop import Progress as Progress
    from icmodel.calibrate.loop import Result as Result
    from icmodel.calibrate.loop import calibrate as calibrate
    from icmodel.calibrate.run import Run as Run
    from icmodel.calibrate.settings import Settings as Settings
    from icmodel.calibrate.system import Refused as Refused
    from icmodel.calibrate.system import System as System

__all__ = [
    "Progress",
    "Refused",
    "Result",
    "Run",
    "Settings",
    "System",
    "calibrate",
]

_MODULE_OF = {
    "Progress": "loop",
    "Refused": "system",
    "Result": "loop",
    "Run": "run",
    "Settings": "settings",
    "System": "system",
    "calibrate": "loop",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value

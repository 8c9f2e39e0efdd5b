"""Predict whether an interconnect carries a use case: goodput, latency, CPU load and loss.

Every public name, and every public room (a subpackage or module), is loaded on first use:
``icmodel.system.load("imaging")`` needs no import of ``icmodel.system``.

Examples
--------
>>> import icmodel
>>> model = icmodel.Model("ethernet-10g-2012")
>>> prediction = model.predict(protocol="tcp", payload="1448 B", rate="6700/s")
>>> prediction.bottleneck
'request'
>>> icmodel.load("ethernet-10g-2012").protocols
('ethernet', 'tcp', 'udp')
"""

import sys
from importlib import import_module
from types import ModuleType

# Type checkers read this name as true, and Jedi (completion) does not read it as false.
# An import of `typing` would slow the start.
TYPE_CHECKING = bool()  # noqa: UP018
if TYPE_CHECKING:
    from icmodel import dataset as dataset
    from icmodel import errors as errors
    from icmodel import ingest as ingest
    from icmodel import plotting as plotting
    from icmodel import probing as probing
    from icmodel import requirement as requirement
    from icmodel import scenario as scenario
    from icmodel import sheets as sheets
    from icmodel import system as system
    from icmodel import theory as theory
    from icmodel import units as units
    from icmodel import usecase as usecase
    from icmodel import validate as validate
    from icmodel.dataset import Dataset as Dataset
    from icmodel.dataset import load as load
    from icmodel.errors import ClusterError as ClusterError
    from icmodel.errors import DatasetError as DatasetError
    from icmodel.errors import IcmodelError as IcmodelError
    from icmodel.errors import NetworkError as NetworkError
    from icmodel.errors import OutOfDomain as OutOfDomain
    from icmodel.errors import ProbeMissing as ProbeMissing
    from icmodel.errors import RecordError as RecordError
    from icmodel.errors import ReportError as ReportError
    from icmodel.errors import ScenarioError as ScenarioError
    from icmodel.errors import UnitError as UnitError
    from icmodel.errors import UseCaseError as UseCaseError
    from icmodel.estimate import Estimate as Estimate
    from icmodel.estimate import Prediction as Prediction
    from icmodel.interconnects import compare_interconnects as compare_interconnects
    from icmodel.model import Model as Model
    from icmodel.recommend import recommend as recommend
    from icmodel.report import report as report
    from icmodel.scenario import Scenario as Scenario
    from icmodel.sweep import sweep as sweep
    from icmodel.sweep import sweep_to_file as sweep_to_file
    from icmodel.usecase import evaluate as evaluate
    from icmodel.verify import verify as verify

__version__ = "0.1.0"

_ROOM_OF = {
    "ClusterError": "errors",
    "Dataset": "dataset",
    "DatasetError": "errors",
    "Estimate": "estimate",
    "IcmodelError": "errors",
    "Model": "model",
    "NetworkError": "errors",
    "OutOfDomain": "errors",
    "Prediction": "estimate",
    "ProbeMissing": "errors",
    "RecordError": "errors",
    "ReportError": "errors",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "UnitError": "errors",
    "UseCaseError": "errors",
    "compare_interconnects": "interconnects",
    "evaluate": "usecase",
    "load": "dataset",
    "recommend": "recommend",
    "report": "report",
    "sweep": "sweep",
    "sweep_to_file": "sweep",
    "verify": "verify",
}
"""Public name -> room (subpackage or module) that defines the name."""

_ROOMS = (
    "dataset",
    "errors",
    "ingest",
    "plotting",
    "probing",
    "requirement",
    "scenario",
    "sheets",
    "system",
    "theory",
    "units",
    "usecase",
    "validate",
)
"""Public rooms (subpackages and modules). Rooms with the name of a public function, such as ``report``, are left out."""

__all__ = sorted([*_ROOM_OF, "__version__"])  # type checkers read the imports above


class _Package(ModuleType):
    """Module class of icmodel: a room (subpackage or module) never replaces the public function of the same name.

    Without this class, the import of the room ``icmodel.report`` would replace the function
    ``icmodel.report``. The rooms ``recommend``, ``sweep`` and ``verify`` would replace functions
    too. ``from icmodel.report import ...`` works as usual.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _ROOM_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a public room (subpackage or module), or a public name from its room, and store it in the package."""
        if name in _ROOMS:
            return import_module(f"{__name__}.{name}")
        if name not in _ROOM_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_ROOM_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List only the public names, for completion by Tab."""
    return sorted([*__all__, *_ROOMS])

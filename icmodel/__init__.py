"""Predict whether an interconnect carries a use case: goodput, latency, CPU load and loss.

The public names, loaded when they are first asked for, and nothing else::

    import icmodel

    data = icmodel.load("ethernet-10g-2012")
    result = icmodel.evaluate("imaging", data)
    print(result.verdict)
"""

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # what type checkers take as true; `typing` itself is not needed here
if TYPE_CHECKING:
    from icmodel.dataset import Dataset as Dataset
    from icmodel.dataset import load as load
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
    from icmodel.usecase import evaluate as evaluate
    from icmodel.verify import verify as verify

__version__ = "0.1.0"

__all__ = [
    "Dataset",
    "DatasetError",
    "Estimate",
    "IcmodelError",
    "Model",
    "NetworkError",
    "OutOfDomain",
    "Prediction",
    "ProbeMissing",
    "RecordError",
    "ReportError",
    "Scenario",
    "ScenarioError",
    "UnitError",
    "UseCaseError",
    "__version__",
    "compare_interconnects",
    "evaluate",
    "load",
    "recommend",
    "report",
    "sweep",
    "verify",
]

_ROOM_OF = {
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
    "verify": "verify",
}


class _Face(ModuleType):
    """The package as a module whose verbs keep their names.

    Importing the room ``icmodel.report`` would bind its module over the verb ``icmodel.report``,
    and likewise ``recommend``, ``sweep`` and ``verify``; here the verb stays, whichever is asked for first. The room itself is
    reached as ever: ``from icmodel.report import ...``.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _ROOM_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _ROOM_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_ROOM_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Worker in Extra-P's environment: reads a curve per line of JSON, and writes an answer per line.

Input: ``{"x": [...], "y": [...], "at": number}``. Output: ``{"value": number}`` or ``{"why":
text}``. On start the worker models a test curve and writes ``{"value": 1.0}``, which shows that
nothing is missing. A curve of nine points or more goes to Extra-P's segmented modeler, of five or
more to its basic one, as its manual asks.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Sequence

from extrap.entities.coordinate import Coordinate  # type: ignore[import-not-found]
from extrap.entities.measurement import Measurement  # type: ignore[import-not-found]
from extrap.modelers.single_parameter.basic import SingleParameterModeler  # type: ignore[import-not-found]
from extrap.modelers.single_parameter.segmented import SegmentedModeler  # type: ignore[import-not-found]

FEWEST, SEGMENTED = 5, 9


def answer(x: Sequence[float], y: Sequence[float], at: float) -> dict[str, object]:
    """Return the value of Extra-P's model of a curve at ``at``, or the reason for none."""
    if len(x) < FEWEST:
        return {"why": "fewer than five other points on the curve, which Extra-P needs"}
    modeler = SegmentedModeler() if len(x) >= SEGMENTED else SingleParameterModeler()
    rows = [Measurement(Coordinate(a), None, None, [b]) for a, b in zip(x, y, strict=True)]
    function = modeler.create_model(rows).hypothesis.function
    value = float(function.evaluate(at))
    if math.isnan(value):  # between Extra-P's two segments: the mean of both
        value = sum(float(part.evaluate(at)) for part in function.segments) / 2
    return {"value": value} if math.isfinite(value) else {"why": "Extra-P's model is not finite"}


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    answer(
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], [1.0, 4.0, 9.0, 16.0, 25.0] + [3.0] * 4, 2.0
    )
    print(json.dumps({"value": 1.0}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = answer(request["x"], request["y"], request["at"])
        except (ArithmeticError, ValueError, IndexError, TypeError) as error:
            reply = {"why": f"Extra-P failed: {type(error).__name__}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()

"""Write the drawing of a bundled system in the guide: `python tools/system_drawing.py`."""

from __future__ import annotations

from pathlib import Path

from icmodel.report import report
from icmodel.system import load, predict

NAME = "imaging"
FILE = Path(__file__).resolve().parent.parent / "docs" / "guides" / f"system-{NAME}.svg"


def main() -> None:
    """Predict the system, and draw it."""
    report(predict(load(NAME)), FILE)


if __name__ == "__main__":
    main()

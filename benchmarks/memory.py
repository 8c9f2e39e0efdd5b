"""Peak memory beyond the answers, at several numbers of points, each in a process of its own.

``python -m benchmarks.memory HOW POINTS`` is that process. It answers, and prints one line of JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.pairs import Document, say, spread

BLOCK = 262_144
"""Number of points of a block, for sweeps in blocks."""
SWEPT, AT_ONCE = "in blocks", "in one call"
ROOT = Path(__file__).resolve().parent.parent
# A process inherits the peak memory of its parent, so a small process starts it.
SMALL = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"


def memory(sizes: Sequence[int], repeats: int) -> Document:
    """Measure peak resident bytes beyond answers (and questions that the caller holds).

    ``growth`` is their ratio between the greatest and the least number of points.
    """
    found: Document = {"block": BLOCK, "points": list(sizes)}
    for how in (SWEPT, AT_ONCE):
        runs: dict[int, list[dict[str, int]]] = {points: [] for points in sizes}
        for k in range(repeats):
            say(f"memory {how}: repeat {k + 1} of {repeats}")
            for points in sizes:
                runs[points].append(_probe(how, points))
        found[how] = _summary(runs)
    return found


def _summary(runs: dict[int, list[dict[str, int]]]) -> Document:
    beyond = {points: [run["beyond_bytes"] for run in of] for points, of in runs.items()}
    pairs = zip(beyond[max(beyond)], beyond[min(beyond)], strict=True)
    return {
        "beyond_bytes": {str(points): spread(of).to_dict() for points, of in beyond.items()},
        "answers_bytes": {str(points): of[0]["answers_bytes"] for points, of in runs.items()},
        "questions_bytes": {str(points): of[0]["questions_bytes"] for points, of in runs.items()},
        "growth": spread([most / least for most, least in pairs]).to_dict(),
    }


def _probe(how: str, points: int) -> dict[str, int]:
    """Run this module in a new process."""
    own = [sys.executable, "-m", "benchmarks.memory", how, str(points)]
    command = [sys.executable, "-c", SMALL, *own]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    sizes: dict[str, int] = json.loads(done.stdout)
    return sizes


def peak_bytes() -> int:
    """Return the peak resident memory of this process [B]."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def probe(how: str, points: int) -> dict[str, int]:
    """Answer random scenarios, and return the memory used."""
    kept, given = (_sweep if how == SWEPT else _call)(points)
    beyond = peak_bytes() - kept - given
    return {"beyond_bytes": beyond, "answers_bytes": kept, "questions_bytes": given}


def _sweep(points: int) -> tuple[int, int]:
    """Draw and answer questions block by block; return bytes of answers, and 0 for questions."""
    import numpy as np

    from benchmarks.questions import DATASET, answer, questions
    from icmodel.dataset import load
    from icmodel.model import Model

    model = Model(load(DATASET))
    kept: dict[str, np.ndarray[tuple[int], np.dtype[np.generic]]] = {}
    for start in range(0, points, BLOCK):
        asked = questions(model.data, min(BLOCK, points - start), start)
        answers = answer(model, asked)
        for name, column in answers.items():
            whole = kept.setdefault(str(name), np.empty(points, dtype=column.dtype))
            whole[start : start + column.size] = column.to_numpy()
    return sum(whole.nbytes for whole in kept.values()), 0


def _call(points: int) -> tuple[int, int]:
    """Answer all questions in one call; return the bytes of answers and of questions."""
    from benchmarks.questions import DATASET, answer, questions
    from icmodel.dataset import load
    from icmodel.model import Model

    model = Model(load(DATASET))
    asked = questions(model.data, points)
    answers = answer(model, asked)
    return answers.nbytes, sum(column.nbytes for column in asked.values())


if __name__ == "__main__":
    print(json.dumps(probe(sys.argv[1], int(sys.argv[2]))))

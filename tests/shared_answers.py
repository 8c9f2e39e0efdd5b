"""What tests of one process share of answers: predictions along an axis of a bundled dataset, designs of a bundled system.

Imported by `shared` when datasets and tables are shared already, so that what is imported here takes those.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import sys
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import Any

import pytest

from icmodel.model import Model
from icmodel.recommend import Recommendation, recommend
from icmodel.report import evaluation
from icmodel.report.plots import Profile, profile
from icmodel.scenario import Scenario
from icmodel.system import OpenSystem, system_names
from shared import FITS, load_folder, tables


@lru_cache(maxsize=32)
def walk(folder: Path, variant: str, scenario: Scenario, over: str, fastest: bool) -> Profile:
    """Predictions along an axis of a bundled dataset."""
    return profile(Model(load_folder(folder), variant), scenario, over, fastest=fastest)


@wraps(profile)
def profile_once(model: Model, scenario: Scenario, over: str, *, fastest: bool = False) -> Profile:
    """Predict a scenario along an axis; that of a bundled dataset is predicted once."""
    folder = model.data.folder
    if model.data is load_folder(folder) and model._tables is tables(folder, model.variant):
        return walk(folder, model.variant, scenario, over, fastest)
    return profile(model, scenario, over, fastest=fastest)


@cache
def recommend_bundled(name: str) -> Recommendation:
    """Search the choices of a bundled system; one process of the session does, the others read what it found."""
    place = Path(os.environ[FITS]).parent / f"recommended-{name}"
    with place.open("a+b") as found:
        fcntl.flock(found, fcntl.LOCK_EX)
        found.seek(0)
        kept = found.read()
        made: Recommendation = pickle.loads(kept) if kept else recommend(name)
        if not kept:
            found.write(pickle.dumps(made))
        return made


@wraps(recommend)
def recommend_once(name: str | Path | OpenSystem, *given: Any, **how: Any) -> Recommendation:
    """Search the choices of a system; a bundled one is searched once, with all that is usual."""
    unusual = {name for name, value in how.items() if value is not None} - {"cache", "watch"}
    usual = not any(given) and how.get("cache", True) and not unusual
    if usual and isinstance(name, str) and name in system_names():
        return recommend_bundled(name)
    return recommend(name, *given, **how)


def share(session: pytest.MonkeyPatch) -> None:
    """Let reports, and whoever asks what to choose, use what is shared."""
    session.setattr(evaluation, "profile", profile_once)
    session.setattr(sys.modules["icmodel.recommend"], "recommend", recommend_once)

"""Verify a system: copy it, predict the copy, build it, play it pass by pass, and compare."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from icmodel.errors import VerificationError
from icmodel.probing import find_probe
from icmodel.system import System, load, predict
from icmodel.verify import comparing
from icmodel.verify.comparing import machine_cores, most_members, placed, slowdown
from icmodel.verify.folder import Folder, Pass, Stored, opened
from icmodel.verify.lab import Copy, copied, topology
from icmodel.verify.playing import Stage, Times, check_wiring, staged
from icmodel.verify.result import Verification

LAB = "lab-1g-2026"
"""The dataset that speaks for hosts of the lab unless another is named."""
REPEATS = 5
MOST_MORE = 3
"""Passes whose windows lie apart are measured again, so many more at most."""

Watch = Callable[[int, int], None]
"""Told how many passes are done, and how many there are to be."""


@dataclass(frozen=True, slots=True)
class Wish:
    """How a system is to be verified.

    Parameters
    ----------
    dataset : str
        What speaks for the lab's hosts, by name or path.
    variant : str, optional
        Of the model; the dataset's own by default.
    slower, members : float, int, optional
        The copy's factor and most members of a group; by default what fits this machine.
    repeats : int
        Passes that are to count; 0 only predicts.
    """

    dataset: str = LAB
    variant: str | None = None
    slower: float | None = None
    members: int | None = None
    repeats: int = REPEATS
    times: Times = field(default_factory=Times)
    cache: bool = True

    def __post_init__(self) -> None:
        for name, value, least in (
            ("a scale of", self.slower, 1e-3),
            ("members of", self.members, 1),
            ("repeats of", self.repeats, 0),
        ):
            if value is not None and value < least:
                raise VerificationError(f"{name} {value:g} cannot be: give at least {least:g}")


def verify(
    system: System | str | Path,
    folder: str | Path,
    wish: Wish | None = None,
    *,
    probe: Path | None = None,
    watch: Watch | None = None,
) -> Verification:
    """Build a system in the lab, play all its streams at once, and compare with what was predicted before.

    Needs icprobe and the right to make network namespaces.  What is in ``folder`` is kept: the same call
    goes on after any interruption.

    Parameters
    ----------
    system : System, str or Path
        As loaded, or a bundled name or a path.
    folder : str or Path
        Where the prediction and the records go.
    wish : Wish, optional
        How; by default five passes of what fits this machine.
    probe : Path, optional
        The icprobe to take; by default the one that is installed.

    Raises
    ------
    NetworkError, VerificationError
        If the system is wrong or cannot be built, or the folder holds something else.
    ProbeMissing, MeasurementFailed
        If there is no icprobe, or it fails: the lab needs root, for example.
    """
    asked = wish or Wish()
    given = system if isinstance(system, System) else load(system)
    copy = _copy(given, asked)
    built = topology(copy.system)
    place = Path(folder)
    with opened(place, _settings(given, copy, asked), built.text) as kept:
        made = predict(copy.system, None, asked.variant, cache=asked.cache).to_dict()
        stored = kept.prediction(_as_read(made))
        names = tuple(copy.system.streams)
        passes = kept.passes(stored, names)
        if asked.repeats > _counting(passes):
            tool = probe or find_probe()
            check_wiring(tool, copy.system, place / "topology.toml")
            cores = placed(copy.system, machine_cores())
            with staged(tool, copy.system, built, cores, asked.times, place) as stage:
                _play_missing(kept, stage, stored, passes, asked.repeats, watch)
    return _told(given, copy, place, stored, _as_read(made), passes)


def _copy(given: System, asked: Wish) -> Copy:
    """The copy that was asked for, or the one that fits."""
    members = asked.members or most_members(given)
    slower = asked.slower
    if slower is None:
        whole = copied(given, slower=1.0, members=members, dataset=asked.dataset)
        slower = slowdown(whole.system, len(machine_cores()))
    return copied(given, slower=slower, members=members, dataset=asked.dataset)


def _settings(given: System, copy: Copy, asked: Wish) -> dict[str, object]:
    """What must be the same for a verification to go on."""
    sent = [
        [one.name, one.protocol, one.payload_bytes, one.rate_fps, one.priority, *one.path]
        for one in copy.system.streams.values()
    ]
    text = json.dumps([topology(copy.system).text, sent])
    return {
        "schema_version": 1,
        "system": given.name,
        "copy_sha256": hashlib.sha256(text.encode("utf-8")).hexdigest(),
        "slower": copy.slower,
        "members": copy.members,
        "not_verified": list(copy.left_out),
        "dataset": asked.dataset,
        "variant": asked.variant,
        "window_s": asked.times.window_s,
        "warmup_s": asked.times.warmup_s,
        "tail_s": asked.times.tail_s,
    }


def _as_read(document: Mapping[str, object]) -> dict[str, object]:
    """A document as it comes back from its file."""
    found: dict[str, object] = json.loads(json.dumps(document))
    return found


# --- measuring --------------------------------------------------------------------------------


def _counting(passes: list[Pass]) -> int:
    return sum(one.counts for one in passes)


def _play_missing(
    kept: Folder,
    stage: Stage,
    stored: Stored,
    passes: list[Pass],
    repeats: int,
    watch: Watch | None,
) -> None:
    """Measure and keep the passes that are missing, one after the other, and append them."""
    while _counting(passes) < repeats and len(passes) < repeats + MOST_MORE:
        number = 1 + max((one.number for one in passes), default=0)
        passes.append(kept.keep(number, stage.play(), stored))
        if watch is not None:
            watch(_counting(passes), repeats)


# --- telling ----------------------------------------------------------------------------------


def _told(
    given: System,
    copy: Copy,
    folder: Path,
    stored: Stored,
    made: Mapping[str, object],
    passes: list[Pass],
) -> Verification:
    predicted = stored.prediction
    now = made["streams"]
    assert isinstance(now, dict)
    used = [one for one in passes if one.counts]
    return Verification(
        system=given,
        copy=copy,
        folder=folder,
        stored=stored,
        differs=tuple(name for name in now if now[name] != predicted["streams"].get(name)),
        passes=tuple(passes),
        streams=comparing.streams(copy.system, predicted, used),
        bounds=comparing.bounds(copy.system, predicted, used),
        devices=comparing.devices(copy.system, predicted, used),
    )

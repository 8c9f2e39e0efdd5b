"""Verify a system: scale it to the lab, predict it, build it, run all its streams several times, and compare.

Modules in the order of use:

- ``lab_system``: scales the system to the machine.
- ``running``: builds the lab and runs all streams together.
- ``folder``: stores the prediction and the records.
- ``comparing``: the result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from icmodel.dataset import load as load_dataset
from icmodel.errors import VerificationError
from icmodel.fits.observations import run_shares
from icmodel.keywords import checks_keywords
from icmodel.probing import find_probe
from icmodel.system import System, load, predict
from icmodel.verify import comparing
from icmodel.verify.comparing import Verification
from icmodel.verify.folder import opened
from icmodel.verify.lab_system import (
    LabSystem,
    lab_system,
    machine_cores,
    most_members,
    placed,
    slowdown,
)
from icmodel.verify.running import Times, check_wiring, lab_network, topology

__all__ = ["Verification", "VerifyOptions", "verify"]

LAB = "lab-1g-2026"
"""Default dataset of a verification, measured on the lab's hosts."""
REPEATS = 5
MOST_MORE = 3
"""Greatest number of extra passes (runs of all streams) that replace passes with too little overlap."""
MOST_REPEATS = 999 - MOST_MORE
"""Greatest number of required passes (runs of all streams); their files have numbers of three digits."""

Watch = Callable[[int, int], None]
"""Type of a progress function: called with the number of valid passes so far, and the required number.

A pass is a run of all streams.
"""


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """Options of a verification.

    Parameters
    ----------
    dataset : str
        Dataset of the lab's hosts, by name or path.
    variant : str, optional
        Variant of the model; the dataset's own by default.
    slower, members : float, int, optional
        The copy of the system in the lab divides all rates by ``slower``, and keeps at most ``members`` devices of each
        group. Default: values that fit this machine.
    repeats : int
        Required number of valid passes (runs of all streams), up to `MOST_REPEATS`; 0 to predict without measuring.
    times : Times
        Warm-up, window and tail of each run [s].
    cache : bool
        Keep fits of ``hybrid`` in the user's cache folder.
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
                raise VerificationError(f"{name} {value:g} is too small: give at least {least:g}")
        if self.repeats > MOST_REPEATS:
            raise VerificationError(
                f"repeats of {self.repeats} is too large: give at most {MOST_REPEATS}"
            )


@checks_keywords
def verify(
    system: System | str | Path,
    folder: str | Path,
    options: VerifyOptions | None = None,
    *,
    probe: Path | None = None,
    watch: Watch | None = None,
) -> Verification:
    """Predict a system, build it in the lab, run all its streams together, and compare the measurements.

    This needs icprobe, and permission to create network namespaces. All results are stored in ``folder``. After an
    interruption, the same call continues the verification.

    Parameters
    ----------
    system : System, str or Path
        A loaded system, a bundled name or a path.
    folder : str or Path
        Folder for the prediction and the records.
    options : VerifyOptions, optional
        Options; by default five passes (runs of all streams) of a copy of the system that fits this machine.
    probe : Path, optional
        Path of icprobe; by default the installed one.
    watch : callable, optional
        Called after each pass with the number of valid passes so far and the required number.

    Returns
    -------
    Verification
        The result; ``verdict`` is agrees, does not agree or undecided.

    Raises
    ------
    NetworkError, VerificationError
        If the system contains an error, the lab cannot build it, or the folder holds other files.
    ProbeMissing, MeasurementFailed
        If icprobe is not installed or fails, for example because the lab needs root.

    Examples
    --------
    >>> import icmodel
    >>> found = icmodel.verify("lab-two-senders", "two-senders")  # doctest: +SKIP
    >>> found.verdict  # doctest: +SKIP
    'agrees'
    """
    options = options or VerifyOptions()
    loaded = system if isinstance(system, System) else load(system)
    place, dataset = Path(folder), options.dataset
    members, slower = options.members or most_members(loaded), options.slower
    if slower is None:
        full_speed = lab_system(loaded, slower=1.0, members=members, dataset=dataset)
        slower = slowdown(full_speed.system, len(machine_cores()))
    lab = lab_system(loaded, slower=slower, members=members, dataset=dataset)
    built = topology(lab.system)

    with opened(place, _settings(loaded, lab, options), built.text) as kept:
        made = predict(lab.system, None, options.variant, cache=options.cache).to_dict()
        prediction = json.loads(json.dumps(made))  # the same numbers as in the stored file
        stored = kept.prediction(prediction)
        passes = kept.passes(stored, tuple(lab.system.streams))
        counting = sum(run.counts for run in passes)
        if counting < options.repeats:
            tool = probe or find_probe()
            check_wiring(tool, lab.system, place / "topology.toml")
            cores = placed(lab.system, machine_cores())
            with lab_network(tool, lab.system, built, cores, options.times, place) as network:
                while counting < options.repeats and len(passes) < options.repeats + MOST_MORE:
                    number = 1 + max((run.number for run in passes), default=0)
                    passes.append(kept.keep(number, network.run_all_streams(), stored))
                    counting = sum(run.counts for run in passes)
                    if watch is not None:
                        watch(counting, options.repeats)

    before, now = stored.prediction, prediction["streams"]
    used = [run for run in passes if run.counts]
    return Verification(
        system=loaded,
        lab=lab,
        folder=place,
        stored=stored,
        differs=tuple(name for name in now if now[name] != before["streams"].get(name)),
        passes=tuple(passes),
        streams=comparing.streams(lab.system, before, used, run_shares(load_dataset(dataset))),
        bounds=comparing.bounds(lab.system, before, used),
        devices=comparing.devices(lab.system, before, used),
    )


def _settings(system: System, lab: LabSystem, options: VerifyOptions) -> dict[str, object]:
    """Collect the settings of a verification, to be stored in its folder.

    A later call can continue the folder only with equal settings.
    """
    sent = [
        [
            stream.name,
            stream.protocol,
            stream.payload_bytes,
            stream.rate_fps,
            stream.priority,
            *stream.path,
        ]
        for stream in lab.system.streams.values()
    ]
    text = json.dumps([topology(lab.system).text, sent])
    return {
        "schema_version": 1,
        "system": system.name,
        "copy_sha256": hashlib.sha256(text.encode("utf-8")).hexdigest(),
        "slower": lab.slower,
        "members": lab.members,
        "not_verified": list(lab.left_out),
        "dataset": options.dataset,
        "variant": options.variant,
        "window_s": options.times.window_s,
        "warmup_s": options.times.warmup_s,
        "tail_s": options.times.tail_s,
    }
